"""Computed torque: the law itself, and the decay that it promises."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.control.computed_torque import ComputedTorque
from dyn_core.errors import InputError
from dyn_core.mechanism import Springs
from dyn_core.robots import FORMULATIONS, LoopRobot, TreeRobot
from dyn_core.simulation import Stepper, simulate
from dyn_core.trajectory import cycloidal

RNG = np.random.default_rng(0)
PUMA = load_robot("puma560")
Q, QD, Q_D, QD_D, QDD_D = RNG.uniform(-0.3, 0.3, (5, 6))


def test_the_law():
    bandwidth = RNG.uniform(5.0, 30.0, 6)
    command = ComputedTorque(PUMA, bandwidth).command((Q_D, QD_D, QDD_D), Q, QD)
    reference = QDD_D - 2 * bandwidth * (QD - QD_D) - bandwidth**2 * (Q - Q_D)
    expected = PUMA.mass_matrix(Q) @ reference + PUMA.bias_forces(Q, QD)
    np.testing.assert_allclose(command.torque, expected, rtol=1e-10)
    volts, cut = PUMA.actuation.voltages(command.torque, QD)
    np.testing.assert_array_equal(command.voltage, volts)
    codes, out = PUMA.actuation.codes(volts)
    np.testing.assert_array_equal(command.code, codes)
    np.testing.assert_array_equal(command.saturated, cut | out)


def test_friction_at_the_desired_speed():
    measured = ComputedTorque(PUMA).command((Q_D, QD_D, QDD_D), Q, QD)
    desired = ComputedTorque(PUMA, friction="desired").command((Q_D, QD_D, QDD_D), Q, QD)
    m = PUMA.mechanism
    difference = m.Fv * (QD_D - QD) + m.Fs * (np.sign(QD_D) - np.sign(QD))
    np.testing.assert_allclose(desired.torque - measured.torque, difference, atol=1e-10)


def test_feed_forward_needs_no_state():
    command = ComputedTorque(PUMA, mode="feed_forward").command((Q_D, QD_D, QDD_D))
    np.testing.assert_allclose(command.torque, PUMA.inverse_dynamics(Q_D, QD_D, QDD_D), rtol=1e-12)
    np.testing.assert_allclose(command.voltage, PUMA.actuation.voltages(command.torque, QD_D)[0])


def test_error_decays_as_critically_damped():
    """Without friction, quantisation or limits, an error e0 at rest becomes e0 (1 + lambda t) e^(-lambda t)."""
    none = np.full(6, np.inf)
    motors = dataclasses.replace(PUMA.mechanism.motors, current_limit=none, voltage_limit=none)
    robot = TreeRobot(dataclasses.replace(PUMA.mechanism, Fs=np.zeros(6), motors=motors))
    bandwidth = 5.0
    controller = ComputedTorque(robot, bandwidth)
    goal, e0 = np.array([0.2, -0.3, 0.1, 0.4, 0.2, 0.0]), np.full(6, 0.1)
    desired = (goal, np.zeros(6), np.zeros(6))

    def volts(t, q, qd):
        return controller.command(desired, q, qd).voltage

    result = simulate(robot, goal + e0, duration=1.0, volts=volts, h=1e-4, method="rk4")
    t = result.t[:, None]
    expected = goal + e0 * (1 + bandwidth * t) * np.exp(-bandwidth * t)
    assert np.abs(result.q - expected).max() < 1e-4  # what holding the voltage over 0.1 ms costs


@pytest.mark.parametrize("name", ["planar_2r", "puma560", "cmu_dd_arm"])
def test_tracking_with_motors_dac_and_sampling_in_the_loop(name):
    robot = load_robot(name)
    n = robot.n
    controller = ComputedTorque(robot, 25.0, friction="desired")
    trajectory = cycloidal(np.zeros(n), np.full(n, 0.5), 3.0)
    stepper = Stepper(robot, np.zeros(n), h=1e-3)
    errors = []
    for k in range(3000):
        desired = trajectory.sample(k * 1e-3)
        errors.append(stepper.q - desired[0])
        command = controller.command(desired, stepper.q.copy(), stepper.qd.copy())
        assert not command.saturated.any()
        stepper.step(robot.dac_volts(command.code))
    assert np.sqrt(np.mean(np.square(errors), axis=0)).max() < 1e-3


def test_passive_joints_are_taken_up():
    """With joint 5 on a spring and joint 6 free, the active joints accelerate exactly as the law asks."""
    m = PUMA.mechanism
    active = np.array([True, True, True, True, False, False])
    nan = np.where(active, 1.0, np.nan)
    motors = dataclasses.replace(m.motors, gear=m.motors.gear * nan)
    springs = Springs(np.array([0.0, 0.0, 0.0, 0.0, 30.0, 0.0]), np.full(6, 0.1))
    robot = TreeRobot(dataclasses.replace(m, active=active, motors=motors, springs=springs))
    command = ComputedTorque(robot, 20.0).command((Q_D, QD_D, QDD_D), Q, QD)
    qdd = robot.forward_dynamics(Q, QD, command.torque)
    reference = QDD_D - 40.0 * (QD - QD_D) - 400.0 * (Q - Q_D)
    np.testing.assert_allclose(qdd[:4], reference[:4], rtol=1e-9)
    np.testing.assert_array_equal(command.torque[4:], 0.0)
    np.testing.assert_array_equal(command.voltage[4:], 0.0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_law_holds_in_the_active_joints_of_closed_chains(formulation):
    robot = load_robot("five_bar_saha")
    q_d, (qd_d, qdd_d) = robot.neutral(), np.array([[0.5, -0.3], [2.0, 1.0]])
    q, qd = q_d + np.array([0.02, -0.01]), qd_d + np.array([0.1, 0.2])
    command = ComputedTorque(robot.using(formulation), 20.0).command((q_d, qd_d, qdd_d), q, qd)
    reference = qdd_d - 40.0 * (qd - qd_d) - 400.0 * (q - q_d)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, command.torque), reference, rtol=1e-8)
    np.testing.assert_allclose(robot.voltages(command.torque, qd), command.voltage)
    np.testing.assert_array_equal(robot.dac_codes(command.voltage), command.code)
    assert not command.saturated.any()
    ahead = ComputedTorque(robot.using(formulation), mode="feed_forward").command((q_d, qd_d, qdd_d))
    np.testing.assert_allclose(robot.forward_dynamics(q_d, qd_d, ahead.torque), qdd_d, rtol=1e-8)
    with pytest.raises(InputError, match="one state at a time"):
        ComputedTorque(robot).command((q_d, qd_d, qdd_d), np.zeros((2, 2)), qd)


def test_friction_of_closed_chains_is_taken_at_the_desired_speeds():
    """Friction in active and passive joints adds G^T F(G qd_d) to what the plain robot needs."""
    plain = load_robot("five_bar_saha")
    m = plain.mechanism
    Fv, Fs = np.array([0.3, 0.2, 0.4, 0.1]), np.array([0.5, 0.6, 0.7, 0.8])
    robot = LoopRobot(dataclasses.replace(m, Fv=Fv, Fs=Fs))
    q, qd, qd_d, still = plain.neutral(), np.array([0.4, -0.3]), np.array([-0.5, 0.6]), np.zeros(2)
    found = ComputedTorque(robot, 0.0, friction="desired").command((q, qd_d, still), q, qd).torque
    at = plain.closed(q, qd_d)
    expected = plain.inverse_dynamics(q, qd, still) + at.G.T @ (Fv * at.qd + Fs * np.sign(at.qd))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_the_five_bar_tracks_with_motors_dac_and_sampling_in_the_loop():
    robot = load_robot("five_bar_saha")
    controller = ComputedTorque(robot, 50.0)
    start = robot.neutral()
    trajectory = cycloidal(start, start + np.array([0.4, -0.3]), 0.8)
    stepper = Stepper(robot, start, h=1e-3)
    errors = []
    for k in range(800):
        desired = trajectory.sample(k * 1e-3)
        errors.append(stepper.q - desired[0])
        stepper.step(robot.dac_volts(controller.command(desired, stepper.q.copy(), stepper.qd.copy()).code))
    assert np.abs(stepper.q - start).min() > 0.25
    assert np.sqrt(np.mean(np.square(errors), axis=0)).max() < 1e-4


def test_bad_input_is_named():
    for arguments, sentence in (
        ({"bandwidth": -1.0}, "bandwidth"),
        ({"bandwidth": [1.0, 2.0]}, "bandwidth"),
        ({"bandwidth": np.nan}, "bandwidth"),
        ({"mode": "pid"}, "mode must be"),
        ({"friction": "none"}, "friction must be"),
    ):
        with pytest.raises(InputError, match=sentence):
            ComputedTorque(PUMA, **arguments)
    controller = ComputedTorque(PUMA)
    with pytest.raises(InputError, match="qd_d is not finite"):
        controller.command((Q_D, QD_D * np.nan, QDD_D), Q, QD)
    with pytest.raises(InputError, match=r"q has shape \(5,\)"):
        controller.command((Q_D, QD_D, QDD_D), Q[:5], QD)
    with pytest.raises(InputError, match="one state at a time"):
        controller.command((Q_D, QD_D, QDD_D), np.zeros((2, 6)), QD)


def test_without_motors_ideal_drives_give_the_torque_that_is_asked_for():
    robot = TreeRobot(dataclasses.replace(PUMA.mechanism, motors=None))
    asked = ComputedTorque(robot).command((Q_D, QD_D, QDD_D), Q, QD)
    np.testing.assert_allclose(asked.torque, ComputedTorque(PUMA).command((Q_D, QD_D, QDD_D), Q, QD).torque)
    given = robot.actuation.torques(robot.actuation.volts(asked.code), QD)[0]
    limits = np.where(np.isfinite(PUMA.mechanism.effort_limits), PUMA.mechanism.effort_limits, np.inf)
    within = np.clip(asked.torque, -limits, limits)
    np.testing.assert_allclose(given, within, rtol=1e-6, atol=1e-6)
