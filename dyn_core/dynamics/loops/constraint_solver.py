"""Accelerations of all joints by multipliers of the independent constraints, and the way back onto the constraints.

A qdd + H = Gamma + J^T lambda,   J qdd + bias = -2 alpha J qd - alpha^2 phi      (Baumgarte)
q -= A^-1 J^T (J A^-1 J^T)^-1 phi,   qd -= A^-1 J^T (J A^-1 J^T)^-1 J qd
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import kernel
from dyn_core.jit.status import NOT_FINITE, OK, OPEN, SINGULAR

from ..linear_solvers import backwards, forwards, pivoted_cholesky, skyline_cholesky, sparse_forwards
from ..tree.crba import composite_bodies
from ..tree.kinematics import body_poses
from ..tree.record import start_fixed
from ..tree.rnea import newton_euler
from .closure import (
    CHOSEN,
    CLOSED,
    PIVOT,
    SMALLEST_DISTANCE,
    TOLERANCE,
    Branch,
    Closure,
    choose,
    distance,
    factor,
    largest_of,
    redundant,
)
from .constraints import constraint_bias, constraint_jacobian, constraint_values, velocity_pass
from .projection import TAU

ALPHA = 10.0  # 1/s, of the stabilisation; the integrator's order asks for one that does not grow as the step shrinks
INDEPENDENT = 1e-11  # a constraint's pivot in J A^-1 J^T, over the largest, below which it follows from the others
DISTANCE, RATE, TIME, REASON = range(4)  # of `watch`


class LoopState(NamedTuple):
    """What kernels need of a closed chain, and where it is."""

    closure: Closure
    rows: Floats
    """(m, ROW_WIDTH) constraints that multipliers hold: the closure's independent ones; all on the way through
    singularities, where what is independent of the passive joints' rates is not all."""
    by_multipliers: bool
    through: bool
    """By multipliers: whether a motion goes on through singularities."""
    weight: float
    """w of `multipliers.weight`, where links have no mass."""
    q: Floats
    """(n,) the closed configuration last found: that of `closure`."""
    qd: Floats
    """(n,) by multipliers: speeds there."""
    qdd: Floats
    """(n,)."""
    kept: Floats
    """(6, n) q and qd at the start of a step and of a part of it, and all joints' q there; [2] is where a motion ended.
    """
    stages: Floats
    """(11, n) scratch of the integrator."""
    trial: Floats
    """(n,)."""
    vectors: Floats
    A: Floats
    A_c: Floats
    envelope: Floats
    """(n,) where each row of A begins."""
    forces: Floats
    """(n,)."""
    phi: Floats
    bias: Floats
    J: Floats
    Y: Floats
    """(n, m) L^-1 J^T, A = L L^T."""
    S: Floats
    """(m, m) Y^T Y."""
    order: Floats
    reaction: Floats
    watch: Floats
    """(4,) how far from singular J_p is, its rate, and when within a step and why the motion ended."""


def loop_state(
    closure: Closure, start: Branch, by_multipliers: bool, weight: float = 0.0, through: bool = False
) -> LoopState:
    """A LoopState around a Closure of its own, which it lets stand at start."""
    for name, value in start._asdict().items():
        getattr(closure, name)[:] = value
    rows = closure.all_rows if through else closure.rows
    n, m, a = len(start.q), len(rows), len(closure.active)
    return LoopState(
        closure, rows, by_multipliers, through, weight, closure.q, np.full(n, np.nan), np.zeros(n), np.zeros((6, n)),
        np.zeros((11, n)), np.zeros(n), np.zeros((5, n)), np.zeros((n, n)), np.zeros((a, a)), np.zeros(n), np.zeros(n),
        np.zeros(m), np.zeros(m), np.zeros((m, n)), np.zeros((n, m)), np.zeros((m, m)), np.zeros(m), np.zeros(m),
        np.array([0.0, np.nan, 0.0, 0.0]),
    )  # fmt: skip


@kernel
def factor_constraints(record, loops, q):
    """J at the poses that the record holds, A = L L^T at q, Y = L^-1 J^T, and S = Y^T Y as pivoted Cholesky factors."""
    constraint_jacobian(record, loops.rows, loops.J)
    status = composite_bodies(record, q, loops.A)
    if loops.weight > 0.0:
        for r in range(loops.J.shape[0]):
            for i in range(q.shape[0]):
                for j in range(q.shape[0]):
                    loops.A[i, j] += loops.weight * loops.J[r, i] * loops.J[r, j]
    status = max(status, skyline_cholesky(loops.A, loops.envelope))
    if status != OK:
        return status
    m, n = loops.J.shape
    for k in range(m):
        for j in range(n):
            loops.Y[j, k] = loops.J[k, j]
        sparse_forwards(loops.A, loops.envelope, loops.Y[:, k])
    loops.S[:] = 0.0
    for j in range(n):
        for i in range(m):
            y = loops.Y[j, i]
            if y != 0.0:
                for k in range(m):
                    loops.S[i, k] += y * loops.Y[j, k]
    pivoted_cholesky(loops.S, loops.order, INDEPENDENT)
    return OK


@kernel
def answer(loops, x, out):
    """out (n,) = A^-1 J^T (J A^-1 J^T)^-1 x for x (m,), which is used up; lambda is loops.reaction."""
    S, order, y = loops.S, loops.order, loops.reaction
    m = x.shape[0]
    rank = 0
    while rank < m and S[rank, rank] > 0.0:
        rank += 1
    for i in range(rank):
        y[i] = x[int(order[i])]
    forwards(S[:rank, :rank], y[:rank])
    backwards(S[:rank, :rank], y[:rank])
    for i in range(m):
        x[int(order[i])] = y[i] if i < rank else 0.0
    y[:] = x
    for j in range(out.shape[0]):
        out[j] = 0.0
        for i in range(m):
            out[j] += loops.Y[j, i] * y[i]
    backwards(loops.A, out)


@kernel
def constrained(record, loops, q, v, tau_a, wrenches, vd):
    """vd (n,) of all joints by multipliers."""
    velocity_pass(record, q, v)
    constraint_values(record, loops.rows, loops.phi)
    constraint_bias(record, loops.rows, loops.bias)
    status = factor_constraints(record, loops, q)
    if status != OK:
        return status
    H, x = loops.vectors[TAU], loops.forces
    vd[:] = 0.0
    start_fixed(record, 1.0)
    status = newton_euler(record, q, v, vd, wrenches, H)
    for j in range(v.shape[0]):
        x[j] = -H[j]
    for c in range(tau_a.shape[0]):
        x[int(loops.closure.active[c])] += tau_a[c]
    forwards(loops.A, x)
    backwards(loops.A, x)  # A^-1 (Gamma - H)
    for i in range(loops.bias.shape[0]):
        speed, free = 0.0, 0.0
        for j in range(v.shape[0]):
            speed += loops.J[i, j] * v[j]
            free += loops.J[i, j] * x[j]
        loops.bias[i] = -loops.bias[i] - ALPHA * (2.0 * speed + ALPHA * loops.phi[i]) - free
    answer(loops, loops.bias, vd)
    for j in range(v.shape[0]):
        vd[j] += x[j]
    return status


@kernel
def back_on_constraints(record, loops, q, v):
    """Bring q and v (n,) back onto the constraints; OPEN where not all are met then, SINGULAR past a singularity."""
    status = OPEN
    for _ in range(8):
        body_poses(record, q)
        constraint_values(record, loops.rows, loops.phi)
        error = largest_of(loops.phi)
        if factor_constraints(record, loops, q) != OK:
            return SINGULAR
        if not error > TOLERANCE:
            status = OK
            break
        answer(loops, loops.phi, loops.trial)
        for j in range(q.shape[0]):
            q[j] -= loops.trial[j]
        if error < CLOSED:
            status = OK
    for i in range(loops.bias.shape[0]):
        loops.bias[i] = 0.0
        for j in range(v.shape[0]):
            loops.bias[i] += loops.J[i, j] * v[j]
    answer(loops, loops.bias, loops.trial)
    nothing = 0.0
    for j in range(v.shape[0]):
        v[j] -= loops.trial[j]
        nothing += 0.0 * v[j] + 0.0 * q[j]
    if nothing != 0.0:
        return NOT_FINITE
    if loops.through:
        return status
    constraint_values(record, loops.closure.all_rows, loops.closure.phi)
    if status == OK and largest_of(loops.closure.phi) > CLOSED:
        return OPEN
    return status if factor(record, loops.closure) > 0.0 else SINGULAR


@kernel
def watch_distance(record, loops, length):
    """How far from singular J_p is at the factors that the closure holds, and its rate over a step of that length.

    Independent constraints are chosen anew where those in use became weak. The record holds the poses.
    """
    c, watch = loops.closure, loops.watch
    found = distance(record, c)
    if length > 0.0:
        watch[RATE] = (found - watch[DISTANCE]) / length
    if redundant(c) and c.numbers[PIVOT] < 0.5 * c.numbers[CHOSEN]:
        choose(record, c)
        found = distance(record, c)
    watch[DISTANCE] = found
    return OK if found > SMALLEST_DISTANCE else SINGULAR


@kernel
def foresee_distance(record, loops, qd):
    """The rate of the distance at loops.q with speeds qd (n,) of all joints, by a small move; poses are then others."""
    c = loops.closure
    speed = largest_of(qd)
    if speed == 0.0:
        loops.watch[RATE] = 0.0
        return
    time = 1e-6 / speed
    for j in range(qd.shape[0]):
        loops.trial[j] = c.q[j] + time * qd[j]
    body_poses(record, loops.trial)
    sign = factor(record, c)
    found = distance(record, c)
    loops.watch[RATE] = ((found if sign > 0.0 else -found) - loops.watch[DISTANCE]) / time
