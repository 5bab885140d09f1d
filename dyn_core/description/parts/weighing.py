"""The sections of a part weighed: each by its density, all by the part's mass where that was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dyn_core.arrays import Floats

from ..documents.yaml_section import YamlSection
from ..inertial import NO_MASS, Inertial
from .overlap_check import Piece, misfits
from .solids import Solid

STICKS_OUT = 0.1  # of a hole: more than this outside its body is a mistake
LITTLE = 0.01  # and less than this is not worth a word
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


@dataclass
class SectionEntry:
    """A section as described."""

    section: YamlSection
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
    """Inertial parameters at density 1, negative of a hole."""

    def __post_init__(self) -> None:
        if self.solid is not None:
            V, centre, inertia = self.solid.unit()
            self.unit = Inertial(-V, centre, -inertia) if self.hole else Inertial(V, centre, inertia)

    def weighed(self, scale: float) -> WeighedSection:
        """In the part's coordinates, with the density times scale; a point mass keeps its mass."""
        if self.solid is None:
            body = NO_MASS._replace(mass=self.value).moved(self.pose)
            return WeighedSection(self.name, self.shape, False, 0.0, math.inf, body)
        density = scale * self.density
        body = Inertial(density * self.unit.mass, self.unit.com, density * self.unit.inertia).moved(self.pose)
        return WeighedSection(self.name, self.shape, self.hole, abs(self.unit.mass), density, body)


def weighed_sections(
    part: YamlSection, pieces: Sequence[SectionEntry], given: tuple[str, float]
) -> list[WeighedSection] | None:
    """The sections with their densities, and so that they weigh what the part does, if it has been weighed."""
    problems = part.document.problems
    before = len(problems)
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
    if len(problems) > before:
        return None
    for piece in (piece for piece in pieces if piece.hole):
        piece.density = _hole_density(piece, solids)
    if len(problems) > before:
        return None
    scale = 1.0
    if measured:
        points = sum(piece.value for piece in pieces if piece.solid is None)
        rest = sum(piece.density * piece.unit.mass for piece in pieces if piece.solid is not None)
        if solids and rest > 0.0 and value > points:
            scale = (value - points) / rest
        elif value <= points or not solids:
            part.problem("mass", f"found {value:g}, and its point masses {points:g}", "more than its point masses")
    sections = [piece.weighed(scale) for piece in pieces]
    total = sum(piece.body.mass for piece in sections)
    if total <= 0.0 and len(problems) == before:
        allowed = "a mass > 0: holes smaller than the body that they are in"
        part.problem("sections", f"weigh {total:.6g} kg together", allowed)
    return sections if len(problems) == before else None


def _hole_density(hole: SectionEntry, solids: Sequence[SectionEntry]) -> float:
    """Of what a hole takes away: its own, or that of the part's solids where they have the same."""
    if hole.kind:
        return hole.value
    densities = [piece.density for piece in solids]
    if densities and max(densities) - min(densities) <= SAME * max(densities):
        return densities[0]
    found = "is in a part of several densities" if densities else "is in a part without a solid"
    hole.section.problem("hole", found, "density or material of what the hole takes away")
    return math.nan


def check_fit(pieces: Sequence[SectionEntry]) -> list[str]:
    """Holes are within solids, and solids not within one another; sentences about what is possible but looks wrong."""
    warnings = []
    solid = [piece for piece in pieces if piece.solid is not None]
    fractions = misfits([Piece(piece.solid, piece.pose, piece.hole) for piece in solid if piece.solid is not None])
    for piece, fraction in zip(solid, fractions, strict=True):
        if fraction < LITTLE:
            continue
        found = f"about {100.0 * fraction:.0f} % of it are in solids before it, and count twice"
        if piece.hole:
            found = f"about {100.0 * fraction:.0f} % of the hole are where its part has no material"
        section = piece.section
        if piece.hole and fraction > STICKS_OUT:
            section.problem("hole", found, "a hole within the solids of its part")
        else:
            line = section.node.start_mark.line + 1 if section.node else 1
            warnings.append(f"{section.document.path}:{line}: {section.field}: {found}")
    return warnings
