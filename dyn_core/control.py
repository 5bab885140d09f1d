"""Computed torque and feed-forward, down to motor voltages and DAC codes.

    tau = H(q) (qdd_d - 2 lambda (qd - qd_d) - lambda^2 (q - q_d)) + bias(q, qd)

makes every joint's error decay as (1 + lambda t) e^(-lambda t). Feed-forward is the inverse dynamics of the desired
motion alone; the arm's state is not used.

Where joints are passive or elastic, their accelerations cannot be chosen: the law then holds for the active joints, and
the forces come from the mixed model (Khalil, section 6.3), which takes up what the passive joints do. Where chains are
closed, H and the bias are those of the active joints (Khalil 58), by the robot's formulation.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from .actuation import Bools, Codes, motor_voltage, nearest_code
from .errors import InputError
from .jit import compiled_call, entry, kernel
from .loop_robot import LoopRobot
from .mechanism import Floats
from .robot import Robot
from .tree.aba import articulated_bodies
from .tree.record import OK, WRONG_SHAPE, friction, start_fixed
from .tree.rnea import newton_euler

Mode = Literal["computed_torque", "feed_forward"]
Friction = Literal["measured", "desired"]


class Command(NamedTuple):
    """What the motors are told, (n,) each."""

    torque: Floats
    """N m or N at the joints, as wanted; limits show in the voltage."""
    voltage: Floats
    """V at the motors, within the limits."""
    code: Codes
    """DAC codes."""
    saturated: Bools
    """Where a current, voltage or DAC limit cut the command."""


@kernel
def _reference(gains, q_d, qd_d, qdd_d, q, qd, out):
    """out (n,): the acceleration that lets the errors decay."""
    for j in range(out.shape[0]):
        k = gains[j]
        out[j] = qdd_d[j] - 2.0 * k * (qd[j] - qd_d[j]) - k * k * (q[j] - q_d[j])


@kernel
def _drive(motors, tau, qd, volts, code, saturated):
    """Volts, DAC codes and what was cut (n,), from joint torques and speeds (n,)."""
    for j in range(code.shape[0]):
        volts[j], cut = motor_voltage(motors[j], tau[j], qd[j])
        code[j], out_of_range = nearest_code(motors[j], volts[j])
        saturated[j] = cut or out_of_range


@entry
def _closed_reference(gains, q_d, qd_d, qdd_d, q, qd, out):
    n = out.shape[0]
    if q_d.shape[0] != n or qd_d.shape[0] != n or qdd_d.shape[0] != n or q.shape[0] != n or qd.shape[0] != n:
        return WRONG_SHAPE
    _reference(gains, q_d, qd_d, qdd_d, q, qd, out)
    return OK


@entry
def _closed_drive(motors, friction, tau, qd_d, qd, volts, code, saturated):
    """friction (2, n): Fv and Fs of the active joints, moved here from the measured to the desired speeds in tau."""
    for j in range(code.shape[0]):
        tau[j] += friction[0, j] * (qd_d[j] - qd[j]) + friction[1, j] * (np.sign(qd_d[j]) - np.sign(qd[j]))
    _drive(motors, tau, qd, volts, code, saturated)


@entry
def _command(record, motors, gains, active, q_d, qd_d, qdd_d, q, qd, numbers, code, saturated):
    """numbers (3, n): torque, voltage, reference acceleration; gains (n + 1,): bandwidths, then the friction choice.

    active (n,): not zero where a joint is driven; (0,) where all are.
    """
    n = code.shape[0]
    if q_d.shape[0] != n or qd_d.shape[0] != n or qdd_d.shape[0] != n or q.shape[0] != n or qd.shape[0] != n:
        return WRONG_SHAPE
    tau, volts, reference = numbers[0], numbers[1], numbers[2]
    _reference(gains, q_d, qd_d, qdd_d, q, qd, reference)
    start_fixed(record, 1.0)
    if active.shape[0] == 0:
        status = newton_euler(record, q, qd, reference, record[:0], tau)
    else:
        for j in range(n):
            tau[j] = 0.0
        status = articulated_bodies(record, q, qd, active, record[:0], tau, reference)
    if status != OK:
        return status
    for j in range(n):
        if gains[n] != 0.0 and (active.shape[0] == 0 or active[j] != 0.0):
            row = record[j + 1]
            tau[j] += friction(row, qd_d[j]) - friction(row, qd[j])
    _drive(motors, tau, qd, volts, code, saturated)
    return OK


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
        if robot.mechanism.base is not None:
            raise InputError(f"{robot.name} has a floating base, but computed torque needs a fixed one")
        if robot.mechanism.mimic is not None:
            raise InputError(f"{robot.name} has coupled joints, but computed torque needs independent ones")
        self.robot = robot
        self.mode = mode
        self._gains = np.append(np.broadcast_to(values, robot.n), float(friction == "desired"))
        self._motors = robot.actuation.motors
        if isinstance(robot, LoopRobot):
            m, moved = robot.mechanism, np.setdiff1d(np.arange(robot.mechanism.n), robot.joints)
            self._rubbed = bool(m.Fv[moved].any() or m.Fs[moved].any())
            change = self._gains[-1] if not self._rubbed else 0.0
            self._friction = change * np.stack((m.Fv[robot.joints], m.Fs[robot.joints]))
            return
        self._record = robot._record.copy()
        driven = robot.mechanism.active & ~robot.mechanism.elastic
        self._active = np.zeros(0) if driven.all() else driven.astype(float)

    def command(self, desired: tuple[Any, Any, Any], q: Any = None, qd: Any = None) -> Command:
        """The command for a desired (q_d, qd_d, qdd_d) at the measured q, qd, all (n,)."""
        n = self.robot.n
        q_d, qd_d, qdd_d = desired
        if self.mode == "feed_forward":
            q, qd = q_d, qd_d
        if isinstance(self.robot, LoopRobot):
            return self._of_closed_chains(self.robot, {"q_d": q_d, "qd_d": qd_d, "qdd_d": qdd_d, "q": q, "qd": qd})
        numbers, code, saturated = np.empty((3, n)), np.empty(n, np.int32), np.empty(n, np.bool_)
        constants, out = (self._record, self._motors, self._gains, self._active), (numbers, code, saturated)
        try:
            status = _command(*constants, q_d, qd_d, qdd_d, q, qd, *out)
        except TypeError:
            status = WRONG_SHAPE  # not plain float64 vectors: converted and checked below
        if status != OK:
            values = {"q_d": q_d, "qd_d": qd_d, "qdd_d": qdd_d, "q": q, "qd": qd}
            lead, arrays = self.robot._arrays(values)
            if lead != ():
                raise InputError("a command is computed for one state at a time, not for a batch")
            compiled_call(_command, *constants, *arrays, *out)
        torque, voltage, _ = numbers
        return Command(torque, voltage, code, saturated)

    def _of_closed_chains(self, robot: LoopRobot, values: dict[str, Any]) -> Command:
        n = robot.n
        reference, volts, code, saturated = np.empty(n), np.empty(n), np.empty(n, np.int32), np.empty(n, np.bool_)
        try:
            status = _closed_reference(self._gains, *values.values(), reference)
        except TypeError:
            status = WRONG_SHAPE  # not plain float64 vectors: converted and checked below
        if status != OK:
            lead, arrays = robot._arrays(values)
            if lead != ():
                raise InputError("a command is computed for one state at a time, not for a batch")
            values = dict(zip(values, arrays, strict=True))
            compiled_call(_closed_reference, self._gains, *arrays, reference)
        q, qd, qd_d = values["q"], values["qd"], values["qd_d"]
        torque = robot.inverse_dynamics(q, qd, reference)
        if self._rubbed and self._gains[-1] != 0.0:
            torque += _friction_change(robot, q, qd_d, qd)
        compiled_call(_closed_drive, self._motors, self._friction, torque, qd_d, qd, volts, code, saturated)
        return Command(torque, volts, code, saturated)


def _friction_change(robot: LoopRobot, q: Floats, qd_d: Floats, qd: Floats) -> Any:
    """What friction at the desired speeds asks for more than at the measured ones, chains moving joints that rub."""
    m = robot.mechanism
    G = robot.closed(q).G
    wanted, met = G @ qd_d, G @ qd
    return G.T @ (m.Fv * (wanted - met) + m.Fs * (np.sign(wanted) - np.sign(met)))
