"""The engine that integrates a robot's motion: its own, or one through its `forward_dynamics`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree import integrators
from dyn_core.dynamics.tree.integrators import DRIVE, QD, QDD, RUNGE_KUTTA, TAU, both_rates, move
from dyn_core.errors import ClosureError, InputError, SingularityError
from dyn_core.jit.cache import cache_folder
from dyn_core.jit.kernel import compiled_call
from dyn_core.robots.engine import Engine, Held, Singularity, State
from dyn_core.robots.robot import Robot
from dyn_core.robots.tracker import Tracker

from .singularity_watch import Motion, watched


class GeneralEngine(Engine):
    """Through a robot's own `forward_dynamics`, for robots that bring no engine."""

    at_once = 100

    def __init__(self, robot: Robot, motors: Floats) -> None:
        self.robot, self.driven_by_motors = robot, len(motors) > 0
        self._tracker = robot.tracker()
        self._at: Motion | None = None

    def pushed(self, wrenches: Any) -> Any:
        return wrenches

    def acceleration(self, q: Floats, v: Floats, drive: Floats, pushed: Any) -> tuple[Floats, Floats]:
        """Forces (nv,) and accelerations (nv,)."""
        tau = np.zeros(len(v))
        speeds = v[-len(drive) :]
        tau[-len(drive) :] = self.robot.actuation.torques(drive, speeds)[0] if self.driven_by_motors else drive
        return tau, self._tracker.forward_dynamics(q, v, tau, pushed)

    def advance(self, state: State, drive: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        return self._advance(state, drive[None], pushed, h, steps, method)

    def _advance(self, state: State, drives: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        """drives (1, n) held, or (3, n) at the start, the middle and the end of one step."""
        q, v, vd, tau = state
        self.singularity = None
        try:
            start = self.acceleration(q, v, drives[0], pushed)  # bad arguments show here, before anything moves
        except (SingularityError, ClosureError):
            self.singularity = singularity_at(self.robot, self._tracker, q, 0.0)
            return -1

        def take(at: Motion, begin: float, end: float) -> Motion:
            now = _part_of(drives, begin, end)
            slope = start[1] if begin == 0.0 else self.acceleration(*at, now[0], pushed)[1]
            return self._step(*at, slope, now, pushed, h * (end - begin), RUNGE_KUTTA[method])

        for done in range(steps):
            try:
                with np.errstate(all="ignore"):
                    end, passed = watched(take, self._tracker, (q, v), h)
                    if passed == 1.0:
                        start = self.acceleration(*end, drives[-1], pushed)
            except InputError:
                steps = done
                break
            if passed < 1.0:
                self.singularity = singularity_at(self.robot, self._tracker, end[0], (done + passed) * h)
                steps = done
                break
            q[:], v[:] = end
        tau[:], vd[:] = start
        self._at = q.copy(), v.copy()
        return steps

    def all_joints(self) -> tuple[Floats, Floats] | None:
        return None if self._at is None else self._tracker.all_joints(*self._at)

    def rows(
        self, state: State, held: Held, pushed: Any, h: float, method: str, first: int, rows_q: Floats, rows: Floats
    ) -> int:
        drives, hold = held
        q, v, vd, tau = state
        for k in range(len(rows)):
            if hold == 0:
                held_now = drives[2 * (first + k - 1) : 2 * (first + k) + 1] if k else drives[2 * first : 2 * first + 1]
            else:
                held_now = drives[min(max(first + k - 1, 0) // hold, len(drives) - 1)][None]
            if self._advance(state, held_now, pushed, h, min(k, 1), method) < min(k, 1):
                if self.singularity is not None:
                    self.singularity = replace(self.singularity, t=max(k - 1, 0) * h + self.singularity.t)
                return k
            rows_q[k], rows[k, QD], rows[k, QDD], rows[k, TAU] = q, v, vd, tau
            rows[k, DRIVE, -drives.shape[1] :] = held_now[-1]
        return len(rows)

    def _step(
        self, q: Floats, v: Floats, vd: Floats, drives: Floats, pushed: Any, h: float, table: Floats
    ) -> tuple[Floats, Floats]:
        stages = table.shape[1]
        slopes = np.empty((stages, 2 * len(v)))
        x, u, configuration = np.zeros(len(v)), v, q
        for i in range(stages):
            if i > 0:
                now = drives[min(round(2.0 * table[i].sum()), len(drives) - 1)]
                _, vd = self.acceleration(configuration, u, now, pushed)
            slopes[i] = _both_rates(configuration, x, u, vd)
            change = h * table[i + 1, : i + 1] @ slopes[: i + 1]
            x, u = change[: len(v)], v + change[len(v) :]
            configuration = moved(q, x)
        return configuration, u

    def slope(self, start: Floats, x: Floats, v: Floats, drive: Floats, pushed: Any) -> Floats:
        q = moved(start, x)
        return _both_rates(q, x, v, self.acceleration(q, v, drive, pushed)[1])


def engine_of(robot: Robot, motors: Floats, method: str, h: float) -> Engine:
    """What integrates a robot's motion; motors: as packed by Actuation, (0, 10) for joint forces."""
    own = robot.engine(motors, method, h)
    if own is not None:
        return own
    if method == "euler":
        raise InputError(f"{robot.name} is not a tree of independent joints, which 'euler' is for; use rk3 or rk4")
    return GeneralEngine(robot, motors)


def kernels_compiled() -> bool:
    """Whether machine code of the integrators is kept; without it a first start compiles for a minute or two."""
    return cache_folder(Path(integrators.__file__)).exists()


def singularity_at(robot: Robot, tracker: Tracker, q: Floats, t: float) -> Singularity | None:
    """That a motion of closed chains ended at t (s) and q (nq,), or where a tracker stands that cannot go there."""
    try:
        at = tracker.move_to(q).q
    except (SingularityError, ClosureError):
        at = tracker.last()
    loop = robot.weakest_loop(at)
    return Singularity(t, at, loop) if loop else None


def _part_of(drives: Floats, begin: float, end: float) -> Floats:
    """Drives (1, n) held, or (3, n) at the start, the middle and the end of a step, of a part of that step."""
    if len(drives) == 1 or (begin, end) == (0.0, 1.0):
        return drives
    first, middle, last = drives
    t = np.array([[begin], [0.5 * (begin + end)], [end]])
    return np.asarray(first + t * (4.0 * middle - 3.0 * first - last) + 2.0 * t * t * (first - 2.0 * middle + last))


def moved(q: Floats, x: Floats) -> Floats:
    """(nq,) the displacement x (nv,) away from q (nq,)."""
    out = np.empty(len(q))
    compiled_call(move, q, x, out)
    return out


def _both_rates(q: Floats, x: Floats, v: Floats, vd: Floats) -> Floats:
    out = np.empty(2 * len(v))
    compiled_call(both_rates, q, x, v, vd, out[: len(v)], out[len(v) :])
    return out
