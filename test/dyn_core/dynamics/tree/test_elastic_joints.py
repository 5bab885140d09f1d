"""Elastic joints: the recursive inverse model against the partition of A and H, and a spring against its frequency."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core.dynamics.linear_solvers import solve_from_tips
from dyn_core.errors import InputError
from dyn_core.jit.status import OK, SINGULAR
from dyn_core.mechanism import Springs
from dyn_core.robots import TreeRobot
from dyn_core.simulation import simulate


def elastic_robot(rng, n):
    K = rng.uniform(10.0, 100.0, n) * (rng.random(n) < 0.5)
    return TreeRobot(dataclasses.replace(random_mechanism(rng, n), springs=Springs(K, rng.normal(size=n))))


@pytest.mark.parametrize("seed", range(20))
def test_inverse_model_is_the_partition(seed):
    """(71): Gamma_f = A12^T qdd_r + A22 qdd_f + H_f gives qdd_f; the first rows then give Gamma_r."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 10))
    robot = elastic_robot(rng, n)
    elastic = robot.mechanism.elastic
    q, qd, qdd = rng.normal(size=(3, n))
    w = rng.normal(size=(n, 6))
    tau, found = robot.mixed_dynamics(q, qd, qdd, wrenches=w)
    A = robot.mass_matrix(q)
    rest = np.zeros(n)
    springs = robot.mechanism.springs
    without_springs = TreeRobot(dataclasses.replace(robot.mechanism, springs=None))
    H = without_springs.inverse_dynamics(q, qd, rest, w)
    f, r = elastic, ~elastic
    expected = np.linalg.solve(A[np.ix_(f, f)], (-springs.K * (q - springs.rest) - H)[f] - A[np.ix_(f, r)] @ qdd[r])
    np.testing.assert_allclose(found[f], expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found[r], qdd[r])
    np.testing.assert_allclose(tau[r], (A @ found + H)[r], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(tau[f], 0.0)


@pytest.mark.parametrize("seed", range(10))
def test_both_directions_agree(seed):
    rng = np.random.default_rng(seed)
    robot = elastic_robot(rng, 6)
    q, qd, qdd = rng.normal(size=(3, 6))
    tau, found = robot.mixed_dynamics(q, qd, qdd)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), found, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau, method="matrices"), found, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(robot.inverse_dynamics(q, qd, found), tau, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(robot.mass_matrix_by_columns(q), robot.mass_matrix(q), rtol=1e-9, atol=1e-12)


def test_without_elastic_joints_it_is_the_inverse_model():
    rng = np.random.default_rng(0)
    robot = TreeRobot(random_mechanism(rng, 5))
    q, qd, qdd = rng.normal(size=(3, 100, 5))
    tau, found = robot.mixed_dynamics(q, qd, qdd)
    np.testing.assert_array_equal(found, qdd)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(q, qd, qdd), rtol=1e-9, atol=1e-9)


def test_a_spring_swings_at_its_frequency_about_its_rest():
    rng = np.random.default_rng(1)
    m = random_mechanism(rng, 1, friction=False)
    m.gravity[:] = 0.0
    K, rest = 40.0, 0.3
    robot = TreeRobot(dataclasses.replace(m, springs=Springs(np.array([K]), np.array([rest]))))
    omega = np.sqrt(K / robot.mass_matrix([0.0])[0, 0])
    result = simulate(robot, [rest + 0.2], duration=3.0 * 2 * np.pi / omega, h=1e-4, method="rk4")
    np.testing.assert_allclose(result.q[:, 0], rest + 0.2 * np.cos(omega * result.t), atol=1e-8)


@pytest.mark.parametrize("n", [1, 6, 30])
def test_the_mass_matrix_of_a_tree_is_factored_from_its_tips(n):
    rng = np.random.default_rng(n)
    H = TreeRobot(random_mechanism(rng, n)).mass_matrix(rng.normal(size=n))
    A, b = H.copy(), rng.normal(size=n)
    x = b.copy()
    assert solve_from_tips(A, x) == OK
    L, D = np.tril(A, -1) + np.eye(n), np.diag(np.diag(A))
    np.testing.assert_allclose(L.T @ D @ L, H, rtol=1e-10, atol=1e-12 * np.abs(H).max())
    np.testing.assert_allclose(x, np.linalg.solve(H, b), rtol=1e-8)
    assert not L[(H == 0.0)].any()
    assert solve_from_tips(np.zeros((n, n)), x) == SINGULAR


@pytest.mark.parametrize("n", [1, 6, 30])
def test_forward_dynamics_by_matrices_is_the_recursion(n):
    rng = np.random.default_rng(n)
    robot = TreeRobot(random_mechanism(rng, n))
    q, qd, tau = rng.normal(size=(3, 20, n))
    w = rng.normal(size=(20, n, 6))
    for wrenches in (None, w):
        recursive = robot.forward_dynamics(q, qd, tau, wrenches)
        matrices = robot.forward_dynamics(q, qd, tau, wrenches, method="matrices")
        assert np.abs(matrices - recursive).max() < 1e-9 * max(1.0, np.abs(recursive).max())
    with pytest.raises(InputError, match="'recursive' or 'matrices'"):
        robot.forward_dynamics(q, qd, tau, method="other")
