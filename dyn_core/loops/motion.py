"""Simulated motion of closed chains, compiled: by projection, or by multipliers; it ends before a singularity.

By projection the state is that of the active joints, q_a and qd_a; the loops are closed again at every stage from the
configuration last found. By multipliers the state is that of all joints, with

    A qdd + H = Gamma + J^T lambda,   J qdd + bias = -2 alpha J qd - alpha^2 phi      (Baumgarte)

and it is brought back onto the constraints after each step, along the shortest way in the metric of A:

    q -= A^-1 J^T (J A^-1 J^T)^-1 phi,   qd -= A^-1 J^T (J A^-1 J^T)^-1 J qd
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from ..actuation import motor_torque
from ..jit import entry, kernel
from ..mechanism import Floats
from ..tree.kinematics import body_poses
from ..tree.record import NOT_FINITE, OK, SINGULAR, start_fixed
from ..tree.rnea import newton_euler
from ..tree.walker_orin import composite_bodies
from .closure import (
    CLOSED,
    OPEN,
    SMALLEST_PIVOT,
    STRIDE,
    TOLERANCE,
    determinant,
    factor,
    follow,
    largest_of,
    passive_jacobian,
    rates,
)
from .constraints import MODE, constraint_bias, constraint_jacobian, constraint_values, velocity_pass
from .projection import G0, QD, TAU, accelerate

ALPHA = 10.0  # 1/s, of the stabilisation; the integrator's order asks for one that does not grow as the step shrinks
INDEPENDENT = 1e-11  # a constraint's pivot in J A^-1 J^T, over the largest, below which it follows from the others
DETERMINANT, RATE, TIME, REASON = range(4)  # of `watch`
FARTHEST = 10.0  # rad or m: no active joint moves that far within a step
LEFT = 0.8  # share of det J_p that a step must leave, as foreseen from its rate and in fact, else it is divided
TICKS = 1024
"""Into how many parts a step is divided at most before a singularity."""


class Motion(NamedTuple):
    """What kernels need of a closed chain, and where it is."""

    rows: Floats
    """(p, ROW_WIDTH) constraints that determine the passive joints."""
    all_rows: Floats
    """(m, ROW_WIDTH)."""
    active: Floats
    passive: Floats
    by_multipliers: bool
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


def motion(
    rows: Floats, all_rows: Floats, active: Floats, passive: Floats, by_multipliers: bool, start: Floats
) -> Motion:
    """A Motion with arrays of its own, at the closed configuration start (n,)."""
    n, m, a, p = len(start), len(all_rows), len(active), len(passive)
    return Motion(
        rows, all_rows, active, passive, by_multipliers, start.copy(), np.full(n, np.nan), np.zeros(n),
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
def foresee(loops, q_a):
    """loops.trial: all joints at active positions q_a by the last G, or where they are if that is not a small move."""
    trial = loops.trial
    trial[:] = loops.q
    for c in range(q_a.shape[0]):
        step = q_a[c] - loops.q[int(loops.active[c])]
        for j in range(trial.shape[0]):
            trial[j] += loops.G[j, c] * step
    for j in range(trial.shape[0]):
        if not abs(trial[j] - loops.q[j]) < STRIDE:
            trial[:] = loops.q
            return


@kernel
def projected(record, loops, q_a, v_a, tau_a, wrenches, vd):
    """vd (a,) by projection; loops.q and loops.vectors[QD] become the motion of all joints."""
    for c in range(q_a.shape[0]):
        if not abs(q_a[c] - loops.q[int(loops.active[c])]) < FARTHEST:
            return NOT_FINITE
    foresee(loops, q_a)
    status = follow(record, loops.rows, loops.active, loops.passive, q_a, loops.trial, loops.work)
    if status != OK:
        return status
    distance = rates(
        record, loops.rows, loops.active, loops.passive, loops.trial, v_a, loops.vectors[QD], loops.vectors[G0],
        loops.G, loops.work,
    )  # fmt: skip
    if distance < SMALLEST_PIVOT:
        return SINGULAR
    loops.q[:] = loops.trial
    note_determinant(loops)
    loops.forces[:] = 0.0
    for c in range(tau_a.shape[0]):
        loops.forces[int(loops.active[c])] = tau_a[c]
    return accelerate(record, loops.forces, wrenches, loops.q, loops.vectors, loops.G, loops.A, loops.A_c, vd)


@kernel
def cholesky(A):
    """A = L L^T, L in place in the lower triangle."""
    for j in range(A.shape[0]):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        if not A[j, j] > 0.0:
            return SINGULAR
        A[j, j] = sqrt(A[j, j])
        for i in range(j + 1, A.shape[0]):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
    return OK


@kernel
def forwards(L, x):
    """x becomes L^-1 x."""
    for i in range(x.shape[0]):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]


@kernel
def backwards(L, x):
    """x becomes L^-T x."""
    for i in range(x.shape[0] - 1, -1, -1):
        for k in range(i + 1, x.shape[0]):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@kernel
def factor_constraints(record, loops, q):
    """J at the poses that the record holds, A = L L^T at q, Y = L^-1 J^T, and S = Y^T Y as pivoted Cholesky factors."""
    constraint_jacobian(record, loops.all_rows, loops.J)
    status = max(composite_bodies(record, q, loops.A), cholesky(loops.A))
    if status != OK:
        return status
    m, n = loops.J.shape
    for k in range(m):
        for j in range(n):
            loops.Y[j, k] = loops.J[k, j]
        forwards(loops.A, loops.Y[:, k])
    S, order = loops.S, loops.order
    largest = 0.0
    for i in range(m):
        order[i] = i
        for k in range(m):
            S[i, k] = 0.0
            for j in range(n):
                S[i, k] += loops.Y[j, i] * loops.Y[j, k]
        largest = max(largest, S[i, i])
    for c in range(m):
        best = c
        for i in range(c + 1, m):
            if S[i, i] > S[best, best]:
                best = i
        if best != c:
            order[c], order[best] = order[best], order[c]
            for k in range(m):
                S[c, k], S[best, k] = S[best, k], S[c, k]
            for k in range(m):
                S[k, c], S[k, best] = S[k, best], S[k, c]
        if not S[c, c] > INDEPENDENT * largest:
            for i in range(c, m):
                S[i, i] = 0.0  # these constraints follow from the others
            break
        S[c, c] = sqrt(S[c, c])
        for i in range(c + 1, m):
            S[i, c] /= S[c, c]
        for i in range(c + 1, m):
            for k in range(c + 1, i + 1):
                S[i, k] -= S[i, c] * S[k, c]
                S[k, i] = S[i, k]
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
        factor(Jp, loops.work[2, :p])
    note_determinant(loops)
    return status if nothing == 0.0 else NOT_FINITE


@kernel
def take_up(record, loops, q_a, v_a):
    """By multipliers: continue from loops.q, loops.qd if their active joints move as q_a and v_a, else close anew."""
    same = True
    for c in range(q_a.shape[0]):
        j = int(loops.active[c])
        same = same and loops.q[j] == q_a[c] and loops.qd[j] == v_a[c]
    if same:
        return OK
    status = follow(record, loops.rows, loops.active, loops.passive, q_a, loops.q, loops.work)
    if status != OK:
        return status
    distance = rates(
        record, loops.rows, loops.active, loops.passive, loops.q, v_a, loops.qd, loops.vectors[G0], loops.G, loops.work
    )
    note_determinant(loops)
    return SINGULAR if distance < SMALLEST_PIVOT else OK


@kernel
def closed_step(record, loops, motors, q, v, vd, tau, drive, wrenches, h, table):
    """One Runge-Kutta step of the state q, v, and vd and tau (a,) at its end; h = 0: only these, where it stands."""
    stages = table.shape[1]
    size = q.shape[0]
    x, u = loops.stages[0, :size], loops.stages[1, :size]
    xd, ud = loops.stages[2 : 2 + stages, :size], loops.stages[2 + stages : 2 + 2 * stages, :size]
    for i in range(0 if h > 0.0 else stages, stages + 1):
        x[:] = q
        u[:] = v
        if h > 0.0:
            for k in range(i):
                for j in range(size):
                    x[j] += h * table[i, k] * xd[k, j]
                    u[j] += h * table[i, k] * ud[k, j]
        if loops.by_multipliers and i == stages:
            status = back_on_constraints(record, loops, x, u)
            if status != OK:
                return status
        for c in range(drive.shape[0]):
            tau[c] = drive[c]
            if motors.shape[0] > 0:
                tau[c], _ = motor_torque(motors[c], drive[c], u[int(loops.active[c]) if loops.by_multipliers else c])
        if loops.by_multipliers:
            status = constrained(record, loops, x, u, tau, wrenches, vd)
        else:
            status = projected(record, loops, x, u, tau, wrenches, vd)
        if status != OK:
            return status
        if i < stages:
            xd[i] = u
            ud[i] = vd
    nothing = 0.0
    for j in range(size):
        nothing += 0.0 * x[j] + 0.0 * u[j] + 0.0 * vd[j]
    if nothing != 0.0:
        return NOT_FINITE
    q[:] = x
    v[:] = u
    return OK


@entry
def closed_rows(
    record, loops, motors, q_a, v_a, vd_a, tau, drives, hold, wrenches, h, first, steps, table, rows_q, rows
):
    """Move the active joints' q_a, v_a on by `steps` steps of h, one row of drives held for `hold`; returns how many.

    first: how many steps under these drives were taken before. vd_a and tau become those at the end. Positions, and
    speeds, accelerations, forces and drives after every step, the start first, are written to rows_q (steps + 1, a) and
    rows (steps + 1, 4, a) unless they are empty. A step that would pass a singularity is divided until the state stands
    before it; the motion ends there, q_a and v_a stay at the end of the last whole step, loops.watch says when after it
    and why, and loops.kept[2] at what configuration.
    """
    a = q_a.shape[0]
    q, v, vd = q_a, v_a, vd_a
    watch = loops.watch
    watch[REASON] = OK
    status = OK
    if loops.by_multipliers:
        q, v, vd = loops.q, loops.qd, loops.qdd
        status = take_up(record, loops, q_a, v_a)
    size = q.shape[0]
    done = -1  # the start is evaluated as a step of no length
    while status == OK and done < steps:
        drive = drives[min(max(first + done, 0) // hold, drives.shape[0] - 1)]
        loops.kept[0, :size] = q
        loops.kept[1, :size] = v
        loops.kept[5] = loops.q
        tick, part = 0, TICKS
        while tick < TICKS:
            loops.kept[2, :size] = q
            loops.kept[3, :size] = v
            loops.kept[4] = loops.q
            det = watch[DETERMINANT]
            length = 0.0 if done < 0 else h * part / TICKS
            status = SINGULAR
            if det + length * watch[RATE] >= LEFT * det:
                status = closed_step(record, loops, motors, q, v, vd, tau, drive, wrenches, length, table)
            if status == OK and done < 0:
                if abs(watch[DETERMINANT] - det) > 1e-6 * abs(det):
                    watch[RATE] = 0.0  # not where the last motion ended
                break
            if status == OK and watch[DETERMINANT] >= LEFT * det:
                watch[RATE] = (watch[DETERMINANT] - det) / length
                tick += part
                continue
            loops.q[:] = loops.kept[4]
            q[:] = loops.kept[2, :size]
            v[:] = loops.kept[3, :size]
            watch[DETERMINANT] = det
            if status == OK:
                status = SINGULAR
            if part == 1 or done < 0:
                break
            part //= 2
        if status != OK:
            watch[TIME] = h * tick / TICKS
            watch[REASON] = status
            closed_step(record, loops, motors, q, v, vd, tau, drive, wrenches, 0.0, table)
            loops.kept[2] = loops.q
            loops.q[:] = loops.kept[5]
            q[:] = loops.kept[0, :size]
            v[:] = loops.kept[1, :size]
            closed_step(record, loops, motors, q, v, vd, tau, drive, wrenches, 0.0, table)
            break
        done += 1
        if loops.by_multipliers:
            for c in range(a):
                j = int(loops.active[c])
                q_a[c], v_a[c], vd_a[c] = q[j], v[j], vd[j]
        if rows.shape[0] > 0:
            rows_q[done] = q_a
            rows[done, 0] = v_a
            rows[done, 1] = vd_a
            rows[done, 2] = tau
            rows[done, 3] = drive
    return done
