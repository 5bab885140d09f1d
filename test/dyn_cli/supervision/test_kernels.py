"""Kernels are compiled once, before the nodes start."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dyn_cli.supervision import kernels
from dyn_core.control import PARTS
from dyn_nodes.bringup.systems import system

CHILD = "import sys\nfor ready in range(1, 4):\n    print(ready, 5, flush=True)\nsys.exit({status})"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The command lines of the processes that would compile; stand-ins run instead of them."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    commands: list[list[str]] = []
    run = kernels.subprocess.Popen

    def stand_in(command: list[str], **options: object) -> object:
        commands.append(command)
        return run([sys.executable, "-c", CHILD.format(status=int("nowhere" in command))], **options)  # type: ignore[call-overload]

    monkeypatch.setattr(kernels.subprocess, "Popen", stand_in)
    return commands


def test_kernels_are_compiled_once_for_a_robot(started: list[list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    planned = system("sim", {"robot": "planar_2r"})
    kernels.compile_kernels(planned)
    assert [command[-3:] for command in started] == [["planar_2r", "projection", part] for part in PARTS]
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "compiling the kernels, once ..."
    assert said[1].startswith("compiling the kernels: done in ")
    kernels.compile_kernels(planned)
    assert len(started) == 2
    assert capsys.readouterr().err == ""
    kernels.compile_kernels(system("sim", {"robot": "planar_2r", "formulation": "denoc"}))
    assert len(started) == 4


def test_a_robot_that_cannot_be_compiled_is_tried_again(started: list[list[str]]) -> None:
    planned = system("sim", {"robot": "nowhere"})
    kernels.compile_kernels(planned)
    kernels.compile_kernels(planned)
    assert len(started) == 4


def test_the_parts_are_those_of_the_core() -> None:
    assert kernels.PARTS == PARTS


def test_where_machine_code_cannot_be_kept_nothing_is_compiled_ahead(
    started: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    kernels.compile_kernels(system("sim", {}))
    assert started == []
