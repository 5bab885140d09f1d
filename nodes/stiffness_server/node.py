"""ROS 2 node ``stiffness_server``: Cartesian stiffness and deflection over services, maps over an action."""

import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from dyn_robot.action import MapStiffness
from dyn_robot.srv import GetDeflection, GetStiffness
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from sensor_msgs.msg import JointState

from dyn_core.errors import DynError, InputError, RefusedError
from dyn_core.stiffness_maps import (
    DeflectionAnswer,
    StiffnessAnswer,
    deflection_answer,
    empty_map,
    fill,
    first_queries,
    stiffness_answer,
)
from dyn_nodes.common.diagnostics import OK, Diagnostics, Report
from dyn_nodes.common.direct_subscription import subscribe, take_newest
from dyn_nodes.common.geometry_messages import pose_array, rotation_array, wrench_array
from dyn_nodes.common.message_checks import DropCounter, JointOrder, joint_state
from dyn_nodes.common.parameter_spec import declare
from dyn_nodes.common.robot import load_fixed_robot

from .map_messages import grid_of, map_feedback, map_result
from .messages import fill_response
from .parameters import PARAMETERS
from .threaded_action import ThreadedActionServer

FEEDBACK_PERIOD = 0.1
"""Shortest time between two feedbacks of a map (s)."""
MOST_WRENCHES = 64
"""Of one map: all combinations of signs of six components."""


class StiffnessServer(Node):
    """Answers each request from the pose in it or, if it has none, from the last joint state heard.

    Joint states are left in the subscription's short queue and taken only when a request needs one, so that a robot
    that publishes at 1 kHz costs this node nothing. Maps are computed in a thread of their own, one at a time. All
    threads, those of the executor too, ask the one robot.
    """

    failure: Exception | None = None

    def __init__(self) -> None:
        super().__init__("stiffness_server")
        given = declare(self, PARAMETERS)
        self._robot = load_fixed_robot(given["robot"])
        self._frame = given["frame"]
        self._most_poses = given["max_map_poses"]
        self.threads = given["threads"]
        self._joints = JointOrder(self._robot.joint_names, self._robot.passive_joints)
        first_queries(self._robot, self._frame)
        self._drops = DropCounter()
        self._last: np.ndarray | None = None
        self._answered = self._refused = self._mapped = 0
        self._counting = threading.Lock()
        """Held while the last joint state is taken, and while counting."""
        self._mapping = threading.Lock()
        self._states = subscribe(self, JointState, "joint_states")
        at_once = ReentrantCallbackGroup()
        self.create_service(GetStiffness, "get_stiffness", self._on_request, callback_group=at_once)
        self.create_service(GetDeflection, "get_deflection", self._on_request, callback_group=at_once)
        self._maps = ThreadedActionServer(self, MapStiffness, "map_stiffness", self._map)
        self._diagnostics = Diagnostics(self, self._report, self._drops)
        self.get_logger().info(f"{self._robot.name}: ready, at the frame {self._frame!r}")

    def close(self) -> None:
        """Nothing moves here; a map that is being computed is given up."""
        self._maps.stop()

    def _where(self, request: Any) -> np.ndarray:
        """Joint positions (n,), rotation (3, 3) or pose (4, 4) that a request gives, or the last joint state's."""
        given = [name for name in ("positions", "orientation", "pose") if len(getattr(request, name)) > 0]
        if len(given) > 1:
            raise InputError(f"{' and '.join(given)} are given, expected one of them")
        if given == ["orientation"]:
            return rotation_array(request.orientation[0])
        if given == ["pose"]:
            return pose_array(request.pose[0])
        return self._positions(request.positions)

    def _positions(self, given: Sequence[float]) -> np.ndarray:
        if len(given) > 0:
            q = np.asarray(given, dtype=float)
            if q.shape != (self._robot.n,):
                raise InputError(f"positions: {q.size} numbers given, {self._robot.name} has {self._robot.n} joints")
            if not np.isfinite(q).all():
                raise InputError("positions: not finite")
            return q
        with self._counting:
            message, _ = take_newest(self._states)
            if message is not None:
                try:
                    self._last, _ = joint_state(message, self._joints)
                except RefusedError as refused:
                    self._drops.add("joint_states", refused)
            if self._last is None:
                raise InputError("no positions given, and no joint state heard yet")
            return self._last

    def _on_request(self, request: Any, response: Any) -> Any:
        """Answer a request about the stiffness or, with a wrench, the deflection."""
        frame = request.frame or self._frame
        loaded = isinstance(request, GetDeflection.Request)
        answer: StiffnessAnswer | DeflectionAnswer
        try:
            if loaded:
                answer = deflection_answer(self._robot, self._where(request), wrench_array(request.wrench), frame)
            else:
                answer = stiffness_answer(self._robot, self._where(request), frame)
        except DynError as error:
            answer = (DeflectionAnswer if loaded else StiffnessAnswer).refused(error)
        with self._counting:
            self._answered += answer.success
            self._refused += not answer.success
        return fill_response(response, answer)

    def _map(self, goal: Any, stopping: threading.Event) -> MapStiffness.Result:
        """Compute a map, in a thread of the action server."""
        if not self._mapping.acquire(blocking=False):
            return MapStiffness.Result(
                message="a map is being computed already; cancel it, or ask again when it is done"
            )
        try:
            request = goal.request
            frame = request.frame or self._frame
            grid = grid_of(request, self._positions)
            if grid.size > self._most_poses or len(request.wrenches) > MOST_WRENCHES:
                raise InputError(
                    f"{grid.size} poses by {len(request.wrenches)} wrenches are too many: at most {self._most_poses}"
                    f" (parameter max_map_poses) by {MOST_WRENCHES}"
                )
            wrenches = [wrench_array(wrench) for wrench in request.wrenches] or None
            table = empty_map(self._robot, grid, wrenches, frame)
            told = 0.0
            for done in fill(table, self._robot, grid):
                if stopping.is_set():
                    break
                if time.monotonic() - told > FEEDBACK_PERIOD or done == table.size:
                    goal.publish_feedback(map_feedback(table, done))
                    told = time.monotonic()
            self._mapped += 1
            return map_result(table)
        except DynError as error:
            return MapStiffness.Result(message=str(error))
        finally:
            self._mapping.release()

    def _report(self) -> Report:
        values: dict[str, object] = {
            "robot": self._robot.name,
            "requests answered": self._answered,
            "requests refused": self._refused,
            "maps computed": self._mapped,
            "computing a map": self._mapping.locked(),
        }
        return OK, "ready", values
