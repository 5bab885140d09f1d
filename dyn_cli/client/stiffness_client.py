"""Questions about stiffness to a running ``stiffness_server``."""

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from dyn_robot.action import MapStiffness
from dyn_robot.srv import GetDeflection, GetStiffness
from rclpy.action import ActionClient

from dyn_core.stiffness_maps import DeflectionAnswer, StiffnessAnswer, StiffnessMap
from dyn_nodes.common.geometry_messages import pose_message, quaternion_message, wrench_message
from dyn_nodes.stiffness_server.map_messages import map_of
from dyn_nodes.stiffness_server.messages import deflection_of, stiffness_of

from .robot_client import NOT_RUNNING, ClientError, RobotClient

SERVER = "stiffness_server"


@contextmanager
def server(namespace: str, robot: str | None = None) -> Iterator[RobotClient]:
    """A client of the running stiffness server; ClientError without one, or if it is of another robot."""
    with RobotClient(namespace) as client:
        if not client.wait(lambda: client.node.count_services("get_stiffness") > 0, 8.0):
            raise ClientError(f"{NOT_RUNNING}, or compute without ROS: --offline")
        if robot is not None:
            running = client.parameter(SERVER, "robot")
            if running != robot:
                raise ClientError(f"the robot that is running here is {running}, not {robot}; --offline computes it")
        yield client


def ask(args: argparse.Namespace, at: np.ndarray | None) -> StiffnessAnswer | DeflectionAnswer:
    """The stiffness, or with args.wrench the deflection, at a pose (4, 4), a rotation (3, 3) or joint positions."""
    service: Any = GetStiffness if args.wrench is None else GetDeflection
    request = service.Request(positions=args.positions, frame=args.frame or "")
    if args.wrench is not None:
        request.wrench = wrench_message(np.array(args.wrench))
    if at is not None and at.shape == (3, 3):
        request.orientation = [quaternion_message(at)]
    elif at is not None:
        request.pose = [pose_message(at)]
    with server(args.namespace, args.robot) as client:
        if args.wrench is None:
            return stiffness_of(client.call(GetStiffness, "get_stiffness", request))
        return deflection_of(client.call(GetDeflection, "get_deflection", request))


def map_stiffness(
    client: RobotClient,
    goal: MapStiffness.Goal,
    show: Callable[[MapStiffness.Feedback], None],
    give_up: Callable[[], bool],
    timeout: float = 10.0,
) -> StiffnessMap:
    """The map that the server computes; once give_up() is true it is cancelled, and what was computed is returned."""
    action = ActionClient(client.node, MapStiffness, "map_stiffness")
    try:
        if not client.wait(action.server_is_ready, timeout):
            raise ClientError("the action map_stiffness is not there")
        sent = action.send_goal_async(goal, lambda message: show(message.feedback))
        if not client.wait(sent.done, timeout):
            raise ClientError(f"the action map_stiffness gave no answer within {timeout:g} s")
        handle = sent.result()
        if not handle.accepted:
            raise ClientError("the stiffness server refused the map")
        result = handle.get_result_async()
        client.wait(lambda: result.done() or give_up() or not action.server_is_ready(), float("inf"))
        if not result.done():
            handle.cancel_goal_async()
            if not client.wait(result.done, timeout):
                raise ClientError("the stiffness server has gone before the map was complete")
        answer = result.result().result
        if not answer.success:
            raise ClientError(answer.message)
        return map_of(answer, goal)
    finally:
        action.destroy()
