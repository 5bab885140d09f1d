"""A running system under test: it is broken, one fault after the other, and what must hold after each is checked.

The system is the simulated robot, the controller, the DAC bridge (into a file) and the stiffness server, all real
processes over DDS, with a relay that can spoil joint states. Each fault comes in mid-motion. After it

- the voltage at the motors (``simulated_robot/motors``) was never beyond the motors' limits, nor a code of the bridge
  beyond the converter's,
- the arm follows its motion within the tracking-error limit, or is safe within SAFE seconds: 0 V or standstill,
- no process hangs: each that was not killed answers,
- after ``clear_fault``, or a restart of what was killed, the arm moves where it is told to.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from dyn_robot.msg import ControllerStatus, MotorCommand
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from dyn_cli.client.robot_client import CONTROLLER, SIMULATION, ClientError, RobotClient
from dyn_cli.supervision.supervisor import Supervisor
from dyn_core import load_robot
from dyn_nodes.bringup.systems import System, system
from dyn_nodes.common.qos import LATCHED, STREAM

ROBOT, NAMESPACE, RATE = "planar_2r", "faults", 250.0
BRIDGE, RELAY, STIFFNESS = "dac_bridge", "fault_relay", "stiffness_server"
RELAY_MODULE = "dyn_cli.commands.endurance.fault_relay"
STATE_TIMEOUT = 0.25
"""Longer than the default, as the relay makes the way of a joint state longer (s)."""
SAFE = 1.5
"""Seconds within which a robot must be safe: state_timeout, stop_timeout, and what a busy computer adds."""
MOVING = 0.05
"""Speed above which a robot moves (rad/s)."""
HOME = np.array([0.2, -0.3])
SWING = np.array([0.9, -1.1])
FOLLOWING = 0.25
"""Distance from the desired position within which the arm follows it (rad)."""
SETTLE = 0.5
"""Seconds after a fault has been done, in which it shows (s)."""
START_TIMEOUT = 180.0

Expected = Literal["stops", "goes on", "either"]


@dataclass(frozen=True)
class Fault:
    """What is broken, how, and what the system must make of it."""

    name: str
    inject: Callable[[Campaign], None]
    expected: Expected = "either"
    short: bool = False
    """Whether the shortened campaign has it."""
    hurt: str = ""
    """The process that the fault ends or stops, so that it need not answer."""


@dataclass
class Outcome:
    """What came of a fault."""

    fault: str
    outcome: str = ""
    safe_after: float | None = None
    """Seconds from the fault until the arm was safe; None if it went on."""
    highest_voltage: float = 0.0
    """V, at a motor."""
    problems: list[str] = field(default_factory=list)

    @property
    def survived(self) -> bool:
        return not self.problems


class Seen(NamedTuple):
    """What the motors and joints did at a time."""

    t: float
    volts: float
    speed: float


class Watch:
    """Listens to what the motors see and how the joints move."""

    def __init__(self, client: RobotClient, limits: np.ndarray) -> None:
        self._motors = client.record(MotorCommand, f"{SIMULATION}/motors")
        self._states = client.record(JointState, "joint_states_true")
        self._limits = limits
        self.position = np.zeros(len(limits))
        self.speed = 0.0
        self.seen: list[Seen] = []
        self.beyond = 0.0
        """V by which a limit was exceeded at worst."""

    def look(self) -> None:
        """Take what has arrived."""
        now = time.monotonic()
        self._states.drain()
        for message in self._states.messages:
            self.position = np.array(message.position)
            self.speed = float(np.abs(message.velocity).max())
        self._motors.drain()
        for message in self._motors.messages:
            volts = np.abs(message.voltage)
            self.beyond = max(self.beyond, float((volts - self._limits).max()))
            self.seen.append(Seen(now, float(volts.max()), self.speed))
        self._states.messages.clear()
        self._motors.messages.clear()

    def unsafe_until(self, since: float) -> float:
        """The last time after ``since`` at which a robot with power moved; ``since`` if there was none."""
        unsafe = (seen.t for seen in self.seen if seen.t >= since and seen.volts > 0.0 and seen.speed > MOVING)
        return max(unsafe, default=since)


class Campaign:
    """The system under test; use it as a context manager."""

    def __init__(self) -> None:
        self.robot = load_robot(ROBOT)
        self.output: list[str] = []
        self._stack = contextlib.ExitStack()
        self.publishers: dict[str, Any] = {}
        self.status = ControllerStatus()
        self.began = 0.0
        """When the present fault began, by the monotonic clock."""
        self.state: JointTrajectory | None = None

    def __enter__(self) -> Campaign:
        with contextlib.ExitStack() as stack:
            self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            self.codes = self.folder / "codes.log"
            planned = self._planned(self.folder)
            self.supervisor = stack.enter_context(Supervisor(planned, output=self.output.append))
            self.client = client = stack.enter_context(RobotClient(NAMESPACE))
            keep = client.node.create_subscription
            keep(ControllerStatus, f"{CONTROLLER}/status", partial(setattr, self, "status"), LATCHED)
            keep(JointTrajectory, f"{CONTROLLER}/state", partial(setattr, self, "state"), 10)
            self.watch = Watch(client, self.robot.actuation.voltage_limits)
            self._mode = client.node.create_publisher(String, f"{RELAY}/mode", LATCHED)
            self.tell_relay("pass")
            client.joint_state(START_TIMEOUT)
            self.activate()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @staticmethod
    def _planned(folder: Path) -> System:
        dac = folder / "dac.yaml"
        names = load_robot(ROBOT).joint_names
        channels = "".join(f"  - {{joint: {name}, device: dry, channel: {j}}}\n" for j, name in enumerate(names))
        dac.write_text(f"robot: {ROBOT}\ndevices:\n  - {{name: dry, file: codes.log}}\nchannels:\n{channels}")
        parameters = folder / "nodes.yaml"
        parameters.write_text(f"/**/{CONTROLLER}:\n  ros__parameters:\n    state_timeout: {STATE_TIMEOUT}\n")
        given = {"robot": ROBOT, "namespace": NAMESPACE, "rate": RATE, "dac": str(dac), "params_file": str(parameters)}
        planned = system("sim", given)
        through = (("joint_states", "joint_states_true"),)
        nodes = [replace(node, remappings=through) if node.name == SIMULATION else node for node in planned.nodes]
        relay = replace(nodes[-1], name=RELAY, module=RELAY_MODULE, parameters={}, lifecycle=False)
        return replace(planned, nodes=(*nodes, relay))

    @property
    def lifecycle(self) -> list[str]:
        return [node.name for node in self.supervisor.system.nodes if node.lifecycle]

    def tell_relay(self, mode: str) -> None:
        """What the relay does to joint states from now on."""
        self._mode.publish(String(data=mode))

    def pause(self, seconds: float) -> None:
        """Go on watching for a time."""
        self.until(lambda: False, seconds)

    def until(self, ready: Callable[[], bool], seconds: float) -> bool:
        """Watch until something is so."""

        def looked() -> bool:
            self.watch.look()
            return ready()

        return self.client.wait(looked, seconds, 0.005)

    def publisher(self, message_type: type, topic: str) -> Any:
        """A publisher that somebody listens to."""
        if topic not in self.publishers:
            publisher = self.publishers[topic] = self.client.node.create_publisher(message_type, topic, STREAM)
            self.until(lambda: publisher.get_subscription_count() > 0, 5.0)
            self.pause(0.3)
        return self.publishers[topic]

    def activate(self) -> None:
        """Activate what can be; a request to a process that was killed is lost, so it is asked again."""
        for name in self.lifecycle:
            end = time.monotonic() + START_TIMEOUT
            while not self._answers(self.client.lifecycle_state, name, 2.0):
                if time.monotonic() > end:
                    raise ClientError(f"{name} does not come up")
            self.client.activate(name, 60.0)

    @staticmethod
    def _answers(ask: Callable[[str, float], object], name: str, patience: float = 10.0) -> bool:
        try:
            ask(name, patience)
        except ClientError:
            return False
        return True

    def start_motion(self) -> None:
        """Begin a long motion and wait until the arm is fast."""
        names = list(self.robot.joint_names)
        for _ in range(2):
            self.client.send_trajectory(names, np.array([2.0, 4.0]), np.array([HOME + SWING, HOME]))
            if self.until(lambda: self.watch.speed > 0.4, 4.0):
                return
            self.recover()  # a busy computer may have stopped it meanwhile
        raise ClientError(f"the arm did not begin to move ({self.status.state}, {self.status.cause})")

    def recover(self) -> list[str]:
        """Bring everything back to life; returns what did not come."""
        problems = []
        self.tell_relay("pass")
        self.pause(SETTLE)
        for node in self.supervisor.system.nodes:
            if not self.supervisor.alive(node.name):
                self.supervisor.restart(node.name)
        try:
            self.client.joint_state(START_TIMEOUT)
            self.activate()
            for name in self.lifecycle:
                self.client.clear_fault(name, 15.0)
            if not self.client.wait(self._arrived_home(), 20.0, 0.05):
                problems.append(f"unusable: it stays at {np.round(self.watch.position, 3)}, {self.status.state}")
        except ClientError as error:
            problems.append(f"unusable: {error}")
        return problems

    def _arrived_home(self) -> Callable[[], bool]:
        sent = 0.0

        def arrived() -> bool:
            nonlocal sent
            self.watch.look()
            if np.abs(self.watch.position - HOME).max() < 0.02 and self.watch.speed < MOVING:
                return True
            if time.monotonic() > sent + 4.0:
                with contextlib.suppress(ClientError):
                    self.client.clear_fault(CONTROLLER, 15.0)
                    names = list(self.robot.joint_names)
                    self.client.send_trajectory(names, np.array([1.2]), HOME[None])
                sent = time.monotonic()
            return False

        return arrived

    def answers(self, name: str) -> bool:
        """Whether a process serves its requests."""
        ask = self.client.lifecycle_state if name in self.lifecycle else self.client.diagnostics
        return name == RELAY or self._answers(ask, name)

    def bridge_codes(self) -> list[int]:
        """The codes that the bridge wrote last."""
        lines = self.codes.read_text().splitlines()
        return [int(word) for word in lines[-1].split()[1:]] if lines else []

    def follows(self) -> bool:
        """Whether the arm is near where the controller wants it."""
        if self.state is None or len(self.state.points) < 2:
            return False
        desired, measured = (np.array(point.positions) for point in self.state.points[:2])
        return bool(np.abs(desired - measured).max() < FOLLOWING)

    def try_fault(self, fault: Fault) -> Outcome:
        """Break something in mid-motion, look what comes of it, and repair it."""
        result = Outcome(fault.name)
        self.watch.seen.clear()
        self.watch.beyond = -np.inf
        try:
            self.start_motion()
            self.began = time.monotonic()
            fault.inject(self)
            self.pause(max(self.began + SAFE - time.monotonic(), SETTLE))
            self._judge(fault, result)
            for node in self.supervisor.system.nodes:
                if node.name != fault.hurt and not self.supervisor.alive(node.name):
                    result.problems.append(f"{node.name} has ended")
                elif node.name != fault.hurt and not self.answers(node.name):
                    result.problems.append(f"{node.name} does not answer")
        except ClientError as error:
            result.problems.append(str(error))
        result.problems += self.recover()
        result.highest_voltage = max((seen.volts for seen in self.watch.seen), default=0.0)
        if self.watch.beyond > 1e-9:
            result.problems.append(f"the voltage was {self.watch.beyond:.3g} V beyond a limit")
        codes = np.array(self.bridge_codes())
        if ((codes < 0) | (codes > self.robot.actuation.code_limits[1])).any():
            result.problems.append("the bridge wrote a code beyond the converter's")
        return result

    def _judge(self, fault: Fault, result: Outcome) -> None:
        dead = not self.supervisor.alive(CONTROLLER) or fault.hurt == CONTROLLER
        stopped = dead or self.status.state != "active" or not self.supervisor.alive(SIMULATION)
        if stopped:
            result.safe_after = self.watch.unsafe_until(self.began) - self.began
            result.outcome = "stopped" if dead or not self.status.cause else f"stopped: {self.status.cause}"
            if result.safe_after > SAFE:
                result.problems.append(f"not safe {SAFE:g} s after the fault")
            if fault.expected == "goes on":
                result.problems.append("it stopped, but should have gone on")
        else:
            result.outcome = "went on"
            if not self.follows():
                result.problems.append("the arm does not follow its motion")
            if fault.expected == "stops":
                result.problems.append("it went on, but should have stopped")
        safe = [int(code) for code in self.robot.actuation.codes(np.zeros(self.robot.n))[0]]
        if dead and self.bridge_codes() != safe:
            result.problems.append(f"the bridge holds the codes {self.bridge_codes()}")
