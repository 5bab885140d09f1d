"""From waypoints that are asked for to a plan that is followed: joined to the present motion, checked, and in time."""

from __future__ import annotations

import contextlib

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import RefusedError
from dyn_core.robots.robot import Robot
from dyn_core.trajectory.joint_trajectory import Trajectory

from .limits import Limits
from .motion_check import check_closure, check_motion, check_torques
from .motion_plan import Plan, Waypoints, joined
from .trajectory_follower import NANOSECONDS, Follower

LEADS = (0.02, 0.2, 1.0)
"""A new trajectory begins this far ahead (s), so that it is ready in time; the next one is tried if it was not."""
PAST = 1.0
"""A trajectory whose start time lies up to this far back begins now (s); an older one is refused."""
FUTURE = 3600.0
"""A trajectory must begin within this time (s): a stamp of another clock is not waited for."""


class MotionIntake:
    """Makes plans for a follower, in another thread than the follower's.

    robot: for the checks alone, so that it is not the one that the follower's law computes with. start_tolerance: see
    ``joined``.
    """

    def __init__(self, follower: Follower, limits: Limits, robot: Robot, start_tolerance: float) -> None:
        self._follower, self._limits, self._robot = follower, limits, robot
        self._start_tolerance = start_tolerance
        self._slow = bool(robot.passive_joints)
        """Whether the checks take longer than the first lead, as those of closed chains do."""

    def warm_up(self, q: Floats) -> None:
        """Call everything once at q (n,), so that no import or compilation is left for the follower's loop."""
        points = Waypoints(np.array([1.0]), q[None])
        motion = joined(points, (q, q, q + 1.0), 0.0)
        self._follower.warm_up(Plan(0, motion), q)
        with contextlib.suppress(RefusedError):
            check_motion(motion, points, self._limits)
        with contextlib.suppress(RefusedError):
            check_torques(motion, points, self._robot, self._limits)
        with contextlib.suppress(RefusedError):
            check_closure(motion, self._robot)

    def accept(self, points: Waypoints, asked: int) -> Plan:
        """The plan that the follower was given; RefusedError if there is none.

        asked: the start time (ns), on the clock of the joint states' stamps; 0: as soon as possible.
        """
        follower = self._follower
        if follower.safety.state != "active":
            raise RefusedError("fault", follower.safety.cause)
        if follower.plan is None:
            raise RefusedError("no joint state yet")
        if follower.cancelling:
            raise RefusedError("braking", "the motion before it was cancelled")
        behind = (follower.stamp - asked) * 1e-9 if asked else 0.0
        if behind > PAST:
            raise RefusedError("start time in the past", f"{behind:.3g} s")
        if behind < -FUTURE:
            raise RefusedError("start time too far ahead", f"{-behind:.3g} s")
        if self._slow:
            self._check(self._motion_from(follower.stamp, points), points)
        for lead in LEADS:
            start = max(asked, follower.stamp + round(lead * NANOSECONDS))
            plan = Plan(start, self._motion_from(start, points))
            if not self._slow:
                self._check(plan.motion, points)
            if follower.offer(plan):
                return plan
        raise RefusedError("not ready in time")

    def _motion_from(self, start: int, points: Waypoints) -> Trajectory:
        return joined(points, self._follower.ahead(start), self._start_tolerance, self._limits.names)

    def _check(self, motion: Trajectory, points: Waypoints) -> None:
        check_motion(motion, points, self._limits)
        check_closure(motion, self._robot)
        check_torques(motion, points, self._robot, self._limits)
