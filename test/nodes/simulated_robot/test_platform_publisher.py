"""A motion platform over real DDS: pose and twist are published, and it goes straight to the poses that are asked."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from geometry_msgs.msg import PoseStamped, TwistStamped
from running_arm import Arm
from sensor_msgs.msg import JointState

from dyn_cli.client.robot_client import CONTROLLER, RobotClient, nanoseconds
from dyn_cli.commands.hardware.security_findings import uncovered
from dyn_cli.commands.running import move, state
from dyn_cli.supervision.running import running
from dyn_core import load_robot
from dyn_core.errors import InputError, SingularityError, WorkspaceError
from dyn_core.robots import ParallelRobot
from dyn_core.spatial import poses_apart
from dyn_core.spatial.poses import pose, rotation_from_rpy
from dyn_nodes.bringup.systems import system
from dyn_nodes.common.geometry_messages import pose_array, twist_array
from dyn_nodes.simulated_robot.platform_publisher import POSE, TWIST

pytestmark = pytest.mark.running

ASKED = [0.06, -0.04, 0.88, 4.0, -6.0, 10.0]
"""m, degrees."""
RATE = 200.0
"""Hz, which a busy machine holds."""


@pytest.fixture(scope="module")
def robot() -> ParallelRobot:
    found = load_robot("gough_stewart")
    assert isinstance(found, ParallelRobot)
    return found


@pytest.fixture(scope="module")
def client(domain: int, patient: str) -> Iterator[RobotClient]:
    output: list[str] = []
    given = {"robot": "gough_stewart", "namespace": "platform", "rate": RATE, "params_file": patient}
    with running(system("sim", given), quiet=output) as (_, client):
        yield client
    print(*output, sep="\n")


def arguments(**given: Any) -> argparse.Namespace:
    defaults = {"namespace": "platform", "json": True, "watch": False, "degrees": True, "duration": 1.5, "wait": True}
    return argparse.Namespace(**{**defaults, "positions": [], "pose": None, **given})


def test_it_goes_straight_to_a_pose_and_publishes_where_it_is(
    client: RobotClient, robot: ParallelRobot, capsys: pytest.CaptureFixture[str]
) -> None:
    first = robot.forward_kinematics(np.array(client.controller_state().points[0].positions))
    with (
        client.record(JointState, "joint_states") as states,
        client.record(PoseStamped, POSE) as poses,
        client.record(TwistStamped, TWIST) as twists,
    ):
        client.spin(0.2)
        assert move.run(arguments(pose=ASKED)) == 0
        for recorder in (states, poses, twists):
            recorder.drain()
    said = capsys.readouterr().out
    assert "arrived after 1.5 s" in said
    assert "the platform is within" in said
    joints = {nanoseconds(m.header.stamp): m for m in states.messages}
    moving = {nanoseconds(m.header.stamp): m for m in twists.messages}
    stamps = [t for m in poses.messages if (t := nanoseconds(m.header.stamp)) in joints and t in moving]
    assert len(stamps) > 100
    met = np.array([pose_array(m.pose) for m in poses.messages if nanoseconds(m.header.stamp) in set(stamps)])
    q = np.array([joints[t].position for t in stamps])[:, robot.joints]
    qd = np.array([joints[t].velocity for t in stamps])[:, robot.joints]
    assert {m.header.frame_id for m in (*poses.messages, *twists.messages)} == {"base"}
    np.testing.assert_allclose(met, robot.forward_kinematics(q), atol=1e-8)
    np.testing.assert_allclose(
        [twist_array(moving[t].twist) for t in stamps], robot.platform.motion(q, qd)[0], atol=1e-7
    )

    target = pose(rotation_from_rpy(*np.radians(ASKED[3:])), np.array(ASKED[:3]))
    distance, angle = poses_apart(target, met[-1])
    assert distance < 5e-4
    assert angle < 1e-3
    way = target[:3, 3] - first[:3, 3]
    share = (met[:, :3, 3] - first[:3, 3]) @ way / (way @ way)
    assert share.min() < 0.1
    off = np.linalg.norm(met[:, :3, 3] - first[:3, 3] - share[:, None] * way, axis=1)
    assert off.max() < 2e-3

    assert uncovered(client.node, "platform") == []  # the policies know its topics
    assert state.run(arguments()) == 0
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["joints"]) == robot.mechanism.n
    np.testing.assert_allclose(shown["platform"]["position"], ASKED[:3], atol=5e-4)
    np.testing.assert_allclose(np.degrees(shown["platform"]["roll_pitch_yaw"]), ASKED[3:], atol=0.1)
    assert state.run(arguments(json=False)) == 0
    assert "platform at 0.06" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "error", "complaint"),
    [
        ([0.0, 0.0, 1.6, 0.0, 0.0, 0.0], WorkspaceError, "beyond its limits 0.8 to 1.2"),
        ([0.0, 0.0, 0.85, 0.0, 0.0, 175.0], (WorkspaceError, SingularityError), "gough_stewart"),
    ],
)
def test_a_pose_that_it_cannot_reach_is_refused_and_nothing_moves(
    client: RobotClient, asked: list[float], error: type[Exception], complaint: str
) -> None:
    accepted = client.diagnostics(CONTROLLER)["trajectories accepted"]
    before = np.array(client.controller_state().points[0].positions)
    with pytest.raises(error, match=complaint):
        move.run(arguments(pose=asked))
    assert client.diagnostics(CONTROLLER)["trajectories accepted"] == accepted
    np.testing.assert_array_equal(np.array(client.controller_state().points[0].positions), before)


def test_the_controller_itself_lets_no_leg_go_to_its_limit_and_beyond(
    client: RobotClient, robot: ParallelRobot
) -> None:
    here = np.array(client.controller_state().points[0].positions)
    names = list(robot.joint_names)
    limit = robot.mechanism.position_limits[robot.joints[0], 1]
    over = np.tile(here, (2, 1))
    over[0, 0], over[1, 0] = limit - 1e-3, here[0]
    speeds = np.zeros((2, 6))
    speeds[0, 0] = 0.3  # within the limit at the point, beyond it after it
    reason = "dropped joint_trajectory: outside position limits"
    count = int(client.diagnostics(CONTROLLER).get(reason, "0"))
    client.send_trajectory(names, np.array([1.0]), np.where(np.arange(6) == 0, limit + 0.01, here)[None])
    client.send_trajectory(names, np.array([1.5, 3.0]), over, velocities=speeds)
    assert client.wait(lambda: int(client.diagnostics(CONTROLLER).get(reason, "0")) == count + 2, 10.0)
    np.testing.assert_allclose(client.controller_state().points[0].positions, here, atol=1e-9)


def test_an_arm_has_no_platform_to_move(arm: Arm) -> None:
    with pytest.raises(InputError, match="puma560 has no platform"):
        move.run(arguments(namespace="shared", pose=ASKED))
    assert arm.client.node.count_publishers(POSE) == 0
