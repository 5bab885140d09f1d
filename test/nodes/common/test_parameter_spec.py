"""The parameter tables, the documentation and the parameter file say the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from dyn_core.control.limits import KINDS
from dyn_core.control.watchdogs import REACTIONS
from dyn_core.errors import InputError
from dyn_core.robots import FORMULATIONS
from dyn_nodes.bringup.systems import ARGUMENTS, TABLES
from dyn_nodes.common.parameter_spec import ParameterSpec

ROOT = Path(__file__).resolve().parents[3]


def in_words(spec: ParameterSpec) -> str:
    if spec.default == []:
        return "empty"
    if isinstance(spec.default, bool):
        return str(spec.default).lower()
    return f"{spec.default:g}" if isinstance(spec.default, float) else str(spec.default)


@pytest.mark.parametrize("node", TABLES)
def test_the_page_of_a_node_has_its_parameters(node: str) -> None:
    page = (ROOT / "docs" / "nodes" / f"{node}.md").read_text()
    found = [line for line in page.splitlines() if line.startswith("| `") and line.count("|") == 6]
    expected = [
        f"| `{spec.name}` | {spec.type_name} | {in_words(spec)} | {spec.allowed} | {spec.description} |"
        for spec in TABLES[node]
    ]
    assert found == expected


def test_the_parameter_file_gives_the_defaults_of_what_no_argument_sets() -> None:
    given = yaml.safe_load((ROOT / "config" / "nodes.yaml").read_text())
    arguments = {argument.name for argument in ARGUMENTS} | {"autostart", "publish_clock", "initial_positions"}
    for node, table in TABLES.items():
        expected = {spec.name: spec.default for spec in table if spec.name not in arguments}
        assert given[f"/**/{node}"]["ros__parameters"] == expected
    assert len(given) == len(TABLES)


@pytest.mark.parametrize("node", TABLES)
def test_defaults_lie_within_their_bounds(node: str) -> None:
    names = [spec.name for spec in TABLES[node]]
    assert len(set(names)) == len(names)
    for spec in TABLES[node]:
        spec.check(spec.default)
        assert spec.description.endswith(".")
        if spec.low is not None and spec.high is not None:
            assert isinstance(spec.default, int | float)
            assert spec.low <= spec.default <= spec.high


def test_the_formulations_are_those_of_the_robots() -> None:
    formulation = next(spec for spec in TABLES["computed_torque_controller"] if spec.name == "formulation")
    assert formulation.choices == FORMULATIONS


def test_the_reactions_are_those_of_the_watchdogs() -> None:
    table = {spec.name: spec for spec in TABLES["computed_torque_controller"]}
    assert all(table[f"{kind}_reaction"].choices == REACTIONS for kind in KINDS)


def test_a_choice_that_is_not_offered_is_refused() -> None:
    method = next(spec for spec in TABLES["simulated_robot"] if spec.name == "method")
    with pytest.raises(InputError, match="rk3, rk4"):
        method.check("euler")


@pytest.mark.parametrize("value", [0.5, 5001.0, float("nan")])
def test_a_number_beyond_its_bounds_is_refused(value: float) -> None:
    rate = next(spec for spec in TABLES["simulated_robot"] if spec.name == "rate")
    with pytest.raises(InputError, match=r"rate: .* allowed: 1 to 5000"):
        rate.check(value)
