"""Published benchmarks: every figure comes out, from the mechanisms beside the package."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_cli.table import table
from dyn_core.errors import StepSizeWarning
from dyn_core.simulation import simulate
from papers.benchmarks import bricard, figures, four_bars, governor, slider_crank, squeezer


def test_the_squeezer_comes_out_to_seven_digits():
    q, qd = squeezer.squeezer(2e-5)
    np.testing.assert_allclose(q, squeezer.ANGLES, rtol=0, atol=5e-8)
    np.testing.assert_allclose(qd, squeezer.RATES, rtol=1e-6)


def test_the_squeezer_with_default_steps_is_warned_of():
    """1 ms by rk3 is off by more than a radian; the recommended step is good to 1e-3 of the motion."""
    robot = figures.described("andrews_squeezer")
    with pytest.warns(StepSizeWarning, match=r"joint 'beta' after 0.03 s; use h=0.000\d") as told:
        coarse = simulate(robot, torques=[squeezer.TORQUE], duration=squeezer.END)
    assert abs(coarse.q[-1, 0] - squeezer.ANGLES[0]) > 1.0
    assert coarse.step_error[0] > 0.1
    step = float(str(told[0].message).split("use h=")[1].split(",")[0])
    fine = simulate(robot, torques=[squeezer.TORQUE], duration=squeezer.END, h=step)
    assert abs(fine.q[-1, 0] - squeezer.ANGLES[0]) < 1e-3 * squeezer.ANGLES[0]


def test_the_slider_crank_agrees_with_another_program():
    rows = slider_crank.slider_crank_rows()
    assert [row.verdict for row in rows] == ["agrees"] * 3


def test_bricard_swings_as_the_closed_form_says():
    motion = figures.moved(figures.described("bricard"), [0.0], 3.0, 1e-3, 301)
    assert bricard.second_rest(motion) == pytest.approx(bricard.swing_time(1000), abs=1e-6)
    assert motion.drift < 1e-8
    a, b = motion.q[:, 0], -motion.q[:, 1]
    np.testing.assert_allclose(np.sin(b), np.sin(a) / (1.0 + np.sin(a)), atol=1e-9)


def test_the_governor_follows_its_reduced_equations():
    robot = figures.described("flyball_governor")
    np.testing.assert_allclose(governor.simulated(robot, 0.5), governor.by_hand(0.5), atol=1e-6)


def test_the_pendulum_is_the_published_one():
    """The figures of the library at 10 s, which Exudyn comes to as its steps shrink."""
    angle, rate = four_bars.pendulum(2, np.array([10.0]))
    np.testing.assert_allclose(four_bars.tip(angle, rate)[0], four_bars.REFERENCE, atol=1e-8)


@pytest.mark.parametrize("count", [2, 10])
def test_four_bars_move_as_the_pendulum(count):
    robot = four_bars.four_bars(count)
    found = simulate(robot, [0.0], [-four_bars.SPEED], duration=0.5, torques=[0.0], method="rk4")
    assert not found.failure
    np.testing.assert_allclose(-found.q[:, 0], four_bars.pendulum(count, found.t)[0], atol=1e-9)


def test_two_four_bars_go_round_through_their_singularity():
    found = four_bars.around(four_bars.four_bars(2), 2.0, 1e-3)
    assert not found.failure
    angle, _ = four_bars.pendulum(2, found.t)
    assert angle[-1] > 2.0 * np.pi
    np.testing.assert_allclose(-found.q[:, 0], angle, atol=1e-6)


def test_rows_fit_a_terminal():
    rows = [
        figures.measured("slider-crank", "Exudyn's sum at 0.2 s", 3.36427617809219, 3.36427617809219, 1.0, 0.0123),
        figures.largest("N four-bars", "energy over 10 s, J", 1e-9, 1e-9, 12.3),
        figures.measured("slider-crank", "x", 3.0, 4.0, 0.5),
    ]
    assert [row.verdict for row in rows] == ["agrees", "agrees", "FAILS"]
    cells = [(r.place, r.what, r.printed, r.computed, r.error, r.time, "does not come out") for r in rows]
    assert max(map(len, table(cells))) <= 100
