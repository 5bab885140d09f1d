"""The joints of a robot YAML as a tree: whether they fit together, and the mechanism that they make."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import OWN_LINK, STANDARD_GRAVITY, WORLD, FloatingBase, Mechanism

from ..assembly import Heading, assemble, described_frames, idle_joints, in_circles, parents_first
from ..documents.yaml_section import YamlSection
from .joint import MIMIC_KEYS, YamlJoint
from .joint_notation import origin
from .loops import Cut, placed_loops
from .spring_dampers import placed_spring_dampers, read_spring_dampers


def read_heading(root: YamlSection) -> Heading:
    """`name`, `description` and `gravity`; `sources` is for the reader of the file."""
    root.texts("sources")
    gravity = root.vector("gravity", 3, unit="m/s^2", default=STANDARD_GRAVITY)
    return Heading(root.name("name"), root.text("description"), gravity)


def assembled(
    heading: Heading,
    root: YamlSection,
    joints: Sequence[YamlJoint],
    cuts: Sequence[Cut],
    bases: Sequence[str] = ("base",),
    base: FloatingBase | None = None,
) -> Mechanism:
    """The mechanism of joints and cut joints, once all that was read is right; bases, base: as of `assemble`."""
    _check_names(joints, bases)
    _check_parents(joints, bases)
    _check_motors(joints)
    tool = _read_tool(root, joints, bases)
    world = {} if base is None else {"world": (WORLD, np.eye(4), OWN_LINK)}
    springs = read_spring_dampers(root, [*bases, *world, *(joint.link for joint in joints)])
    root.document.finish()
    ordered = parents_first(joints)
    mechanism = assemble(heading, ordered, tool, bases, base)
    described = world | described_frames(ordered, bases)
    return dataclasses.replace(
        mechanism, loops=placed_loops(cuts, described), spring_dampers=placed_spring_dampers(springs, described)
    )


def _check_names(joints: Sequence[YamlJoint], bases: Sequence[str]) -> None:
    """Joint names are unique; link names are unique and neither the base's nor 'tool'."""
    for what in ("joint", "link"):
        seen: dict[str, str] = {}
        for joint in joints:
            name = joint.name if what == "joint" else joint.link
            section = joint.section if what == "joint" else joint.link_section
            if what == "link" and name in ("base", "tool"):
                section.problem("name", f"'{name}' is a frame that every robot has", "another name")
            elif what == "link" and name in bases:
                section.problem("name", f"'{name}' is the name of the base", "another name")
            elif name and name in seen:
                section.problem("name", f"'{name}' is already the {what} of {seen[name]}", "a name of its own")
            seen.setdefault(name, joint.section.field)


def _check_parents(joints: Sequence[YamlJoint], bases: Sequence[str]) -> None:
    """Every parent exists and every joint hangs, link by link, from the base."""
    links = [*bases, *dict.fromkeys(joint.link for joint in joints)]
    for joint in joints:
        joint.section.check_known("parent", "link", joint.parent, links)
    for joint in in_circles(joints):
        found = f"goes in a circle: '{joint.link}' hangs, in the end, from itself"
        joint.section.problem("parent", found, "a parent on the way to the base")


def _check_motors(joints: Sequence[YamlJoint]) -> None:
    """Either every active joint has a motor, or none has; a passive joint has none."""
    active = [joint for joint in joints if joint.moves and joint.active and not joint.leader]
    some = any("motor" in joint.section for joint in active)
    for joint in joints:
        has_motor = "motor" in joint.section
        if joint.moves and not joint.active and has_motor and "spring" not in joint.section:
            joint.section.problem("motor", "given for a passive joint", "no motor, or active: true")
        elif joint in active and some and not has_motor:
            allowed = "a motor for every active joint, or for none, or active: false"
            joint.section.problem("motor", f"missing for joint '{joint.name}'", allowed)


def check_leaders(joints: Sequence[YamlJoint]) -> None:
    """A joint that follows another follows one that moves and that follows none."""
    free = [joint.name for joint in joints if joint.moves and "mimic" not in joint.section]
    for joint in joints:
        if joint.leader:
            mimic = joint.section.section("mimic", MIMIC_KEYS)
            mimic.check_known("joint", "independent joint", joint.leader, free)


def _read_tool(root: YamlSection, joints: Sequence[YamlJoint], bases: Sequence[str]) -> tuple[str, Floats]:
    """The link that carries the tool (by default the last) and the tool's pose in its described frame."""
    tool = root.section("tool", ("link", "xyz", "rpy"))
    link = tool.name("link", joints[-1].link if joints else "base")
    tool.check_known("link", "link", link, [*bases, *(joint.link for joint in joints)])
    return link, origin(tool)


def check_mass_matrix(mechanism: Mechanism, joints: Sequence[YamlJoint], path: Path) -> None:
    """Every joint has something to accelerate; otherwise the mass matrix is singular in every pose."""
    by_name = {joint.name: joint for joint in joints}
    for name in reversed(idle_joints(mechanism, path)):
        allowed = "a mass or inertia that the joint moves, or a rotor_inertia"
        by_name[name].section.problem("link", f"joint '{name}' has nothing to move", allowed)
