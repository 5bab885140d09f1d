"""The public face of dyn_core: what nodes, commands, papers and examples may use of it."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CORE = ROOT / "dyn_core"
ROOMS = sorted(path.parent.name for path in CORE.glob("*/__init__.py"))
PRIVATE = {"dynamics", "jit"}
"""Rooms whose names only the core itself uses."""
USERS = [path for folder in ("nodes", "dyn_cli", "papers", "examples") for path in (ROOT / folder).rglob("*.py")]
STRANGERS = [
    path
    for folder in ("nodes", "dyn_cli", "dyn_core/control", "dyn_core/simulation")
    for path in (ROOT / folder).rglob("*.py")
]
"""Who takes any robot, and asks none what it is."""


def _name(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def _public(module: Path) -> set[str]:
    """What `__all__` of a module lists; without one, what the module itself defines without an underscore."""
    names: set[str] = set()
    for node in ast.parse(module.read_text()).body:
        if isinstance(node, ast.Assign) and [getattr(target, "id", "") for target in node.targets] == ["__all__"]:
            return set(ast.literal_eval(node.value))
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return {name for name in names if not name.startswith("_")}


FACES = {
    "dyn_core": _public(CORE / "__init__.py"),
    **{f"dyn_core.{room}": _public(CORE / room / "__init__.py") for room in ROOMS if room not in PRIVATE},
    **{f"dyn_core.{module.stem}": _public(module) for module in CORE.glob("*.py") if module.stem != "__init__"},
}


def _breaches(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "dyn_core" and alias.name not in FACES:
                    yield f"{_name(path)}:{node.lineno}: import {alias.name}"
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").split(".")[0] == "dyn_core":
            if node.module not in FACES:
                yield f"{_name(path)}:{node.lineno}: {node.module} is private"
                continue
            for alias in node.names:
                if alias.name not in FACES[node.module] and f"{node.module}.{alias.name}" not in FACES:
                    yield f"{_name(path)}:{node.lineno}: {alias.name} is not a public name of {node.module}"


def _is_robot(node: ast.expr) -> bool:
    """Whether the name of an expression ends with robot, as in self._robot."""
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.endswith("robot")


def _questions(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            kinds = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            asks_kind = node.func.id == "isinstance" and any(kind.endswith("Robot") for kind in kinds)
            if asks_kind or (node.func.id in ("hasattr", "getattr") and _is_robot(node.args[0])):
                yield f"{_name(path)}:{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_") and _is_robot(node.value):
            yield f"{_name(path)}:{node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", USERS, ids=_name)
def test_only_public_names_of_the_core_are_used(path):
    assert list(_breaches(path)) == []


@pytest.mark.parametrize("path", STRANGERS, ids=_name)
def test_no_robot_is_asked_what_it_is(path):
    assert list(_questions(path)) == []


@pytest.mark.parametrize("module", sorted(FACES))
def test_every_public_name_exists(module):
    face = importlib.import_module(module)
    assert [name for name in FACES[module] if not hasattr(face, name)] == []


@pytest.mark.parametrize("room", ROOMS)
def test_no_public_name_is_that_of_a_file(room):
    """Which of the two `from room import name` means would depend on who asks: Python, mypy or import-linter."""
    files = {path.stem for path in (CORE / room).iterdir()}
    assert _public(CORE / room / "__init__.py") & files == set()


def test_the_checks_see_what_they_should(tmp_path):
    bad = tmp_path / "bad.py"
    private = [
        "from dyn_core.jit import kernel",
        "from dyn_core.robots.robot import Robot",
        "import dyn_core.jit.cache",
    ]
    asking = ["isinstance(x, (int, LoopRobot))", "hasattr(self._robot, 'legs')", "robot._record"]
    bad.write_text("\n".join([*private, "from dyn_core import Nothing, errors", "isinstance(x, int)", *asking]))
    assert len(list(_breaches(bad))) == 4
    assert [line.partition(": ")[2] for line in _questions(bad)] == asking
