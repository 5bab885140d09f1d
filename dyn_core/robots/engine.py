"""What integrates the motion of a robot, and the engine of trees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree.integrators import FIXED_STEP, GENERAL, WORK, Integrator, tree_slope
from dyn_core.dynamics.tree.model import TreeModel
from dyn_core.dynamics.tree.record import FV, IA
from dyn_core.jit.kernel import compiled_call
from dyn_core.jit.native_call import never

State = tuple[Floats, Floats, Floats, Floats]
"""q (nq,), v, vd and tau (nv,), which an engine moves on in place."""
Held = tuple[Floats, int]
"""Rows of the drive, and for how many steps each is held; 0: there are two per step, at its start and middle, and one
more at the end of the last."""


@dataclass(frozen=True)
class Singularity:
    """Where closed chains came to a configuration in which the active joints do not determine the passive ones."""

    t: float
    """s."""
    q: Floats
    """(n of the tree,) positions of all joints, just before."""
    loop: str


class Engine(ABC):
    """Integrates a robot's motion: the drive is the motors' volts, or joint forces where there are none."""

    singularity: Singularity | None = None
    """What ended the last motion, if it was that; t counts from its start."""
    at_once = 1000
    """Rows to compute without asking whether to go on."""

    @abstractmethod
    def pushed(self, wrenches: Any) -> Any:
        """Wrenches on the links as the other methods take them."""

    @abstractmethod
    def advance(self, state: State, drive: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        """Move the state on by steps of h (s) with the drive held; returns how many succeeded."""

    @abstractmethod
    def rows(
        self, state: State, held: Held, pushed: Any, h: float, method: str, first: int, rows_q: Floats, rows: Floats
    ) -> int:
        """Fill rows of a result, the first with the state as it stands after `first` steps; returns how many."""

    def all_joints(self) -> tuple[Floats, Floats] | None:
        """Positions and speeds of all joints where the last motion ended; None if they are not known."""
        return None

    @abstractmethod
    def slope(self, start: Floats, x: Floats, v: Floats, drive: Floats, pushed: Any) -> Floats:
        """(2 nv,) rates of the displacement x from start and of the velocity v."""

    def refined(self, state: State, halves: Held, pushed: Any, h: float, method: str) -> tuple[Floats, Floats] | None:
        """q and v after a step of h, more exactly: by two of half its size, for which the drive is given.

        The state and the engine stay as they are. None where that fails.
        """
        q, v, vd, tau = (x.copy() for x in state)
        before, rows = self.singularity, (np.empty((3, len(q))), np.empty((3, 4, len(v))))
        filled = self.rows((q, v, vd, tau), halves, pushed, 0.5 * h, method, 0, *rows)
        self.singularity = before
        return (q, v) if filled == 3 else None

    def native_calls(self, state: State, drive: Floats, h: float, method: str) -> tuple[Any, Any]:
        """Two native calls f(drive): a step of the state's q and v (and drive), and vd and tau, which it leaves behind.

        The answer is None where it fails; where there is no such call, always.
        """
        return never, never


class TreeEngine(Engine):
    """By the compiled kernels of a tree. motors: as packed by Actuation, (0, 10) for joint forces."""

    def __init__(self, model: TreeModel, nq: int, motors: Floats, method: str, h: float) -> None:
        self.model, self.motors = model, motors
        self.record = model.record.copy()
        bodies = self.record[1 : model.mechanism.n + 1]
        if method == "euler":
            bodies[:, IA] += h * bodies[:, FV]
        self._own = model.integrator(bodies[:, IA]) if method in FIXED_STEP else GENERAL
        self._work = np.zeros((WORK, nq))

    def pushed(self, wrenches: Any) -> Floats:
        return self.model.wrenches(wrenches)

    def advance(self, state: State, drive: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        call, table = self._integrator(pushed).steps, FIXED_STEP[method]
        held = drive[None]
        return int(compiled_call(call, self.record, self.motors, *state, held, pushed, h, steps, table, self._work))

    def rows(
        self, state: State, held: Held, pushed: Any, h: float, method: str, first: int, rows_q: Floats, rows: Floats
    ) -> int:
        call, table = self._integrator(pushed).rows, FIXED_STEP[method]
        return int(
            compiled_call(
                call, self.record, self.motors, *state, *held, pushed, h, table, self._work, first, rows_q, rows
            )
        )

    def refined(self, state: State, halves: Held, pushed: Any, h: float, method: str) -> tuple[Floats, Floats] | None:
        if method != "euler":
            return super().refined(state, halves, pushed, h, method)
        exact = TreeEngine(self.model, len(state[0]), self.motors, "rk3", h)
        return exact.refined(state, halves, pushed, h, "rk3")

    def slope(self, start: Floats, x: Floats, v: Floats, drive: Floats, pushed: Any) -> Floats:
        xd, rate = out = np.empty((2, len(v)))
        compiled_call(tree_slope, self.record, self.motors, start, x, v, drive, pushed, self._work, xd, rate)
        return out.ravel()

    def native_calls(self, state: State, drive: Floats, h: float, method: str) -> tuple[Any, Any]:
        n = self.model.mechanism.n
        if len(state[0]) != n:  # a floating base
            return never, never
        further = drive, self._work, FIXED_STEP[method], np.array([h])
        return (
            self._own.step.bind(self.record, (n,), (), self.motors, *state, *further),
            self._own.evaluate.bind(self.record, (n,), (), self.motors, *state),
        )

    def _integrator(self, pushed: Floats) -> Integrator:
        """The model's own; with wrenches, which only the general kernels know, theirs."""
        return GENERAL if len(pushed) else self._own
