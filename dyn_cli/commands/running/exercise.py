"""The demo's motion on a running system, and how well it was followed."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from dyn_robot.srv import GetStiffness
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from dyn_cli.client.recorder import Recorder
from dyn_cli.client.robot_client import CONTROLLER, SIMULATION, ClientError, RobotClient
from dyn_core import Robot
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial import poses_apart
from dyn_core.stiffness_maps import as_json
from dyn_core.trajectory import ExerciseMotion, PoseTrajectory, exercise_motion
from dyn_nodes.common.geometry_messages import pose_array
from dyn_nodes.common.stamps import nanoseconds
from dyn_nodes.simulated_robot.platform_publisher import POSE
from dyn_nodes.stiffness_server.messages import stiffness_of

STATE = f"{CONTROLLER}/state"
LOOPS = {"controller": CONTROLLER, "simulation": SIMULATION}
TOLERANCE = 5e-3
"""Tracking error (rad or m, rms) above which the demo counts as failed."""
SETTLE = 0.3
"""Time after the motion's end in which nothing may go wrong (s)."""


def perform(robot: Robot, client: RobotClient, say: Callable[[str], None]) -> dict[str, Any]:
    """Move a robot, and report how it followed and how its loops ran; what went wrong is in "problems"."""
    motion = exercise_motion(robot, np.array(client.controller_state().points[0].positions))
    topics = {"joint_states": JointState, "motor_commands": MotorCommand, STATE: JointTrajectory}
    if motion.platform is not None:
        topics[POSE] = PoseStamped
    with ExitStack() as listening:
        heard = {topic: listening.enter_context(client.record(kind, topic)) for topic, kind in topics.items()}
        followed = heard[STATE]
        before = {name: client.diagnostics(name) for name in (SIMULATION, CONTROLLER)}
        for recorder in heard.values():
            recorder.clear()
        earliest = nanoseconds(client.controller_state().header.stamp)
        say(f"moving {robot.name} for {motion.trajectory.duration:g} s")
        client.send_trajectory(
            list(robot.joint_names),
            motion.times,
            motion.positions,
            velocities=motion.velocities,
            accelerations=motion.accelerations,
        )
        start = 0

        def done() -> bool:
            nonlocal start
            for recorder in heard.values():
                recorder.drain()
            start = next((s for s in map(_plan_start, followed.messages) if s >= earliest), 0)
            latest = followed.messages[-1] if followed.messages else None
            return bool(start and _seconds(latest, start) > motion.trajectory.duration + SETTLE)

        if not client.wait(done, motion.trajectory.duration + 10.0, 0.05):
            raise ClientError(f"the motion did not come to its end ({client.trouble()})")
        say("asking for the stiffness at the end pose")
        stiffness = client.call(GetStiffness, "get_stiffness", GetStiffness.Request())
        after = {name: client.diagnostics(name) for name in (SIMULATION, CONTROLLER)}
    report = _report(robot, motion, start, heard, stiffness)
    report |= {name: _loop(before[node], after[node]) for name, node in LOOPS.items()}
    if fault := after[CONTROLLER].get("fault", ""):
        report["problems"].insert(0, f"the controller has a fault: {fault}")
    if motion.platform is not None:
        report["platform"] = followed_by = _platform_tracking(motion.platform, start, heard[POSE])
        if not followed_by["rms_distance"] < TOLERANCE:
            report["problems"].append(f"platform: {followed_by['rms_distance']:.2g} m rms is above {TOLERANCE:g}")
    return report


def _platform_tracking(path: PoseTrajectory, start: int, poses: Recorder) -> dict[str, Any]:
    """How far the platform was from its path, by the poses that it published."""
    t = np.array([_seconds(message, start) for message in poses.messages])
    moving = (t >= 0.0) & (t <= path.duration)
    if not moving.any():
        raise ClientError("no pose of the platform was heard during the motion")
    met = np.array([pose_array(message.pose) for message in poses.messages])[moving]
    wanted = path.sample(t[moving]).pose
    distance, angle = poses_apart(wanted, met)
    from_start = poses_apart(wanted[:1], wanted)
    return {
        "samples": int(moving.sum()),
        "travel": float(from_start[0].max()),
        "turn": float(from_start[1].max()),
        "rms_distance": float(np.sqrt(np.mean(distance**2))),
        "max_distance": float(distance.max()),
        "rms_angle": float(np.sqrt(np.mean(angle**2))),
        "max_angle": float(angle.max()),
    }


def _plan_start(state: JointTrajectory) -> int:
    """Stamp (ns) at which the motion that the controller follows has begun."""
    return nanoseconds(state.header.stamp) - nanoseconds(state.points[0].time_from_start)


def _report(
    robot: Robot, motion: ExerciseMotion, start: int, heard: dict[str, Recorder], stiffness: Any
) -> dict[str, Any]:
    duration = motion.trajectory.duration
    states, during = (
        [message for message in heard[topic].messages if 0.0 <= _seconds(message, start) <= duration]
        for topic in ("joint_states", "motor_commands")
    )
    t = np.array([_seconds(message, start) for message in states])
    q = np.array([message.position for message in states])[:, robot.joints]
    effort = np.array([message.effort for message in states])[:, robot.joints]
    error = q - motion.trajectory.sample(t)[0]
    volts = np.array([message.voltage for message in during])
    codes = np.array([message.dac_code for message in during])
    used = (codes.max(axis=0) - codes.min(axis=0)) / (robot.actuation.code_limits[1] + 1.0)
    rms, largest = np.sqrt(np.mean(error**2, axis=0)), np.abs(error).max(axis=0)
    joints = [
        {
            "name": name,
            "unit": "m" if robot.mechanism.joint_type[robot.joints[j]] == PRISMATIC else "rad",
            "rms_error": float(rms[j]),
            "max_error": float(largest[j]),
            "peak_torque": float(np.abs(effort[:, j]).max()),
            "peak_voltage": float(np.abs(volts[:, j]).max()),
            "dac_range_used": float(used[j]),
            "ideal_drive": bool(robot.actuation.ideal[j]),
        }
        for j, name in enumerate(robot.joint_names)
    ]
    problems = [
        f"{joint['name']}: tracking error {joint['rms_error']:.2g} {joint['unit']} rms is above {TOLERANCE:g}"
        for joint, driven in zip(joints, robot.driven, strict=True)
        if driven and not joint["rms_error"] < TOLERANCE
    ]
    if not stiffness.success and not np.any(stiffness.compliance):
        problems.append(f"stiffness: {stiffness.message}")
    return {
        "robot": robot.name,
        "duration": duration,
        "samples": len(states),
        "joints": joints,
        "stiffness": as_json(stiffness_of(stiffness)),
        "problems": problems,
    }


def _loop(before: dict[str, str], after: dict[str, str]) -> dict[str, float]:
    """Figures of a loop: counts since ``before``, times over its last cycles (at most 10,000)."""
    return {
        "rate": float(after["rate (Hz)"]),
        "cycles": int(after["cycles"]) - int(before["cycles"]),
        "missed_deadlines": int(after["missed deadlines"]) - int(before["missed deadlines"]),
        "cycle_p50_ms": float(after["cycle p50 (ms)"]),
        "cycle_p99_ms": float(after["cycle p99 (ms)"]),
        "cycle_max_ms": float(after["cycle max (ms)"]),
        "within_2ms": float(after["within 2 ms (%)"]) / 100.0,
    }


def _seconds(message: Any, start: int) -> float:
    return (nanoseconds(message.header.stamp) - start) * 1e-9
