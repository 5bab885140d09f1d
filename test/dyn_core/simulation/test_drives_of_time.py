"""Drives that are functions of time, followed within the steps: against quadrature, and against tiny held steps."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core import load_robot
from dyn_core.mechanism import Mimic
from dyn_core.robots import MimicRobot, TreeRobot, customise
from dyn_core.simulation import simulate, simulate_platform, simulate_with_springs

W = 40.0  # rad/s


@pytest.fixture(scope="module")
def carriage():
    """A mass on a slide, without friction: x'' = f(t) / m."""
    m = random_mechanism(np.random.default_rng(0), 1, friction=False)
    m.joint_type[:] = 1
    m.Ia[:] = 0.0
    return TreeRobot(dataclasses.replace(m, gravity=np.zeros(3)))


@pytest.mark.parametrize(("method", "order"), [("rk3", 3), ("rk4", 4)])
def test_the_order_of_the_method_is_kept(carriage, method, order):
    """Held over each step, a force sin(w t) is off by the first order of h."""
    mass = carriage.mechanism.M[0]

    def error(h: float, drive) -> float:
        motion = simulate(carriage, [0.0], [0.0], duration=0.2, torques=drive, h=h, method=method)
        exact = (motion.t[-1] - np.sin(W * motion.t[-1]) / W) / (W * mass)
        np.testing.assert_allclose(motion.tau[:, 0], motion.drive[:, 0])
        return abs(motion.q[-1, 0] - exact) * mass

    errors = [error(h, lambda t: [np.sin(W * t)]) for h in (8e-3, 4e-3)]
    assert errors[1] < 1e-6
    assert np.log2(errors[0] / errors[1]) > order - 0.5
    held = error(4e-3, lambda t, q, qd: [np.sin(W * t)])
    assert held > 100.0 * errors[1]


def test_the_recorded_drive_is_that_of_the_row(carriage):
    motion = simulate(carriage, duration=0.05, torques=lambda t: [np.sin(W * t)])
    np.testing.assert_allclose(motion.drive[:, 0], np.sin(W * motion.t), atol=1e-12)
    np.testing.assert_allclose(motion.qdd[:, 0] * carriage.mechanism.M[0], np.sin(W * motion.t), atol=1e-12)


def test_a_dac_period_holds_it(carriage):
    motion = simulate(carriage, duration=0.02, torques=lambda t: [np.sin(W * t)], dac_period=5e-3)
    np.testing.assert_allclose(motion.drive[6:11, 0], np.sin(W * 5e-3), atol=1e-12)


def drives(robot, scale: float = 1.0):
    q0, rest = robot.neutral(), np.zeros(robot.nv)
    weight = robot.inverse_dynamics(q0, rest, rest)[-robot.n :]
    push = scale * np.abs(robot.mass_matrix(q0)).sum(axis=1)[-robot.n :]
    return lambda t: weight + push * np.sin(W * t + np.arange(robot.n))


def same_motion(robot, drive, simulated=simulate, **options):
    """Followed within steps of 4 ms, as held over steps of 20 us at their middle."""
    fine = 2e-5
    middle = np.array([drive((k + 0.5) * fine) for k in range(5000)])
    followed = simulated(robot, duration=0.1, torques=drive, h=4e-3, method="rk4", **options)
    held = simulate(robot, duration=0.1, torques=middle, h=fine, method="rk4")
    assert not followed.failure
    assert np.abs(held.q[-1] - held.q[0]).max() > 1e-4
    np.testing.assert_allclose(followed.q[-1], held.q[-1], atol=2e-7)
    np.testing.assert_allclose(followed.qd[-1], held.qd[-1], atol=2e-5)
    return followed


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "denoc"])
def test_closed_chains_follow(formulation):
    robot = load_robot("four_bar_wang").using(formulation)
    same_motion(robot, drives(robot))


def test_customised_models_and_general_engines_follow():
    rng = np.random.default_rng(1)
    m = random_mechanism(rng, 2, friction=False)
    robot = TreeRobot(m)
    drive = drives(robot)
    followed = same_motion(robot, drive)
    own = simulate(customise(robot, "direct"), duration=0.1, torques=drive, h=4e-3, method="rk4")
    np.testing.assert_allclose(own.q, followed.q, atol=1e-10)
    adaptive = simulate(robot, duration=0.1, torques=drive, h=4e-3, method="DOP853")
    np.testing.assert_allclose(adaptive.q[-1], followed.q[-1], atol=2e-7)
    np.testing.assert_allclose(adaptive.drive, followed.drive, atol=1e-12)
    pushed = simulate(
        robot, duration=0.1, torques=drive, h=4e-3, method="rk4", wrenches=lambda t, q, qd: np.zeros((2, 6))
    )
    np.testing.assert_allclose(pushed.q, followed.q, atol=1e-12)
    mimic = MimicRobot(dataclasses.replace(m, mimic=Mimic(np.array([0, 0]), np.array([1.0, 0.5]), np.zeros(2))))
    same_motion(mimic, drives(mimic))


def test_virtual_springs_follow():
    robot = load_robot("four_bar_wang")
    drive = drives(robot)
    closed = simulate(robot, duration=0.1, torques=drive, h=1e-3, method="rk4")
    sprung = simulate_with_springs(robot, duration=0.1, torques=drive, h=1e-3, k=1e7)
    np.testing.assert_allclose(sprung.q[-1], closed.q[-1], atol=2e-5)
    np.testing.assert_allclose(sprung.drive, closed.drive, atol=1e-12)
    np.testing.assert_allclose(sprung.tau, closed.tau, atol=1e-12)


def test_a_platform_follows_either_way():
    robot = load_robot("gough_stewart_wang")
    drive = drives(robot, 0.3)
    by_legs = simulate(robot, duration=0.05, torques=drive, h=1e-3, method="rk4")
    by_pose = simulate_platform(robot, duration=0.05, forces=drive, h=1e-3)
    np.testing.assert_allclose(by_legs.q[-1], by_pose.q[-1], atol=1e-8)
