"""The equations tau = W beta of a prepared motion, and the delay between forces and positions."""

from __future__ import annotations

import math

import numpy as np
from scipy.interpolate import make_interp_spline

from dyn_core.arrays import Bools, Floats, Ints
from dyn_core.dynamics.parameters.regressor import FS, WIDTH
from dyn_core.robots.tree_robot import TreeRobot

from .regression import Regression
from .signals import Samples, filtered

CHUNK = 10_000
"""Samples whose whole regressor is in memory at a time."""
LONGEST_DELAY = 0.05
"""s."""
EDGE = 2.0
"""Periods of the cutoff that each end of a piece loses."""
BANDWIDTH = math.pi / 8.0 / math.sin(math.pi / 8.0) * (1.0 - 1.0 / 8.0)
"""Noise that a Butterworth filter of order 4, used forwards and backwards, passes, in parts of its cutoff."""
STANDING = 0.05
"""A row counts for a joint whose direction of motion is unknown for less than this part of the filter's time."""
WORTH = 0.05
"""A delay is compensated where it lowers the weighted squared error by this part at least."""


class LinearSystem:
    """W (m, n, k) and tau (m, n) with tau = W x + noise, x being the standard parameters `columns` (k,).

    Where the motion was filtered, both sides pass the same filter, lose their ends, and keep as many samples as the
    filter leaves independent (Gautier's parallel filter and decimation).
    """

    def __init__(self, robot: TreeRobot, samples: Samples, columns: Ints, known: Bools | None) -> None:
        self.samples = samples
        self.whole = np.empty((*samples.tau.shape, len(columns)))
        for start in range(0, len(samples.t), CHUNK):
            part = slice(start, start + CHUNK)
            state = samples.q[part], samples.qd[part], samples.qdd[part]
            self.whole[part] = robot.regressor(*state)[..., columns]
        for k, column in enumerate(columns.tolist()):
            if column % WIDTH == FS:
                j = column // WIDTH
                self.whole[:, j, k] = samples.direction(samples.qd[:, j], samples.qdd[:, j])
        self.W, self.tau, self.t = self.kept(self.whole), self.kept(samples.tau), self._rows(samples.t)
        self.use = np.ones(self.tau.shape, np.bool_)
        if samples.still is not None:
            self.use &= self.kept((np.abs(samples.qd) < samples.still).astype(float)) < STANDING
        if known is not None:
            self.use &= known

    @property
    def spread(self) -> float:
        """By which standard deviations grow since the filter passes less noise than the kept rows could hold."""
        return 1.0 if self.samples.cutoff is None else BANDWIDTH**-0.5

    def kept(self, x: Floats) -> Floats:
        """(m, ...) the rows that count of x (all samples, ...), filtered."""
        s = self.samples
        if s.cutoff is None:
            return x
        flat = [filtered(x[piece].reshape(len(x[piece]), -1), s.cutoff, s.rate) for piece in s.pieces]
        rows = self._rows(np.concatenate(flat))
        return rows.reshape(len(rows), *x.shape[1:])

    def _rows(self, x: Floats) -> Floats:
        s = self.samples
        if s.cutoff is None:
            return x
        edge, step = int(EDGE * s.rate / s.cutoff), max(1, math.ceil(s.rate / (2.0 * s.cutoff)))
        return np.concatenate([x[piece][edge:-edge:step] for piece in s.pieces])

    def delayed(self, delay: float) -> Floats:
        """(m, n) the forces recorded `delay` seconds after each row."""
        s = self.samples
        rows = []
        for piece in s.pieces:
            t, tau = s.t[piece], s.tau[piece]
            assert s.cutoff is not None
            smooth = make_interp_spline(t, filtered(tau, s.cutoff, s.rate), k=3)
            rows.append(smooth(np.clip(t + delay, t[0], t[-1])))
        return self._rows(np.concatenate(rows))

    def delay(self, prior: Floats, step: float) -> float:
        """By how much (s) the forces were recorded after the positions; 0 where no delay helps. step: s, the log's.

        Filtered motions only: between samples that were not, interpolation alone would lower the noise.
        """
        if self.samples.cutoff is None:
            return 0.0
        columns = np.arange(self.W.shape[-1])
        regression = Regression(self.W, self.tau, self.use)
        _, sigma = regression.fit(columns, np.ones(len(regression.held), np.bool_), prior)
        weights = self.use / sigma
        A = (self.W * weights[..., None]).reshape(-1, len(columns))
        A = np.column_stack([A, *np.moveaxis((weights[..., None] * np.eye(len(sigma))).reshape(len(A), -1), 1, 0)])
        norms = np.linalg.norm(A, axis=0)
        U, s, _ = np.linalg.svd(A[:, norms > 0.0] / norms[norms > 0.0], full_matrices=False)
        U = U[:, s > 1e-8 * s[0]]

        def error(delay: float) -> float:
            y = (self.delayed(delay) * weights).ravel()
            return float(y @ y - np.sum((U.T @ y) ** 2))

        longest = min(LONGEST_DELAY, 15.0 * step)
        grid = np.linspace(-longest, longest, 31)
        errors = np.array([error(d) for d in grid])
        k = int(errors.argmin())
        if not 0 < k < len(grid) - 1:
            return 0.0
        before, at, after = errors[k - 1 : k + 2]
        best = float(grid[k] + 0.5 * (grid[1] - grid[0]) * (before - after) / max(before - 2.0 * at + after, 1e-300))
        floor = regression.floor**2 * self.use.sum() / float(sigma.min()) ** 2
        return best if error(best) + floor < (1.0 - WORTH) * (errors[15] + floor) else 0.0
