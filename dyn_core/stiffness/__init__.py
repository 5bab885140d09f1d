"""Stiffness: beams, virtual joints, the Cartesian stiffness of a frame, and its deflection."""

from .cartesian import Deflection, Stiffness, cartesian_stiffness

__all__ = ["Deflection", "Stiffness", "cartesian_stiffness"]
