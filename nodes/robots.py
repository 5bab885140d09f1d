"""The robot that the nodes run."""

from __future__ import annotations

from typing import TypeGuard

import numpy as np

from dyn_core import Robot, load_robot
from dyn_core.errors import InputError
from dyn_core.loop_robot import Formulation, LoopRobot
from dyn_core.parallel_robot import ParallelRobot
from dyn_core.spherical_robot import SphericalRobot


def load_fixed_robot(name_or_path: str, formulation: Formulation = "projection") -> Robot:
    """A robot with a fixed base; InputError for one whose base floats, for which the messages have no place.

    formulation: how closed chains are computed (dyn_core.loop_robot.FORMULATIONS); of no meaning for other robots.
    """
    robot = load_robot(name_or_path)
    if robot.mechanism.base is not None:
        raise InputError(
            f"{robot.name} has a floating base, but the nodes run robots with a fixed one; simulate it in Python with"
            " dyn_core.simulation.simulate (docs/moving_base.md), or describe it with `base: fixed`"
        )
    if isinstance(robot, LoopRobot):
        return robot.using(formulation)
    return robot


def passive_joints(robot: Robot) -> tuple[str, ...]:
    """Joints of the mechanism that closed chains move, in its order; none where there are no closed chains."""
    return tuple(name for name in robot.mechanism.joint_names if name not in robot.joint_names)


def all_joints(robot: Robot, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and speeds of all joints of the mechanism, in its order, from those of the robot (n,), (n,)."""
    if isinstance(robot, LoopRobot):
        return robot.joint_motion(q, qd)
    return q, qd


def has_platform(robot: Robot) -> TypeGuard[ParallelRobot | SphericalRobot]:
    """Whether a robot carries a platform, whose pose and twist are published."""
    return isinstance(robot, ParallelRobot | SphericalRobot)


def position_limits(robot: Robot) -> np.ndarray:
    """(n, 2) limits of the robot's joints."""
    return robot.mechanism.position_limits[robot.joints]
