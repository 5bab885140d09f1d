"""Solids of uniform density: volume, centre and inertia in closed form, and which points they contain.

Each is written by its second moments S = integral of r r^T dV, from which its inertia at density 1 is tr(S) 1 - S.
Its own frame has z along its axis; what has a `length` is centred at the origin, what has a `height` stands on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dyn_core.arrays import Bools, Floats
from dyn_core.spatial.poses import inertia_about_origin

from ..documents.yaml_section import YamlSection
from ..inertial import Inertial

MAX_CORNERS = 1000
FLAT = 1e-12  # of the square around a polygon: below it, its area is rounding


class Solid(Protocol):
    """A body of uniform density in its own frame."""

    def unit(self) -> Inertial:
        """Its inertial parameters at density 1 kg/m^3: the mass is the volume in m^3."""

    def extent(self) -> tuple[Floats, Floats]:
        """The two ends of a box around it, edges along its axes; m."""

    def contains(self, points: Floats) -> Bools:
        """Which of the points (n, 3) are in it."""


def unit_inertial(volume: float, centre: Floats, S: Floats) -> Inertial:
    """Inertial parameters at density 1 from the second moments S about the centre."""
    return Inertial(volume, centre, np.trace(S) * np.eye(3) - S)


@dataclass(frozen=True)
class Frustum:
    """A cone cut off across its axis: radius R at z = 0, r at z = h. A cylinder and a cone are such."""

    R: float
    r: float
    h: float

    def unit(self) -> Inertial:
        R, r, h = self.R, self.r, self.h
        squares = R * R + R * r + r * r
        V = math.pi * h / 3.0 * squares
        z = h / 4.0 * (R * R + 2.0 * R * r + 3.0 * r * r) / squares
        across = math.pi * h / 20.0 * (R**4 + R**3 * r + R**2 * r**2 + R * r**3 + r**4)
        along = math.pi * h**3 / 30.0 * (R * R + 3.0 * R * r + 6.0 * r * r) - V * z * z
        return unit_inertial(V, np.array([0.0, 0.0, z]), np.diag([across, across, along]))

    def extent(self) -> tuple[Floats, Floats]:
        widest = max(self.R, self.r)
        return np.array([-widest, -widest, 0.0]), np.array([widest, widest, self.h])

    def contains(self, points: Floats) -> Bools:
        z = points[:, 2]
        radius = self.R + (self.r - self.R) * z / self.h
        return (z >= 0.0) & (z <= self.h) & (np.hypot(points[:, 0], points[:, 1]) <= radius)


@dataclass(frozen=True)
class Tube:
    """A cylinder of radius R and length L, with a bore of radius r (0: none); z from -L/2 to L/2."""

    R: float
    r: float
    L: float

    def unit(self) -> Inertial:
        V = math.pi * (self.R - self.r) * (self.R + self.r) * self.L
        across = V * (self.R**2 + self.r**2) / 4.0
        return unit_inertial(V, np.zeros(3), np.diag([across, across, V * self.L**2 / 12.0]))

    def extent(self) -> tuple[Floats, Floats]:
        half = np.array([self.R, self.R, self.L / 2.0])
        return -half, half

    def contains(self, points: Floats) -> Bools:
        radius = np.hypot(points[:, 0], points[:, 1])
        return (radius >= self.r) & (radius <= self.R) & (np.abs(points[:, 2]) <= self.L / 2.0)


@dataclass(frozen=True)
class Sphere:
    """A ball of radius R about the origin."""

    R: float

    def unit(self) -> Inertial:
        V = 4.0 / 3.0 * math.pi * self.R**3
        return unit_inertial(V, np.zeros(3), V * self.R**2 / 5.0 * np.eye(3))

    def extent(self) -> tuple[Floats, Floats]:
        return np.full(3, -self.R), np.full(3, self.R)

    def contains(self, points: Floats) -> Bools:
        return np.asarray(np.linalg.norm(points, axis=1) <= self.R)


@dataclass(frozen=True)
class Half:
    """The half of a solid on one side of a plane of symmetry through its origin: where the coordinate `axis` >= 0."""

    whole: Sphere | Tube
    axis: int
    centre: float
    """The coordinate of the half's centre of mass, m."""

    def unit(self) -> Inertial:
        V, _, inertia = self.whole.unit()
        c = self.centre * np.eye(3)[self.axis]
        return Inertial(V / 2.0, c, inertia_about_origin(inertia / 2.0, -V / 2.0, c))

    def extent(self) -> tuple[Floats, Floats]:
        low, high = self.whole.extent()
        return np.where(np.arange(3) == self.axis, 0.0, low), high

    def contains(self, points: Floats) -> Bools:
        return (points[:, self.axis] >= 0.0) & self.whole.contains(points)


@dataclass(frozen=True)
class Prism:
    """A simple polygon in the plane of x and y, its corners (n, 2) in order, from z = -L/2 to L/2."""

    corners: Floats
    L: float

    def unit(self) -> Inertial:
        """Green's theorem: integrals over the polygon as sums over its edges."""
        middle = self.corners.mean(axis=0)
        a = self.corners - middle
        b = np.roll(a, -1, axis=0)
        k = a[:, 0] * b[:, 1] - b[:, 0] * a[:, 1]
        area = float(k.sum()) / 2.0
        c = k @ (a + b) / (6.0 * area)
        second = (
            np.einsum("i,ix,iy->xy", k, a, a)
            + np.einsum("i,ix,iy->xy", k, b, b)
            + np.einsum("i,ix,iy->xy", k, a + b, a + b)
        ) / 24.0
        turn = math.copysign(1.0, area)  # corners may go round either way
        V = abs(area) * self.L
        S = np.zeros((3, 3))
        S[:2, :2] = turn * self.L * second - V * np.outer(c, c)
        S[2, 2] = V * self.L**2 / 12.0
        return unit_inertial(V, np.array([*(middle + c), 0.0]), S)

    def extent(self) -> tuple[Floats, Floats]:
        low, high = self.corners.min(axis=0), self.corners.max(axis=0)
        return np.array([*low, -self.L / 2.0]), np.array([*high, self.L / 2.0])

    def contains(self, points: Floats) -> Bools:
        """A ray along x crosses the edges an odd number of times."""
        x, y = points[:, :1], points[:, 1:2]
        (ax, ay), (bx, by) = self.corners.T, np.roll(self.corners, -1, axis=0).T
        crosses = (ay > y) != (by > y)
        rise = np.where(by == ay, 1.0, by - ay)
        odd = (crosses & (x < ax + (y - ay) * (bx - ax) / rise)).sum(axis=1) % 2 == 1
        return np.asarray(odd & (np.abs(points[:, 2]) <= self.L / 2.0))


def box(size: Floats) -> Prism:
    """A block with edges along x, y, z, centred at the origin."""
    x, y, z = size / 2.0
    return Prism(np.array([[-x, -y], [x, -y], [x, y], [-x, y]]), 2.0 * z)


def tangled_edges(corners: Floats) -> tuple[int, int] | None:
    """Two edges of a polygon that meet where they should not, by the indices of their first corners; None if simple."""
    n = len(corners)
    a, b = corners, np.roll(corners, -1, axis=0)
    along = b - a
    after = np.roll(along, -1, axis=0)
    turns = along[:, 0] * after[:, 1] - along[:, 1] * after[:, 0]
    back = (turns == 0.0) & ((along * after).sum(axis=1) <= 0.0)
    if back.any():
        first = int(np.argmax(back))
        return first, (first + 1) % n
    low, high = np.minimum(a, b), np.maximum(a, b)
    for i in range(n - 2):
        rest = np.arange(i + 2, n if i else n - 1)
        near = (low[i] <= high[rest]).all(axis=1) & (low[rest] <= high[i]).all(axis=1)
        sides = _side(a[i], b[i], a[rest]) * _side(a[i], b[i], b[rest]) <= 0.0
        other = _side(a[rest], b[rest], a[i]) * _side(a[rest], b[rest], b[i]) <= 0.0
        meet = near & sides & other
        if meet.any():
            return i, int(rest[np.argmax(meet)])
    return None


def _side(a: Floats, b: Floats, c: Floats) -> Floats:
    """On which side of the line from a to b the point c is: the sign of the cross product."""
    u, v = b - a, c - a
    return np.asarray(np.sign(u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]))


# how they are described


class Shape(NamedTuple):
    """The keys of a shape's dimensions, and what reads them; None where they are wrong, which is noted."""

    keys: tuple[str, ...]
    read: Callable[[YamlSection], Solid | None]


def _of_lengths(solid: Callable[..., Solid], *keys: str) -> Shape:
    """A shape by dimensions above 0 in m."""

    def read(section: YamlSection) -> Solid | None:
        lengths = _lengths(section, *keys)
        return solid(*lengths) if lengths else None

    return Shape(keys, read)


def _lengths(section: YamlSection, *keys: str) -> list[float] | None:
    values = [section.number(key, unit="m", above=0.0) for key in keys]
    return values if np.isfinite(values).all() else None


TUBE = ("outer_radius", "inner_radius", "length")


def _tube(section: YamlSection) -> Solid | None:
    d = _lengths(section, *TUBE)
    if d and d[1] >= d[0]:
        section.problem("inner_radius", f"found {d[1]:g}", f"less than outer_radius, which is {d[0]:g}")
        return None
    return Tube(*d) if d else None


def _box(section: YamlSection) -> Solid | None:
    size = section.vector("size", 3, unit="m", above=0.0)
    return box(size) if (size > 0.0).all() else None


def _prism(section: YamlSection) -> Solid | None:
    corners = section.points("polygon", 3, MAX_CORNERS, unit="m")
    d = _lengths(section, "length")
    if corners is None or d is None:
        return None
    if tangle := tangled_edges(corners):
        found = "the edges from corner {} and from corner {} meet".format(*(edge + 1 for edge in tangle))
        section.problem("polygon", found, "the corners of a simple polygon, in order, each once")
        return None
    prism = Prism(corners, *d)
    if prism.unit().mass < FLAT * d[0] * np.ptp(corners, axis=0).max() ** 2:
        section.problem("polygon", "the corners are in line", "a polygon with an area")
        return None
    return prism


SHAPES = {
    "cylinder": _of_lengths(lambda R, L: Tube(R, 0.0, L), "radius", "length"),
    "semi_cylinder": _of_lengths(lambda R, L: Half(Tube(R, 0.0, L), 0, 4.0 * R / (3.0 * math.pi)), "radius", "length"),
    "tube": Shape(TUBE, _tube),
    "cone": _of_lengths(lambda R, h: Frustum(R, 0.0, h), "radius", "height"),
    "frustum": _of_lengths(Frustum, "radius", "top_radius", "height"),
    "sphere": _of_lengths(Sphere, "radius"),
    "hemisphere": _of_lengths(lambda R: Half(Sphere(R), 2, 3.0 / 8.0 * R), "radius"),
    "box": Shape(("size",), _box),
    "prism": Shape(("polygon", "length"), _prism),
}
