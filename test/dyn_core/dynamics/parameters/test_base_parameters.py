"""Base parameters: the closed-form rules against the rank of the regressor and against the literature."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_robots import random_mechanism, random_rotation

from dyn_core import load_robot
from dyn_core.dynamics.parameters.base_parameters import BaseParameters, base_parameters, base_parameters_by_rank
from dyn_core.dynamics.parameters.regressor import standard_parameters
from dyn_core.mechanism import PRISMATIC, REVOLUTE, Mechanism
from dyn_core.robots import TreeRobot

QUARTERS = (
    np.eye(3),
    np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    np.diag([1.0, -1.0, -1.0]),
)
GRAVITIES = (np.zeros(3), np.array([0.0, 0.0, -9.81]), np.array([0.0, 9.81, 0.0]), np.array([3.0, -4.0, -7.0]))


def special_mechanism(rng: np.random.Generator) -> Mechanism:
    """Few bodies with parallel, perpendicular, intersecting and coaxial axes, and gravity along some of them."""
    n = int(rng.integers(1, 7))
    m = random_mechanism(rng, n, chain=bool(rng.random() < 0.5), friction=False)
    R = [random_rotation(rng) if rng.random() < 0.2 else QUARTERS[rng.integers(4)] for _ in range(n)]
    twist = np.array([[np.cos(0.3), -np.sin(0.3), 0.0], [np.sin(0.3), np.cos(0.3), 0.0], [0.0, 0.0, 1.0]])
    R = [r @ twist if rng.random() < 0.3 else r @ QUARTERS[rng.integers(4)] for r in R]
    return replace(
        m,
        R=np.array(R),
        p=np.where(rng.random((n, 3)) < 0.6, 0.0, m.p),
        gravity=GRAVITIES[rng.integers(4)],
        joint_type=rng.choice([REVOLUTE, PRISMATIC], n, p=[0.6, 0.4] if rng.random() < 0.7 else [0.3, 0.7]),
    )


def assert_same(closed: BaseParameters, ranked: BaseParameters) -> None:
    """Same number, same span, same grouped values."""
    assert len(closed.columns) == len(ranked.columns)
    assert np.abs(ranked.regrouped(closed.columns).K - closed.K).max() < 1e-6


@pytest.mark.parametrize("rotor", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_rules_and_rank_agree_on_special_geometry(seed: int, rotor: bool) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(12):
        m = special_mechanism(rng)
        assert_same(base_parameters(m, rotor), base_parameters_by_rank(m, rotor))


@pytest.mark.parametrize("seed", range(6))
def test_rules_and_rank_agree_on_general_geometry(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = random_mechanism(rng, 7, chain=seed % 2 == 0)
    assert_same(base_parameters(m), base_parameters_by_rank(m))


@pytest.mark.parametrize("seed", range(4))
def test_base_parameters_give_the_torques(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = special_mechanism(rng)
    robot, base = TreeRobot(m), base_parameters(m)
    q, qd, qdd = rng.normal(size=(3, 20, m.n))
    tau = robot.regressor(q, qd, qdd)[..., base.columns] @ base.values(standard_parameters(m))
    expected = robot.inverse_dynamics(q, qd, qdd)
    assert np.abs(tau - expected).max() < 1e-9 * max(1.0, np.abs(expected).max())


def general_chain(n: int, joint_type: list[int], gravity: tuple[float, float, float]) -> Mechanism:
    m = random_mechanism(np.random.default_rng(3), n, chain=True)
    return replace(m, joint_type=np.array(joint_type), gravity=np.array(gravity))


@pytest.mark.parametrize("n", [2, 3, 6, 7])
def test_number_for_general_revolute_chains(n: int) -> None:
    """Gautier and Khalil: 7 for each body but the first, of which ZZ is left, and MX, MY unless gravity is along z."""
    m = general_chain(n, [REVOLUTE] * n, (1.0, 2.0, -9.0))
    assert len(base_parameters(m, rotor=False, friction=False).columns) == 7 * n - 4
    along = replace(m, gravity=9.81 * m.R[0, :, 2])
    assert len(base_parameters(along, rotor=False, friction=False).columns) == 7 * n - 6


def test_puma560_has_36_inertial_base_parameters() -> None:
    """Those of a 6R arm whose first axis is vertical: 7 * 6 - 6 = 36; rotors 3 to 6 add one each, friction two."""
    robot = load_robot("puma560")
    assert len(robot.base_parameters(rotor=False, friction=False).columns) == 36
    base = robot.base_parameters()
    assert len(base.columns) == 36 + 4 + 12
    assert {"Ia_joint1", "Ia_joint2"}.isdisjoint(base.names)
    assert {"M_link1", "XX_link1", "MX_link1"} <= set(base.no_effect)
    assert_same(base, base_parameters_by_rank(robot.mechanism))


def test_grouped_values_of_a_planar_arm_by_hand() -> None:
    """Two links of lengths l1, l2 in a vertical plane: ZZ1 + Ia1 + l1^2 M2, MX1 + l1 M2, MY1, ZZ2, MX2, MY2, Ia2."""
    m = load_robot("planar_2r").mechanism
    base = base_parameters(m, friction=False)
    value = dict(zip(base.names, base.values(standard_parameters(m)), strict=True))
    assert len(value) == 7
    l1 = 0.5
    assert value["ZZ_upper_arm"] == pytest.approx(m.J[0, 2, 2] + m.Ia[0] + l1**2 * m.M[1])
    assert np.hypot(value["MX_upper_arm"], value["MY_upper_arm"]) == pytest.approx(4.0 * 0.25 + l1 * 2.0)
    assert value["ZZ_forearm"] == pytest.approx(m.J[1, 2, 2])
    assert value["Ia_elbow"] == m.Ia[1]
    text = base.expressions()[base.names.index("ZZ_upper_arm")]
    assert text == "ZZ_upper_arm + Ia_shoulder + 0.25 M_forearm"


def test_cartesian_robot() -> None:
    """Three perpendicular sliders: only moved masses count, and rotors but the vertical axis' hide in them."""
    base = np.eye(3)
    to_x = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    m = general_chain(3, [PRISMATIC] * 3, (0.0, 0.0, -9.81))
    to_y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    world = [to_x, to_y, base]
    R = np.array([world[0], world[0].T @ world[1], world[1].T @ world[2]])
    m = replace(m, R=R)
    found = base_parameters(m, friction=False)
    assert found.names == ("M_link0", "M_link1", "M_link2", "Ia_joint2")
    assert_same(found, base_parameters_by_rank(m, friction=False))
