"""Motors, amplifiers and DAC: the printed equations, limits, rounding, and the way back."""

from __future__ import annotations

import dataclasses
import warnings

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core import Robot, load_robot
from dyn_core.actuation.motors import Actuation
from dyn_core.errors import InputError, MissingMotorError, SaturationWarning
from dyn_core.mechanism import Motors
from dyn_core.robots import TreeRobot


def robot_with(**changes) -> Robot:
    """Two joints, gear 10 and -5 (a reversed gear), a 12-bit DAC over +-10 V and an amplifier of gain 4."""
    values = {
        "gear": [10.0, -5.0], "Kt": [0.2, 0.1], "resistance": [2.0, 4.0], "current_limit": [np.inf, np.inf],
        "voltage_limit": [40.0, 40.0], "dac_bits": [12, 12], "dac_low": [-10.0, -10.0], "dac_high": [10.0, 10.0],
        "dac_gain": [4.0, 4.0], "dac_sign": [1.0, -1.0], "dac_offset": [0.0, 0.0],
    } | changes  # fmt: skip
    motors = Motors(**{key: np.array(value) for key, value in values.items()})
    return TreeRobot(dataclasses.replace(random_mechanism(np.random.default_rng(0), 2), motors=motors))


def test_voltage_is_ohmic_drop_plus_back_emf():
    volts = robot_with().voltages([4.0, 1.0], [0.5, -2.0])
    np.testing.assert_allclose(volts, [2.0 * 4.0 / 2.0 + 2.0 * 0.5, 4.0 * 1.0 / -0.5 + -0.5 * -2.0])


def test_torque_undoes_voltage():
    rng = np.random.default_rng(1)
    robot = robot_with()
    tau, qd = rng.uniform(-2, 2, (2, 50, 2))
    np.testing.assert_allclose(robot.torques(robot.voltages(tau, qd), qd), tau, rtol=1e-12)


def test_power_balance():
    """Electrical power in = heat + mechanical power out."""
    rng = np.random.default_rng(2)
    robot = robot_with()
    tau, qd = rng.uniform(-2, 2, (2, 2))
    current = tau / (np.array([10.0, -5.0]) * [0.2, 0.1])
    volts = robot.voltages(tau, qd)
    np.testing.assert_allclose(volts * current, [2.0, 4.0] * current**2 + tau * qd)


def test_limits_are_kept_and_reported():
    robot = robot_with(current_limit=[3.0, np.inf])
    with pytest.warns(SaturationWarning, match="random: joint0 cut by the current or voltage limit"):
        volts = robot.voltages([8.0, 0.1], [0.0, 0.0])
    assert volts[0] == 6.0
    with pytest.warns(SaturationWarning, match="joint0, joint1 cut"):
        np.testing.assert_array_equal(robot.voltages([0.0, 0.0], [1000.0, 1000.0]), [40.0, -40.0])
    with pytest.warns(SaturationWarning, match="joint0"):
        assert robot.torques([50.0, 0.0], [0.0, 0.0])[0] == pytest.approx(2.0 * 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        robot.voltages([1.0, 0.1], [0.0, 0.0])
    _, cut = Actuation(robot.mechanism).voltages([[8.0, 0.1], [1.0, 0.1]], [0.0, 0.0])
    np.testing.assert_array_equal(cut, [[True, False], [False, False]])


def test_codes_are_the_nearest():
    robot = robot_with()
    step = 4.0 * 20.0 / 4096
    volts = np.random.default_rng(3).uniform(-39.9, 39.9, (1000, 2))
    codes = robot.dac_codes(volts)
    assert codes.dtype == np.int32
    back = robot.dac_volts(codes)
    assert np.abs(back - volts).max() <= step / 2 * (1 + 1e-12)
    np.testing.assert_array_equal(robot.dac_codes([0.0, 0.0]), [2048, 2048])
    np.testing.assert_array_equal(robot.dac_volts([2048, 2048]), [0.0, 0.0])
    np.testing.assert_array_equal(robot.dac_codes([step, step]), [2049, 2047])  # the second channel inverts


def test_every_code_comes_back():
    robot = robot_with(dac_bits=[8, 16], dac_offset=[0.3, -1.0], dac_low=[0.0, -5.0], dac_high=[5.0, 10.0])
    for channel, bits in ((0, 8), (1, 16)):
        codes = np.zeros((2**bits, 2), int)
        codes[:, channel] = np.arange(2**bits)
        np.testing.assert_array_equal(robot.dac_codes(robot.dac_volts(codes)), codes)


def test_range_of_the_dac_is_kept_and_reported():
    robot = robot_with()
    with pytest.warns(SaturationWarning, match="joint0 cut by the range of its DAC"):
        np.testing.assert_array_equal(robot.dac_codes([41.0, 0.0]), [4095, 2048])
    with pytest.warns(SaturationWarning, match="joint1"):
        np.testing.assert_array_equal(robot.dac_codes([0.0, 41.0]), [2048, 0])


def test_bad_input_is_named():
    robot = robot_with()
    for bad in ([1.0], [np.nan, 0.0]):
        with pytest.raises(InputError, match="tau"):
            robot.voltages(bad, [0.0, 0.0])
    for bad in ([-1, 0], [0, 4096], [0.5, 1]):
        with pytest.raises(InputError, match="whole numbers from 0 to"):
            robot.dac_volts(bad)
    with pytest.raises(InputError, match="do not fit together"):
        robot.voltages(np.zeros((3, 2)), np.zeros((4, 2)))


def test_a_robot_without_motors_says_so():
    robot = TreeRobot(random_mechanism(np.random.default_rng(0), 2))
    robot.inverse_dynamics([0.0, 0.0], [0.0, 0.0], [0.0, 0.0])
    with pytest.raises(MissingMotorError, match="random describes no motors"):
        robot.voltages([0.0, 0.0], [0.0, 0.0])


def test_a_passive_joint_has_no_voltage():
    robot = robot_with(gear=[10.0, np.nan], dac_bits=[12, 0], dac_low=[-10.0, np.nan])
    robot = TreeRobot(dataclasses.replace(robot.mechanism, active=np.array([True, False])))
    np.testing.assert_array_equal(Actuation(robot.mechanism).voltages([4.0, 5.0], [0.0, 1.0])[0], [4.0, 0.0])
    np.testing.assert_array_equal(Actuation(robot.mechanism).torques([4.0, 5.0], [0.0, 1.0])[0], [4.0, 0.0])
    np.testing.assert_array_equal(Actuation(robot.mechanism).codes([4.0, 0.0])[0], [2048 + 205, 0])


def test_puma_holds_itself_up_within_its_limits():
    robot = load_robot("puma560")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        volts = robot.voltages(robot.gravity_forces(np.zeros(6)), np.zeros(6))
        robot.dac_codes(volts)
    assert np.abs(volts).max() > 1.0


def test_the_layout_of_the_arguments_does_not_matter():
    """Kernels always see writable C arrays: numba takes a read-only array for another type, and refuses it."""
    robot = load_robot("puma560")
    tau = np.linspace(-1.0, 1.0, 24).reshape(4, 6)
    expected = robot.voltages(tau, np.zeros((4, 6)))
    strided = np.repeat(tau, 2, axis=1)[:, ::2]
    frozen = tau.copy()
    frozen.flags.writeable = False
    for same in (np.asfortranarray(tau), strided, frozen, tau.tolist()):
        _, rows = robot.actuation._rows(tau=same, qd=np.zeros(6))
        assert all(row.flags.c_contiguous and row.flags.writeable for row in rows)
        np.testing.assert_array_equal(robot.voltages(same, np.zeros(6)), expected)
        np.testing.assert_array_equal(robot.torques(same, np.zeros(6)), robot.torques(tau, np.zeros((4, 6))))
        np.testing.assert_array_equal(robot.dac_codes(same), robot.dac_codes(tau))


def test_code_limits_are_those_of_the_dac() -> None:
    robot = load_robot("puma560")
    lowest, highest = robot.actuation.code_limits
    robot.dac_volts(lowest)
    robot.dac_volts(highest)
    motors = robot.mechanism.motors
    assert motors is not None
    assert (highest == 2.0**motors.dac_bits - 1).all()
