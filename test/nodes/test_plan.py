"""Trajectories join the motion before them without a jump."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import load_robot
from dyn_core.limits import Limits, Margins
from nodes.messages import Dropped, JointOrder, TrajectoryPoints
from nodes.plan import Hold, Plan, check_motion, check_torques, joined

FREE = np.array([[-np.inf, np.inf]] * 2)
REST = (np.array([0.1, -0.1]), np.zeros(2), np.zeros(2))
MOVING = (np.array([0.1, -0.1]), np.array([0.5, -0.4]), np.array([1.0, 2.0]))


def checked(*rows: tuple[int, list[float]], velocities: bool = False) -> TrajectoryPoints:
    message = JointTrajectory(joint_names=["a", "b"])
    for seconds, positions in rows:
        point = JointTrajectoryPoint(positions=positions, velocities=[0.0, 0.0] if velocities else [])
        point.time_from_start.sec = seconds
        message.points.append(point)
    return TrajectoryPoints(message, JointOrder(("a", "b")), FREE)


@pytest.mark.parametrize("present", [REST, MOVING])
@pytest.mark.parametrize("velocities", [False, True])
def test_the_motion_begins_in_the_present_state(present: tuple[np.ndarray, ...], velocities: bool) -> None:
    motion = joined(checked((1, [1.0, 2.0]), (2, [0.0, 1.0]), velocities=velocities), present, 0.01)
    q, qd, qdd = motion.sample(0.0)
    np.testing.assert_allclose(q, present[0], atol=1e-12)
    np.testing.assert_allclose(qd, present[1], atol=1e-12)
    if not velocities:
        np.testing.assert_allclose(qdd, present[2], atol=1e-9)
    np.testing.assert_allclose(motion.sample(1.0)[0], [1.0, 2.0], atol=1e-9)
    q, qd, _ = motion.sample(5.0)
    np.testing.assert_allclose(q, [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(qd, 0.0, atol=1e-9)


def test_a_first_point_at_zero_must_agree_with_the_present() -> None:
    near = joined(checked((0, [0.1001, -0.1]), (1, [1.0, 1.0])), REST, 0.01)
    np.testing.assert_allclose(near.sample(0.0)[0], REST[0], atol=1e-12)
    with pytest.raises(Dropped, match="start not continuous"):
        joined(checked((0, [0.2, -0.1]), (1, [1.0, 1.0])), REST, 0.01)


def test_a_single_point_at_zero_is_no_motion() -> None:
    with pytest.raises(Dropped, match="no duration"):
        joined(checked((0, [0.1, -0.1])), REST, 0.01)


def test_plans_are_sampled_by_stamps() -> None:
    motion = joined(checked((2, [1.0, 1.0])), REST, 0.01)
    plan = Plan(10**9, motion)
    np.testing.assert_allclose(plan.sample(10**9)[0], REST[0])
    np.testing.assert_allclose(plan.sample(3 * 10**9)[0], [1.0, 1.0])
    held = Hold(REST[0])
    np.testing.assert_array_equal(held.sample(100.0)[0], REST[0])
    assert not held.sample(0.0)[1].any()


ROBOT = load_robot("planar_2r")
STANDING = (np.zeros(2), np.zeros(2), np.zeros(2))


def motion_of(*rows: tuple[float, list[float]], velocities: list[list[float]] | None = None) -> tuple[Any, Any]:
    message = JointTrajectory(joint_names=list(ROBOT.joint_names))
    for k, (seconds, positions) in enumerate(rows):
        point = JointTrajectoryPoint(positions=positions, velocities=velocities[k] if velocities else [])
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), round(seconds % 1 * 1e9)
        message.points.append(point)
    points = TrajectoryPoints(message, JointOrder(ROBOT.joint_names), FREE)
    return joined(points, STANDING, 0.01, ROBOT.joint_names), points


@pytest.mark.parametrize(
    ("rows", "velocities", "words"),
    [
        ([(1.0, [0.5, 0.5]), (3.0, [0.5, 2.9])], None, "outside position limits: elbow .* point 1 "),
        (
            [(2.0, [3.1, 0.0]), (3.0, [3.1, 0.0]), (5.0, [0.0, 0.0])],
            [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.0]],
            "outside position limits: shoulder before point 1 ",
        ),
        ([(1.0, [0.1, 0.1]), (1.5, [2.0, 0.1])], None, "above the velocity limit: shoulder at point 0 "),
        ([(1.0, [0.1, 0.1])], None, ""),
    ],
)
def test_a_motion_beyond_limits_is_refused_with_joint_and_point(
    rows: list[tuple[float, list[float]]], velocities: list[list[float]] | None, words: str
) -> None:
    motion, points = motion_of(*rows, velocities=velocities)
    if not words:
        check_motion(motion, points, Limits(ROBOT))
        check_torques(motion, points, ROBOT, Limits(ROBOT))
        return
    with pytest.raises(Dropped, match=words):
        check_motion(motion, points, Limits(ROBOT))


def test_soft_limits_bound_trajectories() -> None:
    motion, points = motion_of((2.0, [3.0, 0.0]))
    check_motion(motion, points, Limits(ROBOT))
    with pytest.raises(Dropped, match=r"shoulder .* is not in"):
        check_motion(motion, points, Limits(ROBOT, Margins(soft=0.2)))


def test_a_motion_that_the_motors_cannot_give_is_refused() -> None:
    motion, points = motion_of((0.2, [0.3, 0.0]), (0.4, [0.0, 0.0]))
    check_motion(motion, points, Limits(ROBOT))
    with pytest.raises(Dropped, match=r"above the torque limit: shoulder before point 0 .* give it more time"):
        check_torques(motion, points, ROBOT, Limits(ROBOT))


def test_what_is_wrong_with_a_point_is_said_with_joint_and_point() -> None:
    for rows, words in (
        ([(1.0, [0.0, 0.0]), (2.0, [0.0, float("nan")])], "not finite: positions of elbow at point 1"),
        ([(1.0, [0.0, 0.0]), (2.0, [0.0])], "1 positions for 2 joints at point 1"),
        ([(1.0, [0.0, 0.0]), (1.0, [0.0, 0.0])], "times not increasing: point 1 is at 1 s"),
        ([(0.0, [0.0, 0.5]), (1.0, [0.0, 0.0])], "start not continuous: elbow is 0.5 away .* at point 0"),
    ):
        with pytest.raises(Dropped, match=words):
            motion_of(*rows)
