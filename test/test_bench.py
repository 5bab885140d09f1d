"""What the benchmarks compute beside times: growth, crossings, counts, and the robots they build."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from bench import chains
from bench.compare import DifferentAnswers, require_same
from dyn_core import Robot


def test_growth_is_the_exponent() -> None:
    sizes = np.array([5, 100, 200, 500])
    assert chains.growth(sizes, 3.0 * sizes.astype(float) ** 3) == pytest.approx(3.0)


def test_crossing_is_where_the_ratio_passes_one_for_good() -> None:
    sizes = np.array([1, 2, 4, 8, 16])
    assert chains.crossing(sizes, sizes / 5.0) == pytest.approx(5.0)
    assert chains.crossing(sizes, sizes + 1.0) is None


def test_the_chain_is_the_same_in_pinocchio() -> None:
    mechanism = chains.chain(12)
    model = chains.peer_of(mechanism)
    q, qd, tau = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 12))
    expected = pin.aba(model, model.createData(), q, qd, tau)
    for method in ("recursive", "matrices"):
        found = Robot(mechanism).forward_dynamics(q, qd, tau, method=method)
        assert np.abs(found - expected).max() < 1e-9 * np.abs(expected).max()


def test_operations_grow_as_the_algorithms_do() -> None:
    recursive, matrices = zip(*(chains.operations(n) for n in (5, 10, 15, 60, 120)), strict=True)
    assert recursive[2] - recursive[1] == recursive[1] - recursive[0]
    assert matrices[4] / matrices[3] > 4.0
    assert matrices[0] < recursive[0]
    assert matrices[2] > recursive[2]


def test_answers_that_differ_are_not_compared() -> None:
    with pytest.raises(DifferentAnswers, match="differ by"):
        require_same("work", "peer", (np.ones(2), np.array([1.0, 1.1])))
