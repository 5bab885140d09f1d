"""Checks of what comes from outside, without a running system."""

from __future__ import annotations

import numpy as np
import pytest
from dyn_robot.msg import MotorCommand
from geometry_msgs.msg import WrenchStamped
from hypothesis import given
from hypothesis import strategies as st
from random_messages import LISTS, NAMES, accepted, randomly
from sensor_msgs.msg import JointState

from dyn_core.errors import RefusedError
from dyn_nodes.common.message_checks import (
    DropCounter,
    JointOrder,
    joint_state,
    motor_codes,
    wrench,
)

JOINTS = JointOrder(("a", "b"))


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
    with pytest.raises(RefusedError) as refused:
        joint_state(JointState(name=names, position=position, velocity=[0.0] * len(position)), JOINTS)
    assert refused.value.reason == reason


def test_joint_states_may_have_passive_joints_which_are_left_out() -> None:
    joints = JointOrder(("a", "b"), ("p", "r"))
    for names in (["p", "b", "r", "a"], ["p", "b", "r", "a"], ["b", "a"], ["a", "p", "b"], ["a", "b"]):
        values = [float("abpr".index(name)) for name in names]
        values = [float("nan") if name == "r" else x for name, x in zip(names, values, strict=True)]
        q, qd = joint_state(JointState(name=names, position=values, velocity=values), joints)
        assert q.tolist() == qd.tolist() == [0.0, 1.0]
    for names, reason in ((["p", "a"], "missing joints"), (["p", "x", "a", "b"], "unknown joints")):
        with pytest.raises(RefusedError) as refused:
            joint_state(JointState(name=names, position=[0.0] * len(names), velocity=[0.0] * len(names)), joints)
        assert refused.value.reason == reason
    with pytest.raises(RefusedError, match="2 positions for 3 joints"):
        joint_state(JointState(name=["p", "a", "b"], position=[0.0] * 2, velocity=[0.0] * 3), joints)


def test_motor_codes_follow_the_names() -> None:
    lowest, highest = np.zeros(2), np.array([7.0, 3.0])
    command = MotorCommand(name=["b", "a"], torque=[0.0] * 2, voltage=[0.0] * 2, dac_code=[3, 7])
    assert motor_codes(command, JOINTS, lowest, highest).tolist() == [7.0, 3.0]
    command.dac_code = [7, 3]
    with pytest.raises(RefusedError, match="code out of range"):
        motor_codes(command, JOINTS, lowest, highest)


def test_a_wrench_must_be_finite() -> None:
    message = WrenchStamped()
    message.wrench.force.x, message.wrench.torque.z = 1.0, 6.0
    assert wrench(message).tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 6.0]
    message.wrench.force.y = float("nan")
    with pytest.raises(RefusedError, match="not finite"):
        wrench(message)


def test_drops_are_counted_by_topic_and_reason() -> None:
    drops = DropCounter()
    drops.add("here", RefusedError("wrong size", "3 for 2"))
    drops.add("here", RefusedError("wrong size"))
    drops.add("there", RefusedError("not finite"))
    assert drops.counts == {"here: wrong size": 2, "there: not finite": 1}
    assert drops.total == 3
    assert drops.last == "there: not finite"


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
