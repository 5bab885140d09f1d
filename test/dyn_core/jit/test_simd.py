"""Batches by SIMD against the same kernels row by row, against Pinocchio, and against NumPy."""

from __future__ import annotations

import dataclasses
import math

import numba
import numpy as np
import pinocchio as pin
import pytest
from random_robots import friction_forces, pinocchio_model, random_inertia, random_mechanism

from dyn_core import load_robot
from dyn_core.dynamics.tree import batch, state_kernels
from dyn_core.errors import InputError, SingularityError
from dyn_core.jit import simd as lanes
from dyn_core.jit import simd_math
from dyn_core.jit.kernel import SIMD
from dyn_core.jit.simd import LANES
from dyn_core.jit.status import TOO_LARGE
from dyn_core.mechanism import FloatingBase, Springs
from dyn_core.robots import FloatingRobot, TreeRobot, customise

COUNTS = [64, 71, 2500]
"""One share; with rows left over; shares of two threads."""

pytestmark = pytest.mark.skipif(not SIMD, reason="DYN_SIMD=0")


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch):
    monkeypatch.setattr(batch, "MANY", 64)


def row_by_row(monkeypatch, call, *arguments):
    with monkeypatch.context() as patch:
        patch.setattr(batch, "MANY", 10**9)
        return call(*arguments)


def agree(monkeypatch, call, *arguments):
    expected = row_by_row(monkeypatch, call, *arguments)
    ran, run = [], batch._shared_out
    with monkeypatch.context() as patch:
        patch.setattr(batch, "_shared_out", lambda kernel, *rest: ran.append(kernel) or run(kernel, *rest))
        found = call(*arguments)
    assert len(ran) == 1
    assert ran[0].__name__.startswith("lanes_")
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()


@numba.njit
def with_everything(x, y, answer):
    """Every operation that lanes have."""
    low, high = min(x, y), max(x, 0.5)
    total = 1.0
    total += x * y
    total -= 2 - high / (3.0 + abs(y))
    total *= low
    total /= 7.0
    if total * 0.0 == 0.0 and not abs(total) > 100.0:
        total = -total
    answer[0] = total + 1.0 * (x != y) + 1.0 * (x > y) - 1.0 * (x < 0.0)
    answer[0] += lanes.nearest(10.0 * x) + lanes.below(10.0 * y)


@numba.njit
def everything_in_lanes(x, y, out):
    a, b, c = lanes.in_lanes(lanes.empty(1)), lanes.in_lanes(lanes.empty(1)), lanes.in_lanes(lanes.empty(1))
    for first in range(0, x.shape[0], LANES):
        lanes.fill(a, x, first)
        lanes.fill(b, y, first)
        with_everything(a[0], b[0], c)
        lanes.drain(c, out, first)


def test_operations_are_those_of_numbers():
    x, y = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 50 * LANES, 1))
    found, expected = np.empty_like(x), np.empty_like(x)
    everything_in_lanes(x, y, found)
    for a, b, answer in zip(x[:, 0], y[:, 0], expected, strict=True):
        with_everything(a, b, answer)
    np.testing.assert_array_equal(found, expected)


@numba.njit
def sines(x, sine, cosine):
    a, b, c = lanes.in_lanes(lanes.empty(1)), lanes.in_lanes(lanes.empty(1)), lanes.in_lanes(lanes.empty(1))
    for first in range(0, x.shape[0], LANES):
        lanes.fill(a, x, first)
        b[0], c[0] = math.sin(a[0]), math.cos(a[0])
        lanes.drain(b, sine, first)
        lanes.drain(c, cosine, first)


def test_sines_and_cosines_are_those_of_the_library():
    rng = np.random.default_rng(5)
    x = np.concatenate([rng.uniform(-4.0, 4.0, 2000), rng.uniform(-9e5, 9e5, 2000), np.arange(-8, 8) * np.pi / 4])
    sine, cosine = np.empty((2, len(x), 1))
    sines(x[:, None], sine, cosine)
    assert np.abs(sine[:, 0] - np.sin(x)).max() < 4e-16
    assert np.abs(cosine[:, 0] - np.cos(x)).max() < 4e-16
    far = np.concatenate([x, rng.uniform(-1e12, 1e12, 100)])
    assert max(abs(simd_math.any_sine(a) - math.sin(a)) for a in far) < 4e-16
    assert max(abs(simd_math.any_cosine(a) - math.cos(a)) for a in far) < 4e-16


@numba.njit
def angle_is_beyond(x):
    a = lanes.in_lanes(lanes.empty(x.shape[1]))
    lanes.fill(a, x, 0)
    return simd_math.beyond(a)


def test_one_large_angle_in_any_lane_is_noticed():
    assert not angle_is_beyond(np.full((LANES, 3), -9e5))
    for l in range(LANES):
        x = np.zeros((LANES, 3))
        x[l, l % 3] = -2e6
        assert angle_is_beyond(x)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("n", "chain"), [(1, True), (6, True), (7, False), (20, False)])
def test_random_trees(n, chain, count, monkeypatch):
    rng = np.random.default_rng(n)
    robot = TreeRobot(random_mechanism(rng, n, chain))
    q, qd, x = rng.uniform(-3.0, 3.0, (3, count, n))
    qd[::5] = 0.0  # no Coulomb friction there
    w = rng.normal(size=(count, n, 6)) * 10
    for call in (robot.inverse_dynamics, robot.forward_dynamics):
        agree(monkeypatch, call, q, qd, x)
        agree(monkeypatch, call, q, qd, x, w)
    agree(monkeypatch, robot.with_continuous_friction(q[0], 0.5).inverse_dynamics, q, qd, x)
    for call in (robot.mass_matrix, robot.forward_kinematics, robot.jacobian):
        agree(monkeypatch, call, q)


def test_trees_with_springs(monkeypatch):
    rng = np.random.default_rng(3)
    m = random_mechanism(rng, 5)
    robot = TreeRobot(dataclasses.replace(m, springs=Springs(rng.uniform(0.0, 100.0, 5), rng.normal(size=5))))
    q, qd, x = rng.uniform(-3.0, 3.0, (3, 100, 5))
    agree(monkeypatch, robot.inverse_dynamics, q, qd, x)
    agree(monkeypatch, robot.forward_dynamics, q, qd, x)


@pytest.mark.parametrize("count", COUNTS)
def test_floating_bases(count, monkeypatch):
    rng = np.random.default_rng(4)
    base = FloatingBase("trunk", 3.0, np.array([0.3, -0.1, 0.2]), random_inertia(rng, 3.0) + np.eye(3))
    robot = FloatingRobot(dataclasses.replace(random_mechanism(rng, 6), base=base))
    q = rng.normal(size=(count, robot.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    q[3, 0] = 1e9  # far away, which is no angle
    qd, x = rng.normal(size=(2, count, robot.nv))
    w = rng.normal(size=(count, 7, 6)) * 10
    for call in (robot.inverse_dynamics, robot.forward_dynamics):
        agree(monkeypatch, call, q, qd, x)
        agree(monkeypatch, call, q, qd, x, w)
    agree(monkeypatch, robot.mass_matrix, q)
    for k in range(2):
        agree(monkeypatch, lambda *values, k=k: robot.base_motion(*values)[k], q, qd, x[:, 6:], w)


def test_against_pinocchio():
    rng = np.random.default_rng(6)
    m = random_mechanism(rng, 9)
    robot, model = TreeRobot(m), pinocchio_model(m)
    data = model.createData()
    q, qd, x = rng.uniform(-3.0, 3.0, (3, 100, 9))
    friction = friction_forces(m, qd)
    tau = np.array([pin.rnea(model, data, *row) for row in zip(q, qd, x, strict=True)]) + friction
    qdd = np.array([pin.aba(model, data, *row) for row in zip(q, qd, x - friction, strict=True)])
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, x), tau, rtol=1e-9, atol=1e-9 * np.abs(tau).max())
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, x), qdd, rtol=1e-9, atol=1e-9 * np.abs(qdd).max())


def test_large_angles_run_row_by_row(monkeypatch):
    robot = load_robot("puma560")
    q, qd, x = np.random.default_rng(7).uniform(-1.0, 1.0, (3, 2500, 6))
    q[1777, 4] = 4e6
    for call in (robot.inverse_dynamics, robot.forward_dynamics, customise(robot, "inverse").inverse_dynamics):
        np.testing.assert_array_equal(call(q, qd, x), row_by_row(monkeypatch, call, q, qd, x))


def test_errors_are_those_of_single_calls():
    robot = load_robot("puma560")
    q, qd, x = np.random.default_rng(8).uniform(-1.0, 1.0, (3, 200, 6))
    qd[77, 0] = 1e200
    for call in (robot.inverse_dynamics, robot.forward_dynamics):
        with pytest.raises(InputError, match="the result is not finite"):
            call(q, qd, x)
    q[3, 3] = np.nan
    with pytest.raises(InputError, match="q is not finite"):
        robot.inverse_dynamics(q, qd, x)
    m = random_mechanism(np.random.default_rng(0), 1)
    for array in (m.M, m.MS, m.J, m.Ia):
        array[:] = 0.0
    with pytest.raises(SingularityError, match="moves no inertia"):
        TreeRobot(m).forward_dynamics(*np.zeros((3, 100, 1)))


def test_what_is_given_is_not_written_to():
    robot = load_robot("puma560")
    given = np.random.default_rng(9).uniform(-1.0, 1.0, (3, 100, 6))
    before = given.copy()
    robot.inverse_dynamics(*given)
    robot.forward_dynamics(*given)
    np.testing.assert_array_equal(given, before)


def test_what_lanes_refuse_is_computed_row_by_row(monkeypatch):
    robot = load_robot("planar_2r")
    q, qd, x = np.random.default_rng(10).uniform(-1.0, 1.0, (3, 100, 2))
    for name in ("inverse_dynamics", "forward_dynamics"):
        call = getattr(robot, name)
        expected = row_by_row(monkeypatch, call, q, qd, x)
        with monkeypatch.context() as patch:
            patch.setattr(getattr(state_kernels, name), "lanes", numba.njit(lambda *_: TOO_LARGE))
            np.testing.assert_array_equal(call(q, qd, x), expected)
