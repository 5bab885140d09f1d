"""`beam` and `compliance` of a link in the robot YAML: how it gives way, for the Cartesian stiffness."""

from __future__ import annotations

import math

import numpy as np
import yaml

from ..errors import InputError
from ..mechanism import BASE, Compliance, Floats
from ..stiffness import beam
from ..stiffness.beam import own_compliance
from .beams import MATERIAL_KEYS, read_material, read_section
from .document import Section, describe
from .notation import origin

SHORTEST = 1e-9  # m


BEAM_KEYS = ("root", "tip", "centre", "axis", "arc", "up", "section", *MATERIAL_KEYS)


def read_link(link: Section) -> Compliance | None:
    """What `beam` or `compliance` of a link says, in the link's described frame; its body is not known yet."""
    if "compliance" in link:
        if "beam" in link:
            link.problem("compliance", "given together with beam", "one of them")
        own = link.section("compliance", ("xyz", "rpy", "matrix"))
        T = origin(own)
        return Compliance(BASE, T[:3, :3], T[:3, 3], read_matrix(own, "matrix"))
    return _read_beam(link.section("beam", BEAM_KEYS)) if "beam" in link else None


def _read_beam(bar: Section) -> Compliance | None:
    """A straight beam from `root` to `tip`, or a curved one about `centre` and `axis` over `arc`."""
    start = bar.vector("root", 3, unit="m", default=(0.0, 0.0, 0.0))
    section, material = read_section(bar), read_material(bar)
    curved = "centre" in bar
    for key in ("tip", "up") if curved else ("axis", "arc"):
        if key in bar:
            bar.problem(key, f"has no meaning for a {'curved' if curved else 'straight'} beam", "no such key")
    place = _curved(bar, start) if curved else _straight(bar, start)
    if place is None or section is None or material is None:
        return None
    R, tip, radius, size = place
    C = beam.curved_beam(radius, size, section, material) if curved else beam.straight_beam(size, section, material)
    return Compliance(BASE, R, tip, C)


def _straight(bar: Section, start: Floats) -> tuple[Floats, Floats, float, float] | None:
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


def _curved(bar: Section, start: Floats) -> tuple[Floats, Floats, float, float] | None:
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


def read_matrix(owner: Section, key: str) -> Floats:
    """(6, 6) symmetric, linear first: m/N, m/(N m), rad/N, rad/(N m); zero where it is wrong, which is noted."""
    allowed = "6 rows of 6 finite numbers, linear first: m/N, m/(N m) | rad/N, rad/(N m)"
    node = owner.values.get(key)
    rows = node.value if isinstance(node, yaml.SequenceNode) else []
    if len(rows) != 6 or not all(isinstance(row, yaml.SequenceNode) and len(row.value) == 6 for row in rows):
        owner.problem(key, f"found {describe(node)}", allowed)
        return np.zeros((6, 6))
    C = np.array([
        [owner._number(entry, f"{owner.path(key)}[{i}][{j}]", "a finite number", -math.inf, -math.inf)
         for j, entry in enumerate(row.value)]
        for i, row in enumerate(rows)
    ])  # fmt: skip
    if not np.isfinite(C).all():
        return np.zeros((6, 6))
    try:
        return own_compliance(C)
    except InputError as error:
        owner.problem(key, str(error), allowed)
        return np.zeros((6, 6))
