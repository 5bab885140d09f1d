"""What comes from outside is checked here, before anything moves.

Each check returns arrays in the robot's joint order or raises RefusedError with a short reason under which
``/diagnostics`` counts the message.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dyn_core.errors import RefusedError

from .geometry_messages import wrench_array


class DropCounter:
    """Counts dropped messages by topic and reason, and keeps the sentence of the last one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last = ""

    def add(self, topic: str, refused: RefusedError) -> None:
        self.counts[f"{topic}: {refused.reason}"] += 1
        self.last = f"{topic}: {refused}"

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
            raise RefusedError("unknown joints", f"{unknown[0][:60]!r} is none of {', '.join(self.names)}")
        if len(set(names)) != len(names):
            raise RefusedError("repeated joints")
        if len(names) != len(self.names):
            missing = next(name for name in self.names if name not in names)
            raise RefusedError("missing joints", repr(missing))
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
            raise RefusedError("wrong size", f"{array.size} {what} for {expected} joints{where}")
        array = array if order is None else array[order]
        if not np.isfinite(array).all():
            joint = self.names[int(np.flatnonzero(~np.isfinite(array))[0])]
            raise RefusedError("not finite", f"{what} of {joint}{where}")
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
        raise RefusedError("wrong size", f"{codes.size} DAC codes for {len(joints.names)} motors")
    if order is not None:
        codes = codes[order]
    if (codes < lowest).any() or (codes > highest).any():
        raise RefusedError("code out of range", str(codes.tolist()))
    return codes


def wrench(message: Any) -> np.ndarray:
    """Force then moment (6,) of a geometry_msgs/WrenchStamped, N and N m."""
    array = wrench_array(message.wrench)
    if not np.isfinite(array).all():
        raise RefusedError("not finite", "wrench")
    return array
