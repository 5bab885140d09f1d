"""Points of trajectory messages are checked, and brought into the robot's joint order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from hypothesis import given
from hypothesis import strategies as st
from random_messages import LISTS, NAMES, accepted, randomly
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.control.motion_plan import joined
from dyn_core.errors import RefusedError
from dyn_nodes.common.message_checks import JointOrder
from dyn_nodes.computed_torque_controller.trajectory_message import MAX_POINTS, waypoints

JOINTS = JointOrder(("a", "b"))
FREE = np.array([[-np.inf, np.inf]] * 2)
STANDING = (np.zeros(2), np.zeros(2), np.zeros(2))


def points(*rows: tuple[float, list[float], list[float]], names: Sequence[str] = ("b", "a")) -> JointTrajectory:
    message = JointTrajectory(joint_names=list(names))
    for time, positions, velocities in rows:
        point = JointTrajectoryPoint(positions=positions, velocities=velocities)
        point.time_from_start.sec, point.time_from_start.nanosec = int(time), round(time % 1 * 1e9)
        message.points.append(point)
    return message


def test_trajectory_points_are_brought_into_order() -> None:
    checked = waypoints(points((0.5, [2.0, 1.0], [0.2, 0.1]), (1.0, [4.0, 3.0], [0.0, 0.0])), JOINTS, FREE)
    assert checked.times.tolist() == [0.5, 1.0]
    assert checked.positions.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert checked.velocities is not None
    assert checked.velocities.tolist() == [[0.1, 0.2], [0.0, 0.0]]
    assert checked.accelerations is None


def test_velocities_in_some_points_only_are_dropped() -> None:
    with pytest.raises(RefusedError, match="some points have velocities"):
        waypoints(points((0.5, [0.0] * 2, [0.0] * 2), (1.0, [0.0] * 2, [])), JOINTS, FREE)


def test_a_negative_time_and_too_many_points_are_dropped() -> None:
    message = points((1.0, [0.0] * 2, []))
    message.points[0].time_from_start.sec = -1
    with pytest.raises(RefusedError, match="times not increasing"):
        waypoints(message, JOINTS, FREE)
    message.points = [message.points[0]] * (MAX_POINTS + 1)
    with pytest.raises(RefusedError, match="too many points"):
        waypoints(message, JOINTS, FREE)


def test_passive_joints_have_no_place_in_a_trajectory() -> None:
    message = JointTrajectory(joint_names=["a", "b", "p"], points=[JointTrajectoryPoint()])
    with pytest.raises(RefusedError, match="unknown joints"):
        waypoints(message, JointOrder(("a", "b"), ("p", "r")), FREE)


def test_what_is_wrong_with_a_point_is_said_with_joint_and_point() -> None:
    names = ["shoulder", "elbow"]
    for rows, words in (
        ([(1.0, [0.0, 0.0], []), (2.0, [0.0, float("nan")], [])], "not finite: positions of elbow at point 1"),
        ([(1.0, [0.0, 0.0], []), (2.0, [0.0], [])], "1 positions for 2 joints at point 1"),
        ([(1.0, [0.0, 0.0], []), (1.0, [0.0, 0.0], [])], "times not increasing: point 1 is at 1 s"),
        ([(0.0, [0.0, 0.5], []), (1.0, [0.0, 0.0], [])], "start not continuous: elbow is 0.5 away .* at point 0"),
    ):
        with pytest.raises(RefusedError, match=words):
            joined(waypoints(points(*rows, names=names), JointOrder(names), FREE), STANDING, 0.01, names)


POINT = st.builds(
    lambda sec, nanosec, positions, velocities, accelerations: JointTrajectoryPoint(
        positions=positions,
        velocities=velocities,
        accelerations=accelerations,
        time_from_start=Duration(sec=sec, nanosec=nanosec),
    ),
    st.integers(-(2**31), 2**31 - 1) | st.integers(0, 5),
    st.integers(0, 2**32 - 1),
    st.lists(st.floats(), max_size=3) | st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=2),
    LISTS | st.just([]),
    LISTS | st.just([]),
)


@randomly
@given(names=NAMES | st.just(["a", "b"]), points=st.lists(POINT, max_size=4))
def test_any_trajectory_is_sound_or_dropped(names: list[str], points: list[JointTrajectoryPoint]) -> None:
    limits = np.array([[-1.0, 1.0]] * 2)
    message = JointTrajectory(joint_names=names, points=points)
    if accepted(lambda: waypoints(message, JOINTS, limits)):
        found = waypoints(message, JOINTS, limits)
        assert (np.diff([0.0, *found.times]) >= 0.0).all()
        assert (np.abs(found.positions) <= 1.0 + 1e-9).all()
        for table in (found.velocities, found.accelerations):
            assert table is None or np.isfinite(table).all()
