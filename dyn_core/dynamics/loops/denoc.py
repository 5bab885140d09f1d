"""The decoupled natural orthogonal complement of one mechanism; equation numbers are Saha and Schiehlen's."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import compiled_call, entry, kernel
from dyn_core.jit.status import OK
from dyn_core.mechanism import Mechanism

from ..linear_solvers import cholesky_solve
from ..workspaces import Workspaces
from .denoc_inertia import inertia_matrix
from .denoc_kernels import (
    ACC,
    RATE,
    WORK_WIDTH,
    Workspace,
    accelerations,
    inverse_steps,
    prepare,
    velocities,
)
from .denoc_legs import JOINT, find_legs


@entry
def inverse(record, steps, starts, end, q, qd, qdd, wrenches, ws, tau):
    """Forces tau (a,) of the active joints at the closed configuration q (n,), for their rates and accelerations."""
    status = prepare(record, steps, starts, end, q, ws)
    if status == OK:
        velocities(steps, starts, qd, ws)
        accelerations(record, steps, starts, end, q, qdd, wrenches, ws)
        inverse_steps(steps, starts, ws, tau)
    return status


class LegState(NamedTuple):
    """What kernels need of the legs, and their scratch memory."""

    steps: Floats
    starts: Floats
    end: float
    """Record row of the end effector."""
    ws: Workspace


@kernel
def direct_at(record, steps, starts, end, q, qd, tau, wrenches, ws, I, qdd):
    """Accelerations qdd (a,) under forces tau (a,): I θ'' = τ less what `inverse` gives at θ'' = 0 (25)."""
    status = prepare(record, steps, starts, end, q, ws)
    if status != OK:
        return status
    velocities(steps, starts, qd, ws)
    for k in range(qdd.shape[0]):
        qdd[k] = 0.0
    accelerations(record, steps, starts, end, q, qdd, wrenches, ws)
    inverse_steps(steps, starts, ws, qdd)
    for k in range(qdd.shape[0]):
        qdd[k] = tau[k] - qdd[k]
    inertia_matrix(record, steps, starts, ws, I)
    return cholesky_solve(I, qdd)


@entry
def direct(record, steps, starts, end, q, qd, tau, wrenches, ws, I, qdd):
    """`direct_at`, from Python."""
    return direct_at(record, steps, starts, end, q, qd, tau, wrenches, ws, I, qdd)


@entry
def inertia(record, steps, starts, end, q, ws, I):
    """The generalised inertia matrix I (a, a)."""
    status = prepare(record, steps, starts, end, q, ws)
    if status == OK:
        inertia_matrix(record, steps, starts, ws, I)
    return status


@entry
def rates(record, steps, starts, end, q, qd, qdd, wrenches, ws):
    """Rates, accelerations, twists and wrenches of all steps, left in ws."""
    status = prepare(record, steps, starts, end, q, ws)
    if status == OK:
        velocities(steps, starts, qd, ws)
        accelerations(record, steps, starts, end, q, qdd, wrenches, ws)
    return status


class Denoc:
    """The formulation for one mechanism; q is always the closed configuration (n,) of all joints of the tree."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.legs = find_legs(mechanism)
        self.n, self.a = mechanism.n, int(mechanism.active.sum())
        self.workspaces = Workspaces(partial(denoc_workspace, len(self.legs.steps), len(self.legs.starts) - 1, self.a))
        self._fixed = (self.legs.steps, self.legs.starts, float(self.legs.end_effector + 1))

    def state(self) -> LegState:
        """The legs with scratch memory of their own."""
        return LegState(*self._fixed, self.workspaces.new())

    def inverse(self, record: Floats, q: Floats, qd: Floats, qdd: Floats, wrenches: Floats, tau: Floats) -> int:
        """tau (a,); returns a status."""
        with self.workspaces.one() as ws:
            return int(compiled_call(inverse, record, *self._fixed, q, qd, qdd, wrenches, ws, tau))

    def direct(self, record: Floats, q: Floats, qd: Floats, tau: Floats, wrenches: Floats, qdd: Floats) -> int:
        """qdd (a,); returns a status."""
        I = np.empty((self.a, self.a))
        with self.workspaces.one() as ws:
            return int(compiled_call(direct, record, *self._fixed, q, qd, tau, wrenches, ws, I, qdd))

    def inertia(self, record: Floats, q: Floats, I: Floats) -> int:
        """I (a, a); returns a status."""
        with self.workspaces.one() as ws:
            return int(compiled_call(inertia, record, *self._fixed, q, ws, I))

    def joint_motion(self, record: Floats, q: Floats, qd: Floats, qdd: Floats) -> tuple[int, Floats, Floats]:
        """Status, speeds (n,) and accelerations (n,) of all joints of the tree."""
        with self.workspaces.one() as ws:
            return self._joint_motion(record, q, qd, qdd, ws)

    def _joint_motion(
        self, record: Floats, q: Floats, qd: Floats, qdd: Floats, ws: Workspace
    ) -> tuple[int, Floats, Floats]:
        status = int(compiled_call(rates, record, *self._fixed, q, qd, qdd, np.empty((0, 6)), ws))
        joints = self.legs.steps[:, JOINT].astype(int)
        speeds, rates_of_speeds = np.empty(self.n), np.empty(self.n)
        speeds[joints[joints >= 0]] = ws.steps[joints >= 0, RATE]
        rates_of_speeds[joints[joints >= 0]] = ws.steps[joints >= 0, ACC]
        return status, speeds, rates_of_speeds


def denoc_workspace(steps: int, legs: int, active: int) -> Workspace:
    """A Workspace for a mechanism with this many steps, legs and active joints."""
    return Workspace(
        np.zeros((steps, WORK_WIDTH)), np.zeros((legs, 6, 6)), np.zeros((7, 6)), np.zeros((active, 6)),
        np.zeros((5, 6)), np.zeros((12, 6)), np.zeros((2 * active, 6)), np.zeros((6, 6)), np.zeros((active, 6)),
    )  # fmt: skip
