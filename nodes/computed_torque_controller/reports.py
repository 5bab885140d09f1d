"""What the controller reports: ``~/state`` (desired and measured), ``~/status``, and its part of ``/diagnostics``."""

from collections.abc import Sequence
from typing import Any

from dyn_robot.msg import ControllerStatus
from rclpy.node import Node
from rclpy.publisher import Publisher
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.control import Follower, Safety, TrackedState
from dyn_nodes.common.cdr import CdrPublisher
from dyn_nodes.common.diagnostics import ERROR, OK, WARN, Report
from dyn_nodes.common.qos import LATCHED
from dyn_nodes.common.stamps import NANOSECONDS


class StatePublisher:
    """``~/state``: the desired and the measured state as the two points of a trajectory message."""

    def __init__(self, publisher: Publisher, names: Sequence[str]) -> None:
        zeros = [0.0] * len(names)
        points = [JointTrajectoryPoint(positions=zeros, velocities=zeros) for _ in ("desired", "measured")]
        self._message = message = CdrPublisher(publisher, JointTrajectory(joint_names=list(names), points=points))
        self._points = [
            tuple(
                message.view(f"points.{k}.{field}")
                for field in ("positions", "velocities", "time_from_start.sec", "time_from_start.nanosec")
            )
            for k in range(2)
        ]

    def publish(self, state: TrackedState, start: int) -> None:
        """A state, and the time since the start of its plan (ns)."""
        since = divmod(max(0, state.stamp - start), NANOSECONDS)
        for (q, qd), point in zip((state.desired[:2], (state.q, state.qd)), self._points, strict=True):
            point[0][:], point[1][:], point[2][:], point[3][:] = q, qd, *since
        self._message.publish(state.stamp)


class StatusPublisher:
    """``~/status``, latched: published when something in it has changed."""

    def __init__(self, node: Node, safety: Safety) -> None:
        self._node, self._safety = node, safety
        self._publisher = node.create_publisher(ControllerStatus, "~/status", LATCHED)
        self._last: dict[str, Any] = {}

    def publish(self, label: str, follower: Follower | None) -> None:
        """label: of the lifecycle's state."""
        safety = self._safety
        fields: dict[str, Any] = {
            "state": safety.state if label == "active" else label,
            "cause": safety.cause,
            "powered": safety.powered,
            "emergency_stop": bool(safety.pressed),
            "pace": 1.0 if follower is None else round(follower.path_speed.u, 2),
            "warnings": [] if follower is None else list(follower.warnings),
        }
        if fields == self._last:
            return
        if fields["warnings"] and not self._last.get("warnings"):
            self._node.get_logger().warning("; ".join(fields["warnings"]))
        self._last = fields
        message = ControllerStatus(**fields)
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)


def diagnosis(label: str, safety: Safety, follower: Follower | None, values: dict[str, object]) -> Report:
    """Level, sentence and values; label: of the lifecycle's state."""
    warnings = "" if follower is None else "; ".join(follower.warnings)
    pressed = ", ".join(safety.pressed)
    values |= {
        "state": label,
        "safety": safety.state,
        "fault": safety.cause,
        "emergency stop": pressed,
        "warnings": warnings,
        "pace": 1.0 if follower is None else follower.path_speed.u,
        "trajectories overtaken": 0 if follower is None else follower.overtaken,
    }
    if safety.cause:
        return ERROR, f"fault, call ~/clear_fault: {safety.cause}", values
    if pressed:
        return ERROR, f"emergency stop pressed ({pressed})", values
    if label == "active" and (follower is None or follower.plan is None):
        return WARN, "active, waiting for the first joint state", values
    return (WARN, warnings, values) if warnings else (OK, label, values)
