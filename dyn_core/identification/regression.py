"""Weighted least squares of tau = W x, each joint's equations weighted by the inverse of its own residual (Gautier).

The products of the equations are kept apart by blocks of time, so that fits to some blocks can be tried on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dyn_core.arrays import Bools, Floats, Ints

REWEIGHTINGS = 4
RANK = 1e-9
RIDGE = 1e-11
FLOOR = 1e-6
"""Residuals below this part of the largest torque are not told apart."""
BLOCKS, FOLDS, HELD_BACK = 20, 5, 2
"""Blocks of time; every FOLDS-th of them, from HELD_BACK on, is held back."""
CLEAR = 20.0
"""Squared deviations (in standard deviations) from zero of a further term: chance reaches this in one of 100 000."""
LAGS = 6
"""Samples after which errors count as independent."""


@dataclass(frozen=True)
class Solution:
    """Parameters x (p,) with what the data say of them."""

    x: Floats
    std: Floats
    """(p,) standard deviations, inf where the data do not show a parameter apart from others."""
    information: Floats
    """(p, p) R with |R (x - z)|^2 the weighted squared error that the data give to parameters z."""
    sigma: Floats
    """(n,) standard deviation of each joint's residual."""
    condition: float
    """Condition number of the weighted equations with columns of length one."""


class Regression:
    """Equations W (m, n, p), tau (m, n) of which `use` (m, n) count."""

    def __init__(self, W: Floats, tau: Floats, use: Bools) -> None:
        self.W, self.tau, self.use = W, tau, use
        m, n, p = W.shape
        self.block: Ints = np.minimum(np.arange(m) * BLOCKS // max(m, 1), BLOCKS - 1)
        self.held = np.arange(BLOCKS) % FOLDS == HELD_BACK
        self.counts = np.array([use[self.block == k].sum(axis=0) for k in range(BLOCKS)], float)
        self.floor = FLOOR * max(float(np.sqrt((tau**2).mean(axis=0)).max(initial=0.0)), 1e-12)
        self.products = np.empty((BLOCKS, n, p + 1, p + 1))
        for k in range(BLOCKS):
            rows = self.block == k
            for j in range(n):
                X = np.column_stack([W[rows, j], tau[rows, j]])[use[rows, j]]
                self.products[k, j] = X.T @ X

    def fit(self, columns: Ints, blocks: Bools, prior: Floats) -> tuple[Floats, Floats]:
        """x (k,) of these columns by these blocks, and sigma (n,); what they do not show keeps the prior (k,)."""
        sums, counts = self.products[blocks].sum(axis=0), self.counts[blocks].sum(axis=0)
        A, y = sums[:, columns[:, None], columns], sums[:, columns, -1]
        sigma = np.ones(len(sums))
        for _ in range(REWEIGHTINGS):
            weights = sigma**-2
            G, g = np.tensordot(weights, A, 1), weights @ y
            scale = np.sqrt(np.maximum(np.diag(G), 1e-300))
            lower = cho_factor(G / np.outer(scale, scale) + RIDGE * np.eye(len(scale)))
            x = prior + cho_solve(lower, (g - G @ prior) / scale) / scale
            squares = self.squares(x, columns, blocks)
            sigma = np.maximum(np.sqrt(squares / np.maximum(counts - len(x) / len(sums), 1.0)), self.floor)
        return x, sigma

    def squares(self, x: Floats, columns: Ints, blocks: Bools) -> Floats:
        """(n,) sums of squared errors of x in these blocks."""
        sums = self.products[blocks].sum(axis=0)
        v = np.zeros(sums.shape[-1])
        v[columns], v[-1] = x, -1.0
        return np.asarray(np.maximum(np.einsum("p,jpq,q->j", v, sums, v), 0.0))

    def cross_validated(self, columns: Ints, prior: Floats) -> Floats:
        """(n,) mean squared errors in each fold of the blocks not held back, by fits to the others."""
        total, counts = np.zeros(self.tau.shape[1]), np.zeros(self.tau.shape[1])
        for fold in range(FOLDS):
            test = (np.arange(BLOCKS) % FOLDS == fold) & ~self.held
            if test.any():
                x, _ = self.fit(columns, ~test & ~self.held, prior)
                total += self.squares(x, columns, test)
                counts += self.counts[test].sum(axis=0)
        return total / np.maximum(counts, 1.0) + self.floor**2

    def chosen(self, always: int, groups: Sequence[str], prior: Floats, worth: float) -> Ints:
        """Columns: the first `always`, and those of the others that lower the cross-validated error.

        Each must lower the sum over the joints of the logarithm of the mean squared error by `worth` at least. Of
        columns of the same group, one is taken at most; groups has one entry per further column.
        """
        columns, p = np.arange(always), self.W.shape[-1]
        others = list(range(always, p))
        best = float(np.log(self.cross_validated(columns, prior[columns])).sum())
        while others:
            promise = self._promise(columns, prior)
            tried = sorted((c for c in others if promise[c] > CLEAR), key=promise.__getitem__, reverse=True)[:3]
            if not tried:
                break
            scores = {}
            for c in tried:
                more = np.append(columns, c)
                scores[c] = float(np.log(self.cross_validated(more, prior[more])).sum())
            first = min(scores, key=scores.__getitem__)
            if scores[first] > best - worth:
                break
            columns, best = np.append(columns, first), scores[first]
            others = [c for c in others if groups[c - always] != groups[first - always]]
        return columns

    def _promise(self, columns: Ints, prior: Floats) -> Floats:
        """(p,) how much each column would lower the weighted squared error of the blocks not held back."""
        x, sigma = self.fit(columns, ~self.held, prior[columns])
        G = np.tensordot(sigma**-2, self.products[~self.held].sum(axis=0), 1)
        inner = G[np.ix_(columns, columns)]
        scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
        lower = cho_factor(inner / np.outer(scale, scale) + RIDGE * np.eye(len(scale)))
        across = G[columns, :-1] / scale[:, None]
        left = np.diag(G)[:-1] - np.einsum("cp,cp->p", across, cho_solve(lower, across))
        slope = G[:-1, -1] - G[:-1, columns] @ x
        promise = np.where(left > 1e-6 * np.diag(G)[:-1], slope**2 / np.maximum(left, 1e-300), 0.0)
        return np.asarray(promise)

    def solve(self, columns: Ints, prior: Floats) -> Solution:
        """The fit to all blocks, by singular values; directions that the data do not show keep the prior."""
        _, sigma = self.fit(columns, np.ones(BLOCKS, np.bool_), prior)
        for _ in range(REWEIGHTINGS):
            found = self._solve(columns, prior, sigma)
            counts = np.maximum(self.counts.sum(axis=0) - len(columns) / len(sigma), 1.0)
            error = (self.tau - self.W[..., columns] @ found.x) * self.use
            sigma = np.maximum(np.sqrt((error**2).sum(axis=0) / counts), self.floor)
        return self._solve(columns, prior, sigma)

    def _solve(self, columns: Ints, prior: Floats, sigma: Floats) -> Solution:
        weights = self.use / sigma
        A = (self.W[..., columns] * weights[..., None]).reshape(-1, len(columns))
        y = (self.tau * weights).ravel()
        R = np.asarray(np.linalg.qr(np.column_stack([A, y]), mode="r"))
        scale = np.linalg.norm(R[:, :-1], axis=0)
        scale[scale == 0.0] = 1.0
        U, s, Vt = np.linalg.svd(R[:, :-1] / scale, full_matrices=False)
        shown = s > RANK * s[0]
        V = Vt[shown].T
        x = prior + (V @ ((U[:, shown].T @ (R[:, -1] - R[:, :-1] @ prior)) / s[shown])) / scale
        inverse = (V / s[shown] ** 2) @ V.T / np.outer(scale, scale)
        scores = ((A * (y - A @ x)[:, None]).reshape(*self.tau.shape, -1)).sum(axis=1)
        variance = np.maximum(np.diag(inverse), np.diag(inverse @ _long_run(scores) @ inverse))
        hidden = (Vt[~shown] ** 2).sum(axis=0) > 1e-12
        information = (s * shown)[:, None] * Vt * scale
        condition = float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")
        return Solution(x, np.where(hidden, np.inf, np.sqrt(variance)), information, sigma, condition)


def _long_run(scores: Floats) -> Floats:
    """(p, p) sum of the products of scores (m, p) near each other in time (Newey and West)."""
    total = scores.T @ scores
    for lag in range(1, min(LAGS, len(scores) - 1) + 1):
        near = scores[lag:].T @ scores[:-lag]
        total += (1.0 - lag / (LAGS + 1.0)) * (near + near.T)
    return np.asarray(total)
