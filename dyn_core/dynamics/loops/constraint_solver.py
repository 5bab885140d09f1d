"""Accelerations of all joints by multipliers, and the way back onto the constraints.

A qdd + H = Gamma + J^T lambda,   J qdd + bias = -2 alpha J qd - alpha^2 phi      (Baumgarte)
q -= A^-1 J^T (J A^-1 J^T)^-1 phi,   qd -= A^-1 J^T (J A^-1 J^T)^-1 J qd
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import kernel
from dyn_core.jit.status import NOT_FINITE, OK, OPEN, SINGULAR

from ..linear_solvers import backwards, cholesky, determinant, forwards, lu_factor, pivoted_cholesky
from ..tree.crba import composite_bodies
from ..tree.kinematics import body_poses
from ..tree.record import start_fixed
from ..tree.rnea import newton_euler
from .closure import CLOSED, TOLERANCE, largest_of, passive_jacobian
from .constraints import MODE, constraint_bias, constraint_jacobian, constraint_values, velocity_pass
from .projection import TAU

ALPHA = 10.0  # 1/s, of the stabilisation; the integrator's order asks for one that does not grow as the step shrinks
INDEPENDENT = 1e-11  # a constraint's pivot in J A^-1 J^T, over the largest, below which it follows from the others
DETERMINANT, RATE, TIME, REASON = range(4)  # of `watch`


class LoopState(NamedTuple):
    """What kernels need of a closed chain, and where it is."""

    rows: Floats
    """(p, ROW_WIDTH) constraints that determine the passive joints."""
    all_rows: Floats
    """(m, ROW_WIDTH)."""
    active: Floats
    passive: Floats
    by_multipliers: bool
    through: bool
    """By multipliers: whether a motion goes on through singularities."""
    weight: float
    """w of `multipliers.weight`, where links have no mass."""
    q: Floats
    """(n,) the closed configuration last found."""
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
    G: Floats
    work: Floats
    A: Floats
    A_c: Floats
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
    """(4,) det J_p (positive in the assembly mode), its rate, and when within a step and why the motion ended."""


def loop_state(
    rows: Floats,
    all_rows: Floats,
    active: Floats,
    passive: Floats,
    by_multipliers: bool,
    start: Floats,
    weight: float = 0.0,
    through: bool = False,
) -> LoopState:
    """A LoopState with arrays of its own, at the closed configuration start (n,)."""
    n, m, a, p = len(start), len(all_rows), len(active), len(passive)
    return LoopState(
        rows, all_rows, active, passive, by_multipliers, through, weight, start.copy(), np.full(n, np.nan), np.zeros(n),
        np.zeros((6, n)), np.zeros((11, n)), np.zeros(n), np.zeros((6, n)), np.zeros((n, a)),
        np.zeros((4 + 2 * p, max(n, p))), np.zeros((n, n)), np.zeros((a, a)), np.zeros(n), np.zeros(m), np.zeros(m),
        np.zeros((m, n)), np.zeros((n, m)),
        np.zeros((m, m)), np.zeros(m), np.zeros(m), np.zeros(4),
    )  # fmt: skip


@kernel
def note_determinant(loops):
    """Keep det J_p from its factors in work, which must exist."""
    p = loops.passive.shape[0]
    det = 1.0
    if p > 0:
        det = loops.rows[0, MODE] * determinant(loops.work[4 : 4 + p, :p], loops.work[2, :p])
    loops.watch[DETERMINANT] = det


@kernel
def factor_constraints(record, loops, q):
    """J at the poses that the record holds, A = L L^T at q, Y = L^-1 J^T, and S = Y^T Y as pivoted Cholesky factors."""
    constraint_jacobian(record, loops.all_rows, loops.J)
    status = composite_bodies(record, q, loops.A)
    if loops.weight > 0.0:
        for r in range(loops.J.shape[0]):
            for i in range(q.shape[0]):
                for j in range(q.shape[0]):
                    loops.A[i, j] += loops.weight * loops.J[r, i] * loops.J[r, j]
    status = max(status, cholesky(loops.A))
    if status != OK:
        return status
    m, n = loops.J.shape
    for k in range(m):
        for j in range(n):
            loops.Y[j, k] = loops.J[k, j]
        forwards(loops.A, loops.Y[:, k])
    for i in range(m):
        for k in range(m):
            loops.S[i, k] = 0.0
            for j in range(n):
                loops.S[i, k] += loops.Y[j, i] * loops.Y[j, k]
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
    constraint_values(record, loops.all_rows, loops.phi)
    constraint_bias(record, loops.all_rows, loops.bias)
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
        x[int(loops.active[c])] += tau_a[c]
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
    """Bring q and v (n,) back onto the constraints, and note det J_p there."""
    status = OPEN
    for _ in range(8):
        body_poses(record, q)
        constraint_values(record, loops.all_rows, loops.phi)
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
    p = loops.passive.shape[0]
    if p > 0:
        Jp = loops.work[4 : 4 + p, :p]
        passive_jacobian(record, loops.rows, loops.passive, loops.work[4 + p : 4 + 2 * p, : q.shape[0]], Jp)
        lu_factor(Jp, loops.work[2, :p])
    note_determinant(loops)
    return status if nothing == 0.0 else NOT_FINITE
