"""A system of ``nodes.bringup`` as a launch description, for ``launch/*.launch.py``.

``launch`` and ``launch_ros`` come with a ROS 2 installation, not with pip; only the launch files import this module.
"""

from __future__ import annotations

from typing import Any

from launch.actions import DeclareLaunchArgument, EmitEvent, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.events import matches_action
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import LifecycleNode, Node
from launch_ros.event_handlers import OnStateTransition
from launch_ros.events.lifecycle import ChangeState
from lifecycle_msgs.msg import Transition

from dyn_core import load_robot
from dyn_core.errors import DynError
from launch import LaunchDescription
from nodes.bringup import ARGUMENTS, PACKAGE, NodeSpec, System, absolute, system


def describe(name: str) -> LaunchDescription:
    """The launch description of a system, with one declared argument for each of ``bringup.ARGUMENTS``."""
    declared = [
        DeclareLaunchArgument(argument.name, default_value=_text(argument.default), description=argument.description)
        for argument in ARGUMENTS
    ]

    def actions(context: Any) -> list[Any]:
        given = {argument.name: LaunchConfiguration(argument.name).perform(context) for argument in ARGUMENTS}
        try:
            planned = system(name, given)
            _ = load_robot(given["robot"]).actuation
        except DynError as error:
            raise RuntimeError(str(error)) from None  # said in one line, and the launch ends with status 1
        return [action for node in planned.nodes for action in _actions(planned, node)]

    return LaunchDescription([*declared, OpaqueFunction(function=actions)])


def _actions(planned: System, node: NodeSpec) -> list[Any]:
    make = LifecycleNode if node.lifecycle else Node
    process = make(
        package=PACKAGE,
        executable=node.executable,
        name=node.name,
        namespace=absolute(planned.namespace),
        parameters=[dict(node.parameters), *([planned.params_file] if planned.params_file else [])],
        remappings=list(node.remappings),
        ros_arguments=["--log-level", planned.log_level]
        + (["--enclave", planned.enclave(node)] if planned.enclaves else []),
        prefix=" ".join(node.prefix),
        output="screen",
        on_exit=OpaqueFunction(function=_end_with, args=[node.name]),
    )
    if not node.lifecycle:
        return [process]
    once_configured = OnStateTransition(
        target_lifecycle_node=process,
        start_state="configuring",
        goal_state="inactive",
        entities=[_transition(process, Transition.TRANSITION_ACTIVATE)],
    )
    return [RegisterEventHandler(once_configured), process, _transition(process, Transition.TRANSITION_CONFIGURE)]


def _end_with(context: Any, name: str) -> list[Any]:
    """A node that ends by itself ends the system; while the system is ending already, nothing more is asked."""
    return [] if context.is_shutdown else [Shutdown(reason=f"{name} has ended")]


def _transition(process: Any, transition: int) -> EmitEvent:
    return EmitEvent(event=ChangeState(lifecycle_node_matcher=matches_action(process), transition_id=transition))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
