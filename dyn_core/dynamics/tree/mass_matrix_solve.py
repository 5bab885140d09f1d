"""Forward dynamics by way of the inertia matrix: A qdd = Gamma - H, Khalil's section 3.3.1 and (8)."""

from __future__ import annotations

import numpy as np

from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import NOT_FINITE, OK, SINGULAR

from ..linear_solvers import cholesky_solve
from .aba import moves
from .crba import composite_bodies
from .record import start_fixed
from .rnea import newton_euler


@kernel
def solve_from_tips(A, x):
    """Solve A x = b for the mass matrix A, in place: its lower triangle becomes L and D of A = L^T D L, x the solution.

    The last joint is eliminated first: then the zeros between joints of different branches stay (Featherstone, Rigid
    Body Dynamics Algorithms, 2008, section 6.5), and D is what `articulated_bodies` calls so.
    """
    n = x.shape[0]
    status = OK
    for k in range(n - 1, -1, -1):
        if not moves(A[k, k]):
            status = SINGULAR
        for i in range(k - 1, -1, -1):
            a = A[k, i] / A[k, k]
            for j in range(i + 1):
                A[i, j] -= a * A[k, j]
            A[k, i] = a
            x[i] -= a * x[k]
    for k in range(n):
        x[k] /= A[k, k]
        for i in range(k):
            x[k] -= A[k, i] * x[i]
    return status


@entry
def by_matrices_batch(record, q, qd, tau, wrenches, qdd):
    """qdd over rows."""
    A = np.empty((q.shape[1], q.shape[1]))
    status = OK
    for b in range(q.shape[0]):
        start_fixed(record, 1.0)
        for j in range(q.shape[1]):
            qdd[b, j] = 0.0
        status = max(status, newton_euler(record, q[b], qd[b], qdd[b], wrenches[b], A[0]))  # H
        for j in range(q.shape[1]):
            qdd[b, j] = tau[b, j] - A[0, j]
        status = max(status, composite_bodies(record, q[b], A), cholesky_solve(A, qdd[b]))
        for j in range(q.shape[1]):
            if not abs(qdd[b, j]) < 1e300:
                status = max(status, NOT_FINITE)
    return status
