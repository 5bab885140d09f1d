"""Whether a robot can make a planned motion: within position, velocity, torque and voltage limits, its chains closed.

Each check refuses a motion with the joint and the place on the way.
"""

from __future__ import annotations

import numpy as np

from dyn_core.errors import DynError, RefusedError
from dyn_core.robots.robot import Robot
from dyn_core.trajectory.joint_trajectory import Trajectory

from .limits import Limits
from .motion_plan import Waypoints

BETWEEN = 8
"""Instants between two points at which a motion is checked, at most MOST altogether."""
MOST = 4000
INSTANTS = 100
"""Instants at which torque, voltage and closure of a motion are checked."""
ROUNDING = 1e-6
"""Part of a limit by which a motion may exceed it: a spline overshoots the limit at which a point lies by this."""


def check_motion(motion: Trajectory, points: Waypoints, limits: Limits) -> None:
    """Refuse a motion that exceeds a position or velocity limit at a point or between points, with joint and place."""
    ends = points.times if points.times[0] == 0.0 else np.concatenate(([0.0], points.times))
    parts = max(1, min(BETWEEN, MOST // len(ends)))
    fractions = np.arange(parts) / parts
    times = np.append((ends[:-1, None] + np.diff(ends)[:, None] * fractions).ravel(), ends[-1])
    q, qd, _ = motion.sample(times)
    low, high = limits.soft.T
    room = ROUNDING * np.maximum(1.0, np.abs(q))
    begun = np.abs(times) > 0.0  # where a robot is now, is no fault of the trajectory
    for what, unit, value, over in (
        ("outside position limits", "", q, (q < low - room) | (q > high + room)),
        ("above the velocity limit", "/s", np.abs(qd), np.abs(qd) > limits.velocity * (1.0 + ROUNDING)),
    ):
        over &= begun[:, None]
        if over.any():
            i, j = np.argwhere(over)[0]
            where = int(np.searchsorted(points.times, times[i] - 1e-12))
            at = f"at point {where}" if abs(points.times[where] - times[i]) < 1e-12 else f"before point {where}"
            bounds = f"[{low[j]:.4g}, {high[j]:.4g}]" if not unit else f"[0, {limits.velocity[j]:.4g}]"
            raise RefusedError(what, f"{limits.names[j]} {at} ({times[i]:.3g} s): {value[i, j]:.4g} is not in {bounds}")


def check_torques(motion: Trajectory, points: Waypoints, robot: Robot, limits: Limits) -> None:
    """Refuse a motion that needs more torque or voltage than motors and joints can give, with joint and place."""
    if not limits.driven.all():
        return  # joints without motors move as the dynamics says, not as the motion does
    times = np.linspace(0.0, motion.duration, INSTANTS)
    q, qd, qdd = motion.sample(times)
    torque = robot.inverse_dynamics(q, qd, qdd)
    for what, unit, value, limit in (
        ("above the torque limit", "N m or N", torque, limits.torque),
        ("above the voltage limit", "V", limits.needed_voltage(torque, qd), limits.voltage),
    ):
        over = np.abs(value) > limit
        if over.any():
            i, j = np.argwhere(over)[0]
            where = min(int(np.searchsorted(points.times, times[i])), len(points.times) - 1)
            raise RefusedError(
                what,
                f"{limits.names[j]} before point {where} ({times[i]:.3g} s) needs {abs(value[i, j]):.4g} {unit}, "
                f"{limit[j]:.4g} is allowed; give it more time",
            )


def check_closure(motion: Trajectory, robot: Robot) -> None:
    """Refuse a motion on whose way closed chains cannot close or are singular, or move a joint beyond its limits."""
    if not robot.mechanism.loops:
        return
    low, high = robot.mechanism.position_limits.T
    passive = ~robot.mechanism.active
    tracker = robot.tracker()
    for t in np.linspace(0.0, motion.duration, INSTANTS)[1:]:  # where a robot is now, is no fault of the trajectory
        try:
            at = tracker.move_to(motion.sample(t)[0]).q
        except DynError as error:
            raise RefusedError("chains do not close", f"at {t:.3g} s: {error}") from error
        for j in np.flatnonzero(passive & ((at < low) | (at > high)))[:1]:
            raise RefusedError(
                "outside position limits",
                f"{robot.mechanism.joint_names[j]}, which the chains move, at {t:.3g} s: {at[j]:.4g} is not in"
                f" [{low[j]:.4g}, {high[j]:.4g}]",
            )
