"""The bridge as a process over real DDS, onto a folder that behaves like sysfs: with the arm, and alone."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dyn_robot.msg import MotorCommand
from iio_folder import DAC_FILE, IioFolder
from lifecycle_msgs.msg import Transition
from std_srvs.srv import Trigger

from dyn_cli.client.robot_client import CONTROLLER, RobotClient
from dyn_cli.commands.hardware.security_findings import uncovered
from dyn_cli.supervision.running import running
from dyn_cli.supervision.supervisor import Supervisor
from dyn_core import load_robot
from dyn_core.actuation.dac_file import read_dac_file
from dyn_nodes.bringup.systems import NodeSpec, System, system
from dyn_nodes.dac_bridge.output_file import OutputBusyError
from dyn_nodes.dac_bridge.outputs import Outputs

pytestmark = pytest.mark.running

BRIDGE = "dac_bridge"
ROBOT = load_robot("planar_2r")
MARGIN = 1.0
"""Seconds that a busy machine may take on top of a stated time."""


@dataclass
class Bridged:
    """A running bridge, its folder and a client."""

    iio: IioFolder
    supervisor: Supervisor
    client: RobotClient
    output: list[str]
    publisher: Any = None
    manager: Any = None
    """What stands for systemd."""

    @property
    def pid(self) -> int:
        return self.supervisor.pids[BRIDGE]

    def said(self, text: str) -> bool:
        return any(text in line for line in self.output)

    def diagnostics(self) -> dict[str, str]:
        return self.client.diagnostics(BRIDGE)

    def clear_fault(self) -> Any:
        return self.client.call(Trigger, f"{BRIDGE}/clear_fault", Trigger.Request())

    def send(self, codes: tuple[int, int], **changes: Any) -> None:
        """Publish one command."""
        if self.publisher is None:
            self.publisher = self.client.node.create_publisher(MotorCommand, "motor_commands", 10)
            assert self.client.wait(lambda: self.publisher.get_subscription_count() > 0, 10.0)
        message = MotorCommand(
            name=list(ROBOT.joint_names),
            torque=[0.0, 0.0],
            voltage=ROBOT.dac_volts(codes).tolist(),
            dac_code=list(codes),
            saturated=[False, False],
        )
        message.header.stamp = self.client.node.get_clock().now().to_msg()
        for key, value in changes.items():
            setattr(message, key, value)
        self.publisher.publish(message)

    def drive(self, codes: tuple[int, int], until: Callable[[], bool], seconds: float = 10.0) -> None:
        """Publish commands at 100 Hz until something has come about."""
        end = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < end, f"{self.iio.raws()}\n" + "\n".join(self.output[-10:])
            self.send(codes)
            self.client.spin(0.01)


def bridge_alone(folder: Path, namespace: str, **parameters: Any) -> System:
    given = {"robot": "planar_2r", "dac": str(folder / "dac.yaml"), "iio_root": str(folder), **parameters}
    return System("control", (NodeSpec(BRIDGE, given, lifecycle=True),), namespace)


@pytest.fixture(scope="module")
def arm_and_bridge(domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridged]:
    iio = IioFolder(tmp_path_factory.mktemp("iio"))
    overrides = iio.root / "nodes.yaml"
    overrides.write_text(f"/**/{BRIDGE}:\n  ros__parameters:\n    iio_root: {iio.root}\n    command_timeout: 0.2\n"
                         "    guardian_timeout: 0.3\n")  # fmt: skip
    output: list[str] = []
    given = {"robot": "planar_2r", "namespace": "bridged", "dac": str(iio.dac), "params_file": str(overrides)}
    given["enclaves"] = "/dyn_robot"
    with running(system("sim", given), quiet=output) as (supervisor, client):
        yield Bridged(iio, supervisor, client, output)
    print(*output, sep="\n")
    assert iio.safe(), "the safe codes are left behind"


@pytest.fixture
def arm(arm_and_bridge: Bridged) -> Bridged:
    arm = arm_and_bridge
    arm.client.activate(CONTROLLER, 60.0)
    assert arm.client.wait(lambda: arm.iio.enable.read_text() == "1\n", 20.0), "\n".join(arm.output[-10:])
    return arm


@pytest.fixture(scope="module")
def bridge(domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bridged]:
    """A bridge without an arm, which starts by itself and obeys the test; the last test kills it."""
    iio = IioFolder(tmp_path_factory.mktemp("iio"))
    output: list[str] = []
    times = {"command_timeout": 0.2, "guardian_timeout": 0.3}  # for a busy machine
    planned = bridge_alone(iio.root, "alone", publisher="", autostart=True, **times)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(iio.root / "notify"))
        env = {"NOTIFY_SOCKET": str(iio.root / "notify"), "WATCHDOG_USEC": "400000"}
        with Supervisor(planned, env, output.append) as supervisor, RobotClient("alone") as client:
            iio.wait_safe(60.0)
            assert client.wait(lambda: any("waiting for motor commands" in line for line in output), 60.0), output
            yield Bridged(iio, supervisor, client, output, manager=manager)
    print(*output, sep="\n")


def test_a_bridge_that_cannot_start_by_itself_says_why_and_ends(domain: int) -> None:
    given = ["--ros-args", "-p", "robot:=planar_2r", "-p", "autostart:=true"]
    command = [sys.executable, "-m", "dyn_nodes.executables", BRIDGE, *given]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 2, ended.stderr
    assert "cannot configure: parameter dac: give the path of a DAC file" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_converters_follow_the_controller(arm: Bridged) -> None:
    arm.client.send_trajectory(list(ROBOT.joint_names), np.array([1.0]), np.array([[0.4, -0.3]]))
    arm.client.spin(2.0)
    codes = arm.client._next(MotorCommand, "motor_commands", "command", 5.0).dac_code
    shoulder, elbow = map(int, arm.iio.raws())
    assert abs(shoulder - codes[0]) <= 3
    assert abs(4096 - elbow - codes[1]) <= 3, "the elbow is inverted"
    assert abs(shoulder - 2048) > 50, "the arm is held against gravity"
    found = arm.diagnostics()
    assert found["level"] == "0", found["message"]
    assert found["obeyed"] == f"/bridged/{CONTROLLER}"
    assert found["fault"] == ""
    assert uncovered(arm.client.node, "bridged") == [], "the security policy allows what the bridge does"


def test_a_stranger_is_not_obeyed_and_is_named(arm: Bridged) -> None:
    before = int(arm.diagnostics()["commands of others"])
    seen = set()
    arm.send((3900, 3900), voltage=[0.0, 0.0])
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        arm.send((3900, 3900), voltage=[0.0, 0.0])
        arm.client.spin(0.002)
        seen |= {int(raw) for raw in arm.iio.raws() if raw}
    found = arm.diagnostics()
    arm.client.node.destroy_publisher(arm.publisher)
    arm.publisher = None
    assert not seen & {3900, 196}
    assert int(found["commands of others"]) > before + 100
    assert found["not obeyed"] == "/bridged/dyn_client"
    assert found["level"] == "1"
    assert arm.said("/bridged/dyn_client publishes motor_commands too, and is not obeyed")
    assert arm.client.wait(lambda: arm.diagnostics()["not obeyed"] == "", 20.0)


def test_a_silent_controller_means_safe_codes_until_it_speaks(arm: Bridged) -> None:
    before = int(arm.diagnostics()["command timeouts"])
    controller = arm.supervisor.pids[CONTROLLER]
    os.kill(controller, signal.SIGSTOP)
    try:
        arm.iio.wait_safe(0.2 + MARGIN)
        assert int(arm.diagnostics()["command timeouts"]) > before
    finally:
        os.kill(controller, signal.SIGCONT)
    arm.client.spin(0.3)
    arm.client.call(Trigger, f"{CONTROLLER}/clear_fault", Trigger.Request())
    assert arm.client.wait(lambda: not arm.iio.safe(), 10.0), "\n".join(arm.output[-10:])


def test_a_device_that_disappears_is_a_fault_until_it_is_back(arm: Bridged) -> None:
    arm.iio.shoulder.unlink()
    assert arm.client.wait(lambda: "not there any more" in arm.diagnostics()["fault"], 10.0)
    assert arm.iio.elbow.read_text() == "2048\n"
    assert arm.iio.enable.read_text() == "0\n"
    answer = arm.clear_fault()
    assert not answer.success
    assert "no output channel 0" in answer.message
    arm.client.deactivate(BRIDGE)
    assert not arm.client.change_state(Transition.TRANSITION_ACTIVATE, BRIDGE), "nor does activating help"
    arm.iio.shoulder.write_text("0\n")
    arm.client.activate(BRIDGE)
    assert arm.client.wait(lambda: arm.iio.enable.read_text() == "1\n", 10.0), "it drives again"
    arm.iio.shoulder.unlink()
    assert arm.client.wait(lambda: "not there any more" in arm.diagnostics()["fault"], 10.0)
    arm.iio.shoulder.write_text("0\n")
    answer = arm.clear_fault()
    assert answer.success, answer.message
    assert arm.client.wait(lambda: arm.iio.enable.read_text() == "1\n", 10.0), "it drives again"
    assert arm.diagnostics()["fault"] == ""


def test_lifecycle_transitions_leave_safe_codes(arm: Bridged) -> None:
    client = arm.client
    client.deactivate(BRIDGE)
    assert arm.iio.safe()
    client.spin(0.3)
    assert arm.iio.safe(), "an inactive bridge does not write"
    arm.iio.shoulder.write_text("1234\n")
    assert not client.change_state(Transition.TRANSITION_DEACTIVATE, BRIDGE)
    assert client.change_state(Transition.TRANSITION_CLEANUP, BRIDGE)
    assert arm.iio.safe()
    arm.iio.enable.rename(arm.iio.root / "away")
    assert not client.change_state(Transition.TRANSITION_CONFIGURE, BRIDGE), "no enable output, no configuration"
    assert client.wait(lambda: arm.said("the enable output is not there"), 10.0)
    (arm.iio.root / "away").rename(arm.iio.enable)
    client.activate(BRIDGE, 20.0)
    assert client.wait(lambda: arm.iio.enable.read_text() == "1\n", 10.0)


def test_systemd_hears_that_the_bridge_is_ready_and_lives(bridge: Bridged) -> None:
    heard: list[str] = []
    bridge.manager.settimeout(20.0)
    end = time.monotonic() + 20.0
    while heard.count("WATCHDOG=1") < 5 or not any(text.startswith("STATUS=active") for text in heard):
        assert time.monotonic() < end, heard
        heard.append(bridge.manager.recv(1000).decode())
    assert "READY=1" in heard


def test_what_is_wrong_with_a_command_is_a_fault_that_can_be_cleared(bridge: Bridged) -> None:
    nan = float("nan")
    for change, sentence in {
        "dac_code": ([5000, 2048], "code out of range"),
        "voltage": ([nan, 0.0], "not finite"),
        "name": (["shoulder", "wrist"], "unknown joints"),
        "torque": ([0.0], "wrong size"),
        "saturated": ([False], "wrong size"),
    }.items():
        bridge.drive((2300, 2000), lambda: bridge.iio.raws() == ["2300", "2096"])
        bridge.send((2300, 2000), **{change: sentence[0]})
        bridge.iio.wait_safe(MARGIN)
        bridge.client.spin(0.05)
        for _ in range(10):
            bridge.send((2300, 2000))
            bridge.client.spin(0.01)
        assert bridge.iio.safe(), "a fault stays"
        answer = bridge.clear_fault()
        assert answer.success
        assert sentence[1] in answer.message, answer.message
    bridge.drive((2300, 2000), lambda: bridge.iio.raws() == ["2300", "2096"])
    bridge.send((2300, 2000), voltage=[0.0, 0.0])
    bridge.iio.wait_safe(MARGIN)
    assert "another robot" in bridge.clear_fault().message


def test_old_commands_are_not_fresh_ones(bridge: Bridged) -> None:
    header = MotorCommand().header
    header.stamp = bridge.client.node.get_clock().now().to_msg()
    before = bridge.diagnostics()
    dropped, timeouts = "dropped motor_commands: older than the last", "command timeouts"

    def seen() -> bool:
        bridge.drive((2300, 2000), lambda: not bridge.iio.safe())
        for _ in range(150):
            bridge.send((2300, 2000), header=header)
            bridge.client.spin(0.002)
        after = bridge.diagnostics()
        more = int(after.get(dropped, 0)) > int(before.get(dropped, 0))
        return more and int(after[timeouts]) > int(before[timeouts])  # they do not keep the bridge driving

    assert bridge.client.wait(seen, 30.0)


def test_a_full_disk_is_a_fault(bridge: Bridged) -> None:
    bridge.client.deactivate(BRIDGE)
    bridge.client.change_state(Transition.TRANSITION_CLEANUP, BRIDGE)
    bridge.iio.dac.write_text(DAC_FILE.replace("iio: wrist_dac", "file: full"))
    (bridge.iio.root / "full").symlink_to("/dev/full")
    try:
        assert not bridge.client.change_state(Transition.TRANSITION_CONFIGURE, BRIDGE)
        assert bridge.client.wait(lambda: bridge.said("the disk is full"), 10.0)
    finally:
        bridge.iio.dac.write_text(DAC_FILE)
        bridge.client.activate(BRIDGE, 20.0)


def test_a_bridge_that_hangs_is_made_safe_by_its_guardian(bridge: Bridged) -> None:
    bridge.drive((2300, 2000), lambda: bridge.iio.raws() == ["2300", "2096"])
    os.kill(bridge.pid, signal.SIGSTOP)
    try:
        bridge.iio.wait_safe(0.3 + MARGIN)
    finally:
        os.kill(bridge.pid, signal.SIGCONT)
    bridge.drive((2300, 2000), lambda: bridge.iio.raws() == ["2300", "2096"])
    os.kill(int(bridge.diagnostics()["guardian"]), signal.SIGKILL)
    bridge.drive((2300, 2000), lambda: "guardian" in bridge.client.diagnostics(BRIDGE, new=False)["fault"])
    assert bridge.iio.safe(), "without a guardian it does not drive"
    assert bridge.clear_fault().success


def test_nobody_else_gets_the_outputs_of_a_running_bridge(bridge: Bridged) -> None:
    with pytest.raises(OutputBusyError):
        Outputs(read_dac_file(bridge.iio.dac), ROBOT, bridge.iio.root)


def test_a_bridge_that_is_killed_in_mid_motion_leaves_safe_codes(bridge: Bridged) -> None:
    bridge.drive((2300, 2000), lambda: bridge.iio.raws() == ["2300", "2096"])
    os.kill(bridge.pid, signal.SIGKILL)
    bridge.iio.wait_safe(0.3 + MARGIN)
