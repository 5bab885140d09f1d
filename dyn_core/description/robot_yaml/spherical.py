"""`kind: spherical` of the robot YAML: a spherical parallel manipulator, as a tree with two cut joints.

Leg 1 carries the platform; legs 2 and 3 are cut where they meet it. All frames stand where their joints are, at the
radius of the link that they carry from the centre O, the base frame's origin, with z along the joint's axis, away from
O; the last frame of a leg is at the radius of its distal link. What is given once holds for all legs, what is given as
a list of three for each.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from dyn_core import beams
from dyn_core.arrays import Floats
from dyn_core.mechanism import BASE, Compliance, Mechanism, Spherical
from dyn_core.spatial.poses import azimuth_tilt_torsion, inverse, pose, rotation_y
from dyn_core.spatial.spherical_linkage import THIRDS, axes, leg_geometry, leg_joints, platform_axes

from ..assembly import assemble, described_frames
from ..documents.yaml_document import Document
from ..documents.yaml_section import YamlSection
from ..inertial import NO_MASS, Inertial
from ..joint_entry import Placement
from .inertia import INERTIAL_KEYS, read_inertial
from .joint import YamlJoint, read_motion
from .joint_notation import origin
from .joint_tree import read_heading
from .link_compliance import MATERIAL_KEYS, read_material, read_matrix, read_section
from .loops import Cut, End, placed_loops

SPHERICAL_KEYS = (
    "name", "kind", "description", "sources", "gravity", "tool", "geometry", "working_mode", "home", "proximal",
    "distal", "actuators", "platform",
)  # fmt: skip
LINK_KEYS = ("R", "rigid", "compliance", "section", *MATERIAL_KEYS, "mass")
ACTUATOR_KEYS = ("limits", "friction", "Fv", "Fs", "rotor_inertia", "Ia", "stiffness", "motor")
LEGS = ("leg1", "leg2", "leg3")
LINKS = ("proximal", "distal")
POINTS = 400  # of an arc's mass


class _Link(NamedTuple):
    """A link of a leg, in the frame of its first joint."""

    compliance: Compliance | None
    inertial: Inertial


def read_spherical(document: Document) -> Mechanism:
    """The mechanism of a file with `kind: spherical`."""
    root = document.root(SPHERICAL_KEYS)
    heading = read_heading(root)
    angles = _read_geometry(root)
    home = _read_home(root)
    sections = [_per_leg(root, key, LINK_KEYS) for key in LINKS]
    links = [
        [_read_link(root, sections[k][i], LINKS[k], angles.radii[i, k], angles.arcs[i, k]) for k in range(2)]
        for i in range(3)
    ]
    motions = _read_actuators(root)
    platform_section = root.section("platform", ("name", *INERTIAL_KEYS))
    platform = read_inertial(platform_section)
    tool = origin(root.section("tool", ("xyz", "rpy")))
    document.finish()

    joints, cuts = _joints(root, angles, links, motions, platform, platform_section.name("name", "platform"))
    start = _home_positions(root, angles, home)
    document.finish()
    mechanism = assemble(heading, joints, (joints[2].link, tool))
    loops = placed_loops(cuts, described_frames(joints, ("base",)))
    return dataclasses.replace(mechanism, loops=loops, assembly=start, spherical=angles)


def _per_leg(root: YamlSection, key: str, keys: tuple[str, ...]) -> list[YamlSection]:
    """The group of each leg: one that holds for all, or one by one."""
    found = root.rows(key, keys)
    if root.is_list(key) and len(found) != 3:
        root.problem(key, f"found a list of {len(found)}", "one group for all legs, or a list of three")
        found = found[:1]
    return found if len(found) == 3 else found * 3


def _read_geometry(root: YamlSection) -> Spherical:
    geometry = root.section("geometry", ("alpha1", "alpha2", "beta", "gamma", "R"))
    if "geometry" not in root:
        root.problem("geometry", "missing", "alpha1, alpha2, beta, gamma, R")

    def angles(key: str, own: bool = True) -> Floats:
        """(3,) of the legs, or one for all; own: a leg may have its own."""
        each = own and geometry.is_list(key)
        values = geometry.angles(key, 3, default=(0.0,) * 3) if each else np.full(3, geometry.angle(key))
        least = -1e-12 if key == "gamma" else 1e-6
        for value in values[~((least < values) & (values < math.pi - 1e-6))][:1] if key in geometry else ():
            geometry.problem(key, f"found {math.degrees(value):g} deg", "an angle above 0 and below 180 deg")
        return values

    arcs = np.stack([angles("alpha1"), angles("alpha2")], axis=1)
    if geometry.is_list("R"):
        R = geometry.vector("R", 3, unit="m", above=0.0)
    else:
        R = np.full(3, geometry.number("R", unit="m", above=0.0))
    radii = np.stack([R, R], axis=1)
    for k, key in enumerate(LINKS):
        for i, link in enumerate(_per_leg(root, key, LINK_KEYS)):
            radii[i, k] = link.number("R", unit="m", above=0.0, default=R[i])
    modes = root.vector("working_mode", 3, default=(-1.0, -1.0, -1.0))
    if not all(abs(mode) == 1.0 for mode in modes):
        root.problem("working_mode", f"found {modes.tolist()}", "1 or -1 for each leg: the sign of (u x v) . w")
    signs = tuple(1 if mode > 0.0 else -1 for mode in modes)
    beta, gamma = (float(angles(key, own=False)[0]) for key in ("beta", "gamma"))
    return Spherical(arcs, radii, beta, gamma, signs)  # type: ignore[arg-type]


def _read_home(root: YamlSection) -> Floats:
    home = root.section("home", ("azimuth", "tilt", "torsion"))
    azimuth, tilt, torsion = (home.angle(key, default=0.0) for key in ("azimuth", "tilt", "torsion"))
    return azimuth_tilt_torsion(azimuth, tilt, torsion)


def _read_link(root: YamlSection, link: YamlSection, key: str, R: float, arc: float) -> _Link:
    """A link of a leg: an arc with a section, of a compliance of its own, or rigid."""
    stiff = link.boolean("rigid", key not in root)
    mass = link.number("mass", unit="kg", least=0.0, default=math.nan) if "mass" in link else math.nan
    C, section, bar = beams.rigid(), None, None
    if "section" in link or not (stiff or "compliance" in link):
        section = read_section(link)
    if "compliance" in link:
        C = read_matrix(link, "compliance")
        if stiff:
            link.problem("compliance", "given for a rigid link", "rigid: false, or no compliance")
    elif not stiff:
        material = read_material(link)
        if section is not None and material is not None and R > 0.0 and 0.0 < arc < math.pi:
            bar = beams.Bar(section, material, arc, R)
            C = bar.compliance
    if math.isnan(mass):
        density = link.number("density", unit="kg/m^3", least=0.0, default=0.0)
        mass = density * section.A * R * arc if section is not None else 0.0
    return _Link(Compliance(BASE, *_tip(R, arc), C, bar) if C.any() else None, _arc(mass, R, arc))


def _arc(mass: float, R: float, arc: float) -> Inertial:
    """A thin uniform arc, in the frame at its start: z from O, x along the arc."""
    if not mass > 0.0:
        return NO_MASS
    phi = arc * (np.arange(POINTS) + 0.5) / POINTS
    at = R * np.stack([np.sin(phi), np.zeros(POINTS), np.cos(phi) - 1.0], axis=1)
    com = at.mean(axis=0)
    from_com = at - com
    second = from_com.T @ from_com / POINTS
    return Inertial(mass, com, mass * (np.trace(second) * np.eye(3) - second))


def _read_actuators(root: YamlSection) -> list[YamlJoint]:
    """What moves the first joint of each leg."""
    joints: list[YamlJoint] = []
    sections = _per_leg(root, "actuators", ACTUATOR_KEYS)
    for section in sections:
        if joints and section is sections[0]:  # one for all, which is read once
            joints.append(joints[0])
            continue
        joint = YamlJoint(section=section, link_section=section, name="leg", kind="revolute", link="leg", parent="base")
        read_motion(section, joint)
        joints.append(joint)
    if len({"motor" in section for section in sections}) == 2:
        root.problem("actuators", "some have a motor and some have none", "a motor for every actuator, or for none")
    return joints


def _tip(R: float, arc: float) -> tuple[Floats, Floats]:
    """Axes r, t, n of a link's tip and its place, in the frame of its first joint."""
    T = _onward(arc, R, R)
    return T[:3, [0, 2, 1]] * [-1.0, 1.0, 1.0], T[:3, 3]


def _onward(arc: float, start: float, end: float) -> Floats:
    """The frame at the end of a link, in that at its start, at these radii: turned about y through O."""
    turn = rotation_y(arc)
    return pose(turn, end * turn[:, 2] - np.array([0.0, 0.0, start]))


def _joints(
    root: YamlSection,
    angles: Spherical,
    links: list[list[_Link]],
    motions: list[YamlJoint],
    platform: Inertial,
    platform_name: str,
) -> tuple[list[YamlJoint], list[Cut]]:
    """The joints of the tree, parents first, and the cut ones."""
    joints: list[YamlJoint] = []
    cuts: list[Cut] = []
    passive = YamlJoint(section=root, link_section=root, name="", kind="revolute", link="", parent="", active=False)
    for i, leg in enumerate(LEGS):
        u, d, e = axes(angles.gamma, i * THIRDS)
        (R1, R2), (alpha1, alpha2) = angles.radii[i], angles.arcs[i]
        start = pose(np.stack([d, e, u], axis=1), R1 * u)
        middle, end = _onward(alpha1, R1, R2), _onward(alpha2, R2, R2)
        last = platform_axes(angles.beta, i * THIRDS)
        there = pose(last, R2 * last[:, 2])
        proximal, distal = f"{leg}_proximal", f"{leg}_distal"
        tree = [
            (motions[i], proximal, "base", Placement(start, pose()), links[i][0]),
            (passive, distal, proximal, Placement(middle, pose()), links[i][1]),
        ]
        if i == 0:
            tree.append((passive, platform_name, distal, Placement(end, inverse(there)), _Link(None, platform)))
        else:
            cuts.append(Cut(root, f"{leg}_joint3", "revolute", End(distal, end), End(platform_name, there)))
        for k, (like, link, parent, placement, own) in enumerate(tree, 1):
            joint = dataclasses.replace(like, name=f"{leg}_joint{k}", link=link, parent=parent, placement=placement)
            joint.compliance, joint.inertial = own
            joints.append(joint)
    return joints, cuts


def _home_positions(root: YamlSection, angles: Spherical, Q: Floats) -> Floats:
    """(7,) positions of all joints at the home orientation Q."""
    positions: list[float] = []
    for i, leg in enumerate(leg_geometry(angles.arcs, angles.beta, angles.gamma, angles.modes)):
        found, reached = leg_joints(leg, Q @ platform_axes(angles.beta, i * THIRDS))
        if not reached:
            root.problem("home", f"leg {i + 1} does not reach the home orientation", "an orientation in the workspace")
        positions += found.tolist()[: 3 if i == 0 else 2]
    return np.array(positions)
