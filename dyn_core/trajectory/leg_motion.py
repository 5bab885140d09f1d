"""Joint trajectories of a parallel robot's legs that move its platform along a path."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import SingularityError, WorkspaceError
from dyn_core.robots.platform import Platform
from dyn_core.robots.robot import Robot
from dyn_core.spatial.poses import poses_apart

from .joint_trajectory import Trajectory, through_points
from .pose_trajectory import PoseTrajectory, straight

SAMPLES = 200
"""Instants of a motion at which the legs are checked, at least."""
MOST_POINTS = 6400
SHORTEST = 1.0
"""Shortest time (s) that is chosen for a motion."""
SLOWER = 20
"""Times that a motion is tried slower, by a quarter each."""
FAST = 0.8
"""Part of a velocity limit that a motion may use."""
QUINTIC = 15.0 / 8.0
"""Peak speed over mean speed."""


class LegTrajectory(NamedTuple):
    """Points (m,) of a motion of the active joints; between them they go by polynomials of degree five."""

    times: Floats
    """(m,) s, from 0."""
    q: Floats
    """(m, n)."""
    qd: Floats
    """(m, n)."""
    qdd: Floats
    """(m, n)."""
    distance: float
    """m, how far the platform's frame is from its path between the points, at most."""
    angle: float
    """rad, the same of its orientation."""

    def trajectory(self) -> Trajectory:
        """The motion of the active joints as a function of time."""
        return through_points(self.times, self.q, self.qd, self.qdd)


def leg_trajectory(
    robot: Robot, path: PoseTrajectory, distance: float = 1e-5, angle: float = 1e-5, frame: str = "tool"
) -> LegTrajectory:
    """The active joints along a path of a frame of the platform, which stays within a distance (m) and angle (rad).

    WorkspaceError where a leg does not reach or is beyond its limits, SingularityError at and beyond singularities,
    with the place on the way.
    """
    platform = robot.require_platform()
    _check_way(platform, path, frame)
    points = 11
    while True:
        times = np.linspace(0.0, path.duration, points)
        at = path.sample(times)
        legs = platform.legs(at.pose, at.twist, at.acceleration, frame)
        found = LegTrajectory(times, legs.q, legs.qd, legs.qdd, 0.0, 0.0)
        between = (times[:-1, None] + np.diff(times)[:, None] * [0.25, 0.5, 0.75]).ravel()
        there = robot.forward_kinematics(found.trajectory().sample(between)[0], frame)
        off, turned = (float(part.max()) for part in poses_apart(path.sample(between).pose, there))
        if off <= distance and turned <= angle:
            return found._replace(distance=off, angle=turned)
        points = 2 * points - 1
        if points > MOST_POINTS:
            raise SingularityError(
                f"{robot.name}: the legs follow the path to {off:.2g} m and {turned:.2g} rad only; it comes too near to"
                " a singularity"
            )


def _check_way(platform: Platform, path: PoseTrajectory, frame: str) -> None:
    """Raise where the robot cannot go; a sentence about the end says so, one about the way says where."""
    platform.inverse_kinematics(path.sample(path.duration).pose, frame)
    times = np.linspace(0.0, path.duration, SAMPLES + 1)
    try:
        q = platform.inverse_kinematics(path.sample(times).pose, frame).q
        platform.check(q)
    except (WorkspaceError, SingularityError):
        for t in times:
            try:
                platform.check(platform.inverse_kinematics(path.sample(t).pose, frame).q)
            except (WorkspaceError, SingularityError) as error:
                raise type(error)(f"{error}, after {t / path.duration:.0%} of the way") from None
        raise


def platform_move(robot: Robot, start: Any, target: Any, duration: float | None = None) -> LegTrajectory:
    """The legs' way from rest at positions q (n,) to rest at a pose (4, 4) of the tool, straight and about one axis.

    duration (s): if not given, such that no leg is faster than half of its limit, nor than 1 m/s or rad/s, the platform
    turns with at most 1 rad/s, and the motors can give the forces.
    """
    first = robot.forward_kinematics(start)
    if duration is not None:
        return leg_trajectory(robot, straight(first, target, duration))
    legs = leg_trajectory(robot, straight(first, target, SHORTEST))
    speed = np.minimum(0.5 * robot.velocity_limits, 1.0)
    turning = QUINTIC * float(poses_apart(first, target)[1])
    seconds = SHORTEST * max(1.0, float((np.abs(legs.qd) / speed).max()), turning)
    for _ in range(SLOWER):
        legs = leg_trajectory(robot, straight(first, target, seconds))
        if robot.mechanism.motors is None or within_motors(robot, legs.trajectory()):
            break
        seconds *= 1.25
    return legs


def within_motors(robot: Robot, trajectory: Trajectory) -> bool:
    """Whether the motors can make a motion, no joint of it being faster than a part of its limit."""
    q, qd, qdd = trajectory.sample(np.linspace(0.0, trajectory.duration, SAMPLES))
    _, cut = robot.actuation.voltages(robot.inverse_dynamics(q, qd, qdd), qd)
    return bool((np.abs(qd) <= FAST * robot.velocity_limits).all() and not cut[:, robot.driven].any())
