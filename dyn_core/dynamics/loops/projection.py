"""Dynamics of closed chains by projection on the active joints (Khalil, section 4).

Gamma_c = G^T Gamma_tr(q, qd, G qdd_a + g)      (55)
A_c = G^T A G,   H_c = G^T (A g + H)            (58)
"""

from __future__ import annotations

from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.native_call import NativeCall
from dyn_core.jit.status import OK, SINGULAR

from ..linear_solvers import cholesky_solve
from ..tree.crba import composite_bodies
from ..tree.record import start_fixed
from ..tree.rnea import newton_euler
from .closure import SMALLEST_PIVOT, follow, rates

QD, G0, QDD, TAU, COLUMN, FORCES = range(6)  # rows of the vectors that a projection needs


@kernel
def prepare(record, rows, active, passive, q_a, qd_a, q, vectors, G, work):
    """Close the loops at q_a from the closed configuration q, and fill G, qd and g."""
    status = follow(record, rows, active, passive, q_a, q, work)
    if status != OK:
        return status
    distance = rates(record, rows, active, passive, q, qd_a, vectors[QD], vectors[G0], G, work)
    return SINGULAR if distance < SMALLEST_PIVOT else OK


@kernel
def tree_forces(record, q, qdd_a, wrenches, vectors, G):
    """Gamma_tr at qdd = G qdd_a + g."""
    n = q.shape[0]
    for j in range(n):
        vectors[QDD, j] = vectors[G0, j]
        for c in range(qdd_a.shape[0]):
            vectors[QDD, j] += G[j, c] * qdd_a[c]
    start_fixed(record, 1.0)
    return newton_euler(record, q, vectors[QD], vectors[QDD], wrenches, vectors[TAU])


@kernel
def inverse_at(record, rows, active, passive, q_a, qd_a, qdd_a, wrenches, q, vectors, G, work, tau):
    """Forces tau (a,) of the active joints; q (n,) is the configuration to start from and becomes that found."""
    status = prepare(record, rows, active, passive, q_a, qd_a, q, vectors, G, work)
    if status != OK:
        return status
    status = tree_forces(record, q, qdd_a, wrenches, vectors, G)
    for c in range(tau.shape[0]):
        tau[c] = 0.0
        for j in range(q.shape[0]):
            tau[c] += G[j, c] * vectors[TAU, j]
    return status


@NativeCall
def inverse(record, rows, active, passive, start, q, vectors, G, work, follows, q_a, qd_a, qdd_a, tau):
    """tau (a,) from q, qd, qdd of the active joints; bound to what `inverse_at` takes from rows to work.

    Each call starts from the configuration `start`. Where `follows` is not 0, what it finds becomes the next start.
    """
    q[:] = start
    status = inverse_at(record, rows, active, passive, q_a, qd_a, qdd_a, record[:0], q, vectors, G, work, tau)
    if status == OK and follows[0] != 0.0:
        start[:] = q
    return status


@entry
def inverse_batch(record, rows, active, passive, q_a, qd_a, qdd_a, wrenches, start, q, vectors, G, work, A, A_c, tau):
    """`inverse_at` over rows, each from the configuration start (n,); ends at one that fails, with q there."""
    for b in range(tau.shape[0]):
        q[:] = start
        status = inverse_at(
            record, rows, active, passive, q_a[b], qd_a[b], qdd_a[b], wrenches[b], q, vectors, G, work, tau[b]
        )
        if status != OK:
            return status
    return OK


@kernel
def project(A, G, column, A_c):
    """A_c = G^T A G."""
    n, a = G.shape
    for c in range(a):
        for i in range(n):
            column[i] = 0.0
            for j in range(n):
                column[i] += A[i, j] * G[j, c]
        for b in range(a):
            A_c[b, c] = 0.0
            for i in range(n):
                A_c[b, c] += G[i, b] * column[i]


@entry
def mass_matrix_batch(record, rows, active, passive, q_a, qd_a, wrenches, start, q, vectors, G, work, A, A_c, out):
    """A_c (batch, a, a)."""
    for b in range(out.shape[0]):
        q[:] = start
        status = prepare(record, rows, active, passive, q_a[b], qd_a[b], q, vectors, G, work)
        if status == OK:
            status = composite_bodies(record, q, A)
        if status != OK:
            return status
        project(A, G, vectors[COLUMN], out[b])
    return OK


@kernel
def accelerate(record, tau, wrenches, q, vectors, G, A, A_c, qdd_a):
    """A_c qdd_a = G^T tau - H_c, after `rates` at the closed configuration q; tau (n,) of the tree's joints."""
    n, a = G.shape
    for c in range(a):
        qdd_a[c] = 0.0
    status = tree_forces(record, q, qdd_a, wrenches, vectors, G)
    for c in range(a):
        for j in range(n):
            qdd_a[c] += G[j, c] * (tau[j] - vectors[TAU, j])
    status = max(status, composite_bodies(record, q, A))
    project(A, G, vectors[COLUMN], A_c)
    return max(status, cholesky_solve(A_c, qdd_a))


@entry
def direct_batch(record, rows, active, passive, q_a, qd_a, tau, wrenches, start, q, vectors, G, work, A, A_c, qdd):
    """Accelerations qdd (batch, a) of the active joints under forces tau (batch, a) of theirs."""
    for b in range(qdd.shape[0]):
        q[:] = start
        status = prepare(record, rows, active, passive, q_a[b], qd_a[b], q, vectors, G, work)
        if status != OK:
            return status
        on_tree = vectors[FORCES]
        on_tree[:] = 0.0
        for c in range(tau.shape[1]):
            on_tree[int(active[c])] = tau[b, c]
        status = accelerate(record, on_tree, wrenches[b], q, vectors, G, A, A_c, qdd[b])
        if status != OK:
            return status
    return OK
