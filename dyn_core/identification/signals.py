"""From a recorded motion to evenly spaced samples with speeds, accelerations and joint forces.

Positions are filtered without phase shift and differentiated where speeds or accelerations were not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import butter, sosfiltfilt

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.robots.robot import Robot
from dyn_core.robots.tree_robot import require_tree

from .motion_log import MotionLog

FILTER_ORDER = 4
MOST_GAPS = 10
"""How many times as many evenly spaced samples a log may become as it has uneven ones."""


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
    q = filtered(log.q, cutoff, rate)
    if log.qd is None:
        spline = make_interp_spline(log.t, q, k=5)
        qd = spline.derivative(1)(log.t)
        qdd = spline.derivative(2)(log.t)
    else:
        qd = filtered(log.qd, cutoff, rate)
        qdd = make_interp_spline(log.t, qd, k=5).derivative(1)(log.t)
    if log.qdd is not None:
        qdd = filtered(log.qdd, cutoff, rate)
    tau = _forces(robot, log, qd)
    return Samples(log.t, q, qd, qdd, tau, float(rate), float(cutoff), tuple(notes))


def _forces(robot: Robot, log: MotionLog, qd: Floats) -> Floats:
    """Joint forces less those of springs, and of springs and dampers between links."""
    tau = log.tau if log.tau is not None else robot.actuation.torques(log.v, qd)[0]
    if robot.mechanism.springs is None and not robot.mechanism.spring_dampers:
        return tau
    tree, rest = require_tree(robot, "parameters"), np.zeros_like(qd)
    rigid = tree.regressor(log.q, qd, rest) @ tree.standard_parameters
    return tau - (tree.inverse_dynamics(log.q, qd, rest) - rigid)


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


def filtered(x: Floats, cutoff: float, rate: float) -> Floats:
    """Zero-phase low-pass along the first axis."""
    sos = butter(FILTER_ORDER, cutoff, fs=rate, output="sos")
    pad = min(len(x) - 1, int(3 * rate / cutoff))
    return np.asarray(sosfiltfilt(sos, x, axis=0, padlen=pad))
