"""Identification of a robot's parameters from a recorded motion.

The samples of tau = Y[:, columns] beta make an overdetermined linear system in the base parameters beta, which weighted
least squares solve, each joint's equations weighted by the inverse of its own residual (Gautier). Standard parameters
are then found that a real robot can have, reproduce beta, and stay near the ones known before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.parameters.base_parameters import BaseParameters
from dyn_core.errors import InputError
from dyn_core.robots.robot import Robot
from dyn_core.robots.tree_robot import TreeRobot, require_tree

from .motion_log import MotionLog
from .physical_parameters import physical_parameters
from .signals import Samples, filtered, prepare

CHUNK = 10_000
"""Samples whose whole regressor is in memory at a time."""
REWEIGHTINGS = 4
RANK = 1e-9
POOR = 30.0
"""A relative standard deviation (%) above which a parameter counts as poorly known."""


@dataclass(frozen=True)
class Identification:
    """What a motion tells of a robot. b base parameters, n joints."""

    base: BaseParameters
    beta: Floats
    """(b,) identified base parameters."""
    prior: Floats
    """(b,) those of the robot as described."""
    std: Floats
    """(b,) standard deviations, inf where the motion does not show a parameter apart from others."""
    information: Floats
    """(b, b) R with |R (beta - x)|^2 the weighted squared error that the data give to parameters x."""
    sigma: Floats
    """(n,) standard deviation of each joint's residual, N m or N."""
    condition: float
    """Condition number of the weighted regressor with columns of length one."""
    chi: Floats
    """(13 n,) standard parameters that a real robot can have."""
    rms: dict[str, Floats]
    """(n,) root mean square torque errors of: `prior`, `base` (beta), `physical` (chi); and `torque` itself."""
    samples: Samples
    count: int
    """Samples per joint after the filter."""

    @property
    def relative_std(self) -> Floats:
        """(b,) %, inf where a parameter is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.beta == 0.0, np.inf, 100.0 * self.std / np.abs(self.beta))

    @property
    def verdicts(self) -> tuple[str, ...]:
        """(b,) `ok`, `poor` (relative standard deviation above 30 %), `near 0` (by two of them), or `not excited`."""
        relative = self.relative_std
        found = np.select(
            [~np.isfinite(self.std), relative > 50.0, relative > POOR], ["not excited", "near 0", "poor"], "ok"
        )
        return tuple(found.tolist())

    @property
    def physical(self) -> Floats:
        """(b,) base parameters of the standard parameters chi."""
        return self.base.values(self.chi)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        columns: dict[str, Sequence[Any]] = {
            "name": self.base.names,
            "group": self.base.expressions(),
            "prior": self.prior.tolist(),
            "value": self.beta.tolist(),
            "std": [_json(x) for x in self.std],
            "relative_std_percent": [_json(x) for x in self.relative_std],
            "physical": self.physical.tolist(),
            "verdict": self.verdicts,
        }
        return {
            "samples": self.count,
            "rate": self.samples.rate,
            "cutoff": self.samples.cutoff,
            "condition": _json(self.condition),
            "notes": list(self.samples.notes),
            "parameters": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "no_effect": list(self.base.no_effect),
            "rms": {name: values.tolist() for name, values in self.rms.items()},
        }


def _json(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


def linear_system(robot: TreeRobot, samples: Samples, base: BaseParameters) -> tuple[Floats, Floats]:
    """W (m, n, b) and tau (m, n) with tau = W beta + noise.

    Where the motion was filtered, both sides pass the same filter, lose their ends, and keep as many samples as the
    filter leaves independent (Gautier's parallel filter and decimation).
    """
    tau = samples.tau
    W = np.empty((*tau.shape, len(base.columns)))
    for start in range(0, len(tau), CHUNK):
        part = slice(start, start + CHUNK)
        W[part] = robot.regressor(samples.q[part], samples.qd[part], samples.qdd[part])[..., base.columns]
    if samples.cutoff is None:
        return W, tau
    edge, step = int(samples.rate / samples.cutoff), max(1, int(samples.rate / (2.0 * samples.cutoff)))
    keep = slice(edge, len(tau) - edge, step)
    W = filtered(W.reshape(len(tau), -1), samples.cutoff, samples.rate).reshape(W.shape)
    return W[keep], filtered(tau, samples.cutoff, samples.rate)[keep]


def identify(robot: Robot, log: MotionLog, cutoff: float | None = None, fixed: Floats | None = None) -> Identification:
    """Fit a robot's base parameters to a recorded motion, and physical standard parameters to those.

    fixed (n, 10): inertial parameters that each body has for certain (links welded to it); the rest is found.
    """
    robot = require_tree(robot, "base parameters")
    base = robot.base_parameters()
    samples = prepare(robot, log, cutoff)
    W, tau = linear_system(robot, samples, base)
    m, n, b = W.shape
    if m < 2 * b:
        raise InputError(f"{log.source}: {m} samples after the filter are too few for {b} base parameters")
    chi = robot.standard_parameters
    prior = base.values(chi)
    rms_torque = np.sqrt((tau**2).mean(axis=0))
    floor = 1e-6 * max(float(rms_torque.max()), 1e-12)
    reduced = np.array([np.linalg.qr(np.column_stack([W[:, j], tau[:, j]]), mode="r") for j in range(n)])
    A, y = reduced[..., :-1], reduced[..., -1]  # |A_j x - y_j| = |W_j x - tau_j| for every x, in few rows
    sigma = np.ones(n)
    for _ in range(REWEIGHTINGS):
        beta = _solve(A / sigma[:, None, None], y / sigma[:, None], prior)[0]
        error = np.linalg.norm(y - A @ beta, axis=1)
        sigma = np.maximum(error / np.sqrt(m - b / n), floor)
    beta, std, information, condition = _solve(A / sigma[:, None, None], y / sigma[:, None], prior)
    found = physical_parameters(robot.mechanism, chi, base, beta, information, fixed)
    compared = {"prior": prior, "base": beta, "physical": base.values(found)}
    rms = {name: np.linalg.norm(y - A @ each, axis=1) / np.sqrt(m) for name, each in compared.items()}
    rms = {"torque": rms_torque, **rms}
    return Identification(base, beta, prior, std, information, sigma, condition, found, rms, samples, m)


def _solve(equations: Floats, right: Floats, prior: Floats) -> tuple[Floats, Floats, Floats, float]:
    """Least squares of equations with errors of size one; directions that the data do not show keep the prior.

    Returns beta, its standard deviations, the information and the condition number, as in `Identification`.
    """
    A, y = equations.reshape(-1, equations.shape[-1]), right.ravel()
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = 1.0
    U, s, Vt = np.linalg.svd(A / scale, full_matrices=False)
    shown = s > RANK * s[0]
    V = Vt[shown].T
    beta = prior + (V @ ((U[:, shown].T @ (y - A @ prior)) / s[shown])) / scale
    std = np.sqrt(((V / s[shown]) ** 2).sum(axis=1)) / scale
    hidden = (Vt[~shown] ** 2).sum(axis=0) > 1e-12
    information = (s * shown)[:, None] * Vt * scale
    condition = float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf")
    return beta, np.where(hidden, np.inf, std), information, condition
