"""What the benchmarks compute beside times: growth, crossings, counts, and the robots they build."""

from __future__ import annotations

import json
import sys
import types
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from bench import peers, report
from bench import run as bench
from bench.compare import DifferentAnswers, require_same
from bench.suites import chains, stiffness
from dyn_cli import main as cli
from dyn_cli.setup import environment
from dyn_core import load_robot
from dyn_core.errors import InputError
from dyn_core.robots import TreeRobot


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
        found = TreeRobot(mechanism).forward_dynamics(q, qd, tau, method=method)
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


def row(ratio: float, goal: float = 0.5, **more: object) -> dict[str, object]:
    return {"work": "calls", "peer": "pinocchio", "ratio": ratio, "goal": goal, **more}


def test_goals_are_found_however_deep() -> None:
    figures = {"a": [row(0.4)], "b": {"c": [{"d": row(0.7)}], "other": 3.0}}
    assert [found["ratio"] for found in report.with_goals(figures)] == [0.4, 0.7]


def test_a_run_is_compared_with_an_earlier_one() -> None:
    old = {"x": [row(0.4, low=0.38, high=0.42)]}
    assert "slower" in report.differences({"x": [row(0.8, low=0.7, high=0.9)]}, old)[1]
    assert "faster" in report.differences({"x": [row(0.2, low=0.1, high=0.3)]}, old)[1]
    assert "the same" in report.differences({"x": [row(0.41, low=0.39, high=0.43)]}, old)[1]
    assert report.differences({}, old) == ["the two runs have no comparison in common"]


def test_the_page_says_what_was_missed_and_what_it_would_need() -> None:
    figures = {"machine": report.machine(), "x": [row(0.6, needed="a faster call")]}
    text = report.page(figures, {"x": ["a table"]})
    assert "missed by 20 %: a faster call" in text
    assert "a table" in text


def test_a_file_that_is_no_earlier_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for text in ("no json", "[]"):
        path.write_text(text)
        with pytest.raises(InputError, match="is no file of"):
            bench.measure(["dynamics"], compare=str(path))
    with pytest.raises(InputError, match="cannot be read"):
        bench.measure(["dynamics"], compare=str(tmp_path / "none.json"))


def fake(ratio: float) -> types.SimpleNamespace:
    return types.SimpleNamespace(run=lambda: [row(ratio)], table=lambda figures: [f"ratio {figures[0]['ratio']}"])


def test_several_benchmarks_are_run_saved_and_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "enter", lambda *_: None)
    for name, ratio in (("loops", 0.4), ("denoc", 0.7), ("startup", 0.9)):
        monkeypatch.setitem(sys.modules, f"bench.suites.{name}", fake(ratio))
    path = tmp_path / "run.json"
    assert cli.main(["bench", "loops", "denoc", "startup", "--save", str(path)]) == 0
    out, err = capsys.readouterr()
    assert [line for line in out.splitlines() if line] == ["ratio 0.4", "ratio 0.7", "ratio 0.9"]
    assert [line.rpartition(" ")[2] for line in err.splitlines()] == ["loops", "denoc", "startup"]
    assert list(json.loads(path.read_text())) == ["machine", "loops", "denoc", "startup"]
    assert cli.main(["bench", "denoc", "--compare", str(path), "--json"]) == 0
    out, err = capsys.readouterr()
    assert list(json.loads(out)) == ["denoc", "machine"]
    assert "-22 % faster" in err
    assert cli.main(["bench", "denoc", "nothing"]) == 2
    assert "there is no benchmark 'nothing'" in capsys.readouterr().err
    assert cli.main(["bench", "denoc", "--page"]) == 2
    assert "--page needs a run of everything" in capsys.readouterr().err


def test_kdl_is_not_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(peers, "DEBIAN", tmp_path)
    assert peers.kdl(load_robot("puma560")) is None


def test_the_stiffness_benchmark_compares_what_is_the_same() -> None:
    figures = stiffness.run(orientations=600)
    assert [row["peer"] for row in figures["matrix"]] == ["(13)-(16) in NumPy", "a budget of 50 us"]
    assert figures["map"]["one_core"] > 0
    assert "map of 600 orientations by 8 wrenches" in stiffness.table(figures)[-1]
