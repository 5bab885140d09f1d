"""What comes from outside is checked here, before anything moves.

Each check returns arrays in the robot's joint order or raises ``Dropped`` with a short reason under which
``/diagnostics`` counts the message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_core.actuation import CODES
from dyn_core.errors import DynError

if TYPE_CHECKING:
    from dyn_core.robot import Robot

MAX_POINTS = 10_000
"""Longest trajectory that is accepted."""


class Dropped(DynError):
    """A message that is not used; ``reason`` is the short text under which it is counted."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason


class DropCounter:
    """Counts dropped messages by topic and reason, and keeps the sentence of the last one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last = ""

    def add(self, topic: str, dropped: Dropped) -> None:
        self.counts[f"{topic}: {dropped.reason}"] += 1
        self.last = f"{topic}: {dropped}"

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class JointOrder:
    """Brings named values into the robot's joint order; joint states may have its passive joints too."""

    def __init__(self, names: Sequence[str], passive: Sequence[str] = ()) -> None:
        self.names = list(names)
        self._index = {name: i for i, name in enumerate(self.names)}
        self._passive = frozenset(passive)
        self._seen: list[str] | None = None
        self._picked: np.ndarray | None = None

    def permutation(self, names: Sequence[str]) -> np.ndarray | None:
        """Indices into the message for each joint of the robot; None if they are in the robot's order already."""
        if names == self.names:
            return None
        unknown = [name for name in names if name not in self._index]
        if unknown:
            raise Dropped("unknown joints", f"{unknown[0][:60]!r} is none of {', '.join(self.names)}")
        if len(set(names)) != len(names):
            raise Dropped("repeated joints")
        if len(names) != len(self.names):
            missing = next(name for name in self.names if name not in names)
            raise Dropped("missing joints", repr(missing))
        position = {name: i for i, name in enumerate(names)}
        return np.array([position[name] for name in self.names])

    def selection(self, names: Sequence[str]) -> np.ndarray | None:
        """As ``permutation``, for a message that may have the passive joints too."""
        if not self._passive or names == self.names:
            return self.permutation(names)
        if names != self._seen:
            own = [i for i, name in enumerate(names) if name not in self._passive]
            order = self.permutation([names[i] for i in own])
            self._picked, self._seen = np.array(own) if order is None else np.array(own)[order], list(names)
        return self._picked

    def arrange(
        self, values: Any, order: np.ndarray | None, what: str, size: int | None = None, where: str = ""
    ) -> np.ndarray:
        """``values`` of a message of ``size`` joints (the robot's, if not given) as finite floats in its order.

        where: said with what is wrong, such as " at point 3".
        """
        array = np.asarray(values, dtype=float)
        expected = len(self.names) if size is None else size
        if array.shape != (expected,):
            raise Dropped("wrong size", f"{array.size} {what} for {expected} joints{where}")
        array = array if order is None else array[order]
        if not np.isfinite(array).all():
            joint = self.names[int(np.flatnonzero(~np.isfinite(array))[0])]
            raise Dropped("not finite", f"{what} of {joint}{where}")
        return array


def joint_state(message: Any, joints: JointOrder) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities (n,), (n,) of a sensor_msgs/JointState."""
    order, size = joints.selection(message.name), len(message.name)
    return (
        joints.arrange(message.position, order, "positions", size),
        joints.arrange(message.velocity, order, "velocities", size),
    )


def motor_codes(message: Any, joints: JointOrder, lowest: np.ndarray, highest: np.ndarray) -> np.ndarray:
    """DAC codes (n,), whole numbers as floats, of a dyn_robot/MotorCommand.

    Torques and voltages are not used, but must be as many, and finite.
    """
    order = joints.permutation(message.name)
    joints.arrange(message.torque, order, "torques")
    joints.arrange(message.voltage, order, "voltages")
    codes = np.asarray(message.dac_code, dtype=float)
    if codes.shape != (len(joints.names),):
        raise Dropped("wrong size", f"{codes.size} DAC codes for {len(joints.names)} motors")
    if order is not None:
        codes = codes[order]
    if (codes < lowest).any() or (codes > highest).any():
        raise Dropped("code out of range", str(codes.tolist()))
    return codes


def code_limits(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest DAC code (n,), (n,) of each motor; MissingMotorError for a robot without motors."""
    highest = robot.actuation.motors[:, CODES] - 1.0
    return np.zeros(robot.n), highest


def wrench(message: Any) -> np.ndarray:
    """Force then moment (6,) of a geometry_msgs/WrenchStamped, N and N m."""
    force, torque = message.wrench.force, message.wrench.torque
    array = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
    if not np.isfinite(array).all():
        raise Dropped("not finite", "wrench")
    return array


class TrajectoryPoints:
    """The checked points of a trajectory_msgs/JointTrajectory: times (m,), positions (m, n).

    Velocities and accelerations (m, n) are there only if every point has them.
    """

    def __init__(self, message: Any, joints: JointOrder, limits: np.ndarray) -> None:
        points = message.points
        if not points:
            raise Dropped("no points")
        if len(points) > MAX_POINTS:
            raise Dropped("too many points", f"{len(points)}, at most {MAX_POINTS}")
        order = joints.permutation(message.joint_names)
        self.times = np.array([p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points])
        late = np.concatenate(([self.times[0] >= 0.0], np.diff(self.times) > 0.0))
        if not late.all():
            k = int(np.flatnonzero(~late)[0])
            raise Dropped("times not increasing", f"point {k} is at {self.times[k]:g} s")
        self.positions = _table([p.positions for p in points], joints, order, "positions")
        self.velocities = self._optional([p.velocities for p in points], joints, order, "velocities")
        self.accelerations = self._optional([p.accelerations for p in points], joints, order, "accelerations")
        outside = (self.positions < limits[:, 0] - 1e-9) | (self.positions > limits[:, 1] + 1e-9)
        if outside.any():
            k, j = np.argwhere(outside)[0]
            raise Dropped(
                "outside position limits",
                f"{joints.names[j]} at point {k}: {self.positions[k, j]:g} is not in "
                f"[{limits[j, 0]:g}, {limits[j, 1]:g}]",
            )

    @staticmethod
    def _optional(rows: list[Any], joints: JointOrder, order: np.ndarray | None, what: str) -> np.ndarray | None:
        given = [len(row) > 0 for row in rows]
        if not any(given):
            return None
        if not all(given):
            raise Dropped("wrong size", f"some points have {what} and some have none, as point {given.index(False)}")
        return _table(rows, joints, order, what)

    @property
    def duration(self) -> float:
        return float(self.times[-1])


def _table(rows: list[Any], joints: JointOrder, order: np.ndarray | None, what: str) -> np.ndarray:
    """(m, n) a row of every point."""
    return np.array([joints.arrange(row, order, what, where=f" at point {k}") for k, row in enumerate(rows)])
