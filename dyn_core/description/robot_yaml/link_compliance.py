"""`beam` and `compliance` of a link in the robot YAML, for the Cartesian stiffness: sections, materials, matrices."""

from __future__ import annotations

import math

import numpy as np

from dyn_core import beams
from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.mechanism import BASE, Compliance

from ..documents.yaml_section import YamlSection
from .joint_notation import origin

SHORTEST = 1e-9  # m
SHAPES = {"circle": ("radius",), "tube": ("outer", "inner"), "rectangle": ("height_y", "height_z")}
SECTION_KEYS = ("shape", *(key for keys in SHAPES.values() for key in keys), "A", "Ix", "Iy", "Iz", "shear")
MATERIAL_KEYS = ("E", "G", "nu", "density")
BEAM_KEYS = ("root", "tip", "centre", "axis", "arc", "up", "section", *MATERIAL_KEYS)


def read_link(link: YamlSection) -> Compliance | None:
    """What `beam` or `compliance` of a link says, in the link's described frame; its body is not known yet."""
    if "compliance" in link:
        if "beam" in link:
            link.problem("compliance", "given together with beam", "one of them")
        own = link.section("compliance", ("xyz", "rpy", "matrix"))
        T = origin(own)
        return Compliance(BASE, T[:3, :3], T[:3, 3], read_matrix(own, "matrix"))
    return _read_beam(link.section("beam", BEAM_KEYS)) if "beam" in link else None


def _read_beam(bar: YamlSection) -> Compliance | None:
    """A straight beam from `root` to `tip`, or a curved one about `centre` and `axis` over `arc`."""
    start = bar.vector("root", 3, unit="m", default=(0.0, 0.0, 0.0))
    section, material = read_section(bar), read_material(bar)
    curved = "centre" in bar
    others, form = (("tip", "up"), "curved") if curved else (("axis", "arc"), "straight")
    bar.refuse(others, f"has no meaning for a {form} beam", "no such key")
    place = _curved(bar, start) if curved else _straight(bar, start)
    if place is None or section is None or material is None:
        return None
    R, tip, radius, size = place
    beam = beams.Bar(section, material, size, radius)
    return Compliance(BASE, R, tip, beam.compliance, beam)


def _straight(bar: YamlSection, start: Floats) -> tuple[Floats, Floats, float, float] | None:
    """Axes and place of the tip, no radius, and the length; y of the tip is as near to `up` as it can be."""
    tip = bar.vector("tip", 3, unit="m")
    length = float(np.linalg.norm(tip - start))
    if not length > SHORTEST:
        bar.problem("tip", "is where the beam begins, or missing", "a point off the root, in m")
        return None
    x = (tip - start) / length
    up = bar.vector("up", 3, default=np.eye(3)[int(np.argmin(np.abs(x)))].tolist())
    y = up - (up @ x) * x
    if not np.linalg.norm(y) > SHORTEST * np.linalg.norm(up):
        bar.problem("up", "lies along the beam", "a direction across it")
        return None
    y /= np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1), tip, 0.0, length


def _curved(bar: YamlSection, start: Floats) -> tuple[Floats, Floats, float, float] | None:
    """Axes r, t, n and place of the tip, the radius, and the arc."""
    centre, n = bar.vector("centre", 3, unit="m"), bar.vector("axis", 3)
    arc = bar.angle("arc")
    out = start - centre
    radius, size = float(np.linalg.norm(out)), float(np.linalg.norm(n))
    if not (radius > SHORTEST and size > 0.0 and abs(out @ n) < 1e-6 * radius * size):
        bar.problem("axis", "is not across the line from the centre to the root", "the normal of the beam's plane")
        return None
    if not 0.0 < arc <= 2.0 * math.pi:
        bar.problem("arc", f"found {math.degrees(arc):g} deg", "an angle above 0, at most 360 deg")
        return None
    n, a = n / size, out / radius
    t = math.cos(arc) * a + math.sin(arc) * np.cross(n, a)
    return np.stack([np.cross(t, n), t, n], axis=1), centre + radius * t, radius, arc


def read_section(owner: YamlSection) -> beams.BeamSection | None:
    """`section`: a shape with its measures, or A, Ix, Iy, Iz; None where it is wrong, which is noted."""
    if not owner.is_group("section"):
        owner.problem("section", "missing, or not a group", f"a shape of {', '.join(SHAPES)}, or A, Ix, Iy, Iz")
        return None
    section = owner.section("section", SECTION_KEYS)
    shape = section.choice("shape", tuple(SHAPES)) if "shape" in section else ""
    measures = SHAPES[shape] if shape else ("A", "Ix", "Iy", "Iz")
    found = f"has no meaning for {shape or 'a section by its moments'}"
    section.refuse_others((*measures, "shape", "shear"), found, ", ".join(measures))
    given = [
        section.number(key, unit="m" if shape else "m^2 or m^4", above=-1e-300 if key == "inner" else 0.0)
        for key in measures
    ]
    shear = section.vector("shear", 2, default=(1.0, 1.0))
    if not all(math.isfinite(x) for x in (*given, *shear)):
        return None
    try:
        if not shape:
            return beams.BeamSection(*given, *shear)
        bar = getattr(beams, shape)(*given)
        return beams.BeamSection(bar.A, bar.Ix, bar.Iy, bar.Iz, *shear)
    except InputError as error:
        section.problem("shape" if shape else "A", str(error), "figures of a real section")
        return None


def read_material(owner: YamlSection) -> beams.Material | None:
    """`E` with `G` or `nu`; None where they are wrong, which is noted."""
    E = owner.number("E", unit="N/m^2", above=0.0)
    if ("G" in owner) == ("nu" in owner):
        owner.problem("G" if "G" in owner else "E", "G and nu are both given, or neither", "one of G, nu")
        return None
    figure = owner.number("G", unit="N/m^2", above=0.0) if "G" in owner else owner.number("nu", above=-1.0)
    if not (math.isfinite(E) and math.isfinite(figure)):
        return None
    try:
        return beams.Material(E, figure) if "G" in owner else beams.Material.isotropic(E, figure)
    except InputError as error:
        owner.problem("G" if "G" in owner else "nu", str(error), "figures of a real material")
        return None


def read_matrix(owner: YamlSection, key: str) -> Floats:
    """(6, 6) symmetric, linear first: m/N, m/(N m), rad/N, rad/(N m); zero where it is wrong, which is noted."""
    C = owner.matrix(key, 6, meaning=", linear first: m/N, m/(N m) | rad/N, rad/(N m)")
    try:
        return beams.rigid() if C is None else beams.own_compliance(C)
    except InputError as error:
        owner.problem(key, str(error), "a symmetric matrix that gives no wrench a negative energy")
        return beams.rigid()
