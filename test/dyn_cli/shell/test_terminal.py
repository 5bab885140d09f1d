"""`dyn sim` as a user runs it: scripts, a prompt on a terminal, Ctrl-C in a long simulation."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dyn_cli.setup import environment

pytestmark = pytest.mark.running

LIMIT = 300.0
COMMAND = [sys.executable, "-m", "dyn_cli.main", "sim", "planar_2r"]


def variables(folder: Path) -> dict[str, str]:
    """An environment that counts as entered, with a history of its own."""
    root = str(Path(environment.__file__).parents[2])
    env = os.environ | {"PYTHONPATH": root, "XDG_STATE_HOME": str(folder), "TERM": "xterm"}
    env.pop("DISPLAY", None)
    return env | {"PYTHONUNBUFFERED": "1", "WAYLAND_DISPLAY": ""}


@pytest.fixture(autouse=True, scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What the shell needs is there before it is asked what it prints."""
    command, env = [sys.executable, "-m", "dyn_cli.main", "setup", "sim"], variables(tmp_path_factory.mktemp("setup"))
    subprocess.run(command, env=env, capture_output=True, timeout=LIMIT, check=True)


def script(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        COMMAND,
        input=text,
        cwd=folder,
        env=variables(folder),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def test_a_script_runs_to_its_end(tmp_path: Path) -> None:
    done = script(tmp_path, "# swing\ntheta = 0.5 0\n\nsimulate steps 100\nwrite_results swing.csv\nquit\nnonsense\n")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "simulated to t = 0.1 s; 101 rows are recorded\nwritten: swing.csv\n"


def test_a_script_ends_at_its_first_error_with_the_line(tmp_path: Path) -> None:
    done = script(tmp_path, "theta = 0.5 0\n\nomega = 1\nquit\n")
    assert done.returncode == 2
    assert done.stderr == "dyn: line 3: omega needs 2 numbers, one per joint, found 1\n"


class Terminal:
    """A program on a terminal."""

    def __init__(self, folder: Path) -> None:
        self.text = ""
        self.process, self.end = _on_terminal(folder)

    def read_until(self, wanted: str) -> str:
        """What comes up to the wanted text."""
        end = time.monotonic() + LIMIT
        while wanted not in self.text:
            assert time.monotonic() < end, f"no {wanted!r} in {self.text[-1000:]!r}"
            if select.select([self.end], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.end, 65536).decode(errors="replace")
                except OSError:
                    pytest.fail(f"ended before {wanted!r}: {self.text[-1000:]!r}")
        before, _, self.text = self.text.partition(wanted)
        return before

    def send(self, text: str) -> None:
        os.write(self.end, text.encode())


def _on_terminal(folder: Path) -> tuple[subprocess.Popen[bytes], int]:
    own, other = pty.openpty()
    process = subprocess.Popen(
        COMMAND, cwd=folder, env=variables(folder), stdin=other, stdout=other, stderr=other, start_new_session=True
    )
    os.close(other)
    return process, own


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    found = Terminal(tmp_path)
    yield found
    if found.process.poll() is None:
        found.process.kill()
    found.process.wait()
    os.close(found.end)


def test_a_conversation(terminal: Terminal, tmp_path: Path) -> None:
    assert "planar_2r: 2 joints" in terminal.read_until("sim> ")
    terminal.send("thet\t = 0.5 1\n")
    terminal.read_until("sim> ")
    terminal.send("theta\n")
    assert "theta = 0.5 1  # rad" in terminal.read_until("sim> ")
    terminal.send("bogus\n")
    assert "error: there is no command or variable 'bogus'" in terminal.read_until("sim> ")
    terminal.send("simulate\n")
    terminal.read_until("Set theta and omega to zero first? (yes or no) [no]: ")
    terminal.send("\n")
    terminal.read_until("Voltage schedule file, or none to hold the voltage [none]: ")
    terminal.send("\n")
    terminal.read_until("Number of time steps of 0.001 s [1000]: ")
    terminal.send("20000000\n")
    assert "too many for the memory" in terminal.read_until("sim> ")
    terminal.send("simulate steps 9000000\n")
    terminal.read_until("x real time")
    terminal.process.send_signal(signal.SIGINT)
    assert "as asked" in terminal.read_until("sim> ")
    terminal.send("show\n")
    assert "# planar_2r: 2 joints (shoulder, elbow); simulated to t = " in terminal.read_until("sim> ")
    terminal.send("quit\n")
    assert terminal.process.wait(LIMIT) == 0
    assert "bogus" in (tmp_path / "dyn_robot" / "sim_history").read_text()
