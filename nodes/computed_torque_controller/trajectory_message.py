"""The points of a trajectory message, checked before anything moves."""

from typing import Any

import numpy as np

from dyn_core.control import Waypoints
from dyn_core.errors import RefusedError
from dyn_nodes.common.message_checks import JointOrder
from dyn_nodes.common.stamps import nanoseconds

MAX_POINTS = 10_000
"""Longest trajectory that is accepted."""


def waypoints(message: Any, joints: JointOrder, limits: np.ndarray) -> Waypoints:
    """The points of a trajectory_msgs/JointTrajectory; limits: of the positions, (n, 2).

    Velocities and accelerations are there only if every point has them.
    """
    points = message.points
    if not points:
        raise RefusedError("no points")
    if len(points) > MAX_POINTS:
        raise RefusedError("too many points", f"{len(points)}, at most {MAX_POINTS}")
    order = joints.permutation(message.joint_names)
    times = np.array([1e-9 * nanoseconds(p.time_from_start) for p in points])
    late = np.concatenate(([times[0] >= 0.0], np.diff(times) > 0.0))
    if not late.all():
        k = int(np.flatnonzero(~late)[0])
        raise RefusedError("times not increasing", f"point {k} is at {times[k]:g} s")
    positions = _table(points, "positions", joints, order, required=True)
    velocities, accelerations = (_table(points, what, joints, order) for what in ("velocities", "accelerations"))
    assert positions is not None
    outside = (positions < limits[:, 0] - 1e-9) | (positions > limits[:, 1] + 1e-9)
    if outside.any():
        k, j = np.argwhere(outside)[0]
        raise RefusedError(
            "outside position limits",
            f"{joints.names[j]} at point {k}: {positions[k, j]:g} is not in [{limits[j, 0]:g}, {limits[j, 1]:g}]",
        )
    return Waypoints(times, positions, velocities, accelerations)


def _table(
    points: Any, what: str, joints: JointOrder, order: np.ndarray | None, required: bool = False
) -> np.ndarray | None:
    """(m, n) what every point has, a row each; None if none has any, and none is required."""
    rows = [getattr(point, what) for point in points]
    given = [len(row) > 0 for row in rows]
    if not required and not any(given):
        return None
    if not required and not all(given):
        raise RefusedError("wrong size", f"some points have {what} and some have none, as point {given.index(False)}")
    return np.array([joints.arrange(row, order, what, where=f" at point {k}") for k, row in enumerate(rows)])
