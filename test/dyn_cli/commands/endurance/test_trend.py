"""Trends of series whose trend is known."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_cli.commands.endurance.trend import LEAST, trend

T = np.linspace(0.0, 3600.0, 240)
NOISE = np.random.default_rng(3).standard_normal(T.size)


def test_a_line_is_found_with_an_interval_that_holds_it() -> None:
    found = trend(T, 100.0 + 5.0 * T / 3600.0 + 0.5 * NOISE)
    assert found is not None
    assert found.growth == pytest.approx(5.0, abs=0.5)
    assert found.low < 5.0 < found.high
    assert found.first == pytest.approx(100.0, abs=0.5)
    assert found.grows_by(4.0)
    assert not found.grows_by(6.0)
    assert not found.falls_by(0.0)


def test_noise_and_outliers_are_no_growth() -> None:
    values = 100.0 + NOISE
    values[200:206] += 1000.0
    found = trend(T, values)
    assert found is not None
    assert not found.grows_by(1.0)
    assert not found.falls_by(1.0)
    constant = trend(T, np.full(T.size, 24.0))
    assert constant is not None
    assert (constant.growth, constant.low, constant.high) == (0.0, 0.0, 0.0)


def test_of_independent_noise_the_interval_holds_zero_most_of_the_time() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(100):
        found = trend(T, rng.standard_normal(T.size))
        assert found is not None
        held += found.low <= 0.0 <= found.high
    assert held >= 88


def test_steps_of_a_leak_are_growth_and_a_fall_is_a_fall() -> None:
    leak = trend(T, 200.0 + np.floor(T / 300.0))
    assert leak is not None
    assert leak.grows_by(8.0)
    fall = trend(T, 1000.0 - T / 30.0 + 5.0 * NOISE)
    assert fall is not None
    assert fall.falls_by(100.0)


def test_too_few_samples_say_nothing() -> None:
    assert trend(T[: LEAST - 1], T[: LEAST - 1]) is None
