"""Standard parameters that a real robot can have."""

from __future__ import annotations

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core.dynamics.parameters.regressor import WIDTH, standard_parameters
from dyn_core.identification.physical_parameters import (
    from_log_cholesky,
    inertial_parameters,
    physical_parameters,
    pseudo_inertia,
)
from dyn_core.robots import TreeRobot


@pytest.mark.parametrize("seed", range(3))
def test_standard_parameters_are_physical_even_where_the_data_are_not(seed: int) -> None:
    """Base parameters of an impossible robot (negative masses) give the nearest possible one."""
    rng = np.random.default_rng(seed)
    m = random_mechanism(rng, 4)
    base = TreeRobot(m).base_parameters()
    chi = standard_parameters(m)
    wrong = base.values(chi) - 1.5 * np.abs(base.values(chi)) * rng.uniform(0.0, 1.0, len(base.columns))
    found = physical_parameters(m, chi, base, wrong, np.eye(len(wrong)) * 10.0).reshape(m.n, WIDTH)
    assert np.linalg.eigvalsh(pseudo_inertia(found[:, :10])).min() > 0.0
    assert found[:, 10:].min() >= 0.0


def test_pseudo_inertia_is_inverted_and_differentiated() -> None:
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=(5, 10))
    assert inertial_parameters(pseudo_inertia(parameters)) == pytest.approx(parameters)
    x = rng.normal(size=10)
    sigma, change = from_log_cholesky(x)
    assert np.linalg.eigvalsh(sigma).min() > 0.0
    for k in range(10):
        step = np.eye(10)[k] * 1e-6
        numeric = (from_log_cholesky(x + step)[0] - from_log_cholesky(x - step)[0]) / 2e-6
        assert change[k] == pytest.approx(numeric, abs=1e-7)
