"""The robot YAML (docs/robot_description.md): read, checked, and turned into a Mechanism."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from dyn_core.errors import DescriptionError
from dyn_core.mechanism import FloatingBase, Mechanism

from ..documents.yaml_document import Document
from ..documents.yaml_nodes import describe
from ..documents.yaml_section import YamlSection
from ..robot_library import PARTS
from .inertia import INERTIAL_KEYS, read_inertial
from .joint import JOINT_KEYS, MAX_JOINTS, YamlJoint, read_joint
from .joint_tree import assembled, check_leaders, check_mass_matrix, read_heading
from .loops import read_assembly, read_loops
from .parallel import read_parallel
from .spherical import read_spherical

ROBOT_KEYS = (
    "name", "kind", "description", "sources", "gravity", "base", "tool", "joints", "spring_dampers", "loops",
    "assembly", "platform", "legs",
)  # fmt: skip
BASE_KEYS = ("type", "name", *INERTIAL_KEYS)


def load_mechanism(path: Path) -> Mechanism:
    """Read a robot YAML; a DescriptionError names file, line, field, what was found and what is allowed."""
    if str(path).endswith(PARTS):
        raise DescriptionError(f"{path}: is a parts database: make a robot of it with `dyn parts build {path}`")
    return read_mechanism(Document(Path(path)))


def sources(path: Path) -> list[str]:
    """The texts of `sources`, which are for the reader and not a part of the mechanism."""
    return Document(Path(path)).root(ROBOT_KEYS).texts("sources")


def read_mechanism(document: Document) -> Mechanism:
    """As `load_mechanism`, of a document; what was found wrong in it before is reported too."""
    return read_joints(document)[0]


def read_joints(document: Document) -> tuple[Mechanism, list[YamlJoint]]:
    """As `read_mechanism`, with the entries of `joints`, as they stand on their bodies."""
    if document.kind() == "spherical":
        return read_spherical(document), []
    root = document.root(ROBOT_KEYS)
    heading = read_heading(root)
    if "kind" in root:
        root.choice("kind", ("parallel", "spherical"))
        mechanism = read_parallel(root, heading)
        document.finish()
        return mechanism, []
    root.refuse(("legs",), "given without kind: parallel", "kind: parallel")
    base = _read_base(root)
    joints: list[YamlJoint] = []
    for section in root.sections("joints", JOINT_KEYS):
        if len(joints) == MAX_JOINTS:
            document.problem(section.node, section.field, "one joint too many", f"at most {MAX_JOINTS} joints")
            break
        joints.append(read_joint(section, joints[-1].link if joints else "base"))
    if joints and not any(joint.moves for joint in joints):
        root.problem("joints", "no joint moves", "at least one revolute or prismatic joint")
    check_leaders(joints)
    bases = ("base",) if base is None else tuple(dict.fromkeys(("base", base.name)))
    cuts = read_loops(root, [*bases, *(joint.link for joint in joints)])
    mechanism = assembled(heading, root, joints, cuts, bases, base)
    if cuts and "assembly" in root:
        mechanism = dataclasses.replace(mechanism, assembly=read_assembly(root, mechanism))
    if "platform" in root:
        mechanism = dataclasses.replace(mechanism, platform=_read_platform(root, mechanism))
    if not cuts:  # closed chains may have links without mass
        check_mass_matrix(mechanism, joints, document.path)
    if mechanism.base is not None and mechanism.base.M + mechanism.M.sum() == 0.0:
        root.problem("base", "floats, but the robot has no mass at all", "a mass > 0 in kg")
    document.finish()
    return mechanism, joints


def _read_base(root: YamlSection) -> FloatingBase | None:
    """A floating base; None for a fixed one, which is the default."""
    if not root.is_group("base"):
        if "base" in root and root.text("base") != "fixed":
            found, allowed = f"found {describe(root.values['base'])}", "fixed, or {type: floating, mass: ...}"
            root.problem("base", found, allowed)
        return None
    base = root.section("base", BASE_KEYS)
    base.choice("type", ("floating",))
    name = base.name("name", "base")
    if name == "tool":
        base.problem("name", "'tool' is a frame that every robot has", "another name")
    return FloatingBase(name, *read_inertial(base).standard_parameters())


def _read_platform(root: YamlSection, mechanism: Mechanism) -> int | None:
    """The body of the link that `platform` names, where a robot of joints and loops is a parallel one."""
    link = root.name("platform")
    if link in mechanism.body_names and mechanism.loops:
        return mechanism.body_names.index(link)
    if link:
        found = f"no moving link is called '{link}'" if mechanism.loops else "given for a robot without loops"
        root.problem("platform", found, f"the link that the legs carry: {', '.join(mechanism.body_names)}")
    return None
