"""The results of Wang, Gosselin and Cheng: what should come out does, and what does not is said."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from papers import reproduce
from papers.report import images
from papers.wang2001.four_bar import error_against_stiffness


@pytest.fixture(scope="module")
def report():
    return reproduce("wang2001")


def test_everything_that_should_comes_out(report):
    assert not report.failed
    assert {row.place for row in report.rows} >= {f"Fig. {i}" for i in (6, 7, 8, 10, 11, 12, 13, 14)}


def test_what_does_not_come_out_is_said(report):
    equation, figure, angles = (row for row in report.rows if row.verdict == "does not come out")
    assert equation.place == "(20)"
    assert "f_By" in equation.why
    assert (figure.place, figure.printed) == ("Fig. 6", "10^-5.5 = 3.2e-6 m")
    assert "phase" in figure.why
    assert angles.what == "alpha, beta of the six legs"
    assert "another pose" in angles.why


def test_figures_are_drawn(report):
    pytest.importorskip("matplotlib")
    drawn = images(report)
    assert sorted(drawn) == [f"wang2001_fig{i:02}.png" for i in (6, 7, 8, 10, 11, 12, 13, 14)]
    assert all(page.startswith(b"\x89PNG") for page in drawn.values())


def test_figure_6_against_statics():
    """At rest under the torque that holds it, the spring carries the reaction of the fixed mechanism: e = F / k."""
    robot = load_robot("four_bar_wang")
    q = np.array([np.pi / 2])
    tau = robot.gravity_forces(q)
    curve = error_against_stiffness(robot, q, tau, instant=0.05, stiffnesses=[1e5, 1e6])
    alpha, phi = 0.353281, 1.26486  # as the paper prints them
    # the coupler turns about A and the output link about O' under their weights: two equations for the force at B
    moments = np.array([[-4 * np.sin(alpha), 4 * np.cos(alpha)], [2.5 * np.sin(phi), -2.5 * np.cos(phi)]])
    force = np.linalg.solve(moments, 9.8 * np.array([2 * np.cos(alpha), 1.25 * np.cos(phi)]))
    np.testing.assert_allclose(curve.damped, np.linalg.norm(force) / curve.k, rtol=1e-3)
    np.testing.assert_allclose(curve.expected, np.linalg.norm(force) / curve.k, rtol=1e-4)
