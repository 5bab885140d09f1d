"""The regressor against inverse dynamics and against Pinocchio's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from random_robots import pinocchio_model, random_mechanism

from dyn_core import load_robot
from dyn_core.dynamics.parameters.regressor import KINDS, WIDTH, parameter_names, standard_parameters
from dyn_core.errors import InputError
from dyn_core.mechanism import FloatingBase, Springs
from dyn_core.robots import TreeRobot, require_tree, robot_of


@pytest.mark.parametrize("seed", range(10))
def test_regressor_times_parameters_is_inverse_dynamics(seed: int) -> None:
    rng = np.random.default_rng(seed)
    robot = TreeRobot(random_mechanism(rng, int(rng.integers(1, 10))))
    q, qd, qdd = rng.normal(size=(3, 30, robot.n))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(robot.regressor(q, qd, qdd) @ robot.standard_parameters - tau).max() < 1e-9 * np.abs(tau).max()


@pytest.mark.parametrize("seed", range(5))
def test_regressor_is_pinocchios(seed: int) -> None:
    """Pinocchio orders the parameters of a body m, mc, Ixx, Ixy, Iyy, Ixz, Iyz, Izz."""
    rng = np.random.default_rng(seed)
    m = random_mechanism(rng, 7)
    q, qd, qdd = rng.normal(size=(3, m.n))
    model = pinocchio_model(m)
    expected = pin.computeJointTorqueRegressor(model, model.createData(), q, qd, qdd).reshape(m.n, m.n, 10)
    order = [KINDS.index(kind) for kind in ("M", "MX", "MY", "MZ", "XX", "XY", "YY", "XZ", "YZ", "ZZ")]
    Y = TreeRobot(m).regressor(q, qd, qdd).reshape(m.n, m.n, WIDTH)
    assert np.abs(Y[:, :, order] - expected).max() < 1e-11 * np.abs(expected).max()


def test_a_batch_has_its_leading_axes_and_runs_in_parallel() -> None:
    robot = load_robot("puma560")
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 2, 700, 6))
    Y = robot.regressor(q, qd, qdd)
    assert Y.shape == (2, 700, 6, 78)
    assert np.array_equal(Y[1, 655], robot.regressor(q[1, 655], qd[1, 655], qdd[1, 655]))


def test_springs_stay_outside_the_regressor() -> None:
    rng = np.random.default_rng(0)
    m = replace(random_mechanism(rng, 3), springs=Springs(np.array([0.0, 50.0, 0.0]), np.array([0.0, 0.2, 0.0])))
    robot = TreeRobot(m)
    q, qd, qdd = rng.normal(size=(3, 3))
    spring = np.array([0.0, 50.0 * (q[1] - 0.2), 0.0])
    expected = robot.regressor(q, qd, qdd) @ robot.standard_parameters + spring
    assert robot.inverse_dynamics(q, qd, qdd) == pytest.approx(expected)


def test_names_and_values_go_together() -> None:
    m = load_robot("planar_2r").mechanism
    chi = dict(zip(parameter_names(m), standard_parameters(m), strict=True))
    assert chi["M_forearm"] == 2.0
    assert chi["Fv_elbow"] == m.Fv[1]
    assert chi["YY_forearm"] == pytest.approx(m.J[1, 1, 1])


def test_what_cannot_be_is_refused_by_name() -> None:
    robot = load_robot("planar_2r")
    with pytest.raises(InputError, match=r"qd has shape"):
        robot.regressor([0.0, 0.0], [0.0], [0.0, 0.0])
    with pytest.raises(InputError, match="not finite"):
        robot.regressor([0.0, np.nan], [0.0, 0.0], [0.0, 0.0])
    floating = robot_of(replace(robot.mechanism, base=FloatingBase("base", 1.0, np.zeros(3), np.eye(3))))
    assert not hasattr(floating, "regressor")
    assert not hasattr(floating, "base_parameters")
    with pytest.raises(InputError, match="floating base"):
        require_tree(floating, "a regressor")
    with pytest.raises(InputError, match="floating base"):
        TreeRobot(floating.mechanism)
