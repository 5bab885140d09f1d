"""A benchmark's figure beside its reference: with the error, and the time that the computation took."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from dyn_core import Robot, load_robot
from dyn_core.arrays import Floats
from dyn_core.robots import LoopRobot
from dyn_core.simulation import Stepper

from ..report import Row, agrees

Answer = TypeVar("Answer")


def described(name: str) -> Robot:
    """The robot of a file beside this one."""
    return load_robot(Path(__file__).with_name(f"{name}.yaml"))


def timed(call: Callable[[], Answer]) -> tuple[Answer, float]:
    """What a computation gives, and the processor seconds that it took the second time, its kernels being compiled."""
    call()
    start = time.thread_time()
    answer = call()
    return answer, time.thread_time() - start


def measured(
    place: str, what: str, reference: float, ours: float, allowed: float, seconds: float | None = None, why: str = ""
) -> Row:
    """A number beside its reference; it agrees within `allowed`, in its own unit."""
    error = abs(ours - reference)
    return Row(
        place, what, f"{reference:.9g}", f"{ours:.9g}", agrees(error <= allowed), why, f"{error:.1e}", _time(seconds)
    )


def largest(place: str, what: str, error: float, allowed: float, seconds: float | None = None) -> Row:
    """The largest of many errors."""
    return Row(place, what, "", "", agrees(error <= allowed), "", f"{error:.1e}", _time(seconds))


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds:.2g} s" if seconds >= 0.1 else f"{1e3 * seconds:.2g} ms"


class Motion(NamedTuple):
    """All joints of a mechanism along a motion that it makes by itself."""

    robot: LoopRobot
    t: Floats
    """(m,) s."""
    q: Floats
    """(m, n)."""
    qd: Floats
    """(m, n)."""

    @property
    def energy(self) -> Floats:
        """(m,) J, kinetic and of the weights."""
        m, tree = self.robot.mechanism, self.robot.tree
        out = 0.5 * np.einsum("mi,mij,mj->m", self.qd, tree.mass_matrix(self.q), self.qd)
        poses = tree.link_poses(self.q)
        for j in range(m.n):
            frame = m.frames[j]
            body = frame.R.T @ (m.MS[j] - m.M[j] * frame.p)
            out -= (m.M[j] * poses[:, j, :3, 3] + poses[:, j, :3, :3] @ body) @ m.gravity
        return np.asarray(out)

    @property
    def drift(self) -> float:
        """J, the largest change of the energy since the start."""
        return float(np.abs(self.energy - self.energy[0]).max())


def moved(robot: Robot, qd0: Sequence[float], duration: float, h: float, rows: int, method: str = "rk4") -> Motion:
    """The motion of closed chains from the described start, in so many rows and steps of h (s)."""
    assert isinstance(robot, LoopRobot)
    stepper = Stepper(robot, robot.neutral(), qd0, h, method)
    found = [stepper.all_joints()]
    steps = round(duration / h)
    for k in range(1, rows):
        stepper.step(np.zeros(robot.n), k * steps // (rows - 1) - (k - 1) * steps // (rows - 1))
        found.append(stepper.all_joints())
    q, qd = (np.array([row[i] for row in found]) for i in range(2))
    return Motion(robot, np.linspace(0.0, duration, rows), q, qd)
