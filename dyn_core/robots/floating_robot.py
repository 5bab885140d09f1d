"""A robot of open chains on a base that moves freely."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree.state_kernels import moved_by_velocity
from dyn_core.errors import InputError
from dyn_core.mechanism import Mechanism
from dyn_core.spatial.poses import from_seven, skew

from .open_robot import OpenRobot


class FloatingRobot(OpenRobot):
    """A robot of n joints on a floating base.

    q (7 + n,): position of the base in the world (m), its orientation as a unit quaternion (x, y, z, w), joints.
    qd (6 + n,): linear velocity of the base's origin and angular velocity in the base's axes, joint rates.
    qdd (6 + n,): classical acceleration of the base's origin (the rate of its velocity in the world, turned into the
    base's axes) and angular acceleration, joint accelerations. tau (6 + n,): wrench on the base, joint forces.
    Wrenches (n + 1, 6): the base's first. Gravity is in the axes of the world.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.base is None:
            raise InputError(f"{mechanism.name} has a fixed base: use TreeRobot")
        super().__init__(mechanism)

    def base_motion(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> tuple[Floats, Floats]:
        """Khalil's inverse model (section 7.2): what the base does when the joints move as given.

        qdd (..., n): joint accelerations. Returns the base's acceleration (..., 6) and the joint forces (..., n), with
        no force on the base but gravity and the wrenches.
        """
        tau, found = self.mixed_dynamics(q, qd, self.with_base(qdd), wrenches=wrenches)
        return found[..., :6], tau[..., 6:]

    def integrate(self, q: Any, qd: Any, time: float = 1.0) -> Floats:
        """The configuration reached from q when the velocity qd (constant in the base's axes) lasts for a time."""
        lead, (q, qd) = self.checked_state({"q": q, "qd": qd})
        return self.model.batch(moved_by_velocity, lead, np.empty((*lead, self.nq)), [float(time)], q, qd)

    def momentum(self, q: Any, qd: Any) -> Floats:
        """(6,) linear momentum, and angular momentum about the world's origin, in world axes."""
        h = self.mass_matrix(q)[:6] @ np.asarray(qd, float)
        pose = from_seven(np.asarray(q, float)[None, :7])[0]
        R, p = pose[:3, :3], pose[:3, 3]
        linear = R @ h[:3]
        return np.concatenate([linear, R @ h[3:] + skew(p) @ linear])
