"""dyn_core: the dynamics of robots, in plain Python, with no ROS."""

from typing import TYPE_CHECKING, Any

from .errors import DynError
from .mechanism import Mechanism
from .robot import Robot, load_robot, robot_names

if TYPE_CHECKING:
    from .simulation import simulate

__all__ = ["DynError", "Mechanism", "Robot", "load_robot", "robot_names", "simulate"]


def __getattr__(name: str) -> Any:
    """`simulate` is imported on first use: its integrators take longer to load than all else."""
    if name == "simulate":
        from .simulation import simulate

        return simulate
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
