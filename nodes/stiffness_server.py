"""ROS 2 node ``stiffness_server``: Cartesian stiffness and deflection of the robot's tool over services."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np
from dyn_robot.srv import GetDeflection, GetStiffness
from rclpy.node import Node
from sensor_msgs.msg import JointState

from dyn_core.errors import DynError, InputError
from nodes import parameters
from nodes.diagnostics import OK, Diagnostics, Report
from nodes.loop import subscribe, take_newest
from nodes.messages import DropCounter, Dropped, JointOrder, joint_state
from nodes.process import run
from nodes.robots import load_fixed_robot, passive_joints


class StiffnessServer(Node):
    """Answers each request from the joint positions in it or, if it has none, from the last joint state heard.

    Joint states are left in the subscription's short queue and taken only when a request needs one, so that a robot
    that publishes at 1 kHz costs this node nothing.
    """

    failure: Exception | None = None

    def __init__(self) -> None:
        super().__init__("stiffness_server")
        parameters.declare(self, parameters.STIFFNESS_SERVER)
        given = parameters.values(self, parameters.STIFFNESS_SERVER)
        self._robot = load_fixed_robot(given["robot"])
        self._frame = given["frame"]
        self._joints = JointOrder(self._robot.joint_names, passive_joints(self._robot))
        self._robot.stiffness(self._robot.neutral(), self._frame)
        self._drops = DropCounter()
        self._last: np.ndarray | None = None
        self._answered = 0
        self._refused = 0
        self._states = subscribe(self, JointState, "joint_states")
        self.create_service(GetStiffness, "get_stiffness", self._on_stiffness)
        self.create_service(GetDeflection, "get_deflection", self._on_deflection)
        self._diagnostics = Diagnostics(self, self._report, self._drops)
        self.get_logger().info(f"{self._robot.name}: ready, at the frame {self._frame!r}")

    def close(self) -> None:
        """Nothing moves here."""

    def _positions(self, given: Sequence[float]) -> np.ndarray:
        if len(given) > 0:
            q = np.asarray(given, dtype=float)
            if q.shape != (self._robot.n,):
                raise InputError(f"positions: {q.size} numbers given, {self._robot.name} has {self._robot.n} joints")
            if not np.isfinite(q).all():
                raise InputError("positions: not finite")
            return q
        message, _ = take_newest(self._states)
        if message is not None:
            try:
                self._last, _ = joint_state(message, self._joints)
            except Dropped as dropped:
                self._drops.add("joint_states", dropped)
        if self._last is None:
            raise InputError("no positions given, and no joint state heard yet")
        return self._last

    def _on_stiffness(self, request: GetStiffness.Request, response: GetStiffness.Response) -> GetStiffness.Response:
        response.frame_id = "base"
        try:
            result = self._robot.stiffness(self._positions(request.positions), self._frame)
        except DynError as error:
            return self._refuse(response, error)
        response.point.x, response.point.y, response.point.z = (float(x) for x in result.point)
        response.compliance = result.C.ravel()
        response.condition = float(result.condition)
        if result.K is None:
            return self._refuse(response, result.statement)
        response.stiffness = result.K.ravel()
        response.eigenvalues = result.eigenvalues
        response.success = True
        response.message = f"stiffness of {self._robot.name} at the frame {self._frame!r}"
        self._answered += 1
        return response

    def _on_deflection(
        self, request: GetDeflection.Request, response: GetDeflection.Response
    ) -> GetDeflection.Response:
        response.frame_id = "base"
        force, torque = request.wrench.force, request.wrench.torque
        wrench = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        try:
            motion = self._robot.deflection(self._positions(request.positions), wrench, self._frame)
        except DynError as error:
            return self._refuse(response, error)
        translation, rotation = response.translation, response.rotation
        translation.x, translation.y, translation.z = (float(x) for x in motion[:3])
        rotation.x, rotation.y, rotation.z = (float(x) for x in motion[3:])
        response.success = True
        response.message = f"deflection of {self._robot.name} at the frame {self._frame!r}"
        self._answered += 1
        return response

    def _refuse(self, response: GetStiffness.Response, why: object) -> GetStiffness.Response:
        response.success = False
        response.message = " ".join(str(why).split())
        self._refused += 1
        return response

    def _report(self) -> Report:
        values: dict[str, object] = {
            "robot": self._robot.name,
            "requests answered": self._answered,
            "requests refused": self._refused,
        }
        return OK, "ready", values


def main(args: Sequence[str] | None = None) -> int:
    """Entry point of the node."""
    return run("stiffness_server", StiffnessServer, args)


if __name__ == "__main__":
    sys.exit(main())
