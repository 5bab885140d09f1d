"""One motion three ways: from the arm shell, from `dyn_core.simulate`, and recorded from the running system.

The shell and `dyn_core.simulate` agree to the last bit. The node is driven over DDS by a publisher that follows the
same schedule on its own clock, so a change of the voltage reaches the motors some periods late: with the voltages that
the motors saw, which the node publishes, the recorded motion is that of `dyn_core.simulate`; with the schedule's it is
the same but for that delay.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from dyn_robot.msg import MotorCommand
from running_arm import Arm
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from dyn_cli.client.recorder import Recorder
from dyn_cli.client.robot_client import SIMULATION
from dyn_cli.figures.recording import RESULT_ROWS
from dyn_cli.shell import COMMANDS, Session
from dyn_core import simulate
from dyn_nodes.common.stamps import NANOSECONDS, nanoseconds

pytestmark = pytest.mark.running

H = 1e-3
CHANGE, END = 0.3, 0.6
LATEST = 0.05
"""s, the delay of a change above which a run shows a busy machine and nothing else."""


def test_shell_python_and_ros_agree(arm: Arm, tmp_path: Path) -> None:
    robot = arm.robot
    codes = robot.dac_codes([[4.0, 6.0, -4.0, 2.0, 2.0, -2.0], [-3.0, 4.0, 5.0, -2.0, 1.0, 3.0]])
    volts = robot.dac_volts(codes)
    file = tmp_path / "volts.csv"
    rows = [[0.0, *volts[0]], [CHANGE, *volts[1]], [END, *volts[1]]]
    header = ",".join(["t", *(f"v_{name}" for name in robot.joint_names)])
    file.write_text("\n".join([header, *(",".join(map(repr, np.array(row).tolist())) for row in rows)]) + "\n")

    session = Session(COMMANDS, "puma560")
    session.execute(f"simulate rest schedule {file}")
    shell = session.recording().result
    table = np.repeat(volts, round(CHANGE / H), axis=0)
    python = simulate(robot, duration=END, volts=table)
    for name in RESULT_ROWS:
        np.testing.assert_array_equal(getattr(shell, name), getattr(python, name))

    for _ in range(5):
        steps, seen, q = driven(arm, codes)
        first, second = ((seen == row).all(axis=1) for row in volts)
        delay = H * max(abs(int(np.argmax(second)) - round(CHANGE / H)), 1)
        if (first | second).all() and second.any() and delay <= LATEST:
            break
    else:
        pytest.fail("the machine is too busy: the commands never followed their schedule")
    as_seen = simulate(robot, duration=H * len(seen), volts=seen)
    np.testing.assert_allclose(q, as_seen.q[steps], rtol=0.0, atol=1e-12)
    compared = steps <= round(END / H)
    speeding = np.ptp(shell.qdd, axis=0).max()
    difference = np.abs(q[compared] - shell.q[steps[compared]])
    assert difference[steps[compared] <= round(CHANGE / H)].max() < 1e-12 + speeding * delay**2
    assert difference.max() <= speeding * delay * (END - CHANGE + delay)
    assert np.ptp(q, axis=0).max() > 0.05


def driven(arm: Arm, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Drive the node by the codes, the second from CHANGE on, until after END.

    Returns, of the recorded states since the brakes were released, the numbers of their steps (m,), the voltages
    (steps, n) that the motors saw, and the positions (m, n).
    """
    client = arm.client
    if client.lifecycle_state() == "active":
        client.deactivate()
    states = arm.record(JointState, "joint_states")
    motors = arm.record(MotorCommand, f"{SIMULATION}/motors")
    assert client.wait(lambda: drained(motors) > 0, 10.0)
    assert client.call(Trigger, f"{SIMULATION}/reset", Trigger.Request()).success
    client.spin(0.2)
    publisher = client.node.create_publisher(MotorCommand, "motor_commands", 10)
    try:
        assert client.wait(lambda: publisher.get_subscription_count() > 0, 10.0)
        client.spin(0.5)
        states.clear()
        motors.clear()
        assert client.wait(lambda: drained(states) > 0 and drained(motors) > 0, 10.0)  # before the brakes are released
        names = list(arm.robot.joint_names)
        zeros = [0.0] * len(names)
        begin = time.monotonic()
        while (t := time.monotonic() - begin) < END + 0.1:
            chosen = codes[0 if t < CHANGE else 1].tolist()
            publisher.publish(
                MotorCommand(name=names, torque=zeros, voltage=zeros, dac_code=chosen, saturated=[False] * len(names))
            )
            time.sleep(0.002)
        client.spin(0.1)
        drained(states)
        drained(motors)
    finally:
        client.node.destroy_publisher(publisher)
    stamps = np.array([nanoseconds(message.header.stamp) for message in motors.messages])
    volts = np.array([message.voltage for message in motors.messages])
    first = int(np.argmax(volts.any(axis=1)))
    assert first > 0, "a state from before the release was recorded"
    ticks = np.rint((stamps - stamps[first - 1]) / (H * NANOSECONDS)).astype(int)
    last = int(np.searchsorted(ticks, round(END / H), side="right"))
    seen = np.repeat(volts[first:last], np.diff(ticks[first - 1 : last]), axis=0)
    at = {nanoseconds(message.header.stamp): message.position for message in states.messages}
    kept = [k for k in range(first, last) if int(stamps[k]) in at]
    return ticks[kept], seen, np.array([at[int(stamps[k])] for k in kept])


def drained(recorder: Recorder) -> int:
    recorder.drain()
    return len(recorder.messages)
