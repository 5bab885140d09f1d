"""Checks of what comes from outside, without a running system."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from dyn_robot.msg import MotorCommand
from geometry_msgs.msg import WrenchStamped
from hypothesis import given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core import load_robot
from nodes.messages import (
    MAX_POINTS,
    DropCounter,
    Dropped,
    JointOrder,
    TrajectoryPoints,
    code_limits,
    joint_state,
    motor_codes,
    wrench,
)

JOINTS = JointOrder(("a", "b"))
FREE = np.array([[-np.inf, np.inf]] * 2)


def test_joint_states_are_brought_into_order() -> None:
    q, qd = joint_state(JointState(name=["b", "a"], position=[2.0, 1.0], velocity=[4.0, 3.0]), JOINTS)
    assert q.tolist() == [1.0, 2.0]
    assert qd.tolist() == [3.0, 4.0]


@pytest.mark.parametrize(
    ("names", "position", "reason"),
    [
        (["a", "c"], [0.0, 0.0], "unknown joints"),
        (["a"], [0.0], "missing joints"),
        (["a", "a"], [0.0, 0.0], "repeated joints"),
        (["a", "b", "a"], [0.0, 0.0, 0.0], "repeated joints"),
        ([], [], "missing joints"),
        (["a", "b"], [0.0], "wrong size"),
        (["a", "b"], [0.0, float("nan")], "not finite"),
        (["b", "a"], [0.0, float("-inf")], "not finite"),
    ],
)
def test_bad_joint_states_are_dropped(names: list[str], position: list[float], reason: str) -> None:
    with pytest.raises(Dropped) as dropped:
        joint_state(JointState(name=names, position=position, velocity=[0.0] * len(position)), JOINTS)
    assert dropped.value.reason == reason


def test_joint_states_may_have_passive_joints_which_are_left_out() -> None:
    joints = JointOrder(("a", "b"), ("p", "r"))
    for names in (["p", "b", "r", "a"], ["p", "b", "r", "a"], ["b", "a"], ["a", "p", "b"], ["a", "b"]):
        values = [float("abpr".index(name)) for name in names]
        values = [float("nan") if name == "r" else x for name, x in zip(names, values, strict=True)]
        q, qd = joint_state(JointState(name=names, position=values, velocity=values), joints)
        assert q.tolist() == qd.tolist() == [0.0, 1.0]
    for names, reason in ((["p", "a"], "missing joints"), (["p", "x", "a", "b"], "unknown joints")):
        with pytest.raises(Dropped) as dropped:
            joint_state(JointState(name=names, position=[0.0] * len(names), velocity=[0.0] * len(names)), joints)
        assert dropped.value.reason == reason
    with pytest.raises(Dropped, match="2 positions for 3 joints"):
        joint_state(JointState(name=["p", "a", "b"], position=[0.0] * 2, velocity=[0.0] * 3), joints)
    with pytest.raises(Dropped, match="unknown joints"):
        TrajectoryPoints(JointTrajectory(joint_names=["a", "b", "p"], points=[JointTrajectoryPoint()]), joints, FREE)


def test_motor_codes_follow_the_names() -> None:
    lowest, highest = np.zeros(2), np.array([7.0, 3.0])
    command = MotorCommand(name=["b", "a"], torque=[0.0] * 2, voltage=[0.0] * 2, dac_code=[3, 7])
    assert motor_codes(command, JOINTS, lowest, highest).tolist() == [7.0, 3.0]
    command.dac_code = [7, 3]
    with pytest.raises(Dropped, match="code out of range"):
        motor_codes(command, JOINTS, lowest, highest)


def test_code_limits_are_those_of_the_dac() -> None:
    robot = load_robot("puma560")
    lowest, highest = code_limits(robot)
    robot.dac_volts(lowest)
    robot.dac_volts(highest)
    motors = robot.mechanism.motors
    assert motors is not None
    assert (highest == 2.0**motors.dac_bits - 1).all()


def test_a_wrench_must_be_finite() -> None:
    message = WrenchStamped()
    message.wrench.force.x, message.wrench.torque.z = 1.0, 6.0
    assert wrench(message).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 6.0]
    message.wrench.force.y = float("nan")
    with pytest.raises(Dropped, match="not finite"):
        wrench(message)


def points(*rows: tuple[float, list[float], list[float]]) -> JointTrajectory:
    message = JointTrajectory(joint_names=["b", "a"])
    for time, positions, velocities in rows:
        point = JointTrajectoryPoint(positions=positions, velocities=velocities)
        point.time_from_start.sec, point.time_from_start.nanosec = int(time), round(time % 1 * 1e9)
        message.points.append(point)
    return message


def test_trajectory_points_are_brought_into_order() -> None:
    checked = TrajectoryPoints(points((0.5, [2.0, 1.0], [0.2, 0.1]), (1.0, [4.0, 3.0], [0.0, 0.0])), JOINTS, FREE)
    assert checked.times.tolist() == [0.5, 1.0]
    assert checked.positions.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert checked.velocities is not None
    assert checked.velocities.tolist() == [[0.1, 0.2], [0.0, 0.0]]
    assert checked.accelerations is None


def test_velocities_in_some_points_only_are_dropped() -> None:
    with pytest.raises(Dropped, match="some points have velocities"):
        TrajectoryPoints(points((0.5, [0.0] * 2, [0.0] * 2), (1.0, [0.0] * 2, [])), JOINTS, FREE)


def test_a_negative_time_and_too_many_points_are_dropped() -> None:
    message = points((1.0, [0.0] * 2, []))
    message.points[0].time_from_start.sec = -1
    with pytest.raises(Dropped, match="times not increasing"):
        TrajectoryPoints(message, JOINTS, FREE)
    message.points = [message.points[0]] * (MAX_POINTS + 1)
    with pytest.raises(Dropped, match="too many points"):
        TrajectoryPoints(message, JOINTS, FREE)


def test_drops_are_counted_by_topic_and_reason() -> None:
    drops = DropCounter()
    drops.add("here", Dropped("wrong size", "3 for 2"))
    drops.add("here", Dropped("wrong size"))
    drops.add("there", Dropped("not finite"))
    assert drops.counts == {"here: wrong size": 2, "there: not finite": 1}
    assert drops.total == 3
    assert drops.last == "there: not finite"


NAMES = st.lists(st.sampled_from(("a", "b", "p", "", "a ", "x" * 1000, "\n")) | st.text("abc", max_size=2), max_size=4)
LISTS = st.lists(st.floats(), max_size=4) | st.just([0.0, 0.0])
randomly = settings(max_examples=200, deadline=None, derandomize=True, database=None)


def accepted(check: Callable[[], object]) -> bool:
    """Whether a check lets a message pass; if not, it says why in a few words."""
    said = ""
    try:
        check()
    except Dropped as dropped:
        said = str(dropped)
    assert said.isprintable()
    assert len(said) < 300
    return not said


@randomly
@given(names=NAMES | st.just(["b", "a"]), position=LISTS, velocity=LISTS, passive=st.booleans())
def test_any_joint_state_is_finite_or_dropped(
    names: list[str], position: list[float], velocity: list[float], passive: bool
) -> None:
    joints = JointOrder(("a", "b"), ("p",)) if passive else JointOrder(("a", "b"))
    message = JointState(name=names, position=position, velocity=velocity)
    if accepted(lambda: joint_state(message, joints)):
        assert {"a", "b"} <= set(names)
        for array in joint_state(message, joints):
            assert array.shape == (2,)
            assert np.isfinite(array).all()


@randomly
@given(
    names=NAMES | st.just(["b", "a"]),
    torque=LISTS,
    voltage=LISTS,
    codes=st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(0, 4095), max_size=3),
)
def test_any_motor_command_is_within_limits_or_dropped(
    names: list[str], torque: list[float], voltage: list[float], codes: list[int]
) -> None:
    low, high = np.zeros(2), np.full(2, 4095.0)
    message = MotorCommand(name=names, torque=torque, voltage=voltage, dac_code=codes)
    if accepted(lambda: motor_codes(message, JOINTS, low, high)):
        found = motor_codes(message, JOINTS, low, high)
        assert sorted(found) == sorted(codes)
        assert ((low <= found) & (found <= high)).all()


@randomly
@given(values=st.lists(st.floats(), min_size=6, max_size=6))
def test_any_wrench_is_finite_or_dropped(values: list[float]) -> None:
    message = WrenchStamped()
    force, torque = message.wrench.force, message.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = values
    assert accepted(lambda: wrench(message)) == bool(np.isfinite(values).all())


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
    if accepted(lambda: TrajectoryPoints(message, JOINTS, limits)):
        found = TrajectoryPoints(message, JOINTS, limits)
        assert (np.diff([0.0, *found.times]) >= 0.0).all()
        assert (np.abs(found.positions) <= 1.0 + 1e-9).all()
        for table in (found.velocities, found.accelerations):
            assert table is None or np.isfinite(table).all()
