"""Simulated closed chains stop at singularities, at the right time, however they are simulated."""

from __future__ import annotations

import numpy as np
import pytest
from four_bar_chain import four_bar_chain

from dyn_core import load_robot
from dyn_core.simulation import simulate

LISTED = [4.5, 2.2, 0.0, -0.2, 5.5, 7.0]


def end_of(result):
    return result.t[-1] if result.singularity is None else result.singularity.t


@pytest.mark.parametrize("formulation", ["projection", "multipliers"])
def test_a_platform_does_not_run_on_beyond_a_singularity(formulation):
    robot = load_robot("gough_stewart_wang").using(formulation)
    result = simulate(robot, robot.neutral(), np.zeros(6), duration=0.8, torques=LISTED, h=1e-3, method="rk4")
    assert "comes to a singular configuration" in result.failure
    assert result.singularity.t == pytest.approx(0.3493, abs=3e-4)


@pytest.mark.parametrize("seed", range(6))
def test_random_forces_end_where_tiny_steps_end(seed):
    robot = load_robot("gough_stewart_wang")
    forces = np.random.default_rng(seed).uniform(-3.0, 9.0, 6)

    def moved(formulation, h, method):
        each = robot.using(formulation)
        return simulate(each, robot.neutral(), np.zeros(6), duration=0.6, torques=forces, h=h, method=method)

    fine = moved("multipliers", 2e-4, "rk4")
    for formulation, method in (("projection", "rk3"), ("projection", "rk4"), ("multipliers", "rk4")):
        result = moved(formulation, 1e-3, method)
        assert bool(result.failure) == bool(fine.failure)
        assert end_of(result) == pytest.approx(end_of(fine), abs=2e-3)
        rows = min(len(result.t), (len(fine.t) - 1) // 5 + 1)
        np.testing.assert_allclose(result.q[:rows], fine.q[::5][:rows], atol=1e-3)


@pytest.mark.parametrize("method", ["rk3", "rk4", "RK45", "LSODA"])
@pytest.mark.parametrize("formulation", ["projection", "multipliers", "virtual_spring"])
def test_coupled_four_bars_keep_what_was_computed(formulation, method):
    """They fall to where all rods lie along one line, a change point of both parallelograms."""
    robot = four_bar_chain(2).using(formulation)
    result = simulate(robot, qd0=[-2.0], duration=2.0, torques=[0.0], h=5e-3, method=method)
    reference = simulate(four_bar_chain(2), qd0=[-2.0], duration=2.0, torques=[0.0], h=1e-4, method="rk4")
    assert "comes to a singular configuration" in result.failure
    assert len(result.t) > 20
    assert np.isfinite(result.q).all()
    assert end_of(result) == pytest.approx(end_of(reference), abs=5e-3)
    assert result.q[-1, 0] == pytest.approx(0.0, abs=0.05)


@pytest.mark.parametrize("formulation", ["projection", "multipliers"])
def test_a_long_chain_takes_as_many_steps_as_a_short_one(formulation):
    """All rods move alike: N four-bars are one pendulum, whose steps nothing divides."""
    results = [
        simulate(four_bar_chain(n).using(formulation), duration=0.2, torques=[0.0], h=1e-3, method="rk4")
        for n in (2, 12)
    ]
    for n, result in zip((2, 12), results, strict=True):
        assert not result.failure
        # N + 1 rods turn, N couplers move with their tips
        theta = result.q[:, 0]
        expected = -9.81 * np.cos(theta) * ((n + 1) * 0.5 + n) / ((n + 1) / 3.0 + n)
        np.testing.assert_allclose(result.qdd[:, 0], expected, rtol=1e-9, atol=1e-9)
