"""The action ``~/follow_joint_trajectory`` of the controller, where ``control_msgs`` is installed, as MoveIt uses it.

What is decided about a goal is in ``Following``, which needs neither ROS nor control_msgs.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nodes.messages import Dropped
from nodes.plan import Plan, State

SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS, OLD_HEADER, PATH_TOLERANCE, GOAL_TOLERANCE = 0, -1, -2, -3, -4, -5
"""Codes of control_msgs/FollowJointTrajectory."""
CODES = {
    "unknown joints": INVALID_JOINTS,
    "missing joints": INVALID_JOINTS,
    "repeated joints": INVALID_JOINTS,
    "start time in the past": OLD_HEADER,
}
GOAL_POSITION = 0.01
"""Distance from the goal within which it is reached, if the goal does not say (rad or m)."""
GOAL_TIME = 1.0
"""Seconds after the trajectory's end in which the goal must be reached, if the goal does not say."""
PERIOD = 0.05
"""Seconds between two feedbacks."""


@dataclass(frozen=True)
class Now:
    """Where the robot is and should be, (n,) each."""

    stamp: int
    desired: State
    q: np.ndarray
    qd: np.ndarray


class Tolerances:
    """Largest distance in position and speed of every joint (n,), infinite where there is none."""

    def __init__(self, names: Sequence[str], given: Sequence[Any], position: float = np.inf) -> None:
        self.names = tuple(names)
        self.position = np.full(len(names), position)
        self.velocity = np.full(len(names), np.inf)
        for tolerance in given:
            if tolerance.name not in self.names:
                raise Dropped("unknown joints", f"a tolerance names {tolerance.name!r}")
            j = self.names.index(tolerance.name)
            for values, value in ((self.position, tolerance.position), (self.velocity, tolerance.velocity)):
                if not np.isfinite(value) or (value < 0.0 and value != -1.0):
                    raise Dropped("not finite", f"a tolerance of {tolerance.name} is {value}")
                if value != 0.0:  # 0 leaves the default, -1 takes it away
                    values[j] = np.inf if value < 0.0 else value

    def violation(self, dq: np.ndarray, dqd: np.ndarray) -> str:
        """Which joint is too far away, and how far; empty if none is."""
        for what, error, limit in (("position", dq, self.position), ("velocity", dqd, self.velocity)):
            over = np.abs(error) - limit
            if (over > 0.0).any():
                j = int(over.argmax())
                return f"{what} of {self.names[j]} is off by {abs(error[j]):.4g}, {limit[j]:.4g} is allowed"
        return ""


class Following:
    """A goal that is being followed."""

    def __init__(self, plan: Plan, path: Tolerances, goal: Tolerances, goal_time: float = 0.0) -> None:
        self.plan = plan
        self._path, self._goal = path, goal
        self._goal_time = goal_time or GOAL_TIME
        self._begun = False
        self._ended: int | None = None
        self.target = plan.motion.sample(plan.motion.duration)[0]

    def check(self, now: Now, present: Plan | None, cause: str) -> tuple[int, str] | None:
        """Code and sentence once it is decided; None until then.

        present: the plan that the robot follows. cause: why the controller has stopped, if it has.
        """
        if cause:
            return PATH_TOLERANCE, f"the controller stopped: {cause}"
        if present is None or present.motion is not self.plan.motion:
            if self._begun:
                return INVALID_GOAL, "another trajectory has taken its place"
            waited = now.stamp - self.plan.start
            return (INVALID_GOAL, "the trajectory was not begun") if waited > 1_000_000_000 else None
        self._begun = True
        desired, speed, _ = now.desired
        if violation := self._path.violation(now.q - desired, now.qd - speed):
            return PATH_TOLERANCE, violation
        if present.remaining(now.stamp) > 0.0:
            return None
        self._ended = self._ended or now.stamp
        violation = self._goal.violation(now.q - self.target, now.qd)
        if not violation:
            return SUCCESSFUL, "the goal is reached"
        if (now.stamp - self._ended) * 1e-9 > self._goal_time:
            return GOAL_TOLERANCE, violation
        return None


class Controller(Protocol):
    """What the action needs of the controller's node."""

    joint_names: Sequence[str]

    def follow(self, message: Any) -> Plan: ...

    def cancel(self) -> bool: ...

    def now(self) -> tuple[Now | None, Plan | None, str]: ...


class FollowJointTrajectoryServer:
    """Offers the action on a node; goals are served by a timer, so that the executor stays free."""

    def __init__(self, node: Any, controller: Controller, action: Any) -> None:
        from rclpy.action import ActionServer, CancelResponse

        self._node, self._controller, self._action = node, controller, action
        self._goals: list[tuple[Any, Following]] = []
        self._accept = CancelResponse.ACCEPT
        self._timer = node.create_timer(PERIOD, self._serve, autostart=False)
        self._server = ActionServer(
            node,
            action,
            "~/follow_joint_trajectory",
            execute_callback=self._never,
            handle_accepted_callback=self._on_accepted,
            cancel_callback=lambda _: self._accept,
        )

    def _never(self, handle: Any) -> Any:
        raise NotImplementedError("goals are executed by the timer")

    def _on_accepted(self, handle: Any) -> None:
        goal = handle.request
        try:
            if goal.multi_dof_trajectory.points:
                raise Dropped("multi_dof_trajectory", "this robot has joints of one degree of freedom")
            names = self._controller.joint_names
            path = Tolerances(names, goal.path_tolerance)
            end = Tolerances(names, goal.goal_tolerance, GOAL_POSITION)
            time = goal.goal_time_tolerance.sec + 1e-9 * goal.goal_time_tolerance.nanosec
            if time < 0.0:
                raise Dropped("not finite", "goal_time_tolerance is negative")
            plan = self._controller.follow(goal.trajectory)
        except Dropped as dropped:
            self._finish(handle, CODES.get(dropped.reason, INVALID_GOAL), str(dropped))
            return
        self._goals.append((handle, Following(plan, path, end, time)))
        self._timer.reset()

    def _serve(self) -> None:
        now, present, cause = self._controller.now()
        for entry in list(self._goals):
            handle, following = entry
            verdict = (INVALID_GOAL, "the controller is not active") if now is None else None
            if now is not None:
                if handle.is_cancel_requested:
                    if present is not None and present.motion is following.plan.motion:
                        self._controller.cancel()
                    verdict = (SUCCESSFUL, "cancelled: braking, then holding")
                else:
                    verdict = following.check(now, present, cause)
            if verdict is None:
                assert now is not None
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

    def _feedback(self, now: Now) -> Any:
        feedback = self._action.Feedback(joint_names=list(self._controller.joint_names))
        feedback.header.stamp.sec, feedback.header.stamp.nanosec = divmod(now.stamp, 1_000_000_000)
        (q_d, qd_d, _), q, qd = now.desired, now.q, now.qd
        for point, position, speed in (
            (feedback.desired, q_d, qd_d),
            (feedback.actual, q, qd),
            (feedback.error, q_d - q, qd_d - qd),
        ):
            point.positions, point.velocities = position.tolist(), speed.tolist()
        return feedback


def offer(node: Any, controller: Controller) -> FollowJointTrajectoryServer | None:
    """Offer the action if ``control_msgs`` is installed."""
    try:
        action = importlib.import_module("control_msgs.action").FollowJointTrajectory
    except ImportError:
        return None
    return FollowJointTrajectoryServer(node, controller, action)
