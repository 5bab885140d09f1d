"""Closure of loops: passive joints from active ones, in position, velocity and acceleration.

With the constraints phi(q) = 0 split into active and passive joints, J_a qd_a + J_p qd_p = 0, so that

    qd = G qd_a,   qdd = G qdd_a + g,   G_p = -J_p^-1 J_a,   g_p = -J_p^-1 bias          (Khalil 56, 58)

J_p is square: of redundant constraints as many independent ones are kept as there are passive joints.
"""

from __future__ import annotations

from dyn_core.jit.kernel import entry, kernel, uncounted
from dyn_core.jit.status import NOT_FINITE, OK, OPEN, SINGULAR

from ..linear_solvers import determinant, lu_factor, lu_solve
from ..tree.kinematics import body_poses
from .constraints import MODE, constraint_bias, constraint_jacobian, constraint_values, velocity_pass

ITERATIONS = 40
TOLERANCE = 1e-13  # of a constraint, in m or rad, at which the iteration ends
CLOSED = 1e-9  # at which loops count as closed
FARTHEST = 1e3  # rad or m: strides to an active position beyond that would take without end
STRIDE = 0.1  # largest step of an active joint (rad or m) that is closed in one go
SMALLEST_PIVOT = 1e-9  # of J_p, relative to its largest entry: below it the configuration is singular


@uncounted
def largest_of(x):
    size = 0.0
    for i in range(x.shape[0]):
        size = max(size, abs(x[i]))
    return size


@kernel
def passive_jacobian(record, rows, passive, J, Jp):
    """J (p, n) and its columns Jp (p, p) of the passive joints, at the poses that the record holds."""
    constraint_jacobian(record, rows, J)
    for i in range(rows.shape[0]):
        for k in range(passive.shape[0]):
            Jp[i, k] = J[i, int(passive[k])]


@kernel
def newton(record, rows, passive, q, work):
    """Close the loops from q by moving its passive joints; a damped Newton iteration.

    work (p + 5, max(n, p)): scratch. Returns OK, OPEN or SINGULAR; q is the best configuration found.
    """
    p = passive.shape[0]
    n = q.shape[0]
    phi, step, pivots, trial = work[0, :p], work[1, :p], work[2, :p], work[3, :n]
    Jp, J = work[4 : 4 + p, :p], work[4 + p : 4 + 2 * p, :n]
    body_poses(record, q)
    constraint_values(record, rows, phi)
    error = largest_of(phi)
    for _ in range(ITERATIONS):
        if not error > TOLERANCE:
            break
        passive_jacobian(record, rows, passive, J, Jp)
        if lu_factor(Jp, pivots) < SMALLEST_PIVOT:
            return SINGULAR if error < CLOSED else OPEN
        for i in range(p):
            step[i] = -phi[i]
        lu_solve(Jp, pivots, step)
        damping = min(1.0, 0.5 / max(largest_of(step), 1e-300))
        better = False
        for _ in range(12):
            for j in range(n):
                trial[j] = q[j]
            for i in range(p):
                trial[int(passive[i])] += damping * step[i]
            body_poses(record, trial)
            constraint_values(record, rows, phi)
            if largest_of(phi) < error:
                better = True
                break
            damping *= 0.5
        if not better:
            break
        error = largest_of(phi)
        for j in range(n):
            q[j] = trial[j]
    body_poses(record, q)
    if error != error:
        return NOT_FINITE
    return OK if error < CLOSED else OPEN


@kernel
def follow(record, rows, active, passive, target, q, work):
    """Close the loops at active positions target (a,), starting from the closed configuration q, stride by stride."""
    far = 0.0
    for k in range(active.shape[0]):
        far = max(far, abs(target[k] - q[int(active[k])]))
    if not far < FARTHEST:
        return NOT_FINITE
    strides = max(1, int(far / STRIDE) + 1)
    status = OK
    for s in range(strides):
        for k in range(active.shape[0]):
            j = int(active[k])
            q[j] += (target[k] - q[j]) / (strides - s)
        status = newton(record, rows, passive, q, work)
        if status != OK:
            return status
    for k in range(active.shape[0]):
        q[int(active[k])] = target[k]
    return status


@kernel
def rates(record, rows, active, passive, q, qd_a, qd, g, G, work):
    """qd (n,), g (n,) and G (n, a) at a closed configuration q with active speeds qd_a (a,); poses must be those of q.

    Returns the smallest pivot of J_p, relative to its largest entry: how far from singular the configuration is. It is
    negative beyond a singularity, in another assembly mode than that of the rows. work keeps the factors of J_p.
    """
    p = passive.shape[0]
    a = active.shape[0]
    n = q.shape[0]
    x, pivots = work[1, :p], work[2, :p]
    Jp, J = work[4 : 4 + p, :p], work[4 + p : 4 + 2 * p, :n]
    passive_jacobian(record, rows, passive, J, Jp)
    distance = lu_factor(Jp, pivots) if p > 0 else 1.0
    if p > 0 and rows[0, MODE] * determinant(Jp, pivots) < 0.0:
        distance = -distance
    if distance < SMALLEST_PIVOT:
        return distance
    for j in range(n):
        qd[j] = 0.0
        g[j] = 0.0
        for c in range(a):
            G[j, c] = 0.0
    for c in range(a):
        jc = int(active[c])
        for i in range(p):
            x[i] = -J[i, jc]
        lu_solve(Jp, pivots, x)
        G[jc, c] = 1.0
        qd[jc] = qd_a[c]
        for i in range(p):
            ji = int(passive[i])
            G[ji, c] = x[i]
            qd[ji] += x[i] * qd_a[c]
    velocity_pass(record, q, qd)
    constraint_bias(record, rows, x)
    for i in range(p):
        x[i] = -x[i]
    lu_solve(Jp, pivots, x)
    for i in range(p):
        g[int(passive[i])] = x[i]
    return distance


@entry
def close(record, rows, active, passive, target, q, work):
    """`follow`, from Python; SINGULAR in another assembly mode than that of the rows."""
    status = follow(record, rows, active, passive, target, q, work)
    p = passive.shape[0]
    if status == OK and p > 0:
        pivots, Jp = work[2, :p], work[4 : 4 + p, :p]
        passive_jacobian(record, rows, passive, work[4 + p : 4 + 2 * p, : q.shape[0]], Jp)
        lu_factor(Jp, pivots)
        if rows[0, MODE] * determinant(Jp, pivots) < 0.0:
            return SINGULAR
    return status


@entry
def closed_rates(record, rows, active, passive, q, qd_a, qd, g, G, work):
    """`rates` at a closed configuration, from Python."""
    body_poses(record, q)
    return rates(record, rows, active, passive, q, qd_a, qd, g, G, work)
