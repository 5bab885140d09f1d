"""Compliance of a clamped beam's tip, by Castigliano's theorem, linear first.

A wrench (f, m) at the tip, in the tip's axes, moves it by C (f, m). A curved beam is an arc of a circle, with tip axes

    1  r, the tangent towards the clamp      2  t, from the centre of the circle to the tip      3  n = r x t

so that with unit vectors a to the clamp and t to the tip n = a x t / |a x t| and r = t x n (Wu, Bai and Kepler, 9).
A straight beam's axes are x along the beam, away from the clamp, and y, z across it. Axes 1 and x are those of the area
moment I_x (torsion), 2 and y those of I_y, 3 and z those of I_z.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, pi
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.spatial.poses import skew

SYMMETRY = 1e-9  # of the largest entry, by which a given compliance may differ from its transpose
NODES = 24  # of the Gauss-Legendre rule per half turn of arc: exact to rounding for the products of sines in (18)


@dataclass(frozen=True)
class BeamSection:
    """Cross section of a beam."""

    A: float
    """Area, m^2."""
    Ix: float
    """Torsion constant, m^4 (the polar moment only where the section is round)."""
    Iy: float
    """Second moment of area about axis 2 (y), m^4."""
    Iz: float
    """Second moment of area about axis 3 (z), m^4."""
    shear_y: float = 1.0
    """Part of A that carries a shear force along axis 2; inf: shear does not deform the beam."""
    shear_z: float = 1.0
    """The same along axis 3."""

    def __post_init__(self) -> None:
        for name in ("A", "Ix", "Iy", "Iz", "shear_y", "shear_z"):
            if not getattr(self, name) > 0.0:
                raise InputError(f"a section's {name} must be above zero, found {getattr(self, name)}")


def circle(radius: float, shear: float = 1.0) -> BeamSection:
    """A round bar."""
    return tube(radius, 0.0, shear)


def tube(outer: float, inner: float, shear: float = 1.0) -> BeamSection:
    """A round tube, by its radii (m)."""
    if not 0.0 <= inner < outer:
        raise InputError(f"a tube's inner radius must be from 0 to below the outer {outer:g} m, found {inner:g} m")
    I = pi / 4.0 * (outer**4 - inner**4)
    return BeamSection(pi * (outer**2 - inner**2), 2.0 * I, I, I, shear, shear)


def rectangle(height_y: float, height_z: float, shear: float = 1.0) -> BeamSection:
    """A rectangle with these sides (m) along axes 2 (y) and 3 (z); its torsion constant is Saint-Venant's series."""
    if not (height_y > 0.0 and height_z > 0.0):
        raise InputError(f"a rectangle's sides must be above zero, found {height_y:g} and {height_z:g} m")
    a, b = max(height_y, height_z), min(height_y, height_z)
    k = np.arange(1, 200, 2)
    Ix = a * b**3 / 3.0 * (1.0 - 192.0 * b / (pi**5 * a) * float(np.sum(np.tanh(k * pi * a / (2.0 * b)) / k**5)))
    return BeamSection(a * b, Ix, height_y * height_z**3 / 12.0, height_z * height_y**3 / 12.0, shear, shear)


@dataclass(frozen=True)
class Material:
    """A linearly elastic material."""

    E: float
    """Young's modulus, N/m^2."""
    G: float
    """Shear modulus, N/m^2."""

    def __post_init__(self) -> None:
        if not (self.E > 0.0 and self.G > 0.0):
            raise InputError(f"a material's E and G must be above zero, found {self.E:g} and {self.G:g}")

    @classmethod
    def isotropic(cls, E: float, nu: float) -> Material:
        """By Young's modulus and Poisson's ratio: G = E / (2 + 2 nu)."""
        if not -1.0 < nu <= 0.5:
            raise InputError(f"Poisson's ratio must be above -1 and at most 0.5, found {nu:g}")
        return cls(E, E / (2.0 + 2.0 * nu))


def curved_beam(R: float, arc: float, section: BeamSection, material: Material) -> Floats:
    """C (6, 6) of a circular beam of midline radius R (m) over an angle `arc` (rad), in the tip axes r, t, n.

    The strain energy (18) is U = R/2 int_0^arc s(phi)^T D s(phi) dphi with the internal wrench s = B (f, m) at the
    angle phi from the tip, so that C = R int B^T D B dphi: a sum of squares at the nodes of a Gauss rule, in which
    nothing cancels, however short the arc.
    """
    if not (R > 0.0 and arc > 0.0):
        raise InputError(f"a curved beam's radius and arc must be above zero, found {R:g} m and {arc:g} rad")
    D = 1.0 / Bar(section, material, arc, R).rigidity
    x, weights = np.polynomial.legendre.leggauss(NODES * ceil(arc / pi))
    C = np.zeros((6, 6))
    for phi, weight in zip(0.5 * arc * (x + 1.0), 0.5 * arc * weights, strict=True):
        c, s = np.cos(phi), np.sin(phi)
        v = 2.0 * np.sin(0.5 * phi) ** 2  # 1 - cos phi
        B = np.array([
            [c, -s, 0.0, 0.0, 0.0, 0.0],
            [s, c, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, -R * v, c, -s, 0.0],
            [0.0, 0.0, R * s, s, c, 0.0],
            [-R * v, -R * s, 0.0, 0.0, 0.0, 1.0],
        ])  # fmt: skip
        C += R * weight * (B.T * D) @ B
    return 0.5 * (C + C.T)


def straight_beam(length: float, section: BeamSection, material: Material) -> Floats:
    """C (6, 6) of a straight beam (m), in the tip axes x (along the beam, away from the clamp), y, z."""
    if not length > 0.0:
        raise InputError(f"a beam's length must be above zero, found {length:g} m")
    L, A, E, G = length, section.A, material.E, material.G
    C = np.diag([
        L / (E * A),
        L**3 / (3.0 * E * section.Iz) + L / (section.shear_y * G * A),
        L**3 / (3.0 * E * section.Iy) + L / (section.shear_z * G * A),
        L / (G * section.Ix),
        L / (E * section.Iy),
        L / (E * section.Iz),
    ])  # fmt: skip
    C[1, 5] = C[5, 1] = L**2 / (2.0 * E * section.Iz)
    C[2, 4] = C[4, 2] = -(L**2) / (2.0 * E * section.Iy)
    return C


@dataclass(frozen=True)
class Bar:
    """A uniform beam from its clamp to its tip, straight or an arc of a circle."""

    section: BeamSection
    material: Material
    size: float
    """Length, m, of a straight beam; angle, rad, of an arc."""
    radius: float = 0.0
    """Of an arc's midline, m; 0: straight."""

    @property
    def length(self) -> float:
        """Along the midline, m."""
        return self.size * (self.radius or 1.0)

    @property
    def rigidity(self) -> Floats:
        """(6,) against strain along and shear across axes 1, 2, 3 (N), and against twist and bending (N m^2)."""
        s, E, G = self.section, self.material.E, self.material.G
        return np.array([E * s.A, s.shear_y * G * s.A, s.shear_z * G * s.A, G * s.Ix, E * s.Iy, E * s.Iz])

    @property
    def compliance(self) -> Floats:
        """C (6, 6) of the tip."""
        if self.radius > 0.0:
            return curved_beam(self.radius, self.size, self.section, self.material)
        return straight_beam(self.size, self.section, self.material)

    def at(self, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Axes (k, 3, 3) and places (k, 3) of sections at lengths s (k,) from the clamp, and directions onward.

        All in the tip's axes, from the tip; the axes are the section's 1, 2, 3.
        """
        zero, one = np.zeros_like(s), np.ones_like(s)
        if not self.radius > 0.0:
            x = np.stack([one, zero, zero], axis=1)
            return np.tile(np.eye(3), (len(s), 1, 1)), (s - self.size)[:, None] * x, x
        phi = self.size - s / self.radius
        first = np.stack([np.cos(phi), -np.sin(phi), zero], axis=1)
        second = np.stack([np.sin(phi), np.cos(phi), zero], axis=1)
        axes = np.stack([first, second, np.stack([zero, zero, one], axis=1)], axis=2)
        return axes, self.radius * (second - np.array([0.0, 1.0, 0.0])), -first


def rigid() -> Floats:
    """C (6, 6) of a rigid link."""
    return np.zeros((6, 6))


def own_compliance(matrix: Any) -> Floats:
    """A user's C (6, 6), from a finite element program say: symmetric and with no negative energy, else InputError."""
    C = np.array(matrix, float)
    if C.shape != (6, 6) or not np.isfinite(C).all():
        raise InputError(f"a compliance is 6 x 6 finite numbers, found shape {C.shape}")
    if np.abs(C - C.T).max() > SYMMETRY * np.abs(C).max():
        raise InputError("a compliance is symmetric, and this one is not")
    C = 0.5 * (C + C.T)
    scale = np.sqrt(np.abs(np.diag(C)))
    scale[scale == 0.0] = 1.0
    if np.linalg.eigvalsh(C / np.outer(scale, scale))[0] < -SYMMETRY:
        raise InputError("a compliance gives every wrench a positive energy, and this one gives some a negative one")
    return np.asarray(C)


def tip_jacobian(R: Floats, arm: Floats) -> Floats:
    """(6, 6): motion of a point at `arm` from a tip per motion of the tip in the tip's axes R, both in base axes."""
    X = np.zeros((6, 6))
    X[:3, :3] = X[3:, 3:] = R
    X[:3, 3:] = -skew(arm) @ R
    return X
