"""A robot with closed chains over real DDS: all joints are published, the active ones are controlled."""

from __future__ import annotations

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from dyn_cli.client.robot_client import CONTROLLER
from dyn_cli.supervision.running import running
from dyn_core import load_robot
from dyn_core.robots import LoopRobot
from dyn_core.trajectory import through_points
from dyn_nodes.bringup.systems import system
from dyn_nodes.common.stamps import NANOSECONDS, nanoseconds

pytestmark = pytest.mark.running

OUT_OF_REACH = np.radians([105.0, 15.0])
"""Within the limits of both cranks, but the second links are too short to meet."""


@pytest.mark.usefixtures("domain")
def test_the_five_bar_publishes_all_joints_and_follows_with_the_active_ones() -> None:
    robot = load_robot("five_bar_saha")
    assert isinstance(robot, LoopRobot)
    output: list[str] = []
    given = {"robot": "five_bar_saha", "namespace": "chains", "formulation": "denoc"}
    with running(system("sim", given), quiet=output) as (_, client):
        begin = np.array(client.controller_state().points[0].positions)
        np.testing.assert_allclose(begin, robot.neutral(), atol=1e-3)
        names = list(robot.joint_names)
        client.send_trajectory(names, np.array([1.0]), OUT_OF_REACH[None])
        assert client.wait(
            lambda: client.diagnostics(CONTROLLER).get("dropped joint_trajectory: chains do not close") == "1", 10.0
        )
        with client.record(JointState, "joint_states") as states:
            times = np.array([0.0, 1.0, 2.0])
            positions = begin + np.array([[0.0, 0.0], [0.3, -0.2], [-0.2, 0.1]])
            start = nanoseconds(client.controller_state().header.stamp) + NANOSECONDS
            client.send_trajectory(names, times, positions, start)

            def done() -> bool:
                states.drain()
                return bool(states.messages) and nanoseconds(states.messages[-1].header.stamp) > start + 2 * NANOSECONDS

            assert client.wait(done, 10.0, 0.05)
        messages = [m for m in states.messages if 0 <= nanoseconds(m.header.stamp) - start <= 2 * NANOSECONDS]
        assert client.diagnostics(CONTROLLER)["fault"] == ""
    assert list(messages[0].name) == list(robot.mechanism.joint_names)
    t = np.array([nanoseconds(m.header.stamp) - start for m in messages]) / NANOSECONDS
    q = np.array([m.position for m in messages])
    qd = np.array([m.velocity for m in messages])
    error = q[:, robot.joints] - through_points(times, positions).sample(t)[0]
    assert np.sqrt(np.mean(error**2, axis=0)).max() < 2e-3
    ends = [robot.tree.forward_kinematics(q), robot.tree.forward_kinematics(q, "leg2_link2")]
    second = ends[1][:, :3, 3] + 0.8 * ends[1][:, :3, 0]
    np.testing.assert_allclose(ends[0][:, :3, 3], second, atol=1e-9)  # the legs meet in every message
    velocities = np.gradient(q, t, axis=0)
    smooth = np.abs(velocities - qd)[1:-1].max(axis=1)
    assert np.median(smooth) < 0.05  # speeds of passive joints are those of their positions
    assert (np.array([m.effort for m in messages])[:, [1, 3]] == 0.0).all()
