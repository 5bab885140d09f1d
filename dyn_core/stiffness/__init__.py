"""Stiffness: virtual joints, legs side by side, the Cartesian stiffness of a frame, and its deflection."""

from .cartesian import Deflection, Stiffness, cartesian_stiffness
from .legs import Leg, leg_stiffness, parallel_stiffness
from .virtual_joints import VirtualJoints

__all__ = [
    "Deflection",
    "Leg",
    "Stiffness",
    "VirtualJoints",
    "cartesian_stiffness",
    "leg_stiffness",
    "parallel_stiffness",
]
