"""Trajectories: they meet their points, and their derivatives are derivatives."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core.errors import InputError
from dyn_core.trajectory import cycloidal, quintic, through_points

Q0, Q1 = np.array([0.1, -1.0, 2.0]), np.array([1.0, 1.0, -0.5])
TIMES = np.array([0.0, 0.7, 1.1, 2.5])
RNG = np.random.default_rng(0)
POINTS, RATES, ACCELERATIONS = RNG.normal(size=(3, 4, 3))

EVERY = {
    "cycloidal": cycloidal(Q0, Q1, 2.0),
    "quintic": quintic(Q0, Q1, 2.0, v0=[0.1, 0.2, 0.3], v1=0.5, a1=[1.0, 0.0, -1.0]),
    "positions": through_points(TIMES, POINTS),
    "velocities": through_points(TIMES, POINTS, RATES),
    "accelerations": through_points(TIMES, POINTS, RATES, ACCELERATIONS),
}


@pytest.mark.parametrize("name", EVERY)
def test_derivatives(name):
    trajectory = EVERY[name]
    h = 1e-5
    t = np.linspace(0.01, trajectory.duration - 0.01, 97)
    (q_behind, qd_behind, _), (_, qd, qdd), (q_ahead, qd_ahead, _) = (trajectory.sample(t + d) for d in (-h, 0.0, h))
    np.testing.assert_allclose(qd, (q_ahead - q_behind) / (2 * h), atol=1e-6)
    np.testing.assert_allclose(qdd, (qd_ahead - qd_behind) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_one_time_or_many(name):
    trajectory = EVERY[name]
    t = np.linspace(-0.5, trajectory.duration + 0.5, 31)
    many = trajectory.sample(t)
    for k in range(len(t)):
        for one, all_of_them in zip(trajectory.sample(t[k]), many, strict=True):
            assert one.shape == (trajectory.n,)
            np.testing.assert_array_equal(one, all_of_them[k])
    assert trajectory.sample([0.1])[0].shape == (1, trajectory.n)


@pytest.mark.parametrize("name", EVERY)
def test_stands_still_outside(name):
    trajectory = EVERY[name]
    for t, end in ((-1.0, 0.0), (trajectory.duration + 1.0, trajectory.duration)):
        q, qd, qdd = trajectory.sample(t)
        np.testing.assert_allclose(q, trajectory.sample(end)[0])
        assert not qd.any()
        assert not qdd.any()


@pytest.mark.parametrize("make", [cycloidal, quintic])
def test_rest_to_rest(make):
    trajectory = make(Q0, Q1, 2.0)
    for t, expected in ((0.0, Q0), (1.0, (Q0 + Q1) / 2), (2.0, Q1)):
        q, qd, qdd = trajectory.sample(t)
        np.testing.assert_allclose(q, expected, atol=1e-12)
        if t != 1.0:
            np.testing.assert_allclose([qd, qdd], 0.0, atol=1e-12)


def test_quintic_boundary_values():
    start, end = EVERY["quintic"].sample(0.0), EVERY["quintic"].sample(2.0)
    np.testing.assert_allclose(start[1], [0.1, 0.2, 0.3], atol=1e-12)
    np.testing.assert_allclose(end[1], 0.5, atol=1e-12)
    np.testing.assert_allclose(end[2], [1.0, 0.0, -1.0], atol=1e-12)


def test_points_are_met():
    for name in ("positions", "velocities", "accelerations"):
        q, qd, qdd = EVERY[name].sample(TIMES)
        np.testing.assert_allclose(q, POINTS, atol=1e-12)
        if name != "positions":
            np.testing.assert_allclose(qd, RATES, atol=1e-12)
        if name == "accelerations":
            np.testing.assert_allclose(qdd, ACCELERATIONS, atol=1e-11)


def test_positions_alone_give_a_smooth_motion_from_rest_to_rest():
    trajectory = EVERY["positions"]
    for end in (0.0, 2.5):
        np.testing.assert_allclose(trajectory.sample(end)[1:], 0.0, atol=1e-10)
    behind, ahead = trajectory.sample(TIMES[1:3] - 1e-9), trajectory.sample(TIMES[1:3] + 1e-9)
    np.testing.assert_allclose(behind[2], ahead[2], atol=1e-5)


def test_two_positions_are_the_quintic():
    t = np.linspace(0.0, 2.0, 11)
    for a, b in zip(through_points([0.0, 2.0], [Q0, Q1]).sample(t), quintic(Q0, Q1, 2.0).sample(t), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-10)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: cycloidal(Q0, [1.0, 2.0], 1.0), r"q1 has shape \(2,\), expected \(3,\)"),
        (lambda: cycloidal(Q0, Q1, 0.0), "a duration must be a positive"),
        (lambda: quintic([np.nan], [1.0], 1.0), "q0 is not finite"),
        (lambda: quintic(["x"], [1.0], 1.0), "q0 must be numbers"),
        (lambda: through_points([0.0, 0.0], [[0.0], [1.0]]), "times must start at 0 and increase"),
        (lambda: through_points([0.1, 1.0], [[0.0], [1.0]]), "times must start at 0 and increase"),
        (lambda: through_points([0.0], [[0.0]]), "at least two points"),
        (lambda: through_points([0.0, 1.0], [[0.0]]), "positions has shape"),
        (lambda: through_points([0.0, 1.0], [[0.0], [1.0]], [[0.0, 1.0], [1.0, 2.0]]), "velocities has shape"),
        (lambda: through_points([0.0, 1.0], [[0.0], [1.0]], None, [[0.0], [1.0]]), "without velocities"),
        (lambda: through_points([0.0, 1.0], [[0.0], [np.inf]]), "positions is not finite"),
    ],
)
def test_bad_input_is_named(call, sentence):
    with pytest.raises(InputError, match=sentence):
        call()
