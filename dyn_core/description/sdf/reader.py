"""SDF to Mechanism (docs/formats.md): one model, whose joints may close loops.

SDF does not say which joints are driven: those with an effort limit are, or all of a tree where none has one.
"""

from __future__ import annotations

import dataclasses
import warnings
from pathlib import Path

import numpy as np

from dyn_core.errors import DescriptionWarning
from dyn_core.mechanism import STANDARD_GRAVITY, FloatingBase, Mechanism
from dyn_core.spatial.poses import inverse

from ..assembly import Heading, assemble_named, idle_joints, parents_first, resolve_leaders
from ..cut_joint import with_loops
from ..documents.xml_document import Element, read_xml
from ..inertial import Inertial
from ..joint_entry import JointEntry, Placement
from .joints import SdfJoint, read_joint, spanning_tree
from .poses import WORLD, Poses, matrix


def read_sdf(path: Path) -> Mechanism:
    """The mechanism of the only model of an SDF file; a DescriptionError names the line of what cannot be used."""
    root = read_xml(path)
    world = root.one("world")
    model = _only_model(root, world)
    poses = Poses(model)
    old = tuple(int(part) for part in root.text("version").split(".")) < (1, 5)
    joints = [read_joint(element, poses, old) for element in model.all("joint")]
    links = {link.text("name"): link for link in model.all("link")}
    _check_ends(joints, links)
    base = WORLD if any(WORLD in (joint.parent, joint.child) for joint in joints) else _canonical(model, links)
    tree, closing = spanning_tree(joints, base)
    reached = {base, *(link for joint, _ in tree for link in (joint.parent, joint.child))}
    if lost := [link for link in links if link not in reached]:
        raise model.error(f"no joints lead from {base} to {', '.join(lost)}; a robot is in one piece")
    said = _Said(path, [])
    inertials = {name: _inertial(link, said) for name, link in links.items()}
    entries = _entries(tree, poses, inertials)
    _drive(model, entries, joints, bool(closing))
    for joint in closing:
        if joint.kind in ("revolute", "prismatic") and joint.element.need("axis").one("limit") is not None:
            said.left_out.append(f"limits of joint {joint.name}, which closes a loop")
    entries += _frames(model, poses, links)
    if circle := resolve_leaders(entries):
        raise model.error(f"joint '{circle}' follows, in the end, itself")
    if not any(entry.moves for entry in entries):
        raise model.error("no joint moves")
    trunk = None if base == WORLD else FloatingBase(base, *inertials[base].standard_parameters())
    gravity = None if world is None else world.one("gravity")
    down = np.array(STANDARD_GRAVITY if gravity is None else gravity.values(3))
    heading = Heading(model.text("name"), f"from {path.name}", down)
    mechanism, at = assemble_named(heading, parents_first(entries), base, trunk)
    if not closing and (idle := idle_joints(mechanism, path)):
        raise model.error(f"joint '{idle[0]}' has nothing to move: what hangs on it has no mass or inertia")
    for child in model.children:
        if child.tag in ("plugin", "gripper"):
            said.left_out.append(f"<{child.tag}> {child.attributes.get('name', '')}".strip())
    said.warn()
    return with_loops(mechanism, [joint.cut(poses) for joint in closing], at, path)


@dataclasses.dataclass
class _Said:
    """What the file says and the mechanism does not have."""

    path: Path
    left_out: list[str]

    def warn(self) -> None:
        if self.left_out:
            text = f"{self.path}: left out: {'; '.join(self.left_out)}"
            warnings.warn(text, DescriptionWarning, stacklevel=4)


def _only_model(root: Element, world: Element | None) -> Element:
    if root.tag != "sdf":
        raise root.error("is not SDF, whose outermost element is <sdf>")
    for element in root.walk():
        if element.tag == "include":
            raise element.error("cannot be followed here; expand the file first, with: gz sdf -p FILE")
    models = (root if world is None else world).all("model")
    if len(models) != 1:
        raise root.error(f"has {len(models)} models, a robot is one; leave the others out")
    if nested := models[0].all("model"):
        raise nested[0].error("is a model inside a model, which cannot be said here; write its links and joints out")
    return models[0]


def _canonical(model: Element, links: dict[str, Element]) -> str:
    """The link that floats."""
    if not links:
        raise model.error("has no <link>")
    if model.words("static", "false") in ("true", "1"):
        raise model.error("is static: nothing of it moves")
    named = model.attributes.get("canonical_link", "")
    return named if named in links else next(iter(links))


def _check_ends(joints: list[SdfJoint], links: dict[str, Element]) -> None:
    for joint in joints:
        for tag, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links and link != WORLD:
                raise joint.element.need(tag).error(f"no link is called '{link}'")


def _inertial(link: Element, said: _Said) -> Inertial:
    """What <inertial> says, in the link's frame; SDF takes 1 kg and 1 kg m^2 where it says nothing."""
    inertial = link.one("inertial")
    if inertial is None:
        name = link.text("name")
        said.left_out.append(
            f"nothing for link {name}, which has no <inertial> and so, as SDF has it, 1 kg and 1 kg m^2"
        )
        return Inertial(1.0, np.zeros(3), np.eye(3))
    mass = inertial.value("mass", 1.0)
    if mass < 0.0:
        raise inertial.need("mass").error(f"is {mass:g}, a mass is not below zero")
    tensor, values = np.eye(3), inertial.one("inertia")
    for a in range(3 if values is not None else 0):
        for b in range(a, 3):
            assert values is not None
            tensor[a, b] = tensor[b, a] = values.value(f"i{'xyz'[a]}{'xyz'[b]}", float(a == b))
    body = Inertial(mass, np.zeros(3), tensor)
    placed = inertial.one("pose")
    return body if placed is None else body.moved(matrix(placed))


def _entries(tree: list[tuple[SdfJoint, bool]], poses: Poses, inertials: dict[str, Inertial]) -> list[JointEntry]:
    entries = [entry for joint, forwards in tree for entry in joint.entries(forwards, poses)]
    for entry in entries:
        entry.inertial = inertials.get(entry.link, entry.inertial)
    return entries


def _drive(model: Element, entries: list[JointEntry], joints: list[SdfJoint], closed: bool) -> None:
    """Joints with an effort limit are driven; of a tree without any, all but the springs."""
    some = any(joint.driven for joint in joints)
    if closed and not some:
        raise model.error("has closed loops, and no joint has an <effort> limit, which says which joints are driven")
    names = {joint.name for joint in joints if joint.driven}
    for entry in entries:
        entry.active = (not some or entry.name in names) and not entry.spring and not entry.leader


def _frames(model: Element, poses: Poses, links: dict[str, Element]) -> list[JointEntry]:
    """Every <frame> as a link on a fixed joint."""
    entries = []
    by_name = {frame.text("name"): frame for frame in model.all("frame")}
    for name, frame in by_name.items():
        above, seen = frame, set()
        while (attached := above.attributes.get("attached_to", "")) in by_name and attached not in seen:
            seen.add(attached)
            above = by_name[attached]
        if attached not in links:
            continue  # on the model, or on a joint: no link carries it
        placed = Placement(inverse(poses.of(attached, frame)) @ poses.of(name, frame), np.eye(4))
        entries.append(JointEntry(name=f"{name}_fixed", kind="fixed", link=name, parent=attached, placement=placed))
    return entries
