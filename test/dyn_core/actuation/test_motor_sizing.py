"""Assumed motors can do what the joints' limits say."""

import dataclasses

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.actuation.motor_sizing import with_assumed_motors
from dyn_core.errors import InputError
from dyn_core.robots import convert, robot_of


@pytest.fixture
def bare():
    return dataclasses.replace(load_robot("puma560").mechanism, motors=None)


def test_assumed_motors_give_the_greatest_effort_at_the_greatest_speed(bare):
    effort, speed = np.full(6, 40.0), np.full(6, 2.5)
    mechanism, joints = with_assumed_motors(dataclasses.replace(bare, effort_limits=effort, velocity_limits=speed))
    assert joints == list(bare.joint_names)
    robot = robot_of(mechanism)
    volts, cut = robot.actuation.voltages(0.99 * effort, speed)
    assert not cut.any()
    np.testing.assert_allclose(robot.actuation.torques(volts, speed)[0], 0.99 * effort)
    assert not robot.actuation.ideal.any()
    assert robot.actuation.assumption == ""


def test_a_joint_without_limits_gets_a_motor_that_holds_it(bare):
    unlimited = np.full(6, np.inf)
    mechanism, _ = with_assumed_motors(dataclasses.replace(bare, effort_limits=unlimited, velocity_limits=unlimited))
    robot = robot_of(mechanism)
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, (50, 6))
    assert not robot.actuation.voltages(robot.gravity_forces(q), np.zeros((50, 6)))[1].any()


def test_convert_adds_motors_and_says_that_they_are_assumed(bare, tmp_path):
    source = tmp_path / "arm.yaml"
    convert("puma560", tmp_path / "arm.urdf", "urdf")
    text = (tmp_path / "arm.urdf").read_text()
    (tmp_path / "arm.urdf").write_text("\n".join(line for line in text.splitlines() if "<motor" not in line))
    done = convert(tmp_path / "arm.urdf", source, "mdh", add_motors=True)
    assert "assumed" in done.notes[-1]
    assert "assumed" in source.read_text()
    assert not load_robot(source).actuation.ideal.any()
    with pytest.raises(InputError, match="has a motor already"):
        convert(source, tmp_path / "again.yaml", "mdh", add_motors=True)
