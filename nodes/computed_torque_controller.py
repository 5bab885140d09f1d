"""ROS 2 lifecycle node ``computed_torque_controller``: joint states and trajectories in, motor commands out."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_core.control import ComputedTorque
from dyn_core.errors import DynError
from dyn_core.loop_robot import LoopRobot
from nodes import parameters
from nodes.diagnostics import ERROR, OK, WARN, Diagnostics, Report, cycle_values
from nodes.loop import (
    NANOSECONDS,
    STREAM,
    CycleStatistics,
    LoopThread,
    StateWaiter,
    quiet_interpreter,
    subscribe,
    take_newest,
    view,
)
from nodes.messages import DropCounter, Dropped, JointOrder, TrajectoryPoints, code_limits, joint_state
from nodes.plan import Hold, Motion, Plan, State, joined
from nodes.process import run
from nodes.robots import load_fixed_robot, passive_joints, position_limits

LEADS = (0.02, 0.2, 1.0)
"""A new trajectory begins this far ahead (s), so that it is ready in time; the next one is tried if it was not."""
PAST = 1.0
"""A trajectory whose start time lies up to this far back begins now (s); an older one is dropped."""
FUTURE = 3600.0
"""A trajectory must begin within this time (s): a stamp of another clock is not waited for."""

JUMP = 0.5
"""A step of the joint states' stamps above this (s) is a fault: the desired state would jump with it."""
SLICES = 5
"""The wait for a joint state is cut into so many slices, so that a stall of this process counts as one of them."""

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
        self._planning = threading.Lock()
        self._entities: list[Callable[[], Any]] = []
        self._fault = ""
        self._forget_states()
        self._missed = 0
        self._saturated = 0
        self._accepted = 0
        self._passed_over = 0
        self._refuse_impossible_transitions()
        self.create_service(Trigger, "~/clear_fault", self._on_clear_fault)
        self._diagnostics = Diagnostics(self, self._report, self._drops)

    @property
    def failure(self) -> Exception | None:
        """Why the loop ended by itself, if it did."""
        return None if self._loop is None else self._loop.failure

    def close(self) -> None:
        """Stop the loop and send 0 V."""
        self._stop_loop()

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Load the robot, and compile and call once everything that the loop will call."""
        given = parameters.values(self, parameters.COMPUTED_TORQUE_CONTROLLER)
        try:
            self._robot = load_fixed_robot(given["robot"], given["formulation"])
            self._planned_robot = load_fixed_robot(given["robot"])
            code_limits(self._robot)
            self._law = ComputedTorque(
                self._robot, given["bandwidth"], mode=given["mode"], friction=given["friction"]
            )
            neutral, zeros = self._robot.neutral(), np.zeros(self._robot.n)
            motion = _warm_plan(neutral)
            self._law.command(motion.sample(0), neutral, zeros)
            if isinstance(self._planned_robot, LoopRobot):
                _check_closes(self._planned_robot, motion.motion)
        except DynError as error:
            self.get_logger().error(f"cannot configure: {error}")
            return FAILURE
        self._given = given
        self._robot_name = self._robot.name
        self._joints = JointOrder(self._robot.joint_names, passive_joints(self._robot))
        self._period = 1.0 / given["rate"]
        self._slice = given["state_timeout"] / SLICES
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
        """Begin to hold the position of the next joint state."""
        self._fault = ""
        self._forget_states()
        take_newest(self._state_subscription)
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
        self._release()
        self._label = "finalized"
        return SUCCESS

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """After a transition that failed midway: 0 V, and back to unconfigured."""
        self._stop_loop()
        self._release()
        self._label = "unconfigured"
        return SUCCESS

    def _make_messages(self) -> None:
        n, names = self._robot.n, self._joints.names
        self._command = MotorCommand(name=names, torque=[0.0] * n, voltage=[0.0] * n, dac_code=[0] * n)
        self._command.saturated = [False] * n
        self._torque = view(self._command.torque, n)
        self._voltage = view(self._command.voltage, n)
        self._code = view(self._command.dac_code, n)
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

    def _forget_states(self) -> None:
        self._stamp = 0
        self._silence = 0.0
        self._counted = time.monotonic()
        self._plan: Plan | None = None
        self._next: Plan | None = None

    def _cycle(self) -> None:
        self._waiter.wait(self._slice)
        message, older = take_newest(self._state_subscription)
        self._passed_over += older
        if message is None or not self._accept_state(message):
            self._count_silence()
            return
        if self._fault:
            self._send_zero()
            return
        stamp, q, qd = self._stamp, self._q, self._qd
        desired = self._desired(stamp, q)
        try:
            command = self._law.command(desired, q, qd)
        except DynError as error:
            self._trip(f"no command: {error}")
            self._send_zero()
            return
        if not np.isfinite(command.voltage).all():
            self._trip("the control law gave a voltage that is not finite")
            self._send_zero()
            return
        self._torque[:] = command.torque
        self._voltage[:] = command.voltage
        self._code[:] = command.code
        saturated = command.saturated.tolist()
        self._command.saturated = saturated
        self._command.header.stamp = message.header.stamp
        self._command_publisher.publish(self._command)
        self._saturated += any(saturated)
        interval = self._statistics.tick()
        if interval > 1.5 * self._period:
            self._missed += round(interval / self._period) - 1
        if self._statistics.count % self._given["state_every"] == 0:
            self._publish_state(message.header.stamp, stamp, desired[:2], (q, qd))

    def _count_silence(self) -> None:
        """A slice without a valid joint state, or a part of one; silence before the first joint state is no fault."""
        now = time.monotonic()
        self._silence += min(now - self._counted, self._slice)
        self._counted = now
        if self._stamp and self._silence > self._given["state_timeout"]:
            self._trip("no valid joint state in time")
            self._send_zero()

    def _accept_state(self, message: JointState) -> bool:
        stamp = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        try:
            q, qd = joint_state(message, self._joints)
            if stamp == 0:
                stamp = self.get_clock().now().nanoseconds
            if stamp <= self._stamp:
                raise Dropped("not newer than the last")
        except Dropped as dropped:
            self._drops.add("joint_states", dropped)
            if dropped.reason == "not finite":
                self._trip(f"joint state {dropped}")
                self._send_zero()
            return False
        if self._stamp and stamp - self._stamp > JUMP * NANOSECONDS and not self._fault:
            self._trip(f"the clock of the joint states jumped by {(stamp - self._stamp) * 1e-9:.3g} s")
        self._q, self._qd = q, qd
        with self._planning:
            self._stamp = stamp
        self._silence, self._counted = 0.0, time.monotonic()
        return True

    def _desired(self, stamp: int, q: np.ndarray) -> State:
        plan = self._plan
        if plan is None:
            plan = self._plan = Plan(stamp, Hold(q))
        following = self._next
        if following is not None and stamp >= following.start:
            plan = self._plan = following
            if self._next is following:
                self._next = None
        return plan.sample(stamp)

    def _trip(self, cause: str) -> None:
        if self._fault:
            return
        self._fault = cause
        self._next = None
        self._statistics.pause()
        self.get_logger().error(f"fault, 0 V until ~/clear_fault: {cause}")

    def _send_zero(self) -> None:
        self._torque[:] = 0.0
        self._voltage[:] = 0.0
        self._code[:] = self._zero_code
        self._command.saturated = [False] * self._robot.n
        self._command_publisher.publish(self._command)

    def _publish_state(self, header_stamp: Any, stamp: int, *pairs: tuple[np.ndarray, np.ndarray]) -> None:
        for (positions, velocities), (q, qd) in zip(self._pairs, pairs, strict=True):
            positions[:] = q
            velocities[:] = qd
        plan = self._plan
        since = max(0, stamp - plan.start) if plan is not None else 0
        for point in self._state.points:
            point.time_from_start.sec, point.time_from_start.nanosec = divmod(since, NANOSECONDS)
        self._state.header.stamp = header_stamp
        self._state_publisher.publish(self._state)

    def _on_trajectory(self, message: JointTrajectory) -> None:
        try:
            self._follow(message)
        except Dropped as dropped:
            self._drops.add("joint_trajectory", dropped)
            self.get_logger().warning(f"trajectory dropped: {dropped}")
        except DynError as error:
            self._drops.add("joint_trajectory", Dropped("refused", str(error)))
            self.get_logger().warning(f"trajectory dropped: {error}")

    def _follow(self, message: JointTrajectory) -> None:
        points = TrajectoryPoints(message, self._joints, position_limits(self._robot))
        if self._label != "active":
            raise Dropped("not active")
        if self._fault:
            raise Dropped("fault", self._fault)
        if self._plan is None:
            raise Dropped("no joint state yet")
        tolerance = self._given["start_tolerance"]
        asked = message.header.stamp.sec * NANOSECONDS + message.header.stamp.nanosec
        behind = (self._stamp - asked) * 1e-9 if asked else 0.0
        if behind > PAST:
            raise Dropped("start time in the past", f"{behind:.3g} s")
        if behind < -FUTURE:
            raise Dropped("start time too far ahead", f"{-behind:.3g} s")
        if isinstance(self._planned_robot, LoopRobot):  # takes longer than the first lead
            _check_closes(self._planned_robot, joined(points, self._planned(self._stamp), tolerance))
        for lead in LEADS:
            start = max(asked, self._stamp + round(lead * NANOSECONDS))
            plan = Plan(start, joined(points, self._planned(start), tolerance))
            with self._planning:  # the loop has either not reached the start yet, or never sees this plan
                if self._stamp < start:
                    self._next = plan
                    self._accepted += 1
                    return
        raise Dropped("not ready in time")

    def _planned(self, stamp: int) -> State:
        """Desired state at a stamp ahead, by the plans that are known now."""
        following, plan = self._next, self._plan
        if following is not None and stamp >= following.start:
            return following.sample(stamp)
        assert plan is not None
        return plan.sample(stamp)

    def _on_clear_fault(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        if not self._fault:
            response.success, response.message = True, "there was no fault"
        elif self._silence > self._slice or not self._stamp:
            # A robot that was started anew may count its time from the beginning.
            self._stamp = 0
            response.success, response.message = False, f"the cause is still there: {self._fault}"
        else:
            response.success, response.message = True, f"cleared: {self._fault}; holding the present position"
            self._plan, self._next, self._fault = None, None, ""
        return response

    def _refuse_impossible_transitions(self) -> None:
        """rclpy lets a transition that the present state does not have raise out of the service; answer false."""
        answer = self._service_change_state.callback

        def guarded(request: Any, response: Any) -> Any:
            try:
                return answer(request, response)
            except _rclpy.RCLError:
                response.success = False
                return response

        self._service_change_state.callback = guarded

    def _report(self) -> Report:
        values: dict[str, object] = {
            "robot": self._robot_name or self.get_parameter("robot").value,
            "state": self._label,
            "fault": self._fault,
            "cycles": self._statistics.count,
            **cycle_values(self._statistics.summary()),
            "missed deadlines": self._missed,
            "joint states passed over": self._passed_over,
            "saturated cycles": self._saturated,
            "trajectories accepted": self._accepted,
        }
        if self._loop is not None:
            values["scheduling"] = self._loop.scheduling
        if self._fault:
            return ERROR, f"fault, call ~/clear_fault: {self._fault}", values
        if self._label == "active" and self._plan is None:
            return WARN, "active, waiting for the first joint state", values
        return OK, self._label, values


def _warm_plan(q: np.ndarray) -> Plan:
    """A short plan made and sampled once, so that no import or compilation is left for the first trajectory."""
    points = JointTrajectoryPoint(positions=q.tolist())
    points.time_from_start.sec = 1
    message = JointTrajectory(joint_names=[str(j) for j in range(len(q))], points=[points])
    joints = JointOrder(message.joint_names)
    limits = np.array([[-np.inf, np.inf]] * len(q))
    state = (q, q, q + 1.0)
    return Plan(0, joined(TrajectoryPoints(message, joints, limits), state, 0.0))


def _check_closes(robot: LoopRobot, motion: Motion) -> None:
    """Refuse a motion on whose way the chains cannot close or are singular."""
    for t in np.linspace(0.0, motion.duration, CLOSURES):
        try:
            robot.closed(motion.sample(t)[0])
        except DynError as error:
            raise Dropped("chains do not close", f"at {t:.3g} s: {error}") from error


def main(args: Sequence[str] | None = None) -> int:
    """Entry point of the node."""
    return run("computed_torque_controller", ComputedTorqueController, args)


if __name__ == "__main__":
    sys.exit(main())
