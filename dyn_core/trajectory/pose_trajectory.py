"""Trajectories of a frame's pose.

A pose is p(t) and R(t) = exp(r(t)) R_0, with p and the rotation vector r smooth functions of time. Then

    omega = rd + a r x rd + b r x (r x rd),   a = (1 - cos |r|) / |r|^2,   b = (|r| - sin |r|) / |r|^3

and omegad is its derivative. With two poses r keeps its direction: the platform turns about one axis, by the shortest
way, while its frame's origin goes straight.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_core.arrays import Floats
from dyn_core.errors import InputError

from .joint_trajectory import Trajectory, quintic, through_points

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
