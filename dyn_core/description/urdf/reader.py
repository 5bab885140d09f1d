"""URDF to Mechanism (docs/urdf.md).

The XML is read by the standard library's expat and not by a URDF package: of those on PyPI, urdf_parser_py was last
released in 2021 and prints or asserts its complaints without a line, yourdfpy and urchin bring a mesh stack (trimesh).

Joints come in the file's order, except that a parent comes before its children. Links behind fixed joints are merged
into the body that carries them and remain as frames.
"""

from __future__ import annotations

import difflib
import math
import warnings
from collections import Counter

import numpy as np

from dyn_core.errors import DescriptionError, DescriptionWarning
from dyn_core.mechanism import Mechanism

from ..assembly import described_frames, parents_first
from ..cut_joint import with_loops
from ..documents.xml_document import Element
from ..inertial import Inertial
from .closed_chains import couple, drive, is_independent, laas_beside, read_loops
from .joint_tree import UrdfJoint, assembled, check_tree, floating_root, origin_of, several_as_single
from .writer import NO_LIMIT

KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def urdf_mechanism(root: Element, floating: bool) -> Mechanism:
    """The mechanism of a <robot>; a DescriptionError names file, line and element of what cannot be used.

    floating: the root link moves freely, as a root joint of type "floating" says in the file.
    """
    _check_root(root)
    root.text("name")
    links = _by_name(root.all("link"), "link")
    joints = [_read_joint(element) for element in _by_name(root.all("joint"), "joint").values()]
    if open_ended := [joint.name for joint in joints if _has_empty_limit(joint)]:
        warnings.warn(
            f"{root.path}: the <limit> of {', '.join(open_ended)} has neither lower nor upper; taken as no limit of"
            " position, where ROS takes zero for both",
            DescriptionWarning,
            stacklevel=4,
        )
    base = check_tree(root, links, joints)
    joints, base, floating = floating_root(joints, base, floating)
    cuts = read_loops(root, links)
    beside = laas_beside(root.path)
    if beside is not None:
        cuts += beside.cuts(joints, links)
        beside.change(joints)
    couple(root, joints)
    drive(joints)
    _say_passed_over(root, joints, bool(cuts))
    ordered = several_as_single(parents_first(joints), links)
    if not any(joint.moves for joint in ordered):
        raise root.error("no joint moves; a robot has at least one revolute, continuous, prismatic or planar joint")
    bodies = {link: body for link, element in links.items() if (body := _read_inertial(element)) is not None}
    mechanism = assembled(root, links, bodies, ordered, base, floating, bool(cuts))
    return with_loops(mechanism, cuts, described_frames(ordered, (base,)), root.path)


USED = {
    "robot": ("link", "joint", "material", "loop", "coupling", "dyn_robot", "gazebo"),
    "link": ("inertial", "visual", "collision"),
    "joint": ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic"),
}
"""What is read, or only looks like something; simulators have their own in <gazebo>."""


def _say_passed_over(root: Element, joints: list[UrdfJoint], closed: bool) -> None:
    """Warn of what the file says and the mechanism does not have."""
    found = Counter(
        f"<{child.tag}>" if element is root else f"<{child.tag}> of {element.tag}s"
        for element in (root, *root.all("link"), *root.all("joint"))
        for child in element.children
        if child.tag not in USED[element.tag]
    )
    said = [f"{count} {what}" for what, count in found.items()]
    lone = [joint.name for joint in joints if joint.moves and not is_independent(joint) and not joint.leader]
    if lone and not closed:
        said.append(f"on what {', '.join(lone)} depend, which no <loop> or <coupling> says; they are passive")
    if said:
        warnings.warn(f"{root.path}: left out: {'; '.join(said)}", DescriptionWarning, stacklevel=5)


def _check_root(root: Element) -> None:
    """Refuse what is no URDF, or not yet."""
    for element in root.walk():
        expression = any("${" in value or "$(" in value for value in element.attributes.values())
        if element.tag.startswith("xacro:") or (expression and element.tag in ("robot", "link", "joint", "origin")):
            raise DescriptionError(
                f"{root.path}:{element.line}: is a xacro file, not a URDF;"
                f" turn it into one with: xacro {root.path.name} > {root.path.stem.split('.')[0]}.urdf"
            )
    if root.tag != "robot":
        raise root.error("is not a URDF, whose outermost element is <robot>")
    for element in root.children:
        near = difflib.get_close_matches(element.tag, ("link", "joint"), 1, 0.75)
        if near and element.tag not in ("link", "joint"):
            raise element.error(f"is not known, did you mean <{near[0]}>?")


def _by_name(elements: list[Element], what: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in elements:
        first = found.setdefault(element.text("name"), element)
        if first is not element:
            raise element.error(f"there is already a {what} of that name in line {first.line}")
    return found


def _read_joint(element: Element) -> UrdfJoint:
    kind = element.text("type")
    if kind not in KINDS:
        raise element.error(f"type is '{kind}', it must be one of {', '.join(KINDS)}")
    joint = UrdfJoint(
        element=element,
        name=element.text("name"),
        kind=kind,
        parent=element.need("parent").text("link"),
        link=element.need("child").text("link"),
        origin=origin_of(element),
    )
    mimic = element.one("mimic")
    if mimic is not None and kind in ("floating", "planar"):
        raise mimic.error(f"a {kind} joint cannot follow another")
    if kind in ("fixed", "floating"):
        return joint
    axis = element.one("axis")
    if axis is not None:
        joint.axis = axis.direction("xyz")
    if kind != "planar":
        _read_limit(joint)
        dynamics = element.one("dynamics")
        if dynamics is not None:
            joint.Fv, joint.Fs = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
            if min(joint.Fv, joint.Fs) < 0.0:
                raise dynamics.error("damping and friction are not below zero")
    joint.kind = "revolute" if kind == "continuous" else kind
    return joint


def _read_limit(joint: UrdfJoint) -> None:
    limit = joint.element.one("limit")
    if limit is None:
        if joint.kind != "continuous":
            instead = ', or type="continuous"' if joint.kind == "revolute" else ""
            wanted = f"a <limit> with lower, upper, effort and velocity{instead}"
            raise joint.element.error(f"a {joint.kind} joint needs {wanted}")
        return
    # A limit of 0 would forbid every motion: files say so where they do not know it.
    joint.effort, joint.velocity = (_limit(abs(limit.number(key)) or math.inf) for key in ("effort", "velocity"))
    if joint.kind != "continuous" and not _has_empty_limit(joint):
        lower, upper = joint.limits = _limit(limit.number("lower", 0.0)), _limit(limit.number("upper", 0.0))
        if lower > upper:
            raise limit.error(f"lower {lower:g} is above upper {upper:g}")


def _has_empty_limit(joint: UrdfJoint) -> bool:
    """Whether a joint that stops somewhere does not say where."""
    limit = joint.element.one("limit") if joint.element.text("type") in ("revolute", "prismatic") else None
    return limit is not None and not limit.attributes.keys() & {"lower", "upper"}


def _limit(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) >= NO_LIMIT else value


def _read_inertial(link: Element) -> Inertial | None:
    """What <inertial> says of a link, in the link's frame; None where there is none."""
    inertial = link.one("inertial")
    if inertial is None:
        return None
    mass = inertial.need("mass").number("value")
    if mass < 0.0:
        raise inertial.need("mass").error(f"value is {mass:g}, a mass is not below zero")
    values = inertial.need("inertia")
    xx, xy, xz, yy, yz, zz = (values.number(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertial(mass, np.zeros(3), tensor).moved(origin_of(inertial))
