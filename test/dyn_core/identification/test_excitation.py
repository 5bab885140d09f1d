"""Exciting motions keep the limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core import load_robot
from dyn_core.errors import InputError
from dyn_core.identification import (
    excite,
)
from dyn_core.identification.excitation import DURATIONS
from dyn_core.robots import TreeRobot


def test_exciting_motion_keeps_the_limits_and_rests_at_its_ends() -> None:
    robot = load_robot("puma560")
    found = excite(robot, 10.0, evaluations=40)
    assert found.condition < found.start_condition
    m = robot.mechanism
    t = np.linspace(0.0, 10.0, 3000)
    q, qd, qdd = found.trajectory.sample(t)
    assert (q > m.position_limits[:, 0]).all()
    assert (q < m.position_limits[:, 1]).all()
    assert (np.abs(qd) < m.velocity_limits).all()
    assert (np.abs(robot.inverse_dynamics(q, qd, qdd)).max(axis=0) < m.effort_limits).all()
    for end in (0.0, 10.0, -1.0, 11.0):
        at, speed, acceleration = found.trajectory.sample(end)
        assert at == pytest.approx(q[0])
        assert np.abs(speed).max() < 1e-12
        assert np.abs(acceleration).max() < 1e-12
    assert np.gradient(q, t, axis=0)[5:-5] == pytest.approx(qd[5:-5], abs=1e-3)
    assert np.gradient(qd, t, axis=0)[5:-5] == pytest.approx(qdd[5:-5], abs=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_effort_limits_that_bind_make_the_motion_smaller(seed: int) -> None:
    m = load_robot("planar_2r").mechanism
    t = np.linspace(0.0, 3.0, 3000)
    free = excite(TreeRobot(m), 3.0, evaluations=1, seed=seed).trajectory.sample(t)
    limits = 0.9 * np.abs(TreeRobot(m).inverse_dynamics(*free)).max(axis=0)
    robot = TreeRobot(replace(m, effort_limits=limits))
    state = excite(robot, 3.0, evaluations=10, seed=seed).trajectory.sample(t)
    assert (np.abs(robot.inverse_dynamics(*state)).max(axis=0) <= limits).all()
    assert np.ptp(state[0], axis=0).min() > 0.1


def test_currents_and_voltages_stay_within_the_motors_limits() -> None:
    m = load_robot("planar_2r").mechanism
    assert m.motors is not None
    t = np.linspace(0.0, 3.0, 3000)
    robot = TreeRobot(m)
    q, qd, qdd = excite(robot, 3.0, evaluations=5).trajectory.sample(t)
    current = robot.inverse_dynamics(q, qd, qdd) / (m.motors.gear * m.motors.Kt)
    volts = m.motors.resistance * current + m.motors.gear * m.motors.Kt * qd
    motors = replace(m.motors, voltage_limit=0.8 * np.abs(volts).max(axis=0))
    weaker = TreeRobot(replace(m, motors=motors))
    state = excite(weaker, 3.0, evaluations=10).trajectory.sample(t)
    tau = weaker.inverse_dynamics(*state)
    assert not weaker.actuation.voltages(tau, state[1])[1].any()


def test_the_duration_is_chosen_by_what_the_limits_allow() -> None:
    """An arm whose joints may turn at a tenth of the speed needs a longer period."""
    m = load_robot("planar_2r").mechanism
    found = excite(TreeRobot(m), evaluations=3).trajectory.duration
    slow = TreeRobot(replace(m, velocity_limits=0.1 * m.velocity_limits))
    assert found in DURATIONS
    assert excite(slow, evaluations=3).trajectory.duration > found


def test_missing_limits_are_named() -> None:
    robot = TreeRobot(random_mechanism(np.random.default_rng(0), 2))
    assert [note.split()[0] for note in excite(robot, evaluations=4).notes] == ["joint0", "joint1"]


def test_an_arm_that_cannot_hold_itself_is_refused() -> None:
    m = load_robot("planar_2r").mechanism
    weak = TreeRobot(replace(m, effort_limits=np.full(2, 0.1)))
    with pytest.raises(InputError, match="limits of effort"):
        excite(weak, evaluations=5)
    with pytest.raises(InputError, match="elbow cannot be driven"):
        excite(TreeRobot(replace(m, active=np.array([True, False]))))


@pytest.mark.parametrize(("options", "match"), [({"duration": -1.0}, "duration"), ({"harmonics": 2}, "harmonics")])
def test_wrong_options_of_excite(options: dict[str, float], match: str) -> None:
    with pytest.raises(InputError, match=match):
        excite(load_robot("planar_2r"), **options)  # type: ignore[arg-type]
