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

from dyn_core.actuation.motors import Bools, Codes, motor_voltage, nearest_code
from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.jit.kernel import compiled_call, entry
from dyn_core.jit.native_call import NativeCall, Natives, native
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.robots.robot import Robot

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


@NativeCall
def _reference(gains, q_d, qd_d, qdd_d, q, qd, out):
    """out (n,): the acceleration that lets the errors decay; gains (1, n)."""
    nothing = 0.0
    for j in range(out.shape[0]):
        k = gains[0, j]
        out[j] = qdd_d[j] - 2.0 * k * (qd[j] - qd_d[j]) - k * k * (q[j] - q_d[j])
        nothing += 0.0 * out[j]
    return OK if nothing == 0.0 else NOT_FINITE


@entry
def _drive(motors, friction, tau, qd_d, qd, volts, code, saturated):
    """Volts, DAC codes and what was cut (n,), from joint torques and speeds (n,).

    friction (2, n): Fv and Fs of the driven joints, moved here from the measured to the desired speeds in tau.
    """
    for j in range(code.shape[0]):
        tau[j] += friction[0, j] * (qd_d[j] - qd[j]) + friction[1, j] * (np.sign(qd_d[j]) - np.sign(qd[j]))
        volts[j], cut = motor_voltage(motors[j], tau[j], qd[j])
        code[j], out_of_range = nearest_code(motors[j], volts[j])
        saturated[j] = cut or out_of_range


class ComputedTorque(Natives):
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
        super().__init__()
        self.robot = robot
        self.mode = mode
        self._gains = np.array(np.broadcast_to(values, (1, robot.n)))
        self._motors = robot.actuation.motors
        self._tracker = robot.tracker()
        self._rubbed = friction == "desired" and robot.rubs_elsewhere
        own = friction == "desired" and not self._rubbed
        self._friction = robot.joint_friction if own else np.zeros((2, robot.n))

    @native
    def _reference(self) -> Any:
        n = self.robot.n
        return _reference.bind(self._gains, (n,) * 5, (n,))

    def forget(self) -> None:
        """Forget where closed chains were: the next command follows them from the described configuration."""
        self._tracker.start()

    def command(self, desired: tuple[Any, Any, Any], q: Any = None, qd: Any = None) -> Command:
        """The command for a desired (q_d, qd_d, qdd_d) at the measured q, qd, all (n,)."""
        n = self.robot.n
        q_d, qd_d, qdd_d = desired
        if self.mode == "feed_forward":
            q, qd = q_d, qd_d
        reference = self._reference(q_d, qd_d, qdd_d, q, qd)
        if reference is None:
            values = {"q_d": q_d, "qd_d": qd_d, "qdd_d": qdd_d, "q": q, "qd": qd}
            lead, (q_d, qd_d, qdd_d, q, qd) = self.robot.checked_state(values)
            if lead != ():
                raise InputError("a command is computed for one state at a time, not for a batch")
            reference = self.first_call("_reference", q_d, qd_d, qdd_d, q, qd)
        if reference is None:
            k = self._gains[0]
            reference = qdd_d - 2.0 * k * (qd - qd_d) - k * k * (q - q_d)
        torque = self._tracker.driven_forces(q, qd, reference)
        if self._rubbed:
            torque += self._tracker.friction_change(q, qd, qd_d)
        volts, code, saturated = np.empty(n), np.empty(n, np.int32), np.empty(n, np.bool_)
        compiled_call(_drive, self._motors, self._friction, torque, qd_d, qd, volts, code, saturated)
        return Command(torque, volts, code, saturated)
