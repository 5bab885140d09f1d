"""Solids as points with weights, by Gauss quadrature: an independent way to their mass, centre and inertia.

Each shape is a map of the unit cube by its own coordinates (radius, angle, height, ...), and polynomial in all but the
angle, so that a few points integrate second moments to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_core.description import Inertial


class Cloud(NamedTuple):
    """Points (n, 3) in m and what each weighs (n,): in m^3 until there is a density."""

    points: np.ndarray
    weights: np.ndarray

    def inertial(self) -> Inertial:
        mass = self.weights.sum()
        com = self.weights @ self.points / mass
        r = self.points - com
        squares = np.einsum("p,pi,pj->ij", self.weights, r, r)
        return Inertial(mass, com, np.trace(squares) * np.eye(3) - squares)

    def placed(self, xyz: np.ndarray, rpy: np.ndarray) -> Cloud:
        return Cloud(Rotation.from_euler("xyz", rpy).apply(self.points) + xyz, self.weights)

    def times(self, density: float) -> Cloud:
        return Cloud(self.points, density * self.weights)


def together(*clouds: Cloud) -> Cloud:
    return Cloud(np.concatenate([c.points for c in clouds]), np.concatenate([c.weights for c in clouds]))


def assert_same(found: Inertial, wanted: Inertial, tolerance: float = 1e-11) -> None:
    reach = np.sqrt(np.trace(wanted.inertia) / abs(wanted.mass)) if wanted.mass else 1.0
    assert found.mass == pytest.approx(wanted.mass, rel=tolerance)
    np.testing.assert_allclose(found.com, wanted.com, atol=tolerance * (reach + np.abs(wanted.com).max()))
    np.testing.assert_allclose(found.inertia, wanted.inertia, atol=tolerance * np.abs(wanted.inertia).max())


def mapped(shape: Callable[..., tuple[np.ndarray, ...]]) -> Cloud:
    """The image of the unit cube: the shape gives x, y, z and the volume per volume of the cube."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    u, v, w = (grid.ravel() for grid in np.meshgrid(*[(nodes + 1.0) / 2.0] * 3, indexing="ij"))
    cube = np.einsum("i,j,k->ijk", weights, weights, weights).ravel() / 8.0
    x, y, z, stretch = shape(u, v, w)
    return Cloud(np.column_stack([x, y, z]), cube * stretch)


def turned(R: float, r: float, low: float, high: float, angles: tuple[float, float], bore: float = 0.0) -> Cloud:
    """Between two radii that go from R at z = low to r at z = high, and a bore, over a range of angles."""
    a, b = angles

    def shape(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
        outer = R + (r - R) * w
        radius, angle = bore + (outer - bore) * u, a + (b - a) * v
        stretch = radius * (outer - bore) * (b - a) * (high - low)
        return radius * np.cos(angle), radius * np.sin(angle), low + (high - low) * w, stretch

    return mapped(shape)


def ball(R: float, lowest: float) -> Cloud:
    """The part of a ball above sin(latitude) = lowest."""

    def shape(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
        radius, angle, sine = R * u, 2.0 * np.pi * v, lowest + (1.0 - lowest) * w
        cosine = np.sqrt(1.0 - sine**2)
        stretch = radius**2 * R * 2.0 * np.pi * (1.0 - lowest)
        return radius * cosine * np.cos(angle), radius * cosine * np.sin(angle), radius * sine, stretch

    return mapped(shape)


def block(x: float, y: float, z: float) -> Cloud:
    return mapped(lambda u, v, w: ((u - 0.5) * x, (v - 0.5) * y, (w - 0.5) * z, np.full_like(u, x * y * z)))


def fan(polygon: list[list[float]], length: float) -> Cloud:
    """Triangles from the first corner to every edge, each with the sign of its turn."""
    a = np.array(polygon[0])

    def triangle(b: np.ndarray, c: np.ndarray) -> Cloud:
        area = (b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0]

        def shape(u: np.ndarray, v: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
            x, y = (a + np.outer(u, b - a) + np.outer(u * v, c - b)).T
            return x, y, (w - 0.5) * length, u * area * length

        return mapped(shape)

    corners = np.array(polygon)
    cloud = together(*[triangle(b, c) for b, c in pairwise(corners[1:])])
    return cloud.times(np.sign(cloud.weights.sum()))


HALF, FULL = (-np.pi / 2, np.pi / 2), (0.0, 2.0 * np.pi)
ARROW = [[0.31, 0.1], [0.35, 0.1], [0.35, 0.18], [0.4, 0.18], [0.33, 0.27], [0.26, 0.18], [0.31, 0.18]]
"""A polygon with two notches, away from the origin."""

SHAPES: dict[str, tuple[str, Cloud]] = {
    "cylinder": ("shape: cylinder, radius: 0.07, length: 0.3", turned(0.07, 0.07, -0.15, 0.15, FULL)),
    "semi_cylinder": ("shape: semi_cylinder, radius: 0.07, length: 0.3", turned(0.07, 0.07, -0.15, 0.15, HALF)),
    "tube": (
        "shape: tube, outer_radius: 0.07, inner_radius: 0.05, length: 0.3",
        turned(0.07, 0.07, -0.15, 0.15, FULL, bore=0.05),
    ),
    "cone": ("shape: cone, radius: 0.12, height: 0.3", turned(0.12, 0.0, 0.0, 0.3, FULL)),
    "frustum": ("shape: frustum, radius: 0.05, top_radius: 0.11, height: 0.2", turned(0.05, 0.11, 0.0, 0.2, FULL)),
    "sphere": ("shape: sphere, radius: 0.09", ball(0.09, -1.0)),
    "hemisphere": ("shape: hemisphere, radius: 0.09", ball(0.09, 0.0)),
    "box": ("shape: box, size: [0.1, 0.2, 0.35]", block(0.1, 0.2, 0.35)),
    "prism": (f"shape: prism, polygon: {ARROW}, length: 0.15", fan(ARROW, 0.15)),
}
"""Each shape as a parts database has it, and as points."""
