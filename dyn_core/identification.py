"""Identification of a robot's parameters from a recorded motion.

Positions are filtered without phase shift and differentiated where speeds or accelerations were not recorded. The
samples of tau = Y[:, columns] beta make an overdetermined linear system in the base parameters beta, which weighted
least squares solve, each joint's equations weighted by the inverse of its own residual (Gautier). Standard parameters
are then found that a real robot can have, reproduce beta, and stay near the ones known before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.optimize import least_squares
from scipy.signal import butter, sosfiltfilt

from .errors import InputError
from .mechanism import Floats, Mechanism
from .motion_log import MotionLog
from .pseudo_inertia import from_log_cholesky, inertial_parameters, pseudo_inertia
from .robot import Robot
from .tree.base_parameters import BaseParameters
from .tree.regressor import FS, FV, IA, INERTIAL, WIDTH

FILTER_ORDER = 4
MOST_GAPS = 10
"""How many times as many evenly spaced samples a log may become as it has uneven ones."""
CHUNK = 10_000
"""Samples whose whole regressor is in memory at a time."""
REWEIGHTINGS = 4
RANK = 1e-9
POOR = 30.0
"""A relative standard deviation (%) above which a parameter counts as poorly known."""
PRIOR = 1.0
"""How far, relative to itself, the prior is trusted (standard deviation) where the motion does not tell better."""


@dataclass(frozen=True)
class Samples:
    """m samples of a motion with all its derivatives, ready for the regressor."""

    t: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    rate: float
    """Hz."""
    cutoff: float | None
    """Hz of the low-pass filter; None: recorded speeds and accelerations were taken as they are."""
    notes: tuple[str, ...] = ()


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
        return tuple(
            "not excited"
            if not np.isfinite(std)
            else "near 0"
            if relative > 50.0
            else "poor"
            if relative > POOR
            else "ok"
            for std, relative in zip(self.std, self.relative_std, strict=True)
        )

    @property
    def physical(self) -> Floats:
        """(b,) base parameters of the standard parameters chi."""
        return self.base.values(self.chi)

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        rows = zip(
            self.base.names, self.base.expressions(), self.prior, self.beta, self.std, self.relative_std,
            self.physical, self.verdicts, strict=True,
        )  # fmt: skip
        return {
            "samples": self.count,
            "rate": self.samples.rate,
            "cutoff": self.samples.cutoff,
            "condition": _json(self.condition),
            "notes": list(self.samples.notes),
            "parameters": [
                {
                    "name": name, "group": group, "prior": float(prior), "value": float(value), "std": _json(std),
                    "relative_std_percent": _json(relative), "physical": float(physical), "verdict": verdict,
                }
                for name, group, prior, value, std, relative, physical, verdict in rows
            ],
            "no_effect": list(self.base.no_effect),
            "rms": {name: values.tolist() for name, values in self.rms.items()},
        }  # fmt: skip


def _json(x: float) -> float | None:
    return float(x) if np.isfinite(x) else None


# from a log to samples


def prepare(robot: Robot, log: MotionLog, cutoff: float | None = None) -> Samples:
    """Uniform samples with speeds, accelerations and joint forces.

    Without recorded speeds and accelerations, or with a cutoff (Hz) given, positions pass a Butterworth filter forwards
    and backwards, and a spline of degree five gives what is missing. The cutoff, where not given, is five times the
    highest frequency at which the motion stands above the noise.
    """
    if log.q.shape[1] != robot.n:
        raise InputError(f"{log.source}: {log.q.shape[1]} joints, {robot.name} has {robot.n}")
    if log.qd is not None and log.qdd is not None and cutoff is None:
        rate = (len(log.t) - 1) / (log.t[-1] - log.t[0])
        return Samples(log.t, log.q, log.qd, log.qdd, _forces(robot, log, log.qd), float(rate), None)
    notes = []
    log, resampled = _uniform(log)
    if resampled:
        notes.append("the times are not evenly spaced: the motion was interpolated onto even ones")
    rate = (len(log.t) - 1) / (log.t[-1] - log.t[0])
    if cutoff is None:
        cutoff = _bandwidth(log.q, rate)
    lowest, highest = rate / len(log.t), rate / 2.0
    if not lowest <= cutoff < highest:
        raise InputError(
            f"the cutoff must lie between one period in the whole log, {lowest:g} Hz, and half the sampling rate,"
            f" {highest:g} Hz, found {cutoff:g}"
        )
    q = _filtered(log.q, cutoff, rate)
    if log.qd is None:
        spline = make_interp_spline(log.t, q, k=5)
        qd = spline.derivative(1)(log.t)
        qdd = spline.derivative(2)(log.t)
    else:
        qd = _filtered(log.qd, cutoff, rate)
        qdd = make_interp_spline(log.t, qd, k=5).derivative(1)(log.t)
    if log.qdd is not None:
        qdd = _filtered(log.qdd, cutoff, rate)
    tau = _forces(robot, log, qd)
    return Samples(log.t, q, qd, qdd, tau, float(rate), float(cutoff), tuple(notes))


def _forces(robot: Robot, log: MotionLog, qd: Floats) -> Floats:
    """Joint forces less those of springs."""
    tau = log.tau if log.tau is not None else robot.actuation.torques(log.v, qd)[0]
    springs = robot.mechanism.springs
    return tau if springs is None else tau - springs.K * (log.q - springs.rest)


def _uniform(log: MotionLog) -> tuple[MotionLog, bool]:
    steps = np.diff(log.t)
    if np.abs(steps - steps.mean()).max() < 0.01 * steps.mean():
        return log, False
    step = float(np.median(steps))
    if (log.t[-1] - log.t[0]) / step > MOST_GAPS * len(log.t):
        raise InputError(
            f"{log.source}: {len(log.t)} samples over {log.t[-1] - log.t[0]:g} s, most of them {step:g} s apart, leave"
            " gaps too long to be filled; cut the log where it pauses"
        )
    t = np.arange(log.t[0], log.t[-1], step)
    arrays = {
        name: make_interp_spline(log.t, value, k=3)(t)
        for name in ("q", "qd", "qdd", "tau", "v")
        if (value := getattr(log, name)) is not None
    }
    return replace(log, t=t, **arrays), True


def _bandwidth(q: Floats, rate: float) -> float:
    """Five times the highest frequency (Hz) whose amplitude stands ten times above the noise of the upper half."""
    window = np.hanning(len(q))[:, None]
    line = np.linspace(0.0, 1.0, len(q))[:, None]
    spectrum = np.abs(np.fft.rfft((q - q[0] - line * (q[-1] - q[0])) * window, axis=0))
    frequency = np.fft.rfftfreq(len(q), 1.0 / rate)
    noise = np.median(spectrum[len(spectrum) // 2 :], axis=0)
    clear = (spectrum > 10.0 * noise).any(axis=1)
    highest = float(frequency[clear].max(initial=0.0))
    return float(np.clip(5.0 * highest, 10.0 * rate / len(q), 0.4 * rate))


def _filtered(x: Floats, cutoff: float, rate: float) -> Floats:
    """Zero-phase low-pass along the first axis."""
    sos = butter(FILTER_ORDER, cutoff, fs=rate, output="sos")
    pad = min(len(x) - 1, int(3 * rate / cutoff))
    return np.asarray(sosfiltfilt(sos, x, axis=0, padlen=pad))


def linear_system(robot: Robot, samples: Samples, base: BaseParameters) -> tuple[Floats, Floats]:
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
    W = _filtered(W.reshape(len(tau), -1), samples.cutoff, samples.rate).reshape(W.shape)
    return W[keep], _filtered(tau, samples.cutoff, samples.rate)[keep]


# least squares


def identify(
    robot: Robot,
    log: MotionLog,
    cutoff: float | None = None,
    fixed: Floats | None = None,
) -> Identification:
    """Fit a robot's base parameters to a recorded motion, and physical standard parameters to those.

    fixed (n, 10): inertial parameters that each body has for certain (links welded to it); the rest is found.
    """
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
        fit = _solve(A / sigma[:, None, None], y / sigma[:, None], prior)
        error = np.linalg.norm(y - A @ fit.beta, axis=1)
        sigma = np.maximum(error / np.sqrt(m - b / n), floor)
    fit = _solve(A / sigma[:, None, None], y / sigma[:, None], prior)
    found = physical_parameters(robot.mechanism, chi, base, fit.beta, fit.information, fixed)

    def rms(beta: Floats) -> Floats:
        return np.asarray(np.linalg.norm(y - A @ beta, axis=1) / np.sqrt(m))

    return Identification(
        base=base,
        beta=fit.beta,
        prior=prior,
        std=fit.std,
        information=fit.information,
        sigma=sigma,
        condition=fit.condition,
        chi=found,
        rms={
            "torque": rms_torque,
            "prior": rms(prior),
            "base": rms(fit.beta),
            "physical": rms(base.values(found)),
        },
        samples=samples,
        count=m,
    )


@dataclass(frozen=True)
class _Fit:
    beta: Floats
    std: Floats
    information: Floats
    condition: float


def _solve(equations: Floats, right: Floats, prior: Floats) -> _Fit:
    """Least squares of equations with errors of size one; directions that the data do not show keep the prior."""
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
    return _Fit(beta, np.where(hidden, np.inf, std), information, float(s[0] / s[-1]) if s[-1] > 0.0 else float("inf"))


# standard parameters


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
        return np.concatenate([KR @ parts(x)[0].ravel() - target, (x - known) / PRIOR])

    def jacobian(x: Floats) -> Floats:
        J = np.zeros((b + len(x), len(x)))
        J[b:] = np.eye(len(x)) / PRIOR
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
