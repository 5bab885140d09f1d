"""How far and how long a robot goes on when it is stopped: by braking along its path, or with 0 V."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.robots.robot import Robot
from dyn_core.simulation.stepper import Stepper
from dyn_core.trajectory.joint_trajectory import Trajectory

from .braking import Brake, PathSpeed


class Stop(NamedTuple):
    """How a simulated robot came to a stop, m rows, from the moment at which it was told to."""

    t: Floats
    """(m,) s."""
    q: Floats
    """(m, n)."""
    qd: Floats
    """(m, n)."""
    desired: Floats
    """(m, n) positions wanted; NaN at 0 V."""
    cut: bool
    """Whether a limit of a motor cut a command."""

    @property
    def distance(self) -> Floats:
        """(n,) the farthest that every joint went from where it was (rad or m)."""
        return np.asarray(np.abs(self.q - self.q[0]).max(axis=0))

    def duration(self, speed: float) -> float:
        """The time after which no joint is faster than ``speed`` (rad/s or m/s), infinite if there is none."""
        fast = np.flatnonzero(np.abs(self.qd).max(axis=1) > speed)
        if not len(fast):
            return 0.0
        return float(self.t[fast[-1] + 1]) if fast[-1] + 1 < len(self.t) else np.inf


def simulate_stop(
    robot: Robot,
    path: Trajectory,
    s: float,
    brake: Brake | None = None,
    seconds: float = 1.0,
    h: float = 1e-3,
    u: float = 1.0,
) -> Stop:
    """Stop a robot that is on a path at the time s: by braking along it, or with 0 V if there is no brake.

    The command is held for h seconds; u is the path speed at the beginning.
    """
    q0, slope, _ = path.sample(s)
    stepper = Stepper(robot, q0, u * slope, h=h)
    speed, rows = PathSpeed(u), []
    nothing = np.full(robot.n, np.nan)
    cut = False
    for k in range(round(seconds / h) + 1):
        q, qd = stepper.q.copy(), stepper.qd.copy()
        wanted: Any = nothing
        volts: Floats = np.zeros(robot.n)
        if brake is not None:
            desired, command = brake.command(path, s, speed, q, qd)
            wanted, volts = desired[0], robot.actuation.volts(command.code)
            cut = cut or bool(command.saturated.any())
            s += speed.advance(h)
        rows.append((k * h, q, qd, wanted))
        stepper.step(volts)
    t, qs, qds, desireds = zip(*rows, strict=True)
    return Stop(np.array(t), np.array(qs), np.array(qds), np.array(desireds), cut)
