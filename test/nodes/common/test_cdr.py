"""Bytes of messages, read and written in place, beside rclpy's own serialisation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dyn_robot.msg import ControllerStatus, MotorCommand
from geometry_msgs.msg import PoseStamped, PoseWithCovariance
from hypothesis import given, settings
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.errors import InputError, RefusedError
from dyn_nodes.common.cdr import CdrLayout, CdrPublisher, JointStateReader, MotorCommandReader
from dyn_nodes.common.message_checks import JointOrder

NAMES = ["shoulder", "b", "elbow_joint"]
LOWEST, HIGHEST = np.zeros(3), np.full(3, 4095.0)
texts = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=9)
numbers = st.floats(allow_nan=False)


def command(**changed: object) -> MotorCommand:
    values: dict[str, object] = {"torque": [1.0, 2.0, 3.0], "voltage": [4.0, 5.0, 6.0], "dac_code": [7, 8, 9]}
    return MotorCommand(**{"name": NAMES, **values, "saturated": [False, True, False], **changed})


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, max_size=6), texts, st.data())
def test_numbers_lie_where_the_layout_says(names: list[str], frame: str, data: st.DataObject) -> None:
    rows = {key: data.draw(st.lists(numbers, max_size=6)) for key in ("position", "velocity", "effort")}
    message = JointState(name=names, **rows)
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = -5, 4_000_000_000
    layout, text = CdrLayout(message), serialize_message(message)
    assert layout.matches(text)
    for key, row in rows.items():
        assert layout.read(text, key).tolist() == row
    assert layout.read(text, "header.stamp.sec") == -5
    assert layout.read(text, "header.stamp.nanosec") == 4_000_000_000


def test_nested_messages_and_flags_have_a_layout() -> None:
    state = JointTrajectory(joint_names=NAMES, points=[JointTrajectoryPoint(positions=[1.0, 2.0])] * 2)
    for message in (state, PoseStamped(), ControllerStatus(state="active", warnings=["hot"], pace=0.5), command()):
        assert CdrLayout(message).matches(serialize_message(message)), type(message)


@pytest.mark.parametrize(
    "other",
    [
        command(name=["shoulder", "c", "elbow_joint"]),
        command(name=NAMES[::-1]),
        command(torque=[1.0, 2.0]),
        command(dac_code=[1, 2, 3, 4]),
    ],
)
def test_other_names_and_sizes_do_not_match(other: MotorCommand) -> None:
    layout, text = CdrLayout(command()), serialize_message(other)
    assert not layout.matches(text)
    assert not layout.matches(serialize_message(command())[: layout.size - 1])
    assert not layout.matches(b"")


def _refuse(*_: object) -> None:
    raise InputError("no layout")


class Sent:
    """Keeps what is published."""

    def __init__(self) -> None:
        self.messages: list[Any] = []

    def publish(self, message: Any) -> None:
        self.messages.append(message)


@pytest.mark.parametrize("wrong", [{"matches": lambda self, data: False}, {"_walk": _refuse}])
def test_a_message_that_is_sent_in_another_way_is_published_itself(
    monkeypatch: pytest.MonkeyPatch, wrong: dict[str, Any]
) -> None:
    for name, function in wrong.items():
        monkeypatch.setattr(CdrLayout, name, function)
    sent = Sent()
    outgoing = CdrPublisher(sent, command())  # type: ignore[arg-type]
    outgoing.view("torque")[:] = [0.1, -np.inf, 3e300]
    outgoing.view("dac_code")[:] = [-1, 2**31 - 1, 0]
    outgoing.view("saturated")[:] = [True, False, True]
    outgoing.publish(1_700_000_000_123_456_789)
    (message,) = sent.messages
    assert message == deserialize_message(serialize_message(message), MotorCommand)
    assert message.torque.tolist() == [0.1, -np.inf, 3e300]
    assert message.voltage.tolist() == [4.0, 5.0, 6.0]
    assert message.dac_code.tolist() == [-1, 2**31 - 1, 0]
    assert message.saturated == [True, False, True]
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1_700_000_000, 123_456_789)
    state = JointTrajectory(joint_names=["b"], points=[JointTrajectoryPoint(positions=[1.0])] * 2)
    outgoing = CdrPublisher(sent, state)  # type: ignore[arg-type]
    outgoing.view("points.1.positions")[:] = 2.5
    outgoing.view("points.1.time_from_start.sec")[:] = 3
    outgoing.publish(5)
    last = sent.messages[-1].points[1]
    assert (last.positions.tolist(), last.time_from_start.sec) == ([2.5], 3)


def test_what_is_written_is_what_others_read() -> None:
    sent = Sent()
    outgoing = CdrPublisher(sent, command())  # type: ignore[arg-type]
    outgoing.view("torque")[:] = [0.1, -np.inf, 3e300]
    outgoing.view("dac_code")[:] = [-1, 2**31 - 1, 0]
    outgoing.view("saturated")[:] = [True, False, True]
    outgoing.publish(1_700_000_000_123_456_789)
    outgoing.view("torque")[:] = 0.0
    outgoing.publish()
    first, second = (deserialize_message(data, MotorCommand) for data in sent.messages)
    assert first.name == NAMES
    assert first.torque.tolist() == [0.1, -np.inf, 3e300]
    assert first.voltage.tolist() == [4.0, 5.0, 6.0]
    assert first.dac_code.tolist() == [-1, 2**31 - 1, 0]
    assert first.saturated == [True, False, True]
    assert (first.header.stamp.sec, first.header.stamp.nanosec) == (1_700_000_000, 123_456_789)
    assert second.header.stamp == first.header.stamp
    assert second.torque.tolist() == [0.0, 0.0, 0.0]
    assert all(outgoing.view(field).flags.aligned for field in ("torque", "voltage", "dac_code"))


def test_joint_states_in_any_order_and_with_passive_joints() -> None:
    reader = JointStateReader(JointOrder(NAMES, ["free"]))
    for names, places in ((NAMES, [0, 1, 2]), (["elbow_joint", "free", "shoulder", "b"], [2, 3, 0])):
        for k in range(3):  # the first is read whole, the others by its layout
            values = np.arange(float(len(names))) + k
            message = JointState(name=names, position=values.tolist(), velocity=(-values).tolist())
            message.header.stamp.sec, message.header.stamp.nanosec = 3, k
            stamp, q, qd = reader.read(serialize_message(message))
            assert stamp == 3_000_000_000 + k
            order = [names.index(name) for name in NAMES]
            assert q.tolist() == values[order].tolist()
            assert qd.tolist() == (-values[order]).tolist()
            assert q.flags.aligned
            assert q.flags.writeable
        assert len(places) == 3


def test_bad_messages_are_dropped_before_and_after_good_ones() -> None:
    states = JointStateReader(JointOrder(NAMES))
    commands = MotorCommandReader(JointOrder(NAMES), LOWEST, HIGHEST)
    good = JointState(name=NAMES, position=[0.0] * 3, velocity=[0.0] * 3)
    for _ in range(2):
        for bad, reason in (
            (JointState(name=NAMES, position=[0.0, np.nan, 0.0], velocity=[0.0] * 3), "not finite"),
            (JointState(name=NAMES, position=[0.0] * 3, velocity=[0.0, 0.0, np.inf]), "not finite"),
            (JointState(name=NAMES, position=[0.0] * 2, velocity=[0.0] * 3), "wrong size"),
            (JointState(name=["x", *NAMES[1:]], position=[0.0] * 3, velocity=[0.0] * 3), "unknown joints"),
        ):
            with pytest.raises(RefusedError) as refused:
                states.read(serialize_message(bad))
            assert refused.value.reason == reason
        for wrong, reason in (
            (command(dac_code=[0, 5000, 0]), "code out of range"),
            (command(dac_code=[0, -1, 0]), "code out of range"),
            (command(voltage=[0.0, np.nan, 0.0]), "not finite"),
            (command(name=NAMES[:2]), "missing joints"),
        ):
            with pytest.raises(RefusedError) as refused:
                commands.read(serialize_message(wrong))
            assert refused.value.reason == reason
        assert states.read(serialize_message(good))[1].tolist() == [0.0] * 3
        assert commands.read(serialize_message(command()))[1].tolist() == [7.0, 8.0, 9.0]


def test_commands_in_another_order() -> None:
    reader = MotorCommandReader(JointOrder(NAMES), LOWEST, HIGHEST)
    for k in range(2):
        turned = command(name=NAMES[::-1], dac_code=[1 + k, 2, 3])
        assert reader.read(serialize_message(turned))[1].tolist() == [3.0, 2.0, 1.0 + k]


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 150), st.booleans())
def test_any_bytes_are_read_or_dropped(noise: bytes, at: int, known: bool) -> None:
    reader = MotorCommandReader(JointOrder(NAMES), LOWEST, HIGHEST)
    text = serialize_message(command())
    if known:
        reader.read(text)
    try:
        _, codes = reader.read(text[:at] + noise + text[at + len(noise) :])
    except RefusedError:
        return
    assert ((codes >= LOWEST) & (codes <= HIGHEST)).all()


def test_messages_of_other_types_are_refused() -> None:
    with pytest.raises(InputError, match="not read from their bytes"):
        CdrLayout(PoseWithCovariance())
