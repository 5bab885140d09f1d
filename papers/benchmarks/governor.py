"""The stiff flyball governor of the IFToMM library, beside its three coordinates' own equations.

With psi the shaft's angle, alpha that of both rods below the horizontal and s the slider's height, the rods' hinges at
e = 0.05 m from the axis and at height 1 m, and I(alpha) the inertia of everything about the axis, angular momentum
I psi' = L is constant, and

    2 J alpha'' = 2 m g c cos(alpha) + L^2 I'(alpha) / (2 I^2) - 2 F l_alpha
    m_s s'' = -m_s g - 2 F l_s,      F = K (l - l0) + C l',   l^2 = (cos(alpha) / 2)^2 + (1 - sin(alpha) / 2 - s)^2.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

from dyn_core import Robot, simulate
from dyn_core.arrays import Floats

from ..report import Row
from .figures import described, measured, timed

ROD, BALL, SLIDER, SHAFT = 0.3, 5.0, 3.0, 0.3  # kg
K, C, REST, EDGE, G = 8e5, 4e4, 0.5, 0.05, 9.81
SPEED, START, END = 2.0 * np.pi, np.radians(30.0), 10.0  # rad/s, rad, s
ABOUT_HINGE = ROD * (1.0 / 3.0 + 1e-4 / 12.0) + BALL  # kg m^2, of a rod and its ball
THIN = ROD * 2e-4 / 12.0  # about the rod's own axis
STILL = SHAFT * 2e-4 / 12.0 + SLIDER * 0.02 / 12.0  # of shaft and slider about the axis
FIRST = ROD * 0.5 + BALL  # kg m, of a rod and its ball


def about_axis(alpha: float) -> tuple[float, float]:
    """I, and dI / dalpha, kg m^2."""
    c, s = np.cos(alpha), np.sin(alpha)
    one = (ROD + BALL) * EDGE**2 + 2.0 * EDGE * FIRST * c + ABOUT_HINGE * c**2 + THIN * s**2
    return STILL + 2.0 * one, 2.0 * (-2.0 * EDGE * FIRST * s + 2.0 * (THIN - ABOUT_HINGE) * c * s)


def by_hand(end: float) -> Floats:
    """alpha, s and their rates at the end (s)."""
    momentum = about_axis(START)[0] * SPEED

    def rates(_: float, x: Floats) -> list[float]:
        alpha, s, alpha_d, s_d = x
        across, down = 0.5 * np.cos(alpha), 1.0 - 0.5 * np.sin(alpha) - s
        l = np.hypot(across, down)
        l_alpha = (-across * np.sin(alpha) - down * np.cos(alpha)) / (2.0 * l)
        l_s = -down / l
        pull = K * (l - REST) + C * (l_alpha * alpha_d + l_s * s_d)
        inertia, slope = about_axis(alpha)
        turning = FIRST * G * np.cos(alpha) + momentum**2 * slope / (4.0 * inertia**2) - pull * l_alpha
        return [alpha_d, s_d, turning / ABOUT_HINGE, -G - 2.0 * pull * l_s / SLIDER]

    start = [START, 0.5, 0.0, 0.0]
    return np.asarray(solve_ivp(rates, (0.0, end), start, "Radau", rtol=1e-9, atol=1e-11).y[:, -1])


def simulated(robot: Robot, end: float, h: float = 2e-4) -> Floats:
    """The same four from the robot's simulation."""
    speed = np.array([SPEED, 0.0, 0.0, 0.0])
    found = simulate(robot, np.zeros(4), speed, end, torques=np.zeros(4), h=h, method="rk4")
    (_, s, alpha, _), (_, s_d, alpha_d, _) = found.q[-1], found.qd[-1]
    return np.array([START + alpha, 0.5 + s, alpha_d, s_d])


def governor_rows() -> list[Row]:
    """Slider and rods after 10 s."""
    robot = described("flyball_governor")
    (alpha, s, _, _), seconds = timed(lambda: simulated(robot, END))
    expected = by_hand(END)
    place = "governor"
    return [
        measured(place, "slider at 10 s, m", expected[1], s, 1e-7, seconds),
        measured(place, "rods at 10 s, rad", expected[0], alpha, 1e-7),
    ]
