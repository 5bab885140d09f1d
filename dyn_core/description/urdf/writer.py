"""Mechanism to URDF text, for RViz, robot_state_publisher and other programs.

URDF wants a link's frame on its joint's axis. Where the described frame is not there (a DH frame), the moving
link is called <link>_body and <link> is a massless link fixed to it, so that every frame keeps its name. What URDF
has no place for is named in a comment at the top.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import BASE, PRISMATIC, STANDARD_GRAVITY, Mechanism
from dyn_core.spatial.poses import rotation_to_axis, rpy_from_rotation

from ..inertial import Inertial

NO_LIMIT = 1e9  # from here on a limit is none: URDF demands a number
COLOURS = ("0.85 0.45 0.10 1", "0.35 0.38 0.42 1")
TOO_SHORT_TO_DRAW = 1e-3  # m


def to_urdf(mechanism: Mechanism) -> str:
    """The mechanism as URDF text: friction, limits, mimic and inertias in place, links drawn as rods.

    The root link has the floating base's name, or is the frame that lies in the fixed base's own, or else "base".
    """
    root = ElementTree.Element("robot", name=mechanism.name)
    unseen = beyond_urdf(mechanism)
    if unseen:
        root.append(ElementTree.Comment(f" URDF has no place for: {', '.join(unseen)}. They are left out here. "))
    for index, colour in enumerate(COLOURS):
        ElementTree.SubElement(ElementTree.SubElement(root, "material", name=f"colour{index}"), "color", rgba=colour)
    radius = _rod_radius(mechanism)
    base = root_name(mechanism)
    link = ElementTree.SubElement(root, "link", name=base)
    if mechanism.base is not None:
        _inertial(link, mechanism.base.M, mechanism.base.MS, mechanism.base.J, np.eye(3))
    _draw(link, _ends(mechanism, BASE), radius, 1)
    moving = {BASE: (base, np.eye(3))} | {j: _moving_link(mechanism, j) for j in range(mechanism.n)}
    joints = set(mechanism.joint_names)
    for j in range(mechanism.n):
        name, Q = moving[j]
        parent, P = moving[int(mechanism.parent[j])]
        _joint(root, mechanism, j, parent, P, name, Q)
        link = ElementTree.SubElement(root, "link", name=name)
        _inertial(link, float(mechanism.M[j]), mechanism.MS[j], mechanism.J[j], Q)
        _draw(link, [Q.T @ end for end in _ends(mechanism, j)], radius, j % 2)
    for frame in mechanism.frames:
        parent, P = moving[frame.body]
        if frame.name == parent:
            continue
        joint = ElementTree.SubElement(root, "joint", name=_unused(f"{frame.name}_fixed", joints), type="fixed")
        ElementTree.SubElement(joint, "parent", link=parent)
        ElementTree.SubElement(joint, "child", link=frame.name)
        write_origin(joint, P.T @ frame.R, P.T @ frame.p)
        ElementTree.SubElement(root, "link", name=frame.name)
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def beyond_urdf(mechanism: Mechanism) -> list[str]:
    """What other programs will not see of a mechanism in its URDF, in words."""
    m = mechanism
    words = {
        "rotor inertias": bool(m.Ia.any()),
        "motors": m.motors is not None,
        "springs": bool(m.elastic.any()),
        "springs and dampers between links": bool(m.spring_dampers),
        "joint stiffnesses": bool(np.isfinite(m.stiffness).any()),
        "passive joints": not (m.active | m.elastic).all(),
        "gravity": not np.array_equal(m.gravity, STANDARD_GRAVITY),
        "that the base floats": m.base is not None,
        "closed chains": bool(m.loops),
    }
    return [word for word, there in words.items() if there]


def root_name(mechanism: Mechanism) -> str:
    """The name of the root link."""
    if mechanism.base is not None:
        return mechanism.base.name
    for frame in mechanism.frames[:-1]:
        if frame.is_base:
            return frame.name
    return "base"


def _unused(name: str, taken: set[str]) -> str:
    """The name, longer if it is taken; it is taken from then on."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _moving_link(mechanism: Mechanism, j: int) -> tuple[str, Floats]:
    """Name of body j's URDF link, and the rotation of that link's frame in the body frame."""
    described = mechanism.frames[j]
    if np.allclose(described.p, 0.0, rtol=0.0, atol=1e-12):
        return described.name, described.R
    return f"{described.name}_body", np.eye(3)


def _joint(root: ElementTree.Element, m: Mechanism, j: int, parent: str, P: Floats, name: str, Q: Floats) -> None:
    """Joint j between the link frames P (in the parent's body frame) and Q (in body frame j)."""
    low, high = m.position_limits[j]
    limited = bool(np.isfinite([low, high]).any())
    kind = "prismatic" if m.joint_type[j] == PRISMATIC else "revolute" if limited else "continuous"
    joint = ElementTree.SubElement(root, "joint", name=m.joint_names[j], type=kind)
    if m.loops and not m.active[j]:
        joint.set("independent", "false")
    ElementTree.SubElement(joint, "parent", link=parent)
    ElementTree.SubElement(joint, "child", link=name)
    write_origin(joint, P.T @ m.R[j] @ Q, P.T @ m.p[j])
    ElementTree.SubElement(joint, "axis", xyz=numbers(Q[2]))
    limit = {
        "effort": _number(min(m.effort_limits[j], NO_LIMIT)),
        "velocity": _number(min(m.velocity_limits[j], NO_LIMIT)),
    }
    if kind != "continuous":
        limit |= {"lower": _number(max(low, -NO_LIMIT)), "upper": _number(min(high, NO_LIMIT))}
    ElementTree.SubElement(joint, "limit", limit)
    ElementTree.SubElement(joint, "dynamics", damping=_number(m.Fv[j]), friction=_number(m.Fs[j]))
    if m.mimic is not None and m.mimic.leader[j] != j:
        following = {"joint": m.joint_names[m.mimic.leader[j]]}
        following |= {"multiplier": _number(m.mimic.multiplier[j]), "offset": _number(m.mimic.offset[j])}
        ElementTree.SubElement(joint, "mimic", following)


def _inertial(link: ElementTree.Element, M: float, MS: Floats, J: Floats, Q: Floats) -> None:
    """Mass, centre of mass and the inertia about it, in the link frame Q; said even where they are zero."""
    _, com, about_com = Inertial.from_standard_parameters(M, MS, J)
    inertia = Q.T @ about_com @ Q
    inertial = ElementTree.SubElement(link, "inertial")
    write_origin(inertial, np.eye(3), Q.T @ com)
    ElementTree.SubElement(inertial, "mass", value=_number(M))
    values = {f"i{'xyz'[a]}{'xyz'[b]}": _number(inertia[a, b]) for a in range(3) for b in range(a, 3)}
    ElementTree.SubElement(inertial, "inertia", values)


def _ends(m: Mechanism, body: int) -> list[Floats]:
    """The points of a body, in its frame, that its drawing reaches: its children's joints and its frames."""
    ends = [m.p[j] for j in range(m.n) if m.parent[j] == body]
    return ends + [frame.p for frame in m.frames if frame.body == body]


def _rod_radius(m: Mechanism) -> float:
    """A radius that suits the robot's size, m."""
    lengths = [float(np.linalg.norm(end)) for body in range(BASE, m.n) for end in _ends(m, body)]
    return round(0.06 * max([*lengths, 0.1]), 4)


def _draw(link: ElementTree.Element, ends: Iterable[Floats], radius: float, colour: int) -> None:
    """A ball at the link's origin and a rod from there to each end."""
    _visual(link, np.eye(3), np.zeros(3), colour, "sphere", radius=_number(round(1.3 * radius, 4)))
    drawn: list[Floats] = []
    for end in ends:
        length = float(np.linalg.norm(end))
        if length < TOO_SHORT_TO_DRAW or any(np.allclose(end, other) for other in drawn):
            continue
        drawn.append(end)
        size = {"radius": _number(radius), "length": _number(length)}
        _visual(link, rotation_to_axis(end / length), end / 2.0, colour, "cylinder", **size)


def _visual(link: ElementTree.Element, R: Floats, p: Floats, colour: int, shape: str, **size: str) -> None:
    visual = ElementTree.SubElement(link, "visual")
    write_origin(visual, R, p)
    ElementTree.SubElement(ElementTree.SubElement(visual, "geometry"), shape, size)
    ElementTree.SubElement(visual, "material", name=f"colour{colour}")


def write_origin(element: ElementTree.Element, R: Floats, p: Floats) -> None:
    """An <origin> at the pose (R, p)."""
    ElementTree.SubElement(element, "origin", xyz=numbers(p), rpy=numbers(rpy_from_rotation(R)))


def numbers(values: Iterable[float]) -> str:
    """Numbers as URDF has them: each by the shortest text that reads back as the same number."""
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(value) + 0.0)
