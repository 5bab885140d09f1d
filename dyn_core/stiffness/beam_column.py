"""Stiffness of a bar that carries a load: a beam-column, straight or curved.

A bar stands in its described shape under a wrench (f, m) at its tip, so that its section at r(s) carries n = f and
m(s) = m + (r_tip - r(s)) x f. A small motion, u of the section and a turn phi, changes these by dn, dm. With the
section's compliances A_n, A_m, the geometrically exact rod (Simo, Reissner) linearised about that state is

    u' = phi x r' + A_n (dn - phi x n)      dn' = 0
    phi' = A_m (dm - phi x m)               dm' = -u' x n - r' x dn

which holds axial force, shear, bending and torsion and all that they do to each other. From the clamp, where u and phi
are 0, it is integrated to the tip, where (dn, dm) = K (u, phi). The moment at the tip that belongs to a rotation vector
theta is m - theta x m / 2, so that K + m~/2 is symmetric: the second derivative of the bar's energy. Without a load it
is the inverse of the beam's compliance. For a column all this is the stability functions.

If a bar buckles between clamped ends, K has gone through infinity and says nothing about it. K^-1 of the bar cut off
at s then has a negative eigenvalue that comes back through zero on the way to the tip: this is looked for.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.beams import Bar
from dyn_core.errors import InputError
from dyn_core.spatial.poses import skew

STEPS = 48  # of the integration, at least
STEPS_PER_WAVE = 24
LARGEST = 200.0  # load by bending stiffness: a clamped column buckles at 39.5, a taut wire grows stiff as a string


def loaded_stiffness(bar: Bar, f: Floats, m: Floats) -> tuple[Floats, bool]:
    """What a force and moment at the tip, in its axes, add to the tip's stiffness (6, 6), and whether the bar buckles.

    The stiffness is that of tip coordinates (shift, rotation vector) from where the bar stands. It is buckled where it
    does not keep its shape even with both ends clamped.
    """
    length = bar.length
    load = (np.linalg.norm(f) * length + np.linalg.norm(m)) * length / bar.rigidity[4:].min()
    if not load < LARGEST:
        found = f"load times length is {load:.3g} times its bending stiffness by its length"
        raise InputError(f"{found}, and the theory is trusted up to {LARGEST:g} times")
    steps = STEPS + ceil(STEPS_PER_WAVE * np.sqrt(load))
    K, buckled = _integrated(bar, f, m, steps)
    return K - _integrated(bar, np.zeros(3), np.zeros(3), steps)[0], buckled


def _integrated(bar: Bar, f: Floats, m: Floats, steps: int) -> tuple[Floats, bool]:
    """K (6, 6) of the tip, symmetric, by the Runge-Kutta method of order 4, and whether it went through infinity."""
    h = bar.length / steps
    rates, moments = _rates(bar, f, m, np.linspace(0.0, bar.length, 2 * steps + 1))
    rates *= h
    states = np.zeros((steps + 1, 12, 6))
    states[0, 6:] = np.eye(6)
    for k in range(steps):
        here, middle, ahead = rates[2 * k : 2 * k + 3]
        X = states[k]
        k1 = here @ X
        k2 = middle @ (X + 0.5 * k1)
        k3 = middle @ (X + 0.5 * k2)
        states[k + 1] = X + (k1 + 2.0 * (k2 + k3) + ahead @ (X + k3)) / 6.0
    u, forces = states[1:, :6], states[1:, 6:]
    K = np.linalg.solve(u.transpose(0, 2, 1), forces.transpose(0, 2, 1)).transpose(0, 2, 1)
    K[:, 3:, 3:] += 0.5 * _skews(moments[2::2])
    K = 0.5 * (K + K.transpose(0, 2, 1))
    unit = 1.0 / np.sqrt(np.abs(np.diagonal(K, axis1=1, axis2=2)))
    negative = (np.linalg.eigvalsh(K * unit[:, :, None] * unit[:, None, :]) < 0.0).sum(axis=1)
    return K[-1], bool((np.diff(negative) < 0).any())


def _rates(bar: Bar, f: Floats, m: Floats, s: Floats) -> tuple[Floats, Floats]:
    """(k, 12, 12) rates of (u, phi, dn, dm) at lengths s (k,) from the clamp, in tip axes, and the moments there."""
    axes, places, along = bar.at(s)
    back = axes.transpose(0, 2, 1)
    A_n, A_m = (axes / bar.rigidity[:3]) @ back, (axes / bar.rigidity[3:]) @ back
    moments = m - np.cross(places, f)
    N, D = skew(f), _skews(along)
    out = np.zeros((len(s), 12, 12))
    out[:, :3, 3:6] = A_n @ N - D
    out[:, :3, 6:9] = A_n
    out[:, 3:6, 3:6] = A_m @ _skews(moments)
    out[:, 3:6, 9:] = A_m
    out[:, 9:] = N @ out[:, :3]
    out[:, 9:, 6:9] -= D
    return out, moments


def _skews(v: Floats) -> Floats:
    """(k, 3, 3) of vectors (k, 3)."""
    out = np.zeros((len(v), 3, 3))
    for (i, j), c in {(1, 0): 2, (0, 2): 1, (2, 1): 0}.items():
        out[:, i, j], out[:, j, i] = v[:, c], -v[:, c]
    return out
