"""The robot that the nodes run."""

from dyn_core import Robot, load_robot
from dyn_core.errors import InputError


def load_fixed_robot(name_or_path: str) -> Robot:
    """A robot with a fixed base; InputError for one whose base floats, for which the messages have no place."""
    robot = load_robot(name_or_path)
    if robot.mechanism.base is not None:
        raise InputError(
            f"{robot.name} has a floating base, but the nodes run robots with a fixed one; simulate it in Python with"
            " dyn_core.simulate (docs/moving_base.md), or describe it with `base: fixed`"
        )
    return robot
