"""A simulated motion as files: CSV, and MCAP that ROS 2 and its tools open.

CSV: `t` (s), and per joint `q_`, `qd_`, `qdd_`, `tau_` and, driven by motors, `voltage_<joint>`: the voltage held up to
that time. Numbers are written so that they read back to the last bit. MCAP: `joint_states`
(sensor_msgs/msg/JointState, all joints) and, with motors, `motor_commands` (dyn_robot/msg/MotorCommand).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core import Robot
from dyn_core.arrays import Floats
from dyn_core.errors import InputError, MissingLibraryError
from dyn_core.files import Key, joint_columns, read_time_table, whole_file
from dyn_core.simulation import SimulationResult

QUANTITIES = ("q", "qd", "qdd", "tau", "voltage")
LINES_AT_ONCE = 1000

_STAMP = "=" * 80 + "\nMSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
_HEADER = "=" * 80 + f"\nMSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id\n{_STAMP}"
JOINT_STATE = (
    "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n" + _HEADER
)
MOTOR_COMMAND = (
    "std_msgs/Header header\nstring[] name\nfloat64[] torque\nfloat64[] voltage\nint32[] dac_code\nbool[] saturated\n"
    + _HEADER
)


@dataclass(frozen=True)
class Recording:
    """What a robot did: the rows of a simulation."""

    robot: Robot
    result: SimulationResult
    torque_driven: bool

    def __len__(self) -> int:
        return len(self.result.t)

    def quantities(self) -> dict[str, Floats]:
        """(m, n) each, by the names of the CSV columns."""
        r = self.result
        found = {"q": r.q, "qd": r.qd, "qdd": r.qdd, "tau": r.tau}
        return found if self.torque_driven else found | {"voltage": r.drive}

    def followed_by(self, other: Recording) -> Recording:
        """This one and then the other, which begins where this one ended and says so in its first row."""
        a, b = self.result, other.result
        joined = {name: np.concatenate([getattr(a, name), getattr(b, name)[1:]]) for name in RESULT_ROWS}
        result = replace(
            a, **joined, failure=b.failure, singularity=b.singularity, step_error=b.step_error, warning=b.warning
        )
        return Recording(self.robot, result, self.torque_driven and other.torque_driven)


RESULT_ROWS = ("t", "q", "qd", "qdd", "tau", "drive")


def write_csv(recording: Recording, path: Path) -> None:
    """Write a recording as CSV."""
    with whole_file(path) as file:
        for line in csv_lines(recording):
            file.write(line.encode())


def csv_lines(recording: Recording) -> Iterator[str]:
    """The text of the CSV file, some lines at a time."""
    quantities = recording.quantities()
    names = [f"{name}_{joint}" for name in quantities for joint in recording.robot.joint_names]
    yield ",".join(["t", *names]) + "\n"
    columns = (recording.result.t[:, None], *quantities.values())
    for start in range(0, len(recording), LINES_AT_ONCE):
        rows = np.concatenate([column[start : start + LINES_AT_ONCE] for column in columns], axis=1)
        yield "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())


def read_csv(path: Path, robot: Robot) -> Recording:
    """Read back what `write_csv` wrote, for the same robot."""

    def places(place: str, header: list[str]) -> dict[Key, int]:
        found = joint_columns(place, header, robot.joint_names, {name: name for name in QUANTITIES})
        driven = any(quantity == "voltage" for quantity, _ in found)
        wanted = [(name, j) for name in QUANTITIES[: 5 if driven else 4] for j in range(robot.n)]
        lacking = [] if ("t", -1) in found else ["t"]
        lacking += [f"{name}_{robot.joint_names[j]}" for name, j in wanted if (name, j) not in found]
        if lacking:
            raise InputError(f"{place}: found no column {', '.join(lacking[:6])}{', ...' if len(lacking) > 6 else ''}")
        return found

    table = read_time_table(path, places)
    if len(table.t) == 0:
        raise InputError(f"{path}: has no rows")
    q, qd, qdd, tau = (table.required(name, robot.n) for name in QUANTITIES[:4])
    volts = table.quantity("voltage", robot.n)
    return Recording(robot, SimulationResult(table.t, q, qd, qdd, tau, tau if volts is None else volts), volts is None)


def all_joints(robot: Robot, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
    """(m, n of the mechanism) positions and speeds of all joints, passive and following ones too."""
    tracker = robot.tracker()
    rows = [tracker.all_joints(*row) for row in zip(q, qd, strict=True)]
    return np.array([position for position, _ in rows]), np.array([speed for _, speed in rows])


def write_mcap(recording: Recording, path: Path) -> None:
    """Write a recording as MCAP with ROS 2 messages; time 0 of the motion is time 0 of the log."""
    try:
        from mcap_ros2.writer import Writer
    except ImportError:
        raise MissingLibraryError(
            "writing MCAP needs a library that is not installed: pip install mcap-ros2-support"
        ) from None
    with whole_file(path) as file:
        writer = Writer(file)
        _write_messages(recording, writer)
        writer.finish()


def _write_messages(recording: Recording, writer: Any) -> None:
    first, last = recording.result.t[[0, -1]]
    if first < 0.0 or last >= 2.0**31:
        raise InputError(
            f"MCAP has times from 0 to 2^31 s, the recording has {first:g} to {last:g} s; write CSV instead"
        )
    times = np.rint(recording.result.t * 1e9).astype(np.int64).tolist()
    topics = [("/joint_states", "sensor_msgs/msg/JointState", JOINT_STATE, _joint_states(recording))]
    if not recording.torque_driven:
        topics.append(("/motor_commands", "dyn_robot/msg/MotorCommand", MOTOR_COMMAND, _motor_commands(recording)))
    schemas = [writer.register_msgdef(name, text) for _, name, text, _ in topics]
    for k, time in enumerate(times):
        header = {"stamp": {"sec": time // 10**9, "nanosec": time % 10**9}, "frame_id": ""}
        for (topic, _, _, messages), schema in zip(topics, schemas, strict=True):
            writer.write_message(topic, schema, {"header": header} | next(messages), time, time, k)


def _joint_states(recording: Recording) -> Iterator[dict[str, Any]]:
    robot, r = recording.robot, recording.result
    names = list(robot.mechanism.joint_names)
    position, velocity = all_joints(robot, r.q, r.qd)
    effort = np.zeros(position.shape)
    effort[:, robot.joints] = r.tau
    for rows in zip(position, velocity, effort, strict=True):
        yield dict(zip(("name", "position", "velocity", "effort"), (names, *(x.tolist() for x in rows)), strict=True))


def _motor_commands(recording: Recording) -> Iterator[dict[str, Any]]:
    robot, r = recording.robot, recording.result
    names = list(robot.joint_names)
    codes, out_of_range = robot.actuation.codes(r.drive)
    cut = out_of_range | robot.actuation.torques(r.drive, r.qd)[1]
    keys = ("name", "torque", "voltage", "dac_code", "saturated")
    for rows in zip(r.tau, r.drive, codes, cut, strict=True):
        yield dict(zip(keys, (names, *(x.tolist() for x in rows)), strict=True))


WRITERS = {".csv": write_csv, ".mcap": write_mcap}


def write_recording(recording: Recording, path: Path) -> None:
    """Write a recording in the format that the file's ending names: .csv or .mcap."""
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{path}: results are written as {' or '.join(WRITERS)}, found the ending '{path.suffix}'")
    WRITERS[path.suffix.lower()](recording, path)
