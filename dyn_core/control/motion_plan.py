"""What the controller follows: a trajectory with its start time, made smooth with the motion before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import RefusedError
from dyn_core.trajectory.joint_trajectory import Sample, Trajectory, through_points

REST = 1e-6
"""Velocity below which a trajectory's end counts as at rest (rad/s or m/s)."""


@dataclass(frozen=True)
class Waypoints:
    """The checked points of a trajectory, in the robot's joint order."""

    times: Floats
    """(m,) s, increasing, from 0 on."""
    positions: Floats
    """(m, n) rad or m."""
    velocities: Floats | None = None
    """(m, n), or None where the points have none."""
    accelerations: Floats | None = None
    """(m, n), or None where the points have none."""


class TrackedState(NamedTuple):
    """Where a robot is and should be at a stamp (ns)."""

    stamp: int
    desired: Sample
    q: Floats
    """(n,) measured."""
    qd: Floats
    """(n,) measured."""


class Line:
    """The motion q + qd s: a robot that goes on as it is or, without a speed, stays where it is."""

    def __init__(self, q: Floats, qd: Floats | None = None) -> None:
        self.n, self.duration = len(q), 0.0 if qd is None else np.inf
        self._none = np.zeros_like(q)
        self._q, self._qd = q.copy(), self._none if qd is None else qd.copy()

    def sample(self, t: Any) -> Sample:
        """q, q', q'' at the time t."""
        return self._q + self._qd * t, self._qd, self._none


@dataclass(frozen=True)
class Plan:
    """A motion that begins at ``start`` (ns, on the clock of the joint states' stamps)."""

    start: int
    motion: Trajectory

    def sample(self, now: int) -> Sample:
        """Desired state at the stamp ``now`` (ns)."""
        return self.motion.sample((now - self.start) * 1e-9)

    def remaining(self, now: int) -> float:
        """Seconds until the motion's end, not below 0."""
        return max(0.0, self.motion.duration - (now - self.start) * 1e-9)

    def delayed(self, nanoseconds: int) -> Plan:
        """The same motion, later."""
        return replace(self, start=self.start + nanoseconds)


def joined(points: Waypoints, present: Sample, tolerance: float, names: Sequence[str] = ()) -> Trajectory:
    """The motion through the checked points that begins in the ``present`` desired state.

    If the first point lies at a time above 0 the present state is put before it; if it lies at 0 it must agree with the
    present position to ``tolerance`` and is replaced by it. names: of the joints, for what is said of them.
    """
    q, qd, qdd = present
    velocities, accelerations = points.velocities, points.accelerations
    if velocities is not None and (np.abs(velocities[-1]) > REST).any():
        raise RefusedError("does not end at rest", _joint(names, int(np.abs(velocities[-1]).argmax())))
    replaced = int(points.times[0] == 0.0)
    distance = np.abs(points.positions[0] - q)
    if replaced and (distance > tolerance).any():
        j = int(distance.argmax())
        raise RefusedError(
            "start not continuous",
            f"{_joint(names, j)} is {distance[j]:.3g} away from the present position at point 0",
        )
    times = np.append(0.0, points.times[replaced:])
    positions = np.vstack((q, points.positions[replaced:]))
    velocities = None if velocities is None else np.vstack((qd, velocities[replaced:]))
    accelerations = None if accelerations is None else np.vstack((qdd, accelerations[replaced:]))
    if len(times) < 2:
        raise RefusedError("no duration")
    if velocities is None and (qd.any() or qdd.any()):
        # A spline through positions alone begins at rest: take over its inner slopes, and begin with the present ones.
        _, velocities, accelerations = through_points(times, positions).sample(times)
        velocities[0], accelerations[0] = qd, qdd
    return through_points(times, positions, velocities, accelerations)


def _joint(names: Sequence[str], j: int) -> str:
    return names[j] if names else f"joint {j}"
