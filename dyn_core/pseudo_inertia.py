"""Inertial parameters that a real body can have.

The pseudo-inertia of a body, with S = tr(J) / 2 - J the second moments of its mass,

    Sigma = [[S, MS], [MS^T, M]]   (4, 4)

is positive definite exactly where the mass is positive and the principal moments about the centre of mass are positive
and satisfy the triangle inequality. It is linear in the ten parameters [XX XY XZ YY YZ ZZ MX MY MZ M].
"""

from __future__ import annotations

import numpy as np

from .mechanism import Floats

ROWS, COLUMNS = np.tril_indices(4)
"""The ten entries of a symmetric or lower triangular 4 x 4 matrix."""


def pseudo_inertia(parameters: Floats) -> Floats:
    """Sigma (..., 4, 4) of inertial parameters (..., 10)."""
    XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = np.moveaxis(np.asarray(parameters, float), -1, 0)
    half = (XX + YY + ZZ) / 2.0
    rows = [[half - XX, -XY, -XZ, MX], [-XY, half - YY, -YZ, MY], [-XZ, -YZ, half - ZZ, MZ], [MX, MY, MZ, M]]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def inertial_parameters(sigma: Floats) -> Floats:
    """The inertial parameters (..., 10) of Sigma (..., 4, 4)."""
    S = np.asarray(sigma, float)
    x, y, z = S[..., 0, 0], S[..., 1, 1], S[..., 2, 2]
    return np.stack(
        [
            y + z, -S[..., 0, 1], -S[..., 0, 2], x + z, -S[..., 1, 2], x + y,
            S[..., 0, 3], S[..., 1, 3], S[..., 2, 3], S[..., 3, 3],
        ],
        axis=-1,
    )  # fmt: skip


def from_log_cholesky(x: Floats) -> tuple[Floats, Floats]:
    """Sigma = L L^T (4, 4) and its derivatives (10, 4, 4) for the entries x (10,) of L, logarithms on the diagonal."""
    L = np.zeros((4, 4))
    L[ROWS, COLUMNS] = x
    diagonal = ROWS == COLUMNS
    L[np.arange(4), np.arange(4)] = np.exp(x[diagonal])
    change = np.zeros((10, 4, 4))
    change[np.arange(10), ROWS, COLUMNS] = np.where(diagonal, L[ROWS, COLUMNS], 1.0)
    half = change @ L.T
    return L @ L.T, half + half.transpose(0, 2, 1)
