"""A spherical parallel manipulator: a closed chain whose platform turns about a fixed centre O."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core.mechanism import Mechanism
from dyn_core.stiffness import Stiffness

from ..configuration import Configuration
from ..robot import Formulation
from .loop_robot import LoopRobot
from .spherical_platform import SphericalLegs, SphericalPlatform


class SphericalRobot(LoopRobot):
    """Three legs of axes u, v, w about O, the origin of the base's and of the platform's frame.

    q (3,): angles of the actuators about u, 0 where v lies in the plane of u and the base's axis (2).
    """

    def __init__(self, mechanism: Mechanism, formulation: Formulation = "projection") -> None:
        self.spherical_legs = SphericalLegs(mechanism)
        """The legs as their kernels read them."""
        super().__init__(mechanism, formulation)

    @property
    def platform(self) -> SphericalPlatform:
        """What the platform can do."""
        return SphericalPlatform(self, self.spherical_legs)

    def stiffness(
        self, q: Any, frame: str = "tool", wrench: Any = None, near: Configuration | None = None
    ) -> Stiffness:
        """Cartesian stiffness of a frame at q (3,); wrench, near: as of any LoopRobot."""
        if wrench is not None:
            return super().stiffness(q, frame, wrench, near)
        full = self.standing(q, near)
        name = self.spherical_legs.platform.name
        Q = self.tree.forward_kinematics(full, name)[:3, :3]
        elbows = np.sin(full[1 + self.joints])  # (u x v) . w over sin alpha1 sin alpha2
        legs = self.spherical_legs.in_modes([1 if elbow > 0.0 else -1 for elbow in elbows])
        if near is None or not np.array_equal(full, near.q):
            Q = self.platform.refined(Q, full[self.joints])
        return self.platform.stiffness_in(np.ascontiguousarray(Q), legs, frame, lambda: full)
