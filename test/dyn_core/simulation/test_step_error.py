"""The estimated error of fixed steps: near the true one, silent where steps are fine, with a remedy that helps."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.control import ComputedTorque
from dyn_core.errors import StepSizeWarning
from dyn_core.simulation import simulate, stepper
from dyn_core.simulation.step_error import LARGEST, rounded_down, samples
from dyn_core.trajectory import cycloidal

FREE = {"planar_2r": 0.02, "four_bar_wang": 0.02, "eel": 0.02}  # robots without Coulomb friction, and a coarse step


def pushed(name):
    """A robot, a start and torques that move it by about a radian in a second, without motors."""
    robot = load_robot(name)
    rng = np.random.default_rng(4)
    torques = {"planar_2r": 5.0, "four_bar_wang": 6.0, "eel": 0.02}[name] * rng.uniform(0.5, 1.0, robot.n)
    mechanism = robot.mechanism
    if mechanism.Fs.any():
        robot = type(robot)(mechanism.__class__(**{**vars(mechanism), "Fs": 0.0 * mechanism.Fs}))
    return robot, torques


@pytest.mark.parametrize("method", ["rk3", "rk4"])
@pytest.mark.parametrize("name", FREE)
def test_the_estimate_is_about_the_true_error(name, method):
    robot, torques = pushed(name)
    exact = simulate(robot, torques=torques, duration=1.0, h=5e-4, method="rk4")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepSizeWarning)
        found = simulate(robot, torques=torques, duration=1.0, h=FREE[name], method=method)
    true = np.abs(found.q[-1] - exact.q[-1]).max()
    assert true > 1e-9
    assert true / 10.0 < found.step_error.max() < 100.0 * true


@pytest.mark.parametrize(
    "name", ["planar_2r", "puma560", "elastic_2r", "cmu_dd_arm", "eel", "four_bar_wang", "agile_wrist"]
)
def test_usual_simulations_are_silent(name):
    robot = load_robot(name)
    drive = {"torques": np.full(robot.n, 0.02)} if robot.mechanism.motors is None else {"volts": np.full(robot.n, 2.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepSizeWarning)
        found = simulate(robot, duration=1.0, **drive)
    assert found.warning == ""
    assert found.step_error.max() < 1e-4


def test_coarse_steps_are_named_with_a_remedy_that_helps():
    """An eel whose joints are driven to hundreds of radians per second."""
    robot = load_robot("eel")
    torques = np.cos(np.arange(robot.n))
    common = {"torques": torques, "duration": 0.25}
    with pytest.warns(StepSizeWarning, match="steps of 0.001 s by rk3 are too coarse") as told:
        coarse = simulate(robot, **common)
    assert len(told) == 1
    assert coarse.warning == str(told[0].message)
    step = float(re.search(r"use h=([\d.e-]+),", coarse.warning).group(1))
    assert step < 1e-3
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepSizeWarning)
        fine = simulate(robot, h=step, **common)
    exact = simulate(robot, h=step / 8, method="rk4", **common)
    off = np.abs(fine.q[-1] - exact.q[-1])[7:]
    assert (off < LARGEST * np.ptp(exact.q, axis=0)[7:]).all()


@pytest.mark.parametrize(
    "name", ["puma560", "eel", "four_bar_wang", "five_bar_saha:denoc", "five_bar_saha:multipliers"]
)
@pytest.mark.parametrize("by_function", [False, True])
def test_sampling_leaves_the_motion_as_it_is(name, by_function, monkeypatch):
    name, _, formulation = name.partition(":")
    robot = load_robot(name)
    robot = robot.using(formulation) if formulation else robot
    torques = np.full(robot.n, 0.05)
    common = {"torques": (lambda t: torques) if by_function else torques, "duration": 0.05}
    sampled = simulate(robot, **common)
    monkeypatch.setattr(stepper, "StepErrors", lambda method, steps: _Nothing())
    plain = simulate(robot, **common)
    assert sampled.step_error is not None
    assert plain.step_error is None
    np.testing.assert_allclose(sampled.q, plain.q, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sampled.qd, plain.qd, rtol=0, atol=1e-12)


class _Nothing:
    rows = ()

    def estimate(self, steps, h):
        return None


def test_adaptive_methods_have_no_steps_to_judge():
    assert simulate(load_robot("planar_2r"), duration=0.01, method="DOP853").step_error is None


def test_samples_are_few_and_spread():
    assert samples(0) == []
    assert samples(30) == [15]
    assert samples(4000) == [500, 1500, 2500, 3500]


@pytest.mark.parametrize(("x", "expected"), [(2.5e-4, 2e-4), (1e-3, 1e-3), (9.9e-6, 5e-6), (0.0102, 0.01)])
def test_recommended_steps_are_round(x, expected):
    assert rounded_down(x) == pytest.approx(expected)


def test_a_motion_under_feedback_has_no_estimate():
    """An elastic arm under computed torque was said to be off by 0.3 rad where it was off by 0.001."""
    robot = load_robot("elastic_2r")
    law, move = ComputedTorque(robot, 60.0, friction="desired"), cycloidal(np.zeros(4), [0.6, 0.0, 0.0, 0.0], 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepSizeWarning)
        found = simulate(robot, duration=0.7, volts=lambda t, q, qd: law.command(move.sample(t), q, qd).voltage)
    assert found.step_error is None
