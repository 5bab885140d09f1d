"""`kind: parallel` of the robot YAML: a platform and the legs that carry it, as a tree with cut joints.

Every leg is a chain of joints on the base, cut where it meets the platform. The platform is a branch of its own on the
base: it slides along x, y, z of its home pose and turns by yaw, pitch and roll from there, on carriers without mass.
That is a chart of its poses; the kernels of parallel robots work with the pose itself.

A leg of type UPS or RSS has a universal joint, whose axes are the first one (in the base, or in the crank) and one
across it and the rod. Without spin a rod does not turn about itself: its moment of inertia about its own axis then does
nothing and is left out, which makes the universal joint's axes a mere chart of the rod's direction.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import CUT_JOINTS, Compliance, Mechanism
from dyn_core.spatial.poses import pose, rotation_to_axis

from ..assembly import Heading
from ..documents.yaml_section import YamlSection
from ..inertial import INERTIA_TOLERANCE, Inertial
from ..joint_entry import Placement
from .inertia import INERTIAL_KEYS, read_inertial
from .joint import JOINT_KEYS, MAX_JOINTS, YamlJoint, read_joint, read_motion
from .joint_notation import origin
from .joint_tree import assembled
from .link_compliance import read_link
from .loops import Cut, End, read_assembly

PLATFORM_KEYS = ("name", "motion", "home", *INERTIAL_KEYS)
ROD_KEYS = (*INERTIAL_KEYS, "beam", "compliance")
DRIVE_KEYS = ("limits", "friction", "Fv", "Fs", "rotor_inertia", "Ia", "stiffness", "active", "motor")
LEG_KEYS = {
    "UPS": ("base", "platform", "axis", "spin", "lower", "upper", *DRIVE_KEYS),
    "RSS": ("base", "platform", "axis", "elbow", "spin", "crank", "rod", *DRIVE_KEYS),
    "chain": ("joints", "end", "platform"),
}
MOTIONS = {
    "spatial": ("x", "y", "z", "yaw", "pitch", "roll"),
    "planar": ("x", "y", "yaw"),
    "translational": ("x", "y", "z"),
}
AXES = {
    "x": ("prismatic", (1.0, 0.0, 0.0)), "y": ("prismatic", (0.0, 1.0, 0.0)), "z": ("prismatic", (0.0, 0.0, 1.0)),
    "yaw": ("revolute", (0.0, 0.0, 1.0)), "pitch": ("revolute", (0.0, 1.0, 0.0)), "roll": ("revolute", (1.0, 0.0, 0.0)),
}  # fmt: skip
SHORTEST = 1e-6  # m: below it a leg or rod has no direction

# a universal joint: the rod points along x of the first axis' frame, the second axis is y there
ACROSS = pose(np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]))
ALONG = pose(np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))


class _Legs(NamedTuple):
    """What the legs say, as joints of a tree and cut joints."""

    joints: list[YamlJoint]
    cuts: list[Cut]
    start: dict[str, float]
    """Positions of joints in which the home pose is closed, of those that are known."""


def read_parallel(root: YamlSection, heading: Heading) -> Mechanism:
    """The legs and the platform as a tree with cut joints: the joints of all legs, then those of the platform."""
    others = ("joints", "loops", "base")
    root.refuse(others, "given for a parallel robot", "platform and legs; a leg of type chain has joints")
    if not root.is_group("platform"):
        root.problem("platform", "missing, or not a group", f"keys {', '.join(PLATFORM_KEYS)}")
    section = root.section("platform", PLATFORM_KEYS)
    name = section.name("name", "platform")
    home = origin(section.section("home", ("xyz", "rpy")))
    motion = section.choice("motion", tuple(MOTIONS)) if "motion" in section else "spatial"
    legs = _read_legs(root, name, home, motion)
    joints = [*legs.joints, *_platform_joints(section, name, motion, home)]
    for joint in joints:
        if joint.leader:
            joint.section.problem("mimic", "given for a joint of a parallel robot", "independent joints")
    mechanism = assembled(heading, root, joints, legs.cuts)
    assembly = read_assembly(root, mechanism, legs.start)
    return dataclasses.replace(mechanism, assembly=assembly, platform=mechanism.body_names.index(name))


def _read_legs(root: YamlSection, platform: str, home: Floats, motion: str) -> _Legs:
    """The entries of `legs`, with as many active joints as the platform has freedoms."""
    out = _Legs([], [], {})
    names: list[str] = []
    for leg in root.sections(
        "legs", ("name", "type", *dict.fromkeys(key for keys in LEG_KEYS.values() for key in keys))
    ):
        own = leg.name("name")
        if own and own in names:
            leg.problem("name", f"'{own}' is already the name of a leg", "a name of its own")
        names.append(own)
        kind = leg.choice("type", tuple(LEG_KEYS))
        if kind:
            keys = LEG_KEYS[kind]
            leg.refuse_others(("name", "type", *keys), f"has no meaning for a leg of type {kind}", ", ".join(keys))
            READERS[kind](leg, own, platform, home, out)
        if len(out.joints) > MAX_JOINTS:
            leg.problem("name", "one joint too many", f"at most {MAX_JOINTS} joints")
            break
    freedoms = len(MOTIONS.get(motion, ()))
    active = sum(joint.active for joint in out.joints if joint.moves)
    whole = len(out.cuts) == len(names)  # else it was said what is wrong with a leg
    if names and whole and freedoms and active != freedoms:
        found = f"{active} active joints in {len(names)} legs, but the platform has {freedoms} freedoms"
        allowed = f"as many active joints as freedoms, {freedoms}; a platform that moves in another way than"
        root.problem("legs", found, f"{allowed} {', '.join(MOTIONS)} is described by joints and loops")
    return out


def _platform_joints(section: YamlSection, name: str, motion: str, home: Floats) -> list[YamlJoint]:
    inertial = read_inertial(section)
    least = {
        "spatial": np.linalg.eigvalsh(inertial.inertia)[0],
        "planar": inertial.inertia[2, 2],
    }.get(motion, np.inf)
    if not inertial.mass > 0.0:
        section.problem("mass", f"found {inertial.mass:g}", "a mass > 0 in kg")
    elif not least > 0.0:
        section.problem("inertia", "the platform can turn without any inertia", "moments of inertia > 0 in kg m^2")
    joints: list[YamlJoint] = []
    before = "base"
    for step in MOTIONS.get(motion, ()):
        kind, axis = AXES[step]
        Q = pose(rotation_to_axis(np.array(axis)))
        placement = Placement((pose() if joints else home) @ Q, Q.T)
        joints.append(_passive(section, f"{name}_{step}", kind, f"{name}_{step}_carrier", before, placement))
        before = joints[-1].link
    if joints:
        joints[-1].link, joints[-1].inertial = name, inertial
    return joints


def _passive(section: YamlSection, name: str, kind: str, link: str, parent: str, placement: Placement) -> YamlJoint:
    own = section.section("joint", ())  # of no keys: what the leg says of its drive is not this joint's
    return YamlJoint(
        section=own, link_section=own, name=name, kind=kind, link=link, parent=parent, placement=placement, active=False
    )


def _read_ups(leg: YamlSection, name: str, platform: str, home: Floats, out: _Legs) -> None:
    """Universal joint on the base, actuated slide, spherical joint on the platform; q is the leg's length."""
    foot, tip = leg.vector("base", 3, unit="m"), leg.vector("platform", 3, unit="m")
    along = home[:3, :3] @ tip + home[:3, 3] - foot
    universal = _universal(leg, name, "lower", "base", np.eye(3), foot, along, out, free=False)
    if not universal:
        return
    slide = _passive(leg, name, "prismatic", f"{name}_upper", f"{name}_lower", Placement(pose(), pose()))
    slide.section, slide.active = leg, True
    slide.inertial, slide.compliance = _read_rod(leg, "upper")
    read_motion(leg, slide)
    if slide.limits[0] <= 0.0 and "limits" in leg and math.isfinite(slide.limits[0]):
        leg.problem("limits", f"the shortest length is {slide.limits[0]:g} m", "lengths > 0 in m")
    out.start[name] = float(np.linalg.norm(along))
    _check_home(leg, slide, out.start[name])
    out.joints.extend([*universal, slide])
    out.cuts.append(_cut(leg, name, "spherical", f"{name}_upper", pose(), platform, pose(p=tip)))


def _read_rss(leg: YamlSection, name: str, platform: str, home: Floats, out: _Legs) -> None:
    """A crank that turns on the base and a rod between two spherical joints; the crank is at 0 in the home pose."""
    foot, elbow, tip = (leg.vector(key, 3, unit="m") for key in ("base", "elbow", "platform"))
    axis = leg.vector("axis", 3)
    turn, arm = float(np.linalg.norm(axis)), elbow - foot
    if not turn > 0.0:
        leg.problem("axis", "has length 0", "the direction of the crank's axis, e.g. [0, 0, 1]")
        return
    axis = axis / turn
    beside = arm - (arm @ axis) * axis
    if not np.linalg.norm(beside) > SHORTEST:
        leg.problem("elbow", "lies on the crank's axis", "a point beside the axis, in m")
        return
    x = beside / np.linalg.norm(beside)
    R = np.stack([x, np.cross(axis, x), axis], axis=1)
    crank = _passive(leg, name, "revolute", f"{name}_crank", "base", Placement(pose(R, foot), pose()))
    crank.section, crank.active = leg, True
    link = leg.section("crank", ROD_KEYS)
    crank.inertial, crank.compliance = read_inertial(link), read_link(link)
    read_motion(leg, crank)
    _check_home(leg, crank, 0.0)
    along = home[:3, :3] @ tip + home[:3, 3] - elbow
    universal = _universal(leg, name, "rod", f"{name}_crank", R, R.T @ arm, along, out, free=True)
    if not universal:
        return
    out.joints.extend([crank, *universal])
    length = np.array([0.0, 0.0, np.linalg.norm(along)])
    out.cuts.append(_cut(leg, name, "spherical", f"{name}_rod", pose(p=length), platform, pose(p=tip)))


def _check_home(leg: YamlSection, joint: YamlJoint, at: float) -> None:
    low, high = joint.limits
    if low < high and not low <= at <= high:
        leg.problem("limits", f"{low:g} to {high:g}, but the home pose has it at {at:.6g}", "limits that hold the home")


def _universal(
    leg: YamlSection, name: str, rod: str, parent: str, R: Floats, at: Floats, along: Floats, out: _Legs, free: bool
) -> list[YamlJoint]:
    """The two joints that aim a rod; its frame has z along it, and y along the second axis.

    R: of the parent's frame; at: the joint's centre in it; along: from there to the rod's other end at home, base axes;
    free: the first axis is not given.
    """
    length = float(np.linalg.norm(along))
    if not math.isfinite(length):  # then it was said where
        return []
    if not length > SHORTEST:
        leg.problem("platform", "the leg has no length in the home pose", "a point away from the other end, in m")
        return []
    u = along / length
    a = leg.vector("axis", 3, default=_across(u).tolist()) if not free else _across(u)
    size = float(np.linalg.norm(a))
    a = a / size if size > 0.0 else a
    x = u - (u @ a) * a
    if not size > 0.0 or not np.linalg.norm(x) > 1e-3:
        leg.problem("axis", "lies along the leg in the home pose, or has length 0", "an axis across the leg")
        return []
    x = x / np.linalg.norm(x)
    frame = R.T @ np.stack([x, np.cross(a, x), a], axis=1)
    first = _passive(leg, f"{name}_u1", "revolute", f"{name}_cross", parent, Placement(pose(frame, at), pose()))
    second = _passive(leg, f"{name}_u2", "revolute", f"{name}_{rod}", f"{name}_cross", Placement(ACROSS, ALONG))
    second.inertial, second.compliance = _read_rod(leg, rod)
    out.start[second.name] = math.atan2(-float(u @ a), float(u @ x))
    return [first, second]


def _across(u: Floats) -> Floats:
    """A horizontal axis across u, or x where u is upright."""
    a = np.array([-u[1], u[0], 0.0])
    size = float(np.linalg.norm(a))
    return a / size if size > 1e-3 else np.array([1.0, 0.0, 0.0])


def _read_rod(leg: YamlSection, key: str) -> tuple[Inertial, Compliance | None]:
    """Mass and compliance of a rod, z along it; without spin its inertia about its axis is left out."""
    section = leg.section(key, ROD_KEYS)
    rod, compliance = read_inertial(section), read_link(section)
    if leg.boolean("spin", False) or rod.mass == 0.0:
        return rod, compliance
    I = rod.inertia
    crooked = np.abs([I[0, 1], I[0, 2], I[1, 2], I[0, 0] - I[1, 1]]).max() > INERTIA_TOLERANCE * np.abs(I).max()
    if crooked or np.abs(rod.com[:2]).max() > 1e-9:
        found = "is not round about the leg's axis (z), and the leg does not spin"
        leg.problem(key, found, "com [0, 0, z] and inertia with xx = yy and no products, or spin: true")
        return rod, compliance
    return Inertial(rod.mass, rod.com, np.diag([I[0, 0], I[1, 1], 0.0])), compliance


def _read_chain(leg: YamlSection, name: str, platform: str, home: Floats, out: _Legs) -> None:
    """Any joints, then the cut joint between the last link and the platform."""
    before = "base"
    for section in leg.sections("joints", JOINT_KEYS):
        out.joints.append(read_joint(section, before))
        before = out.joints[-1].link
    if "end" not in leg:
        leg.problem("end", "missing", f"kind ({', '.join(CUT_JOINTS)}), and xyz, rpy on the last link")
    end = leg.section("end", ("kind", "xyz", "rpy"))
    kind = end.choice("kind", tuple(CUT_JOINTS)) if "end" in leg else "spherical"
    if leg.is_list("platform"):
        there = pose(p=leg.vector("platform", 3, unit="m"))
    else:
        there = origin(leg.section("platform", ("xyz", "rpy")))
    out.cuts.append(_cut(leg, name, kind, before, origin(end), platform, there))


def _cut(leg: YamlSection, name: str, kind: str, link: str, here: Floats, platform: str, there: Floats) -> Cut:
    return Cut(leg, name or "leg", kind, End(link, here), End(platform, there))


READERS = {"UPS": _read_ups, "RSS": _read_rss, "chain": _read_chain}
