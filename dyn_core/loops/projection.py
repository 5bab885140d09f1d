"""Dynamics of closed chains by projection on the active joints (Khalil, section 4).

Gamma_c = G^T Gamma_tr(q, qd, G qdd_a + g)      (55)
A_c = G^T A G,   H_c = G^T (A g + H)            (58)
"""

from __future__ import annotations

from ..fastcall import FastCall, answered, are_vectors, beside, bound_to, model, new_answer, no_answer, vector, words
from ..jit import entry, kernel
from ..tree.matrices import cholesky_solve
from ..tree.record import OK, SINGULAR, start_fixed
from ..tree.rnea import newton_euler
from ..tree.walker_orin import composite_bodies
from .closure import SMALLEST_PIVOT, follow, rates

NEAR = 0.05  # active positions this close to the last ones (rad or m) are closed from there
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
def prepare_near(record, rows, active, passive, q_a, qd_a, reference, q, vectors, G, work):
    """`prepare` from the configuration q if its active joints are near q_a; else, or if that fails, from reference."""
    near = True
    for c in range(q_a.shape[0]):
        near = near and abs(q_a[c] - q[int(active[c])]) < NEAR
    status = OK
    for attempt in range(2):
        if attempt == 1 or not near:
            q[:] = reference
        status = prepare(record, rows, active, passive, q_a, qd_a, q, vectors, G, work)
        if status == OK or not near:
            break
    return status


@kernel
def inverse_at(record, rows, active, passive, q_a, qd_a, qdd_a, wrenches, reference, q, vectors, G, work, tau):
    """Forces tau (a,) of the active joints; q (n,) is the configuration to start from and becomes that found."""
    status = prepare_near(record, rows, active, passive, q_a, qd_a, reference, q, vectors, G, work)
    if status != OK:
        return status
    status = tree_forces(record, q, qdd_a, wrenches, vectors, G)
    for c in range(tau.shape[0]):
        tau[c] = 0.0
        for j in range(q.shape[0]):
            tau[c] += G[j, c] * vectors[TAU, j]
    return status


@FastCall
def inverse(self, arguments, count):
    """tau (a,) from q, qd, qdd of the active joints; bound to what `inverse_at` takes from rows to work."""
    context, given = bound_to(self), words(arguments)
    rows, active, passive = beside(context, 0), beside(context, 1)[0], beside(context, 2)[0]
    reference, q = beside(context, 3)[0], beside(context, 4)[0]
    vectors, G, work = beside(context, 5), beside(context, 6), beside(context, 7)
    a = active.shape[0]
    if count != 3 or not are_vectors(context, given, a, a, a):
        return no_answer(context)
    tau = new_answer(self)
    if tau == 0:
        return tau
    record = model(context)
    status = inverse_at(
        record, rows, active, passive, vector(given[0], a), vector(given[1], a), vector(given[2], a), record[:0],
        reference, q, vectors, G, work, vector(tau, a),
    )  # fmt: skip
    if status != OK:
        q[:] = reference
    return answered(context, tau, status)


@entry
def inverse_batch(
    record, rows, active, passive, q_a, qd_a, qdd_a, wrenches, reference, q, vectors, G, work, A, A_c, tau
):  # fmt: skip
    """`inverse_at` over rows, each from the configuration of the one before; ends at one that fails, with q there."""
    for b in range(tau.shape[0]):
        status = inverse_at(
            record, rows, active, passive, q_a[b], qd_a[b], qdd_a[b], wrenches[b], reference, q, vectors, G, work,
            tau[b],
        )  # fmt: skip
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
def mass_matrix_batch(record, rows, active, passive, q_a, qd_a, wrenches, reference, q, vectors, G, work, A, A_c, out):
    """A_c (batch, a, a)."""
    for b in range(out.shape[0]):
        status = prepare_near(record, rows, active, passive, q_a[b], qd_a[b], reference, q, vectors, G, work)
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
def direct_batch(record, rows, active, passive, q_a, qd_a, tau, wrenches, reference, q, vectors, G, work, A, A_c, qdd):
    """Accelerations qdd (batch, a) of the active joints under forces tau (batch, a) of theirs."""
    for b in range(qdd.shape[0]):
        status = prepare_near(record, rows, active, passive, q_a[b], qd_a[b], reference, q, vectors, G, work)
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
