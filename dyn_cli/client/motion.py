"""Motions of a running robot: sent, and waited for."""

import time

import numpy as np

from dyn_core import Robot
from dyn_core.errors import InputError
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial import poses_apart
from dyn_core.trajectory import platform_move
from dyn_nodes.common.geometry_messages import pose_array

from .robot_client import CONTROLLER, FAULT, ClientError, RobotClient

ARRIVED = 0.01
"""Distance from the target at which a motion counts as done (rad or m)."""
AT_REST = 1e-6
"""Desired speed below which a platform's way can begin (rad/s or m/s)."""


def send_positions(
    client: RobotClient, robot: Robot, positions: list[float], degrees: bool, duration: float | None
) -> tuple[np.ndarray, float]:
    """Begin a motion to joint positions (rad or degrees, m); returns them (n,) in rad and m, and its time (s)."""
    target = _target(robot, positions, degrees)
    start = np.array(client.controller_state().points[0].positions)
    duration = duration or _comfortable(robot, target - start)
    client.send_trajectory(list(robot.joint_names), np.array([duration]), target[None, :])
    return target, duration


def send_pose(client: RobotClient, robot: Robot, pose: np.ndarray, duration: float | None) -> tuple[np.ndarray, float]:
    """Send the legs along the platform's straight way to a pose (4, 4); nothing is sent if it is not possible.

    Returns the legs' last positions (n,) in m or rad, and the time of the motion (s).
    """
    if robot.platform is None or robot.platform.turns_only:
        raise InputError(f"{robot.name} has no platform on legs: give joint positions instead of a pose")
    desired = client.controller_state().points[0]
    if np.abs(desired.velocities).max() > AT_REST:
        if fault := client.diagnostics(CONTROLLER).get("fault"):
            raise ClientError(FAULT.format(fault))
        raise ClientError("the robot is moving: wait until it is at rest, or cancel its motion")
    start = np.array(desired.positions)
    legs = platform_move(robot, start, pose, duration)
    rows = slice(1, None)  # the controller begins where it is
    client.send_trajectory(
        list(robot.joint_names), legs.times[rows], legs.q[rows], velocities=legs.qd[rows], accelerations=legs.qdd[rows]
    )
    return legs.q[-1], float(legs.times[-1])


def distance_to(client: RobotClient, target: np.ndarray) -> tuple[float, float]:
    """How far the platform is from a pose (4, 4): m, rad."""
    distance, angle = poses_apart(target, pose_array(client.platform()[0].pose))
    return float(distance), float(angle)


def _target(robot: Robot, positions: list[float], degrees: bool) -> np.ndarray:
    if len(positions) != robot.n:
        raise InputError(f"{robot.name} has {robot.n} joints ({', '.join(robot.joint_names)}), found {len(positions)}")
    target = np.array(positions, dtype=float)
    if degrees:
        revolute = robot.mechanism.joint_type[robot.joints] != PRISMATIC
        target[revolute] = np.radians(target[revolute])
    limits = robot.position_limits
    for j in np.flatnonzero((target < limits[:, 0]) | (target > limits[:, 1])):
        raise InputError(
            f"{robot.joint_names[j]}: {target[j]:.4g} is outside its limits [{limits[j, 0]:.4g}, {limits[j, 1]:.4g}]"
        )
    return target


def _comfortable(robot: Robot, distance: np.ndarray) -> float:
    """A duration at which the peak speed, 15/8 of the mean, is at most half of each joint's limit and 1 rad/s."""
    speed = np.minimum(0.5 * robot.mechanism.velocity_limits[robot.joints], 1.0)
    return max(1.0, float((1.875 * np.abs(distance) / speed).max()))


def await_arrival(client: RobotClient, target: np.ndarray) -> float:
    """Wait until the robot has arrived at (n,) positions; returns the largest distance left.

    ClientError if it does not arrive.
    """
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
