"""Constant poses as homogeneous matrices T = [[R, p], [0, 1]]."""

from __future__ import annotations

import math

import numpy as np

from ..mechanism import Floats


def pose(R: Floats | None = None, p: Floats | None = None) -> Floats:
    """T from a rotation (default: none) and a translation in m (default: none)."""
    T = np.eye(4)
    if R is not None:
        T[:3, :3] = R
    if p is not None:
        T[:3, 3] = p
    return T


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
    return inertia + mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com))
