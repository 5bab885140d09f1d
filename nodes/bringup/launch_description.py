"""A system of ``dyn_nodes.bringup.systems`` as a launch description, for ``launch/*.launch.py``.

``launch`` and ``launch_ros`` come with a ROS 2 installation, not with pip; only the launch files import this module.
"""

import os
import sys
from typing import Any

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from dyn_core.errors import DynError

from .systems import ARGUMENTS, PACKAGE, NodeSpec, System, absolute, check, in_words, system


def describe(name: str) -> LaunchDescription:
    """The launch description of a system, with one declared argument for each of ``bringup.ARGUMENTS``."""
    declared = [
        DeclareLaunchArgument(argument.name, default_value=_text(argument.default), description=argument.description)
        for argument in ARGUMENTS
    ]

    def actions(context: Any) -> list[Any]:
        given = _typed(name, context)
        given |= {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in ARGUMENTS}
        try:
            planned = system(name, given)
            check(planned)
        except DynError as error:
            raise RuntimeError(str(error)) from None  # said in one line, and the launch ends with status 1
        return [_process(planned, node) for node in planned.nodes]

    return LaunchDescription([*declared, OpaqueFunction(function=actions)])


def _typed(name: str, context: Any) -> dict[str, str]:
    """The arguments of a command line that names this launch file: ``launch`` itself would pass over unknown ones.

    Where another file includes this one, they are that file's, and none is returned.
    """
    if not any(os.path.basename(word) == f"{name}.launch.py" for word in sys.argv):
        return {}
    return dict(word.split(":=", 1) for word in context.argv)


def _process(planned: System, node: NodeSpec) -> Node:
    def ended(event: Any, context: Any) -> None:
        """A node that ends by itself ends the system; while the system is ending already, nothing more is asked."""
        if not context.is_shutdown:
            raise RuntimeError(f"{node.name} {in_words(event.returncode)}, so the system ends")

    # Without its type launch_ros would read a string as YAML: a robot named 2024 as a number.
    parameters = {key: ParameterValue(value, value_type=type(value)) for key, value in node.parameters.items()}
    if node.lifecycle:
        parameters["autostart"] = ParameterValue(True, value_type=bool)
    return Node(
        package=PACKAGE,
        executable=node.name,
        name=node.name,
        namespace=absolute(planned.namespace),
        parameters=[parameters, *([planned.params_file] if planned.params_file else [])],
        remappings=list(node.remappings),
        ros_arguments=["--log-level", planned.log_level]
        + (["--enclave", planned.enclave(node)] if planned.enclaves else []),
        output="screen",
        on_exit=ended,
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
