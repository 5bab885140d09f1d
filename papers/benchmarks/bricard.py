"""Bricard's mechanism of the IFToMM library: its energy over 10 s, and the time of a swing.

With the hinge angles (a, -b, a, -b, a) from the cube as it starts, closure is sin b = sin a / (1 + sin a). Falling
from rest at a = 0 it comes to rest again at a = pi, after

    T = int_0^pi sqrt(I(a) / (2 (V(0) - V(a)))) da,

with the inertia I and the potential V of the five rods along that curve: closed form but for the integral.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.optimize import brentq

from dyn_core.arrays import Floats

from ..report import Row
from .figures import Motion, described, largest, measured, moved, timed

AXES = "yzxyz"  # of the hinges P0 ... P4
RODS = np.array([[1.0, 0, 0], [0, -1.0, 0], [0, 0, 1.0], [-1.0, 0, 0], [0, 1.0, 0]])  # m, as it starts
ALONG, ACROSS = 0.01 / 6.0, 1.01 / 12.0  # kg m^2, of a rod about its centre


def _rotation(axis: str, angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    R = np.eye(3)
    R[j, j] = R[k, k] = c
    R[j, k], R[k, j] = -s, s
    return R


def inertia_and_potential(a: float) -> tuple[float, float]:
    """I (kg m^2) and V (J) at the first hinge's angle a."""
    sine = np.sin(a) / (1.0 + np.sin(a))
    b = np.arcsin(sine)
    slope = np.cos(a) / (1.0 + np.sin(a)) ** 2 / np.cos(b)  # db / da
    R, p, v, w = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3)
    inertia, potential = 0.0, 0.0
    for i, (axis, rod) in enumerate(zip(AXES, RODS, strict=True)):
        angle, rate = (a, 1.0) if i % 2 == 0 else (-b, -slope)
        w = w + rate * R[:, "xyz".index(axis)]
        R = R @ _rotation(axis, angle)
        d = R @ rod
        centre, speed = p + 0.5 * d, v + 0.5 * np.cross(w, d)
        spin = w @ d
        inertia += speed @ speed + ACROSS * (w @ w - spin**2) + ALONG * spin**2
        potential += 9.81 * centre[1]
        p, v = p + d, v + np.cross(w, d)
    return float(inertia), float(potential)


def swing_time(points: int = 4000) -> float:
    """T (s), by the midpoint rule in s with a = pi (1 - cos s) / 2, which the ends' roots do not disturb."""
    s = (np.arange(points) + 0.5) * np.pi / points
    total, start = 0.0, inertia_and_potential(0.0)[1]
    for x in s:
        inertia, potential = inertia_and_potential(0.5 * np.pi * (1.0 - np.cos(x)))
        total += np.sqrt(inertia / (2.0 * (start - potential))) * 0.5 * np.pi * np.sin(x)
    return float(total * np.pi / points)


def second_rest(motion: Motion) -> float:
    """When (s) the first hinge comes to rest for the first time after the start."""
    k = 1 + int(np.flatnonzero((motion.qd[1:-1, 0] > 0.0) & (motion.qd[2:, 0] <= 0.0))[0])
    acceleration = [motion.robot.forward_dynamics(motion.q[i, :1], motion.qd[i, :1], [0.0])[0] for i in (k, k + 1)]
    speed = CubicHermiteSpline(motion.t[k : k + 2], motion.qd[k : k + 2, 0], acceleration)
    return float(brentq(speed, *motion.t[k : k + 2]))


def bricard_rows() -> list[Row]:
    """The closed form's time, and the energy."""
    robot = described("bricard")
    motion, seconds = timed(lambda: moved(robot, [0.0], 10.0, 1e-3, 1001))
    place = "Bricard"
    return [
        measured(place, "time of a swing, s", swing_time(), second_rest(motion), 1e-5, seconds),
        largest(place, "energy over 10 s, J", motion.drift, 1e-5),
    ]
