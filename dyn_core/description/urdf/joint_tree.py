"""The joints of a URDF as a tree: whether they make one, and the mechanism that it is."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from dyn_core.arrays import Floats, Ints
from dyn_core.errors import DescriptionWarning
from dyn_core.mechanism import STANDARD_GRAVITY, FloatingBase, Frame, Mechanism
from dyn_core.spatial.poses import pose, rotation_from_rpy, rotation_to_axis

from ..assembly import (
    Heading,
    assemble,
    described_frames,
    furthest_link,
    idle_joints,
    in_circles,
    resolve_leaders,
)
from ..documents.problems import suggestion
from ..documents.xml_document import Element
from ..inertial import INERTIA_TOLERANCE, NO_MASS, Inertial
from ..joint_entry import JointEntry, Placement

Links = Mapping[str, Element]
ZERO = (0.0, 0.0, 0.0)


@dataclasses.dataclass(kw_only=True, eq=False)
class UrdfJoint(JointEntry):
    """One <joint>, or one of the three single joints of a planar one; `kind` may be floating or planar at first."""

    element: Element
    origin: Floats
    """The joint's frame in that of the parent link."""
    axis: Floats = dataclasses.field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))


def origin_of(element: Element) -> Floats:
    """The pose that <origin> gives; none: the identity."""
    origin = element.one("origin")
    if origin is None:
        return pose()
    roll, pitch, yaw = origin.vector("rpy", ZERO)
    return pose(rotation_from_rpy(roll, pitch, yaw), origin.vector("xyz", ZERO))


def check_tree(root: Element, links: Links, joints: list[UrdfJoint]) -> str:
    """The name of the only root link; every link hangs from it by exactly one joint."""
    if not links:
        raise root.error("has no <link>")
    carried: dict[str, UrdfJoint] = {}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.link)):
            if link not in links:
                hint = suggestion(link, links, ", did you mean '{}'?")
                raise joint.element.need(end).error(f"no link is called '{link}'{hint}")
        if joint.link in carried:
            other = carried[joint.link].element
            raise joint.element.error(
                f"link '{joint.link}' is already the child of joint '{carried[joint.link].name}' (line {other.line});"
                " a URDF is a tree, loops cannot be said in it"
            )
        carried[joint.link] = joint
    roots = [link for link in links if link not in carried]
    if len(roots) > 1:
        raise root.error(f"several links have no parent: {', '.join(roots)}; a robot has one root, join them by joints")
    for joint in in_circles(joints):
        raise joint.element.error(f"goes in a circle: '{joint.link}' hangs, in the end, from itself")
    return roots[0]


def floating_root(joints: list[UrdfJoint], base: str, floating: bool) -> tuple[list[UrdfJoint], str, bool]:
    """Without the world and the floating joint that hangs the robot's base in it, if the file says so."""
    loose = [joint for joint in joints if joint.kind == "floating"]
    if not loose:
        return joints, base, floating
    first = loose[0]
    at_root = [joint for joint in joints if joint.parent == base]
    if len(loose) > 1 or at_root != [first]:
        raise loose[-1].element.error(
            "a floating joint must be the only one on the root link, between the world and the base"
        )
    if not np.allclose(first.origin, np.eye(4), rtol=0.0, atol=1e-12):
        raise first.element.error("a floating joint's <origin> must be zero: where the base is, its position q says")
    return [joint for joint in joints if joint is not first], first.link, True


LETTERS = dict(zip("xyz", np.eye(3), strict=True))


def _single_axes(joint: UrdfJoint) -> list[tuple[str, str, Floats]]:
    """Name's ending, kind and axis of the single joints of a planar joint, a ball or a universal joint."""
    if joint.kind == "planar":
        x, y, z = rotation_to_axis(joint.axis).T
        return [("x", "prismatic", x), ("y", "prismatic", y), ("yaw", "revolute", z)]
    if joint.kind in BALLS:
        return [(letter, "revolute", LETTERS[letter]) for letter in BALLS[joint.kind]]
    return []


BALLS = {"ball": "xyz"} | {f"universal_{a}{b}": a + b for a in "xyz" for b in "xyz" if a != b}
"""The axes of balls and universal joints, one after the other."""


def several_as_single(joints: list[UrdfJoint], links: Links) -> list[UrdfJoint]:
    """A planar joint, a ball or a universal joint as single joints NAME_x, NAME_y, ... with massless links between.

    A planar joint slides along Q x, Q y and turns about Q z = axis; a ball turns about x, y and z.
    """
    names = {joint.name for joint in joints}
    out: list[UrdfJoint] = []
    for joint in joints:
        axes = _single_axes(joint)
        if not axes:
            out.append(joint)
            continue
        between = [f"{joint.link}_{ending}" for ending, _, _ in axes[:-1]]
        new = [f"{joint.name}_{ending}" for ending, _, _ in axes]
        for taken in [*(link for link in between if link in links), *(part for part in new if part in names)]:
            count = "three" if len(axes) == 3 else "two"
            raise joint.element.error(
                f"becomes {count} joints, for which the name '{taken}' is needed but already taken"
            )
        chain = [joint.parent, *between, joint.link]
        for k, (_, kind, axis) in enumerate(axes):
            single = dataclasses.replace(joint, name=new[k], parent=chain[k], link=chain[k + 1], axis=axis, kind=kind)
            single.origin = joint.origin if k == 0 else pose()
            out.append(single)
    return out


def assembled(
    root: Element,
    links: Links,
    bodies: Mapping[str, Inertial],
    ordered: Sequence[UrdfJoint],
    base: str,
    floating: bool,
    closed: bool = False,
) -> Mechanism:
    """The mechanism of joints, parents first; bodies: inertial parameters of the links that have some.

    closed: its chains will be closed, so that a joint may move nothing but what others carry.
    """
    extension = root.one("dyn_robot")
    given = [] if extension is None else extension.all("joint")
    rotors = {joint.text("name"): joint.number("rotor_inertia", 0.0) for joint in given}
    for joint in ordered:
        Q = pose(rotation_to_axis(joint.axis)) if joint.moves else pose()
        joint.placement = Placement(joint.origin @ Q, Q.T)
        joint.inertial = bodies.get(joint.link, NO_MASS)
        joint.Ia = rotors.get(joint.name, 0.0)  # which a joint without other inertia needs
    moving = [joint for joint in ordered if joint.moves]
    _follow(moving, {joint.name for joint in ordered})
    heading = Heading(root.text("name"), f"from {root.path.name}", np.array(STANDARD_GRAVITY))
    trunk = FloatingBase(base, *bodies.get(base, NO_MASS).standard_parameters()) if floating else None
    mechanism = assemble(heading, ordered, (base, pose()), (base,), trunk)
    frames = _frames(described_frames(ordered, (base,)), moving, mechanism.parent)
    mechanism = dataclasses.replace(mechanism, frames=frames)
    weighed = {joint.body for joint in ordered if joint.link in bodies}
    _check_inertia(mechanism, root, links, moving, weighed, closed)
    return mechanism


def _frames(at: Mapping[str, tuple[int, Floats, int]], moving: Sequence[UrdfJoint], parent: Ints) -> tuple[Frame, ...]:
    """Frames of the moving links in joint order, of all others, and "tool".

    The tool is the link of that name, or else the link behind the most joints (of several the last in the file).
    """
    carried = [joint.link for joint in moving]
    links = [*carried, *(link for link in at if link not in carried)]
    last = "tool" if "tool" in at else furthest_link(at, parent)
    named = [(link, link) for link in links if link != "tool" or link in carried]
    if "tool" not in carried:
        named.append(("tool", last))
    return tuple(Frame.at(name, *at[link]) for name, link in named)


def _follow(moving: Sequence[UrdfJoint], names: set[str]) -> None:
    """Give every follower the independent joint that it follows in the end: q = multiplier q_leader + offset."""
    by_name = {joint.name: joint for joint in moving}
    tags = {joint.name: tag for joint in moving if (tag := joint.element.one("mimic")) is not None}
    for name, tag in tags.items():
        followed = tag.text("joint")
        if followed not in by_name:
            found = "is fixed" if followed in names else "does not exist"
            hint = "" if followed in names else suggestion(followed, by_name, ", did you mean '{}'?")
            raise tag.error(f"joint '{name}' follows '{followed}', which {found}{hint}")
        joint = by_name[name]
        joint.leader = followed
        joint.multiplier, joint.offset = tag.number("multiplier", 1.0), tag.number("offset", 0.0)
    circle = resolve_leaders(moving)
    if circle:
        raise tags[circle].error(f"joint '{circle}' follows, in the end, itself")


def _check_inertia(
    m: Mechanism, root: Element, links: Links, moving: Sequence[UrdfJoint], weighed: set[int], closed: bool
) -> None:
    """Refuse missing inertia; warn of what no real body has. weighed: bodies some link of which has <inertial>."""
    for joint in moving:
        link = links.get(joint.link)
        if link is not None and joint.body not in weighed and (link.all("visual") or link.all("collision")):
            raise link.error(
                "moves and has a shape but no <inertial>; give its mass and inertia (a mass of 0 if it has none)"
            )
    for name in [] if closed else idle_joints(m, root.path):
        joint = next(joint for joint in moving if joint.name == name)
        light = f"link '{joint.link}' and what hangs on it have no mass or inertia"
        raise joint.element.error(f"has nothing to move: {light}; give <inertial>")
    if m.base is not None and m.base.M == 0.0:
        raise links[m.base.name].error("floats but has no mass; give <inertial>, or load it with a fixed base")
    odd = [joint.link for joint in moving if not _is_physical(m, joint.body)]
    if odd:
        warnings.warn(
            f"{root.path}: no real body has the inertia of {', '.join(odd)} (a principal moment is negative or exceeds"
            " the sum of the others); it is used as it stands",
            DescriptionWarning,
            stacklevel=4,
        )


def _is_physical(m: Mechanism, j: int) -> bool:
    body = Inertial.from_standard_parameters(m.M[j], m.MS[j], m.J[j])
    small, middle, large = np.linalg.eigvalsh(body.inertia)
    slack = INERTIA_TOLERANCE * max(float(np.abs(m.J[j]).max()), 1e-12)
    return bool(small >= -slack and small + middle >= large - slack)
