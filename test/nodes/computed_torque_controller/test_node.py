"""The controller alone over real DDS, with a robot that this test plays, so that exactly one thing breaks at a time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dyn_robot.msg import ControllerStatus, MotorCommand
from lifecycle_msgs.msg import Transition
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool
from std_srvs.srv import SetBool, Trigger

from dyn_cli.client.robot_client import CONTROLLER, RobotClient
from dyn_cli.supervision.supervisor import Supervisor
from dyn_core import load_robot
from dyn_nodes.bringup.systems import System, system
from dyn_nodes.common.qos import LATCHED, STREAM
from dyn_nodes.common.stamps import NANOSECONDS

pytestmark = pytest.mark.running

RATE = 100.0
PARAMETERS = """
/**/computed_torque_controller:
  ros__parameters:
    state_timeout: 1.0
    clock_jump: 2.0
    max_missed_deadlines: 15
    peer_timeout: 0.3
    autostart: true
"""
SOON = 10.0


class PlayedRobot:
    """Publishes the joint states of a robot that stands still, in a thread, and takes motor commands or does not."""

    def __init__(self, client: RobotClient) -> None:
        self.node = client.node
        self.names = list(load_robot("planar_2r").joint_names)
        self.position, self.velocity = [0.0, 0.0], [0.0, 0.0]
        self.offset = 0
        self.silent = False
        self._publisher = self.node.create_publisher(JointState, "joint_states", STREAM)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(1.0 / RATE):
            if self.silent:
                continue
            message = JointState(name=self.names, position=self.position, velocity=self.velocity)
            stamp = time.monotonic_ns() + 1000 * NANOSECONDS + self.offset
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, NANOSECONDS)
            self._publisher.publish(message)


class Rig:
    """The controller's process, a client, and the played robot."""

    def __init__(self, client: RobotClient) -> None:
        self.client = client
        self.robot = PlayedRobot(client)
        self.statuses: list[ControllerStatus] = []
        self.volts = 0.0
        client.node.create_subscription(ControllerStatus, f"{CONTROLLER}/status", self.statuses.append, LATCHED)
        self.listener = self._listen()
        self.stops = client.node.create_publisher(Bool, "emergency_stop", 10)

    def _listen(self) -> Any:
        return self.client.node.create_subscription(MotorCommand, "motor_commands", self._on_command, STREAM)

    def listen(self, wanted: bool) -> None:
        """Take motor commands, or do not."""
        if wanted:
            self.listener = self._listen()
        else:
            self.client.node.destroy_subscription(self.listener)

    def _on_command(self, message: MotorCommand) -> None:
        self.volts = float(np.abs(message.voltage).max())

    @property
    def status(self) -> ControllerStatus:
        return self.statuses[-1]

    def until(self, ready: Callable[[], bool]) -> bool:
        return self.client.wait(lambda: bool(self.statuses) and ready(), SOON)

    def stopped(self, powered: bool, *words: str) -> None:
        assert self.until(lambda: self.status.state == "stopped" and self.status.powered == powered), self.status
        assert all(word in self.status.cause for word in words), self.status.cause

    def clear(self) -> Trigger.Response:
        return self.client.call(Trigger, f"{CONTROLLER}/clear_fault", Trigger.Request())

    def cleared(self) -> None:
        answers = []

        def done() -> bool:
            answers.append(self.clear())
            return answers[-1].success

        assert self.until(done), answers[-1].message
        assert self.until(lambda: self.status.state == "active"), self.status


@pytest.fixture(scope="module")
def rig(domain: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    file: Path = tmp_path_factory.mktemp("controller") / "nodes.yaml"
    file.write_text(PARAMETERS)
    given = {"robot": "planar_2r", "namespace": "alone", "rate": RATE, "params_file": str(file)}
    planned = system("control", given)
    alone = System("control", planned.nodes[:1], planned.namespace, planned.params_file, "warn")
    output: list[str] = []
    with Supervisor(alone, output=output.append), RobotClient("alone", domain) as client:
        assert client.lifecycle_state(timeout=120.0) == "active", "it starts by itself"
        running = Rig(client)
        yield running
        running.robot.end()
    print(*output, sep="\n")


@pytest.fixture
def robot(rig: Rig) -> PlayedRobot:
    """The played robot at rest at zero, and the controller active."""
    rig.robot.position, rig.robot.velocity, rig.robot.silent = [0.0, 0.0], [0.0, 0.0], False
    if rig.client.lifecycle_state() == "active":
        rig.client.deactivate()
    rig.volts = 0.0
    rig.client.activate()
    assert rig.until(lambda: rig.status.state == "active" and rig.volts > 0.0)
    return rig.robot


def test_joint_states_that_stop_give_zero_volts(rig: Rig, robot: PlayedRobot) -> None:
    robot.silent = True
    rig.stopped(False, "no valid joint state in time")
    assert "no valid joint state" in rig.clear().message
    robot.silent = False
    rig.cleared()


@pytest.mark.parametrize(("step", "words"), [(5.0, "jumped by"), (-5.0, "jumped back by")])
def test_a_clock_that_jumps_gives_zero_volts(rig: Rig, robot: PlayedRobot, step: float, words: str) -> None:
    robot.offset = round(step * NANOSECONDS)
    rig.stopped(False, words)
    rig.cleared()


def test_deadlines_missed_in_a_row_stop_by_braking(rig: Rig, robot: PlayedRobot) -> None:
    robot.silent = True
    rig.client.spin(0.5)
    robot.silent = False
    rig.stopped(True, "deadlines missed in a row, 15 are allowed")
    rig.cleared()


def test_a_peer_that_takes_no_more_commands_stops(rig: Rig, robot: PlayedRobot) -> None:
    rig.listen(False)
    rig.stopped(True, "nobody takes the motor commands")
    assert "nobody takes the motor commands" in rig.clear().message
    rig.listen(True)
    rig.cleared()


def test_a_joint_state_that_is_not_finite_gives_zero_volts(rig: Rig, robot: PlayedRobot) -> None:
    robot.velocity = [0.0, float("nan")]
    rig.stopped(False, "not finite", "elbow")
    robot.velocity = [0.0, 0.0]
    rig.cleared()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"position": [3.3, 0.0]}, ("hard position limit of shoulder",)),
        ({"velocity": [0.0, -7.0]}, ("velocity limit of elbow",)),
    ],
)
def test_a_measured_limit_stops_until_the_cause_is_gone(
    rig: Rig, robot: PlayedRobot, change: dict[str, list[float]], words: tuple[str, ...]
) -> None:
    for key, values in change.items():
        setattr(robot, key, values)
    assert rig.until(lambda: rig.status.state == "stopped"), rig.status
    assert all(word in rig.status.cause for word in words), rig.status.cause
    refused = rig.clear()
    assert not refused.success
    assert all(word in refused.message for word in words)
    robot.position, robot.velocity = [0.0, 0.0], [0.0, 0.0]
    rig.cleared()


def test_a_tracking_error_stops_and_holds_where_the_robot_is(rig: Rig, robot: PlayedRobot) -> None:
    robot.position = [0.25, 0.0]
    rig.stopped(True, "tracking error of shoulder")
    rig.cleared()


def test_the_emergency_stop_topic_wins_over_everything(rig: Rig, robot: PlayedRobot) -> None:
    client = rig.client
    assert client.wait(lambda: rig.stops.get_subscription_count() >= 2, SOON)
    rig.stops.publish(Bool(data=True))
    rig.stopped(False, "emergency stop (topic)")
    assert rig.status.emergency_stop
    assert rig.until(lambda: rig.volts == 0.0)
    assert "emergency stop (topic)" in rig.clear().message
    client.deactivate()
    assert not client.change_state(Transition.TRANSITION_ACTIVATE), "pressed, so it must not activate"
    rig.stops.publish(Bool(data=False))
    assert rig.until(lambda: not rig.status.emergency_stop)
    assert client.lifecycle_state() == "inactive", "releasing starts nothing"
    client.activate()


def test_a_press_that_is_released_at_once_stops_all_the_same(rig: Rig, robot: PlayedRobot) -> None:
    for pressed in (True, False):
        rig.stops.publish(Bool(data=pressed))
    rig.stopped(False, "emergency stop")
    rig.cleared()


def test_the_emergency_stop_service(rig: Rig, robot: PlayedRobot) -> None:
    name = f"{CONTROLLER}/emergency_stop"
    assert rig.client.call(SetBool, name, SetBool.Request(data=True)).success
    rig.stopped(False, "emergency stop (service)")
    assert not rig.clear().success
    assert rig.client.call(SetBool, name, SetBool.Request(data=False)).success
    rig.cleared()


def test_a_latched_emergency_stop_is_heard_by_a_controller_that_comes_later(rig: Rig, robot: PlayedRobot) -> None:
    client = rig.client
    client.deactivate()
    early = client.node.create_publisher(Bool, "emergency_stop", LATCHED)
    early.publish(Bool(data=True))
    assert rig.until(lambda: rig.status.emergency_stop)
    early.publish(Bool(data=False))
    assert rig.until(lambda: not rig.status.emergency_stop)
    client.node.destroy_publisher(early)


def test_an_emergency_stop_that_falls_silent_counts_as_pressed(rig: Rig, robot: PlayedRobot) -> None:
    client = rig.client
    client.set_parameter(CONTROLLER, "emergency_stop_timeout", 0.3)
    client.deactivate()
    assert client.change_state(Transition.TRANSITION_CLEANUP)
    assert client.change_state(Transition.TRANSITION_CONFIGURE)
    rig.stops.publish(Bool(data=False))
    assert client.change_state(Transition.TRANSITION_ACTIVATE)
    end = time.monotonic() + 0.8
    while time.monotonic() < end:
        rig.stops.publish(Bool(data=False))
        client.spin(0.05)
    assert rig.status.state == "active"
    rig.stopped(False, "emergency stop (no message on its topic in time)")
    client.set_parameter(CONTROLLER, "emergency_stop_timeout", 0.0)
    client.deactivate()
    assert client.change_state(Transition.TRANSITION_CLEANUP)
    client.activate()
