"""Trajectories of a platform's pose, and the joint trajectories of the legs that make them.

A pose is p(t) and R(t) = exp(r(t)) R_0, with p and the rotation vector r smooth functions of time. Then

    omega = rd + a r x rd + b r x (r x rd),   a = (1 - cos |r|) / |r|^2,   b = (|r| - sin |r|) / |r|^3

and omegad is its derivative. With two poses r keeps its direction: the platform turns about one axis, by the shortest
way, while its frame's origin goes straight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from .errors import InputError, SingularityError, WorkspaceError
from .mechanism import Floats
from .parallel_robot import ParallelRobot
from .trajectory import Trajectory, quintic, through_points

SAMPLES = 200
"""Instants of a motion at which the legs are checked, at least."""
MOST_POINTS = 6400
SHORTEST = 1.0
"""Shortest time (s) that is chosen for a motion."""
SLOWER = 20
"""Times that a motion is tried slower, by a quarter each."""
QUINTIC = 15.0 / 8.0
"""Peak speed over mean speed."""
SMALL = 1e-2
"""Rotation (rad) below which series stand for a and b."""


class PoseSample(NamedTuple):
    """A motion of a frame in the base frame, at one time or at m times."""

    pose: Floats
    """(4, 4) or (m, 4, 4)."""
    twist: Floats
    """(6,) or (m, 6): velocity (m/s) of the frame's origin, angular velocity (rad/s)."""
    acceleration: Floats
    """(6,) or (m, 6)."""


class PoseTrajectory:
    """A motion of a frame over [0, duration] seconds. coordinates: p, r (6,) over time; rotation (3, 3): R_0."""

    def __init__(self, coordinates: Trajectory, rotation: Floats) -> None:
        self.duration = coordinates.duration
        self._coordinates, self._rotation = coordinates, rotation

    def sample(self, t: Any) -> PoseSample:
        """The motion at time t, or at m times; it stands before the start and after the end."""
        x, xd, xdd = (np.atleast_2d(part) for part in self._coordinates.sample(t))
        r, rd, rdd = x[:, 3:], xd[:, 3:], xdd[:, 3:]
        poses = np.tile(np.eye(4), (len(x), 1, 1))
        poses[:, :3, 3] = x[:, :3]
        poses[:, :3, :3] = Rotation.from_rotvec(r).as_matrix() @ self._rotation
        w, wd = _angular(r, rd, rdd)
        twist, acceleration = np.hstack([xd[:, :3], w]), np.hstack([xdd[:, :3], wd])
        if np.ndim(t) == 0:
            return PoseSample(poses[0], twist[0], acceleration[0])
        return PoseSample(poses, twist, acceleration)


def straight(first: Any, last: Any, duration: float) -> PoseTrajectory:
    """From rest at one pose (4, 4) to rest at another, straight and about one axis, by a polynomial of degree five."""
    poses = np.stack([_pose(first), _pose(last)])
    x = _coordinates(poses)
    return PoseTrajectory(quintic(x[0], x[1], duration), poses[0, :3, :3])


def through_poses(times: Any, poses: Any) -> PoseTrajectory:
    """A spline through poses (m, 4, 4) at times (m,), which start at 0; at rest at both ends."""
    table = np.stack([_pose(each) for each in poses])
    return PoseTrajectory(through_points(times, _coordinates(table)), table[0, :3, :3])


def displaced(pose: Any, motion: Any) -> Floats:
    """(4, 4) a pose moved by (6,): a translation (m), and a rotation vector (rad) about its origin, in base axes."""
    moved = _pose(pose).copy()
    x = np.asarray(motion, float)
    moved[:3, 3] += x[:3]
    moved[:3, :3] = Rotation.from_rotvec(x[3:]).as_matrix() @ moved[:3, :3]
    return moved


def poses_apart(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Distance (m) and angle (rad), (...,) each, between poses (..., 4, 4)."""
    a, b = np.asarray(first, float), np.asarray(second, float)
    turned = b[..., :3, :3] @ np.swapaxes(a[..., :3, :3], -1, -2)
    angle = Rotation.from_matrix(turned.reshape(-1, 3, 3)).magnitude().reshape(turned.shape[:-2])
    return np.linalg.norm(b[..., :3, 3] - a[..., :3, 3], axis=-1), angle


def _pose(value: Any) -> Floats:
    try:
        T = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"a pose must be a (4, 4) matrix of numbers, found {value!r:.80}") from None
    if T.shape != (4, 4) or not np.isfinite(T).all():
        raise InputError(f"a pose must be a finite (4, 4) matrix, found shape {T.shape}")
    return T


def _coordinates(poses: Floats) -> Floats:
    """(m, 6) p and r of poses, r from the first one on, each the nearest to the one before."""
    r = Rotation.from_matrix(poses[:, :3, :3] @ poses[0, :3, :3].T).as_rotvec()
    for k in range(1, len(r)):
        angle = float(np.linalg.norm(r[k]))
        if angle > 0.0:
            other = r[k] * (1.0 - 2.0 * np.pi / angle)
            r[k] = min(r[k], other, key=lambda each: float(np.linalg.norm(each - r[k - 1])))
    return np.hstack([poses[:, :3, 3], r])


def _angular(r: Floats, rd: Floats, rdd: Floats) -> tuple[Floats, Floats]:
    """Angular velocity and acceleration (m, 3) of exp(r)."""
    angle = np.linalg.norm(r, axis=1, keepdims=True)
    small = angle < SMALL
    x = np.where(small, 1.0, angle)
    s, c, square = np.sin(x), np.cos(x), angle**2
    a = np.where(small, 1.0 / 2.0 - square / 24.0, (1.0 - c) / x**2)
    b = np.where(small, 1.0 / 6.0 - square / 120.0, (x - s) / x**3)
    # da/d|r| / |r| and db/d|r| / |r|
    da = np.where(small, -1.0 / 12.0 + square / 180.0, (x * s - 2.0 * (1.0 - c)) / x**4)
    db = np.where(small, -1.0 / 60.0 + square / 1260.0, (x * (1.0 - c) - 3.0 * (x - s)) / x**5)
    along = np.sum(r * rd, axis=1, keepdims=True)
    first = np.cross(r, rd)
    second = np.cross(r, first)
    w = rd + a * first + b * second
    wd = rdd + along * (da * first + db * second) + a * np.cross(r, rdd)
    wd += b * (np.cross(rd, first) + np.cross(r, np.cross(r, rdd)))
    return w, wd


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
    robot: ParallelRobot, path: PoseTrajectory, distance: float = 1e-5, angle: float = 1e-5, frame: str = "tool"
) -> LegTrajectory:
    """The active joints along a path of a frame of the platform, which stays within a distance (m) and angle (rad).

    WorkspaceError where a leg does not reach or is beyond its limits, SingularityError at and beyond singularities,
    with the place on the way.
    """
    _check_way(robot, path, frame)
    points = 11
    while True:
        times = np.linspace(0.0, path.duration, points)
        at = path.sample(times)
        legs = robot.legs(at.pose, at.twist, at.acceleration, frame)
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


def _check_way(robot: ParallelRobot, path: PoseTrajectory, frame: str) -> None:
    """Raise where the robot cannot go; a sentence about the end says so, one about the way says where."""
    robot.inverse_kinematics(path.sample(path.duration).pose, frame)
    times = np.linspace(0.0, path.duration, SAMPLES + 1)
    try:
        q = robot.inverse_kinematics(path.sample(times).pose, frame)
        robot.check(q)
    except (WorkspaceError, SingularityError):
        for t in times:
            try:
                robot.check(robot.inverse_kinematics(path.sample(t).pose, frame))
            except (WorkspaceError, SingularityError) as error:
                raise type(error)(f"{error}, after {t / path.duration:.0%} of the way") from None
        raise


def platform_move(robot: ParallelRobot, start: Any, target: Any, duration: float | None = None) -> LegTrajectory:
    """The legs' way from rest at positions q (n,) to rest at a pose (4, 4) of the tool, straight and about one axis.

    duration (s): if not given, such that no leg is faster than half of its limit, nor than 1 m/s or rad/s, the platform
    turns with at most 1 rad/s, and the motors can give the forces.
    """
    first = robot.forward_kinematics(start)
    if duration is not None:
        return leg_trajectory(robot, straight(first, target, duration))
    legs = leg_trajectory(robot, straight(first, target, SHORTEST))
    speed = np.minimum(0.5 * robot.mechanism.velocity_limits[robot.joints], 1.0)
    turning = QUINTIC * float(poses_apart(first, target)[1])
    seconds = SHORTEST * max(1.0, float((np.abs(legs.qd) / speed).max()), turning)
    for _ in range(SLOWER):
        legs = leg_trajectory(robot, straight(first, target, seconds))
        if robot.mechanism.motors is None or _within_motors(robot, legs):
            break
        seconds *= 1.25
    return legs


def _within_motors(robot: ParallelRobot, legs: LegTrajectory) -> bool:
    tau = robot.inverse_dynamics(legs.q, legs.qd, legs.qdd)
    return not robot.actuation.voltages(tau, legs.qd)[1].any()
