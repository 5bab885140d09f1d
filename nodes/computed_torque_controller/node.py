"""ROS 2 lifecycle node ``computed_torque_controller``: joint states and trajectories in, motor commands out."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from dyn_core import Robot
from dyn_core.control import (
    KINDS,
    Brake,
    ComputedTorque,
    DeadlineWatch,
    Follower,
    Limits,
    LimitWatch,
    Margins,
    MotionIntake,
    PeerWatch,
    Plan,
    Safety,
    SilenceWatch,
    TrackedState,
)
from dyn_core.errors import DynError, RefusedError
from dyn_nodes.common.cdr import JointStateReader, MotorCommandPublisher
from dyn_nodes.common.diagnostics import Report
from dyn_nodes.common.direct_subscription import take_newest
from dyn_nodes.common.lifecycle import LoopLifecycleNode
from dyn_nodes.common.message_checks import JointOrder
from dyn_nodes.common.qos import STREAM
from dyn_nodes.common.robot import load_fixed_robot
from dyn_nodes.common.stamps import NANOSECONDS, nanoseconds

from .emergency_stop import EmergencyStop
from .parameters import PARAMETERS
from .reports import StatePublisher, StatusPublisher, diagnosis
from .trajectory_action import offer_action
from .trajectory_message import waypoints

PEER_PERIOD = 0.1
"""Seconds between two looks for who takes the motor commands."""
STATUS_PERIOD = 0.05
"""Seconds between two looks whether ~/status has changed."""
BRAKING = 0.8
"""Part of stop_timeout in which a braking must end."""


class ComputedTorqueController(LoopLifecycleNode):
    """Follows trajectories by computed torque, down to DAC codes.

    A thread waits for joint states, and answers each with a motor command at once; the desired state is sampled at the
    joint state's own stamp, so that desired and measured state belong to the same instant.
    """

    def __init__(self) -> None:
        super().__init__("computed_torque_controller", PARAMETERS)
        self._read = self._read_robot(self.get_parameter("robot").value)
        self._robot: Robot | None = None
        self._follower: Follower | None = None
        self._intake: MotionIntake | None = None
        self._deadlines = DeadlineWatch(1.0, 0)
        self._accepted = self._saturated = self._passed_over = 0
        self._stamp = 0
        self.safety = Safety()
        self._status = StatusPublisher(self, self.safety)
        self._emergency_stop = EmergencyStop(self, self.safety)
        self._emergency_stop.watch(self.get_parameter("emergency_stop_timeout").value)
        self.create_service(Trigger, "~/cancel", self._on_cancel)
        self._action = offer_action(self)
        self.create_timer(STATUS_PERIOD, lambda: self._status.publish(self._label, self._follower))
        self._serve()

    @property
    def failure(self) -> Exception | None:
        """Why the loop, or the thread of the emergency stop, ended by itself, if one did."""
        return super().failure or self._emergency_stop.failure

    def close(self) -> None:
        """Stop the loop and send 0 V."""
        super().close()
        self._emergency_stop.close()

    @staticmethod
    def _read_robot(name: str) -> tuple[str, Robot]:
        robot = load_fixed_robot(name)
        return name, robot

    def _configure(self, given: dict[str, Any]) -> str:
        # The file was read when the node was made; at a later configure it may be another, or have changed.
        if self._robot is not None or self._read[0] != given["robot"]:
            self._read = self._read_robot(given["robot"])
        planned = self._read[1]
        if assumption := planned.actuation.assumption:
            self.get_logger().warning(assumption)
        self._robot = robot = planned.using(given["formulation"])
        margins = ("soft_limit_margin", "hard_limit_margin", "velocity_margin")
        errors = ("tracking_error_limit", "tracking_error_limit_linear")
        limits = Limits(robot, Margins(*(given[name] for name in (*margins, *errors))))
        self._follower = self._new_follower(robot, limits, given)
        self._intake = MotionIntake(self._follower, limits, planned, given["start_tolerance"])
        self._intake.warm_up(robot.neutral())
        self.safety.hold = given["after_stop"] == "hold"
        self.safety.brake = given["emergency_stop_reaction"] == "brake"
        self._emergency_stop.watch(given["emergency_stop_timeout"])
        self._joints = JointOrder(robot.joint_names, robot.passive_joints)
        self._soft_limits = limits.soft
        self._states = JointStateReader(self._joints)
        self._deadlines = DeadlineWatch(1.0 / given["rate"], given["max_missed_deadlines"])
        self._commands = self._kept(
            self.create_publisher(MotorCommand, "motor_commands", STREAM), self.destroy_publisher
        )
        zero_code = robot.actuation.codes(np.zeros(robot.n))[0]
        self._command = MotorCommandPublisher(self._commands, robot.joint_names, zero_code)
        tracked = self._kept(self.create_publisher(JointTrajectory, "~/state", 10), self.destroy_publisher)
        self._state = StatePublisher(tracked, robot.joint_names)
        self._kept(
            self.create_subscription(JointTrajectory, "joint_trajectory", self._on_trajectory, 10),
            self.destroy_subscription,
        )
        self._state_subscription = self._listen(JointState, "joint_states")
        return f"configured for {robot.name}: {given['mode']}, {given['bandwidth']:g} rad/s"

    def _new_follower(self, robot: Robot, limits: Limits, given: dict[str, Any]) -> Follower:
        bandwidth, friction = given["bandwidth"], given["friction"]
        law = ComputedTorque(robot, bandwidth, mode=given["mode"], friction=friction)
        braking = ComputedTorque(robot, bandwidth, friction=friction)
        longest = max(given["brake_time"], BRAKING * given["stop_timeout"])
        reactions = {kind: given[f"{kind}_reaction"] for kind in KINDS}
        return Follower(
            law,
            Brake(braking, limits, given["brake_time"], longest),
            LimitWatch(limits, reactions, given["saturation_time"]),
            self.safety,
            given["slow_pace"],
            given["slow_time"],
            given["stop_timeout"],
        )

    def _activate(self) -> str:
        """Hold the position of the next joint state; refused while an emergency stop is pressed."""
        self.safety.activate()
        self._peers = PeerWatch(self._given["peer_timeout"])
        self._next_look = 0.0
        self._stamp = 0
        self._silence = SilenceWatch(self._given["state_timeout"], time.monotonic())
        assert self._follower is not None
        self._follower.forget()
        take_newest(self._state_subscription, raw=True)
        return "active"

    def _stop_loop(self) -> str:
        sentence = super()._stop_loop()
        self.safety.deactivate()
        return sentence

    def _make_safe(self) -> str:
        self._command.publish_zero()
        return "0 V sent"

    def _cycle(self) -> None:
        self._waiter.wait(self._silence.slice)
        data, older = take_newest(self._state_subscription, raw=True)
        self._passed_over += older
        now = time.monotonic()
        if data is None or not self._accept_state(data, now):
            if cause := self._silence.check(now):
                self._stop_unknown(cause)
            return
        follower = self._follower
        assert follower is not None
        if cause := self._deadlines.check(self._statistics.tick()):
            follower.leave_path(self._stamp, self._q, self._qd)
            self._say_stop(self.safety.stop(cause))
        if now >= self._next_look:
            self._next_look = now + PEER_PERIOD
            if cause := self._peers.check(self._commands.get_subscription_count(), now):
                self._say_stop(self.safety.stop(cause))
        was = self.safety.state
        result = follower.step(self._stamp, self._q, self._qd)
        if self.safety.state != was:
            self._say_stop(was == "active")
        if result is None:
            self._command.publish_zero(self._stamp)
            return
        _, command = result
        self._command.publish(command, self._stamp)
        self._saturated += bool(command.saturated.any())
        if self._statistics.count % self._given["state_every"] == 0 and follower.last and follower.plan:
            self._state.publish(follower.last, follower.plan.start)

    def _accept_state(self, data: bytes, now: float) -> bool:
        try:
            stamp, q, qd = self._states.read(data)
            if stamp == 0:
                stamp = self.get_clock().now().nanoseconds
            if stamp <= self._stamp:
                self._silence.reject((self._stamp - stamp) * 1e-9)
                raise RefusedError("not newer than the last")
        except RefusedError as refused:
            self._drops.add("joint_states", refused)
            if refused.reason == "not finite":
                self._stop_unknown(f"joint state {refused}")
            return False
        if self._stamp and stamp - self._stamp > self._given["clock_jump"] * NANOSECONDS:
            jump = (stamp - self._stamp) * 1e-9
            self._say_stop(self.safety.stop(f"the clock of the joint states jumped by {jump:.3g} s", known=False))
        self._q, self._qd, self._stamp = q, qd, stamp
        self._silence.hear(now)
        return True

    def _stop_unknown(self, cause: str) -> None:
        """0 V, because the robot's state is not known; the clock of its joint states may start again."""
        self._say_stop(self.safety.stop(cause, known=False))
        self._stamp = 0
        self._statistics.pause()
        self._command.publish_zero()

    def _say_stop(self, changed: bool) -> None:
        if changed:
            how = "braking" if self.safety.powered else "0 V"
            self.get_logger().error(f"fault, {how}, until ~/clear_fault: {self.safety.cause}")

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            self.follow(message)
        except RefusedError as refused:
            self.get_logger().warning(f"trajectory dropped: {refused}")

    def follow(self, message: JointTrajectory) -> Plan:
        """The plan that was made of a trajectory, and is followed; RefusedError, which is counted, if it is refused."""
        try:
            if self._label != "active" or self._intake is None:
                raise RefusedError("not active")
            points = waypoints(message, self._joints, self._soft_limits)
            plan = self._intake.accept(points, nanoseconds(message.header.stamp))
        except RefusedError as refused:
            self._drops.add("joint_trajectory", refused)
            raise
        except DynError as error:
            unforeseen = RefusedError("refused", str(error))
            self._drops.add("joint_trajectory", unforeseen)
            raise unforeseen from error
        self._accepted += 1
        return plan

    def cancel(self) -> bool:
        """Brake along the path and hold; says whether there was a motion."""
        return self._follower is not None and self._label == "active" and self._follower.cancel()

    @property
    def joint_names(self) -> Sequence[str]:
        """Joints of the robot, in its order; none before it is configured."""
        return self._robot.joint_names if self._robot is not None else ()

    def now(self) -> tuple[TrackedState | None, Plan | None, str]:
        """Where the robot is and should be (None if inactive), the plan that it follows, and why it has stopped."""
        follower = self._follower
        last = None if follower is None or self._label != "active" else follower.last
        return last, None if follower is None or last is None else follower.plan, self.safety.cause

    def _on_cancel(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self.cancel()
        response.message = "braking, then holding" if response.success else "there is no motion to cancel"
        return response

    def _on_clear_fault(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        stopped = self.safety.state == "stopped"
        causes = self._present_causes() if stopped else []
        if stopped and not causes and self._follower is not None:
            self._follower.forget()  # before the loop goes on, so that it holds what it finds
        response.success, response.message = self.safety.clear(causes)
        if response.success and stopped:
            self.get_logger().info(response.message)
        return response

    def _present_causes(self) -> list[str]:
        """What would stop the robot again at once."""
        if self._silence.silent or not self._stamp:
            return ["no valid joint state in time"]
        assert self._follower is not None
        causes = [
            f"{excess.sentence}; move it back by hand, with the controller inactive"
            for excess in self._follower.watch.present(self._q, self._qd)
        ]
        if self._peers.alone and self._given["peer_timeout"]:
            causes.append("nobody takes the motor commands")
        return causes

    def _report(self) -> Report:
        values: dict[str, object] = {
            "robot": self.get_parameter("robot").value if self._robot is None else self._robot.name,
            **self._loop_values(),
            "missed deadlines": self._deadlines.missed,
            "joint states passed over": self._passed_over,
            "saturated cycles": self._saturated,
            "trajectories accepted": self._accepted,
        }
        return diagnosis(self._label, self.safety, self._follower, values)
