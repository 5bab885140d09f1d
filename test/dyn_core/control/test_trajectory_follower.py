"""The controller's stops, without ROS: a simulated robot is stopped by every cause, and must stand within bounds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dyn_core import Robot, load_robot
from dyn_core.control.braking import Brake
from dyn_core.control.computed_torque import ComputedTorque
from dyn_core.control.limits import KINDS, Limits, Margins
from dyn_core.control.motion_plan import Plan
from dyn_core.control.safety_state import Safety
from dyn_core.control.trajectory_follower import NANOSECONDS, Follower
from dyn_core.control.watchdogs import LimitWatch
from dyn_core.simulation import Stepper
from dyn_core.trajectory import Trajectory, through_points

REACTIONS = dict.fromkeys(KINDS, "safe_stop") | dict.fromkeys(("soft_limit", "torque", "voltage"), "slow_down")
START = 10 * NANOSECONDS


class Rig:
    """A simulated robot and its follower, stepped in turn."""

    def __init__(self, robot: Robot, mode: str = "computed_torque", margins: Margins | None = None, **reactions: str):
        self.robot = robot
        limits = Limits(robot, margins)
        braking = ComputedTorque(robot, 50.0, friction="desired")
        law = ComputedTorque(robot, 50.0, mode=mode, friction="desired")  # type: ignore[arg-type]
        self.safety = Safety()
        watch = LimitWatch(limits, REACTIONS | reactions, 0.05)
        self.follower = Follower(law, Brake(braking, limits, 0.1, 0.8), watch, self.safety)
        self.stepper = Stepper(robot, robot.neutral())
        self.stamp = START
        self.push: np.ndarray | None = None
        self.rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        self.safety.activate()

    def run(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        for _ in range(round(seconds * 1000)):
            q, qd = self.stepper.q.copy(), self.stepper.qd.copy()
            result = self.follower.step(self.stamp, q, qd)
            volts = np.zeros(self.robot.n) if result is None else self.robot.dac_volts(result[1].code)
            self.rows.append((q, qd, np.full(self.robot.n, np.nan) if result is None else result[0][0]))
            self.stepper.step(volts, 1, self.push)
            self.stamp += NANOSECONDS // 1000
            if until():
                return

    def move(self, seconds: float = 1.0, scale: float = 1.0) -> Trajectory:
        """Begin a motion 20 ms from now."""
        start = self.stamp + NANOSECONDS // 50
        here, speed, acceleration = self.follower.ahead(start)
        swing = scale * np.resize([0.5, -0.6, 0.4], self.robot.n)
        times, rows = [0.0, 0.5 * seconds, seconds], [here, here + swing, here - 0.5 * swing]
        _, speeds, accelerations = through_points(times, rows).sample(np.array(times))
        speeds[0], accelerations[0] = speed, acceleration
        path = through_points(times, rows, speeds, accelerations)
        assert self.follower.offer(Plan(start, path))
        return path

    @property
    def q(self) -> np.ndarray:
        return np.array([row[0] for row in self.rows])

    @property
    def qd(self) -> np.ndarray:
        return np.array([row[1] for row in self.rows])

    @property
    def desired(self) -> np.ndarray:
        return np.array([row[2] for row in self.rows])


@pytest.fixture(scope="module")
def arm() -> Robot:
    return load_robot("planar_2r")


def begun(robot: Robot, seconds: float = 1.0, **options: object) -> tuple[Rig, Trajectory]:
    rig = Rig(robot, **options)  # type: ignore[arg-type]
    rig.run(0.02)
    path = rig.move(seconds)
    rig.run(0.02 + 0.25 * seconds)
    assert np.abs(rig.qd[-1]).max() > 0.5
    return rig, path


def off_path(rig: Rig, path: Trajectory) -> float:
    points = path.sample(np.linspace(0.0, path.duration, 3000))[0]
    return max(float(np.abs(points - q).max(axis=1).min()) for q in rig.q[::20])


@pytest.mark.parametrize("mode", ["computed_torque", "feed_forward"])
def test_a_safe_stop_brakes_along_the_path_and_holds(arm: Robot, mode: str) -> None:
    rig, path = begun(arm, mode=mode)
    begin, speed = rig.q[-1], np.abs(rig.qd[-1])
    rig.safety.stop("try")
    rig.run(0.6)
    assert (rig.safety.state, rig.safety.powered) == ("stopped", True)
    assert off_path(rig, path) < 5e-3
    assert (np.abs(rig.q[-1] - begin) < speed * 0.2 + 0.01).all()
    assert np.abs(rig.qd[-1]).max() < 0.01
    held = rig.q[-1]
    rig.run(0.5)
    assert np.abs(rig.q[-1] - held).max() < 2e-3
    assert rig.safety.clear()[0]
    rig.follower.forget()
    rig.run(0.05)
    rig.move(0.8)
    rig.run(1.0)
    assert rig.safety.state == "active"


def test_an_unknown_state_gives_zero_volts_and_the_joints_coast(arm: Robot) -> None:
    rig, _ = begun(arm)
    rig.safety.stop("lost", known=False)
    rig.run(0.1)
    assert np.isnan(rig.desired[-1]).all()
    assert (rig.safety.state, rig.safety.powered) == ("stopped", False)


def test_an_emergency_stop_brakes_and_then_gives_zero_volts(arm: Robot) -> None:
    rig, path = begun(arm)
    count = len(rig.rows)
    rig.safety.press("topic")
    rig.run(0.6)
    braking = ~np.isnan(rig.desired[count:, 0])
    assert braking[:50].all()
    assert not braking[-1]
    assert off_path_until(rig, path, count + int(braking.sum())) < 5e-3


def off_path_until(rig: Rig, path: Trajectory, end: int) -> float:
    rig.rows = rig.rows[:end]
    return off_path(rig, path)


def test_a_robot_that_is_pushed_off_its_path_brakes_from_where_it_is(arm: Robot) -> None:
    rig, _ = begun(arm, margins=Margins(error=0.02))
    rig.push = np.zeros((2, 6))
    rig.push[1, :3] = [0.0, 0.0, 400.0]
    rig.run(0.5, until=lambda: rig.safety.state != "active")
    rig.push = None
    assert "tracking error" in rig.safety.cause
    begin, speed = rig.q[-1], np.abs(rig.qd[-1])
    rig.run(0.8)
    assert rig.safety.state == "stopped"
    assert (np.abs(rig.q[-1] - begin) < speed * 0.3 + 0.05).all()
    assert np.abs(rig.qd[-1]).max() < 0.02


def test_a_braking_that_does_not_follow_ends_in_zero_volts(arm: Robot) -> None:
    rig, _ = begun(arm, margins=Margins(error=0.05))
    rig.push = np.zeros((2, 6))
    rig.push[1, :3] = [0.0, 0.0, 2000.0]
    rig.run(1.0, until=lambda: not rig.safety.powered)
    assert not rig.safety.powered
    assert "; then " in rig.safety.cause
    assert "tracking error" in rig.safety.cause.split("; then ")[1]


def test_too_much_torque_slows_the_motion_down_along_its_path_and_then_goes_on(arm: Robot) -> None:
    rig = Rig(arm)
    rig.run(0.02)
    path = rig.move(0.5, scale=0.8)
    rig.run(0.02)
    paces = []
    for _ in range(300):
        rig.run(0.01)
        paces.append(rig.follower.path_speed.u)
    assert rig.safety.state == "active", rig.safety.cause
    assert min(paces) == pytest.approx(0.25)
    assert paces[-1] == 1.0
    np.testing.assert_allclose(rig.q[-1], path.sample(path.duration)[0], atol=5e-3)


def test_a_hard_limit_and_a_velocity_limit_stop(arm: Robot) -> None:
    for kind, margins in (("hard", Margins(hard=-2.6)), ("velocity", Margins(velocity=-0.75))):
        rig = Rig(arm, margins=margins)
        rig.run(0.02)
        path = rig.move()
        rig.run(1.2)
        assert kind in rig.safety.cause
        assert (rig.safety.state, rig.safety.powered) == ("stopped", True)
        assert off_path(rig, path) < 5e-3


def test_cancel_brakes_and_holds_and_is_no_fault(arm: Robot) -> None:
    rig, path = begun(arm)
    assert rig.follower.cancel()
    assert rig.follower.cancelling
    rig.run(0.4)
    assert rig.safety.state == "active"
    assert not rig.follower.cancelling
    assert not rig.follower.moving
    assert off_path(rig, path) < 5e-3
    assert np.abs(rig.qd[-1]).max() < 0.01
    assert not rig.follower.cancel()
    rig.move(0.8)
    rig.run(0.9)
    assert np.abs(rig.q[-1] - rig.desired[-1]).max() < 3e-3


def test_a_motion_that_has_not_begun_is_cancelled(arm: Robot) -> None:
    rig = Rig(arm)
    rig.run(0.02)
    rig.move()
    assert rig.follower.cancel()
    rig.run(0.5)
    assert np.abs(rig.q).max() < 5e-3


@pytest.mark.parametrize("slow", [False, True])
def test_a_replaced_motion_has_no_jump(arm: Robot, slow: bool) -> None:
    rig, _ = begun(arm, 2.0)
    if slow:
        rig.follower._slow_until = rig.stamp + NANOSECONDS
        rig.run(0.4)
        assert rig.follower.path_speed.u == 0.25
    rig.move(1.5)
    rig.run(0.8)
    assert rig.follower.overtaken == 0
    assert rig.safety.state == "active"
    assert np.abs(np.diff(rig.qd, axis=0)).max() < 0.05
    assert np.abs(np.diff(rig.desired, axis=0)).max() < 0.01


def test_a_plan_for_another_place_is_not_begun(arm: Robot) -> None:
    rig, _ = begun(arm, 2.0)
    rig.move(1.0)
    rig.follower._slow_until = rig.stamp + NANOSECONDS // 2
    rig.run(0.3)
    assert rig.follower.overtaken == 1
    assert rig.safety.state == "active"


def test_a_late_plan_is_refused(arm: Robot) -> None:
    rig = Rig(arm)
    rig.run(0.02)
    path = through_points([0.0, 1.0], [rig.q[-1], rig.q[-1]])
    assert not rig.follower.offer(Plan(rig.follower.stamp, path))


@pytest.mark.parametrize("name", ["puma560", "five_bar_saha", "elastic_2r"])
def test_other_robots_brake_too(name: str) -> None:
    robot = load_robot(name)
    rig = Rig(robot)
    rig.run(0.02)
    here = rig.follower.ahead(rig.stamp + 1)[0]
    there = here + 0.3 * np.where(Limits(robot).driven, 1.0, 0.0)
    start = rig.stamp + NANOSECONDS // 50
    assert rig.follower.offer(Plan(start, through_points([0.0, 1.0], [here, there])))
    rig.run(0.5)
    rig.safety.stop("try")
    rig.run(0.5)
    assert (rig.safety.state, rig.safety.powered) == ("stopped", True), rig.safety.cause
    assert np.abs(rig.qd[-1])[Limits(robot).driven].max() < 0.05


def test_a_platform_whose_path_leads_beyond_a_legs_limit_stops_before_it() -> None:
    """The controller refuses such a path; the follower stops on it all the same."""
    robot = load_robot("gough_stewart")
    rig = Rig(robot, margins=Margins(soft=0.03), soft_limit="safe_stop")
    rig.run(0.02)
    start, q = rig.stamp + NANOSECONDS // 50, robot.neutral()
    assert rig.follower.offer(Plan(start, through_points([0.0, 2.0], [q, q + 0.3])))
    rig.run(2.0)
    high = robot.mechanism.position_limits[robot.joints, 1]
    assert (rig.safety.state, rig.safety.powered) == ("stopped", True)
    assert "soft position limit" in rig.safety.cause
    assert rig.q[-1].max() > high.min() - 0.03
    assert (rig.q < high).all()
    assert np.abs(rig.qd[-1]).max() < 0.01
