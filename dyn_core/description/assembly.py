"""Joints to a Mechanism: bodies are numbered and placed, and links on fixed joints merged into them."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from dyn_core.arrays import Bools, Floats, Ints
from dyn_core.errors import DescriptionWarning
from dyn_core.mechanism import (
    BASE,
    OWN_LINK,
    PRISMATIC,
    REVOLUTE,
    Compliance,
    FloatingBase,
    Frame,
    Mechanism,
    Mimic,
    Motors,
    Springs,
)

from .joint_entry import JointEntry

Joint = TypeVar("Joint", bound=JointEntry)
TYPES = {"revolute": REVOLUTE, "prismatic": PRISMATIC}


class Heading(NamedTuple):
    """What a file says of the robot as a whole."""

    name: str
    description: str
    gravity: Floats


def parents_first(joints: Sequence[Joint]) -> list[Joint]:
    """The joints in the file's order, except that a parent comes before its children."""
    by_link = {joint.link: joint for joint in joints}
    ordered: list[Joint] = []
    placed: set[str] = set()
    for joint in joints:
        chain = []
        at: Joint | None = joint
        while at is not None and at.link not in placed:
            chain.append(at)
            placed.add(at.link)
            at = by_link.get(at.parent)
        ordered += reversed(chain)
    return ordered


def in_circles(joints: Sequence[Joint]) -> list[Joint]:
    """The joints that hang, in the end, from themselves and not from the base."""
    by_link = {joint.link: joint for joint in joints}
    found = []
    for joint in joints:
        above: set[str] = set()
        at = joint
        while at.parent in by_link and at.parent not in above:
            above.add(at.parent)
            at = by_link[at.parent]
        if joint.link in above:
            found.append(joint)
    return found


def assemble(
    heading: Heading,
    ordered: Sequence[JointEntry],
    tool: tuple[str, Floats],
    bases: Sequence[str] = ("base",),
    base: FloatingBase | None = None,
) -> Mechanism:
    """Place the bodies, and move all inertias (of fixed links too) to their body frames; no loops yet.

    ordered: parents first; their `body` and `notated` are set. tool: a link, and the tool's pose in its described
    frame. bases: names of the base that `parent` may have, of which all but the first are frames as well.
    """
    moving = [joint for joint in ordered if joint.moves]
    n = len(moving)
    parent = np.full(n, BASE, dtype=np.int64)
    placements = np.empty((n, 4, 4))
    M, MS, J = np.zeros(n + 1), np.zeros((n + 1, 3)), np.zeros((n + 1, 3, 3))  # the base's last, at index BASE
    if base is not None:
        M[BASE], MS[BASE], J[BASE] = base.M, base.MS, base.J
    notated: dict[str, tuple[int, Floats, int]] = {link: (BASE, np.eye(4), OWN_LINK) for link in bases}
    compliances: list[Compliance] = []
    tips = np.full(n, OWN_LINK, dtype=np.int64)
    body = 0
    for joint in ordered:
        parent_body, parent_frame, parent_tip = notated[joint.parent]
        front = parent_frame @ joint.placement.front
        if joint.moves:
            joint.body, joint.notated = body, joint.placement.tail
            parent[body], placements[body], tips[body] = parent_body, front, parent_tip
            body += 1
        else:
            joint.body, joint.notated, joint.tip = parent_body, front @ joint.placement.tail, parent_tip
        if joint.compliance is not None:
            if not joint.moves:
                joint.tip = len(compliances)
            compliances.append(_on_body(joint, joint.compliance, None if joint.moves else parent_tip))
        notated[joint.link] = joint.body, joint.notated, joint.tip
        mass, moments, inertia = joint.inertial.moved(joint.notated).standard_parameters()
        M[joint.body] += mass
        MS[joint.body] += moments
        J[joint.body] += inertia
    described = described_frames(ordered, bases)
    fixed = [joint.link for joint in ordered if not joint.moves]
    named = [*(joint.link for joint in moving), *bases[1:], *fixed]
    body, T, tip = described[tool[0]]
    tool_frame = Frame.at("tool", body, T @ tool[1], tip)

    def of_joints(attribute: str) -> Floats:
        return np.array([getattr(joint, attribute) for joint in moving], dtype=np.float64)

    index = {joint.name: j for j, joint in enumerate(moving)}
    leader = np.array([index[joint.leader or joint.name] for joint in moving], dtype=np.int64)
    follows = any(joint.leader for joint in moving)
    return Mechanism(
        name=heading.name,
        description=heading.description,
        joint_names=tuple(joint.name for joint in moving),
        body_names=tuple(joint.link for joint in moving),
        parent=parent,
        joint_type=np.array([TYPES[joint.kind] for joint in moving], dtype=np.int64),
        R=placements[:, :3, :3].copy(),
        p=placements[:, :3, 3].copy(),
        M=M[:n],
        MS=MS[:n],
        J=J[:n],
        Ia=of_joints("Ia"),
        Fv=of_joints("Fv"),
        Fs=of_joints("Fs"),
        stiffness=of_joints("stiffness"),
        position_limits=of_joints("limits").reshape(n, 2),
        velocity_limits=of_joints("velocity"),
        effort_limits=of_joints("effort"),
        active=np.array([joint.active for joint in moving], dtype=np.bool_),
        gravity=heading.gravity,
        frames=(*(Frame.at(link, *described[link]) for link in named), tool_frame),
        motors=motors_of([joint.motor for joint in moving]),
        base=None if base is None else FloatingBase(base.name, float(M[BASE]), MS[BASE], J[BASE]),
        beams=tuple(dataclasses.replace(joint.beam, body=joint.body) for joint in moving if joint.beam is not None),
        mimic=Mimic(leader, of_joints("multiplier"), of_joints("offset")) if follows else None,
        compliances=tuple(compliances),
        joint_tips=tips if (tips != OWN_LINK).any() else None,
        springs=Springs(of_joints("spring"), of_joints("rest")) if any(joint.spring for joint in moving) else None,
    )


def described_frames(joints: Sequence[JointEntry], bases: Sequence[str]) -> dict[str, tuple[int, Floats, int]]:
    """The body of each link, the link's described frame on it, and its `Frame.tip`; joints: assembled."""
    placed = {joint.link: (joint.body, joint.described, joint.tip) for joint in joints}
    return {link: (BASE, np.eye(4), OWN_LINK) for link in bases} | placed


def furthest_link(at: Mapping[str, tuple[int, Floats, int]], parent: Ints) -> str:
    """The link behind the most joints, of several the last; at: as of `described_frames`, parent: (n,) of bodies."""
    depth = {BASE: 0}
    for j, above in enumerate(parent):
        depth[j] = depth[int(above)] + 1
    return max(reversed(list(at)), key=lambda link: depth[at[link][0]])


TOOLS = ("tool", "tcp", "ee", "end_effector", "attachment_site", "grasp_site", "pinch", "gripper")
"""Names of frames that are taken as the tool, the first that is there."""


def assemble_named(
    heading: Heading, ordered: Sequence[JointEntry], base: str, trunk: FloatingBase | None
) -> tuple[Mechanism, dict[str, tuple[int, Floats, int]]]:
    """The mechanism with the frame of one of the names TOOLS as its tool, or else the furthest link; no loops yet.

    Also the body of each link, and the link's described frame on it.
    """
    links = {entry.link for entry in ordered}
    tool = next((name for name in TOOLS if name in links), "")
    mechanism = assemble(heading, ordered, (tool or base, np.eye(4)), (base,), trunk)
    at = described_frames(ordered, (base,))
    if not tool:
        last = furthest_link(at, mechanism.parent)
        mechanism = dataclasses.replace(mechanism, frames=(*mechanism.frames[:-1], Frame.at("tool", *at[last])))
    return mechanism, at


def resolve_leaders(moving: Sequence[JointEntry]) -> str:
    """Let every follower follow the independent joint at the end of its chain: q = multiplier q_leader + offset.

    The answer is a joint that follows, in the end, itself; empty where there is none.
    """
    steps = {joint.name: (joint.leader, joint.multiplier, joint.offset) for joint in moving if joint.leader}
    for joint in moving:
        seen = {joint.name}
        while joint.leader in steps:
            if joint.leader in seen:
                return joint.name
            seen.add(joint.leader)
            leader, multiplier, offset = steps[joint.leader]
            joint.offset += joint.multiplier * offset
            joint.multiplier *= multiplier
            joint.leader = leader
    return ""


def motors_of(motors: Sequence[Mapping[str, float] | None]) -> Motors | None:
    """The motors as arrays, NaN (and 0 DAC bits) for a joint without one; None where there is no motor."""
    if not any(motors):
        return None
    columns = {
        field.name: np.array([math.nan if motor is None else motor[field.name] for motor in motors])
        for field in dataclasses.fields(Motors)
    }
    columns["dac_bits"] = np.nan_to_num(columns["dac_bits"]).astype(np.int64)
    return Motors(**columns)


def _on_body(joint: JointEntry, compliance: Compliance, on: int | None) -> Compliance:
    """A compliance that is placed in the link's described frame, in the frame of its body; on: as of Compliance."""
    R, p = joint.described[:3, :3], joint.described[:3, 3]
    return dataclasses.replace(compliance, body=joint.body, R=R @ compliance.R, p=R @ compliance.p + p, on=on)


def moves_nothing(m: Mechanism) -> Bools:
    """(n,) which joints have no mass or inertia to accelerate, so that the mass matrix is singular in every pose."""
    heavy = (m.M > 0.0) | (np.abs(m.J).max(axis=(1, 2)) > 0.0)
    leaf = np.ones(m.n, dtype=bool)
    idle = np.zeros(m.n, dtype=bool)
    for j in reversed(range(m.n)):
        alone = m.M[j] if m.joint_type[j] == PRISMATIC else m.J[j, 2, 2]
        idle[j] = (not heavy[j] or (leaf[j] and alone <= 0.0)) and m.Ia[j] == 0.0
        if m.parent[j] != BASE:
            leaf[m.parent[j]] = False
            heavy[m.parent[j]] |= heavy[j]
    return idle


def idle_joints(m: Mechanism, path: Path) -> list[str]:
    """Names of joints that move neither mass nor inertia, with all that follow the same leader.

    A joint whose last link has its mass on the axis, and no inertia about it, is only warned of: that is common, and
    all but forward dynamics is right.
    """
    idle = moves_nothing(m)
    if m.mimic is not None:
        busy = ~idle & (m.mimic.multiplier != 0.0)
        idle = ~np.isin(m.mimic.leader, m.mimic.leader[busy])
    on_axis = idle & (m.M > 0.0)
    if on_axis.any():
        names = ", ".join(m.joint_names[j] for j in np.flatnonzero(on_axis))
        warnings.warn(
            f"{path}: the mass behind {names} lies on the joint's axis and has no inertia about it; its"
            " forward dynamics is singular, give it an inertia or a rotor inertia to simulate it",
            DescriptionWarning,
            stacklevel=5,
        )
    return [m.joint_names[j] for j in np.flatnonzero(idle & ~on_axis)]
