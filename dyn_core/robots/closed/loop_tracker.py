"""The tracker of closed chains."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import ClosureError, SingularityError

from ..configuration import Configuration
from ..tracker import Tracker

SMALL = 1e-6  # rad or m: a move of the active joints that tells a rate


class LoopTracker(Tracker):
    """Holds the last closed configuration."""

    robot: Any

    def __init__(self, robot: Any, near: Configuration | None = None) -> None:
        super().__init__(robot)
        self.start(near)

    def start(self, near: Configuration | None = None) -> None:
        self._own = self.robot if near is None else self.robot.starting_at(near)
        self._last = self._own.own_start()
        self._inverse = self._own.following_inverse(self._last)

    def move_to(self, q: Any) -> Configuration:
        (q_a,) = self.robot.single_state({"q": q})
        found: Configuration = self._own.follow(q_a, self._last)
        return found

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        tau: Floats | None = self._inverse(q, qd, qdd) if wrenches is None else None
        if tau is not None:
            return tau
        answer: Floats = self._own.inverse_dynamics(q, qd, qdd, wrenches, near=self.move_to(q))
        return answer

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None) -> Floats:
        qdd: Floats = self._own.forward_dynamics(q, qd, tau, wrenches, near=self.move_to(q))
        return qdd

    def driven_forces(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        if self.robot.driven.all():
            return self.inverse_dynamics(q, qd, qdd)
        forces: Floats = self._own.driven_forces(q, qd, qdd, near=self.move_to(q))
        return forces

    def friction_change(self, q: Floats, qd: Floats, other: Floats) -> Floats:
        change: Floats = self._own.friction_change(q, qd, other, near=self.move_to(q))
        return change

    def all_joints(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        at = self.move_to(q)
        joints: tuple[Floats, Floats] = self._own.joints_at(at, qd)
        return joints

    def last(self) -> Floats:
        positions: Floats = self._own.positions_of(self._last)
        return positions

    def approach(self, q: Floats, qd: Floats) -> tuple[float, float] | None:
        here: float = self._own.distance_at(self.move_to(q))
        speed = np.abs(qd).max()
        if speed == 0.0:
            return here, 0.0
        time = SMALL / speed
        try:
            there: float = self._own.distance_at(self.move_to(q + time * qd))
        except (SingularityError, ClosureError):
            return here, -np.inf
        self.move_to(q)
        return here, (there - here) / time
