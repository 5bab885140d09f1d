"""Whether a trajectory is followed within the tolerances of its goal, as FollowJointTrajectory defines them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import RefusedError

from .motion_plan import Plan, TrackedState

SUCCESSFUL, INVALID_GOAL, INVALID_JOINTS, OLD_HEADER, PATH_TOLERANCE, GOAL_TOLERANCE = 0, -1, -2, -3, -4, -5
"""Codes of control_msgs/FollowJointTrajectory."""
GOAL_POSITION = 0.01
"""Distance from the goal within which it is reached, if the goal does not say (rad or m)."""
GOAL_TIME = 1.0
"""Seconds after the trajectory's end in which the goal must be reached, if the goal does not say."""


class JointTolerance(Protocol):
    """A joint's tolerance, as control_msgs/JointTolerance has it: 0 leaves the default, -1 takes it away."""

    name: str
    position: float
    velocity: float


class Tolerances:
    """Largest distance in position and speed of every joint (n,), infinite where there is none."""

    def __init__(self, names: Sequence[str], given: Sequence[JointTolerance], position: float = np.inf) -> None:
        self.names = tuple(names)
        self.position = np.full(len(names), position)
        self.velocity = np.full(len(names), np.inf)
        for tolerance in given:
            if tolerance.name not in self.names:
                raise RefusedError("unknown joints", f"a tolerance names {tolerance.name!r}")
            j = self.names.index(tolerance.name)
            for values, value in ((self.position, tolerance.position), (self.velocity, tolerance.velocity)):
                if not np.isfinite(value) or (value < 0.0 and value != -1.0):
                    raise RefusedError("not finite", f"a tolerance of {tolerance.name} is {value}")
                if value != 0.0:
                    values[j] = np.inf if value < 0.0 else value

    def violation(self, dq: Floats, dqd: Floats) -> str:
        """Which joint is too far away, and how far; empty if none is."""
        for what, error, limit in (("position", dq, self.position), ("velocity", dqd, self.velocity)):
            over = np.abs(error) - limit
            if (over > 0.0).any():
                j = int(over.argmax())
                return f"{what} of {self.names[j]} is off by {abs(error[j]):.4g}, {limit[j]:.4g} is allowed"
        return ""


class Following:
    """A goal that is being followed."""

    def __init__(self, plan: Plan, path: Tolerances, goal: Tolerances, goal_time: float = 0.0) -> None:
        self.plan = plan
        self._path, self._goal = path, goal
        self._goal_time = goal_time or GOAL_TIME
        self._begun = False
        self._ended: int | None = None
        self.target = plan.motion.sample(plan.motion.duration)[0]

    def check(self, now: TrackedState, present: Plan | None, cause: str) -> tuple[int, str] | None:
        """Code and sentence once it is decided; None until then.

        present: the plan that the robot follows. cause: why the controller has stopped, if it has.
        """
        if cause:
            return PATH_TOLERANCE, f"the controller stopped: {cause}"
        if present is None or present.motion is not self.plan.motion:
            if self._begun:
                return INVALID_GOAL, "another trajectory has taken its place"
            waited = now.stamp - self.plan.start
            return (INVALID_GOAL, "the trajectory was not begun") if waited > 1_000_000_000 else None
        self._begun = True
        desired, speed, _ = now.desired
        if violation := self._path.violation(now.q - desired, now.qd - speed):
            return PATH_TOLERANCE, violation
        if present.remaining(now.stamp) > 0.0:
            return None
        self._ended = self._ended or now.stamp
        violation = self._goal.violation(now.q - self.target, now.qd)
        if not violation:
            return SUCCESSFUL, "the goal is reached"
        if (now.stamp - self._ended) * 1e-9 > self._goal_time:
            return GOAL_TOLERANCE, violation
        return None
