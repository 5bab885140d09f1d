"""Dynamics of closed chains with Lagrange multipliers: the DAE way, which gives the reactions of the cut joints too.

    A qdd + H = Gamma + J^T lambda,   J qdd + bias = 0

All constraints are kept, redundant ones too: the smallest lambda is taken then, the accelerations are unique. Where
links have no mass, A is positive definite only in the motions that the constraints allow. A + w J^T J is so in all, and
does not change them: w J^T (J qdd + bias), which is added to the equation, is zero.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats

SMALLEST = 1e-10  # eigenvalue of A with a unit diagonal below which some joint moves no inertia by itself


def positive_definite(A: Floats) -> bool:
    """Whether every motion of the joints moves some inertia."""
    each = np.diag(A)
    if len(each) and not each.min() > 0.0:
        return False
    return len(each) == 0 or bool(np.linalg.eigvalsh(A / np.sqrt(np.outer(each, each)))[0] > SMALLEST)


def weight(A: Floats, J: Floats) -> float:
    """w, kg or kg m^2: 0 where A is positive definite by itself."""
    return 0.0 if positive_definite(A) else float(np.trace(A) / np.einsum("ij,ij", J, J))


DEPENDENT = 1e-9  # singular value of L^-1 J^T, over the largest, below which constraints follow from others


class Answer(NamedTuple):
    """What the multipliers give at one state."""

    qdd: Floats
    """(n,) accelerations of the tree's joints."""
    reactions: Floats
    """(m,) lambda: force or moment of each constraint row on the second body of its cut joint."""


def accelerations(A: Floats, H: Floats, J: Floats, bias: Floats, tau: Floats) -> Answer:
    """Accelerations and multipliers under forces tau (n,) of the tree's joints."""
    L = np.linalg.cholesky(A)
    Y = np.linalg.solve(L, J.T)
    free = np.linalg.solve(L, tau - H)
    # with Y = L^-1 J^T: Y^T Y lambda = -bias - Y^T free, by the singular values of Y, not by their squares
    pulled = np.linalg.lstsq(Y.T, -bias - Y.T @ free, rcond=DEPENDENT)[0]
    return Answer(np.linalg.solve(L.T, free + pulled), np.linalg.lstsq(Y, pulled, rcond=DEPENDENT)[0])
