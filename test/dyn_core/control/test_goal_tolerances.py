"""What is decided about goals of FollowJointTrajectory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from dyn_core.control.goal_tolerances import (
    GOAL_TOLERANCE,
    INVALID_GOAL,
    PATH_TOLERANCE,
    SUCCESSFUL,
    Following,
    Tolerances,
)
from dyn_core.control.motion_plan import Line, Plan, TrackedState
from dyn_core.errors import RefusedError
from dyn_core.trajectory import through_points

NAMES = ("a", "b")
SECOND = 1_000_000_000
PLAN = Plan(10 * SECOND, through_points([0.0, 1.0], [[0.0, 0.0], [1.0, -1.0]]))


def tolerance(name: str, position: float = 0.0, velocity: float = 0.0) -> Any:
    return SimpleNamespace(name=name, position=position, velocity=velocity, acceleration=0.0)


def following(path: list[Any] | None = None, goal: list[Any] | None = None, goal_time: float = 0.0) -> Following:
    return Following(PLAN, Tolerances(NAMES, path or []), Tolerances(NAMES, goal or [], 0.01), goal_time)


def at(t: float, off: float = 0.0) -> TrackedState:
    stamp = PLAN.start + round(t * SECOND)
    desired = PLAN.sample(stamp)
    return TrackedState(stamp, desired, desired[0] + [0.0, off], desired[1])


def test_a_goal_that_is_followed_succeeds() -> None:
    goal = following([tolerance("b", 0.1, 0.5)])
    assert [goal.check(at(t), PLAN, "") for t in (0.0, 0.5, 0.99)] == [None] * 3
    assert goal.check(at(1.0), PLAN, "") == (SUCCESSFUL, "the goal is reached")


def test_a_motion_that_was_slowed_down_ends_later() -> None:
    goal = following()
    later = PLAN.delayed(SECOND)
    assert goal.check(at(0.5), PLAN, "") is None
    assert goal.check(at(1.5), later, "") is None
    assert goal.check(at(2.0), later, "") == (SUCCESSFUL, "the goal is reached")


def test_a_path_tolerance_is_violated_on_the_way() -> None:
    goal = following([tolerance("b", 0.1)])
    assert goal.check(at(0.5, 0.09), PLAN, "") is None
    code, sentence = goal.check(at(0.6, -0.11), PLAN, "") or (0, "")
    assert code == PATH_TOLERANCE
    assert sentence == "position of b is off by 0.11, 0.1 is allowed"
    assert following([tolerance("b", -1.0)]).check(at(0.6, 100.0), PLAN, "") is None


def test_a_goal_tolerance_is_violated_after_its_time() -> None:
    goal = following(goal=[tolerance("a", 0.001)], goal_time=0.2)
    assert goal.check(at(1.0, 0.02), PLAN, "") is None
    assert goal.check(at(1.19, 0.02), PLAN, "") is None
    assert (goal.check(at(1.21, 0.02), PLAN, "") or (0,))[0] == GOAL_TOLERANCE
    late = following()
    assert late.check(at(1.0, 0.02), PLAN, "") is None
    assert late.check(at(1.5, 0.005), PLAN, "") == (SUCCESSFUL, "the goal is reached")


def test_stops_and_replacements_abort() -> None:
    goal = following()
    waiting = Plan(0, Line(np.zeros(2)))
    assert goal.check(at(-0.01), waiting, "") is None
    assert goal.check(at(0.5), PLAN, "") is None
    assert (goal.check(at(0.6), waiting, "") or (0,))[0] == INVALID_GOAL
    assert (following().check(at(0.5), PLAN, "too fast") or (0, ""))[1] == "the controller stopped: too fast"
    never = following()
    assert never.check(at(0.5), waiting, "") is None
    assert never.check(at(1.1), waiting, "") == (INVALID_GOAL, "the trajectory was not begun")


def test_tolerances_must_make_sense() -> None:
    with pytest.raises(RefusedError, match="unknown joints"):
        Tolerances(NAMES, [tolerance("c", 1.0)])
    for bad in (float("nan"), float("inf"), -2.0):
        with pytest.raises(RefusedError, match="tolerance of a"):
            Tolerances(NAMES, [tolerance("a", bad)])
    kept = Tolerances(NAMES, [tolerance("a", 0.0, 0.5)], 0.01)
    assert kept.position.tolist() == [0.01, 0.01]
    assert kept.velocity.tolist() == [0.5, np.inf]
