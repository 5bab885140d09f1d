"""What a session of the arm shell knows; every change makes a new state, so that it can be taken back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dyn_cli.figures.recording import Recording
from dyn_core import Robot, load_robot
from dyn_core.actuation import Bools
from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.mechanism import PRISMATIC
from dyn_core.robots import robot_of


@dataclass(frozen=True)
class SessionState:
    """The arm, the variables in SI units (rad), and the last simulation."""

    source: str
    """Name or file of the robot."""
    robot: Robot
    theta: Floats
    """(n,) rad or m."""
    omega: Floats
    """(n,) rad/s or m/s."""
    alpha: Floats
    """(n,) rad/s^2 or m/s^2."""
    torque: Floats
    """(n,) N m or N at the joints."""
    volts: Floats
    """(n,) V at the motors; zeros for a robot without motors."""
    gravity_axis: int
    """The base axis that gravity is described along: x, y or z."""
    dac_period: float = 1e-3
    time_step: float = 1e-3
    method: str = "rk3"
    degrees: bool = False
    recording: Recording | None = None

    @classmethod
    def of(cls, source: str) -> SessionState:
        """A robot at rest in its neutral position; InputError for one whose base floats."""
        robot = load_robot(source)
        if robot.mechanism.base is not None:
            raise InputError(
                f"{robot.name} has a floating base, but the shell's vectors have one entry per joint; simulate it in"
                " Python with dyn_core.simulate (docs/moving_base.md)"
            )
        zero = np.zeros(robot.n)
        gravity = robot.mechanism.gravity
        axis = int(np.argmax(np.abs(gravity))) if gravity.any() else 2
        return cls(source, robot, robot.neutral(), zero, zero, zero, zero, axis)

    def described(self) -> str:
        """The arm in one line."""
        robot = self.robot
        joints = f"{robot.n} joint{'s' if robot.n > 1 else ''}"
        if robot.n != robot.mechanism.n:
            joints += f" of {robot.mechanism.n}"
        return f"{robot.name}: {joints} ({', '.join(robot.joint_names)})" + ("" if self.has_motors else ", no motors")

    @property
    def voltage(self) -> Floats:
        """`volts`; MissingMotorError for a robot without motors."""
        self.robot.described_motors  # noqa: B018 - says what is missing
        return self.volts

    @property
    def has_motors(self) -> bool:
        return self.robot.mechanism.motors is not None

    @property
    def angle(self) -> Floats:
        """(n,) what a shown position, speed or acceleration is in SI units: 1, or a degree in rad."""
        turns = self.robot.mechanism.joint_type[self.robot.joints] != PRISMATIC
        return np.where(turns & self.degrees, np.pi / 180.0, 1.0)

    def with_gravity(self, gravity: Floats) -> SessionState:
        """The same arm under another gravity (3,), m/s^2 in the base frame."""
        return replace(self, robot=robot_of(replace(self.robot.mechanism, gravity=gravity)))

    def with_voltage(self, volts: Floats) -> tuple[SessionState, list[str]]:
        """The motors at these voltages, within their limits, and the torques that follow; with notes on limits."""
        actuation = self.robot.described_motors
        limited = actuation.limited(volts)
        torque, cut = actuation.torques(volts, self.omega)
        notes = self._cut(cut | (limited != volts), "cut by the limits of the motor")
        return replace(self, volts=limited, torque=torque), notes

    def with_torque(self, torque: Floats) -> tuple[SessionState, list[str]]:
        """These torques, and the voltages for them; with notes where a motor cannot give them."""
        if not self.has_motors:
            return replace(self, torque=torque), []
        volts, cut = self.robot.actuation.voltages(torque, self.omega)
        notes = self._cut(cut, "the motor cannot give this torque, its voltage is cut by a limit")
        return replace(self, torque=torque, volts=volts), notes

    def with_speed(self, omega: Floats) -> tuple[SessionState, list[str]]:
        """Other joint speeds: the voltages stay, and the torques follow."""
        moved = replace(self, omega=omega)
        return moved.with_voltage(self.volts) if self.has_motors else (moved, [])

    def _cut(self, cut: Bools, why: str) -> list[str]:
        names = [self.robot.joint_names[j] for j in np.flatnonzero(cut)]
        return [f"{', '.join(names)}: {why}"] if names else []
