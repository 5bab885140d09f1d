"""A robot of open chains on a fixed base."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.parameters.base_parameters import BaseParameters, base_parameters
from dyn_core.dynamics.parameters.regressor import WIDTH as PARAMETERS
from dyn_core.dynamics.parameters.regressor import regressor, standard_parameters
from dyn_core.errors import InputError
from dyn_core.mechanism import Mechanism

from .open_robot import OpenRobot
from .robot import Robot


class TreeRobot(OpenRobot):
    """A tree of n joints on a fixed base. Of a mechanism with loops, or mimic joints: with chains open and all joints
    independent."""

    def __init__(self, mechanism: Mechanism) -> None:
        if mechanism.base is not None:
            raise InputError(f"{mechanism.name} has a floating base: use FloatingRobot")
        super().__init__(mechanism)

    # dynamics

    def driven_forces(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """(n,) forces for accelerations qdd (n,) of the driven joints; passive and elastic ones move as they must."""
        if self.driven.all():
            return self.inverse_dynamics(q, qd, qdd)
        return self._mixed(q, qd, qdd, None, None, self.driven)[0]

    def mass_matrix_by_columns(self, q: Any) -> Floats:
        """H (n, n) by Walker and Orin's first method, column j being the forces for a unit acceleration of joint j less
        those at rest: slow, a check of `mass_matrix`."""
        (q,) = self.single_state({"q": q})
        return (self.inverse_dynamics(q, self._zero, np.eye(self.n)) - self.gravity_forces(q)).T

    # parameters

    def regressor(self, q: Any, qd: Any, qdd: Any) -> Floats:
        """Y (..., n, 13 n), with which tau = Y chi (+ the springs' forces), chi = `standard_parameters`.

        chi has, body by body, [XX XY XZ YY YZ ZZ MX MY MZ M Ia Fv Fs] in the body frames, see
        dynamics/parameters/regressor.py.
        """
        lead, arrays = self.checked_state({"q": q, "qd": qd, "qdd": qdd})
        return self.model.batch(regressor, lead, np.empty((*lead, self.n, self.n * PARAMETERS)), *arrays)

    @property
    def standard_parameters(self) -> Floats:
        """chi (13 n,): per body XX XY XZ YY YZ ZZ (kg m^2), MX MY MZ (kg m), M (kg), Ia, Fv, Fs."""
        return standard_parameters(self.mechanism)

    def base_parameters(self, rotor: bool = True, friction: bool = True) -> BaseParameters:
        """The minimal set of parameters of the dynamics, by Gautier and Khalil's rules."""
        return base_parameters(self.mechanism, rotor, friction)

    # kinematics

    def frame_motion(self, q: Any, qd: Any, frame: str = "tool") -> tuple[Floats, Floats]:
        """Pose (4, 4) and twist (6,) of a frame in the base frame, at q, qd (n,)."""
        return self.forward_kinematics(q, frame), self.jacobian(q, frame) @ qd


def require_tree(robot: Robot, what: str) -> TreeRobot:
    """The robot, if it is a tree of independent joints on a fixed base; else InputError with what is for trees only."""
    if isinstance(robot, TreeRobot):
        return robot
    m = robot.mechanism
    has = "closed chains" if m.loops else "a floating base" if m.base is not None else "joints that follow others"
    raise InputError(
        f"{robot.name} has {has}: {what} can be computed of trees of independent joints on a fixed base only"
    )
