"""The parts database (docs/parts.md): links of parts, parts of sections, and the robot YAML that they make.

After N. M. Swartz, "Arm Dynamics Simulation" (1982): a section is described in the coordinates of its part, a part in
the working frame of its link, and the working frame, which is chosen for convenience, in the link's
Denavit-Hartenberg frame. Mass, centre of mass and inertia go the same way up.

The file is a robot YAML whose links have parts in place of inertial parameters. They are computed, exchanged for the
parts in the document itself, and the document is then read as the robot that it has become, so that every mistake is
reported with its line in the file that the user wrote.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from dyn_core.errors import printable
from dyn_core.mechanism import Mechanism

from ..documents.yaml_document import Document
from ..documents.yaml_nodes import copied, get, group, number, number_list, serialized
from ..documents.yaml_section import NAME, YamlSection
from ..inertial import ROUNDING, Inertial, combined
from ..robot_yaml.inertia import INERTIAL_KEYS, PRODUCTS, check_inertia
from ..robot_yaml.joint import LINK_KEYS
from ..robot_yaml.joint_notation import origin
from ..robot_yaml.reader import BASE_KEYS, ROBOT_KEYS, read_mechanism
from .densities import DENSITIES
from .mesh import KEYS as MESH_KEYS
from .mesh import read_mesh
from .solids import SHAPES, Solid
from .weighing import SectionEntry, WeighedLink, WeighedPart, check_fit, weighed_sections

WORKING = ("working_frame", "parts")
"""Keys of a link or base that take the place of its inertial parameters."""
PART_KEYS = ("number", "name", "xyz", "rpy", "density", "material", "mass", "sections")
PLACE_KEYS = ("xyz", "rpy")
WEIGHT_KEYS = ("density", "material", "mass")
DIMENSIONS = {name: shape.keys for name, shape in SHAPES.items()} | {"mesh": MESH_KEYS, "point": ()}
"""The keys of each shape's dimensions."""
SECTION_KEYS = (
    "shape", "name", "hole", *PLACE_KEYS, *WEIGHT_KEYS,
    *dict.fromkeys(key for keys in DIMENSIONS.values() for key in keys),
)  # fmt: skip
MATERIAL_KEYS = ("name", "density", "source")
PART_NUMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,39}")
MADE_BY = "# Made by `dyn parts build`"


@dataclass(frozen=True)
class Built:
    """What a parts database comes to."""

    text: str
    """The robot YAML."""
    mechanism: Mechanism
    links: tuple[WeighedLink, ...]
    """The links that have parts, the base first."""
    warnings: tuple[str, ...]
    """What is possible but looks wrong, a sentence each."""


def build_parts(path: Path) -> Built:
    """Read a parts database; a DescriptionError names file, line, field, what was found and what is allowed."""
    document = Document(Path(path))
    root = document.root((*ROBOT_KEYS, "materials"))
    if not isinstance(document.node, yaml.MappingNode):
        document.finish()
    builder = _Builder(document, _read_materials(root))
    values = {key: value for key, value in root.values.items() if key != "materials"}
    if "base" in values:
        values["base"] = builder.base(root)
    if root.is_list("joints"):
        values["joints"] = builder.joints(values["joints"])
    document.node = _mapping(document.node, values)
    if not builder.has_parts and not document.problems and root.is_list("joints"):
        root.problem("joints", "no link has parts", "parts in at least one link")
    read_mechanism(document)
    text = _heading(document) + serialized(copied(document.node))
    mechanism = read_mechanism(Document(document.path, text))
    return Built(text, mechanism, tuple(builder.links), tuple(builder.warnings))


def _heading(document: Document) -> str:
    """Who made the text, and the comment at the top of the database."""
    lines = [f"{MADE_BY} from {printable(document.path.name)}: change that file and build again."]
    for line in document.text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line)
    if len(lines) > 1:
        lines.insert(1, "#")
    return "\n".join(lines) + "\n"


def _read_materials(root: YamlSection) -> dict[str, float]:
    """Densities in kg/m^3 by name: the common ones, and the file's own, which go before."""
    own: dict[str, float] = {}
    for section in root.sections("materials", MATERIAL_KEYS) if "materials" in root else ():
        name = section.name("name")
        if name in own:
            section.problem("name", f"'{name}' is given twice", "once")
        own[name] = section.number("density", unit="kg/m^3", above=0.0)
        section.text("source")
    common = {name: density.value for name, density in DENSITIES.items()}
    return common | {name: density for name, density in own.items() if name}


class _Builder:
    """Reads the links' parts and gives the nodes that take their place."""

    def __init__(self, document: Document, densities: Mapping[str, float]) -> None:
        self.document, self.densities = document, densities
        self.links: list[WeighedLink] = []
        self.has_parts = False
        self.warnings: list[str] = []

    def base(self, root: YamlSection) -> yaml.Node:
        """The base's node; that of a fixed base has parts for the table only."""
        node = root.values["base"]
        if not root.is_group("base"):
            return node
        section = root.section("base", (*BASE_KEYS, *WORKING))
        kind = get(node, "type")
        exchanged = self._exchanged(section, "base")
        if not (isinstance(kind, yaml.ScalarNode) and kind.value == "fixed"):
            return exchanged
        section.refuse_others(("type", *WORKING), "has no meaning for a fixed base", f"type, {', '.join(WORKING)}")
        return kind

    def joints(self, node: yaml.Node) -> yaml.Node:
        """The list of joints, their links exchanged; everything else in them is the robot's reader to check."""
        joints = []
        for index, joint in enumerate(node.value):
            if isinstance(joint, yaml.MappingNode):
                pairs = [
                    (key, self._link(joint, value, index) if key.value == "link" else value)
                    for key, value in joint.value
                ]
                joint = _node(yaml.MappingNode, joint, pairs)
            joints.append(joint)
        return _node(yaml.SequenceNode, node, joints)

    def _link(self, joint: yaml.MappingNode, node: yaml.Node, index: int) -> yaml.Node:
        if not isinstance(node, yaml.MappingNode):
            return node
        name = get(joint, "name")
        default = f"{name.value}_link" if isinstance(name, yaml.ScalarNode) else "link"
        section = YamlSection(self.document, node, f"joints[{index}].link", (*LINK_KEYS, *WORKING))
        return self._exchanged(section, default)

    def _exchanged(self, section: YamlSection, default: str) -> yaml.Node:
        """A link's node with the inertial parameters of its parts; without any where they are wrong."""
        values = {key: value for key, value in section.values.items() if key not in WORKING}
        if "parts" not in section:
            section.refuse(("working_frame",), "given without parts", "parts, which stand in it")
            return _mapping(section.node, values)
        if others := [key for key in INERTIAL_KEYS if key in section]:
            section.problem(others[0], "given together with parts", "either parts or inertial parameters")
            values = {key: value for key, value in values.items() if key not in others}
        self.has_parts = True
        before = len(self.document.problems)
        frame = origin(section.section("working_frame", PLACE_KEYS))
        parts = [self._part(part) for part in section.sections("parts", PART_KEYS)]
        if len(self.document.problems) == before:
            body = combined([part.body for part in parts if part]).moved(frame)
            name = values.get("name")
            link = name.value if isinstance(name, yaml.ScalarNode) and NAME.fullmatch(name.value) else default
            self.links.append(WeighedLink(link, body, tuple(part for part in parts if part)))
            values |= _inertial_nodes(body, section.values["parts"])
        return _mapping(section.node, values)

    def _part(self, section: YamlSection) -> WeighedPart | None:
        """A part in its link's working frame; None where something is wrong."""
        before = len(self.document.problems)
        allowed = "the part's number in the drawings: letters, digits, '.', '_', '/', '-'"
        label = section.word("number", allowed, PART_NUMBER.fullmatch) or ""
        name = section.text("name")
        pose = origin(section)
        given = self._weight(section)
        read = [self._section(child) for child in section.sections("sections", SECTION_KEYS)]
        pieces = [piece for piece in read if piece is not None]
        if len(self.document.problems) > before:
            return None
        sections = weighed_sections(section, pieces, given)
        if sections is None:
            return None
        self.warnings += check_fit(pieces)
        body = combined([piece.body for piece in sections])
        if len(self.document.problems) == before:
            rounding = ROUNDING * sum(float(np.abs(piece.body.inertia).max()) for piece in sections)
            check_inertia(section, "sections", body.mass, body.inertia, rounding)
        if len(self.document.problems) > before:
            return None
        return WeighedPart(label, name, body.moved(pose), tuple(sections))

    def _weight(self, section: YamlSection) -> tuple[str, float]:
        """Which of density, material and mass is given, and the density or mass; nothing where none is."""
        given = [key for key in WEIGHT_KEYS if key in section]
        if not given:
            return "", math.nan
        if len(given) > 1:
            section.problem(given[1], f"given together with {given[0]}", f"one of {', '.join(WEIGHT_KEYS)}")
        if given[0] == "material":
            name = section.name("material")
            section.check_known("material", "material", name, self.densities)
            return "density", self.densities.get(name, math.nan)
        return given[0], section.number(given[0], unit="kg" if given[0] == "mass" else "kg/m^3", above=0.0)

    def _section(self, section: YamlSection) -> SectionEntry | None:
        """A section as described, not yet weighed; None where something is wrong."""
        before = len(self.document.problems)
        shape = section.choice("shape", tuple(DIMENSIONS))
        name = section.text("name")
        pose = origin(section)
        hole = section.boolean("hole", False)
        kind, value = self._weight(section)
        if shape:
            known = (*DIMENSIONS[shape], "shape", "name", "hole", *PLACE_KEYS, *WEIGHT_KEYS)
            allowed = ", ".join(DIMENSIONS[shape]) or "xyz and mass"
            section.refuse_others(known, f"has no meaning for a {shape}", allowed)
        solid: Solid | None = None
        if shape == "point":
            if hole:
                section.problem("hole", "given for a point mass", "a section with a volume")
            if kind != "mass":
                section.problem("mass", "missing", "the mass of the point in kg, and no density or material")
        elif shape:
            solid = read_mesh(section) if shape == "mesh" else SHAPES[shape].read(section)
        if hole and kind == "mass":
            section.problem("mass", "given for a hole", "density or material of what is taken away, or neither")
        if len(self.document.problems) > before:
            return None
        return SectionEntry(section, name, shape, solid, pose, hole, kind, value)


# nodes


def _inertial_nodes(body: Inertial, place: yaml.Node) -> dict[str, yaml.Node]:
    """mass, com and inertia as nodes that stand where the parts did."""
    body = body.without_rounding()
    entries = {name: number(body.inertia[a, b]) for name, (a, b) in PRODUCTS.items() if a == b or body.inertia[a, b]}
    com, inertia = number_list(body.com), group(entries)
    nodes: dict[str, yaml.Node] = {"mass": number(body.mass), "com": com, "inertia": inertia}
    for node in (*nodes.values(), *com.value, *(node for pair in inertia.value for node in pair)):
        node.start_mark, node.end_mark = place.start_mark, place.end_mark
    return nodes


def _mapping(like: yaml.Node | None, values: Mapping[str, yaml.Node]) -> yaml.Node:
    """A mapping at the place of another, its keys in the order given."""
    pairs = [(yaml.ScalarNode("tag:yaml.org,2002:str", key, value.start_mark), value) for key, value in values.items()]
    return _node(yaml.MappingNode, like, pairs)


def _node(kind: type[yaml.CollectionNode], like: yaml.Node, value: Sequence[object]) -> yaml.Node:
    return kind(like.tag, list(value), like.start_mark, like.end_mark, flow_style=like.flow_style)
