"""ROS 2 node ``simulated_robot``: motor commands in, joint states out, with the motors and the DAC in between."""

import time
from collections.abc import Sequence

import numpy as np
from dyn_robot.msg import MotorCommand
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from dyn_core.errors import DynError, InputError, RefusedError
from dyn_core.simulation import Stepper
from dyn_nodes.claims import claim_robot
from dyn_nodes.common.cdr import CdrPublisher, MotorCommandPublisher, MotorCommandReader
from dyn_nodes.common.diagnostics import ERROR, OK, WARN, Diagnostics, Report
from dyn_nodes.common.direct_subscription import subscribe, take_newest
from dyn_nodes.common.loop_thread import CycleStatistics, LoopThread, Pacer, quiet_interpreter
from dyn_nodes.common.message_checks import DropCounter, JointOrder, wrench
from dyn_nodes.common.message_sender import SenderReader
from dyn_nodes.common.parameter_spec import declare
from dyn_nodes.common.qos import LATCHED, STREAM
from dyn_nodes.common.robot import load_fixed_robot
from dyn_nodes.common.stamps import set_stamp

from .parameters import PARAMETERS
from .platform_publisher import PlatformPublisher

CLOCK_RATE = 100.0
"""Messages per second on /clock."""
LISTENERS_EVERY = 50
"""Cycles between two looks whether somebody listens to ~/motors, platform_pose and platform_twist."""
RESYNCHRONISE = 1.0
"""Seconds lost in one stall above which the stamps jump to real time; below, the simulation only falls behind it."""


class SimulatedRobot(Node):
    """Integrates the arm by one DAC period per cycle and publishes its state.

    The voltage at the motors is decoded from the DAC code of the newest command and held over the period. A command
    that arrives during one period acts from the next one on, as a DAC that is written once per period does.
    """

    def __init__(self) -> None:
        super().__init__("simulated_robot")
        self._given = given = declare(self, PARAMETERS)
        if not claim_robot(self.get_namespace()):
            raise InputError("a simulated robot runs already in this ROS domain and namespace on this machine")
        self._robot = load_fixed_robot(given["robot"])
        self._joints = JointOrder(self._robot.joint_names)
        self._initial = self._initial_positions(given["initial_positions"])
        self._actuation = self._robot.actuation
        self._voltage_limits = self._actuation.voltage_limits
        self._period = 1.0 / given["rate"]
        self._command_periods = max(1, round(given["command_timeout"] * given["rate"]))
        self._clock_every = max(1, round(given["rate"] / CLOCK_RATE))

        self._drops = DropCounter()
        self._statistics = CycleStatistics()
        self._volts: np.ndarray = np.zeros(self._robot.n)
        self._codes: np.ndarray = self._robot.actuation.codes(np.zeros(self._robot.n))[0]
        self._wrenches: tuple[np.ndarray, float] | None = None
        self._released = not given["brakes"]
        self._reset_asked = False
        self._stopped_because = ""
        self._command_age = self._ticks = self._jumped = 0
        self._commands = self._late = self._timeouts = self._passed_over = self._foreign = 0
        self._sender = b""
        self._warm_up()

        count = self._robot.mechanism.n
        zeros, names = [0.0] * count, list(self._robot.mechanism.joint_names)
        states = self.create_publisher(JointState, "joint_states", STREAM)
        self._state = CdrPublisher(states, JointState(name=names, position=zeros, velocity=zeros, effort=zeros))
        self._position, self._velocity = self._state.view("position"), self._state.view("velocity")
        self._effort = self._state.view("effort")
        self._clock_message = Clock()
        self._watched = False

        self._command_subscription = subscribe(self, MotorCommand, "motor_commands")
        self._taken = SenderReader(self._command_subscription)
        self._reader = MotorCommandReader(self._joints, *self._actuation.code_limits)
        self._platform = None if self._robot.platform is None else PlatformPublisher(self, self._robot)
        self._motor_publisher = self.create_publisher(MotorCommand, "~/motors", STREAM)
        self._motor_state = MotorCommandPublisher(self._motor_publisher, self._robot.joint_names, self._codes)
        self._clock_publisher = self.create_publisher(Clock, "/clock", 10) if given["publish_clock"] else None
        self._description = self.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=self._robot.urdf()))
        self.create_subscription(WrenchStamped, "external_wrench", self._on_wrench, 10)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self._diagnostics = Diagnostics(self, self._report, self._drops)

        quiet_interpreter()
        self._start = 0 if given["publish_clock"] else self.get_clock().now().nanoseconds
        self._pacer = Pacer(given["rate"], given["max_catch_up"])
        self._loop = LoopThread("simulation", self._cycle, given["realtime_priority"])
        self._loop.start()
        self.get_logger().info(
            f"{self._robot.name}: {self._robot.n} joints, {given['rate']:g} Hz"
            + (", brakes on until the first command" if given["brakes"] else "")
        )

    @property
    def failure(self) -> Exception | None:
        """Why the loop ended by itself, if it did."""
        return self._loop.failure

    def close(self) -> None:
        """End the loop."""
        self._loop.stop()

    def _initial_positions(self, given: Sequence[float]) -> np.ndarray:
        n = self._robot.n
        if len(given) == 0:
            return np.clip(self._robot.neutral(), *self._robot.position_limits.T)
        q = np.array(given, dtype=float)
        if q.shape != (n,) or not np.isfinite(q).all():
            raise InputError(f"parameter initial_positions: {n} finite numbers are needed, found {list(given)}")
        return q

    def _new_stepper(self) -> Stepper:
        q0, step = self._initial.copy(), self._period / self._given["substeps"]
        return Stepper(self._robot, q0, np.zeros(self._robot.n), h=step, method=self._given["method"])

    def _warm_up(self) -> None:
        """Compile what the loop calls, before the loop."""
        n = self._robot.n
        stepper = self._new_stepper()
        stepper.step(np.zeros(n), 1)
        stepper.step(np.zeros(n), 1, np.zeros((self._robot.mechanism.n, 6)))
        stepper.all_joints()
        self._stepper = self._new_stepper()

    def _cycle(self) -> None:
        lost = self._pacer.lost
        elapsed = self._pacer.wait()
        if (self._pacer.lost - lost) * self._period > RESYNCHRONISE:
            self._jumped += self._pacer.lost - lost
        if self._reset_asked:
            self._reset()
        self._take_command(elapsed)
        self._ticks += elapsed
        if self._stopped_because:
            self._statistics.pause()
            return
        try:
            if self._released:
                self._advance(elapsed)
            self._publish()
        except DynError as error:
            self._stopped_because = str(error)
            self.get_logger().error(f"stopped, waiting for ~/reset: {error}")
            return
        self._statistics.tick()

    def _take_command(self, elapsed: int) -> None:
        self._command_age += elapsed
        data = self._newest_command()
        if data is None:
            if self._released and self._command_age <= self._command_periods:
                self._late += 1
            return
        try:
            _, codes = self._reader.read(data)
        except RefusedError as refused:
            self._drops.add("motor_commands", refused)
            return
        self._codes = codes
        self._volts = self._actuation.volts_of_codes(codes)
        self._command_age = 0
        self._commands += 1
        self._released = True

    def _newest_command(self) -> bytes | None:
        """Bytes of the newest command of the publisher that is obeyed; a silent one loses its place to who speaks."""
        newest = None
        free = not self._released or self._command_age > self._command_periods
        while (taken := self._taken.take()) is not None:
            data, sender = taken
            if sender != self._sender:
                if not free:
                    self._foreign += 1
                    continue
                self._sender = sender
            self._passed_over += newest is not None
            newest, free = data, free and not self._released
        return newest

    def _advance(self, elapsed: int) -> None:
        """Advance by ``elapsed`` periods: with the last command while it is fresh, with 0 V after that."""
        substeps = self._given["substeps"]
        wrenches = self._present_wrenches()
        overdue = max(0, self._command_age - self._command_periods)
        fresh = max(0, elapsed - overdue)
        if fresh > 0:
            self._stepper.step(self._volts, fresh * substeps, wrenches)
        if fresh < elapsed:
            if self._volts.any():
                self._volts = np.zeros(self._robot.n)
                self._timeouts += 1
            self._stepper.step(self._volts, (elapsed - fresh) * substeps, wrenches)

    def _present_wrenches(self) -> np.ndarray | None:
        held = self._wrenches
        if held is None:
            return None
        if time.monotonic() > held[1]:
            self._wrenches = None
            return None
        return held[0]

    def _publish(self) -> None:
        stepper = self._stepper
        self._position[:], self._velocity[:] = stepper.all_joints()
        self._effort[self._robot.joints] = stepper.tau if self._released else 0.0
        now = self._start + (self._ticks + self._jumped) * self._pacer.period
        self._state.publish(now)
        stamp = self._clock_message.clock
        set_stamp(stamp, now)
        if self._statistics.count % LISTENERS_EVERY == 0:
            self._watched = self._motor_publisher.get_subscription_count() > 0
            if self._platform is not None:
                self._platform.look()
        if self._watched:  # what the motors saw over the last period
            volts = self._volts if self._released else np.zeros(self._robot.n)
            torque, cut = self._effort[self._robot.joints], np.abs(volts) > self._voltage_limits
            self._motor_state.publish((torque, volts, self._codes, cut), now)
        if self._platform is not None:
            self._platform.publish(stamp, self._position, self._velocity)
        if self._clock_publisher is not None and self._statistics.count % self._clock_every == 0:
            self._clock_publisher.publish(self._clock_message)

    def _reset(self) -> None:
        take_newest(self._command_subscription, raw=True)  # sent before the reset, not meant for the time after it
        self._stepper = self._new_stepper()
        self._volts = np.zeros(self._robot.n)
        self._wrenches = None
        self._released = not self._given["brakes"]
        self._stopped_because = ""
        self._reset_asked = False

    def _on_wrench(self, message: WrenchStamped) -> None:
        try:
            acting = wrench(message)
            link = message.header.frame_id
            links = self._robot.mechanism.body_names
            if link not in links:
                raise RefusedError("unknown link", f"{link!r} is none of {', '.join(links)}")
        except RefusedError as refused:
            self._drops.add("external_wrench", refused)
            return
        wrenches = np.zeros((len(links), 6))
        wrenches[links.index(link)] = acting
        self._wrenches = (wrenches, time.monotonic() + self._given["wrench_timeout"])

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._reset_asked = True
        response.success = True
        response.message = "the robot is back at its initial position" + (
            ", with the brakes on" if self._given["brakes"] else ""
        )
        return response

    def _report(self) -> Report:
        values: dict[str, object] = {
            "robot": self._robot.name,
            "cycles": self._statistics.count,
            **self._statistics.summary(),
            "missed deadlines": self._pacer.missed,
            "time lost (s)": self._pacer.lost * self._period,
            "commands": self._commands,
            "cycles without a new command": self._late,
            "commands passed over": self._passed_over,
            "commands of others, not obeyed": self._foreign,
            "command timeouts": self._timeouts,
            "brakes": "off" if self._released else "on",
            "scheduling": self._loop.scheduling,
        }
        if self._stopped_because:
            return ERROR, f"stopped, call ~/reset: {self._stopped_because}", values
        if self._released and self._command_age > self._command_periods:
            return WARN, "no motor command: the motors see 0 V", values
        return OK, "running", values
