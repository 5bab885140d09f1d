"""The engine of closed chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.constraint_solver import REASON, TIME, LoopState
from dyn_core.dynamics.loops.denoc import LegState
from dyn_core.dynamics.loops.integrators import closed_rows, closed_rows_by_legs
from dyn_core.dynamics.loops.projection import QD
from dyn_core.dynamics.tree.integrators import RUNGE_KUTTA
from dyn_core.errors import SingularityError
from dyn_core.jit.kernel import compiled_call
from dyn_core.jit.status import NOT_FINITE

from ..engine import Engine, Held, Singularity, State
from ..tree_robot import TreeRobot


class LoopMotion(Protocol):
    """What the engine asks of a LoopRobot."""

    name: str
    n: int
    tree: TreeRobot

    def motion(self) -> LoopState: ...

    def rechart(self, record: Floats, loops: LoopState, q: Floats) -> bool: ...

    def in_chart(self, record: Floats, q: Floats) -> Floats: ...

    def weakest_loop(self, q: Floats) -> str: ...


class LoopEngine(Engine):
    """By projection, or legs (the state is that of the active joints), or by multipliers (of all), in machine code."""

    def __init__(self, robot: LoopMotion, motors: Floats, legs: LegState | None = None) -> None:
        self.robot, self.motors = robot, motors
        self.record = robot.tree.model.record.copy()
        self.loops = robot.motion()
        chain = self.record, self.loops
        self._call = (closed_rows, *chain) if legs is None else (closed_rows_by_legs, *chain, legs)
        self._known, self._described_chart = False, True
        self._no_rows = np.empty((0, robot.n)), np.empty((0, 4, robot.n))

    def pushed(self, wrenches: Any) -> Floats:
        return self.robot.tree.model.wrenches(wrenches)

    def advance(self, state: State, drive: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        return self._run(state, (drive[None], 1), pushed, h, 0, steps, method, *self._no_rows)

    def rows(
        self, state: State, held: Held, pushed: Any, h: float, method: str, first: int, rows_q: Floats, rows: Floats
    ) -> int:
        return self._run(state, held, pushed, h, first, len(rows) - 1, method, rows_q, rows) + 1

    def _run(
        self, state: State, held: Held, pushed: Any, h: float, first: int, steps: int, method: str, *rows: Floats
    ) -> int:
        table = RUNGE_KUTTA[method]
        done = -1
        while True:
            past = max(done, 0)
            ahead = (first + past, steps - past, table, *(each[past:] for each in rows))
            more = compiled_call(*self._call, self.motors, *state, *held, pushed, h, *ahead)
            done = past + more if more >= 0 else done
            if done == steps or self.loops.watch[REASON] == NOT_FINITE:
                break
            if not self.robot.rechart(self.record, self.loops, state[0]):
                break
            self._described_chart = False
        self._known = done == steps and self._described_chart
        self.singularity = None
        if done < steps and self.loops.watch[REASON] != NOT_FINITE:
            q = self.robot.in_chart(self.record, self.loops.kept[2])
            t = max(done, 0) * h + float(self.loops.watch[TIME])
            self.singularity = Singularity(t, q, self.robot.weakest_loop(q))
        return done

    def refined(self, state: State, halves: Held, pushed: Any, h: float, method: str) -> tuple[Floats, Floats] | None:
        q, v, vd, tau = (x.copy() for x in state)
        arrays = list(_arrays(self._call[2:]))
        before = [each.copy() for each in arrays]
        ahead = pushed, 0.5 * h, 0, 2, RUNGE_KUTTA[method], *self._no_rows
        done = compiled_call(*self._call, self.motors, q, v, vd, tau, *halves, *ahead)
        for each, old in zip(arrays, before, strict=True):
            each[:] = old
        return (q, v) if done == 2 else None

    def all_joints(self) -> tuple[Floats, Floats] | None:
        speeds = self.loops.qd if self.loops.by_multipliers else self.loops.vectors[QD]
        return (self.loops.q.copy(), speeds.copy()) if self._known else None

    def slope(self, start: Floats, x: Floats, v: Floats, drive: Floats, pushed: Any) -> Floats:
        vd = np.empty(len(v))
        done = self.advance((start + x, v.copy(), vd, np.empty(len(v))), drive, pushed, 1.0, 0, "rk4")
        if done < 0:
            raise SingularityError(f"{self.robot.name}: the loops cannot be closed")
        return np.append(v, vd)


def _arrays(parts: tuple[Any, ...]) -> Iterator[Floats]:
    """All arrays in named tuples, one within the other."""
    for each in parts:
        if isinstance(each, tuple):
            yield from _arrays(each)
        elif isinstance(each, np.ndarray):
            yield each
