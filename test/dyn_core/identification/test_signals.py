"""The filter: its cutoff follows the motion, not the recorder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_motion import believed, recorded, series, torque_error

from dyn_core import load_robot
from dyn_core.identification import MotionLog, identify, prepare, with_parameters
from dyn_core.identification.signals import derivative
from dyn_core.robots import TreeRobot


def positions(rate: float, spoil: str) -> MotionLog:
    robot, rng = load_robot("planar_2r"), np.random.default_rng(5)
    log = replace(recorded(robot, series(robot, 1), rng, 0.02, rate), qd=None, qdd=None)
    q = log.q
    if spoil == "noise":
        q = q + 2e-5 * rng.normal(size=q.shape)
    elif spoil == "rounded":
        q = np.round(q / 1e-4) * 1e-4
    elif spoil == "coarse":
        q = np.round(q / 1e-3) * 1e-3
    elif spoil == "repeated":
        q = np.round(q / 1e-5)[np.arange(len(q)) // 4 * 4] * 1e-5
    elif spoil == "gaps":
        keep = np.r_[0 : len(q) // 3, len(q) // 3 + 200 : len(q)]
        return MotionLog("x", log.t[keep], q[keep], tau=log.tau[keep])
    return replace(log, q=q)


@pytest.mark.parametrize("spoil", ["nothing", "noise", "rounded", "coarse", "repeated", "gaps"])
@pytest.mark.parametrize("rate", [200.0, 1000.0])
def test_the_cutoff_follows_the_motion_and_the_fit_holds(rate: float, spoil: str) -> None:
    """The motion ends at 0.5 Hz; a cutoff of 400 Hz, as of a single bin of rounding noise, would drown it."""
    robot = load_robot("planar_2r")
    found = identify(TreeRobot(believed(robot.mechanism, np.random.default_rng(2))), positions(rate, spoil))
    assert 1.0 <= found.samples.cutoff <= 5.0
    assert not found.failures
    assert found.unexplained["held back"].max() < 0.03
    fitted = with_parameters(robot.mechanism, found.chi)
    assert torque_error(robot.mechanism, fitted, series(robot, 7)) < 0.02


def test_speeds_that_are_not_the_positions_derivative_are_not_used() -> None:
    log = positions(200.0, "nothing")
    lagging = np.roll(np.gradient(log.q, log.t, axis=0), 60, axis=0)
    samples = prepare(load_robot("planar_2r"), replace(log, qd=lagging))
    assert "the recorded speeds are not the positions' derivative: not used" in samples.notes
    assert samples.qd == pytest.approx(prepare(load_robot("planar_2r"), log).qd)


def test_central_differences_have_no_phase_and_are_of_sixth_order() -> None:
    errors = []
    for rate in (50.0, 100.0):
        t = np.arange(0.0, 4.0, 1.0 / rate)[:, None]
        errors.append(np.abs(derivative(np.sin(8.0 * t), rate) - 8.0 * np.cos(8.0 * t))[10:-10].max())
    assert errors[0] / errors[1] == pytest.approx(64.0, rel=0.1)
