"""What the controller follows: a trajectory with its start time, made smooth with the motion before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dyn_core.trajectory import through_points
from nodes.messages import Dropped, TrajectoryPoints

State = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Desired position, velocity and acceleration, each (n,)."""

REST = 1e-6
"""Velocity below which a trajectory's end counts as at rest (rad/s or m/s)."""


class Motion(Protocol):
    """A desired motion over time."""

    @property
    def duration(self) -> float: ...

    def sample(self, t: float) -> State: ...


class Hold:
    """Stay at one position."""

    def __init__(self, q: np.ndarray) -> None:
        rest = np.zeros_like(q)
        self._state = (q.copy(), rest, rest)

    @property
    def duration(self) -> float:
        return 0.0

    def sample(self, t: float) -> State:
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


def joined(points: TrajectoryPoints, present: State, tolerance: float) -> Motion:
    """The motion through the checked points that begins in the ``present`` desired state.

    If the first point lies at a time above 0 the present state is put before it; if it lies at 0 it must agree with the
    present position to ``tolerance`` and is replaced by it.
    """
    q, qd, qdd = present
    times, positions = points.times, points.positions.copy()
    velocities, accelerations = points.velocities, points.accelerations
    if velocities is not None and (np.abs(velocities[-1]) > REST).any():
        raise Dropped("does not end at rest")
    if times[0] > 0.0:
        times = np.concatenate(([0.0], times))
        positions = np.vstack((q, positions))
        velocities = None if velocities is None else np.vstack((qd, velocities))
        accelerations = None if accelerations is None else np.vstack((qdd, accelerations))
    else:
        distance = np.abs(positions[0] - q)
        if (distance > tolerance).any():
            j = int(distance.argmax())
            raise Dropped("start not continuous", f"joint {j} is {distance[j]:.3g} away from the present position")
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
