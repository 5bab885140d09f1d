"""What the controller follows: a trajectory with its start time, made smooth with the motion before it, and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from dyn_core.limits import Limits
from dyn_core.robot import Robot
from dyn_core.trajectory import through_points
from nodes.messages import Dropped, TrajectoryPoints

State = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Desired position, velocity and acceleration, each (n,)."""

REST = 1e-6
"""Velocity below which a trajectory's end counts as at rest (rad/s or m/s)."""
BETWEEN = 8
"""Instants between two points at which a motion is checked, at most MOST altogether."""
MOST = 4000
INSTANTS = 100
"""Instants at which torque and voltage of a motion are checked."""
ROUNDING = 1e-6
"""Part of a limit by which a motion may exceed it: a spline overshoots the limit at which a point lies by this."""


class Motion(Protocol):
    """A desired motion over time."""

    @property
    def duration(self) -> float: ...

    def sample(self, t: Any) -> State: ...


class Hold:
    """Stay at one position."""

    def __init__(self, q: np.ndarray) -> None:
        rest = np.zeros_like(q)
        self._state = (q.copy(), rest, rest)

    @property
    def duration(self) -> float:
        return 0.0

    def sample(self, t: Any) -> State:
        return self._state


@dataclass(frozen=True)
class Plan:
    """A motion that begins at ``start`` (ns, on the clock of the joint states' stamps)."""

    start: int
    motion: Motion

    def sample(self, now: int) -> State:
        """Desired state at the stamp ``now`` (ns)."""
        return self.motion.sample((now - self.start) * 1e-9)

    def remaining(self, now: int) -> float:
        """Seconds until the motion's end, not below 0."""
        return max(0.0, self.motion.duration - (now - self.start) * 1e-9)

    def delayed(self, nanoseconds: int) -> Plan:
        """The same motion, later."""
        return replace(self, start=self.start + nanoseconds)


def joined(points: TrajectoryPoints, present: State, tolerance: float, names: Sequence[str] = ()) -> Motion:
    """The motion through the checked points that begins in the ``present`` desired state.

    If the first point lies at a time above 0 the present state is put before it; if it lies at 0 it must agree with the
    present position to ``tolerance`` and is replaced by it. names: of the joints, for what is said of them.
    """
    q, qd, qdd = present
    times, positions = points.times, points.positions.copy()
    velocities, accelerations = points.velocities, points.accelerations
    if velocities is not None and (np.abs(velocities[-1]) > REST).any():
        raise Dropped("does not end at rest", _joint(names, int(np.abs(velocities[-1]).argmax())))
    if times[0] > 0.0:
        times = np.concatenate(([0.0], times))
        positions = np.vstack((q, positions))
        velocities = None if velocities is None else np.vstack((qd, velocities))
        accelerations = None if accelerations is None else np.vstack((qdd, accelerations))
    else:
        distance = np.abs(positions[0] - q)
        if (distance > tolerance).any():
            j = int(distance.argmax())
            raise Dropped(
                "start not continuous",
                f"{_joint(names, j)} is {distance[j]:.3g} away from the present position at point 0",
            )
        positions[0] = q
        if velocities is not None:
            velocities = np.vstack((qd, velocities[1:]))
        if accelerations is not None:
            accelerations = np.vstack((qdd, accelerations[1:]))
    if len(times) < 2:
        raise Dropped("no duration")
    if velocities is None and (qd.any() or qdd.any()):
        # A spline through positions alone begins at rest: take over its inner slopes, and begin with the present ones.
        _, velocities, accelerations = through_points(times, positions).sample(times)
        velocities[0], accelerations[0] = qd, qdd
    return through_points(times, positions, velocities, accelerations)


def check_motion(motion: Motion, points: TrajectoryPoints, limits: Limits) -> None:
    """Refuse a motion that exceeds a position or velocity limit at a point or between points, with joint and place."""
    ends = points.times if points.times[0] == 0.0 else np.concatenate(([0.0], points.times))
    parts = max(1, min(BETWEEN, MOST // len(ends)))
    fractions = np.arange(parts) / parts
    times = np.append((ends[:-1, None] + np.diff(ends)[:, None] * fractions).ravel(), ends[-1])
    q, qd, _ = motion.sample(times)
    low, high = limits.soft.T
    room = ROUNDING * np.maximum(1.0, np.abs(q))
    begun = np.abs(times) > 0.0  # where a robot is now, is no fault of the trajectory
    for what, unit, value, over in (
        ("outside position limits", "", q, (q < low - room) | (q > high + room)),
        ("above the velocity limit", "/s", np.abs(qd), np.abs(qd) > limits.velocity * (1.0 + ROUNDING)),
    ):
        over &= begun[:, None]
        if over.any():
            i, j = np.argwhere(over)[0]
            where = int(np.searchsorted(points.times, times[i] - 1e-12))
            at = f"at point {where}" if abs(points.times[where] - times[i]) < 1e-12 else f"before point {where}"
            bounds = f"[{low[j]:.4g}, {high[j]:.4g}]" if not unit else f"[0, {limits.velocity[j]:.4g}]"
            raise Dropped(what, f"{limits.names[j]} {at} ({times[i]:.3g} s): {value[i, j]:.4g} is not in {bounds}")


def check_torques(motion: Motion, points: TrajectoryPoints, robot: Robot, limits: Limits) -> None:
    """Refuse a motion that needs more torque or voltage than motors and joints can give, with joint and place."""
    if not limits.driven.all():
        return  # joints without motors move as the dynamics says, not as the motion does
    times = np.linspace(0.0, motion.duration, INSTANTS)
    q, qd, qdd = motion.sample(times)
    torque = robot.inverse_dynamics(q, qd, qdd)
    for what, unit, value, limit in (
        ("above the torque limit", "N m or N", torque, limits.torque),
        ("above the voltage limit", "V", limits.needed_voltage(torque, qd), limits.voltage),
    ):
        over = np.abs(value) > limit
        if over.any():
            i, j = np.argwhere(over)[0]
            where = min(int(np.searchsorted(points.times, times[i])), len(points.times) - 1)
            raise Dropped(
                what,
                f"{limits.names[j]} before point {where} ({times[i]:.3g} s) needs {abs(value[i, j]):.4g} {unit}, "
                f"{limit[j]:.4g} is allowed; give it more time",
            )


def _joint(names: Sequence[str], j: int) -> str:
    return names[j] if names else f"joint {j}"
