"""A tracker: follows a robot's motion from configuration to configuration."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core.arrays import Floats

from .configuration import Configuration


class Tracker:
    """What asks a robot along a motion, one state after the other.

    A robot remembers nothing. A tracker holds the last configuration of closed chains, finds the next one from there,
    and raises SingularityError or ClosureError where a singularity or the end of a branch lies between; it then stays
    where it was. Open chains leave nothing to hold: this class asks the robot. One thread at a time uses a tracker.
    """

    def __init__(self, robot: Any) -> None:
        self.robot = robot

    def start(self, near: Configuration | None = None) -> None:
        """Go on from another configuration; the described one if it is not given."""

    def move_to(self, q: Any) -> Configuration:
        """The configuration at positions q (nq,), followed from the last one."""
        return self.robot.configuration(q)

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """As `Robot.inverse_dynamics`, of one state."""
        return self.robot.inverse_dynamics(q, qd, qdd, wrenches)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None) -> Floats:
        """As `Robot.forward_dynamics`, of one state."""
        return self.robot.forward_dynamics(q, qd, tau, wrenches)

    def driven_forces(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """As `Robot.driven_forces`."""
        return self.robot.driven_forces(q, qd, qdd)

    def friction_change(self, q: Floats, qd: Floats, other: Floats) -> Floats:
        """As `Robot.friction_change`."""
        return self.robot.friction_change(q, qd, other)

    def all_joints(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """As `Robot.all_joints`."""
        return self.robot.all_joints(q, qd)

    def last(self) -> Floats:
        """(n of the mechanism,) positions of all joints of closed chains in the last configuration; empty without."""
        return np.empty(0)

    def approach(self, q: Floats, qd: Floats) -> tuple[float, float] | None:
        """How far closed chains are from a singularity at q (nq,), and its rate with speeds qd (nv,); None without.

        SingularityError or ClosureError where q cannot be reached from the last configuration.
        """
        return None
