"""From the DAC codes of motor commands to the raw values of real converter channels.

A motor's description says which voltage a code stands for, v = low + code step (``actuation.motors``). A channel of
a real converter puts out, by its own figures, (raw + offset) scale, and as measured

    v = b + a (raw + offset) scale                      a: gain, b: offset of the calibration

so that raw = (v - b) / (a scale) - offset, rounded. A channel that is wired the other way round gets 2 v0 - v in place
of v, where v0 is the voltage at which the motor sees 0 V; the raw value nearest to v0 is the channel's safe code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.arrays import Floats, Ints
from dyn_core.errors import InputError

from .motors import CODES, GAIN, LOW, OFFSET, STEP, V_MAX, volts_of_codes

GAINS = (0.5, 2.0)
"""Gains that a calibration may have; others are a mistake in wiring or measuring."""
LARGEST_OFFSET = 0.1
"""Largest offset of a calibration, in parts of the range that the motor needs."""
REACH = 0.02
"""Part of the range that the motor needs by which a channel may fall short of it."""


@dataclass(frozen=True)
class Calibration:
    """What a channel was measured to put out: volts = offset + gain * volts by its own figures."""

    gain: float = 1.0
    offset: float = 0.0

    @classmethod
    def fit(cls, nominal: Floats, measured: Floats) -> tuple[Calibration, float]:
        """Least squares over at least two different nominal voltages; also the largest residual (V)."""
        x, y = np.asarray(nominal, float), np.asarray(measured, float)
        if x.shape != y.shape or x.ndim != 1 or np.unique(x).size < 2:
            raise InputError("a calibration needs measurements at two different voltages at least")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InputError("a measured voltage is not finite")
        spread = x - x.mean()
        gain = float(spread @ y / (spread @ spread))
        offset = float(y.mean() - gain * x.mean())
        return cls(gain, offset), float(np.abs(offset + gain * x - y).max())


@dataclass(frozen=True)
class Channel:
    """One channel: which joint's motor it drives, and what its converter makes of a raw value."""

    joint: str
    scale: float
    """V per step."""
    offset: float
    """Steps, added to the raw value."""
    lowest: int
    highest: int
    inverted: bool = False
    slew: float = np.inf
    """Largest change of the output, V/s."""
    calibration: Calibration = Calibration()

    def nominal(self, raw: int) -> float:
        """Volts by the converter's own figures."""
        return (raw + self.offset) * self.scale

    def volts(self, raw: int) -> float:
        """Volts as measured."""
        return self.calibration.offset + self.calibration.gain * self.nominal(raw)

    def raw(self, volts: float) -> int:
        """The raw value nearest to a voltage; it may lie outside the channel's range."""
        nominal = (volts - self.calibration.offset) / self.calibration.gain
        return int(np.floor(nominal / self.scale - self.offset + 0.5))


class ChannelMap:
    """The channels of a robot's motors, in its joint order: codes in, raw values out, never faster than allowed.

    It remembers the voltages that are out, so that the slew rate can be kept to.
    """

    def __init__(self, joints: Sequence[str], motors: Floats, channels: Sequence[Channel]) -> None:
        """joints, motors: names and packed records (n, 10) of ``Actuation``; joints without a motor have no channel."""
        by_joint = {channel.joint: channel for channel in channels}
        if len(by_joint) != len(channels):
            twice = next(name for name in by_joint if sum(c.joint == name for c in channels) > 1)
            raise InputError(f"joint {twice} has two channels; give it one")
        driven = [j for j in range(len(joints)) if motors[j, CODES] > 1.0]
        names = [joints[j] for j in driven]
        for name in by_joint:
            if name not in names:
                raise InputError(f"joint {name} has a channel but no motor; those with motors are {', '.join(names)}")
        for name in names:
            if name not in by_joint:
                raise InputError(f"joint {name} has a motor but no channel; add one")
        self.joints = names
        self.index: Ints = np.array(driven)
        """Places of the channels' joints among all joints."""
        self.channels = [by_joint[name] for name in names]
        self._motors = rows = motors[driven]
        self._top = rows[:, CODES] - 1.0
        self._gain, self._limit = rows[:, GAIN], rows[:, V_MAX]
        self._slack = np.abs(rows[:, GAIN]) * rows[:, STEP]
        self.zero = rows[:, OFFSET].copy()
        """Volts of each channel at which its motor sees 0 V."""
        self._mirror = np.array([channel.inverted for channel in self.channels])
        slew = np.array([channel.slew for channel in self.channels])
        self._free, self._slew = np.isinf(slew), np.where(np.isinf(slew), 0.0, slew)
        self._scale = np.array([channel.scale * channel.calibration.gain for channel in self.channels])
        offset = np.array([channel.calibration.offset for channel in self.channels])
        self._shift = np.array([channel.offset for channel in self.channels]) + offset / self._scale
        self._lowest = np.array([channel.lowest for channel in self.channels])
        self._highest = np.array([channel.highest for channel in self.channels])
        self.safe = [channel.raw(zero) for channel, zero in zip(self.channels, self.zero, strict=True)]
        """The raw values at which the motors see 0 V, as nearly as the channels can."""
        for channel, row, safe in zip(self.channels, rows, self.safe, strict=True):
            _check(channel, row, safe)
        self.now = self.zero.copy()
        self.clipped = 0
        """Commands of which a channel could not reach the whole."""

    def motor_volts(self, codes: Floats) -> Floats:
        """V at the motors that codes (n,) of all joints ask for; InputError for a code or voltage beyond a limit."""
        wanted = codes[self.index]
        if not ((wanted >= 0.0) & (wanted <= self._top)).all():
            j = int(np.argmin((wanted >= 0.0) & (wanted <= self._top)))
            raise InputError(f"{self.joints[j]}: DAC code {wanted[j]:g} is not one of 0 to {self._top[j]:g}")
        volts = volts_of_codes(self._motors, wanted)
        over = np.abs(volts) > self._limit + self._slack
        if over.any():
            j = int(np.argmax(over))
            raise InputError(f"{self.joints[j]}: {volts[j]:.4g} V is beyond the motor's limit of {self._limit[j]:g} V")
        return volts

    def step(self, codes: Floats, seconds: float) -> list[int]:
        """Raw values for codes (n,) of all joints, no further from what is out than ``seconds`` allow."""
        volts = self.motor_volts(codes) / self._gain
        wanted = self.zero + np.where(self._mirror, -volts, volts)
        reach = np.where(self._free, np.inf, self._slew * seconds)
        self.now = np.clip(wanted, self.now - reach, self.now + reach)
        raw = np.floor(self.now / self._scale - self._shift + 0.5).astype(int)
        allowed = np.clip(raw, self._lowest, self._highest)
        self.clipped += bool((raw != allowed).any())
        sent: list[int] = allowed.tolist()
        return sent

    def rest(self) -> list[int]:
        """The safe values, from which the next step starts."""
        self.now = self.zero.copy()
        return list(self.safe)


def _check(channel: Channel, motor: Floats, safe: int) -> None:
    """Refuse a channel that cannot put out what its motor needs, or not 0 V."""
    half = motor[V_MAX] / abs(motor[GAIN])
    low = max(motor[LOW], motor[OFFSET] - half)
    high = min(motor[LOW] + (motor[CODES] - 1.0) * motor[STEP], motor[OFFSET] + half)
    ends = sorted((channel.nominal(channel.lowest), channel.nominal(channel.highest)))
    slack = REACH * (high - low)
    if channel.inverted:
        low, high = 2.0 * motor[OFFSET] - high, 2.0 * motor[OFFSET] - low
    if ends[0] > low + slack or ends[1] < high - slack:
        raise InputError(
            f"{channel.joint}: the channel gives {ends[0]:.4g} to {ends[1]:.4g} V, its motor needs {low:.4g} to"
            f" {high:.4g} V; correct the channel's range or the robot's dac"
        )
    if not GAINS[0] <= channel.calibration.gain <= GAINS[1]:
        raise InputError(
            f"{channel.joint}: a calibrated gain of {channel.calibration.gain:.4g} is not within {GAINS[0]:g} and"
            f" {GAINS[1]:g}; calibrate again"
        )
    if abs(channel.calibration.offset) > LARGEST_OFFSET * (high - low):
        raise InputError(
            f"{channel.joint}: a calibrated offset of {channel.calibration.offset:.4g} V is more than"
            f" {100 * LARGEST_OFFSET:g} % of the range; calibrate again"
        )
    if not channel.lowest <= safe <= channel.highest:
        raise InputError(f"{channel.joint}: the channel cannot put out {motor[OFFSET]:.4g} V, at which its motor rests")
