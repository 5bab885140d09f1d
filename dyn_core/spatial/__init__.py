"""Rotations, twists, wrenches and poses."""

from .poses import (
    azimuth_tilt_torsion,
    pose,
    poses_apart,
    quaternion_from_rotation,
    rotation_from_rpy,
    rpy_from_rotation,
)

__all__ = [
    "azimuth_tilt_torsion",
    "pose",
    "poses_apart",
    "quaternion_from_rotation",
    "rotation_from_rpy",
    "rpy_from_rotation",
]
