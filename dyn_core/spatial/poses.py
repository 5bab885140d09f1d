"""Rotations R (3, 3) and poses T = [[R, p], [0, 1]] (4, 4) as arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dyn_core.arrays import Floats


def pose(R: Floats | None = None, p: Floats | None = None) -> Floats:
    """T from a rotation (default: none) and a translation in m (default: none)."""
    T = np.eye(4)
    if R is not None:
        T[:3, :3] = R
    if p is not None:
        T[:3, 3] = p
    return T


def inverse(T: Floats) -> Floats:
    """The pose of the other frame in this one."""
    R = T[:3, :3]
    return pose(R.T, -R.T @ T[:3, 3])


def rotation_x(angle: float) -> Floats:
    c, s = _cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: float) -> Floats:
    c, s = _cos_sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: float) -> Floats:
    c, s = _cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def _cos_sin(angle: float) -> tuple[float, float]:
    """cos and sin, exact at the quarter turns that descriptions are full of."""
    quarters = angle / (math.pi / 2.0)
    if abs(quarters - round(quarters)) < 1e-15 * max(1.0, abs(quarters)):
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[round(quarters) % 4]
    return math.cos(angle), math.sin(angle)


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Floats:
    """R = Rz(yaw) Ry(pitch) Rx(roll), as in URDF; rad."""
    return rotation_z(yaw) @ rotation_y(pitch) @ rotation_x(roll)


def rpy_from_rotation(R: Floats) -> tuple[float, float, float]:
    """The inverse of rotation_from_rpy; at pitch = +-90 deg, where it is not unique, roll is 0."""
    cosine = math.hypot(R[0, 0], R[1, 0])
    pitch = math.atan2(-R[2, 0], cosine)
    roll = 0.0 if cosine < 1e-12 else math.atan2(R[2, 1], R[2, 2])
    # yaw from R Rx(-roll) = Rz Ry: near +-90 deg roll and yaw are uncertain one by one, but not together
    c, s = math.cos(roll), math.sin(roll)
    return roll, pitch, math.atan2(s * R[0, 2] - c * R[0, 1], c * R[1, 1] - s * R[1, 2])


def quaternion_from_rotation(R: Floats) -> tuple[float, float, float, float]:
    """x, y, z, w of a rotation matrix, from its largest component (Shepperd's method)."""
    (a, b, c), (d, e, f), (g, h, i) = R.tolist()
    squares = (1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i, 1.0 + a + e + i)
    largest = max(range(4), key=squares.__getitem__)
    row = (
        (squares[0], b + d, c + g, h - f),
        (b + d, squares[1], f + h, c - g),
        (c + g, f + h, squares[2], d - b),
        (h - f, c - g, d - b, squares[3]),
    )[largest]
    k = 1.0 / math.sqrt(sum(x * x for x in row))
    return row[0] * k, row[1] * k, row[2] * k, row[3] * k


def rotation_to_axis(axis: Floats) -> Floats:
    """The smallest rotation Q with Q z = axis (unit); a half turn about x where axis = -z."""
    x, y, z = axis
    if z < -1.0 + 1e-14:
        return np.diag([1.0, -1.0, -1.0])
    k = 1.0 / (1.0 + z)
    return np.array([[1.0 - k * x * x, -k * x * y, x], [-k * x * y, 1.0 - k * y * y, y], [-x, -y, z]])


def inertia_about_origin(inertia: Floats, mass: float, com: Floats) -> Floats:
    """Huygens-Steiner: J = I + m (|c|^2 1 - c c^T), I about the centre of mass c, J about the origin."""
    return np.asarray(inertia + mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com)))


def azimuth_tilt_torsion(azimuth: Any, tilt: Any, torsion: Any) -> Floats:
    """(..., 3, 3) Q = Rz(azimuth) Ry(tilt) Rz(torsion - azimuth), angles in rad that broadcast."""
    phi, theta, sigma = np.broadcast_arrays(*(np.asarray(angle, float) for angle in (azimuth, tilt, torsion)))
    a, b, c = np.cos(phi), np.cos(theta), np.cos(sigma - phi)
    d, e, f = np.sin(phi), np.sin(theta), np.sin(sigma - phi)
    rows = (
        (a * b * c - d * f, -a * b * f - d * c, a * e),
        (d * b * c + a * f, -d * b * f + a * c, d * e),
        (-e * c, e * f, b),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def skew(v: Floats) -> Floats:
    """The matrix of the cross product: skew(v) @ u = v x u."""
    x, y, z = v
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def poses_apart(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Distance (m) and angle (rad), (...,) each, between poses (..., 4, 4)."""
    from scipy.spatial.transform import Rotation  # here: most programs never need it, and it takes long to import

    a, b = np.asarray(first, float), np.asarray(second, float)
    turned = b[..., :3, :3] @ np.swapaxes(a[..., :3, :3], -1, -2)
    angle = Rotation.from_matrix(turned.reshape(-1, 3, 3)).magnitude().reshape(turned.shape[:-2])
    return np.linalg.norm(b[..., :3, 3] - a[..., :3, 3], axis=-1), angle


def to_seven(T: Floats) -> Floats:
    """Positions and unit quaternions (x, y, z, w), (m, 7), of poses (m, 4, 4)."""
    from scipy.spatial.transform import Rotation

    if len(T) == 0:
        return np.empty((0, 7))
    return np.concatenate([T[:, :3, 3], Rotation.from_matrix(T[:, :3, :3]).as_quat()], axis=1)


def from_seven(x: Floats) -> Floats:
    """Poses (m, 4, 4) of positions and quaternions (x, y, z, w), (m, 7)."""
    from scipy.spatial.transform import Rotation

    T = np.tile(np.eye(4), (len(x), 1, 1))
    if len(x):
        T[:, :3, :3] = Rotation.from_quat(x[:, 3:]).as_matrix()
        T[:, :3, 3] = x[:, :3]
    return T
