"""Computed torque and feed-forward, down to motor voltages and DAC codes.

    tau = H(q) (qdd_d - 2 lambda (qd - qd_d) - lambda^2 (q - q_d)) + bias(q, qd)

makes every joint's error decay as (1 + lambda t) e^(-lambda t). Feed-forward is the inverse dynamics of the desired
motion alone; the arm's state is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from .actuation import Bools, Codes, motor_voltage, nearest_code
from .errors import InputError
from .jit import compiled_call, entry
from .mechanism import Floats
from .robot import NO_WRENCHES, Robot
from .tree.record import OK, friction
from .tree.rnea import newton_euler

Mode = Literal["computed_torque", "feed_forward"]
Friction = Literal["measured", "desired"]


@dataclass(frozen=True)
class Command:
    """What the motors are told, (n,) each."""

    torque: Floats
    """N m or N at the joints, as wanted; limits show in the voltage."""
    voltage: Floats
    """V at the motors, within the limits."""
    code: Codes
    """DAC codes."""
    saturated: Bools
    """Where a current, voltage or DAC limit cut the command."""


@entry
def _command(record, motors, bandwidth, friction_desired, desired, state, no_wrenches, numbers, code, saturated):
    """numbers (3, n): torque, voltage and, as scratch, the reference acceleration; desired (3, n), state (2, n)."""
    n = desired.shape[1]
    q, qd = state[0], state[1]
    tau, volts, reference = numbers[0], numbers[1], numbers[2]
    for j in range(n):
        k = bandwidth[j]
        reference[j] = desired[2, j] - 2.0 * k * (qd[j] - desired[1, j]) - k * k * (q[j] - desired[0, j])
    status = newton_euler(record, q, qd, reference, 1.0, no_wrenches, tau)
    for j in range(n):
        if friction_desired:
            row = record[j + 1]
            tau[j] += friction(row, desired[1, j]) - friction(row, qd[j])
        volts[j], cut = motor_voltage(motors[j], tau[j], qd[j])
        code[j], out_of_range = nearest_code(motors[j], volts[j])
        saturated[j] = cut or out_of_range
    return status


class ComputedTorque:
    """Commands that make a robot follow a desired motion.

    bandwidth: lambda, rad/s, one number or one per joint. mode "feed_forward" ignores the measured state. friction
    "measured" takes it at the measured speed, as the law says; "desired" takes it at the desired one, which does not
    chatter about standstill.
    """

    def __init__(
        self, robot: Robot, bandwidth: Any = 25.0, mode: Mode = "computed_torque", friction: Friction = "measured"
    ) -> None:
        if mode not in ("computed_torque", "feed_forward"):
            raise InputError(f"mode must be 'computed_torque' or 'feed_forward', found {mode!r}")
        if friction not in ("measured", "desired"):
            raise InputError(f"friction must be 'measured' or 'desired', found {friction!r}")
        values = np.asarray(bandwidth, float)
        if values.shape not in ((), (robot.n,)) or not (np.isfinite(values) & (values >= 0.0)).all():
            raise InputError(f"the bandwidth must be one or {robot.n} numbers not below zero, found {bandwidth!r}")
        self.robot = robot
        self.mode = mode
        self._bandwidth = np.array(np.broadcast_to(values, robot.n))
        self._friction_desired = friction == "desired"
        self._record = robot._record.copy()
        self._motors = robot.actuation.motors
        self._desired = np.zeros((3, robot.n))
        self._state = np.zeros((2, robot.n))

    def command(self, desired: tuple[Any, Any, Any], q: Any = None, qd: Any = None) -> Command:
        """The command for a desired (q_d, qd_d, qdd_d) at the measured q, qd, all (n,)."""
        n = self.robot.n
        self._fill(self._desired, desired, ("q_d", "qd_d", "qdd_d"))
        measured = desired[:2] if self.mode == "feed_forward" else (q, qd)
        self._fill(self._state, measured, ("q", "qd"))
        numbers, code, saturated = np.empty((3, n)), np.empty(n, np.int32), np.empty(n, np.bool_)
        status = compiled_call(
            _command, self._record, self._motors, self._bandwidth, self._friction_desired,
            self._desired, self._state, NO_WRENCHES, numbers, code, saturated,
        )  # fmt: skip
        if status != OK:
            raise InputError(f"{self.robot.name}: the desired motion or the measured state is not finite")
        return Command(numbers[0], numbers[1], code, saturated)

    def _fill(self, rows: Floats, values: tuple[Any, ...], names: tuple[str, ...]) -> None:
        for row, value, name in zip(rows, values, names, strict=True):
            if np.shape(value) != row.shape:
                raise InputError(f"{name} has shape {np.shape(value)}, expected {row.shape}")
            row[:] = value
