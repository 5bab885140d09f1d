"""Robots by name or from a file, each of the kind that its mechanism asks for."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from dyn_core.description import XML_SUFFIXES, load_mechanism, read_xml_robot, robot_files
from dyn_core.errors import InputError, UnknownRobotError
from dyn_core.mechanism import Mechanism

from .robot import Robot
from .tree_robot import TreeRobot


def robot_names() -> list[str]:
    """Names of the robots that can be loaded."""
    return sorted(robot_files())


def load_robot(name_or_path: str | PathLike[str], floating: bool = False) -> Robot:
    """A robot by its name (see `robot_names`) or from a description file (robot YAML, URDF, MJCF, SDF).

    floating: the root link of a URDF moves freely; a robot YAML says so itself.
    """
    text = str(name_or_path)
    files = robot_files()
    path = files.get(text, Path(name_or_path))
    if not path.is_file():
        raise UnknownRobotError(
            f"no robot '{text}': it is neither a file nor one of {', '.join(sorted(files)) or '(none found)'}"
        )
    if path.suffix in XML_SUFFIXES:
        return robot_of(read_xml_robot(path, floating))
    mechanism = load_mechanism(path)
    if floating and mechanism.base is None:
        raise InputError(f"{path} describes a fixed base; only a URDF can be loaded with a floating one")
    return robot_of(mechanism)


def robot_of(mechanism: Mechanism) -> Robot:
    """The kind of robot for a mechanism: spherical, parallel, with loops, mimic joints, floating or fixed."""
    if mechanism.loops:  # imported where they are needed: closed chains take longer to load than all else
        if mechanism.spherical is not None:
            from .closed.spherical_robot import SphericalRobot

            return SphericalRobot(mechanism)
        if mechanism.platform is not None:
            from .closed.parallel_robot import ParallelRobot

            return ParallelRobot(mechanism)
        if mechanism.base is not None:
            from .closed.floating_loop_robot import FloatingLoopRobot

            return FloatingLoopRobot(mechanism)
        from .closed.loop_robot import LoopRobot

        return LoopRobot(mechanism)
    if mechanism.mimic is not None:
        from .mimic_robot import MimicRobot

        return MimicRobot(mechanism)
    if mechanism.base is not None:
        from .floating_robot import FloatingRobot

        return FloatingRobot(mechanism)
    return TreeRobot(mechanism)
