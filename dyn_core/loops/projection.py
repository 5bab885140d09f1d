"""Dynamics of closed chains by projection on the active joints (Khalil, section 4).

    Gamma_c = G^T Gamma_tr(q, qd, G qdd_a + g)      (55)
    A_c = G^T A G,   H_c = G^T (A g + H)            (58)
"""

from __future__ import annotations

from ..jit import entry, kernel
from ..tree.matrices import cholesky_solve
from ..tree.record import OK, SINGULAR, start_fixed
from ..tree.rnea import newton_euler
from ..tree.walker_orin import composite_bodies
from .closure import SMALLEST_PIVOT, follow, rates

QD, G0, QDD, TAU, COLUMN = range(5)  # rows of the vectors that a projection needs


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


@entry
def inverse(record, rows, active, passive, q_a, qd_a, qdd_a, wrenches, q, vectors, G, work, tau):
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
def matrices(record, rows, active, passive, q_a, qd_a, wrenches, q, vectors, G, work, A, A_c, H_c):
    """A_c (a, a) and H_c (a,); A (n, n) becomes the mass matrix of the tree."""
    status = prepare(record, rows, active, passive, q_a, qd_a, q, vectors, G, work)
    if status != OK:
        return status
    n, a = G.shape
    for c in range(a):
        H_c[c] = 0.0  # stands for qdd_a = 0
    status = tree_forces(record, q, H_c, wrenches, vectors, G)
    for c in range(a):
        for j in range(n):
            H_c[c] += G[j, c] * vectors[TAU, j]
    status = max(status, composite_bodies(record, q, A))
    project(A, G, vectors[COLUMN], A_c)
    return status


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
def direct(record, rows, active, passive, q_a, qd_a, tau, wrenches, q, vectors, G, work, A, A_c, qdd_a):
    """Accelerations qdd_a (a,) of the active joints under forces tau (n,) of the tree's joints."""
    status = prepare(record, rows, active, passive, q_a, qd_a, q, vectors, G, work)
    if status != OK:
        return status
    return accelerate(record, tau, wrenches, q, vectors, G, A, A_c, qdd_a)
