"""The contract `Robot`, and every kind of robot."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .configuration import Configuration
from .load import load_robot, robot_names, robot_of
from .robot import FORMULATIONS, Formulation, Robot
from .tracker import Tracker
from .tree_robot import TreeRobot, require_tree

if TYPE_CHECKING:
    from .closed.flexible_mechanism import FlexibleMechanism, FlexibleResult, dominant_frequency
    from .closed.floating_loop_robot import FloatingLoopRobot
    from .closed.loop_robot import LoopRobot
    from .closed.parallel_robot import ParallelRobot
    from .closed.spherical_robot import SphericalRobot
    from .conversion import NOTATIONS, convert
    from .customised import customise, customised_source, general_operations
    from .floating_robot import FloatingRobot
    from .mimic_robot import MimicRobot
    from .platform import Platform

__all__ = [
    "FORMULATIONS",
    "NOTATIONS",
    "Configuration",
    "FlexibleMechanism",
    "FlexibleResult",
    "FloatingLoopRobot",
    "FloatingRobot",
    "Formulation",
    "LoopRobot",
    "MimicRobot",
    "ParallelRobot",
    "Platform",
    "Robot",
    "SphericalRobot",
    "Tracker",
    "TreeRobot",
    "convert",
    "customise",
    "customised_source",
    "dominant_frequency",
    "general_operations",
    "load_robot",
    "require_tree",
    "robot_names",
    "robot_of",
]

_LATER = {
    "closed.flexible_mechanism": ("FlexibleMechanism", "FlexibleResult", "dominant_frequency"),
    "closed.floating_loop_robot": ("FloatingLoopRobot",),
    "closed.loop_robot": ("LoopRobot",),
    "closed.parallel_robot": ("ParallelRobot",),
    "closed.spherical_robot": ("SphericalRobot",),
    "conversion": ("NOTATIONS", "convert"),
    "customised": ("customise", "customised_source", "general_operations"),
    "floating_robot": ("FloatingRobot",),
    "mimic_robot": ("MimicRobot",),
    "platform": ("Platform",),
}
"""Names by the file that is imported at their first use: most programs need one kind of robot."""


def __getattr__(name: str) -> Any:
    for file, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{file}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
