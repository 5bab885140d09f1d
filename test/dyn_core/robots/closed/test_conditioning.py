"""Near a singularity: an answer says how many digits it has, and all formulations refuse alike where these are few."""

from __future__ import annotations

import dataclasses
from decimal import Decimal, getcontext

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.errors import SingularityError
from dyn_core.robots import LoopRobot

FORMULATIONS = ("projection", "multipliers", "denoc", "virtual_spring")


@pytest.fixture(scope="module")
def folding():
    """The four-bar with a longer base, so that its input link stops where coupler and output link are in line."""
    m = load_robot("four_bar_wang").mechanism
    p = m.p.copy()
    p[2, 0] = 6.0
    return LoopRobot(dataclasses.replace(m, p=p, assembly=np.array([0.3, 0.2, 2.2])))


LIMIT = float(np.arccos((1.0 + 36.0 - 6.5**2) / 12.0))


def exact_rate(theta):
    """d(output) / d(input) from the transmission angle mu between coupler and output link, to 50 digits.

    With d the diagonal from the input link's tip to the output's foot, d^2 = 1 + 36 - 12 cos(theta).
    """
    getcontext().prec = 50
    c = _cos(Decimal(theta))
    s = (1 - c * c).sqrt()
    d2 = 37 - 12 * c
    b, r = Decimal(4), Decimal("2.5")
    cos_mu = (b * b + r * r - d2) / (2 * b * r)  # between the links
    d2_rate = 12 * s
    d = d2.sqrt()
    # angle at the output's foot between diagonal and output link, and of the diagonal
    cos_g = (d2 + r * r - b * b) / (2 * d * r)
    sin_g = b * (1 - cos_mu * cos_mu).sqrt() / d
    g_rate = -(d2_rate / (2 * d * r) - cos_g * d2_rate / (2 * d2)) / sin_g
    x, y = c - 6, s
    turn = (x * c + y * s) / d2  # of the diagonal's direction: (x y' - y x') / d^2
    return float(turn - g_rate), float(turn + g_rate)


def _cos(x):
    term, total, k = Decimal(1), Decimal(1), 0
    while abs(term) > Decimal(10) ** -48:
        k += 2
        term *= -x * x / (k * (k - 1))
        total += term
    return total


@pytest.mark.parametrize("off", 10.0 ** -np.arange(1.0, 9.0))
def test_digits_bound_the_error(folding, off):
    q = np.array([LIMIT - off])
    at = folding.closed(q)
    found = at.G[2, 0]
    error = min(abs(found / exact - 1.0) for exact in exact_rate(q[0]))
    assert error < 10.0**-at.digits
    assert at.digits > 6.0
    values = {
        name: [getattr(folding.using(f), name)(q, [0.1], [0.2])[0] for f in FORMULATIONS]
        for name in ("inverse_dynamics", "forward_dynamics")
    }
    for each in values.values():
        assert np.ptp(each) < max(1e-11, 10.0**-at.digits) * np.abs(each).max()


@pytest.mark.parametrize("off", [1e-10, 1e-12, 1e-14, 0.0])
def test_all_formulations_refuse_alike(folding, off):
    q = np.array([LIMIT - off])
    for f in FORMULATIONS:
        robot = folding.using(f)
        for ask in (robot.inverse_dynamics, robot.forward_dynamics):
            with pytest.raises(SingularityError, match="singular"):
                ask(q, [0.1], [0.2])
        with pytest.raises(SingularityError):
            robot.mass_matrix(q)
