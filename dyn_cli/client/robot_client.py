"""A client of a running system: finds it, changes its state, calls its services and records its loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from dyn_robot.msg import ControllerStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.errors import DynError
from dyn_nodes.bringup.systems import absolute
from dyn_nodes.common.qos import FRESH, LATCHED
from dyn_nodes.common.stamps import NANOSECONDS, nanoseconds, set_stamp
from dyn_nodes.simulated_robot.platform_publisher import POSE, TWIST

from .recorder import Recorder

CONTROLLER = "computed_torque_controller"
SIMULATION = "simulated_robot"
NOT_RUNNING = "no robot is running here; start one with ./dyn up"
FAULT = "the controller has a fault: {}; once its cause is gone, ./dyn clear"

LATER = 0.5
"""Seconds for which a status that has been told holds before it is believed: the next may be on its way."""


class ClientError(DynError):
    """The running system did not do what was asked, or there is none."""


class NodeDied(ClientError):
    """A process of the system has ended by itself."""


class RobotClient:
    """A node of its own with a context of its own; use it as a context manager."""

    def __init__(self, namespace: str = "", domain: int | None = None) -> None:
        self._context = Context()
        rclpy.init(args=[], context=self._context, domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node(
            "dyn_client",
            context=self._context,
            namespace=absolute(namespace) or "/",
            use_global_arguments=False,
            start_parameter_services=False,
            enable_rosout=False,
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.check: Callable[[], None] = lambda: None
        """Called while waiting; raises if waiting on is pointless."""
        self._clients: dict[str, Any] = {}
        self._diagnostics: dict[str, dict[str, str]] = {}
        self._diagnostic_count: dict[str, int] = {}
        self._trajectories = self.node.create_publisher(JointTrajectory, "joint_trajectory", 10)
        self.node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 50)

    def __enter__(self) -> RobotClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave the graph."""
        if self._context.ok():
            self._executor.shutdown(timeout_sec=0.5)
            self.node.destroy_node()
            self._context.shutdown()

    def spin(self, seconds: float) -> None:
        """Serve callbacks for a time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0.0:
            self._executor.spin_once(timeout_sec=left)

    def wait(self, ready: Callable[[], bool], timeout: float, period: float = 0.02) -> bool:
        """Serve callbacks until ``ready()`` or the timeout; says which."""
        end = time.monotonic() + timeout
        while not ready():
            if time.monotonic() > end:
                return False
            self.check()
            self._executor.spin_once(timeout_sec=period)
        return True

    def record(self, message_type: type, topic: str) -> Recorder:
        """Record a topic from now on."""
        return Recorder(self.node, message_type, topic)

    def parameter(self, node: str, name: str) -> Any:
        """Value of a parameter of a node."""
        request = GetParameters.Request(names=[name])
        values = self.call(GetParameters, f"{node}/get_parameters", request).values
        return parameter_value_to_python(values[0])

    def set_parameter(self, node: str, name: str, value: Any) -> None:
        """Set a parameter of a node; ClientError if it refuses."""
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        (result,) = self.call(SetParameters, f"{node}/set_parameters", request).results
        if not result.successful:
            raise ClientError(f"{node} refused {name}: {result.reason}")

    def running(self, timeout: float = 8.0) -> bool:
        """Whether a robot publishes joint states here."""
        return self.wait(lambda: self.node.count_publishers("joint_states") > 0, timeout)

    def call(self, service_type: Any, name: str, request: Any, timeout: float = 10.0) -> Any:
        """Call a service and return its response; ClientError without an answer in time."""
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = self.node.create_client(service_type, name)
        if not self.wait(client.service_is_ready, timeout):
            raise ClientError(f"the service {name} is not there")
        future = client.call_async(request)
        if not self.wait(future.done, timeout):
            client.remove_pending_request(future)
            raise ClientError(f"the service {name} gave no answer within {timeout:g} s")
        return future.result()

    def lifecycle_state(self, node: str = CONTROLLER, timeout: float = 10.0) -> str:
        """Label of a lifecycle node's state."""
        return self.call(GetState, f"{node}/get_state", GetState.Request(), timeout).current_state.label

    def change_state(self, transition: int, node: str = CONTROLLER, timeout: float = 10.0) -> bool:
        """Ask a lifecycle node for a transition; says whether it succeeded."""
        request = ChangeState.Request(transition=Transition(id=transition))
        return self.call(ChangeState, f"{node}/change_state", request, timeout).success

    def activate(self, node: str = CONTROLLER, timeout: float = 120.0) -> None:
        """Configure and activate a lifecycle node, from whatever state it is in."""
        steps = {"unconfigured": Transition.TRANSITION_CONFIGURE, "inactive": Transition.TRANSITION_ACTIVATE}
        for _ in range(len(steps)):
            label = self.lifecycle_state(node, timeout)
            if label == "active":
                return
            if label not in steps or not self.change_state(steps[label], node, timeout):
                raise ClientError(f"{node} could not be activated from its state {label!r}")

    def deactivate(self, node: str = CONTROLLER) -> None:
        """Deactivate a lifecycle node."""
        if not self.change_state(Transition.TRANSITION_DEACTIVATE, node):
            raise ClientError(f"{node} could not be deactivated")

    def clear_fault(self, node: str = CONTROLLER, timeout: float = 10.0) -> str:
        """Clear a node's fault, asking until its cause is gone; returns what the node says. ClientError if it stays."""
        end = time.monotonic() + timeout
        while True:
            answer = self.call(Trigger, f"{node}/clear_fault", Trigger.Request())
            if answer.success:
                return str(answer.message)
            if time.monotonic() > end:
                raise ClientError(answer.message)
            self.wait(lambda: False, 0.1)

    def trouble(self) -> str:
        """Why the controller does not move the robot, by its diagnostics."""
        found = self.diagnostics(CONTROLLER)
        return found["fault"] or found.get("last dropped") or found["message"]

    def joint_state(self, timeout: float = 10.0) -> JointState:
        """The next joint state."""
        return self._next(JointState, "joint_states", "joint state", timeout)

    def controller_state(self, timeout: float = 10.0) -> JointTrajectory:
        """The next ~/state of the controller: point 0 desired, point 1 measured, at the same instant.

        A controller that gives none because its motors have no power is not waited for: ClientError with the cause.
        """
        with Recorder(self.node, ControllerStatus, f"{CONTROLLER}/status", LATCHED) as statuses:
            since = time.monotonic()

            def silent() -> str:
                nonlocal since
                before = len(statuses.messages)
                statuses.drain()
                if len(statuses.messages) > before:
                    since = time.monotonic()
                if not statuses.messages or time.monotonic() - since < LATER:
                    return ""
                status = statuses.messages[-1]
                if status.powered:
                    return ""
                return FAULT.format(status.cause) if status.cause else f"the controller is {status.state}"

            return self._next(JointTrajectory, f"{CONTROLLER}/state", "state of the controller", timeout, silent)

    def platform(self, timeout: float = 10.0) -> tuple[PoseStamped, TwistStamped]:
        """The next pose and twist of the platform, of the same instant."""
        with self.record(PoseStamped, POSE) as poses, self.record(TwistStamped, TWIST) as twists:
            found: list[tuple[PoseStamped, TwistStamped]] = []

            def arrived() -> bool:
                poses.drain()
                twists.drain()
                moving = {nanoseconds(each.header.stamp): each for each in twists.messages}
                found[:] = [(at, moving[t]) for at in poses.messages if (t := nanoseconds(at.header.stamp)) in moving]
                return bool(found)

            if not self.wait(arrived, timeout, 0.01):
                raise ClientError(f"no pose and twist of the platform heard within {timeout:g} s")
            return found[-1]

    def diagnostics(self, node: str, timeout: float = 10.0, new: bool = True) -> dict[str, str]:
        """The next (or, if not ``new``, the last) diagnostic values of a node."""
        name = f"{absolute(self.node.get_namespace())}/{node}".lstrip("/")
        if new:
            self.spin(0.1)  # what has been waiting in the queue is old
        seen = self._diagnostic_count.get(name, 0) if new else 0
        if not self.wait(lambda: self._diagnostic_count.get(name, 0) > seen, timeout):
            raise ClientError(f"no diagnostics of {node}")
        return self._diagnostics[name]

    def send_trajectory(
        self,
        names: list[str],
        times: np.ndarray,
        positions: np.ndarray,
        start: int = 0,
        timeout: float = 10.0,
        velocities: np.ndarray | None = None,
        accelerations: np.ndarray | None = None,
    ) -> None:
        """Publish a trajectory of positions (m, n), and velocities and accelerations if there are, at times (m,).

        start: stamp in ns, 0 for at once.
        """
        if not self.wait(lambda: self._trajectories.get_subscription_count() > 0, timeout):
            raise ClientError("no controller listens for trajectories")
        self.spin(0.1)  # the controller may hear of this publisher a little later than the other way round
        message = JointTrajectory(joint_names=list(names))
        set_stamp(message.header.stamp, start)
        rows = {"positions": positions, "velocities": velocities, "accelerations": accelerations}
        for k, t in enumerate(times):
            given = {name: values[k].tolist() for name, values in rows.items() if values is not None}
            message.points.append(JointTrajectoryPoint(**given))
            set_stamp(message.points[-1].time_from_start, round(float(t) * NANOSECONDS))
        self._trajectories.publish(message)

    def _next(
        self, message_type: type, topic: str, what: str, timeout: float, silent: Callable[[], str] = lambda: ""
    ) -> Any:
        """The next message of a topic; it is listened to no longer than that, as every listener costs the loop time.

        silent: says why none will come, once it knows.
        """
        with Recorder(self.node, message_type, topic, FRESH) as recorder:

            def arrived() -> bool:
                recorder.drain()
                return bool(recorder.messages or silent())

            self.wait(arrived, timeout, 0.005)
            if recorder.messages:
                return recorder.messages[-1]
            why = silent() or f"no {what} heard within {timeout:g} s"
        raise ClientError(why)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            values = {item.key: item.value for item in status.values}
            values["message"] = status.message
            values["level"] = str(status.level[0])
            self._diagnostics[status.name] = values
            self._diagnostic_count[status.name] = self._diagnostic_count.get(status.name, 0) + 1


@contextmanager
def connected(namespace: str) -> Iterator[RobotClient]:
    """A client of a robot that is running; ClientError without one."""
    with RobotClient(namespace) as client:
        if not client.running():
            raise ClientError(NOT_RUNNING)
        yield client
