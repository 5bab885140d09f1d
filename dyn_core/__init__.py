"""dyn_core: the dynamics of robots, in plain Python, with no ROS."""

from .errors import DynError
from .mechanism import Mechanism
from .robot import Robot, load_robot, robot_names

__all__ = ["DynError", "Mechanism", "Robot", "load_robot", "robot_names"]
