"""``dyn move``, ``state``, ``stop`` and ``clear``: small clients of a running system."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from std_srvs.srv import SetBool, Trigger

from dyn_core import Robot, load_robot
from dyn_core.description.pose import pose, rotation_from_rpy, rpy_from_rotation
from dyn_core.errors import InputError
from dyn_core.mechanism import PRISMATIC
from dyn_core.parallel_robot import ParallelRobot
from dyn_core.pose_trajectory import platform_move, poses_apart
from nodes.client import CONTROLLER, FAULT, NOT_RUNNING, ClientError, RobotClient
from nodes.platform_publisher import POSE, pose_matrix, twist_vector
from nodes.robots import position_limits

ARRIVED = 0.01
"""Distance from the target at which a motion counts as done (rad or m)."""
STOPPED = 2.0
"""Seconds in which a robot that brakes comes to rest."""
AT_REST = 1e-6
"""Desired speed below which a platform's way can begin (rad/s or m/s)."""


@contextmanager
def _connected(args: argparse.Namespace) -> Iterator[RobotClient]:
    with RobotClient(args.namespace) as client:
        if not client.running():
            raise ClientError(NOT_RUNNING)
        yield client


def move(args: argparse.Namespace) -> int:
    """Move the arm to joint positions, or a platform to a pose."""
    with _connected(args) as client:
        robot = load_robot(client.parameter(CONTROLLER, "robot"))
        if args.pose is not None:
            target, duration = _send_pose(client, robot, args)
        else:
            target, duration = _send_positions(client, robot, args)
        if not args.wait:
            client.spin(0.2)
            print(f"moving for {duration:.3g} s")
            return 0
        client.spin(duration + 0.1)
        worst = _await_arrival(client, target)
        print(f"arrived after {duration:.3g} s, within {worst:.2g} of the target on every joint")
        if args.pose is not None:
            print(_away(client, _pose(args)))
        return 0


def _send_positions(client: RobotClient, robot: Robot, args: argparse.Namespace) -> tuple[np.ndarray, float]:
    target = _target(robot, args.positions, args.degrees)
    start = np.array(client.controller_state().points[0].positions)
    duration = args.duration or _comfortable(robot, target - start)
    client.send_trajectory(list(robot.joint_names), np.array([duration]), target[None, :])
    return target, duration


def _pose(args: argparse.Namespace) -> np.ndarray:
    angles = np.radians(args.pose[3:]) if args.degrees else args.pose[3:]
    return pose(rotation_from_rpy(*angles), np.array(args.pose[:3]))


def _send_pose(client: RobotClient, robot: Robot, args: argparse.Namespace) -> tuple[np.ndarray, float]:
    """Send the legs along the platform's straight way; nothing is sent if it is not possible."""
    if not isinstance(robot, ParallelRobot):
        raise InputError(f"{robot.name} has no platform on legs: give joint positions instead of a pose")
    desired = client.controller_state().points[0]
    if np.abs(desired.velocities).max() > AT_REST:
        if fault := client.diagnostics(CONTROLLER).get("fault"):
            raise ClientError(FAULT.format(fault))
        raise ClientError("the robot is moving: wait until it is at rest, or cancel its motion")
    start = np.array(desired.positions)
    legs = platform_move(robot, start, _pose(args), args.duration)
    rows = slice(1, None)  # the controller begins where it is
    client.send_trajectory(
        list(robot.joint_names), legs.times[rows], legs.q[rows], velocities=legs.qd[rows], accelerations=legs.qdd[rows]
    )
    return legs.q[-1], float(legs.times[-1])


def _away(client: RobotClient, target: np.ndarray) -> str:
    distance, angle = poses_apart(target, pose_matrix(client.platform()[0]))
    return f"the platform is within {1e3 * float(distance):.2g} mm and {float(angle):.2g} rad of its pose"


def _target(robot: Robot, positions: list[float], degrees: bool) -> np.ndarray:
    if len(positions) != robot.n:
        raise InputError(f"{robot.name} has {robot.n} joints ({', '.join(robot.joint_names)}), found {len(positions)}")
    target = np.array(positions, dtype=float)
    if degrees:
        revolute = robot.mechanism.joint_type[robot.joints] != PRISMATIC
        target[revolute] = np.radians(target[revolute])
    limits = position_limits(robot)
    for j in np.flatnonzero((target < limits[:, 0]) | (target > limits[:, 1])):
        raise InputError(
            f"{robot.joint_names[j]}: {target[j]:.4g} is outside its limits [{limits[j, 0]:.4g}, {limits[j, 1]:.4g}]"
        )
    return target


def _comfortable(robot: Robot, distance: np.ndarray) -> float:
    """A duration at which the peak speed, 15/8 of the mean, is at most half of each joint's limit and 1 rad/s."""
    speed = np.minimum(0.5 * robot.mechanism.velocity_limits[robot.joints], 1.0)
    return max(1.0, float((1.875 * np.abs(distance) / speed).max()))


def _await_arrival(client: RobotClient, target: np.ndarray) -> float:
    end = time.monotonic() + 2.0
    while True:
        try:
            desired, measured = (np.array(p.positions) for p in client.controller_state(1.0).points)
        except ClientError:
            raise _why_not(client) from None
        worst = float(np.abs(measured - target).max())
        if np.abs(desired - target).max() < 1e-6 and worst < ARRIVED:
            return worst
        if time.monotonic() > end:
            raise _why_not(client)


def _why_not(client: RobotClient) -> ClientError:
    found = client.diagnostics(CONTROLLER)
    if found.get("fault"):
        return ClientError(FAULT.format(found["fault"]))
    if found.get("state") != "active":
        return ClientError(f"the controller is {found.get('state')}")
    if "last dropped" in found:
        return ClientError(f"the controller dropped the trajectory ({found['last dropped']})")
    return ClientError("the arm did not arrive")


def stop(args: argparse.Namespace) -> int:
    """Cancel the motion, or press the emergency stop."""
    with _connected(args) as client:
        if args.emergency:
            said = client.call(SetBool, f"{CONTROLLER}/emergency_stop", SetBool.Request(data=True)).message
            print(f"emergency stop {said}; ./dyn clear lets the robot go on")
        else:
            print(client.call(Trigger, f"{CONTROLLER}/cancel", Trigger.Request()).message)
        return 0


def clear(args: argparse.Namespace) -> int:
    """Release the emergency stop of ``stop`` and clear a fault; a robot that still brakes is waited for."""
    with _connected(args) as client:
        client.call(SetBool, f"{CONTROLLER}/emergency_stop", SetBool.Request(data=False))
        end = time.monotonic() + STOPPED
        while True:
            answer = client.call(Trigger, f"{CONTROLLER}/clear_fault", Trigger.Request())
            if answer.success:
                print(answer.message)
                return 0
            if time.monotonic() > end:
                raise ClientError(answer.message)
            client.spin(0.1)


def state(args: argparse.Namespace) -> int:
    """Show the joints."""
    with _connected(args) as client:
        controller = _controller_label(client)
        try:
            while True:
                message = client.joint_state()
                platform = client.platform() if client.node.count_publishers(POSE) else None
                show = _state_json if args.json else _state_table
                print(show(message, controller, platform), flush=True)
                if not args.watch:
                    return 0
                client.spin(0.5)
        except KeyboardInterrupt:
            return 0


def _controller_label(client: RobotClient) -> str:
    try:
        return client.lifecycle_state(timeout=2.0)
    except ClientError:
        return "not running"


def _state_rows(message: Any) -> list[tuple[str, float, float, float]]:
    efforts = message.effort if len(message.effort) else [float("nan")] * len(message.name)
    return list(zip(message.name, message.position, message.velocity, efforts, strict=True))


def _state_table(message: Any, controller: str, platform: Any = None) -> str:
    width = max(len(name) for name in message.name)
    lines = [f"{'joint':{width}}  {'position':>10}  {'velocity':>10}  {'effort':>10}   (rad, rad/s, N m; m, m/s, N)"]
    lines += [f"{name:{width}}  {q:10.5f}  {qd:10.5f}  {tau:10.4f}" for name, q, qd, tau in _state_rows(message)]
    if platform is not None:
        shown = _platform(platform)
        lines.append("platform at " + "  ".join(f"{x:.5f}" for x in shown["position"]) + " m")
        lines.append("  roll pitch yaw " + "  ".join(f"{x:.5f}" for x in shown["roll_pitch_yaw"]) + " rad")
        lines.append("  velocity " + "  ".join(f"{x:.5f}" for x in shown["velocity"]) + " m/s")
        lines.append("  angular velocity " + "  ".join(f"{x:.5f}" for x in shown["angular_velocity"]) + " rad/s")
    return "\n".join([*lines, f"controller: {controller}"])


def _state_json(message: Any, controller: str, platform: Any = None) -> str:
    keys = ("name", "position", "velocity", "effort")
    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    joints = [dict(zip(keys, row, strict=True)) for row in _state_rows(message)]
    shown = {} if platform is None else {"platform": _platform(platform)}
    return json.dumps({"stamp": stamp, "controller": controller, "joints": joints, **shown})


def _platform(platform: Any) -> dict[str, list[float]]:
    at, moving = platform
    T, V = pose_matrix(at), twist_vector(moving)
    return {
        "position": T[:3, 3].tolist(),
        "roll_pitch_yaw": list(rpy_from_rotation(T[:3, :3])),
        "velocity": V[:3].tolist(),
        "angular_velocity": V[3:].tolist(),
    }
