"""Mechanism to robot YAML in a chosen notation: standard or modified Denavit-Hartenberg rows, or origin and axis.

A notation gives each link a frame N_j of its own, in which its inertial parameters and the joints that it carries are
written; where that is not the link's described frame, the key `frame` of the link says where the described one is. So
every frame keeps its name and its place, and every joint its zero position, whatever the notation can express.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError, InputError
from dyn_core.mechanism import BASE, PRISMATIC, Frame, Mechanism
from dyn_core.spatial.poses import inverse, pose, rpy_from_rotation

from ..documents.yaml_section import NAME
from ..documents.yaml_text import angle_text, group_text, line_text, list_text, number_text, rounded, rounded_angle
from ..inertial import ROUNDING, Inertial
from .dh_frames import PARALLEL, Row, frames_of_notation, modified_rows, standard_rows
from .inertia import PRODUCTS
from .joint import MOTOR_FIGURES

SMALL_INERTIA = 1e-6  # part of J below which the inertia about the centre of mass is written as J
ANGLES = ("theta", "alpha", "gamma")


class Written(NamedTuple):
    """A robot as YAML text, and sentences about what had to be called or written otherwise."""

    text: str
    notes: list[str]
    names: dict[str, str]
    """New names of frames by their old ones, where they had to change."""


def to_yaml(mechanism: Mechanism, notation: str) -> str:
    """The mechanism as robot YAML with its joints by notation `dh`, `mdh` or `origin`."""
    return write_yaml(mechanism, notation).text


def write_yaml(mechanism: Mechanism, notation: str, sources: Sequence[str] = ()) -> Written:
    """As `to_yaml`, with the texts of `sources` and what there is to say about the result."""
    if notation not in WRITERS:
        raise InputError(f"no notation '{notation}' for the robot YAML; there are {', '.join(WRITERS)}")
    _check(mechanism)
    notes: list[str] = []
    m, names = _renamed(mechanism, notes)
    if m.spherical is not None:
        notes.append("a spherical parallel manipulator, written by its joints and loops")
    place = WRITERS[notation]
    lines = [f"# {note}" for note in notes]
    lines.append(f"name: {m.name}")
    if m.description:
        lines.append(f"description: {line_text(m.description)}")
    if sources:
        lines.append("sources:")
        lines += [f"  - {line_text(source)}" for source in sources]
    lines.append(f"gravity: {list_text(m.gravity)}")
    if m.base is not None:
        body = _inertial(m.base.M, m.base.MS, m.base.J, pose(), notation)
        lines.append(f"base: {group_text({'type': 'floating', 'name': m.base.name} | body)}")
    lines.append(f"tool: {group_text(_on_link(m, m.frames[-1]))}")
    lines.append("joints:")
    notated = {BASE: pose()} | dict(enumerate(frames_of_notation(m, notation)))
    for j in range(m.n):
        axis = inverse(notated[int(m.parent[j])]) @ pose(m.R[j], m.p[j])
        kind = "prismatic" if m.joint_type[j] == PRISMATIC else "revolute"
        lines += _entry(m.joint_names[j], kind, _link(m, int(m.parent[j])), place(axis, notated[j]))
        lines += [f"    {key}: {value}" for key, value in _motion(m, j, notation).items()]
        lines += _motor(m, j)
        link: dict[str, object] = {"name": m.body_names[j]}
        link |= _inertial(float(m.M[j]), m.MS[j], m.J[j], notated[j], notation)
        if shift := _origin(inverse(notated[j]) @ m.frames[j].T):
            link["frame"] = group_text(shift)
        for beam in m.beams:
            if beam.body == j:
                link["flexible"] = group_text({"E": beam.E, "I": beam.I, "modes": beam.modes})
        for each in m.compliances:
            if each.body == j:
                tip = _origin(inverse(m.frames[j].T) @ pose(each.R, each.p))
                link["compliance"] = group_text(tip | {"matrix": list_text(list_text(row) for row in each.C)})
        lines += ["    link:", *(f"      {key}: {value}" for key, value in link.items())]
    joints = set(m.joint_names)
    for extra in m.frames[m.n : -1]:
        name = _unused(f"{extra.name}_fixed", joints)
        there = inverse(notated[extra.body]) @ extra.T
        lines += _entry(name, "fixed", _link(m, extra.body), place(there, pose()))
        lines.append(f"    link: {group_text({'name': extra.name})}")
    lines += _closed_chains(m)
    return Written("\n".join(lines) + "\n", notes, names)


def _origin_and_axis(axis: Floats, N: Floats) -> str:
    """origin, and the joint's axis in N where it is not z."""
    text = f"origin: {group_text(_origin(axis @ N))}"
    if np.abs(N[2, :2]).max() < PARALLEL and N[2, 2] > 0.0:
        return text
    return f"{text}\n    axis: {list_text(rounded(x) for x in N[2, :3])}"


WRITERS: dict[str, Callable[[Floats, Floats], str]] = {
    "dh": lambda axis, N: f"dh: {_rows(standard_rows(axis, N))}",
    "mdh": lambda axis, N: f"mdh: {_rows(modified_rows(axis, N))}",
    "origin": _origin_and_axis,
}


# what moves, what weighs


def _motion(m: Mechanism, j: int, notation: str) -> dict[str, str]:
    """Limits, friction, stiffness, spring and motor of joint j."""
    out: dict[str, str] = {}
    angle = number_text if m.joint_type[j] == PRISMATIC else angle_text
    limits: dict[str, object] = {}
    if np.isfinite(m.position_limits[j]).all():
        limits["position"] = list_text(angle(x) for x in m.position_limits[j])
    bounds = {"velocity": m.velocity_limits[j], "effort": m.effort_limits[j]}
    limits |= {key: bound for key, bound in bounds.items() if math.isfinite(bound)}
    if limits:
        out["limits"] = group_text(limits)
    Ia, Fv, Fs = float(m.Ia[j]), float(m.Fv[j]), float(m.Fs[j])
    if notation == "mdh":
        out |= {key: number_text(value) for key, value in {"Ia": Ia, "Fv": Fv, "Fs": Fs}.items() if value}
    else:
        friction = {key: value for key, value in {"viscous": Fv, "coulomb": Fs}.items() if value}
        out |= {"friction": group_text(friction)} if friction else {}
        out |= {"rotor_inertia": number_text(Ia)} if Ia else {}
    spring = 0.0 if m.springs is None else float(m.springs.K[j])
    if math.isfinite(m.stiffness[j]) and m.stiffness[j] != spring:
        out["stiffness"] = number_text(m.stiffness[j])
    if m.springs is not None and spring > 0.0:
        rest = {"rest": angle(m.springs.rest[j])} if m.springs.rest[j] else {}
        out["spring"] = group_text({"stiffness": number_text(spring)} | rest)
    if m.mimic is not None and m.mimic.leader[j] != j:
        follow = {"joint": m.joint_names[m.mimic.leader[j]], "multiplier": number_text(m.mimic.multiplier[j])}
        out["mimic"] = group_text(follow | ({"offset": angle(m.mimic.offset[j])} if m.mimic.offset[j] else {}))
    if not (m.active[j] or m.elastic[j]):
        out["active"] = "false"
    return out


def _motor(m: Mechanism, j: int) -> list[str]:
    """The drive of joint j, if any; its rotor's inertia and friction are among the joint's."""
    motors = m.motors
    if motors is None or math.isnan(motors.gear[j]):
        return []
    motor = {"gear_ratio": motors.gear[j]}
    motor |= {key: getattr(motors, field)[j] for key, (field, _, _) in MOTOR_FIGURES.items()}
    dac: dict[str, object] = {"bits": motors.dac_bits[j], "range": list_text([motors.dac_low[j], motors.dac_high[j]])}
    channel = {"gain": motors.dac_gain[j], "sign": motors.dac_sign[j], "offset": motors.dac_offset[j]}
    dac |= {key: value for key, value in channel.items() if value != (0.0 if key == "offset" else 1.0)}
    lines = [f"{key}: {number_text(value)}" for key, value in motor.items() if math.isfinite(value)]
    return ["    motor:", *(f"      {line}" for line in lines), f"      dac: {group_text(dac)}"]


def _inertial(M: float, MS: Floats, J: Floats, N: Floats, notation: str) -> dict[str, object]:
    """Inertial parameters in the frame N of a body, whose own frame they are given in."""
    if M == 0.0:
        return {}
    body = Inertial.from_standard_parameters(M, MS, J)
    body.inertia[np.abs(body.inertia) < ROUNDING * np.abs(J).max()] = 0.0
    if not np.array_equal(N, pose()):
        R, p = N[:3, :3], N[:3, 3]
        body = Inertial(M, R.T @ (body.com - p), R.T @ body.inertia @ R)
    _, moments, about_origin = body.standard_parameters()
    if notation == "mdh" or 0.0 < np.abs(body.inertia).max() < SMALL_INERTIA * np.abs(about_origin).max():
        return {"M": number_text(M)} | _unless_zero("MS", moments) | _tensor("J", about_origin)
    return {"mass": number_text(M)} | _unless_zero("com", body.com) | _tensor("inertia", body.inertia)


def _unless_zero(key: str, values: Floats) -> dict[str, object]:
    return {key: list_text(values)} if values.any() else {}


def _tensor(key: str, tensor: Floats) -> dict[str, object]:
    """xx, yy, zz and the products that are not zero."""
    if not tensor.any():
        return {}
    largest = np.abs(tensor).max()
    entries: dict[str, object] = {}
    for name, (a, b) in PRODUCTS.items():
        value = 0.5 * float(tensor[a, b] + tensor[b, a])
        if a == b or abs(value) > 1e-16 * largest:
            entries[name] = value
    return {key: group_text(entries)}


# closed chains


def _closed_chains(m: Mechanism) -> list[str]:
    """The entries `loops`, `assembly` and `platform`, none where no chain is closed."""
    if not m.loops:
        return []
    lines = ["loops:"]
    for loop in m.loops:
        lines += [f"  - name: {loop.name}", f"    kind: {loop.kind}"]
        for key, frame in {"first": loop.first, "second": loop.second}.items():
            lines.append(f"    {key}: {group_text(_on_link(m, frame))}")
    if m.assembly is not None:
        texts = {
            name: number_text(q) if kind == PRISMATIC else angle_text(q)
            for name, kind, q in zip(m.joint_names, m.joint_type, m.assembly, strict=True)
        }
        lines.append(f"assembly: {group_text(texts)}")
    if m.platform is not None:
        lines.append(f"platform: {_link(m, m.platform)}")
    return lines


# refusals and names


def _check(m: Mechanism) -> None:
    """Refuse what the YAML has no words for."""
    for j, name in enumerate(m.joint_names):
        low, high = m.position_limits[j]
        if np.isfinite([low, high]).any() and not (np.isfinite([low, high]).all() and low < high):
            raise DescriptionError(
                f"{m.name}: the position limits of joint '{name}' are {low:g} to {high:g}, but a robot YAML has either"
                " both with the lower below the upper, or none; correct them where they come from"
            )
        for what, limit in {"velocity": m.velocity_limits[j], "effort": m.effort_limits[j]}.items():
            if not limit > 0.0:
                raise DescriptionError(
                    f"{m.name}: the {what} limit of joint '{name}' is {limit:g}, but in a robot YAML it is above"
                    " 0, or not given; correct it where it comes from"
                )
        if m.elastic[j] and math.isinf(m.stiffness[j]):
            raise DescriptionError(
                f"{m.name}: joint '{name}' has a spring, but an infinite stiffness, which a robot YAML cannot say;"
                " give it the spring's"
            )


def _renamed(m: Mechanism, notes: list[str]) -> tuple[Mechanism, dict[str, str]]:
    """The mechanism with names that the YAML can have, and those of frames that are new; a note says which."""

    def rename(old: str, taken: set[str], what: str) -> str:
        new = re.sub(r"[^A-Za-z0-9_]", "_", old)[:90]
        new = new if NAME.fullmatch(new) else f"n{new}"
        new = _unused(new, taken)
        if new != old:
            notes.append(f"the {what} '{old}' is called '{new}' here")
        return new

    name = rename(m.name, set(), "robot")
    joints: set[str] = set()
    joint_names = tuple(rename(joint, joints, "joint") for joint in m.joint_names)
    links = {"tool", "base"}
    base = m.base
    if base is not None and base.name != "base":
        base = dataclasses.replace(base, name=rename(base.name, links, "base"))
    others = m.frames[:-1] if m.frames[-1].name == "tool" else m.frames
    described = [frame for frame in others if not is_base_frame(m, frame)]
    frames = [dataclasses.replace(frame, name=rename(frame.name, links, "frame")) for frame in described]
    names = {old.name: new.name for old, new in zip(described, frames, strict=True) if old.name != new.name}
    bodies = tuple(frame.name for frame in frames[: m.n])
    frames.append(dataclasses.replace(m.frame("tool"), name="tool"))
    loops: set[str] = set()
    cuts = tuple(dataclasses.replace(loop, name=rename(loop.name, loops, "loop")) for loop in m.loops)
    new = dataclasses.replace(
        m, name=name, joint_names=joint_names, body_names=bodies, frames=tuple(frames), base=base, loops=cuts
    )
    return new, names


def is_base_frame(m: Mechanism, frame: Frame) -> bool:
    """Whether a frame is the base's own, which the YAML has without saying."""
    own = frame.name == "base" or (m.base is not None and frame.name == m.base.name)
    return own and frame.is_base


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken; it is taken from then on."""
    new, count = name, 1
    while new in taken:
        count += 1
        new = f"{name}_{count}"
    taken.add(new)
    return new


def _link(m: Mechanism, body: int) -> str:
    return m.body_names[body] if body != BASE else "base" if m.base is None else m.base.name


def _on_link(m: Mechanism, frame: Frame) -> dict[str, object]:
    """link, xyz and rpy of a frame in the described frame of the link that carries it."""
    on = pose() if frame.body == BASE else m.frames[frame.body].T
    return {"link": _link(m, frame.body)} | _origin(inverse(on) @ frame.T)


# text


def _entry(name: str, kind: str, parent: str, placement: str) -> list[str]:
    return [f"  - name: {name}", f"    type: {kind}", f"    parent: {parent}", f"    {placement}"]


def _rows(rows: list[Row]) -> str:
    """One row, or a list of rows; what is zero is left out."""
    texts = []
    for row in rows:
        tidy = {key: rounded_angle(value) if key in ANGLES else rounded(value) for key, value in row.items()}
        texts.append(group_text({key: angle_text(x) if key in ANGLES else x for key, x in tidy.items() if x}))
    return texts[0] if len(texts) == 1 else list_text(texts)


def _origin(T: Floats) -> dict[str, object]:
    """xyz and rpy, what is zero left out."""
    xyz = [rounded(x) for x in T[:3, 3]]
    rpy = [rounded_angle(x) for x in rpy_from_rotation(T[:3, :3])]
    out: dict[str, object] = {}
    if any(xyz):
        out["xyz"] = list_text(xyz)
    if any(rpy):
        out["rpy"] = list_text(angle_text(x) for x in rpy)
    return out
