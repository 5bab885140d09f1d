"""Cholesky and LU factors of small matrices, in place."""

from __future__ import annotations

from math import sqrt

from dyn_core.jit.kernel import uncounted
from dyn_core.jit.status import OK, SINGULAR


@uncounted
def cholesky(A):
    """A = L L^T for symmetric positive definite A (k, k), of which the lower triangle is read and becomes L."""
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


@uncounted
def forwards(L, x):
    """x becomes L^-1 x."""
    for i in range(x.shape[0]):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]


@uncounted
def skyline_cholesky(A, envelope):
    """`cholesky` where many entries are zero: envelope (k,) becomes the first column of each row that is not."""
    for j in range(A.shape[0]):
        first = 0
        while first < j and A[j, first] == 0.0:
            first += 1
        envelope[j] = first
        for i in range(first, j + 1):
            x = A[j, i]
            for k in range(max(first, int(envelope[i])), i):
                x -= A[j, k] * A[i, k]
            if i < j:
                A[j, i] = x / A[i, i]
            elif x > 0.0:
                A[j, j] = sqrt(x)
            else:
                return SINGULAR
    return OK


@uncounted
def sparse_forwards(L, envelope, x):
    """`forwards` with the factor of `skyline_cholesky`, for x that begins with zeros."""
    first = 0
    while first < x.shape[0] and x[first] == 0.0:
        first += 1
    for i in range(first, x.shape[0]):
        for k in range(max(first, int(envelope[i])), i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]


@uncounted
def backwards(L, x):
    """x becomes L^-T x."""
    for i in range(x.shape[0] - 1, -1, -1):
        for k in range(i + 1, x.shape[0]):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@uncounted
def cholesky_solve(A, x):
    """x (k,) becomes A^-1 x for symmetric positive definite A (k, k), which becomes its factor."""
    status = cholesky(A)
    if status == OK:
        forwards(A, x)
        backwards(A, x)
    return status


@uncounted
def moves(d):
    """Whether a joint moves any inertia."""
    return d > 0.0


@uncounted
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


@uncounted
def pivoted_cholesky(S, order, independent):
    """S = L L^T for symmetric semidefinite S (k, k), its rows and columns in the order (k,) of falling pivots.

    Rows whose pivot is not above `independent` times the largest follow from the others: L[i, i] = 0.
    """
    m = S.shape[0]
    largest = 0.0
    for i in range(m):
        order[i] = i
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
        if not S[c, c] > independent * largest:
            for i in range(c, m):
                S[i, i] = 0.0
            return
        S[c, c] = sqrt(S[c, c])
        for i in range(c + 1, m):
            S[i, c] /= S[c, c]
        for i in range(c + 1, m):
            ratio = S[i, c] / S[c, c]
            if ratio != 0.0:
                for k in range(c + 1, m):
                    S[i, k] -= ratio * S[c, k]


@uncounted
def lu_factor(A, pivots):
    """LU factors of A (k, k) in place with row pivoting; returns the smallest pivot over the largest entry of A."""
    k = A.shape[0]
    largest = 0.0
    for i in range(k):
        for j in range(k):
            largest = max(largest, abs(A[i, j]))
    smallest = largest
    for c in range(k):
        best = c
        for i in range(c + 1, k):
            if abs(A[i, c]) > abs(A[best, c]):
                best = i
        pivots[c] = best
        if best != c:
            for j in range(k):
                A[c, j], A[best, j] = A[best, j], A[c, j]
        smallest = min(smallest, abs(A[c, c]))
        if A[c, c] == 0.0:
            return 0.0
        for i in range(c + 1, k):
            if A[i, c] == 0.0:
                continue
            A[i, c] /= A[c, c]
            for j in range(c + 1, k):
                A[i, j] -= A[i, c] * A[c, j]
    return smallest / largest if largest > 0.0 else 0.0


@uncounted
def choose_rows(A, order):
    """Rows of A (m, k), m > k, that are independent: the first k of order (m,), by elimination, which uses A up."""
    m, k = A.shape
    for i in range(m):
        order[i] = i
    for c in range(k):
        best = c
        for i in range(c + 1, m):
            if abs(A[i, c]) > abs(A[best, c]):
                best = i
        order[c], order[best] = order[best], order[c]
        for j in range(k):
            A[c, j], A[best, j] = A[best, j], A[c, j]
        if A[c, c] == 0.0:
            return
        for i in range(c + 1, m):
            ratio = A[i, c] / A[c, c]
            if ratio != 0.0:
                for j in range(c + 1, k):
                    A[i, j] -= ratio * A[c, j]


@uncounted
def determinant_sign(A, pivots):
    """The sign of det A from what `lu_factor` left."""
    sign = 1.0
    for c in range(A.shape[0]):
        if A[c, c] == 0.0:
            return 0.0
        if (A[c, c] < 0.0) != (int(pivots[c]) != c):
            sign = -sign
    return sign


@uncounted
def determinant(A, pivots):
    """det A from what `lu_factor` left."""
    det = 1.0
    for c in range(A.shape[0]):
        det *= A[c, c] if int(pivots[c]) == c else -A[c, c]
    return det


@uncounted
def lu_solve(A, pivots, x):
    """x (k,) becomes A^-1 x, A and pivots from `lu_factor`."""
    k = A.shape[0]
    for c in range(k):
        best = int(pivots[c])
        x[c], x[best] = x[best], x[c]
    for c in range(k):
        for i in range(c + 1, k):
            x[i] -= A[i, c] * x[c]
    for c in range(k - 1, -1, -1):
        x[c] /= A[c, c]
        for i in range(c):
            x[i] -= A[i, c] * x[c]


@uncounted
def lu_solve_transposed(A, pivots, x):
    """x becomes A^-T x, A and pivots from `lu_factor`."""
    k = A.shape[0]
    for c in range(k):
        for i in range(c):
            x[c] -= A[i, c] * x[i]
        x[c] /= A[c, c]
    for c in range(k - 1, -1, -1):
        for i in range(c + 1, k):
            x[c] -= A[i, c] * x[i]
    for c in range(k - 1, -1, -1):
        best = int(pivots[c])
        x[c], x[best] = x[best], x[c]


@uncounted
def lu_solve_columns(A, pivots, X):
    """X (k, f) becomes A^-1 X, A and pivots from `lu_factor`."""
    k, f = X.shape
    for c in range(k):
        best = int(pivots[c])
        if best != c:
            for j in range(f):
                X[c, j], X[best, j] = X[best, j], X[c, j]
    for c in range(k):
        for i in range(c + 1, k):
            for j in range(f):
                X[i, j] -= A[i, c] * X[c, j]
    for c in range(k - 1, -1, -1):
        reciprocal = 1.0 / A[c, c]
        for j in range(f):
            X[c, j] *= reciprocal
        for i in range(c):
            for j in range(f):
                X[i, j] -= A[i, c] * X[c, j]
