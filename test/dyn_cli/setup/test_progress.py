"""Commands with a live display."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dyn_cli.setup.progress import Progress


def run(progress: Progress, folder: Path, label: str, program: str) -> tuple[int, str]:
    command = [sys.executable, "-c", program]
    return progress.run(label, command, log=folder / "log", env=os.environ, folder=folder)


def test_a_command_that_is_interrupted_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(io.StringIO())
    started: list[subprocess.Popen[bytes]] = []
    start = subprocess.Popen

    def starting(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
        started.append(start(*arguments, **options))  # type: ignore[call-overload]
        return started[0]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", starting)
    monkeypatch.setattr(progress, "wait", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run(progress, tmp_path, "sleeping", "import time; time.sleep(60)")
    assert started[0].returncode is not None


def test_progress_keeps_the_output_and_shows_plain_lines_off_a_terminal(tmp_path: Path) -> None:
    stream = io.StringIO()
    (tmp_path / "log").write_text("of an earlier command\n")
    status, output = run(Progress(stream), tmp_path, "speaking", "print('[1/9] a'); raise SystemExit(3)")
    assert (status, output) == (3, "[1/9] a\n")
    assert (tmp_path / "log").read_text() == f"of an earlier command\n{output}"
    first, second = stream.getvalue().splitlines()
    assert first == "speaking ..."
    assert second.startswith("speaking: failed in ")


def test_progress_is_live_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = os.openpty()
    program = "import time; print('[4/9] a', flush=True); time.sleep(0.5)"
    with os.fdopen(follower, "w") as stream, os.fdopen(leader, "rb", buffering=0) as terminal:
        run(Progress(stream), tmp_path, "building", program)
        shown = ""
        while "done" not in shown:
            shown += terminal.read(65536).decode()
    assert re.search(r"building \d+ s  \[4/9\] a", shown)
    assert re.search(r"\r\x1b\[2Kbuilding: done in ", shown)
