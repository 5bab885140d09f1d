"""``dyn demo``: the whole system over real DDS, a motion, and a table of how well it went."""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from dyn_robot.srv import GetStiffness
from geometry_msgs.msg import PoseStamped
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from dyn_core import Robot
from dyn_core.actuation import CODES
from dyn_core.errors import SingularityError, WorkspaceError
from dyn_core.mechanism import PRISMATIC
from dyn_core.parallel_robot import ParallelRobot
from dyn_core.pose_trajectory import PoseTrajectory, displaced, leg_trajectory, poses_apart, through_poses
from dyn_core.trajectory import Trajectory, through_points
from nodes.bringup import system
from nodes.client import CONTROLLER, SIMULATION, ClientError, Recorder, RobotClient
from nodes.domain import claim_domain
from nodes.loop import nanoseconds
from nodes.platform_publisher import POSE, pose_matrix
from nodes.robots import load_fixed_robot, position_limits
from nodes.stiffness_answers import as_json
from nodes.stiffness_messages import stiffness_dict
from nodes.up import running

SWING = 0.5
"""Amplitude of the motion (rad or m) where the limits allow it."""
WAYPOINTS = (1.0, -0.6, 0.8)
"""Waypoints in parts of the swing; the last is the pose at which the stiffness is asked."""
SECONDS = 5.0
TOLERANCE = 5e-3
"""Tracking error (rad or m, rms) above which the demo counts as failed."""
SETTLE = 0.3
"""Time after the motion's end in which nothing may go wrong (s)."""


PLATFORM = np.array(
    [
        [1.0, 0.0, 0.5, 0.0, 0.6, 0.3],
        [0.0, 1.0, -0.6, -0.6, 0.0, -0.6],
        [-1.0, -0.3, 0.4, 0.5, -0.4, 0.5],
        [0.4, -0.5, 0.3, 0.3, 0.3, -0.3],
    ]
)
"""Where a platform goes from its start: translation and rotation vector, in parts of REACH and TURN."""
REACH, TURN = 0.2, 0.3
"""Translation (in characteristic lengths) and rotation (rad) of a platform where the legs allow it."""
ATTEMPTS = 40
"""Times that a platform's motion is tried smaller by a tenth for the legs, or slower by a quarter for the motors."""
CLEAR = 0.05
"""Part of a leg's range that the demo keeps away from its limits."""


@dataclass(frozen=True)
class Motion:
    """A trajectory and the points that were sent to have it followed."""

    times: np.ndarray
    positions: np.ndarray
    trajectory: Trajectory
    velocities: np.ndarray | None = None
    accelerations: np.ndarray | None = None
    platform: PoseTrajectory | None = None
    """What a platform does meanwhile."""


def run(args: argparse.Namespace) -> int:
    """Run the demo; status 0 only if everything went well."""
    robot = load_fixed_robot(args.robot)
    _ = robot.actuation
    os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    output: list[str] = []
    given = {"robot": args.robot, "formulation": args.formulation, "realtime_priority": args.realtime_priority}
    planned = system("sim", given)
    try:
        _say(f"starting {', '.join(node.name for node in planned.nodes)}")
        with running(planned, quiet=output) as (supervisor, client):
            report = _perform(robot, client)
            statuses = supervisor.stop()
    except ClientError as error:
        print("\n".join(output[-20:]), file=sys.stderr)
        raise ClientError(f"the demo failed: {error}") from error
    report["problems"] += [f"{name} ended with status {s}" for name, s in statuses.items() if s != 0]
    report["ok"] = not report["problems"]
    print(json.dumps(report) if args.json else _table(report))
    for problem in report["problems"]:
        print(f"dyn demo: {problem}", file=sys.stderr)
    return 0 if report["ok"] else 1


def plan(robot: Robot, start: np.ndarray) -> Motion:
    """A smooth motion from ``start`` within the joints' limits, as slow as speed, current and voltage ask for."""
    if isinstance(robot, ParallelRobot):
        return _platform_plan(robot, start)
    low, high = position_limits(robot).T
    room = np.where(np.isfinite(high - low), 0.4 * (high - low), SWING)
    driven = driven_joints(robot)
    swing = np.minimum(SWING, room) * driven * np.where(np.cumsum(driven) % 2 == 1, 1.0, -1.0)
    rows = np.array([np.clip(start + part * swing, low, high) for part in WAYPOINTS])
    positions = np.vstack((start, rows))
    duration = SECONDS
    for _ in range(20):
        times = np.linspace(0.0, duration, len(positions))
        motion = Motion(times, positions, through_points(times, positions))
        if _possible(robot, motion.trajectory):
            break
        duration *= 1.25
    return motion


def _platform_plan(robot: ParallelRobot, start: np.ndarray) -> Motion:
    """A motion of the platform through poses about its own, as large as legs allow, as slow as motors ask for."""
    first = robot.forward_kinematics(start)
    S = robot.freedoms
    offsets = PLATFORM * ([REACH * robot.size] * 3 + [TURN] * 3) @ S @ S.T
    low, high = position_limits(robot).T
    clear = np.where(np.isfinite(high - low), CLEAR * (high - low), 0.0)
    duration = SECONDS
    for _ in range(ATTEMPTS):
        path = through_poses(
            np.linspace(0.0, duration, len(offsets) + 1), [first, *(displaced(first, each) for each in offsets)]
        )
        try:
            legs = leg_trajectory(robot, path)
        except (WorkspaceError, SingularityError):
            offsets *= 0.9
            continue
        if ((legs.q < low + clear) | (legs.q > high - clear)).any():
            offsets *= 0.9
            continue
        motion = Motion(legs.times, legs.q, legs.trajectory(), legs.qd, legs.qdd, path)
        if _possible(robot, motion.trajectory):
            return motion
        duration *= 1.25
    raise ClientError(f"{robot.name}: found no motion of the platform about its pose that legs and motors can make")


def driven_joints(robot: Robot) -> np.ndarray:
    """(n,) which joints have motors; the others, such as elastic ones, move as the dynamics says."""
    return (robot.mechanism.active & ~robot.mechanism.elastic)[robot.joints]


def _possible(robot: Robot, trajectory: Trajectory) -> bool:
    q, qd, qdd = trajectory.sample(np.linspace(0.0, trajectory.duration, 200))
    _, cut = robot.actuation.voltages(robot.inverse_dynamics(q, qd, qdd), qd)
    slow = (np.abs(qd) <= 0.8 * robot.mechanism.velocity_limits[robot.joints]).all()
    return bool(slow and not cut[:, driven_joints(robot)].any())


def _perform(robot: Robot, client: RobotClient) -> dict[str, Any]:
    motion = plan(robot, np.array(client.controller_state().points[0].positions))
    with ExitStack() as open_recorders:

        def record(message_type: type, topic: str) -> Recorder:
            return open_recorders.enter_context(client.record(message_type, topic))

        states = record(JointState, "joint_states")
        commands = record(MotorCommand, "motor_commands")
        followed = record(JointTrajectory, f"{CONTROLLER}/state")
        recorders = [states, commands, followed]
        poses = record(PoseStamped, POSE) if motion.platform is not None else None
        if poses is not None:
            recorders.append(poses)
        before = {name: client.diagnostics(name) for name in (SIMULATION, CONTROLLER)}
        for recorder in recorders:
            recorder.clear()
        earliest = nanoseconds(client.controller_state().header.stamp)
        _say(f"moving {robot.name} for {motion.trajectory.duration:g} s")
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
            for recorder in recorders:
                recorder.drain()
            start = next((s for s in map(_plan_start, followed.messages) if s >= earliest), 0)
            latest = followed.messages[-1] if followed.messages else None
            return bool(start and _seconds(latest, start) > motion.trajectory.duration + SETTLE)

        if not client.wait(done, motion.trajectory.duration + 10.0, 0.05):
            raise ClientError(_why_not(client))
        _say("asking for the stiffness at the end pose")
        stiffness = client.call(GetStiffness, "get_stiffness", GetStiffness.Request())
        after = {name: client.diagnostics(name) for name in (SIMULATION, CONTROLLER)}
    report = _report(robot, motion, start, states, commands, stiffness, before, after)
    if motion.platform is not None and poses is not None:
        report["platform"] = followed_by = _platform_tracking(motion.platform, start, poses)
        if not followed_by["rms_distance"] < TOLERANCE:
            report["problems"].append(f"platform: {followed_by['rms_distance']:.2g} m rms is above {TOLERANCE:g}")
    return report


def _platform_tracking(path: PoseTrajectory, start: int, poses: Recorder) -> dict[str, Any]:
    """How far the platform was from its path, by the poses that it published."""
    t = np.array([_seconds(message, start) for message in poses.messages])
    moving = (t >= 0.0) & (t <= path.duration)
    if not moving.any():
        raise ClientError("no pose of the platform was heard during the motion")
    met = np.array([pose_matrix(message) for message in poses.messages])[moving]
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


def _why_not(client: RobotClient) -> str:
    found = client.diagnostics(CONTROLLER)
    cause = found["fault"] or found.get("last dropped") or found["message"]
    return f"the motion did not come to its end ({cause})"


def _report(
    robot: Robot,
    motion: Motion,
    start: int,
    states: Recorder,
    commands: Recorder,
    stiffness: Any,
    before: dict[str, dict[str, str]],
    after: dict[str, dict[str, str]],
) -> dict[str, Any]:
    duration = motion.trajectory.duration
    t = np.array([_seconds(message, start) for message in states.messages])
    moving = (t >= 0.0) & (t <= duration)
    q = np.array([message.position for message in states.messages])[moving][:, robot.joints]
    effort = np.array([message.effort for message in states.messages])[moving][:, robot.joints]
    error = q - motion.trajectory.sample(t[moving])[0]
    during = [message for message in commands.messages if 0.0 <= _seconds(message, start) <= duration]
    volts = np.array([message.voltage for message in during])
    codes = np.array([message.dac_code for message in during])
    used = (codes.max(axis=0) - codes.min(axis=0)) / robot.actuation.motors[:, CODES]
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
        }
        for j, name in enumerate(robot.joint_names)
    ]
    fault = after[CONTROLLER].get("fault", "")
    problems = [f"the controller has a fault: {fault}"] if fault else []
    problems += [
        f"{joint['name']}: tracking error {joint['rms_error']:.2g} {joint['unit']} rms is above {TOLERANCE:g}"
        for joint, driven in zip(joints, driven_joints(robot), strict=True)
        if driven and not joint["rms_error"] < TOLERANCE  # type: ignore[operator]
    ]
    if not stiffness.success and not np.any(stiffness.compliance):
        problems.append(f"stiffness: {stiffness.message}")
    return {
        "robot": robot.name,
        "duration": duration,
        "samples": int(moving.sum()),
        "joints": joints,
        "controller": _loop(before[CONTROLLER], after[CONTROLLER]),
        "simulation": _loop(before[SIMULATION], after[SIMULATION]),
        "stiffness": as_json(stiffness_dict(stiffness)),
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


def _table(report: dict[str, Any]) -> str:
    joints = report["joints"]
    width = max(len("joint"), *(len(joint["name"]) for joint in joints))
    lines = [
        f"{report['robot']}: a motion of {report['duration']:g} s, {report['samples']} samples",
        "",
        f"{'joint':{width}}  {'rms error':>12}  {'max error':>12}  {'peak torque':>11}"
        f"  {'peak voltage':>12}  {'DAC range':>9}",
    ]
    for joint in joints:
        unit = joint["unit"]
        effort = "N" if unit == "m" else "N m"
        lines.append(
            f"{joint['name']:{width}}  {joint['rms_error']:8.2e} {unit:3}  {joint['max_error']:8.2e} {unit:3}"
            f"  {joint['peak_torque']:7.2f} {effort:3}  {joint['peak_voltage']:10.2f} V"
            f"  {100 * joint['dac_range_used']:7.1f} %"
        )
    if (at := report.get("platform")) is not None:
        lines += [
            "",
            f"platform: up to {1e3 * at['travel']:.0f} mm and {np.degrees(at['turn']):.1f} degrees from its start;"
            f" position off by {1e3 * at['rms_distance']:.3f} mm rms, {1e3 * at['max_distance']:.3f} mm at most,"
            f" orientation by {np.degrees(at['rms_angle']):.4f} degrees rms, {np.degrees(at['max_angle']):.4f} at most",
        ]
    lines.append("")
    for name in ("controller", "simulation"):
        loop = report[name]
        lines.append(
            f"{name}: {loop['rate']:.0f} Hz held, {loop['missed_deadlines']} of"
            f" {loop['cycles'] + loop['missed_deadlines']} deadlines missed;"
            f" cycle p50 {loop['cycle_p50_ms']:.2f}, p99 {loop['cycle_p99_ms']:.2f}, max {loop['cycle_max_ms']:.2f} ms;"
            f" {100 * loop['within_2ms']:.2f} % within 2 ms"
        )
    lines.append("")
    stiffness = report["stiffness"]
    if stiffness["success"]:
        K = np.diag(np.array(stiffness["stiffness"]))
        lines.append(f"stiffness at the end pose, tool at {np.round(stiffness['point'], 3).tolist()} m:")
        along, about = (" ".join(f"{x:.4g}" for x in part) for part in (K[:3], K[3:]))
        lines.append(f"  along x y z {along} N/m, about x y z {about} N m/rad")
    else:
        lines.append(f"stiffness at the end pose: {stiffness['message']}")
    return "\n".join(lines)


def _seconds(message: Any, start: int) -> float:
    return (nanoseconds(message.header.stamp) - start) * 1e-9


def _say(text: str) -> None:
    print(f"dyn demo: {text}", file=sys.stderr, flush=True)
