"""Simulation: integrators against each other and their order, motors against their time constant, failures kept."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from random_robots import pinocchio_model, random_mechanism

import dyn_core
from dyn_core import load_robot
from dyn_core.errors import InputError, SimulationError, SingularityError
from dyn_core.robots import TreeRobot
from dyn_core.simulation import Stepper, simulate

PUMA = load_robot("puma560")
SMOOTH = TreeRobot(dataclasses.replace(PUMA.mechanism, Fs=np.zeros(6)))
VOLTS = np.array([5.0, -8.0, 6.0, 3.0, -3.0, 2.0])


def end(method, h, robot=SMOOTH, duration=0.4):
    result = simulate(robot, np.full(6, 0.1), duration=duration, volts=VOLTS, h=h, method=method)
    return np.concatenate([result.q[-1], result.qd[-1]])


@pytest.mark.parametrize(("method", "order"), [("rk3", 3), ("rk4", 4), ("euler", 1)])
def test_order_of_the_fixed_step_integrators(method, order):
    exact = end("DOP853", 0.4)
    coarse, fine = (np.abs(end(method, h) - exact).max() for h in (8e-3, 4e-3))
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.35)


def test_euler_takes_viscous_friction_at_the_end_of_the_step():
    """(H + h Fv) k = tau - bias, qd += h k, q += h qd, with Pinocchio's H and bias; qdd is k."""
    mechanism = random_mechanism(np.random.default_rng(4), 5)
    mechanism = dataclasses.replace(mechanism, Fv=np.array([0.0, 0.3, 2.0, 40.0, 5.0]), Fs=np.zeros(5))
    model = pinocchio_model(mechanism)
    data = model.createData()
    q, qd, tau = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 5))
    h, steps = 2e-3, 40
    result = simulate(TreeRobot(mechanism), q, qd, steps * h, torques=tau, h=h, method="euler")
    for k in range(steps):
        H = np.triu(pin.crba(model, data, q))
        H += np.triu(H, 1).T + h * np.diag(mechanism.Fv)
        qdd = np.linalg.solve(H, tau - pin.rnea(model, data, q, qd, np.zeros(5)) - mechanism.Fv * qd)
        np.testing.assert_allclose(result.qdd[k], qdd, rtol=1e-9, atol=1e-9)
        qd = qd + h * qdd
        q = q + h * qd
    np.testing.assert_allclose(result.q[-1], q, rtol=1e-10)
    np.testing.assert_allclose(result.qd[-1], qd, rtol=1e-10)


@pytest.mark.parametrize("name", ["four_bar_saha", "gough_stewart"])
def test_euler_is_for_trees(name):
    with pytest.raises(InputError, match="not a tree of independent joints"):
        Stepper(load_robot(name), method="euler")


@pytest.mark.parametrize("method", ["rk3", "euler"])
def test_a_step_is_a_row_of_the_record(method):
    """Accelerations and torques are computed when they are asked for, after a step or before one."""
    table = np.random.default_rng(2).uniform(-5.0, 5.0, (8, 6))
    result = simulate(PUMA, np.full(6, 0.1), duration=8e-3, volts=table, method=method)
    stepper = Stepper(PUMA, np.full(6, 0.1), method=method)
    for k, volts in enumerate(table):
        stepper.step(volts)
        if k % 2:
            np.testing.assert_array_equal(stepper.tau, result.tau[k + 1])
            np.testing.assert_array_equal(stepper.qdd, result.qdd[k + 1])
        np.testing.assert_array_equal(stepper.q, result.q[k + 1])
        assert stepper.t == result.t[k + 1]
    stepper.reset()
    assert stepper.t == 0.0
    assert not stepper.qdd.any()


@pytest.mark.parametrize("method", ["RK45", "Radau", "LSODA"])
def test_adaptive_integrators_agree(method):
    np.testing.assert_allclose(end(method, 0.4, duration=0.4), end("rk4", 2.5e-4), atol=1e-6)


def test_one_motor_spins_up_with_its_time_constant():
    """J qdd = G Kt (V - G Kt qd) / R: an exponential of time constant J R / (G Kt)^2."""
    robot = load_robot("puma560")
    m = robot.mechanism
    one = TreeRobot(
        dataclasses.replace(
            m,
            joint_names=m.joint_names[5:],
            body_names=m.body_names[5:],
            frames=(dataclasses.replace(m.frames[5], body=0), dataclasses.replace(m.frames[-1], body=0)),
            parent=np.array([-1]),
            gravity=np.zeros(3),
            motors=type(m.motors)(*(getattr(m.motors, f.name)[5:] for f in dataclasses.fields(m.motors))),
            **{
                key: (np.zeros(1) if key in ("Fv", "Fs") else getattr(m, key)[5:])
                for key in (
                    "joint_type",
                    "R",
                    "p",
                    "M",
                    "MS",
                    "J",
                    "Ia",
                    "Fv",
                    "Fs",
                    "stiffness",
                    "position_limits",
                    "velocity_limits",
                    "effort_limits",
                    "active",
                )
            },
        )
    )
    e = float(one.mechanism.motors.gear[0] * one.mechanism.motors.Kt[0])
    inertia = float(one.mass_matrix([0.0])[0, 0])
    time_constant = inertia * float(one.mechanism.motors.resistance[0]) / e**2
    result = simulate(one, duration=3 * time_constant, volts=[1.0], h=time_constant / 200)
    np.testing.assert_allclose(result.qd[:, 0], (1 - np.exp(-result.t / time_constant)) / e, atol=1e-7 / abs(e))


def test_the_voltage_is_held_over_a_dac_period():
    calls = []

    def volts(t, q, qd):
        calls.append(t)
        return VOLTS * (1 + t)

    result = simulate(PUMA, duration=0.02, volts=volts, h=1e-3, dac_period=5e-3)
    np.testing.assert_allclose(calls, [0.0, 0.005, 0.010, 0.015, 0.020])
    np.testing.assert_array_equal(result.drive[1:6], np.tile(VOLTS, (5, 1)))
    np.testing.assert_allclose(result.drive[6], VOLTS * 1.005)


@pytest.mark.parametrize("method", ["rk3", "rk4", "euler", "RK45"])
def test_a_table_of_voltages_is_the_function_that_reads_it(method):
    table = np.random.default_rng(0).uniform(-5, 5, (4, 6))
    rows = iter(table)
    last = table[-1]
    by_function = simulate(PUMA, duration=0.03, volts=lambda *_: next(rows, last), dac_period=5e-3, method=method)
    by_table = simulate(PUMA, duration=0.03, volts=table, dac_period=5e-3, method=method)
    names = {field.name for field in dataclasses.fields(by_table)} - {"step_error", "warning"}
    for name in names:
        np.testing.assert_array_equal(getattr(by_table, name), getattr(by_function, name))


def test_the_record_is_consistent():
    result = simulate(SMOOTH, np.full(6, 0.1), duration=0.05, volts=VOLTS)
    assert len(result.t) == 51
    for k in (0, 20, 50):
        tau, _ = SMOOTH.actuation.torques(result.drive[k], result.qd[k])
        np.testing.assert_allclose(result.tau[k], tau, rtol=1e-12)
        np.testing.assert_allclose(result.qdd[k], SMOOTH.forward_dynamics(result.q[k], result.qd[k], tau), rtol=1e-9)


def test_torques_drive_a_robot_without_motors():
    robot = TreeRobot(random_mechanism(np.random.default_rng(3), 4, friction=False))
    q0 = np.array([0.1, 0.2, 0.3, 0.4])
    result = simulate(robot, q0, duration=0.5, torques=lambda t, q, qd: robot.gravity_forces(q))
    np.testing.assert_allclose(result.q, np.tile(q0, (501, 1)), atol=1e-9)
    fall = simulate(robot, q0, duration=0.1)
    np.testing.assert_allclose(fall.qdd[0], robot.forward_dynamics(q0, np.zeros(4), np.zeros(4)))


def test_wrenches_push():
    stepper = Stepper(SMOOTH)
    w = np.zeros((6, 6))
    w[5, :3] = [10.0, 20.0, 30.0]
    stepper.step(np.zeros(6), 0, wrenches=w)
    expected = SMOOTH.forward_dynamics(np.zeros(6), np.zeros(6), np.zeros(6), w)
    np.testing.assert_allclose(stepper.qdd, expected, rtol=1e-10)


def test_coulomb_friction_holds_without_chatter():
    """Joint 1 of the arm has a vertical axis: friction brings it to rest and keeps it there."""
    result = simulate(PUMA, qd0=[1.0, 0, 0, 0, 0, 0], duration=1.5, torques=lambda t, q, qd: PUMA.gravity_forces(q))
    assert np.abs(result.qd[-200:]).max() < 1e-6


def test_a_failure_keeps_what_was_computed():
    result = simulate(PUMA, duration=1.0, torques=np.full(6, 1e200))
    assert "not finite after t =" in result.failure
    assert 0 < len(result.t) < 1001
    assert np.isfinite(result.q).all()
    stepper = Stepper(PUMA, np.full(6, 0.1))
    with pytest.raises(SimulationError, match="the state before it is kept"):
        stepper.step(np.full(6, np.nan), 5)
    np.testing.assert_array_equal(stepper.q, np.full(6, 0.1))
    assert stepper.t == 0.0
    stepper.step(np.zeros(6), 2)
    assert stepper.t == pytest.approx(2e-3)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"volts": VOLTS, "torques": VOLTS}, "either volts or torques"),
        ({"duration": -1.0}, "duration"),
        ({"h": 0.0}, "step h"),
        ({"method": "midpoint"}, "no method 'midpoint'; there are rk3, rk4, euler"),
        ({"dac_period": 1.5e-3}, "not a whole number of steps"),
        ({"volts": [1.0, 2.0]}, "drive has shape"),
        ({"volts": lambda *_: [1.0]}, "drive has shape"),
        ({"q0": [1.0]}, "q0 has shape"),
        ({"q0": np.zeros((2, 6))}, "must have shape"),
    ],
)
def test_bad_input_is_named(arguments, sentence):
    with pytest.raises(InputError, match=sentence):
        simulate(PUMA, **arguments)


def test_a_robot_that_moves_no_inertia_cannot_be_simulated():
    m = random_mechanism(np.random.default_rng(0), 1)
    for array in (m.M, m.MS, m.J, m.Ia):
        array[:] = 0.0
    with pytest.raises(SingularityError, match="cannot be simulated"):
        Stepper(TreeRobot(m))


def test_simulate_is_had_from_dyn_core():
    assert dyn_core.simulate is simulate


def test_a_motion_in_parts_is_the_motion_at_once():
    """Rows are computed AT_ONCE at a time, and a stepper that records again goes on: the same bits."""
    table = np.random.default_rng(1).uniform(-5, 5, (700, 6))
    whole = simulate(PUMA, np.full(6, 0.1), duration=2.5, volts=table, dac_period=4e-3)
    stepper = Stepper(PUMA, np.full(6, 0.1))
    stepper.step(table[0], 4)
    for k in range(1, 625):
        stepper.step(table[k], 4)
    np.testing.assert_array_equal(stepper.q, whole.q[-1])
    again = Stepper(PUMA, np.full(6, 0.1))
    parts = [again.record(table, 1200, hold=4), again.record(table[300:], 1300, hold=4)]
    for name in ("t", "q", "qd", "qdd", "tau", "drive"):
        joined = np.concatenate([getattr(parts[0], name), getattr(parts[1], name)[1:]])
        np.testing.assert_array_equal(joined, getattr(whole, name))
    assert again.t == whole.t[-1]


def test_a_motion_can_be_stopped_with_what_was_computed():
    seen = []

    def go_on(t):
        seen.append(t)
        return t < 1.5

    whole = simulate(PUMA, duration=5.0, volts=VOLTS)
    result = simulate(PUMA, duration=5.0, volts=VOLTS, go_on=go_on)
    assert result.failure == "puma560: stopped at t = 2 s, as asked"
    np.testing.assert_allclose(seen, [1.0, 2.0])
    np.testing.assert_array_equal(result.q, whole.q[:2001])
    by_function = simulate(PUMA, duration=5.0, volts=lambda *_: VOLTS, go_on=lambda t: t < 0.0105)
    assert len(by_function.t) == 12
    assert "stopped" in by_function.failure
