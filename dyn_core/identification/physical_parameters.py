"""Standard parameters that a real robot can have.

The pseudo-inertia of a body, with S = tr(J) / 2 - J the second moments of its mass,

    Sigma = [[S, MS], [MS^T, M]]   (4, 4)

is positive definite exactly where the mass is positive and the principal moments about the centre of mass are positive
and satisfy the triangle inequality. It is linear in the ten parameters [XX XY XZ YY YZ ZZ MX MY MZ M].
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

from dyn_core.arrays import Floats
from dyn_core.dynamics.parameters.base_parameters import BaseParameters
from dyn_core.dynamics.parameters.regressor import FS, FV, IA, INERTIAL, WIDTH
from dyn_core.mechanism import Mechanism

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


def physical_parameters(
    mechanism: Mechanism, prior: Floats, base: BaseParameters, beta: Floats, information: Floats,
    fixed: Floats | None = None,
) -> Floats:  # fmt: skip
    """Standard parameters chi (13 n,) that a real robot can have, with K chi near beta, and near the prior (13 n,).

    Each body's pseudo-inertia is Sigma_fixed + U L L^T U^T, U U^T being the prior's, so that it is positive definite;
    Ia, Fv and Fs are not negative. Minimises |R (K chi - beta)|^2 + |x|^2, R the information and x the logarithms of
    L's diagonal, L's other entries, and the relative changes of Ia, Fv and Fs: what the data do not show stays.
    """
    n = mechanism.n
    prior = prior.reshape(n, WIDTH)
    welded = np.zeros((n, INERTIAL)) if fixed is None else fixed
    U = np.linalg.cholesky(_regular(mechanism, pseudo_inertia(prior[:, :INERTIAL] - welded)))
    Ut = U.transpose(0, 2, 1)
    drives = prior[:, INERTIAL:]
    scale = _drive_scales(drives)
    KR = information @ base.K
    target = information @ beta
    b = len(target)

    def parts(x: Floats) -> tuple[Floats, list[Floats]]:
        """chi (n, 13), and the derivatives (10, 10) of each body's inertial parameters."""
        chi, changes = np.empty((n, WIDTH)), []
        for j in range(n):
            sigma, change = from_log_cholesky(x[INERTIAL * j : INERTIAL * (j + 1)])
            chi[j, :INERTIAL] = welded[j] + inertial_parameters(U[j] @ sigma @ Ut[j])
            changes.append(inertial_parameters(U[j] @ change @ Ut[j]))
        chi[:, INERTIAL:] = scale * x[INERTIAL * n :].reshape(n, 3)
        return chi, changes

    known = np.concatenate([np.zeros(INERTIAL * n), (drives / scale).ravel()])

    def residual(x: Floats) -> Floats:
        return np.concatenate([KR @ parts(x)[0].ravel() - target, x - known])

    def jacobian(x: Floats) -> Floats:
        J = np.zeros((b + len(x), len(x)))
        J[b:] = np.eye(len(x))
        for j, change in enumerate(parts(x)[1]):
            J[:b, INERTIAL * j : INERTIAL * (j + 1)] = KR[:, WIDTH * j : WIDTH * j + INERTIAL] @ change.T
            for k, kind in enumerate((IA, FV, FS)):
                J[:b, INERTIAL * n + 3 * j + k] = KR[:, WIDTH * j + kind] * scale[j, k]
        return J

    low = np.concatenate([np.full(INERTIAL * n, -np.inf), np.zeros(3 * n)])
    start = np.concatenate([known[: INERTIAL * n], np.maximum(known[INERTIAL * n :], 0.1)])
    found = least_squares(residual, start, jacobian, bounds=(low, np.inf), max_nfev=200, xtol=1e-10, ftol=1e-10)
    return parts(found.x)[0].ravel()


def _regular(mechanism: Mechanism, sigma: Floats) -> Floats:
    """(n, 4, 4) pseudo-inertias, widened by a thousandth where they are those of a point, of a rod or of nothing."""
    mass = sigma[:, 3, 3]
    lengths = np.linalg.norm(mechanism.p, axis=1)
    reach = float(lengths[lengths > 0.0].mean()) if lengths.any() else 0.1
    weight = np.maximum(mass, 1e-3 * max(float(mass.sum()), 1e-3))
    regular = sigma.copy()
    for j, body in enumerate(regular):
        size = np.sqrt(np.maximum(np.diag(body), 1e-300))
        if np.linalg.eigvalsh(body / np.outer(size, size))[0] < 1e-6:
            spread = max(float(np.trace(body[:3, :3])), 0.1 * weight[j] * reach**2)
            body += 1e-3 * np.diag([spread, spread, spread, weight[j]])
    return np.asarray(regular)


def _drive_scales(drives: Floats) -> Floats:
    """(n, 3) sizes of Ia, Fv and Fs: the prior's, or where there is none the largest of its kind, or 1."""
    largest = drives.max(axis=0)
    return np.where(drives > 0.0, drives, np.where(largest > 0.0, largest, 1.0))


def with_parameters(mechanism: Mechanism, chi: Floats) -> Mechanism:
    """The mechanism with other standard parameters (13 n,)."""
    table = np.asarray(chi, float).reshape(mechanism.n, WIDTH)
    rows, columns = np.triu_indices(3)
    J = np.zeros((mechanism.n, 3, 3))
    J[:, rows, columns] = J[:, columns, rows] = table[:, :6]
    return replace(
        mechanism, J=J, MS=table[:, 6:9].copy(), M=table[:, 9].copy(),
        Ia=table[:, IA].copy(), Fv=table[:, FV].copy(), Fs=table[:, FS].copy(),
    )  # fmt: skip
