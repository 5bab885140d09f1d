"""ROS 2 lifecycle node ``computed_torque_controller``: joint states and trajectories in, motor commands out."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dyn_robot.msg import ControllerStatus, MotorCommand
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.braking import Brake
from dyn_core.control import ComputedTorque
from dyn_core.errors import DynError
from dyn_core.limits import KINDS, Limits, Margins
from dyn_core.loop_robot import LoopRobot
from nodes import follow_joint_trajectory, parameters
from nodes.diagnostics import ERROR, OK, WARN, Diagnostics, Report, cycle_values
from nodes.emergency_stop import EmergencyStop
from nodes.follower import Follower
from nodes.lifecycle import refuse_impossible_transitions, start_by_itself
from nodes.loop import (
    LATCHED,
    NANOSECONDS,
    STREAM,
    CycleStatistics,
    LoopThread,
    StateWaiter,
    nanoseconds,
    quiet_interpreter,
    subscribe,
    take_newest,
    view,
)
from nodes.messages import DropCounter, Dropped, JointOrder, TrajectoryPoints, code_limits
from nodes.plan import Motion, Plan, check_motion, check_torques, joined
from nodes.process import run
from nodes.robots import load_fixed_robot, passive_joints
from nodes.safety import Safety
from nodes.watchdogs import DeadlineWatch, LimitWatch, PeerWatch, SilenceWatch
from nodes.wire import JointStateReader, Outgoing

LEADS = (0.02, 0.2, 1.0)
"""A new trajectory begins this far ahead (s), so that it is ready in time; the next one is tried if it was not."""
PAST = 1.0
"""A trajectory whose start time lies up to this far back begins now (s); an older one is dropped."""
FUTURE = 3600.0
"""A trajectory must begin within this time (s): a stamp of another clock is not waited for."""

PEER_PERIOD = 0.1
"""Seconds between two looks for who takes the motor commands."""
STATUS_PERIOD = 0.05
"""Seconds between two looks whether ~/status has changed."""
BRAKING = 0.8
"""Part of stop_timeout in which a braking must end."""

CLOSURES = 100
"""Points of a trajectory at which closed chains are tried before it begins."""

SUCCESS = TransitionCallbackReturn.SUCCESS
FAILURE = TransitionCallbackReturn.FAILURE


class ComputedTorqueController(LifecycleNode):
    """Follows trajectories by computed torque, down to DAC codes.

    A thread waits for joint states, and answers each with a motor command at once; the desired state is sampled at the
    joint state's own stamp, so that desired and measured state belong to the same instant.
    """

    def __init__(self) -> None:
        super().__init__("computed_torque_controller")
        parameters.declare(self, parameters.COMPUTED_TORQUE_CONTROLLER)
        code_limits(load_fixed_robot(self.get_parameter("robot").value))
        self._drops = DropCounter()
        self._statistics = CycleStatistics()
        self._label = "unconfigured"
        self._robot_name = ""
        self._loop: LoopThread | None = None
        self._entities: list[Callable[[], Any]] = []
        self._follower: Follower | None = None
        self._deadlines = DeadlineWatch(1.0, 0)
        self._saturated = self._accepted = self._passed_over = 0
        self._stamp = 0
        self._told: tuple[Any, ...] = ()
        self._status_publisher = self.create_publisher(ControllerStatus, "~/status", LATCHED)
        self.safety = Safety()
        self._emergency_stop = EmergencyStop(self, self.safety, self._on_emergency_stop)
        self._emergency_stop.watch(self.get_parameter("emergency_stop_timeout").value)
        refuse_impossible_transitions(self)
        self.create_service(Trigger, "~/clear_fault", self._on_clear_fault)
        self.create_service(Trigger, "~/cancel", self._on_cancel)
        self._diagnostics = Diagnostics(self, self._report, self._drops)
        self._action = follow_joint_trajectory.offer(self, self)
        self.create_timer(STATUS_PERIOD, self._publish_status)
        if self.get_parameter("autostart").value:
            start_by_itself(self)

    @property
    def failure(self) -> Exception | None:
        """Why the loop, or the thread of the emergency stop, ended by itself, if one did."""
        return (None if self._loop is None else self._loop.failure) or self._emergency_stop.failure

    def close(self) -> None:
        """Stop the loop and send 0 V."""
        self._stop_loop()
        self._emergency_stop.close()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, and compile and call once everything that the loop will call."""
        given = parameters.values(self, parameters.COMPUTED_TORQUE_CONTROLLER)
        try:
            self._robot = load_fixed_robot(given["robot"], given["formulation"])
            self._planned_robot = load_fixed_robot(given["robot"])
            code_limits(self._robot)
            self._limits = Limits(
                self._robot,
                Margins(
                    given["soft_limit_margin"],
                    given["hard_limit_margin"],
                    given["velocity_margin"],
                    given["tracking_error_limit"],
                    given["tracking_error_limit_linear"],
                ),
            )
            self._follower = self._new_follower(given)
            self._warm_up(self._robot.neutral())
        except DynError as error:
            self.get_logger().error(f"cannot configure: {error}")
            return FAILURE
        self._given = given
        self.safety.hold = given["after_stop"] == "hold"
        self.safety.brake = given["emergency_stop_reaction"] == "brake"
        self._emergency_stop.watch(given["emergency_stop_timeout"])
        self._robot_name = self._robot.name
        self._joints = JointOrder(self._robot.joint_names, passive_joints(self._robot))
        self._states = JointStateReader(self._joints)
        self._deadlines = DeadlineWatch(1.0 / given["rate"], given["max_missed_deadlines"])
        self._make_messages()
        self._command_publisher = self.create_publisher(MotorCommand, "motor_commands", STREAM)
        self._state_publisher = self.create_publisher(JointTrajectory, "~/state", 10)
        self._state_subscription = subscribe(self, JointState, "joint_states")
        trajectories = self.create_subscription(JointTrajectory, "joint_trajectory", self._on_trajectory, 10)
        self._waiter = StateWaiter(self, self._state_subscription)
        self._entities = [
            lambda: self.destroy_publisher(self._command_publisher),
            lambda: self.destroy_publisher(self._state_publisher),
            lambda: self.destroy_subscription(self._state_subscription),
            lambda: self.destroy_subscription(trajectories),
            lambda: self.destroy_guard_condition(self._waiter.guard),
        ]
        self._label = "inactive"
        self.get_logger().info(f"configured for {self._robot_name}: {given['mode']}, {given['bandwidth']:g} rad/s")
        return SUCCESS

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Begin to hold the position of the next joint state; refused while an emergency stop is pressed."""
        try:
            self.safety.activate()
        except DynError as error:
            self.get_logger().error(f"cannot activate: {error}")
            return FAILURE
        self._peers = PeerWatch(self._given["peer_timeout"])
        self._next_look = 0.0
        self._forget_states()
        take_newest(self._state_subscription, raw=True)
        quiet_interpreter()
        self._statistics.pause()
        self._loop = LoopThread("control", self._cycle, self._given["realtime_priority"])
        self._loop.start()
        self._label = "active"
        self.get_logger().info("active")
        return SUCCESS

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Stop the loop and send 0 V."""
        self._stop_loop()
        self.safety.deactivate()
        self._label = "inactive"
        self.get_logger().info("inactive, 0 V sent")
        return SUCCESS

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Give back what configure made."""
        self._release()
        self._label = "unconfigured"
        return SUCCESS

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Send 0 V if active, and give everything back."""
        self._stop_loop()
        self.safety.deactivate()
        self._release()
        self._label = "finalized"
        return SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After a transition that failed midway: 0 V, and back to unconfigured."""
        self._stop_loop()
        self.safety.deactivate()
        self._release()
        self._label = "unconfigured"
        return SUCCESS

    def _make_messages(self) -> None:
        n, names = self._robot.n, self._joints.names
        zeros = [0.0] * n
        self._command = Outgoing(
            MotorCommand(name=names, torque=zeros, voltage=zeros, dac_code=[0] * n, saturated=[False] * n)
        )
        self._torque, self._voltage = self._command.view("torque"), self._command.view("voltage")
        self._code, self._cut = self._command.view("dac_code"), self._command.view("saturated")
        self._zero_code = np.asarray(self._robot.dac_codes(np.zeros(n)))
        points = []
        self._pairs = []
        for _ in ("desired", "measured"):
            point = JointTrajectoryPoint(positions=[0.0] * n, velocities=[0.0] * n)
            points.append(point)
            self._pairs.append((view(point.positions, n), view(point.velocities, n)))
        self._state = JointTrajectory(joint_names=names, points=points)

    def _release(self) -> None:
        for destroy in self._entities:
            destroy()
        self._entities = []

    def _stop_loop(self) -> None:
        if self._loop is None:
            return
        loop, self._loop = self._loop, None
        loop.stop(0.0)
        self._waiter.wake()
        loop.stop()
        self._send_zero()

    def _new_follower(self, given: dict[str, Any]) -> Follower:
        robot, bandwidth, friction = self._robot, given["bandwidth"], given["friction"]
        law = ComputedTorque(robot, bandwidth, mode=given["mode"], friction=friction)
        braking = ComputedTorque(robot, bandwidth, friction=friction)
        longest = max(given["brake_time"], BRAKING * given["stop_timeout"])
        reactions = {kind: given[f"{kind}_reaction"] for kind in KINDS}
        return Follower(
            law,
            Brake(braking, self._limits, given["brake_time"], longest),
            LimitWatch(self._limits, reactions, given["saturation_time"]),
            self.safety,
            given["slow_pace"],
            given["slow_time"],
            given["stop_timeout"],
        )

    def _warm_up(self, q: np.ndarray) -> None:
        """Call once what the loop and a trajectory will call, so that no import or compilation is left for them."""
        assert self._follower is not None
        motion, points = _short_motion(q)
        self._follower.warm_up(Plan(0, motion), q)
        with contextlib.suppress(Dropped):
            check_motion(motion, points, self._limits)
        with contextlib.suppress(Dropped):
            check_torques(motion, points, self._planned_robot, self._limits)
        if isinstance(self._planned_robot, LoopRobot):
            _check_closes(self._planned_robot, motion)

    def _forget_states(self) -> None:
        self._stamp = 0
        self._silence = SilenceWatch(self._given["state_timeout"], time.monotonic())
        assert self._follower is not None
        self._follower.forget()

    def _cycle(self) -> None:
        self._waiter.wait(self._silence.slice)
        data, older = take_newest(self._state_subscription, raw=True)
        self._passed_over += older
        now = time.monotonic()
        if data is None or not self._accept_state(data, now):
            if cause := self._silence.check(now):
                self._stop_unknown(cause)
            return
        assert self._follower is not None
        interval = self._statistics.tick()
        if cause := self._deadlines.check(interval):
            self._follower.leave_path(self._stamp, self._q, self._qd)
            self._say_stop(self.safety.stop(cause))
        if now >= self._next_look:
            self._next_look = now + PEER_PERIOD
            if cause := self._peers.check(self._command_publisher.get_subscription_count(), now):
                self._say_stop(self.safety.stop(cause))
        was = self.safety.state
        result = self._follower.step(self._stamp, self._q, self._qd)
        if self.safety.state != was:
            self._say_stop(was == "active")
        if result is None:
            self._send_zero(self._stamp)
            return
        desired, command = result
        self._torque[:] = command.torque
        self._voltage[:] = command.voltage
        self._code[:] = command.code
        self._cut[:] = command.saturated
        self._command.publish(self._command_publisher, self._stamp)
        self._saturated += bool(command.saturated.any())
        if self._statistics.count % self._given["state_every"] == 0:
            self._publish_state(desired[:2], (self._q, self._qd))

    def _accept_state(self, data: bytes, now: float) -> bool:
        try:
            stamp, q, qd = self._states.read(data)
            if stamp == 0:
                stamp = self.get_clock().now().nanoseconds
            if stamp <= self._stamp:
                self._silence.reject((self._stamp - stamp) * 1e-9)
                raise Dropped("not newer than the last")
        except Dropped as dropped:
            self._drops.add("joint_states", dropped)
            if dropped.reason == "not finite":
                self._stop_unknown(f"joint state {dropped}")
            return False
        if self._stamp and stamp - self._stamp > self._given["clock_jump"] * NANOSECONDS:
            jump = (stamp - self._stamp) * 1e-9
            self._say_stop(self.safety.stop(f"the clock of the joint states jumped by {jump:.3g} s", known=False))
        self._q, self._qd, self._stamp = q, qd, stamp
        self._silence.hear(now)
        return True

    def _stop_unknown(self, cause: str) -> None:
        """0 V, because the robot's state is not known; the clock of its joint states may begin anew."""
        self._say_stop(self.safety.stop(cause, known=False))
        self._stamp = 0
        self._statistics.pause()
        self._send_zero()

    def _say_stop(self, changed: bool) -> None:
        if changed:
            how = "braking" if self.safety.powered else "0 V"
            self.get_logger().error(f"fault, {how}, until ~/clear_fault: {self.safety.cause}")

    def _on_emergency_stop(self) -> None:
        pressed = self.safety.pressed
        if pressed:
            self.get_logger().error(f"emergency stop pressed ({', '.join(pressed)})")
        else:
            self.get_logger().info("emergency stop released")

    def _send_zero(self, stamp: int | None = None) -> None:
        self._torque[:] = 0.0
        self._voltage[:] = 0.0
        self._code[:] = self._zero_code
        self._cut[:] = False
        self._command.publish(self._command_publisher, stamp)

    def _publish_state(self, *pairs: tuple[np.ndarray, np.ndarray]) -> None:
        for (positions, velocities), (q, qd) in zip(self._pairs, pairs, strict=True):
            positions[:] = q
            velocities[:] = qd
        assert self._follower is not None
        plan = self._follower.plan
        since = max(0, self._stamp - plan.start) if plan is not None else 0
        for point in self._state.points:
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(since, NANOSECONDS)
        stamp = self._state.header.stamp
        stamp.sec, stamp.nanosec = divmod(self._stamp, NANOSECONDS)
        self._state_publisher.publish(self._state)

    def _publish_status(self) -> None:
        safety, follower = self.safety, self._follower
        told = (
            safety.state if self._label == "active" else self._label,
            safety.cause,
            safety.powered,
            bool(safety.pressed),
            1.0 if follower is None else round(follower.pace.u, 2),
            [] if follower is None else list(follower.warnings),
        )
        if told == self._told:
            return
        if follower is not None and follower.warnings and (not self._told or not self._told[5]):
            self.get_logger().warning("; ".join(follower.warnings))
        self._told = told
        message = ControllerStatus(
            state=told[0], cause=told[1], powered=told[2], emergency_stop=told[3], pace=told[4], warnings=told[5]
        )
        message.header.stamp = self.get_clock().now().to_msg()
        self._status_publisher.publish(message)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            self.follow(message)
        except Dropped as dropped:
            self.get_logger().warning(f"trajectory dropped: {dropped}")

    def follow(self, message: JointTrajectory) -> Plan:
        """Follow a trajectory; Dropped, and counted, if it is refused. Returns the plan that was made of it."""
        try:
            return self._follow(message)
        except Dropped as dropped:
            self._drops.add("joint_trajectory", dropped)
            raise
        except DynError as error:
            refused = Dropped("refused", str(error))
            self._drops.add("joint_trajectory", refused)
            raise refused from error

    def _follow(self, message: JointTrajectory) -> Plan:
        if self._label != "active" or self._follower is None:
            raise Dropped("not active")
        follower, limits = self._follower, self._limits
        points = TrajectoryPoints(message, self._joints, limits.soft)
        if self.safety.state != "active":
            raise Dropped("fault", self.safety.cause)
        if follower.plan is None:
            raise Dropped("no joint state yet")
        if follower.cancelling:
            raise Dropped("braking", "the motion before it was cancelled")
        asked = nanoseconds(message.header.stamp)
        behind = (self._stamp - asked) * 1e-9 if asked else 0.0
        if behind > PAST:
            raise Dropped("start time in the past", f"{behind:.3g} s")
        if behind < -FUTURE:
            raise Dropped("start time too far ahead", f"{-behind:.3g} s")

        def motion_from(start: int) -> Motion:
            return joined(points, follower.ahead(start), self._given["start_tolerance"], limits.names)

        slow = isinstance(self._planned_robot, LoopRobot)  # its checks take longer than the first lead
        if slow:
            self._check(motion_from(self._stamp), points)
        for lead in LEADS:
            start = max(asked, self._stamp + round(lead * NANOSECONDS))
            plan = Plan(start, motion_from(start))
            if not slow:
                self._check(plan.motion, points)
            if follower.offer(plan):
                self._accepted += 1
                return plan
        raise Dropped("not ready in time")

    def _check(self, motion: Motion, points: TrajectoryPoints) -> None:
        check_motion(motion, points, self._limits)
        if isinstance(self._planned_robot, LoopRobot):
            _check_closes(self._planned_robot, motion)
        check_torques(motion, points, self._planned_robot, self._limits)

    def cancel(self) -> bool:
        """Brake along the path and hold; says whether there was a motion."""
        return self._follower is not None and self._label == "active" and self._follower.cancel()

    @property
    def joint_names(self) -> list[str]:
        """Joints of the robot, in its order; none before it is configured."""
        return self._joints.names if self._robot_name else []

    def now(self) -> tuple[follow_joint_trajectory.Now | None, Plan | None, str]:
        """Where the robot is and should be (None if inactive), the plan that it follows, and why it has stopped."""
        follower = self._follower
        last = None if follower is None or self._label != "active" else follower.last
        if follower is None or last is None:
            return None, None, self.safety.cause
        return follow_joint_trajectory.Now(*last), follower.plan, self.safety.cause

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
        safety, follower = self.safety, self._follower
        values: dict[str, object] = {
            "robot": self._robot_name or self.get_parameter("robot").value,
            "state": self._label,
            "safety": safety.state,
            "fault": safety.cause,
            "emergency stop": ", ".join(safety.pressed),
            "warnings": "" if follower is None else "; ".join(follower.warnings),
            "pace": 1.0 if follower is None else follower.pace.u,
            "cycles": self._statistics.count,
            **cycle_values(self._statistics.summary()),
            "missed deadlines": self._deadlines.missed,
            "joint states passed over": self._passed_over,
            "saturated cycles": self._saturated,
            "trajectories accepted": self._accepted,
            "trajectories overtaken": 0 if follower is None else follower.overtaken,
        }
        if self._loop is not None:
            values["scheduling"] = self._loop.scheduling
        if safety.cause:
            return ERROR, f"fault, call ~/clear_fault: {safety.cause}", values
        if safety.pressed:
            return ERROR, f"emergency stop pressed ({', '.join(safety.pressed)})", values
        if self._label == "active" and (follower is None or follower.plan is None):
            return WARN, "active, waiting for the first joint state", values
        if follower is not None and follower.warnings:
            return WARN, "; ".join(follower.warnings), values
        return OK, self._label, values


def _short_motion(q: np.ndarray) -> tuple[Motion, TrajectoryPoints]:
    """A short motion made of a message."""
    point = JointTrajectoryPoint(positions=q.tolist())
    point.time_from_start.sec = 1
    message = JointTrajectory(joint_names=[str(j) for j in range(len(q))], points=[point])
    points = TrajectoryPoints(message, JointOrder(message.joint_names), np.array([[-np.inf, np.inf]] * len(q)))
    return joined(points, (q, q, q + 1.0), 0.0), points


def _check_closes(robot: LoopRobot, motion: Motion) -> None:
    """Refuse a motion on whose way the chains cannot close or are singular, or move a joint beyond its limits."""
    times = np.linspace(0.0, motion.duration, CLOSURES)
    for t in times[1:]:  # where a robot is now, is no fault of the trajectory
        try:
            at = robot.closed(motion.sample(t)[0]).q
        except DynError as error:
            raise Dropped("chains do not close", f"at {t:.3g} s: {error}") from error
        low, high = robot.mechanism.position_limits.T
        passive = ~robot.mechanism.active
        for j in np.flatnonzero(passive & ((at < low) | (at > high)))[:1]:
            raise Dropped(
                "outside position limits",
                f"{robot.mechanism.joint_names[j]}, which the chains move, at {t:.3g} s: {at[j]:.4g} is not in"
                f" [{low[j]:.4g}, {high[j]:.4g}]",
            )


def main(args: Sequence[str] | None = None) -> int:
    """Entry point of the node."""
    return run("computed_torque_controller", ComputedTorqueController, args)


if __name__ == "__main__":
    sys.exit(main())
