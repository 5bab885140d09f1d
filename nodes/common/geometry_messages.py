"""Vectors, wrenches, rotations and poses as messages, and back."""

from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, Quaternion, Twist, Wrench
from scipy.spatial.transform import Rotation

from dyn_core.errors import InputError
from dyn_core.spatial import pose, quaternion_from_rotation


def vector_array(message: Any) -> np.ndarray:
    """(3,) of a Point or Vector3."""
    return np.array([message.x, message.y, message.z])


def set_vector(message: Any, values: Any) -> None:
    """Write three numbers into a Point or Vector3."""
    message.x, message.y, message.z = (float(x) for x in values)


def wrench_array(message: Wrench) -> np.ndarray:
    """(6,) force and moment."""
    return np.concatenate((vector_array(message.force), vector_array(message.torque)))


def wrench_message(wrench: np.ndarray) -> Wrench:
    """Force and moment (6,) as a message."""
    message = Wrench()
    set_vector(message.force, wrench[:3])
    set_vector(message.torque, wrench[3:])
    return message


def twist_array(message: Twist) -> np.ndarray:
    """(6,) linear and angular velocity."""
    return np.concatenate((vector_array(message.linear), vector_array(message.angular)))


def rotation_array(message: Quaternion) -> np.ndarray:
    """(3, 3) rotation; InputError where the quaternion has no direction."""
    u = np.array([message.x, message.y, message.z, message.w])
    if not (np.abs(u) <= 2.0).all() or abs(float(np.linalg.norm(u)) - 1.0) > 1e-3:  # whose square would overflow
        raise InputError(f"orientation: [{', '.join(f'{x:g}' for x in u)}] is not a unit quaternion (x, y, z, w)")
    return Rotation.from_quat(u).as_matrix()


def quaternion_message(R: np.ndarray) -> Quaternion:
    """A rotation (3, 3) as a message."""
    x, y, z, w = quaternion_from_rotation(R)
    return Quaternion(x=x, y=y, z=z, w=w)


def pose_array(message: Pose) -> np.ndarray:
    """(4, 4) pose; InputError where it is none."""
    p = vector_array(message.position)
    if not np.isfinite(p).all():
        raise InputError("pose: the position is not finite")
    return pose(rotation_array(message.orientation), p)


def pose_message(T: np.ndarray) -> Pose:
    """A pose (4, 4) as a message."""
    message = Pose(orientation=quaternion_message(T[:3, :3]))
    set_vector(message.position, T[:3, 3])
    return message
