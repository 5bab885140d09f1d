"""Geometry of spherical parallel manipulators, after Wu, Bai and Kepler.

Leg i has three revolute axes through the centre O: u_i in the base, v_i between the links, w_i in the platform. The
orientation Q gives w_i = Q w_i* (3); v_i = Rot(u_i, theta_i) (u_i cos alpha1 + d_i sin alpha1) is (2), with d_i across
u_i. v . w = cos alpha2 then reads a cos theta + b sin theta = c, whose two solutions are the working modes.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import acos, atan2, cos, sin, sqrt

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import kernel

from .poses import rotation_y, rotation_z
from .tuples import add, dot, load3, scale

# one row per leg
U = 0  # u, 3
D = 3  # d, 3
E = 6  # e = u x d, 3
W0 = 9  # w*, 3
CA1, SA1, CA2, SA2 = 12, 13, 14, 15
MODE = 16
GEOMETRY_WIDTH = 17

UNDETERMINED = 1e-9  # sine between u and w, times that of alpha1, below which every theta does: w is along u
REACH = 1e-9  # by which a leg may be stretched beyond folded or straight, for rounding
THIRDS = 2.0 * np.pi / 3.0


def axes(angle: float, eta: float) -> tuple[Floats, Floats, Floats]:
    """u (1), and d, e across it, of a leg at azimuth eta on a base pyramid of that angle."""
    s, c = np.sin(eta), np.cos(eta)
    sg, cg = np.sin(angle), np.cos(angle)
    return np.array([-s * sg, c * sg, -cg]), np.array([-s * cg, c * cg, sg]), np.array([c, s, 0.0])


def platform_axis(beta: float, eta: float) -> Floats:
    """w* (4)."""
    return np.array([-np.sin(eta) * np.sin(beta), np.cos(eta) * np.sin(beta), np.cos(beta)])


def platform_axes(beta: float, eta: float) -> Floats:
    """(3, 3) axes of a leg's last joint in the platform's frame: z along w*, y across it and the platform's axis."""
    w, y = platform_axis(beta, eta), np.array([np.cos(eta), np.sin(eta), 0.0])
    return np.stack([np.cross(y, w), y, w], axis=1)


def leg_geometry(arcs: Floats, beta: float, gamma: float, modes: Sequence[int]) -> Floats:
    """(3, GEOMETRY_WIDTH) of three legs: arcs (3, 2) of their links, angles (rad) of platform and base, modes."""
    legs = np.zeros((3, GEOMETRY_WIDTH))
    for i, (leg, (alpha1, alpha2)) in enumerate(zip(legs, arcs, strict=True)):
        leg[U : U + 3], leg[D : D + 3], leg[E : E + 3] = axes(gamma, i * THIRDS)
        leg[W0 : W0 + 3] = platform_axis(beta, i * THIRDS)
        leg[CA1 : SA2 + 1] = np.cos(alpha1), np.sin(alpha1), np.cos(alpha2), np.sin(alpha2)
        leg[MODE] = modes[i]
    return legs


def leg_joints(leg: Floats, last: Floats) -> tuple[Floats, bool]:
    """(3,) angles of a leg's joints about u, v, w where its last joint has the axes (3, 3) in the base frame.

    All frames have z along their axis, and x towards the next where the joint is at 0. Also whether the leg reaches.
    """
    theta, _, reached = leg_angle(leg, tuple(last[:, 2]))
    first = np.stack([leg[D : D + 3], leg[E : E + 3], leg[U : U + 3]], axis=1) @ rotation_z(theta)
    second = first @ rotation_y(atan2(leg[SA1], leg[CA1]))
    psi = atan2(second[:, 1] @ last[:, 2], second[:, 0] @ last[:, 2])
    third = second @ rotation_z(psi) @ rotation_y(atan2(leg[SA2], leg[CA2]))
    return np.array([theta, psi, atan2(third[:, 1] @ last[:, 0], third[:, 0] @ last[:, 0])]), bool(reached)


@kernel
def leg_angle(leg, w):
    """theta and v of a leg whose platform axis is w, and whether it reaches that."""
    u = load3(leg, U)
    d = load3(leg, D)
    e = load3(leg, E)
    a = leg[SA1] * dot(d, w)
    b = leg[SA1] * dot(e, w)
    c = leg[CA2] - leg[CA1] * dot(u, w)
    size = sqrt(a * a + b * b)
    x = c / size if size > UNDETERMINED else 2.0
    reached = abs(x) <= 1.0 + REACH
    x = min(1.0, max(-1.0, x))
    # (u x v) . w = -size sin(theta - atan2(b, a))
    theta = atan2(b, a) - leg[MODE] * acos(x)
    k = leg[SA1]
    v = add(scale(leg[CA1], u), add(scale(k * cos(theta), d), scale(k * sin(theta), e)))
    return theta, v, reached
