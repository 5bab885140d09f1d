"""Dynamics of closed chains by projection on the active joints (Khalil, section 4).

Gamma_c = G^T Gamma_tr(q, qd, G qdd_a + g)      (55)
A_c = G^T A G,   H_c = G^T (A g + H)            (58)
"""

from __future__ import annotations

from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.native_call import NativeCall
from dyn_core.jit.status import OK

from ..linear_solvers import cholesky_solve
from ..tree.crba import composite_bodies
from ..tree.record import start_fixed
from ..tree.rnea import newton_euler
from .closure import begin, copy_branch, follow, rates, redundant

QD, G0, QDD, TAU, COLUMN = range(5)  # rows of the vectors that a projection needs


@kernel
def prepare(record, c, q_a, qd_a, vectors):
    """Close the loops at q_a from where they stand, and fill G, qd and g."""
    status = follow(record, c, q_a)
    if status == OK:
        rates(record, c, qd_a, vectors[QD], vectors[G0])
    return status


@kernel
def tree_forces(record, c, qdd_a, wrenches, vectors):
    """Gamma_tr at qdd = G qdd_a + g."""
    for j in range(c.q.shape[0]):
        vectors[QDD, j] = vectors[G0, j]
        for k in range(qdd_a.shape[0]):
            vectors[QDD, j] += c.G[j, k] * qdd_a[k]
    start_fixed(record, 1.0)
    return newton_euler(record, c.q, vectors[QD], vectors[QDD], wrenches, vectors[TAU])


@kernel
def inverse_at(record, c, branch, q_a, qd_a, qdd_a, wrenches, vectors, tau):
    """Forces tau (a,) of the active joints, the loops followed from a branch."""
    begin(c, branch)
    status = prepare(record, c, q_a, qd_a, vectors)
    if status != OK:
        return status
    status = tree_forces(record, c, qdd_a, wrenches, vectors)
    for k in range(tau.shape[0]):
        tau[k] = 0.0
        for j in range(c.q.shape[0]):
            tau[k] += c.G[j, k] * vectors[TAU, j]
    return status


@NativeCall
def inverse(record, c, branch, vectors, follows, q_a, qd_a, qdd_a, tau):
    """tau (a,) from q, qd, qdd of the active joints; bound to a Closure, the Branch to start from, and vectors.

    Where `follows` is not 0, what a call finds becomes the branch that the next one starts from.
    """
    status = inverse_at(record, c, branch, q_a, qd_a, qdd_a, record[:0], vectors, tau)
    if status == OK and follows[0] != 0.0:
        copy_branch(c, branch, redundant(c))
    return status


@entry
def inverse_batch(record, c, branch, q_a, qd_a, qdd_a, wrenches, vectors, A, A_c, tau):
    """`inverse_at` over rows; ends at one that fails."""
    for b in range(tau.shape[0]):
        status = inverse_at(record, c, branch, q_a[b], qd_a[b], qdd_a[b], wrenches[b], vectors, tau[b])
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
def mass_matrix_batch(record, c, branch, q_a, qd_a, wrenches, vectors, A, A_c, out):
    """A_c (batch, a, a)."""
    for b in range(out.shape[0]):
        begin(c, branch)
        status = prepare(record, c, q_a[b], qd_a[b], vectors)
        if status == OK:
            status = composite_bodies(record, c.q, A)
        if status != OK:
            return status
        project(A, c.G, vectors[COLUMN], out[b])
    return OK


@kernel
def accelerate(record, c, tau_a, wrenches, vectors, A, A_c, qdd_a):
    """A_c qdd_a = tau_a - H_c, after `prepare`; forces tau_a (a,) of the active joints."""
    for k in range(qdd_a.shape[0]):
        qdd_a[k] = 0.0
    status = tree_forces(record, c, qdd_a, wrenches, vectors)
    for k in range(qdd_a.shape[0]):
        qdd_a[k] = tau_a[k]
        for j in range(c.q.shape[0]):
            qdd_a[k] -= c.G[j, k] * vectors[TAU, j]
    status = max(status, composite_bodies(record, c.q, A))
    project(A, c.G, vectors[COLUMN], A_c)
    return max(status, cholesky_solve(A_c, qdd_a))


@entry
def direct_batch(record, c, branch, q_a, qd_a, tau, wrenches, vectors, A, A_c, qdd):
    """Accelerations qdd (batch, a) of the active joints under forces tau (batch, a) of theirs."""
    for b in range(qdd.shape[0]):
        begin(c, branch)
        status = prepare(record, c, q_a[b], qd_a[b], vectors)
        if status == OK:
            status = accelerate(record, c, tau[b], wrenches[b], vectors, A, A_c, qdd[b])
        if status != OK:
            return status
    return OK
