"""Stops along a path and with 0 V: distances against closed forms, and that the path is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_core import Robot, load_robot
from dyn_core.control import Stop, simulate_stop
from dyn_core.control.braking import RESERVE, Brake, PathSpeed, at_path_speed
from dyn_core.control.computed_torque import ComputedTorque
from dyn_core.control.limits import Limits
from dyn_core.control.motion_plan import Line
from dyn_core.errors import InputError
from dyn_core.trajectory import Trajectory, through_points

AXIS = """
name: turntable
gravity: [0, 0, 0]
joints:
  - name: turn
    type: {kind}
    parent: base
    origin: {{}}
    axis: [0, 0, 1]
    friction: {{viscous: {viscous}}}
    link: {{mass: 2.0, com: [0, 0, 0], inertia: {{xx: 0.5, yy: 0.5, zz: 0.5}}}}
    motor:
      gear_ratio: {gear}
      torque_constant: 0.1
      resistance: 0.5
      rotor_inertia: 0.0
      current_limit: {current}
      voltage_limit: 100
      dac: {{bits: 24, range: [-10, 10], gain: 10}}
"""


def turntable(
    folder: Path, kind: str = "revolute", viscous: float = 0.0, gear: float = 10, current: float = 40
) -> Robot:
    file = folder / "turntable.yaml"
    file.write_text(AXIS.format(kind=kind, viscous=viscous, gear=gear, current=current))
    return load_robot(file)


def brake(robot: Robot, shortest: float = 0.1, longest: float = 1.0) -> Brake:
    return Brake(ComputedTorque(robot, 50.0, friction="desired"), Limits(robot), shortest, longest)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
@pytest.mark.parametrize("gear", [10, -10])
def test_with_zero_volts_a_joint_coasts_as_far_as_friction_and_back_emf_let_it(
    tmp_path: Path, kind: str, gear: float
) -> None:
    robot = turntable(tmp_path, kind, viscous=0.2, gear=gear)
    inertia = 2.0 if kind == "prismatic" else 0.5
    damping = 0.2 + (gear * 0.1) ** 2 / 0.5
    stop = simulate_stop(robot, Line(np.zeros(1), np.array([2.0])), 0.0, seconds=10.0)
    np.testing.assert_allclose(stop.distance, 2.0 * inertia / damping, rtol=1e-3)


def test_a_brake_that_is_not_limited_takes_the_shortest_time(tmp_path: Path) -> None:
    robot = turntable(tmp_path)
    stop = simulate_stop(robot, Line(np.zeros(1), np.array([2.0])), 0.0, brake(robot, shortest=0.2))
    np.testing.assert_allclose(stop.distance, 2.0 * 0.2 / 2.0, rtol=2e-2)
    assert stop.duration(0.02) == pytest.approx(0.2, abs=0.02)
    assert not stop.cut


def test_a_brake_takes_what_the_motor_can_give(tmp_path: Path) -> None:
    robot = turntable(tmp_path, current=2.0)  # 2 N m on 0.5 kg m^2
    deceleration = RESERVE * 2.0 / 0.5
    stop = simulate_stop(robot, Line(np.zeros(1), np.array([2.0])), 0.0, brake(robot))
    np.testing.assert_allclose(stop.distance, 2.0**2 / (2.0 * deceleration), rtol=2e-2)
    assert stop.duration(0.02) == pytest.approx(2.0 / deceleration, abs=0.03)
    assert not stop.cut


def test_a_motor_that_is_too_weak_brakes_with_all_it_has(tmp_path: Path) -> None:
    robot = turntable(tmp_path, current=0.2)  # would need 5 s
    stop = simulate_stop(robot, Line(np.zeros(1), np.array([2.0])), 0.0, brake(robot), seconds=2.0)
    assert stop.cut
    slowed = stop.qd[0, 0] - stop.qd[500, 0]
    assert slowed > 0.9 * 0.5 * 0.2 / 0.5


def motion(robot: Robot, seconds: float) -> Trajectory:
    low, high = np.clip(robot.mechanism.position_limits[robot.joints].T, -1.5, 1.5)
    begin = robot.neutral()
    swing = np.minimum(0.6, 0.4 * (high - low)) * np.where(Limits(robot).driven, 1.0, 0.0)
    begin = np.clip(begin, low, high)
    ends = np.array([begin, np.clip(begin + swing, low, high), np.clip(begin - 0.5 * swing, low, high)])
    return through_points([0.0, 0.5 * seconds, seconds], ends)


def off_path(stop: Stop, path: Trajectory) -> float:
    """The farthest that the robot was from the nearest point of the path."""
    points = path.sample(np.linspace(0.0, path.duration, 4000))[0]
    return max(float(np.abs(points - q).max(axis=1).min()) for q in stop.q[::10])


@pytest.mark.parametrize("name", ["planar_2r", "puma560", "cmu_dd_arm", "five_bar_saha"])
def test_arms_brake_along_their_path_within_their_limits(name: str) -> None:
    robot = load_robot(name)
    path = motion(robot, 2.0)
    s = 0.5
    moving = np.abs(path.sample(s)[1])
    assert moving.max() > 0.5
    braked = simulate_stop(robot, path, s, brake(robot), seconds=0.8)
    assert not braked.cut
    assert off_path(braked, path) < 3e-3
    assert braked.duration(0.02) < 0.5
    assert (braked.distance < moving * 0.5 * braked.duration(0.02) + 0.01).all()
    assert np.abs(braked.q[-1] - braked.desired[-1]).max() < 2e-3
    free = simulate_stop(robot, path, s, seconds=0.8)
    assert off_path(free, path) > off_path(braked, path)  # nobody steers it, and gravity pulls


def test_elastic_transmissions_brake_with_the_joints_that_have_motors() -> None:
    robot = load_robot("elastic_2r")
    path = motion(robot, 2.0)
    stop = simulate_stop(robot, path, 0.5, brake(robot), seconds=0.8)
    driven = Limits(robot).driven
    assert np.abs(stop.qd[-1, driven]).max() < 0.05
    assert np.abs(stop.q[-1] - stop.desired[-1])[driven].max() < 5e-3


def test_the_desired_state_at_a_pace_is_the_derivative_of_itself() -> None:
    path = through_points([0.0, 1.0, 2.0], [[0.0, 1.0], [1.0, -1.0], [0.3, 0.2]])
    pace = PathSpeed()
    pace.aim(0.0, 2.0)
    s, h = 0.6, 1e-5
    states = []
    for _ in range(3):
        states.append(at_path_speed(path.sample(s), pace.u, pace.rate))
        s += pace.advance(h)
    (q0, qd0, _), (_, qd1, qdd1), (q2, qd2, _) = states
    np.testing.assert_allclose((q2 - q0) / (2 * h), qd1, rtol=1e-6)
    np.testing.assert_allclose((qd2 - qd0) / (2 * h), qdd1, rtol=1e-5, atol=1e-6)


def test_a_pace_comes_to_its_target_whatever_the_steps() -> None:
    for step in (0.001, 0.07, 0.3, 2.0):
        pace = PathSpeed()
        pace.aim(0.25, 2.5)
        gone = sum(pace.advance(step) for _ in range(round(2.0 / step + 0.49)))
        total = step * round(2.0 / step + 0.49)
        assert pace.steady
        assert pace.u == 0.25
        assert gone == pytest.approx(0.3 * 0.625 + 0.25 * (total - 0.3))
    pace.aim(1.0, 10.0)
    pace.advance(1.0)
    assert pace.u == 1.0


def test_a_brake_refuses_what_cannot_brake() -> None:
    robot = load_robot("planar_2r")
    with pytest.raises(InputError, match="computed_torque"):
        Brake(ComputedTorque(robot, mode="feed_forward"), Limits(robot))
    with pytest.raises(InputError, match="positive range"):
        brake(robot, shortest=2.0)
