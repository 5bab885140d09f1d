"""``dyn move``, ``dyn state`` and ``dyn stiffness``: small clients of a running system."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from dyn_robot.srv import GetDeflection, GetStiffness

from dyn_core import Robot, load_robot
from dyn_core.errors import InputError
from dyn_core.mechanism import PRISMATIC
from nodes.client import CONTROLLER, NOT_RUNNING, ClientError, RobotClient
from nodes.robots import position_limits

ARRIVED = 0.01
"""Distance from the target at which a motion counts as done (rad or m)."""


@contextmanager
def _connected(args: argparse.Namespace) -> Iterator[RobotClient]:
    with RobotClient(args.namespace) as client:
        if not client.running():
            raise ClientError(NOT_RUNNING)
        yield client


def move(args: argparse.Namespace) -> int:
    """Move the arm to joint positions."""
    with _connected(args) as client:
        robot = load_robot(client.parameter(CONTROLLER, "robot"))
        target = _target(robot, args.positions, args.degrees)
        start = np.array(client.controller_state().points[0].positions)
        duration = args.duration or _comfortable(robot, target - start)
        client.send_trajectory(list(robot.joint_names), np.array([duration]), target[None, :])
        if not args.wait:
            client.spin(0.2)
            print(f"moving for {duration:.3g} s")
            return 0
        client.spin(duration + 0.1)
        worst = _await_arrival(client, target)
        print(f"arrived after {duration:.3g} s, within {worst:.2g} of the target on every joint")
        return 0


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
        return ClientError(f"the controller has a fault: {found['fault']}")
    if found.get("state") != "active":
        return ClientError(f"the controller is {found.get('state')}")
    if "last dropped" in found:
        return ClientError(f"the controller dropped the trajectory ({found['last dropped']})")
    return ClientError("the arm did not arrive")


def state(args: argparse.Namespace) -> int:
    """Show the joints."""
    with _connected(args) as client:
        controller = _controller_label(client)
        try:
            while True:
                message = client.joint_state()
                print(_state_json(message, controller) if args.json else _state_table(message, controller), flush=True)
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


def _state_table(message: Any, controller: str) -> str:
    width = max(len(name) for name in message.name)
    lines = [f"{'joint':{width}}  {'position':>10}  {'velocity':>10}  {'effort':>10}   (rad, rad/s, N m; m, m/s, N)"]
    lines += [f"{name:{width}}  {q:10.5f}  {qd:10.5f}  {tau:10.4f}" for name, q, qd, tau in _state_rows(message)]
    return "\n".join([*lines, f"controller: {controller}"])


def _state_json(message: Any, controller: str) -> str:
    keys = ("name", "position", "velocity", "effort")
    stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
    joints = [dict(zip(keys, row, strict=True)) for row in _state_rows(message)]
    return json.dumps({"stamp": stamp, "controller": controller, "joints": joints})


def stiffness(args: argparse.Namespace) -> int:
    """Ask for the tool's stiffness (its compliance where it is infinite), or for its deflection under a wrench."""
    with _connected(args) as client:
        if args.wrench is not None:
            return _deflection(client, args)
        request = GetStiffness.Request(positions=args.positions)
        answer = client.call(GetStiffness, "get_stiffness", request)
    known = bool(answer.success or np.any(answer.compliance))
    if args.json:
        print(json.dumps(stiffness_dict(answer)))
    elif answer.success:
        print(f"{answer.message}: point {_vector(answer.point)} m in {answer.frame_id!r}")
        print("stiffness (N/m, N/rad; N m/m, N m/rad):")
        print(_matrix(answer.stiffness))
        print(f"condition {answer.condition:.4g}")
    elif known:
        print(answer.message)
        print("compliance (m/N, m/(N m); rad/N, rad/(N m)):")
        print(_matrix(answer.compliance))
    else:
        print(f"dyn stiffness: {answer.message}", file=sys.stderr)
    return 0 if known else 1


def _deflection(client: RobotClient, args: argparse.Namespace) -> int:
    request = GetDeflection.Request(positions=args.positions)
    force, torque = request.wrench.force, request.wrench.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = (float(x) for x in args.wrench)
    answer = client.call(GetDeflection, "get_deflection", request)
    translation, rotation = (
        [float(v.x), float(v.y), float(v.z)] for v in (answer.translation, answer.rotation)
    )
    if args.json:
        print(
            json.dumps(
                {
                    "success": answer.success,
                    "message": answer.message,
                    "frame_id": answer.frame_id,
                    "translation": translation,
                    "rotation": rotation,
                }
            )
        )
    elif answer.success:
        print(f"translation {_vector(answer.translation)} m, rotation {_vector(answer.rotation)} rad")
    else:
        print(f"dyn stiffness: {answer.message}", file=sys.stderr)
    return 0 if answer.success else 1


def stiffness_dict(answer: Any) -> dict[str, Any]:
    """A GetStiffness response as plain values; what is not finite is null, as JSON has no word for it."""
    condition = float(answer.condition)
    return {
        "success": bool(answer.success),
        "message": answer.message,
        "frame_id": answer.frame_id,
        "point": [answer.point.x, answer.point.y, answer.point.z],
        "stiffness": np.reshape(answer.stiffness, (6, 6)).tolist() if answer.success else None,
        "compliance": np.reshape(answer.compliance, (6, 6)).tolist(),
        "eigenvalues": [float(x) for x in answer.eigenvalues] if answer.success else None,
        "condition": condition if np.isfinite(condition) else None,
    }


def _vector(v: Any) -> str:
    return f"[{v.x:.5g}, {v.y:.5g}, {v.z:.5g}]"


def _matrix(values: Any) -> str:
    return "\n".join("  " + " ".join(f"{x:11.4g}" for x in row) for row in np.reshape(values, (6, 6)))
