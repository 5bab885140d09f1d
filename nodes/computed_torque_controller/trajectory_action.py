"""The action ``~/follow_joint_trajectory`` of the controller, where ``control_msgs`` is installed, as MoveIt uses it.

What is decided about a goal is in ``dyn_core.control.Following``.
"""

import importlib
from typing import Any

from dyn_core.control import (
    GOAL_POSITION,
    INVALID_GOAL,
    INVALID_JOINTS,
    OLD_HEADER,
    PATH_TOLERANCE,
    SUCCESSFUL,
    Following,
    Tolerances,
    TrackedState,
)
from dyn_core.errors import RefusedError
from dyn_nodes.common.stamps import set_stamp

CODES = {
    "unknown joints": INVALID_JOINTS,
    "missing joints": INVALID_JOINTS,
    "repeated joints": INVALID_JOINTS,
    "start time in the past": OLD_HEADER,
}
PERIOD = 0.05
"""Seconds between two feedbacks."""


class FollowJointTrajectoryServer:
    """Offers the action on the controller's node, whose ``joint_names``, ``follow``, ``cancel`` and ``now`` it uses.

    Goals are served by a timer, so that the executor stays free.
    """

    def __init__(self, node: Any, action: Any) -> None:
        from rclpy.action import ActionServer, CancelResponse

        self._controller, self._action = node, action
        self._goals: list[tuple[Any, Following]] = []
        self._timer = node.create_timer(PERIOD, self._serve, autostart=False)
        self._server = ActionServer(
            node,
            action,
            "~/follow_joint_trajectory",
            execute_callback=lambda _: None,  # goals are executed by the timer
            handle_accepted_callback=self._on_accepted,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
        )

    def _on_accepted(self, handle: Any) -> None:
        goal = handle.request
        try:
            if goal.multi_dof_trajectory.points:
                raise RefusedError("multi_dof_trajectory", "this robot has joints of one degree of freedom")
            names = self._controller.joint_names
            path = Tolerances(names, goal.path_tolerance)
            end = Tolerances(names, goal.goal_tolerance, GOAL_POSITION)
            time = goal.goal_time_tolerance.sec + 1e-9 * goal.goal_time_tolerance.nanosec
            if time < 0.0:
                raise RefusedError("not finite", "goal_time_tolerance is negative")
            plan = self._controller.follow(goal.trajectory)
        except RefusedError as refused:
            self._finish(handle, CODES.get(refused.reason, INVALID_GOAL), str(refused))
            return
        self._goals.append((handle, Following(plan, path, end, time)))
        self._timer.reset()

    def _serve(self) -> None:
        now, present, cause = self._controller.now()
        for entry in list(self._goals):
            handle, following = entry
            verdict: tuple[int, str] | None
            if now is None:
                verdict = (INVALID_GOAL, "the controller is not active")
            elif handle.is_cancel_requested:
                if present is not None and present.motion is following.plan.motion:
                    self._controller.cancel()
                verdict = (SUCCESSFUL, "cancelled: braking, then holding")
            elif (verdict := following.check(now, present, cause)) is None:
                handle.publish_feedback(self._feedback(now))
                continue
            self._goals.remove(entry)
            if verdict[0] == PATH_TOLERANCE and not cause:
                self._controller.cancel()
            self._finish(handle, *verdict)
        if not self._goals:
            self._timer.cancel()

    def _finish(self, handle: Any, code: int, sentence: str) -> None:
        def execute(handle: Any) -> Any:
            if handle.is_cancel_requested:
                handle.canceled()
            elif code == SUCCESSFUL:
                handle.succeed()
            else:
                handle.abort()
            result = self._action.Result()
            result.error_code, result.error_string = code, sentence
            return result

        handle.execute(execute)

    def _feedback(self, now: TrackedState) -> Any:
        feedback = self._action.Feedback(joint_names=list(self._controller.joint_names))
        set_stamp(feedback.header.stamp, now.stamp)
        (q_d, qd_d, _), q, qd = now.desired, now.q, now.qd
        for point, position, speed in (
            (feedback.desired, q_d, qd_d),
            (feedback.actual, q, qd),
            (feedback.error, q_d - q, qd_d - qd),
        ):
            point.positions, point.velocities = position.tolist(), speed.tolist()
        return feedback


def offer_action(node: Any) -> FollowJointTrajectoryServer | None:
    """Offer the action if ``control_msgs`` is installed."""
    try:
        action = importlib.import_module("control_msgs.action").FollowJointTrajectory
    except ImportError:
        return None
    return FollowJointTrajectoryServer(node, action)
