"""Waypoints that are asked for become plans, or are refused with the reason."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.control.braking import Brake
from dyn_core.control.computed_torque import ComputedTorque
from dyn_core.control.limits import KINDS, Limits
from dyn_core.control.motion_intake import FUTURE, LEADS, PAST, MotionIntake
from dyn_core.control.motion_plan import Waypoints
from dyn_core.control.safety_state import Safety
from dyn_core.control.trajectory_follower import NANOSECONDS, Follower
from dyn_core.control.watchdogs import LimitWatch
from dyn_core.errors import RefusedError

START = 10 * NANOSECONDS
POINTS = Waypoints(np.array([1.0, 2.0]), np.array([[0.2, 0.1], [0.3, -0.1]]))


class Rig:
    """A follower that stands at zero, and its intake."""

    def __init__(self, robot_name: str = "planar_2r") -> None:
        robot = load_robot(robot_name)
        limits = Limits(robot)
        law = ComputedTorque(robot, 50.0)
        self.safety = Safety()
        watch = LimitWatch(limits, dict.fromkeys(KINDS, "safe_stop"), 0.1)
        self.follower = Follower(law, Brake(law, limits), watch, self.safety)
        self.intake = MotionIntake(self.follower, limits, load_robot(robot_name), 0.01)
        self.q = robot.neutral()
        self.safety.activate()

    def step(self, stamp: int = START) -> None:
        self.follower.step(stamp, self.q, np.zeros_like(self.q))


@pytest.fixture
def rig() -> Rig:
    rig = Rig()
    rig.step()
    return rig


def test_waypoints_become_a_plan_that_begins_a_little_ahead(rig: Rig) -> None:
    plan = rig.intake.accept(POINTS, 0)
    assert plan.start == START + round(LEADS[0] * NANOSECONDS)
    np.testing.assert_allclose(plan.motion.sample(0.0)[0], rig.q, atol=1e-12)
    np.testing.assert_allclose(plan.motion.sample(2.0)[0], POINTS.positions[-1], atol=1e-12)
    assert rig.follower.moving


@pytest.mark.parametrize(("asked", "begins"), [(-0.5 * PAST, LEADS[0]), (0.5, 0.5)])
def test_a_start_time_is_kept_to_unless_it_has_passed(rig: Rig, asked: float, begins: float) -> None:
    plan = rig.intake.accept(POINTS, START + round(asked * NANOSECONDS))
    assert plan.start == START + round(begins * NANOSECONDS)


@pytest.mark.parametrize(
    ("asked", "reason"), [(-1.1 * PAST, "start time in the past"), (1.1 * FUTURE, "start time too far ahead")]
)
def test_a_stamp_of_another_clock_is_refused(rig: Rig, asked: float, reason: str) -> None:
    with pytest.raises(RefusedError) as refused:
        rig.intake.accept(POINTS, START + round(asked * NANOSECONDS))
    assert refused.value.reason == reason


def test_what_the_robot_cannot_follow_is_refused(rig: Rig) -> None:
    for points, reason in (
        (Waypoints(np.array([0.1]), np.array([[3.0, 0.0]])), "above the velocity limit"),
        (Waypoints(np.array([2.0]), np.array([[4.0, 0.0]])), "outside position limits"),
    ):
        with pytest.raises(RefusedError) as refused:
            rig.intake.accept(points, 0)
        assert refused.value.reason == reason
    assert not rig.follower.moving


def test_nothing_is_accepted_while_the_robot_does_not_follow() -> None:
    rig = Rig()
    with pytest.raises(RefusedError, match="no joint state yet"):
        rig.intake.accept(POINTS, 0)
    rig.step()
    rig.intake.accept(POINTS, 0)
    rig.step(START + NANOSECONDS // 2)
    rig.follower.cancel()
    with pytest.raises(RefusedError, match="braking"):
        rig.intake.accept(POINTS, 0)
    rig.safety.stop("try")
    with pytest.raises(RefusedError, match="fault: try"):
        rig.intake.accept(POINTS, 0)


def test_motions_of_closed_chains_are_checked_and_warmed_up() -> None:
    rig = Rig("five_bar_saha")
    rig.intake.warm_up(rig.q)
    rig.step()
    assert rig.intake.accept(Waypoints(np.array([2.0]), (rig.q + 0.05)[None]), 0).start > START
    with pytest.raises(RefusedError, match=r"chains|position limits"):
        rig.intake.accept(Waypoints(np.array([60.0]), (rig.q + np.array([2.0, -2.0]))[None]), 0)
