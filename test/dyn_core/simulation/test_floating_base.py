"""Simulation of a floating base: momentum, energy, order, and the unit quaternion."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from random_floating import free_flyer, random_floating

from dyn_core.robots import FloatingRobot
from dyn_core.simulation import Stepper, simulate

N = 3


def tumbling(seed=4, gravity=(0.0, 0.0, 0.0)):
    rng = np.random.default_rng(seed)
    m = random_floating(rng, N, friction=False)
    m.joint_type[:] = 0
    m.gravity[:] = gravity
    robot = FloatingRobot(m)
    q0 = robot.neutral()
    q0[7:] = rng.normal(size=N)
    return robot, q0, rng.normal(size=robot.nv) * 2.0


def test_momentum_is_conserved_without_gravity():
    robot, q0, qd0 = tumbling()
    result = simulate(robot, q0, qd0, 1.0, torques=lambda t, q, qd: np.sin(5 * t + np.arange(N)), h=1e-3, method="rk4")
    values = np.array([robot.momentum(q, qd) for q, qd in zip(result.q[::100], result.qd[::100], strict=True)])
    assert np.ptp(values, axis=0).max() < 1e-8 * np.abs(values).max()
    np.testing.assert_allclose(np.linalg.norm(result.q[:, 3:7], axis=1), 1.0, atol=1e-14)
    assert np.abs(result.q[-1, 3:7] - result.q[0, 3:7]).max() > 0.3


def test_momentum_changes_by_the_weight():
    robot, q0, qd0 = tumbling(gravity=(1.0, -2.0, -9.0))
    result = simulate(robot, q0, qd0, 0.5, h=1e-3, method="rk4")
    m = robot.mechanism
    weight = (m.M.sum() + m.base.M) * m.gravity
    change = robot.momentum(result.q[-1], result.qd[-1]) - robot.momentum(q0, qd0)
    np.testing.assert_allclose(change[:3], 0.5 * weight, rtol=1e-7)


def test_energy_is_conserved():
    robot, q0, qd0 = tumbling(gravity=(0.0, 0.0, -9.81))
    robot = FloatingRobot(dataclasses.replace(robot.mechanism, Ia=np.zeros(robot.n)))
    model = free_flyer(robot.mechanism)
    data = model.createData()
    result = simulate(robot, q0, qd0, 1.0, h=5e-4, method="rk4")
    energies = []
    for q, qd in zip(result.q[::200], result.qd[::200], strict=True):
        pin.computeAllTerms(model, data, q, qd)
        energies.append(data.kinetic_energy + data.potential_energy)
    assert np.ptp(energies) < 1e-7 * np.abs(energies).max()


@pytest.mark.parametrize(("method", "order"), [("rk3", 3), ("rk4", 4), ("euler", 1)])
def test_order_on_the_manifold(method, order):
    robot, q0, qd0 = tumbling()

    def end(method, h):
        result = simulate(robot, q0, qd0, 0.32, h=h, method=method)
        return np.concatenate([result.q[-1], result.qd[-1]])

    exact = end("DOP853", 0.32)
    coarse, fine = (np.abs(end(method, h) - exact).max() for h in (8e-3, 4e-3))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.4)


def test_a_free_body_spins_about_its_principal_axis():
    """A base that turns about a principal axis through its centre keeps turning about it at the same rate."""
    robot, q0, _ = tumbling()
    m = robot.mechanism
    base = dataclasses.replace(m.base, MS=np.zeros(3), J=np.diag([1.0, 2.0, 2.5]))
    none = {name: np.zeros_like(getattr(m, name)) for name in ("M", "MS", "J")}
    robot = FloatingRobot(dataclasses.replace(m, base=base, **none))  # joints carry rotors only
    qd0 = np.zeros(robot.nv)
    qd0[2], qd0[5] = 0.5, 3.0
    result = simulate(robot, q0, qd0, 1.0, h=1e-2, method="rk4")
    np.testing.assert_allclose(result.q[-1, :3], [0.0, 0.0, 0.5], atol=1e-9)
    np.testing.assert_allclose(result.q[-1, 3:7], [0.0, 0.0, np.sin(1.5), np.cos(1.5)], atol=1e-9)


def test_wrenches_push_and_stepper_resets():
    robot, q0, _ = tumbling()
    stepper = Stepper(robot, q0)
    w = np.zeros((N + 1, 6))
    w[0, :3] = [1.0, 2.0, 3.0]
    stepper.step(np.zeros(N), 1, wrenches=w)
    np.testing.assert_allclose(robot.momentum(stepper.q, stepper.qd)[:3], [1e-3, 2e-3, 3e-3], rtol=1e-5)
    stepper.reset()
    np.testing.assert_array_equal(stepper.q, robot.neutral())
    held = simulate(robot, q0, duration=0.1, wrenches=w)
    called = simulate(robot, q0, duration=0.1, wrenches=lambda t, q, qd: w)
    np.testing.assert_allclose(held.q, called.q, atol=1e-14)
