"""The stiffness server over real DDS: maps as an action, and answers to whatever is asked meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from conftest import Arm
from dyn_robot.action import MapStiffness
from dyn_robot.srv import GetDeflection, GetStiffness
from geometry_msgs.msg import Pose, Quaternion, Wrench
from rclpy.action import ActionClient

from dyn_core.stiffness_maps import JointGrid, stiffness_map
from nodes.stiffness_messages import map_of

Q = [0.1, 0.5, -0.4, 0.3, 0.7, -0.2]
NAN = float("nan")


class Maps:
    """The action as a test uses it."""

    def __init__(self, arm: Arm) -> None:
        self._client = arm.client
        self.action = ActionClient(arm.client.node, MapStiffness, "map_stiffness")
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
    found = Maps(shared_arm)
    yield found
    found.action.destroy()


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
    handle, future = maps.send(goal(440, 440))
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
