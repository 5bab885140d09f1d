"""dyn_core: the dynamics of robots, in plain Python, with no ROS."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dyn_core.errors import DynError
from dyn_core.mechanism import Mechanism
from dyn_core.robots import Robot, load_robot, robot_names
from dyn_core.stiffness import Deflection, Stiffness

if TYPE_CHECKING:
    from dyn_core.control import Brake, Command, ComputedTorque, Limits
    from dyn_core.identification import excite, identify
    from dyn_core.robots import convert
    from dyn_core.simulation import SimulationResult, Stepper, simulate
    from dyn_core.stiffness_maps import stiffness_map
    from dyn_core.trajectory import Trajectory, cycloidal, quintic, through_points

__all__ = [
    "Brake",
    "Command",
    "ComputedTorque",
    "Deflection",
    "DynError",
    "Limits",
    "Mechanism",
    "Robot",
    "SimulationResult",
    "Stepper",
    "Stiffness",
    "Trajectory",
    "convert",
    "cycloidal",
    "excite",
    "identify",
    "load_robot",
    "quintic",
    "robot_names",
    "simulate",
    "stiffness_map",
    "through_points",
]

_LATER = {
    "control": ("Brake", "Command", "ComputedTorque", "Limits"),
    "identification": ("excite", "identify"),
    "robots": ("convert",),
    "simulation": ("SimulationResult", "Stepper", "simulate"),
    "stiffness_maps": ("stiffness_map",),
    "trajectory": ("Trajectory", "cycloidal", "quintic", "through_points"),
}
"""Rooms that are imported at the first use of their names: they take longer to load than all else."""


def __getattr__(name: str) -> Any:
    for room, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
