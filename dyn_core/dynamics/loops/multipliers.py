"""Dynamics of closed chains with Lagrange multipliers: the DAE way, which gives the reactions of the cut joints too.

    A qdd + H = Gamma + J^T lambda,   J qdd + bias = 0

All constraints are kept, redundant ones too: the smallest lambda is taken then, the accelerations are unique.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats


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
    # J A^-1 J^T lambda = -bias - J A^-1 (tau - H), by the singular values of L^-1 J^T
    reactions = np.linalg.lstsq(Y.T @ Y, -bias - Y.T @ free, rcond=1e-12)[0]
    return Answer(np.linalg.solve(L.T, free + Y @ reactions), reactions)
