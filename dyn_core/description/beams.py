"""Sections, materials and beams of the robot YAML."""

from __future__ import annotations

import math

from ..errors import InputError
from ..stiffness import beam
from .document import Section

SHAPES = {"circle": ("radius",), "tube": ("outer", "inner"), "rectangle": ("height_y", "height_z")}
SECTION_KEYS = ("shape", *(key for keys in SHAPES.values() for key in keys), "A", "Ix", "Iy", "Iz", "shear")
MATERIAL_KEYS = ("E", "G", "nu", "density")


def read_section(owner: Section) -> beam.Section | None:
    """`section`: a shape with its measures, or A, Ix, Iy, Iz; None where it is wrong, which is noted."""
    if not owner.is_group("section"):
        owner.problem("section", "missing, or not a group", f"a shape of {', '.join(SHAPES)}, or A, Ix, Iy, Iz")
        return None
    section = owner.section("section", SECTION_KEYS)
    shape = section.choice("shape", tuple(SHAPES)) if "shape" in section else ""
    measures = SHAPES[shape] if shape else ("A", "Ix", "Iy", "Iz")
    for key in section.values:
        if key not in (*measures, "shape", "shear"):
            section.problem(key, f"has no meaning for {shape or 'a section by its moments'}", ", ".join(measures))
    given = [
        section.number(key, unit="m" if shape else "m^2 or m^4", above=-1e-300 if key == "inner" else 0.0)
        for key in measures
    ]
    shear = section.vector("shear", 2, default=(1.0, 1.0))
    if not all(math.isfinite(x) for x in (*given, *shear)):
        return None
    try:
        if not shape:
            return beam.Section(*given, *shear)
        bar = getattr(beam, shape)(*given)
        return beam.Section(bar.A, bar.Ix, bar.Iy, bar.Iz, *shear)
    except InputError as error:
        section.problem("shape" if shape else "A", str(error), "figures of a real section")
        return None


def read_material(owner: Section) -> beam.Material | None:
    """`E` with `G` or `nu`; None where they are wrong, which is noted."""
    E = owner.number("E", unit="N/m^2", above=0.0)
    if ("G" in owner) == ("nu" in owner):
        owner.problem("G" if "G" in owner else "E", "G and nu are both given, or neither", "one of G, nu")
        return None
    figure = owner.number("G", unit="N/m^2", above=0.0) if "G" in owner else owner.number("nu", above=-1.0)
    if not (math.isfinite(E) and math.isfinite(figure)):
        return None
    try:
        return beam.Material(E, figure) if "G" in owner else beam.Material.isotropic(E, figure)
    except InputError as error:
        owner.problem("G" if "G" in owner else "nu", str(error), "figures of a real material")
        return None
