"""From joint torque to motor voltage to DAC code, and back.

With gear ratio G, torque constant Kt, armature resistance R (inductance neglected):

    I = tau / (G Kt),   V = R I + G Kt q'          (Swartz 11)
    tau = G Kt (V - G Kt q') / R                   (Swartz 12)

The current is limited to +-I_max, then the voltage to +-V_max. A DAC of b bits over [low, high] puts out
low + code (high - low) / 2^b volts, which the amplifier turns into sign * gain * (that - offset) at the motor.

A driven joint without a described motor has an ideal drive, which gives the torque that it is asked for: a motor with
G = 1, Kt = R = IDEAL, so that 1 V stands for 1 N m (1 N) and its back EMF is a millionth of a volt per rad/s.
"""

from __future__ import annotations

from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dyn_core.arrays import Floats, Ints
from dyn_core.errors import InputError, MissingMotorError
from dyn_core.jit.kernel import compiled_call, entry, kernel
from dyn_core.mechanism import Mechanism

GEAR, KT, RESISTANCE, I_MAX, V_MAX, CODES, LOW, STEP, GAIN, OFFSET = range(10)

IDEAL = 1e-6
"""Kt (N m/A) and R (ohm) of an ideal drive."""
IDEAL_CODES = 2.0**30
"""Of the DAC of an ideal drive, over twice its range."""
STRONG = 1e3
"""Range of an ideal drive whose joint has no effort limit, in units of all masses' weight at 1 m."""

Bools = NDArray[np.bool_]
Codes = NDArray[np.int32]


@kernel
def limited(x, limit):
    """x within +-limit, and whether it had to be limited."""
    if x > limit:
        return limit, True
    if x < -limit:
        return -limit, True
    return x, False


@kernel
def motor_voltage(motor, tau, qd):
    """V and whether the current or the voltage limit cut it."""
    e = motor[GEAR] * motor[KT]
    current, cut_current = limited(tau / e, motor[I_MAX])
    volts, cut_volts = limited(motor[RESISTANCE] * current + e * qd, motor[V_MAX])
    return volts, cut_current or cut_volts


@kernel
def motor_torque(motor, volts, qd):
    """Joint torque and whether the current or the voltage limit cut it."""
    e = motor[GEAR] * motor[KT]
    volts, cut_volts = limited(volts, motor[V_MAX])
    current, cut_current = limited((volts - e * qd) / motor[RESISTANCE], motor[I_MAX])
    return e * current, cut_current or cut_volts


@kernel
def drive_force(motors, drive, j, qd):
    """Force of drive j at a joint speed: that of its motor at the voltage drive[j]; drive[j] where motors is empty."""
    return motor_torque(motors[j], drive[j], qd)[0] if motors.shape[0] > 0 else drive[j]


@kernel
def nearest_code(motor, volts):
    """The code nearest to a motor voltage (half a step rounds up), and whether it lies outside the DAC's range."""
    code = floor((volts / motor[GAIN] + motor[OFFSET] - motor[LOW]) / motor[STEP] + 0.5)
    if code < 0.0:
        return 0, True
    if code > motor[CODES] - 1.0:
        return int(motor[CODES]) - 1, True
    return int(code), False


def volts_of_codes(motors: Floats, codes: Floats) -> Floats:
    """Motor voltages (..., n) of DAC codes (..., n), from packed motors (n, 10)."""
    return motors[:, GAIN] * (motors[:, LOW] + codes * motors[:, STEP] - motors[:, OFFSET])


@entry
def _voltages(motors, tau, qd, volts, cut):
    for b in range(tau.shape[0]):
        for j in range(tau.shape[1]):
            volts[b, j], cut[b, j] = motor_voltage(motors[j], tau[b, j], qd[b, j])


@entry
def _torques(motors, volts, qd, tau, cut):
    for b in range(tau.shape[0]):
        for j in range(tau.shape[1]):
            tau[b, j], cut[b, j] = motor_torque(motors[j], volts[b, j], qd[b, j])


@entry
def _codes(motors, volts, codes, cut):
    for b in range(volts.shape[0]):
        for j in range(volts.shape[1]):
            codes[b, j], cut[b, j] = nearest_code(motors[j], volts[b, j])


def _ideal_drives(m: Mechanism) -> Floats:
    """(n, 10) an ideal drive for each joint, within its effort limit."""
    weight = STRONG * float(np.linalg.norm(m.gravity)) * float(m.M.sum()) + STRONG
    most = np.where(np.isfinite(m.effort_limits) & (m.effort_limits > 0.0), m.effort_limits, weight)
    drives = np.tile([1.0, IDEAL, IDEAL, 0.0, 0.0, IDEAL_CODES, 0.0, 0.0, 1.0, 0.0], (m.n, 1))
    # the voltage may exceed the range by the back EMF, the current by nothing
    drives[:, I_MAX], drives[:, V_MAX] = most / IDEAL, 1.01 * most
    drives[:, LOW], drives[:, STEP] = -1.01 * most, 2.02 * most / IDEAL_CODES
    return drives


class Converter(NamedTuple):
    """A digital-to-analogue converter: it puts out (raw + offset) scale volts."""

    scale: float
    """V per step."""
    offset: float
    """Steps."""
    lowest: int
    highest: int


class Actuation:
    """Motors, amplifiers and DAC of a mechanism; arrays of shape (..., n) in and out, with masks of what was limited.

    A driven joint without a described motor has an ideal drive; a passive or elastic joint has voltage, torque and code
    zero.
    """

    def __init__(self, mechanism: Mechanism, joints: Ints | None = None) -> None:
        """joints: the indices of those joints of the mechanism that count; all if not given."""
        n, described = mechanism.n, mechanism.motors
        packed: Floats = np.tile([1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0], (n, 1))
        has_motor = np.zeros(n, np.bool_) if described is None else ~np.isnan(described.gear)
        ideal = mechanism.active & ~mechanism.elastic & ~has_motor
        packed[ideal] = _ideal_drives(mechanism)[ideal]
        if described is not None:
            codes = 2.0**described.dac_bits
            packed[has_motor] = np.stack(
                [
                    described.gear,
                    described.Kt,
                    described.resistance,
                    described.current_limit,
                    described.voltage_limit,
                    codes,
                    described.dac_low,
                    (described.dac_high - described.dac_low) / codes,
                    described.dac_gain * described.dac_sign,
                    described.dac_offset,
                ],
                axis=1,
            )[has_motor]
        chosen = np.arange(n) if joints is None else joints
        self.motors: Floats = packed[chosen]
        """(n, 10), the packed record that kernels read."""
        self.ideal = ideal[chosen]
        """(n,) which joints have an ideal drive."""
        self.n = len(self.motors)
        self.name = mechanism.name

    def require_motors(self) -> None:
        """MissingMotorError where a driven joint has no described motor: its voltage would mean nothing."""
        if self.ideal.any():
            which = "no motors" if self.ideal.all() else "no motor at some driven joints"
            raise MissingMotorError(
                f"{self.name} describes {which}, so it has no voltages or DAC codes; add `motor` to each joint of its"
                " description (`./dyn convert FILE NEW.yaml --add-motors` writes figures to start from)"
            )

    @property
    def assumption(self) -> str:
        """A sentence about joints that are driven without a described motor; empty where there are none."""
        if not self.ideal.any():
            return ""
        which = "no motors: its joints are" if self.ideal.all() else f"no motor at {self.ideal.sum()} joints, which are"
        return (
            f"{self.name} describes {which} driven by their torque (ideal drives, 1 V stands for 1 N m);"
            " `./dyn convert FILE NEW.yaml --add-motors` writes motors to edit"
        )

    def _rows(self, **values: object) -> tuple[tuple[int, ...], list[Floats]]:
        arrays = {key: np.asarray(value, float) for key, value in values.items()}
        for key, array in arrays.items():
            if array.ndim == 0 or array.shape[-1] != self.n:
                raise InputError(f"{key} has shape {array.shape}, {self.name} needs (..., {self.n})")
            if not np.isfinite(array).all():
                raise InputError(f"{key} is not finite")
        try:
            shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
        except ValueError:
            shapes = " and ".join(f"{key} {array.shape}" for key, array in arrays.items())
            raise InputError(f"shapes do not fit together: {shapes}") from None
        rows = [np.array(np.broadcast_to(a, shape), order="C").reshape(-1, self.n) for a in arrays.values()]
        return shape, rows

    def voltages(self, tau: object, qd: object) -> tuple[Floats, Bools]:
        """Motor voltages (V) that give joint torques tau at speeds qd, and where a limit cut them."""
        shape, (tau_rows, qd_rows) = self._rows(tau=tau, qd=qd)
        volts, cut = np.empty_like(tau_rows), np.empty(tau_rows.shape, np.bool_)
        compiled_call(_voltages, self.motors, tau_rows, qd_rows, volts, cut)
        return volts.reshape(shape), cut.reshape(shape)

    def torques(self, volts: object, qd: object) -> tuple[Floats, Bools]:
        """Joint torques that motor voltages give at speeds qd, and where a limit cut them."""
        shape, (volt_rows, qd_rows) = self._rows(volts=volts, qd=qd)
        tau, cut = np.empty_like(volt_rows), np.empty(volt_rows.shape, np.bool_)
        compiled_call(_torques, self.motors, volt_rows, qd_rows, tau, cut)
        return tau.reshape(shape), cut.reshape(shape)

    def codes(self, volts: object) -> tuple[Codes, Bools]:
        """DAC codes nearest to motor voltages, and where they lie outside the DAC's range."""
        shape, (volt_rows,) = self._rows(volts=volts)
        codes, cut = np.empty(volt_rows.shape, np.int32), np.empty(volt_rows.shape, np.bool_)
        compiled_call(_codes, self.motors, volt_rows, codes, cut)
        return codes.reshape(shape), cut.reshape(shape)

    def volts(self, codes: object) -> Floats:
        """Motor voltages (V) of DAC codes; a code that the DAC does not have is an error."""
        shape, (code_rows,) = self._rows(codes=codes)
        top = self.code_limits[1]
        if (code_rows < 0).any() or (code_rows > top).any() or (code_rows != np.floor(code_rows)).any():
            raise InputError(f"DAC codes must be whole numbers from 0 to {top.astype(int).tolist()}")
        return self.volts_of_codes(code_rows).reshape(shape)

    def volts_of_codes(self, codes: Floats) -> Floats:
        """Motor voltages (V) of DAC codes (..., n) that are known to be within `code_limits`."""
        return volts_of_codes(self.motors, codes)

    @property
    def code_limits(self) -> tuple[Floats, Floats]:
        """Lowest and highest DAC code of each motor, (n,) whole numbers each."""
        return np.zeros(self.n), self.motors[:, CODES] - 1.0

    @property
    def volts_per_code(self) -> Floats:
        """(n,) V at the motor between two neighbouring DAC codes."""
        return np.abs(self.motors[:, GAIN] * self.motors[:, STEP])

    @property
    def voltage_limits(self) -> Floats:
        """(n,) largest voltage (V) at each motor."""
        return self.motors[:, V_MAX].copy()

    @property
    def resting_outputs(self) -> Floats:
        """(n,) volts at the DACs' outputs at which the motors see 0 V."""
        return self.motors[:, OFFSET].copy()

    def converter(self, j: int) -> Converter:
        """The DAC of motor j as described."""
        codes, low, step = (float(self.motors[j, column]) for column in (CODES, LOW, STEP))
        return Converter(step, low / step, 0, int(codes) - 1)

    def limited(self, volts: object) -> Floats:
        """Motor voltages (V) within the motors' voltage limits."""
        shape, (volt_rows,) = self._rows(volts=volts)
        return np.clip(volt_rows, -self.motors[:, V_MAX], self.motors[:, V_MAX]).reshape(shape)

    def dac_outputs(self, volts: object) -> tuple[Floats, Codes]:
        """Volts at the DACs' outputs nearest to those for motor voltages, and their codes."""
        codes, _ = self.codes(volts)
        return self.motors[:, LOW] + codes * self.motors[:, STEP], codes

    def volts_of_outputs(self, outputs: object) -> tuple[Floats, Bools]:
        """Motor voltages (V) of the codes nearest to volts at the DACs' outputs, and where they are out of range."""
        shape, (rows,) = self._rows(outputs=outputs)
        motor_volts = self.motors[:, GAIN] * (rows - self.motors[:, OFFSET])
        codes, cut = self.codes(motor_volts)
        return self.volts(codes).reshape(shape), cut.reshape(shape)
