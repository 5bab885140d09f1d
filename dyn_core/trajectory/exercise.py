"""A motion that exercises a robot: the demo's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import SingularityError, WorkspaceError
from dyn_core.robots.platform import Platform
from dyn_core.robots.robot import Robot

from .joint_trajectory import Trajectory, through_points
from .leg_motion import leg_trajectory, within_motors
from .pose_trajectory import PoseTrajectory, displaced, through_poses

SWING = 0.5
"""Amplitude of the motion (rad or m) where the limits allow it."""
WAYPOINTS = (1.0, -0.6, 0.8)
"""Waypoints in parts of the swing; the last is the pose at which the stiffness is asked."""
SECONDS = 5.0

PLATFORM = np.array(
    [
        [1.0, 0.0, 0.5, 0.0, 0.6, 0.3],
        [0.0, 1.0, -0.6, -0.6, 0.0, -0.6],
        [-1.0, -0.3, 0.4, 0.5, -0.4, 0.5],
        [0.4, -0.5, 0.3, 0.3, 0.3, -0.3],
    ]
)
"""Where a platform goes from its start: translation and rotation vector, in parts of REACH and TURN."""
REACH, TURN = 0.2, 0.3
"""Translation (in characteristic lengths) and rotation (rad) of a platform where the legs allow it."""
ATTEMPTS = 40
"""Times that a platform's motion is tried smaller by a tenth for the legs, or slower by a quarter for the motors."""
CLEAR = 0.05
"""Part of a leg's range that the demo keeps away from its limits."""


@dataclass(frozen=True)
class ExerciseMotion:
    """A trajectory, and points that a controller can be sent to follow it."""

    times: Floats
    """(m,) s."""
    positions: Floats
    """(m, n) rad or m."""
    trajectory: Trajectory
    velocities: Floats | None = None
    accelerations: Floats | None = None
    platform: PoseTrajectory | None = None
    """What a platform does meanwhile."""


def exercise_motion(robot: Robot, start: Floats) -> ExerciseMotion:
    """A smooth motion from start (n,) within the joints' limits, as slow as speed, current and voltage ask for.

    A platform goes through poses about its own; WorkspaceError where legs and motors allow no such motion.
    """
    if robot.platform is not None and not robot.platform.turns_only:
        return _platform_plan(robot, robot.platform, start)
    low, high = robot.position_limits.T
    room = np.where(np.isfinite(high - low), 0.4 * (high - low), SWING)
    driven = robot.driven
    swing = np.minimum(SWING, room) * driven * np.where(np.cumsum(driven) % 2 == 1, 1.0, -1.0)
    rows = np.array([np.clip(start + part * swing, low, high) for part in WAYPOINTS])
    positions = np.vstack((start, rows))
    duration = SECONDS
    for _ in range(20):
        times = np.linspace(0.0, duration, len(positions))
        motion = ExerciseMotion(times, positions, through_points(times, positions))
        if within_motors(robot, motion.trajectory):
            break
        duration *= 1.25
    return motion


def _platform_plan(robot: Robot, platform: Platform, start: Floats) -> ExerciseMotion:
    """A motion of the platform through poses about its own, as large as legs allow, as slow as motors ask for."""
    first = robot.forward_kinematics(start)
    S = platform.freedoms
    offsets = PLATFORM * ([REACH * platform.size] * 3 + [TURN] * 3) @ S @ S.T
    low, high = robot.position_limits.T
    clear = np.where(np.isfinite(high - low), CLEAR * (high - low), 0.0)
    duration = SECONDS
    for _ in range(ATTEMPTS):
        path = through_poses(
            np.linspace(0.0, duration, len(offsets) + 1), [first, *(displaced(first, each) for each in offsets)]
        )
        try:
            legs = leg_trajectory(robot, path)
        except (WorkspaceError, SingularityError):
            offsets *= 0.9
            continue
        if ((legs.q < low + clear) | (legs.q > high - clear)).any():
            offsets *= 0.9
            continue
        motion = ExerciseMotion(legs.times, legs.q, legs.trajectory(), legs.qd, legs.qdd, path)
        if within_motors(robot, motion.trajectory):
            return motion
        duration *= 1.25
    raise WorkspaceError(f"{robot.name}: found no motion of the platform about its pose that legs and motors can make")
