"""The parts database (docs/parts.md): links of parts, parts of sections, and the robot YAML that they make.

After N. M. Swartz, "Arm Dynamics Simulation" (1982): a section is described in the coordinates of its part, a part in
the working frame of its link, and the working frame, which is chosen for convenience, in the link's
Denavit-Hartenberg frame. Mass, centre of mass and inertia go the same way up.

The file is a robot YAML whose links have parts in place of inertial parameters. They are computed, exchanged for the
parts in the document itself, and the document is then read as the robot that it has become, so that every mistake is
told with its line in the file that the user wrote.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from ..errors import printable
from ..mechanism import Floats, Mechanism
from .document import NAME, Document, Section, describe
from .materials import MATERIALS
from .mesh import KEYS as MESH_KEYS
from .mesh import read_mesh
from .notation import origin
from .overlaps import Piece, misfits
from .pose import inertia_about_origin
from .robot_file import (
    ABOUT_COM,
    BASE_KEYS,
    KHALIL,
    LINK_KEYS,
    NO_MASS,
    PRODUCTS,
    ROBOT_KEYS,
    ROUNDING,
    Inertial,
    check_inertia,
    read_mechanism,
)
from .solids import SHAPES, Solid
from .yaml_nodes import copied, get, group, number, number_list

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
STICKS_OUT = 0.1  # of a hole: more than this outside its body is a mistake
LITTLE = 0.01  # and less than this is not worth a word
CUT = 1e-13  # of the largest: below it, an entry is rounding
SAME = 1e-9  # relative difference of densities that are one


@dataclass(frozen=True)
class WeighedSection:
    """A section, in the coordinates of its part; what a hole weighs is negative."""

    name: str
    shape: str
    hole: bool
    volume: float
    """m^3; 0 of a point mass."""
    density: float
    """kg/m^3; infinite of a point mass."""
    body: Inertial


@dataclass(frozen=True)
class WeighedPart:
    """A part and its sections, in its link's working frame."""

    number: str
    name: str
    body: Inertial
    sections: tuple[WeighedSection, ...]


@dataclass(frozen=True)
class WeighedLink:
    """A link and its parts, in the frame that its joint's notation gives (Denavit-Hartenberg's, or another's)."""

    name: str
    body: Inertial
    parts: tuple[WeighedPart, ...]


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
    text = _heading(document) + str(
        yaml.serialize(copied(document.node), Dumper=yaml.SafeDumper, allow_unicode=True, width=110)
    )
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


def _read_materials(root: Section) -> dict[str, float]:
    """Densities in kg/m^3 by name: the common ones, and the file's own, which go before."""
    densities = {name: material.density for name, material in MATERIALS.items()}
    if "materials" not in root:
        return densities
    own: set[str] = set()
    for section in root.sections("materials", MATERIAL_KEYS):
        name = section.name("name")
        density = section.number("density", unit="kg/m^3", above=0.0)
        section.text("source")
        if name in own:
            section.problem("name", f"'{name}' is given twice", "once")
        own.add(name)
        if name:
            densities[name] = density
    return densities


class _Builder:
    """Reads the links' parts and gives the nodes that take their place."""

    def __init__(self, document: Document, densities: Mapping[str, float]) -> None:
        self.document, self.densities = document, densities
        self.links: list[WeighedLink] = []
        self.has_parts = False
        self.warnings: list[str] = []

    def base(self, root: Section) -> yaml.Node:
        """The base's node; that of a fixed base has parts for the table only."""
        node = root.values["base"]
        if not root.is_group("base"):
            return node
        section = root.section("base", (*BASE_KEYS, *WORKING))
        kind = get(node, "type")
        if not (isinstance(kind, yaml.ScalarNode) and kind.value == "fixed"):
            return self._exchanged(section, "base")
        self._exchanged(section, "base")
        for key in section.values:
            if key not in ("type", *WORKING):
                section.problem(key, "has no meaning for a fixed base", f"type, {', '.join(WORKING)}")
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
        return self._exchanged(Section(self.document, node, f"joints[{index}].link", (*LINK_KEYS, *WORKING)), default)

    def _exchanged(self, section: Section, default: str) -> yaml.Node:
        """A link's node with the inertial parameters of its parts; without any where they are wrong."""
        values = {key: value for key, value in section.values.items() if key not in WORKING}
        if "parts" not in section:
            if "working_frame" in section:
                section.problem("working_frame", "given without parts", "parts, which stand in it")
            return _mapping(section.node, values)
        if others := [key for key in (*ABOUT_COM, *KHALIL) if key in section]:
            section.problem(others[0], "given together with parts", "either parts or inertial parameters")
            values = {key: value for key, value in values.items() if key not in others}
        self.has_parts = True
        before = len(self.document.problems)
        frame = origin(section.section("working_frame", PLACE_KEYS))
        parts = [self._part(part) for part in section.sections("parts", PART_KEYS)]
        if len(self.document.problems) == before:
            body = moved(combined([part.body for part in parts if part]), frame)
            name = values.get("name")
            link = name.value if isinstance(name, yaml.ScalarNode) and NAME.fullmatch(name.value) else default
            self.links.append(WeighedLink(link, body, tuple(part for part in parts if part)))
            values |= _inertial_nodes(body, section.values["parts"])
        return _mapping(section.node, values)

    def _part(self, section: Section) -> WeighedPart | None:
        """A part in its link's working frame; None where something is wrong."""
        before = len(self.document.problems)
        node = section.values.get("number")
        label = node.value if isinstance(node, yaml.ScalarNode) else ""
        if not PART_NUMBER.fullmatch(label):
            found = "missing" if node is None else f"found {describe(node)}"
            section.problem("number", found, "the part's number in the drawings: letters, digits, '.', '_', '/', '-'")
        name = section.text("name")
        pose = origin(section)
        given = self._weight(section)
        raw = [self._section(child) for child in section.sections("sections", SECTION_KEYS)]
        if len(self.document.problems) > before:
            return None
        sections = self._weighed(section, [piece for piece in raw if piece], given)
        if sections is None:
            return None
        self._check_fit([piece for piece in raw if piece])
        body = combined([piece.body for piece in sections])
        if len(self.document.problems) == before:
            rounding = ROUNDING * sum(float(np.abs(piece.body.inertia).max()) for piece in sections)
            check_inertia(section, "sections", body.mass, body.inertia, rounding)
        if len(self.document.problems) > before:
            return None
        return WeighedPart(label, name, moved(body, pose), tuple(sections))

    def _weight(self, section: Section) -> tuple[str, float]:
        """Which of density, material and mass is given, and the density or mass; nothing where none is."""
        given = [key for key in WEIGHT_KEYS if key in section]
        if not given:
            return "", math.nan
        if len(given) > 1:
            section.problem(given[1], f"given together with {given[0]}", f"one of {', '.join(WEIGHT_KEYS)}")
        if given[0] == "material":
            name = section.name("material")
            if name and name not in self.densities:
                near = difflib.get_close_matches(name, self.densities, 1)
                hint = f"did you mean '{near[0]}'? " if near else ""
                section.problem("material", f"no material is called '{name}'", hint + ", ".join(self.densities))
            return "density", self.densities.get(name, math.nan)
        return given[0], section.number(given[0], unit="kg" if given[0] == "mass" else "kg/m^3", above=0.0)

    def _section(self, section: Section) -> _Piece | None:
        """A section as described, not yet weighed; None where something is wrong."""
        before = len(self.document.problems)
        shape = section.choice("shape", tuple(DIMENSIONS))
        name = section.text("name")
        pose = origin(section)
        hole = section.boolean("hole", False)
        kind, value = self._weight(section)
        if shape:
            allowed = DIMENSIONS[shape]
            for key in section.values:
                if key not in (*allowed, "shape", "name", "hole", *PLACE_KEYS, *WEIGHT_KEYS):
                    section.problem(key, f"has no meaning for a {shape}", ", ".join(allowed) or "xyz and mass")
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
        return _Piece(section, name, shape, solid, pose, hole, kind, value)

    def _weighed(
        self, part: Section, pieces: Sequence[_Piece], given: tuple[str, float]
    ) -> list[WeighedSection] | None:
        """The sections with their densities, and so that they weigh what the part does, if it has been weighed."""
        before = len(self.document.problems)
        kind, value = given
        measured = kind == "mass"
        solids = [piece for piece in pieces if piece.solid is not None and not piece.hole]
        relative = measured and not any(piece.kind for piece in solids)
        for piece in solids:
            if measured and piece.kind == "mass":
                piece.section.problem("mass", "given in a part whose mass is given", "density or material, or neither")
            if piece.kind == "mass":
                piece.density = piece.value / piece.unit.mass
            elif piece.kind:
                piece.density = piece.value
            elif kind == "density":
                piece.density = value
            elif relative:
                piece.density = 1.0
            else:
                allowed = "density, material or mass, here or in the part"
                if measured:
                    allowed = "density or material, which other sections of this weighed part have"
                piece.section.problem("shape", "has no density", allowed)
        if len(self.document.problems) > before:
            return None
        for piece in (piece for piece in pieces if piece.hole):
            piece.density = self._hole_density(piece, solids)
        if len(self.document.problems) > before:
            return None
        scale = 1.0
        if measured:
            points = sum(piece.value for piece in pieces if piece.solid is None)
            rest = sum(piece.signed_mass for piece in pieces if piece.solid is not None)
            if solids and rest > 0.0 and value > points:
                scale = (value - points) / rest
            elif value <= points or not solids:
                part.problem("mass", f"found {value:g}, and its point masses {points:g}", "more than its point masses")
        sections = [piece.weighed(scale) for piece in pieces]
        total = sum(piece.body.mass for piece in sections)
        if total <= 0.0 and len(self.document.problems) == before:
            allowed = "a mass > 0: holes smaller than the body that they are in"
            part.problem("sections", f"weigh {total:.6g} kg together", allowed)
        return sections if len(self.document.problems) == before else None

    def _hole_density(self, hole: _Piece, solids: Sequence[_Piece]) -> float:
        """Of what a hole takes away: its own, or that of the part's solids where they have the same."""
        if hole.kind:
            return hole.value
        densities = [piece.density for piece in solids]
        if densities and max(densities) - min(densities) <= SAME * max(densities):
            return densities[0]
        found = "is in a part of several densities" if densities else "is in a part without a solid"
        hole.section.problem("hole", found, "density or material of what the hole takes away")
        return math.nan

    def _check_fit(self, pieces: Sequence[_Piece]) -> None:
        """Holes are within solids, and solids not within one another."""
        solid = [piece for piece in pieces if piece.solid is not None]
        fractions = misfits([Piece(piece.solid, piece.pose, piece.hole) for piece in solid if piece.solid is not None])
        for piece, fraction in zip(solid, fractions, strict=True):
            if fraction < LITTLE:
                continue
            if piece.hole and fraction > STICKS_OUT:
                found = f"about {100.0 * fraction:.0f} % of the hole are where its part has no material"
                piece.section.problem("hole", found, "a hole within the solids of its part")
            elif piece.hole:
                self._warn(piece, f"about {100.0 * fraction:.0f} % of the hole are where its part has no material")
            else:
                self._warn(piece, f"about {100.0 * fraction:.0f} % of it are in solids before it, and count twice")

    def _warn(self, piece: _Piece, sentence: str) -> None:
        line = piece.section.node.start_mark.line + 1 if piece.section.node else 1
        self.warnings.append(f"{self.document.path}:{line}: {piece.section.field}: {sentence}")


@dataclass
class _Piece:
    """A section as described."""

    section: Section
    name: str
    shape: str
    solid: Solid | None
    pose: Floats
    hole: bool
    kind: str
    """What is given of its weight: "density", "mass" or nothing."""
    value: float
    density: float = math.inf
    """kg/m^3; relative only, in a part that has been weighed."""
    unit: Inertial = NO_MASS
    """Inertial parameters at density 1."""

    def __post_init__(self) -> None:
        if self.solid is not None:
            self.unit = self.solid.unit()

    @property
    def signed_mass(self) -> float:
        return (-1.0 if self.hole else 1.0) * self.density * self.unit.mass

    def weighed(self, scale: float) -> WeighedSection:
        """In the part's coordinates, with the density times scale; a point mass keeps its mass."""
        if self.solid is None:
            body = moved(NO_MASS._replace(mass=self.value), self.pose)
            return WeighedSection(self.name, self.shape, False, 0.0, math.inf, body)
        density = scale * self.density
        signed = -density if self.hole else density
        body = moved(Inertial(signed * self.unit.mass, self.unit.com, signed * self.unit.inertia), self.pose)
        return WeighedSection(self.name, self.shape, self.hole, self.unit.mass, density, body)


def moved(body: Inertial, T: Floats) -> Inertial:
    """The same body seen from the frame in which its own stands at T."""
    R = T[:3, :3]
    return Inertial(body.mass, R @ body.com + T[:3, 3], R @ body.inertia @ R.T)


def combined(bodies: Sequence[Inertial]) -> Inertial:
    """Bodies of one frame as one: masses add up, inertias about the common centre of mass (Huygens-Steiner)."""
    mass = sum(body.mass for body in bodies)
    if not mass > 0.0:
        return NO_MASS._replace(mass=mass)
    com = sum((body.mass * body.com for body in bodies), np.zeros(3)) / mass
    inertia = sum((inertia_about_origin(body.inertia, body.mass, body.com - com) for body in bodies), np.zeros((3, 3)))
    return Inertial(mass, com, inertia)


def without_rounding(body: Inertial) -> Inertial:
    """Entries of centre and inertia that are only rounding beside the body's size become 0."""
    reach = math.sqrt(abs(float(np.trace(body.inertia)) / body.mass)) if body.mass else 0.0
    com = _cut(body.com, reach + float(np.abs(body.com).max()))
    return Inertial(body.mass, com, _cut(body.inertia, float(np.abs(body.inertia).max())))


def _cut(values: Floats, scale: float) -> Floats:
    return np.where(np.abs(values) < CUT * scale, 0.0, values)


# nodes


def _inertial_nodes(body: Inertial, place: yaml.Node) -> dict[str, yaml.Node]:
    """mass, com and inertia as nodes that stand where the parts did."""
    body = without_rounding(body)
    entries = {name: body.inertia["xyz".index(name[0]), "xyz".index(name[1])] for name in PRODUCTS}
    kept = {name: number(value) for name, value in entries.items() if name in PRODUCTS[:3] or value}
    com, inertia = number_list(body.com), group(kept)
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
