"""From a recorded motion to evenly spaced samples with speeds, accelerations and joint forces.

Positions are filtered without phase shift and differentiated where speeds or accelerations were not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.robots.robot import Robot
from dyn_core.robots.tree_robot import require_tree

from .motion_log import MotionLog
from .repair import encoder_steps, repaired

FILTER_ORDER = 4
OVERSAMPLING = 50.0
"""Samples per period of the cutoff that are kept of a faster log."""
MOTION = 0.999
"""Share of the kinetic energy below the frequency that counts as the motion's highest."""
MARGIN, LEAST_MARGIN = 5.0, 2.0
"""Cutoff in parts of the motion's highest frequency: where noise allows it, and at least."""
FASTER = 3.0
"""A joint that seems to move faster than the median joint by more than this is taken for one of coarse steps."""
NOISY = 0.05
"""Share of the accelerations that noise may be."""
SLOW = 1e-3
"""Part of a joint's largest speed below which the direction of motion counts as unknown."""
DISAGREEMENT = 0.1
"""Recorded speeds that differ from the positions' derivative by more than this part are not used."""
STENCIL = np.array([1.0, -9.0, 45.0, 0.0, -45.0, 9.0, -1.0]) / 60.0
"""Central difference of sixth order, as a convolution."""


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
    starts: tuple[int, ...] = (0,)
    """Where each piece without gaps begins."""
    still: Floats | None = None
    """(n,) the speed below which noise hides the direction of motion; None: every direction is known."""

    def direction(self, speed: Floats, acceleration: Floats) -> Floats:
        """sign(speed); of filtered motions its mean over the time of a sample, so that reversals fall between them."""
        if self.cutoff is None:
            return np.sign(speed)
        change = np.abs(acceleration) / self.rate
        return np.asarray(np.clip(2.0 * speed / np.maximum(change, 1e-300), -1.0, 1.0))

    @property
    def pieces(self) -> list[slice]:
        """The rows of each piece without gaps."""
        return [slice(*pair) for pair in pairwise([*self.starts, len(self.t)])]


def prepare(robot: Robot, log: MotionLog, cutoff: float | None = None) -> Samples:
    """Uniform samples with speeds, accelerations and joint forces.

    Without recorded speeds and accelerations, or with a cutoff (Hz) given, positions pass a Butterworth filter forwards
    and backwards, and central differences give what is missing. See `chosen_cutoff` for the cutoff where not given.
    """
    if log.q.shape[1] != robot.n:
        raise InputError(f"{log.source}: {log.q.shape[1]} joints, {robot.name} has {robot.n}")
    if log.qd is not None and log.qdd is not None and cutoff is None and (np.diff(log.t) > 0.0).all():
        rate = (len(log.t) - 1) / (log.t[-1] - log.t[0])
        return Samples(log.t, log.q, log.qd, log.qdd, _forces(robot, log, log.qd), float(rate), None)
    steps = encoder_steps(log.q)
    pieces, notes = repaired(log)
    step = float(np.median(np.concatenate([np.diff(piece.t) for piece in pieces])))
    even = [_even(piece, step) for piece in pieces]
    if any(resampled for _, resampled in even):
        notes.append("the times are not evenly spaced: the motion was interpolated onto even ones")
    pieces, rate = [piece for piece, _ in even], 1.0 / step
    longest = max(pieces, key=lambda piece: len(piece.t))
    noise = _noise(longest.q, rate, steps)
    if (rounded := steps > 0.0).any():
        notes.append(f"positions are rounded to steps of {steps[rounded].min():.3g} to {steps.max():.3g}")
    if cutoff is None:
        cutoff = chosen_cutoff(longest.q, rate, noise)
    lowest, highest = rate / len(longest.t), rate / 2.0
    if not lowest <= cutoff < highest:
        raise InputError(
            f"the cutoff must lie between one period in the whole log, {lowest:g} Hz, and half the sampling rate,"
            f" {highest:g} Hz, found {cutoff:g}"
        )
    fewest = int(6.0 * rate / cutoff)
    if len(kept := [piece for piece in pieces if len(piece.t) > fewest]) < len(pieces):
        notes.append(f"{len(pieces) - len(kept)} pieces of the log are too short for the filter: left out")
    if not kept:
        raise InputError(f"{log.source}: no piece of it is longer than six periods of the filter, {fewest} samples")
    thinned = [_thinned(piece, rate, cutoff) for piece in kept]
    rate = thinned[0][1]
    ready = [_derived(robot, piece, rate, cutoff, notes) for piece, _ in thinned]
    lengths = [len(each[0]) for each in ready]
    t, q, qd, qdd, tau = (np.concatenate(arrays) for arrays in zip(*ready, strict=True))
    still = np.maximum(3.0 * np.sqrt(noise * (2.0 * np.pi) ** 2 * cutoff**3 / 3.0), SLOW * np.abs(qd).max(axis=0))
    starts = tuple(np.cumsum([0, *lengths[:-1]]).tolist())
    return Samples(t, q, qd, qdd, tau, rate, float(cutoff), tuple(dict.fromkeys(notes)), starts, still)


def _derived(
    robot: Robot, piece: MotionLog, rate: float, cutoff: float, notes: list[str]
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    q = filtered(piece.q, cutoff, rate)
    qd, qdd = derivative(q, rate), None
    if piece.qd is not None:
        recorded = filtered(piece.qd, cutoff, rate)
        if np.linalg.norm(recorded - qd) > DISAGREEMENT * np.linalg.norm(qd):
            notes.append("the recorded speeds are not the positions' derivative: not used")
        else:
            qd = recorded
            qdd = None if piece.qdd is None else filtered(piece.qdd, cutoff, rate)
    return piece.t, q, qd, derivative(qd, rate) if qdd is None else qdd, _forces(robot, piece, qd)


def _forces(robot: Robot, log: MotionLog, qd: Floats) -> Floats:
    """Joint forces less those of springs, and of springs and dampers between links."""
    tau = log.tau if log.tau is not None else robot.described_motors.torques(log.v, qd)[0]
    if robot.mechanism.springs is None and not robot.mechanism.spring_dampers:
        return tau
    tree, rest = require_tree(robot, "parameters"), np.zeros_like(qd)
    rigid = tree.regressor(log.q, qd, rest) @ tree.standard_parameters
    return tau - (tree.inverse_dynamics(log.q, qd, rest) - rigid)


def _even(log: MotionLog, step: float) -> tuple[MotionLog, bool]:
    """The log at even times `step` apart, and whether they were uneven."""
    steps = np.diff(log.t)
    if np.abs(steps - step).max() < 0.01 * step:
        return log, False
    t = np.arange(log.t[0], log.t[-1], step)
    return log.changed(t, lambda _, x: np.asarray(make_interp_spline(log.t, x, k=1)(t))), True


def _thinned(log: MotionLog, rate: float, cutoff: float) -> tuple[MotionLog, float]:
    """A log much faster than the filter, at a lower rate."""
    step = int(rate / (OVERSAMPLING * cutoff))
    if step < 2:
        return log, rate
    return log.changed(log.t[::step], lambda _, x: filtered(x, 0.4 * rate / step, rate)[::step]), rate / step


def _spectrum(q: Floats, rate: float) -> tuple[Floats, Floats]:
    """Frequencies (Hz) and one-sided power densities (k, n)."""
    window = np.hanning(len(q))[:, None]
    line = np.linspace(0.0, 1.0, len(q))[:, None]
    amplitude = np.abs(np.fft.rfft((q - q[0] - line * (q[-1] - q[0])) * window, axis=0))
    return np.asarray(np.fft.rfftfreq(len(q), 1.0 / rate)), 2.0 * amplitude**2 / (rate * float((window**2).sum()))


def _noise(q: Floats, rate: float, steps: Floats) -> Floats:
    """(n,) power density of the noise in the positions: of the upper half of the spectrum, or that of rounding.

    Rounding to steps s has the variance s^2 / 12, spread over the frequencies up to that at which steps pass.
    """
    _, power = _spectrum(q, rate)
    floor = np.median(power[len(power) // 2 :], axis=0) / np.log(2.0)
    speed = np.sqrt((np.diff(q, axis=0) ** 2).mean(axis=0)) * rate
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.minimum(rate / 2.0, np.where(steps > 0.0, speed / steps, np.inf))
        rounding = np.where(steps > 0.0, steps**2 / 12.0 / np.maximum(width, rate / len(q)), 0.0)
    return np.asarray(np.maximum(floor, rounding))


def chosen_cutoff(q: Floats, rate: float, noise: Floats) -> float:
    """The cutoff (Hz) for positions q (m, n) with noise of the given power density (n,).

    Below the motion's highest frequency lies 99.9 % of the kinetic energy that stands above the noise. The cutoff is
    five times that, less where noise would be more than 5 % of the accelerations, but at least twice.
    """
    frequency, power = _spectrum(q, rate)
    w = 2.0 * np.pi * frequency[:, None]
    moves = np.ptp(q, axis=0) > 20.0 * np.sqrt(noise * rate / 2.0)
    if not moves.any():
        return float(np.clip(10.0 * rate / len(q), 0.0, 0.4 * rate))
    gained = np.cumsum(w**2 * (power - 2.0 * noise), axis=0)
    energy = np.cumsum(w**2 * (power - noise), axis=0)
    most = gained.argmax(axis=0)  # beyond it, more noise than motion is added
    highest, allowed = [], []
    for j in np.flatnonzero(moves):
        top = int(np.searchsorted(np.maximum.accumulate(energy[: most[j] + 1, j]), MOTION * energy[most[j], j]))
        top = min(max(top, 1), len(frequency) - 1)
        highest.append(frequency[top])
        acceleration = float((w[: top + 1, 0] ** 4 * power[: top + 1, j]).sum() * frequency[1])
        per_cutoff = max(float(noise[j]) * (2.0 * np.pi) ** 4 / 5.0, 1e-300)
        allowed.append((NOISY**2 * acceleration / per_cutoff) ** 0.2)
    top_frequency = min(float(max(highest)), FASTER * float(np.median(highest)))
    cutoff = min(MARGIN * top_frequency, max(LEAST_MARGIN * top_frequency, float(min(allowed))))
    return float(np.clip(cutoff, 10.0 * rate / len(q), 0.4 * rate))


def filtered(x: Floats, cutoff: float, rate: float) -> Floats:
    """Zero-phase low-pass along the first axis."""
    sos = butter(FILTER_ORDER, cutoff, fs=rate, output="sos")
    pad = min(len(x) - 1, int(3 * rate / cutoff))
    return np.asarray(sosfiltfilt(sos, x, axis=0, padlen=pad))


def derivative(x: Floats, rate: float) -> Floats:
    """Central differences of sixth order along the first axis; the ends are continued by their mirror image."""
    reach = len(STENCIL) // 2
    before, after = 2.0 * x[0] - x[reach:0:-1], 2.0 * x[-1] - x[-2 : -2 - reach : -1]
    padded = np.concatenate([before, x, after])
    return rate * np.column_stack([np.convolve(column, STENCIL, mode="valid") for column in padded.T])
