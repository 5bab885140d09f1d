"""The stiffness server over real DDS: maps as an action, and answers to whatever is asked meanwhile."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from dyn_robot.action import MapStiffness
from dyn_robot.srv import GetDeflection, GetStiffness
from geometry_msgs.msg import Pose, Quaternion, Wrench
from rclpy.action import ActionClient
from running_arm import Arm

from dyn_cli.client.robot_client import RobotClient
from dyn_core import load_robot
from dyn_core.robots import SphericalRobot
from dyn_core.spatial.poses import azimuth_tilt_torsion
from dyn_core.stiffness_maps import JointGrid, OrientationGrid, stiffness_map
from dyn_nodes.common.geometry_messages import quaternion_message, wrench_message
from dyn_nodes.stiffness_server.map_messages import map_of

pytestmark = pytest.mark.running

Q = [0.1, 0.5, -0.4, 0.3, 0.7, -0.2]
NAN = float("nan")
SPM = load_robot("spm_coaxial")
assert isinstance(SPM, SphericalRobot)


class Maps:
    """The action as a test uses it."""

    def __init__(self, client: RobotClient) -> None:
        self._client = client
        self.action = ActionClient(client.node, MapStiffness, "map_stiffness")
        self.feedback: list[Any] = []
        assert self._client.wait(self.action.server_is_ready, 10.0)

    def send(self, goal: MapStiffness.Goal) -> tuple[Any, Any]:
        """The goal's handle and the future of its result."""
        sent = self.action.send_goal_async(goal, lambda message: self.feedback.append(message.feedback))
        assert self._client.wait(sent.done, 10.0, 0.01)
        assert sent.result().accepted
        return sent.result(), sent.result().get_result_async()

    def result(self, future: Any) -> tuple[int, MapStiffness.Result]:
        """Status and result, once it is there."""
        assert self._client.wait(future.done, 30.0, 0.01)
        return future.result().status, future.result().result


@pytest.fixture
def maps(shared_arm: Arm) -> Iterator[Maps]:
    found = Maps(shared_arm.client)
    yield found
    found.action.destroy()


@contextmanager
def served(namespace: str, *parameters: str) -> Iterator[RobotClient]:
    """A client of a stiffness server that runs alone."""
    command = [sys.executable, "-m", "dyn_nodes.executables", "stiffness_server", "--ros-args"]
    given = ["-r", f"__ns:=/{namespace}", *(word for each in parameters for word in ("-p", each))]
    process = subprocess.Popen([*command, *given])
    try:
        with RobotClient(namespace) as client:
            assert client.wait(lambda: client.node.count_services("get_stiffness") > 0, 180.0)
            yield client
        process.terminate()
        assert process.wait(20.0) == 0
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def wrist(domain: int) -> Iterator[RobotClient]:
    with served("wrist", f"robot:={SPM.name}", "max_map_poses:=1000000") as client:
        yield client


def turned(azimuth: float, tilt: float, torsion: float = 0.0) -> list[Quaternion]:
    """The request's orientation from angles in degrees."""
    return [quaternion_message(azimuth_tilt_torsion(*np.radians([azimuth, tilt, torsion])))]


def goal(columns: int = 9, rows: int = 8, **more: Any) -> MapStiffness.Goal:
    return MapStiffness.Goal(joints=["joint2", "joint3"], columns=columns, rows=rows, positions=Q, **more)


def test_a_map_is_that_of_the_core_and_tells_how_far_it_is(shared_arm: Arm, maps: Maps) -> None:
    asked = goal(lower=[-0.5, -1.0], upper=[1.0, 0.5])
    status, result = maps.result(maps.send(asked)[1])
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert (result.success, result.complete) == (True, True)
    expected = stiffness_map(
        shared_arm.robot, JointGrid(("joint2", "joint3"), (9, 8), tuple(Q), (-0.5, -1.0), (1.0, 0.5))
    )
    found = map_of(result, asked)
    np.testing.assert_array_equal(found.wrenches, expected.wrenches)
    for name in ("translation", "rotation", "status"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in ("columns", "rows"):
        np.testing.assert_array_equal(getattr(found, name).values, getattr(expected, name).values)
    assert shared_arm.client.wait(lambda: bool(maps.feedback) and maps.feedback[-1].done == 72, 5.0)
    assert maps.feedback[-1].largest_rotation == expected.rotation.max()


def test_a_map_is_cancelled_and_requests_are_answered_meanwhile(shared_arm: Arm, maps: Maps) -> None:
    handle, future = maps.send(goal(440, 440, wrenches=[Wrench()] * 64))
    assert shared_arm.client.wait(lambda: bool(maps.feedback), 20.0)
    for _ in range(20):
        answer = shared_arm.client.call(GetStiffness, "get_stiffness", GetStiffness.Request(positions=Q))
        assert answer.success, answer.message
        np.testing.assert_allclose(
            np.reshape(answer.stiffness, (6, 6)), shared_arm.robot.stiffness(np.array(Q)).K, rtol=1e-9
        )
    status, second = maps.result(maps.send(goal())[1])
    assert status == GoalStatus.STATUS_ABORTED
    assert "already" in second.message
    assert not future.done()
    began = time.monotonic()
    handle.cancel_goal_async()
    status, result = maps.result(future)
    assert time.monotonic() - began < 5.0
    assert status == GoalStatus.STATUS_CANCELED
    assert (result.success, result.complete) == (True, False)
    translation = np.array(result.translation)
    computed = np.array(result.status) == MapStiffness.Result.COMPUTED
    assert 0 < computed.sum() < 440 * 440
    np.testing.assert_array_equal(np.isfinite(translation), computed)
    assert maps.result(maps.send(goal())[1])[0] == GoalStatus.STATUS_SUCCEEDED


def test_maps_that_make_no_sense_are_aborted_with_a_sentence(maps: Maps) -> None:
    cases = {
        "no inverse kinematics": MapStiffness.Goal(columns=10, rows=10, tilt_max=1.0),
        "largest tilt": MapStiffness.Goal(columns=10, rows=10, tilt_max=NAN),
        "too many": goal(4_000_000_000, 4_000_000_000),
        "at most 200000": goal(wrenches=[Wrench()] * 65),
        "at least 2 positions": goal(0, 0),
        "expected two": MapStiffness.Goal(joints=["joint1"], columns=3, rows=3, positions=Q),
        "no joint 'elbow'": MapStiffness.Goal(joints=["joint1", "elbow"], columns=3, rows=3, positions=Q),
        "has 6 joints": MapStiffness.Goal(joints=["joint1", "joint2"], columns=3, rows=3, positions=[0.0]),
        "one for each": goal(lower=[1.0]),
        "range": goal(lower=[NAN, 0.0], upper=[1.0, 1.0]),
        "no frame 'nose'": goal(frame="nose"),
    }
    bad = Wrench()
    bad.force.x = NAN
    cases["six finite numbers"] = goal(wrenches=[bad])
    for sentence, asked in cases.items():
        status, result = maps.result(maps.send(asked)[1])
        assert status == GoalStatus.STATUS_ABORTED, sentence
        assert not result.success
        assert sentence in result.message
        assert "\n" not in result.message
    assert maps.result(maps.send(goal())[1])[1].success


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"orientation": [Quaternion()]}, "no inverse kinematics"),
        ({"orientation": [Quaternion(w=0.0)]}, "not a unit quaternion"),
        ({"orientation": [Quaternion(x=NAN)]}, "not a unit quaternion"),
        ({"pose": [Pose()]}, "no inverse kinematics"),
        ({"pose": [Pose()], "positions": Q}, "expected one of them"),
        ({"positions": Q, "frame": "nose"}, "no frame 'nose'"),
    ],
)
def test_requests_that_make_no_sense_are_refused(shared_arm: Arm, asked: dict[str, Any], sentence: str) -> None:
    for service, name in ((GetStiffness, "get_stiffness"), (GetDeflection, "get_deflection")):
        answer = shared_arm.client.call(service, name, service.Request(**asked))
        assert not answer.success
        assert sentence in answer.message
    fine = GetStiffness.Request(positions=Q, frame="link3")
    answer = shared_arm.client.call(GetStiffness, "get_stiffness", fine)
    assert not answer.success, "only three joints move link3"
    expected = shared_arm.robot.stiffness(np.array(Q), "link3")
    np.testing.assert_allclose(np.reshape(answer.compliance, (6, 6)), expected.C, rtol=1e-9)
    assert answer.frame == "link3"


def test_a_platform_s_stiffness_by_its_orientation(wrist: RobotClient) -> None:
    answer = wrist.call(GetStiffness, "get_stiffness", GetStiffness.Request(orientation=turned(20.0, 35.0, 10.0)))
    assert answer.success, answer.message
    expected = SPM.platform.stiffness_at(azimuth_tilt_torsion(*np.radians([20.0, 35.0, 10.0])))
    K = np.reshape(answer.stiffness, (6, 6))
    np.testing.assert_allclose(K, expected.K, rtol=1e-6, atol=1e-6 * np.abs(expected.K).max())
    np.testing.assert_allclose(answer.eigenvalues, np.linalg.eigvalsh(K), rtol=1e-6)
    assert answer.condition == pytest.approx(np.linalg.cond(K), rel=1e-5)
    by_joints = GetStiffness.Request(positions=answer.joint_positions)
    again = wrist.call(GetStiffness, "get_stiffness", by_joints)
    np.testing.assert_allclose(again.stiffness, answer.stiffness, rtol=1e-6, atol=1e-6 * np.abs(K).max())
    pose = Pose(orientation=turned(20.0, 35.0, 10.0)[0])
    again = wrist.call(GetStiffness, "get_stiffness", GetStiffness.Request(pose=[pose]))
    np.testing.assert_allclose(again.stiffness, answer.stiffness, rtol=1e-9, atol=1e-9 * np.abs(K).max())
    pose.position.x = 0.1
    away = wrist.call(GetStiffness, "get_stiffness", GetStiffness.Request(pose=[pose]))
    assert not away.success
    assert "only turns about its centre" in away.message


def test_a_platform_out_of_reach_or_loose_is_told_so(wrist: RobotClient) -> None:
    for service, name in ((GetStiffness, "get_stiffness"), (GetDeflection, "get_deflection")):
        answer = wrist.call(service, name, service.Request(orientation=turned(30.0, 90.0)))
        assert not answer.success
        assert "cannot reach" in answer.message
    answer = wrist.call(GetStiffness, "get_stiffness", GetStiffness.Request(orientation=turned(60.0, 90.0)))
    assert not answer.success
    assert "nothing resists" in answer.message
    assert answer.condition == float("inf")
    K, null = np.reshape(answer.stiffness, (6, 6)), np.array(answer.null_directions)
    assert null.shape == (6,)
    assert np.abs(K @ null).max() < 1e-6 * np.abs(K).max()
    request = GetDeflection.Request(orientation=turned(60.0, 90.0))
    request.wrench = wrench_message(np.concatenate([np.zeros(3), null[3:]]))
    pushed = wrist.call(GetDeflection, "get_deflection", request)
    assert (pushed.success, pushed.equilibrium) == (False, False)
    assert "no equilibrium" in pushed.message
    np.testing.assert_allclose(np.abs(null @ np.array(pushed.null_directions)), 1.0, rtol=1e-6)
    request.wrench = wrench_message(np.array([0.0, 0.0, 0.0, 0.0, 0.0, 5.0]))
    held = wrist.call(GetDeflection, "get_deflection", request)
    assert (held.success, held.equilibrium) == (True, True), held.message
    moved = np.array([getattr(v, axis) for v in (held.translation, held.rotation) for axis in "xyz"])
    np.testing.assert_allclose(K @ moved, [0, 0, 0, 0, 0, 5.0], atol=1e-5)
    assert abs(moved @ null) < 1e-9


def test_a_map_over_orientations_and_its_cancel(wrist: RobotClient) -> None:
    maps = Maps(wrist)
    try:
        asked = MapStiffness.Goal(columns=24, rows=10, tilt_max=np.radians(90.0), torsion=0.1)
        status, result = maps.result(maps.send(asked)[1])
        assert status == GoalStatus.STATUS_SUCCEEDED, result.message
        expected = stiffness_map(SPM, OrientationGrid(float(np.radians(90.0)), 24, 10, 0.1))
        found = map_of(result, asked)
        np.testing.assert_allclose(found.rotation, expected.rotation, rtol=1e-12)
        np.testing.assert_array_equal(found.status, expected.status)
        assert found.fixed == {"torsion": 0.1}
        handle, future = maps.send(MapStiffness.Goal(columns=1000, rows=1000, tilt_max=1.0))
        assert wrist.wait(lambda: len(maps.feedback) > 1, 20.0, 0.01)
        answer = wrist.call(GetStiffness, "get_stiffness", GetStiffness.Request(orientation=turned(0.0, 10.0)))
        assert answer.success
        assert not future.done()
        began = time.monotonic()
        handle.cancel_goal_async()
        status, result = maps.result(future)
        assert status == GoalStatus.STATUS_CANCELED
        assert time.monotonic() - began < 5.0
        assert 0 < np.isfinite(result.translation).sum() < 1_000_000
    finally:
        maps.action.destroy()


def test_several_threads_and_a_map_share_one_robot(domain: int) -> None:
    """Requests in flight at once, answered by four threads while a fifth maps: all as the core answers one by one."""
    robot = load_robot("five_bar_saha")
    rng = np.random.default_rng(6)
    where = robot.neutral() + rng.uniform(-0.2, 0.2, (60, 2))
    expected = [robot.stiffness(q) for q in where]
    home = robot.neutral()
    asked = MapStiffness.Goal(
        joints=list(robot.joint_names), columns=60, rows=60, positions=home, lower=home - 0.2, upper=home + 0.2
    )
    grid = JointGrid(robot.joint_names, (60, 60), tuple(home), tuple(home - 0.2), tuple(home + 0.2))
    with served("five_bar", "robot:=five_bar_saha", "threads:=4") as client:
        maps = Maps(client)
        service = client.node.create_client(GetStiffness, "get_stiffness")
        assert client.wait(service.service_is_ready, 20.0)
        _, future = maps.send(asked)
        assert client.wait(lambda: bool(maps.feedback), 20.0, 0.01)
        answers: list[Any] = []
        for part in where.reshape(10, 6, 2):  # a service keeps ten requests
            sent = [service.call_async(GetStiffness.Request(positions=q)) for q in part]
            assert client.wait(lambda sent=sent: all(answer.done() for answer in sent), 30.0, 0.01)
            answers += sent
        assert not future.done(), "the map was to take longer than the requests"
        for answer, there in zip(answers, expected, strict=True):
            np.testing.assert_allclose(np.reshape(answer.result().compliance, (6, 6)), there.C, rtol=1e-12, atol=1e-18)
        status, result = maps.result(future)
        assert status == GoalStatus.STATUS_SUCCEEDED, result.message
        found = map_of(result, asked)
        reference = stiffness_map(robot, grid)
        for name in ("translation", "rotation"):
            np.testing.assert_allclose(getattr(found, name), getattr(reference, name), rtol=1e-12)
        np.testing.assert_array_equal(found.status, reference.status)
        maps.action.destroy()
