"""Simulated closed chains: two independent engines, energy, singular stops, batches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_loops import random_loop, random_planar_loop
from scipy.integrate import solve_ivp

from dyn_core import load_robot
from dyn_core.mechanism import Motors
from dyn_core.robots import LoopRobot
from dyn_core.simulation import Stepper, simulate

SHIPPED = ("four_bar_saha", "four_bar_wang", "five_bar_saha")


def held(robot):
    """A drive that keeps a robot near its described configuration, and so away from singularities."""
    q0, rest = robot.neutral(), np.zeros(robot.n)
    A, weight = robot.mass_matrix(q0), robot.inverse_dynamics(q0, rest, rest)
    return lambda t, q, qd: weight + A @ (-100.0 * (q - q0) - 4.0 * qd)


@pytest.mark.parametrize("other", ["multipliers", "denoc"])
@pytest.mark.parametrize("name", SHIPPED)
def test_formulations_simulate_alike(name, other):
    """Over two seconds to 1e-7: four-bars moving freely, the five-bar held away from its singularity."""
    robot = load_robot(name)
    free = robot.n == 1
    start = robot.neutral() + (0.0 if free else 0.1)
    results = [
        simulate(each, start, duration=2.0, torques=[0.0] if free else held(robot), h=5e-4, method="rk4")
        for each in (robot, robot.using(other))
    ]
    assert not results[0].failure
    assert not results[1].failure
    assert np.abs(results[0].q - start).max() > 0.05
    np.testing.assert_allclose(results[1].q, results[0].q, atol=1e-7)
    np.testing.assert_allclose(results[1].qd, results[0].qd, atol=1e-6)


@pytest.mark.parametrize("kind", ["revolute", "universal", "spherical", "fixed", "prismatic", 3, 4])
def test_random_mechanisms_simulate_alike(kind):
    rng = np.random.default_rng(5)
    make = random_loop if isinstance(kind, str) else random_planar_loop
    for _ in range(100):
        robot = LoopRobot(make(rng, kind, friction=False))
        if np.abs(robot.closed(robot.neutral()).G).max() < 4.0:
            break
    start = robot.neutral() + 0.02
    results = [
        simulate(each, start, duration=2.0, torques=held(robot), h=5e-4, method="rk4")
        for each in (robot, robot.using("multipliers"), robot.using("denoc"))
    ]
    assert np.abs(results[0].q - start).max() > 0.01
    for result in results:
        assert not result.failure
        np.testing.assert_allclose(result.q, results[0].q, atol=1e-7)


def test_friction_and_wrenches_in_a_simulation_by_legs():
    """By denoc as by projection, whose dynamics is computed otherwise."""
    m = load_robot("five_bar_saha").mechanism
    rng = np.random.default_rng(2)
    Fv, Fs = rng.uniform(0.05, 0.2, (2, m.n))
    robot = LoopRobot(dataclasses.replace(m, Fv=Fv, Fs=Fs))
    pushed = rng.normal(size=(m.n, 6))
    given = {"duration": 0.3, "torques": np.array([2.0, -1.0]), "h": 1e-3, "wrenches": pushed}
    projected, by_legs = (simulate(each, qd0=[0.5, -0.3], **given) for each in (robot, robot.using("denoc")))
    assert np.abs(projected.q - projected.q[0]).max() > 0.05
    for name in ("q", "qd", "qdd"):
        np.testing.assert_allclose(getattr(by_legs, name), getattr(projected, name), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "denoc"])
def test_against_an_adaptive_integrator(formulation):
    """scipy's DOP853 on accelerations asked of the robot one by one."""
    robot = load_robot("four_bar_wang")

    def slope(_, state):
        return np.append(state[1:], robot.forward_dynamics(state[:1], state[1:], np.zeros(1)))

    start = np.append(robot.neutral(), 0.0)
    end = solve_ivp(slope, (0.0, 0.3), start, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    found = simulate(robot.using(formulation), duration=0.3, torques=[0.0], h=1e-3, method="rk4")
    np.testing.assert_allclose([found.q[-1, 0], found.qd[-1, 0]], end, atol=1e-9)


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "denoc"])
@pytest.mark.parametrize(("second", "expected"), [(None, 1.333), ((50.0, 40.0), 0.482)])
def test_free_fall_of_the_five_bar_ends_at_its_singularity(formulation, second, expected):
    """Times of the errata: 1.333 s with the end point below, 0.482 s above."""
    robot = load_robot("five_bar_saha")
    if second is not None:
        above = robot.reference.copy()
        above[[1, 3]] = np.radians(second)
        robot = LoopRobot(dataclasses.replace(robot.mechanism, assembly=above))
    result = simulate(
        robot.using(formulation), np.radians([80.0, 70.0]), duration=2.0, torques=[0.0, 0.0], h=1e-3, method="rk4"
    )
    at = result.singularity
    assert at is not None
    assert at.t == pytest.approx(expected, abs=1e-3)
    assert at.loop == "end_point"
    assert "loop 'end_point' comes to a singular configuration at t = " in result.failure
    assert 0.0 <= at.t - result.t[-1] <= 1e-3
    assert len(result.t) == len(result.q)
    assert np.isfinite(result.qdd).all()
    # the second links are in line there
    a, b, c, d = at.q
    assert np.abs(np.sin((a + b) - (c + d))) < 0.01


def test_stepping_is_the_simulation_and_can_start_again():
    robot = load_robot("five_bar_saha").using("multipliers")
    start = np.radians([80.0, 70.0])
    result = simulate(robot, start, duration=0.02, torques=[1.0, -1.0], h=1e-3)
    stepper = Stepper(robot, start, h=1e-3, torque_driven=True)
    for _ in range(2):
        stepper.step([1.0, -1.0], steps=20)
        np.testing.assert_allclose(stepper.q, result.q[-1], atol=1e-12)
        np.testing.assert_allclose(stepper.qdd, result.qdd[-1], rtol=1e-8)
        stepper.reset(start)


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "denoc"])
def test_motors_act_at_every_stage(formulation):
    """Back EMF as the robot's own torques say it, through an independent integrator."""
    robot = load_robot("four_bar_wang")
    assert isinstance(robot.mechanism.motors, Motors)
    volts = np.array([5.0])

    def slope(_, state):
        tau = robot.torques(volts, state[1:])
        return np.append(state[1:], robot.forward_dynamics(state[:1], state[1:], tau))

    end = solve_ivp(slope, (0.0, 0.1), np.append(robot.neutral(), 0.0), "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    found = simulate(robot.using(formulation), duration=0.1, volts=volts, h=5e-4, method="rk4")
    np.testing.assert_allclose([found.q[-1, 0], found.qd[-1, 0]], end, atol=1e-7)


def test_batches_are_rows():
    robot = load_robot("five_bar_saha")
    check = robot.using("multipliers")
    rng = np.random.default_rng(0)
    q = robot.neutral() + rng.uniform(-0.2, 0.2, (600, 2))
    qd, x = rng.normal(size=(2, 600, 2))
    w = rng.normal(size=(600, 4, 6))
    tau, qdd, A = robot.inverse_dynamics(q, qd, x, w), robot.forward_dynamics(q, qd, x, w), robot.mass_matrix(q)
    for b in (0, 1, 299, 300, 599):
        np.testing.assert_allclose(tau[b], check.inverse_dynamics(q[b], qd[b], x[b], w[b]), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(qdd[b], check.forward_dynamics(q[b], qd[b], x[b], w[b]), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(robot.inverse_dynamics(q[b], qd[b], x[b], w[b]), tau[b], rtol=1e-9, atol=1e-9)
    bias = robot.inverse_dynamics(q, qd, 0.0 * x, w)
    np.testing.assert_allclose(np.einsum("bij,bj->bi", A, x) + bias, tau, rtol=1e-9, atol=1e-9)
