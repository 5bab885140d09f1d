"""The N-four-bar mechanism of the IFToMM library: N windows of rods of 1 m and 1 kg, upright, B0 pushed to 1 m/s.

All upright rods turn alike, so that the mechanism moves as one pendulum: with N + 1 rods on the ground and N couplers,

    I = m L^2 ((N + 1) / 3 + N),   phi'' = k sin(phi),   k = m g L ((N + 1) / 2 + N) / I,

phi from upright; it goes round and round, and its motion is an elliptic function. Where the rods lie in line the
mechanism has N + 1 freedoms.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ellipj, ellipk

from dyn_core.arrays import Floats
from dyn_core.mechanism import BASE, REVOLUTE, Frame, Loop, Mechanism
from dyn_core.robots import LoopRobot
from dyn_core.simulation import SimulationResult, simulate

from ..report import Row
from .figures import measured, timed

LENGTH, MASS, GRAVITY, SPEED = 1.0, 1.0, 9.81, 1.0
REFERENCE = np.array([0.32845811, 0.94451854, 1.42305147, -0.49486885])
"""Position (m) and velocity (m/s) of B0 at 10 s, N = 2."""


def four_bars(count: int) -> LoopRobot:
    """The mechanism with so many windows: rods 0 ... count on the ground, the first one active, and couplers."""
    rods, couplers = range(count + 1), range(count)
    n = 2 * count + 1
    upright, across = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), np.eye(3)
    R = np.array([upright] * (count + 1) + [upright.T] * count)  # rods upright and couplers level at zero
    p = np.array([[i * LENGTH, 0.0, 0.0] for i in rods] + [[LENGTH, 0.0, 0.0]] * count)
    names = tuple(f"rod{i}" for i in rods) + tuple(f"coupler{i}" for i in couplers)
    inertia = MASS * LENGTH**2 / 3.0 * np.diag([0.0, 1.0, 1.0])
    end = np.array([LENGTH, 0.0, 0.0])
    loops = tuple(
        Loop(f"B{i + 1}", "planar_revolute", Frame("", count + 1 + i, across, end), Frame("", i + 1, across, end))
        for i in couplers
    )
    frames = (*(Frame(name, j, across, np.zeros(3)) for j, name in enumerate(names)), Frame("tool", 0, across, end))
    return LoopRobot(
        Mechanism(
            name=f"{count}_four_bars",
            description="N-four-bar mechanism",
            joint_names=names,
            body_names=names,
            parent=np.array([BASE] * (count + 1) + list(couplers)),
            joint_type=np.full(n, REVOLUTE),
            R=R,
            p=p,
            M=np.full(n, MASS),
            MS=np.tile(0.5 * MASS * end, (n, 1)),
            J=np.tile(inertia, (n, 1, 1)),
            Ia=np.zeros(n),
            Fv=np.zeros(n),
            Fs=np.zeros(n),
            stiffness=np.full(n, np.inf),
            position_limits=np.tile([-np.inf, np.inf], (n, 1)),
            velocity_limits=np.full(n, np.inf),
            effort_limits=np.full(n, np.inf),
            active=np.arange(n) == 0,
            gravity=np.array([0.0, -GRAVITY, 0.0]),
            frames=frames,
            loops=loops,
            assembly=np.zeros(n),
        )
    )


def pendulum(count: int, t: Floats) -> tuple[Floats, Floats]:
    """Angle of the rods from upright, clockwise, and its rate, (m,) each, at times t (m,)."""
    inertia = MASS * LENGTH**2 * ((count + 1) / 3.0 + count)
    k = MASS * GRAVITY * LENGTH * ((count + 1) / 2.0 + count) / inertia
    lowest = np.sqrt((SPEED / LENGTH) ** 2 + 4.0 * k)  # rad/s, hanging
    m = 4.0 * k / lowest**2
    _, _, dn, amplitude = ellipj(0.5 * lowest * np.asarray(t, float) - ellipk(m), m)
    return 2.0 * amplitude + np.pi, lowest * dn


def tip(angle: Floats, rate: Floats) -> Floats:
    """(..., 4) position and velocity of B0 from the angle of the first rod, clockwise from upright."""
    c, s = np.cos(angle), np.sin(angle)
    return LENGTH * np.stack([s, c, rate * c, -rate * s], axis=-1)


def step_time(count: int, steps: int = 50) -> float:
    """Processor seconds of a step of fourth order by multipliers, upright, kernels being compiled."""
    robot = four_bars(count).using("multipliers")

    def run(length: int) -> float:
        _, seconds = timed(lambda: simulate(robot, [0.0], [-SPEED], length * 1e-3, torques=[0.0], method="rk4"))
        return seconds

    return (run(steps) - run(0)) / steps


def around(robot: LoopRobot, duration: float, h: float = 5e-4) -> SimulationResult:
    """The motion, through where the rods lie in line."""
    return simulate(robot, [0.0], [-SPEED], duration, torques=[0.0], h=h, method="rk4", through_singularities=True)


def four_bar_rows() -> list[Row]:
    """N = 2 over 10 s, in which it passes the singularity many times; cost of N = 10, 20, 40."""
    robot = four_bars(2)
    motion, seconds = timed(lambda: around(robot, 10.0))
    final = tip(-motion.q[-1, 0], -motion.qd[-1, 0])
    place = "N four-bars"
    costs = {count: step_time(count) for count in (10, 20, 40)}
    return [
        measured(place, "N = 2, B0 x at 10 s, m", REFERENCE[0], float(final[0]), 1e-6, seconds),
        measured(place, "its velocity x, m/s", REFERENCE[2], float(final[2]), 1e-6),
        *(
            Row(
                place, f"a step, N = {count}", "", f"{cost / costs[10]:.2g} of N = 10", "shown", time=milliseconds(cost)
            )
            for count, cost in costs.items()
        ),
    ]


def milliseconds(seconds: float) -> str:
    """In three characters and the unit."""
    return f"{1e3 * seconds:.2g} ms"
