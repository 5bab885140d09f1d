"""`kind: spherical` of the robot YAML: a spherical parallel manipulator, as a tree with two cut joints.

Leg 1 carries the platform; legs 2 and 3 are cut where they meet it. All frames stand where their joints are, at the
radius R from the centre O, the base frame's origin, with z along the joint's axis, away from O.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from dyn_core import beams
from dyn_core.arrays import Floats
from dyn_core.mechanism import BASE, Compliance, Mechanism, Spherical
from dyn_core.spatial.poses import azimuth_tilt_torsion, inverse, pose, rotation_y, rotation_z
from dyn_core.spatial.spherical_linkage import THIRDS, axes, leg_angle, leg_geometry, platform_axis

from ..assembly import assemble, described_frames
from ..documents.yaml_document import Document
from ..documents.yaml_section import YamlSection
from ..inertial import NO_MASS, Inertial
from ..joint_entry import Placement
from .inertia import INERTIAL_KEYS, read_inertial
from .joint import YamlJoint, read_motion
from .joint_notation import origin
from .joint_tree import check_mass_matrix, read_heading
from .link_compliance import MATERIAL_KEYS, read_material, read_matrix, read_section
from .loops import Cut, End, placed_loops

SPHERICAL_KEYS = (
    "name", "kind", "description", "sources", "gravity", "tool", "geometry", "working_mode", "home", "proximal",
    "distal", "actuators", "platform",
)  # fmt: skip
LINK_KEYS = ("rigid", "compliance", "section", *MATERIAL_KEYS, "mass")
ACTUATOR_KEYS = ("limits", "friction", "Fv", "Fs", "rotor_inertia", "Ia", "stiffness", "motor")
LEGS = ("leg1", "leg2", "leg3")
POINTS = 400  # of an arc's mass


class _Link(NamedTuple):
    """A link of the legs, in the frame of its first joint."""

    compliance: Compliance | None
    inertial: Inertial


def read_spherical(document: Document) -> Mechanism:
    """The mechanism of a file with `kind: spherical`."""
    root = document.root(SPHERICAL_KEYS)
    heading = read_heading(root)
    angles = _read_geometry(root)
    home = _read_home(root)
    R = angles.R
    links = [_read_link(root, "proximal", R, angles.alpha1), _read_link(root, "distal", R, angles.alpha2)]
    motion = _read_actuators(root)
    platform_section = root.section("platform", ("name", *INERTIAL_KEYS))
    platform = read_inertial(platform_section)
    tool = origin(root.section("tool", ("xyz", "rpy")))
    document.finish()

    joints, cuts = _joints(root, angles, links, motion, platform, platform_section.name("name", "platform"))
    start = _home_positions(root, angles, home)
    document.finish()
    mechanism = assemble(heading, joints, (joints[2].link, tool))
    loops = placed_loops(cuts, described_frames(joints, ("base",)))
    mechanism = dataclasses.replace(mechanism, loops=loops, assembly=start, spherical=angles)
    check_mass_matrix(mechanism, joints)
    document.finish()
    return mechanism


def _read_geometry(root: YamlSection) -> Spherical:
    geometry = root.section("geometry", ("alpha1", "alpha2", "beta", "gamma", "R"))
    if "geometry" not in root:
        root.problem("geometry", "missing", "alpha1, alpha2, beta, gamma, R")
    found = {key: geometry.angle(key) for key in ("alpha1", "alpha2", "beta", "gamma")}
    for key, value in found.items():
        least = -1e-12 if key == "gamma" else 1e-6
        if key in geometry and not least < value < math.pi - 1e-6:
            geometry.problem(key, f"found {math.degrees(value):g} deg", "an angle above 0 and below 180 deg")
    R = geometry.number("R", unit="m", above=0.0)
    modes = root.vector("working_mode", 3, default=(-1.0, -1.0, -1.0))
    if not all(abs(mode) == 1.0 for mode in modes):
        root.problem("working_mode", f"found {modes.tolist()}", "1 or -1 for each leg: the sign of (u x v) . w")
    return Spherical(**found, R=R, modes=tuple(1 if mode > 0.0 else -1 for mode in modes))  # type: ignore[arg-type]


def _read_home(root: YamlSection) -> Floats:
    home = root.section("home", ("azimuth", "tilt", "torsion"))
    azimuth, tilt, torsion = (home.angle(key, default=0.0) for key in ("azimuth", "tilt", "torsion"))
    return azimuth_tilt_torsion(azimuth, tilt, torsion)


def _read_link(root: YamlSection, key: str, R: float, arc: float) -> _Link:
    """A link of all three legs: an arc with a section, of a compliance of its own, or rigid."""
    link = root.section(key, LINK_KEYS)
    stiff = link.boolean("rigid", key not in root)
    mass = link.number("mass", unit="kg", least=0.0, default=math.nan) if "mass" in link else math.nan
    C, section = beams.rigid(), None
    if "section" in link or not (stiff or "compliance" in link):
        section = read_section(link)
    if "compliance" in link:
        C = read_matrix(link, "compliance")
        if stiff:
            link.problem("compliance", "given for a rigid link", "rigid: false, or no compliance")
    elif not stiff:
        material = read_material(link)
        if section is not None and material is not None and R > 0.0 and 0.0 < arc < math.pi:
            C = beams.curved_beam(R, arc, section, material)
    if math.isnan(mass):
        density = link.number("density", unit="kg/m^3", least=0.0, default=0.0)
        mass = density * section.A * R * arc if section is not None else 0.0
    return _Link(Compliance(BASE, *_tip(R, arc), C) if C.any() else None, _arc(mass, R, arc))


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


def _read_actuators(root: YamlSection) -> YamlJoint:
    """What moves the first joint of every leg."""
    section = root.section("actuators", ACTUATOR_KEYS)
    joint = YamlJoint(section=section, link_section=section, name="leg", kind="revolute", link="leg", parent="base")
    read_motion(section, joint)
    return joint


def _tip(R: float, arc: float) -> tuple[Floats, Floats]:
    """Axes r, t, n of a link's tip and its place, in the frame of its first joint."""
    T = _onward(R, arc)
    return T[:3, [0, 2, 1]] * [-1.0, 1.0, 1.0], T[:3, 3]


def _onward(R: float, arc: float) -> Floats:
    """The frame at the end of a link, in that at its start: turned about y through O."""
    turn = rotation_y(arc)
    return pose(turn, R * (turn[:, 2] - np.array([0.0, 0.0, 1.0])))


def _platform_frames(angles: Spherical) -> list[Floats]:
    """(4, 4) each: the frame of leg i's last joint in the platform's, whose origin is O."""
    frames = []
    for i in range(3):
        w = platform_axis(angles.beta, i * THIRDS)
        y = np.array([math.cos(i * THIRDS), math.sin(i * THIRDS), 0.0])
        frames.append(pose(np.stack([np.cross(y, w), y, w], axis=1), angles.R * w))
    return frames


def _joints(
    root: YamlSection, angles: Spherical, links: list[_Link], motion: YamlJoint, platform: Inertial, platform_name: str
) -> tuple[list[YamlJoint], list[Cut]]:
    """The joints of the tree, parents first, and the cut ones."""
    R, ends = angles.R, _platform_frames(angles)
    joints: list[YamlJoint] = []
    cuts: list[Cut] = []
    passive = YamlJoint(section=root, link_section=root, name="", kind="revolute", link="", parent="", active=False)
    for i, leg in enumerate(LEGS):
        u, d, e = axes(angles.gamma, i * THIRDS)
        start = pose(np.stack([d, e, u], axis=1), R * u)
        middle, end = _onward(R, angles.alpha1), _onward(R, angles.alpha2)
        proximal, distal = f"{leg}_proximal", f"{leg}_distal"
        tree = [
            (motion, proximal, "base", Placement(start, pose()), links[0]),
            (passive, distal, proximal, Placement(middle, pose()), links[1]),
        ]
        if i == 0:
            tree.append((passive, platform_name, distal, Placement(end, inverse(ends[0])), _Link(None, platform)))
        else:
            cuts.append(Cut(root, f"{leg}_joint3", "revolute", End(distal, end), End(platform_name, ends[i])))
        for k, (like, link, parent, placement, own) in enumerate(tree, 1):
            joint = dataclasses.replace(like, name=f"{leg}_joint{k}", link=link, parent=parent, placement=placement)
            joint.compliance, joint.inertial = own
            joints.append(joint)
    return joints, cuts


def _home_positions(root: YamlSection, angles: Spherical, Q: Floats) -> Floats:
    """(7,) positions of all joints at the home orientation Q."""
    legs = leg_geometry(angles.alpha1, angles.alpha2, angles.beta, angles.gamma, angles.modes)
    positions = []
    for i, leg in enumerate(legs):
        frame = _platform_frames(angles)[i][:3, :3]
        w = Q @ frame[:, 2]
        theta, _, reached = leg_angle(leg, tuple(w))
        if not reached:
            root.problem("home", f"leg {i + 1} does not reach the home orientation", "an orientation in the workspace")
        first = np.stack(axes(angles.gamma, i * THIRDS), axis=1)[:, [1, 2, 0]] @ rotation_z(theta)
        second = first @ rotation_y(angles.alpha1)
        psi = math.atan2(second[:, 1] @ w, second[:, 0] @ w)
        positions += [theta, psi]
        if i == 0:
            third = second @ rotation_z(psi) @ rotation_y(angles.alpha2)
            x = Q @ frame[:, 0]
            positions.append(math.atan2(third[:, 1] @ x, third[:, 0] @ x))
    return np.array(positions)
