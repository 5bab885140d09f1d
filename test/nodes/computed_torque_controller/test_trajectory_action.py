"""The action FollowJointTrajectory, where control_msgs is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from running_arm import Arm
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_cli.client.robot_client import CONTROLLER
from dyn_core.control.goal_tolerances import INVALID_GOAL, INVALID_JOINTS, SUCCESSFUL

pytestmark = pytest.mark.running


def trajectory(names: list[str], target: np.ndarray, seconds: int) -> JointTrajectory:
    point = JointTrajectoryPoint(positions=target.tolist())
    point.time_from_start.sec = seconds
    return JointTrajectory(joint_names=names, points=[point])


@pytest.mark.skipif(find_spec("control_msgs") is None, reason="control_msgs is not installed: it is not on PyPI")
def test_the_action_follows_aborts_and_cancels(arm: Arm) -> None:
    from action_msgs.msg import GoalStatus
    from control_msgs.action import FollowJointTrajectory
    from rclpy.action import ActionClient

    client = ActionClient(arm.client.node, FollowJointTrajectory, f"{CONTROLLER}/follow_joint_trajectory")
    names, target = list(arm.robot.joint_names), np.full(6, 0.2)
    heard: list[Any] = []

    def send(message: JointTrajectory) -> Any:
        goal = FollowJointTrajectory.Goal(trajectory=message)
        assert arm.client.wait(client.server_is_ready, 10.0)
        future = client.send_goal_async(goal, feedback_callback=lambda m: heard.append(m.feedback))
        assert arm.client.wait(future.done, 10.0)
        return future.result()

    def result(handle: Any) -> Any:
        future = handle.get_result_async()
        assert arm.client.wait(future.done, 20.0)
        return future.result()

    done = result(send(trajectory(names, target, 1)))
    assert (done.status, done.result.error_code) == (GoalStatus.STATUS_SUCCEEDED, SUCCESSFUL), done.result
    assert np.abs(arm.positions() - target).max() < 0.01
    assert len(heard) > 5
    assert list(heard[-1].joint_names) == names
    wrong = result(send(trajectory(["elbow", *names[1:]], target, 1)))
    assert (wrong.status, wrong.result.error_code) == (GoalStatus.STATUS_ABORTED, INVALID_JOINTS)
    outside = result(send(trajectory(names, np.full(6, 100.0), 1)))
    assert outside.result.error_code == INVALID_GOAL
    assert "point 0" in outside.result.error_string
    handle = send(trajectory(names, -target, 4))
    arm.client.spin(1.0)
    cancelled = handle.cancel_goal_async()
    assert arm.client.wait(cancelled.done, 10.0)
    assert result(handle).status == GoalStatus.STATUS_CANCELED
    arm.client.spin(0.5)
    assert np.abs(arm.positions() + target).max() > 0.02, "it stopped on the way"
    client.destroy()
