"""The nodes as separate processes over real DDS: a motion, and everything that must not move the robot."""

from __future__ import annotations

import os
import signal
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from dyn_robot.msg import MotorCommand
from dyn_robot.srv import GetDeflection, GetStiffness
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from running_arm import Arm
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from dyn_cli.client.robot_client import CONTROLLER, SIMULATION, nanoseconds
from dyn_core.trajectory import through_points
from dyn_nodes.common.qos import LATCHED
from dyn_nodes.common.stamps import NANOSECONDS

pytestmark = pytest.mark.running

TARGET = np.array([0.3, -0.3, 0.3, -0.3, 0.3, -0.3])
STILL = 2e-4
"""A robot that holds its position stays within this (rad)."""


def trajectory(arm: Arm, target: np.ndarray, seconds: int = 1) -> JointTrajectory:
    point = JointTrajectoryPoint(positions=[float(x) for x in target])
    point.time_from_start.sec = seconds
    return JointTrajectory(joint_names=list(arm.robot.joint_names), points=[point])


def test_follows_a_trajectory_within_a_milliradian(arm: Arm) -> None:
    states = arm.record(JointState, "joint_states")
    begin = np.array(arm.client.controller_state().points[0].positions)
    times = np.array([0.0, 0.8, 1.6])
    positions = np.vstack((begin, begin + TARGET, begin - 0.5 * TARGET))
    start = nanoseconds(arm.client.controller_state().header.stamp) + NANOSECONDS
    order = np.array([3, 1, 5, 0, 4, 2])
    names = [arm.robot.joint_names[j] for j in order]
    states.clear()
    arm.client.send_trajectory(names, times, positions[:, order], start)

    def done() -> bool:
        states.drain()
        return bool(states.messages) and nanoseconds(states.messages[-1].header.stamp) > start + 1.8 * NANOSECONDS

    assert arm.client.wait(done, 10.0, 0.05)
    t = np.array([(nanoseconds(m.header.stamp) - start) * 1e-9 for m in states.messages])
    q = np.array([m.position for m in states.messages])
    moving = t >= 0.0
    error = q[moving] - through_points(times, positions).sample(t[moving])[0]
    assert np.ptp(q, axis=0).min() > 0.3
    assert np.sqrt(np.mean(error**2, axis=0)).max() < 1e-3


def test_a_trajectory_replaces_another_smoothly(arm: Arm) -> None:
    states = arm.record(JointState, "joint_states")
    arm.publish(trajectory(arm, TARGET, 1), "joint_trajectory")
    arm.client.spin(0.4)
    arm.publish(trajectory(arm, -TARGET, 2), "joint_trajectory")
    assert arm.client.wait(lambda: bool(np.abs(arm.positions() + TARGET).max() < 1e-3), 20.0)
    states.drain()
    speed = np.array([m.velocity for m in states.messages])
    assert np.abs(np.diff(speed, axis=0)).max() < 0.2


def test_a_cancelled_motion_ends_on_the_way_and_is_no_fault(arm: Arm) -> None:
    assert not arm.client.call(Trigger, f"{CONTROLLER}/cancel", Trigger.Request()).success
    arm.publish(trajectory(arm, TARGET, 4), "joint_trajectory")
    assert arm.client.wait(lambda: bool(np.abs(arm.positions()).max() > 0.1), 10.0)
    answer = arm.client.call(Trigger, f"{CONTROLLER}/cancel", Trigger.Request())
    assert answer.success, answer.message
    arm.client.spin(0.5)
    held = arm.positions()
    assert np.abs(held).max() < 0.28
    arm.client.spin(0.3)
    assert np.abs(arm.positions() - held).max() < 2e-3
    assert arm.client.diagnostics(CONTROLLER)["fault"] == ""


def bad_trajectories() -> dict[str, tuple[str, Callable[[Arm, JointTrajectory], None]]]:
    def positions(values: list[float]) -> Callable[[Arm, JointTrajectory], None]:
        def spoil(arm: Arm, message: JointTrajectory) -> None:
            message.points[0].positions = values

        return spoil

    def names(change: Callable[[list[str]], list[str]]) -> Callable[[Arm, JointTrajectory], None]:
        def spoil(arm: Arm, message: JointTrajectory) -> None:
            message.joint_names = change(list(message.joint_names))

        return spoil

    def velocities(arm: Arm, message: JointTrajectory) -> None:
        message.points[0].velocities = [0.0, float("inf"), 0.0, 0.0, 0.0, 0.0]

    def twice(arm: Arm, message: JointTrajectory) -> None:
        message.points = [message.points[0], message.points[0]]

    def at_once(arm: Arm, message: JointTrajectory) -> None:
        message.points[0].time_from_start.sec = 0

    def long_ago(arm: Arm, message: JointTrajectory) -> None:
        message.header.stamp.sec = 1

    def none(arm: Arm, message: JointTrajectory) -> None:
        message.points = []

    def moving_end(arm: Arm, message: JointTrajectory) -> None:
        message.points[0].velocities = [1.0] * 6

    return {
        "too few positions": ("wrong size", positions([0.1] * 5)),
        "too many positions": ("wrong size", positions([0.1] * 7)),
        "nan": ("not finite", positions([float("nan")] + [0.0] * 5)),
        "infinite": ("not finite", positions([float("inf")] + [0.0] * 5)),
        "infinite velocity": ("not finite", velocities),
        "beyond a limit": ("outside position limits", positions([100.0] + [0.0] * 5)),
        "too fast": ("above the velocity limit", positions([0.0, 1.2, 0.0, 0.0, 0.0, 0.0])),
        "unknown joint": ("unknown joints", names(lambda n: ["elbow", *n[1:]])),
        "missing joint": ("missing joints", names(lambda n: n[1:])),
        "repeated joint": ("repeated joints", names(lambda n: [n[1], *n[1:]])),
        "time stands still": ("times not increasing", twice),
        "jump at the start": ("start not continuous", at_once),
        "long ago": ("start time in the past", long_ago),
        "no points": ("no points", none),
        "does not stop": ("does not end at rest", moving_end),
    }


def test_bad_trajectories_are_counted_and_do_not_move_the_robot(arm: Arm) -> None:
    cases = bad_trajectories()
    states = arm.record(JointState, "joint_states")
    before = arm.client.diagnostics(CONTROLLER)
    begin = arm.positions()
    states.clear()
    for _, spoil in cases.values():
        message = trajectory(arm, TARGET)
        spoil(arm, message)
        arm.publish(message, "joint_trajectory")
    after = arm.client.diagnostics(CONTROLLER)
    states.drain()
    for reason in {reason for reason, _ in cases.values()}:
        key = f"dropped joint_trajectory: {reason}"
        expected = sum(1 for r, _ in cases.values() if r == reason)
        assert int(after.get(key, 0)) - int(before.get(key, 0)) == expected, reason
    assert after["trajectories accepted"] == before["trajectories accepted"]
    assert after["fault"] == ""
    assert np.abs(np.array([m.position for m in states.messages]) - begin).max() < STILL


def bad_commands(arm: Arm) -> dict[str, MotorCommand]:
    n = arm.robot.n

    def command(**changes: Any) -> MotorCommand:
        values: dict[str, Any] = {
            "name": list(arm.robot.joint_names),
            "torque": [1.0] * n,
            "voltage": [10.0] * n,
            "dac_code": [3000] * n,
            "saturated": [False] * n,
        }
        return MotorCommand(**{**values, **changes})

    return {
        "wrong size": command(dac_code=[3000] * (n - 1)),
        "not finite": command(torque=[float("nan")] * n),
        "unknown joints": command(name=["elbow"] * n),
        "code out of range": command(dac_code=[-1] * n),
    }


def test_bad_motor_commands_are_counted_and_do_not_move_the_robot(arm: Arm) -> None:
    arm.client.deactivate()
    assert arm.client.call(Trigger, f"{SIMULATION}/reset", Trigger.Request()).success
    before = arm.client.diagnostics(SIMULATION)
    begin = arm.positions()
    for message in bad_commands(arm).values():
        arm.publish(message, "motor_commands", times=3)
    after = arm.client.diagnostics(SIMULATION)
    for reason in bad_commands(arm):
        key = f"dropped motor_commands: {reason}"
        assert int(after.get(key, 0)) - int(before.get(key, 0)) == 3, reason
    assert after["brakes"] == "on"
    np.testing.assert_array_equal(arm.positions(), begin)


def test_foreign_joint_states_are_counted_and_not_used(arm: Arm) -> None:
    before = arm.client.diagnostics(CONTROLLER)
    begin = arm.positions()
    for message in (
        JointState(name=["elbow"] * 6, position=[0.0] * 6, velocity=[0.0] * 6),
        JointState(name=list(arm.robot.joint_names), position=[0.0] * 5, velocity=[0.0] * 6),
        JointState(name=list(arm.robot.joint_names), position=[0.0] * 6),
    ):
        arm.publish(message, "joint_states", times=20)
    after = arm.client.diagnostics(CONTROLLER)
    assert int(after["dropped messages"]) > int(before["dropped messages"])
    assert after["fault"] == ""
    assert np.abs(arm.positions() - begin).max() < STILL


def test_a_joint_state_that_is_not_finite_latches_a_fault(arm: Arm) -> None:
    commands = arm.record(MotorCommand, "motor_commands")
    message = JointState(name=list(arm.robot.joint_names), position=[float("nan")] * 6, velocity=[0.0] * 6)
    end = time.monotonic() + 10.0
    while not arm.client.diagnostics(CONTROLLER)["fault"] and time.monotonic() < end:
        arm.publish(message, "joint_states", times=20)
    assert "not finite" in arm.client.diagnostics(CONTROLLER)["fault"]
    commands.clear()
    arm.client.spin(0.2)
    commands.drain()
    assert commands.messages
    assert np.abs([m.voltage for m in commands.messages]).max() == 0.0
    arm.publish(trajectory(arm, TARGET), "joint_trajectory")
    answer = arm.client.call(Trigger, f"{CONTROLLER}/clear_fault", Trigger.Request())
    assert answer.success, answer.message
    after = arm.client.diagnostics(CONTROLLER)
    assert after["fault"] == ""
    assert int(after["dropped joint_trajectory: fault"]) >= 1
    arm.publish(trajectory(arm, TARGET), "joint_trajectory")
    assert arm.client.wait(lambda: bool(np.abs(arm.positions() - TARGET).max() < 1e-3), 20.0)


def test_silent_joint_states_latch_a_fault_that_can_be_cleared(arm: Arm) -> None:
    commands = arm.record(MotorCommand, "motor_commands")
    robot = arm.supervisor.pids["simulated_robot"]
    os.kill(robot, signal.SIGSTOP)
    try:
        assert arm.client.wait(lambda: bool(arm.client.diagnostics(CONTROLLER)["fault"]), 10.0)
        refused = arm.client.call(Trigger, f"{CONTROLLER}/clear_fault", Trigger.Request())
        found = arm.client.diagnostics(CONTROLLER)
    finally:
        os.kill(robot, signal.SIGCONT)
    assert "no valid joint state" in found["fault"]
    assert found["level"] == "2"
    assert not refused.success
    commands.drain()
    assert np.abs(commands.messages[-1].voltage).max() == 0.0
    arm.client.joint_state()
    arm.client.spin(0.2)
    answer = arm.client.call(Trigger, f"{CONTROLLER}/clear_fault", Trigger.Request())
    assert answer.success, answer.message


def test_lifecycle_transitions(arm: Arm) -> None:
    client = arm.client
    commands = arm.record(MotorCommand, "motor_commands")
    client.deactivate()
    assert client.lifecycle_state() == "inactive"

    def silenced() -> bool:
        commands.drain()
        return bool(commands.messages) and np.abs(commands.messages[-1].voltage).max() == 0.0

    assert client.wait(silenced, 10.0)
    client.spin(0.2)
    commands.clear()
    client.spin(0.2)
    commands.drain()
    assert not commands.messages, "an inactive controller is silent"

    arm.publish(trajectory(arm, TARGET), "joint_trajectory")
    assert arm.counted(CONTROLLER, "dropped joint_trajectory: not active") >= 1

    assert not client.change_state(Transition.TRANSITION_DEACTIVATE), "inactive cannot be deactivated"
    assert client.lifecycle_state() == "inactive"
    assert client.change_state(Transition.TRANSITION_CLEANUP)
    assert client.lifecycle_state() == "unconfigured"
    assert not client.change_state(Transition.TRANSITION_ACTIVATE), "unconfigured cannot be activated"
    client.activate()
    assert client.lifecycle_state() == "active"
    client.controller_state()


def test_without_commands_the_motors_see_zero_volts(arm: Arm) -> None:
    before = arm.counted(SIMULATION, "command timeouts")

    def undriven() -> bool:
        state = arm.client.joint_state()
        expected, _ = arm.robot.actuation.torques(np.zeros(6), np.array(state.velocity))
        return bool(np.abs(state.velocity).max() > 0.01 and np.allclose(state.effort, expected, atol=0.5))

    os.kill(arm.supervisor.pids[CONTROLLER], signal.SIGSTOP)
    try:
        assert arm.client.wait(undriven, 20.0)
    finally:
        os.kill(arm.supervisor.pids[CONTROLLER], signal.SIGCONT)
    assert arm.counted(SIMULATION, "command timeouts") > before


def test_stiffness_is_that_of_the_core(arm: Arm) -> None:
    q = [0.1, 0.5, -0.4, 0.3, 0.7, -0.2]
    answer = arm.client.call(GetStiffness, "get_stiffness", GetStiffness.Request(positions=q))
    expected = arm.robot.stiffness(np.array(q))
    assert answer.success, answer.message
    np.testing.assert_allclose(np.reshape(answer.stiffness, (6, 6)), expected.K, rtol=1e-9)
    np.testing.assert_allclose(np.reshape(answer.compliance, (6, 6)), expected.C, rtol=1e-9)
    np.testing.assert_allclose([answer.point.x, answer.point.y, answer.point.z], expected.point, rtol=1e-9)

    request = GetDeflection.Request(positions=q)
    request.wrench.force.z = -50.0
    moved = arm.client.call(GetDeflection, "get_deflection", request)
    assert moved.success, moved.message
    translation = [moved.translation.x, moved.translation.y, moved.translation.z]
    np.testing.assert_allclose(translation, (expected.C @ [0, 0, -50, 0, 0, 0])[:3], rtol=1e-9)


def test_stiffness_without_positions_uses_the_present_ones(arm: Arm) -> None:
    arm.publish(trajectory(arm, TARGET), "joint_trajectory")
    assert arm.client.wait(lambda: bool(np.abs(arm.positions() - TARGET).max() < 1e-4), 20.0)
    answer = arm.client.call(GetStiffness, "get_stiffness", GetStiffness.Request())
    assert answer.success, answer.message
    expected = arm.robot.stiffness(TARGET)
    np.testing.assert_allclose([answer.point.x, answer.point.y, answer.point.z], expected.point, atol=1e-3)


@pytest.mark.parametrize("positions", [[0.0] * 5, [0.0] * 7, [float("nan")] * 6, [float("inf")] + [0.0] * 5])
def test_stiffness_refuses_bad_positions_and_keeps_answering(shared_arm: Arm, positions: list[float]) -> None:
    for service, name in ((GetStiffness, "get_stiffness"), (GetDeflection, "get_deflection")):
        answer = shared_arm.client.call(service, name, service.Request(positions=positions))
        assert not answer.success
        assert "positions" in answer.message
    fine = GetStiffness.Request(positions=[0.1, 0.5, -0.4, 0.3, 0.7, -0.2])
    assert shared_arm.client.call(GetStiffness, "get_stiffness", fine).success


def test_stiffness_at_a_singular_pose_gives_the_compliance(shared_arm: Arm) -> None:
    request = GetStiffness.Request(positions=[0.0, 0.5, -0.4, 0.0, 0.0, 0.0])
    answer = shared_arm.client.call(GetStiffness, "get_stiffness", request)
    assert not answer.success
    assert "singular" in answer.message
    assert np.any(answer.compliance)
    assert not np.any(answer.stiffness)


def test_deflection_refuses_a_wrench_that_is_not_finite(shared_arm: Arm) -> None:
    request = GetDeflection.Request(positions=[0.1] * 6)
    request.wrench.torque.y = float("nan")
    answer = shared_arm.client.call(GetDeflection, "get_deflection", request)
    assert not answer.success
    assert "wrench" in answer.message


def push(link: str, force: float) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = link
    message.wrench.force.y = force
    return message


def test_an_external_wrench_pushes_the_arm_and_a_bad_one_does_not(arm: Arm) -> None:
    before = arm.client.diagnostics(SIMULATION)
    begin = arm.positions()
    arm.publish(push("elbow", 100.0), "external_wrench")
    arm.publish(push(arm.robot.mechanism.body_names[2], float("nan")), "external_wrench")
    after = arm.client.diagnostics(SIMULATION)
    for reason in ("unknown link", "not finite"):
        key = f"dropped external_wrench: {reason}"
        assert int(after.get(key, 0)) == int(before.get(key, 0)) + 1
    assert np.abs(arm.positions() - begin).max() < STILL
    states = arm.record(JointState, "joint_states")
    arm.publish(push(arm.robot.mechanism.body_names[2], 100.0), "external_wrench", times=5)
    states.drain()
    assert np.abs(np.array([m.position for m in states.messages]) - begin).max() > STILL


def test_a_state_that_is_not_finite_stops_the_simulation_until_reset(arm: Arm) -> None:
    arm.publish(push(arm.robot.mechanism.body_names[5], 1e300), "external_wrench")
    found = arm.client.diagnostics(SIMULATION)
    assert found["level"] == "2"
    assert "reset" in found["message"]
    states = arm.record(JointState, "joint_states")
    arm.client.spin(0.2)
    states.drain()
    assert not states.messages
    assert arm.client.call(Trigger, f"{SIMULATION}/reset", Trigger.Request()).success
    assert np.isfinite(arm.positions()).all()
    assert arm.client.diagnostics(SIMULATION)["level"] == "0"


def test_the_robot_description_is_latched(shared_arm: Arm) -> None:
    heard: list[str] = []
    node = shared_arm.client.node
    subscription = node.create_subscription(String, "robot_description", lambda m: heard.append(m.data), LATCHED)
    assert shared_arm.client.wait(lambda: bool(heard), 20.0)
    node.destroy_subscription(subscription)
    root = ElementTree.fromstring(heard[0])
    moving = [joint for joint in root.findall("joint") if joint.get("type") != "fixed"]
    assert [joint.get("name") for joint in moving] == list(shared_arm.robot.joint_names)
