"""Joint stiffness seen at the tool, against a deflected arm in equilibrium."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core import load_robot
from dyn_core.errors import InputError
from dyn_core.robots import TreeRobot

RNG = np.random.default_rng(0)
ROBOT = TreeRobot(dataclasses.replace(random_mechanism(RNG, 6, chain=True), joint_type=np.array([0, 0, 1, 0, 0, 0])))
Q = RNG.uniform(-1.0, 1.0, 6)


def test_deflection_is_that_of_the_arm_in_equilibrium():
    """Joints yield until their springs carry the wrench; the pose found there differs by the predicted deflection."""
    w = RNG.normal(size=6) * 1e-2
    q = Q.copy()
    for _ in range(20):
        q = Q + ROBOT.jacobian(q).T @ w / ROBOT.mechanism.stiffness
    before, after = ROBOT.forward_kinematics(Q), ROBOT.forward_kinematics(q)
    moved = ROBOT.deflection(Q, w)
    np.testing.assert_allclose(after[:3, 3] - before[:3, 3], moved[:3], rtol=1e-3, atol=1e-9)
    turn = after[:3, :3] @ before[:3, :3].T
    np.testing.assert_allclose([turn[2, 1], turn[0, 2], turn[1, 0]], moved[3:], rtol=1e-3, atol=1e-9)


def test_stiffness_is_the_inverse_of_compliance_and_energy_agrees():
    s = ROBOT.stiffness(Q)
    assert s.K is not None
    assert s.rank == 6
    assert s.statement == ""
    np.testing.assert_allclose(s.K @ s.C, np.eye(6), atol=1e-6)
    np.testing.assert_array_equal(s.K, s.K.T)
    np.testing.assert_allclose(s.point, ROBOT.forward_kinematics(Q)[:3, 3])
    assert (s.eigenvalues > 0).all()
    assert s.condition == pytest.approx(s.eigenvalues[-1] / s.eigenvalues[0], rel=1e-3)
    w = RNG.normal(size=6)
    in_springs = (ROBOT.jacobian(Q).T @ w) ** 2 / ROBOT.mechanism.stiffness
    assert w @ s.deflection(w) == pytest.approx(in_springs.sum(), rel=1e-9)


def test_a_singular_pose_is_stated_with_its_compliance():
    robot = load_robot("puma560")
    q = np.zeros(6)  # the wrist is straight: axes 4 and 6 coincide
    s = robot.stiffness(q)
    assert s.K is None
    assert s.condition == np.inf
    assert "singular pose: the Jacobian has rank 5" in s.statement
    J = robot.jacobian(q)
    np.testing.assert_allclose(s.C, J @ np.diag(1 / robot.mechanism.stiffness) @ J.T)
    assert robot.stiffness([0.0, -0.8, 2.2, 0.3, 0.7, 0.0]).K is not None


def test_few_or_rigid_joints_are_stated():
    planar = load_robot("planar_2r").stiffness([0.3, 0.5])
    assert planar.K is None
    assert "only 2 joints can give way, so the frame is compliant in 2 of 6 directions" in planar.statement
    rigid = TreeRobot(dataclasses.replace(ROBOT.mechanism, stiffness=np.full(6, np.inf)))
    assert "every joint is described as rigid" in rigid.stiffness(Q).statement
    np.testing.assert_array_equal(rigid.deflection(Q, np.ones(6)), np.zeros(6))


def test_bad_input_is_named():
    with pytest.raises(InputError, match="six finite numbers"):
        ROBOT.deflection(Q, [1.0, 2.0])
    with pytest.raises(InputError, match="six finite numbers"):
        ROBOT.deflection(Q, np.full(6, np.nan))
    with pytest.raises(InputError, match="q has shape"):
        ROBOT.stiffness([1.0])
    with pytest.raises(InputError, match="no frame 'hand'"):
        ROBOT.stiffness(Q, "hand")
