"""Recordings: CSV that reads back to the last bit, and MCAP that a reader of ROS 2 logs understands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory

from dyn_cli.figures.recording import MOTOR_COMMAND, RESULT_ROWS, Recording, all_joints, read_csv, write_recording
from dyn_core import DynError, load_robot, simulate

ROOT = Path(__file__).parents[3]
ARM = load_robot("planar_2r")


def messages(path: Path, topic: str) -> list[Any]:
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        return [decoded for _, _, _, decoded in reader.iter_decoded_messages(topics=[topic])]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording(ARM, simulate(ARM, [0.1, -0.2], duration=0.05, volts=[1.0, -200.0]), torque_driven=False)


def test_csv_reads_back_to_the_last_bit(recording: Recording, tmp_path: Path) -> None:
    write_recording(recording, tmp_path / "a.csv")
    back = read_csv(tmp_path / "a.csv", ARM)
    assert not back.torque_driven
    for name in RESULT_ROWS:
        np.testing.assert_array_equal(getattr(back.result, name), getattr(recording.result, name))


def test_csv_of_torques(tmp_path: Path) -> None:
    torques = Recording(ARM, simulate(ARM, duration=0.01, torques=[1.0, 0.0]), torque_driven=True)
    write_recording(torques, tmp_path / "a.csv")
    assert "voltage" not in (tmp_path / "a.csv").read_text()
    assert read_csv(tmp_path / "a.csv", ARM).torque_driven


def test_mcap_is_read_by_the_readers_library(recording: Recording, tmp_path: Path) -> None:
    write_recording(recording, tmp_path / "a.mcap")
    with (tmp_path / "a.mcap").open("rb") as file:
        reader = make_reader(file)
        assert reader.get_header().profile == "ros2"
        summary = reader.get_summary()
    assert summary is not None
    assert {schema.name for schema in summary.schemas.values()} == {
        "sensor_msgs/msg/JointState",
        "dyn_robot/msg/MotorCommand",
    }
    states, commands = (messages(tmp_path / "a.mcap", topic) for topic in ("/joint_states", "/motor_commands"))
    r = recording.result
    assert len(states) == len(commands) == len(r.t)
    np.testing.assert_array_equal([m.position for m in states], r.q)
    np.testing.assert_array_equal([m.velocity for m in states], r.qd)
    np.testing.assert_array_equal([m.effort for m in states], r.tau)
    np.testing.assert_allclose([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in states], r.t, atol=1e-9)
    assert states[0].name == list(ARM.joint_names)
    np.testing.assert_array_equal([m.voltage for m in commands], r.drive)
    np.testing.assert_array_equal([m.dac_code for m in commands], ARM.actuation.codes(r.drive)[0])
    assert [list(m.saturated) for m in commands] == [[False, True]] * len(r.t)


def test_the_schema_is_that_of_the_message() -> None:
    file = (ROOT / "msg" / "MotorCommand.msg").read_text()
    fields = [" ".join(line.partition("#")[0].split()) for line in file.splitlines()]
    assert [field for field in fields if field] == MOTOR_COMMAND.split("=" * 80)[0].strip().splitlines()


def test_closed_chains_show_all_their_joints(tmp_path: Path) -> None:
    robot = load_robot("four_bar_saha")
    result = simulate(robot, duration=0.01)
    q, qd = all_joints(robot, result.q, result.qd)
    np.testing.assert_allclose(q[-1], robot.closed(result.q[-1], result.qd[-1]).q, atol=1e-9)
    np.testing.assert_allclose(qd[-1], robot.closed(result.q[-1], result.qd[-1]).qd, atol=1e-9)
    write_recording(Recording(robot, result, torque_driven=False), tmp_path / "a.mcap")
    first = messages(tmp_path / "a.mcap", "/joint_states")[0]
    assert first.name == list(robot.mechanism.joint_names)
    np.testing.assert_allclose(first.position, q[0], atol=1e-9)


def test_one_after_the_other(recording: Recording) -> None:
    r = recording.result
    later = simulate(ARM, r.q[-1], r.qd[-1], duration=0.02, volts=[0.0, 0.0])
    both = recording.followed_by(Recording(ARM, later, torque_driven=False))
    assert len(both) == len(r.t) + len(later.t) - 1
    np.testing.assert_array_equal(both.result.q[-1], later.q[-1])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("t,q1\n0,0\n", "a.csv:1: found no column q_elbow"),
        ("t,q1,q2,qd1,qd2,qdd1,qdd2,tau1,tau2\n", "a.csv: has no rows"),
        ("t,q1,q2,qd1,qd2,qdd1,qdd2,tau1,tau2\n0,0,0,0,0,0,0,0,x\n", "a.csv:2: column tau2: found 'x'"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(DynError, match=re.escape(sentence)):
        read_csv(tmp_path / "a.csv", ARM)


def test_other_formats_are_refused(recording: Recording, tmp_path: Path) -> None:
    with pytest.raises(DynError, match=r"written as \.csv or \.mcap"):
        write_recording(recording, tmp_path / "a.bag")
    with pytest.raises(DynError, match="cannot be written"):
        write_recording(recording, tmp_path / "none" / "a.csv")
