"""Whether a controlled robot is within its limits: position (soft and hard), velocity, torque, voltage, tracking error.

The torque that counts is what the control law wants at a joint, against the lesser of the joint's effort limit and
|G Kt| I_max of its motor; the voltage is R tau / (G Kt) + G Kt qd, which that torque needs, against V_max.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.actuation.motors import GEAR, I_MAX, KT, RESISTANCE, V_MAX
from dyn_core.arrays import Floats
from dyn_core.jit.kernel import compiled_call, entry
from dyn_core.mechanism import PRISMATIC
from dyn_core.robots.robot import Robot

KINDS = ("soft_limit", "hard_limit", "velocity", "torque", "voltage", "tracking_error")
SOFT, HARD, VELOCITY, TORQUE, VOLTAGE, ERROR = range(len(KINDS))

NAMES = (
    "soft position limit",
    "hard position limit",
    "velocity limit",
    "torque limit",
    "voltage limit",
    "tracking error",
)
TOLERANCE = 1e-3
"""A measured position counts as beyond a soft limit from here on (rad or m): an arm may stand at the limit itself."""


@dataclass(frozen=True)
class Margins:
    """How far the limits lie from those that the robot's description gives."""

    soft: float = 0.0
    """Soft position limits lie this far inside the described ones (rad or m)."""
    hard: float = 0.05
    """Hard position limits lie this far outside the described ones (rad or m)."""
    velocity: float = 0.1
    """The measured speed may be above the described limit by this part of it."""
    error: float = 0.2
    """Largest tracking error of revolute joints (rad)."""
    linear_error: float = 0.05
    """Largest tracking error of prismatic joints (m)."""


@dataclass(frozen=True)
class Excess:
    """A limit that is exceeded, at the joint where it is exceeded most, relative to the limit's size."""

    kind: int
    joint: int
    sentence: str


@entry
def _exceeded(high, low, ohm, emf, q, qd, q_d, torque):
    """Whether any value is beyond its limits; high, low: (kinds, n)."""
    for j in range(q.shape[0]):
        volts = ohm[j] * torque[j] + emf[j] * qd[j]
        error = q[j] - q_d[j]
        if q[j] > high[SOFT, j] or q[j] < low[SOFT, j] or q[j] > high[HARD, j] or q[j] < low[HARD, j]:
            return True
        if qd[j] > high[VELOCITY, j] or qd[j] < low[VELOCITY, j] or error > high[ERROR, j] or error < low[ERROR, j]:
            return True
        if torque[j] > high[TORQUE, j] or torque[j] < low[TORQUE, j]:
            return True
        if volts > high[VOLTAGE, j] or volts < low[VOLTAGE, j]:
            return True
    return False


class Limits:
    """The limits of a robot with motors; ``exceeded`` costs a few microseconds, ``excesses`` tells more."""

    def __init__(self, robot: Robot, margins: Margins | None = None) -> None:
        margins = margins or Margins()
        mechanism, joints = robot.mechanism, robot.joints
        motors = robot.actuation.motors
        self.n = n = robot.n
        self.names = tuple(robot.joint_names)
        self.driven = motors[:, I_MAX] > 0.0
        """(n,) which joints have motors."""
        low, high = mechanism.position_limits[joints].T
        self.soft = np.stack([low + margins.soft, high - margins.soft], axis=1)
        """(n, 2) what trajectories must keep to; the middle where the margin leaves nothing."""
        narrow = self.soft[:, 0] > self.soft[:, 1]
        self.soft[narrow] = 0.5 * (low[narrow] + high[narrow])[:, None]
        self.velocity = mechanism.velocity_limits[joints]
        """(n,) as described."""
        e = motors[:, GEAR] * motors[:, KT]
        effort = np.minimum(mechanism.effort_limits[joints], np.abs(e) * motors[:, I_MAX])
        self.torque = np.where(self.driven, effort, np.inf)
        """(n,) greatest torque of motor and joint."""
        self.voltage = np.where(self.driven, motors[:, V_MAX], np.inf)
        """(n,) V."""
        self._ohm, self._emf = motors[:, RESISTANCE] / e, e
        error = np.where(mechanism.joint_type[joints] == PRISMATIC, margins.linear_error, margins.error)
        self._high = np.empty((len(KINDS), n))
        self._high[SOFT], self._high[HARD] = self.soft[:, 1] + TOLERANCE, high + margins.hard
        self._high[VELOCITY] = (1.0 + margins.velocity) * self.velocity
        self._high[TORQUE], self._high[VOLTAGE] = self.torque * (1.0 + 1e-9), self.voltage * (1.0 + 1e-9)
        self._high[ERROR] = np.where(self.driven, error, np.inf)
        self._low = -self._high
        self._low[SOFT], self._low[HARD] = self.soft[:, 0] - TOLERANCE, low - margins.hard

    def needed_voltage(self, torque: Floats, qd: Floats) -> Floats:
        """(n,) V that give a torque (n,) at a speed (n,), without limits."""
        return self._ohm * torque + self._emf * qd

    def torque_range(self, qd: Floats) -> tuple[Floats, Floats]:
        """Least and greatest torque (n,), (n,) that motors and joints can give at speeds qd (n,)."""
        ends = (-self.voltage - self._emf * qd) / self._ohm, (self.voltage - self._emf * qd) / self._ohm
        low, high = np.minimum(*ends), np.maximum(*ends)
        return np.maximum(low, -self.torque), np.minimum(high, self.torque)

    def exceeded(self, q: Floats, qd: Floats, q_d: Floats, torque: Floats) -> bool:
        """Whether any limit is exceeded at the measured q, qd, the desired q_d and the wanted torque, all (n,)."""
        constants = self._high, self._low, self._ohm, self._emf
        try:
            return bool(_exceeded(*constants, q, qd, q_d, torque))
        except TypeError:  # not plain vectors, or not compiled yet
            plain = (np.ascontiguousarray(each, float) for each in (q, qd, q_d, torque))
            return bool(compiled_call(_exceeded, *constants, *plain))

    def excesses(self, q: Floats, qd: Floats, q_d: Floats, torque: Floats) -> list[Excess]:
        """What is exceeded, one of each kind, in the order of KINDS; empty if nothing is."""
        values = np.empty_like(self._high)
        values[SOFT] = values[HARD] = q
        values[VELOCITY] = qd
        values[TORQUE] = torque
        values[VOLTAGE] = self.needed_voltage(torque, qd)
        values[ERROR] = q - q_d
        over = np.maximum(values - self._high, self._low - values)
        found = []
        for kind in range(len(KINDS)):
            if (over[kind] > 0.0).any():
                j = int(over[kind].argmax())
                value, low, high = values[kind, j], self._low[kind, j], self._high[kind, j]
                sentence = f"{NAMES[kind]} of {self.names[j]}: {value:.4g} is not in [{low:.4g}, {high:.4g}]"
                found.append(Excess(kind, j, sentence))
        return found
