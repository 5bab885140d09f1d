"""Wu, Bai and Kepler's results: what should come out does, and what does not is said."""

from __future__ import annotations

import pytest

from papers import wu2014
from papers.report import images


@pytest.fixture(scope="module")
def report():
    return wu2014.compute(azimuths=60, tilts=28)


def test_everything_that_should_comes_out(report):
    assert [row for row in report.rows if row.verdict == "FAILS"] == []
    assert {row.place for row in report.rows} >= {"(21)", "(22)", "(23)", "(24)", "(26)", "(28)", "Fig. 9", "Fig. 11"}
    assert sum(row.place == "(22)" and row.verdict == "agrees" for row in report.rows) == 7


def test_what_does_not_come_out_is_said(report):
    missing = {row.place for row in report.rows if row.verdict == "does not come out"}
    assert missing == {"(21)", "(23)", "(24)", "(26)", "Fig. 9", "(28)"}
    reasons = " ".join(row.why for row in report.rows)
    for words in ("leg 1 is folded", "misprinted", "K_act = 1e7", "not equally high"):
        assert words in reasons


def test_figures_are_drawn(report):
    pytest.importorskip("matplotlib")
    drawn = images(report)
    assert sorted(drawn) == ["wu2014_fig09.png", "wu2014_fig11.png", "wu2014_fig13.png"]
    assert all(page.startswith(b"\x89PNG") for page in drawn.values())
