"""Long commands run with a live display: what is being done, for how long, and how far it is. Standard library only."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO


class Progress:
    """Shows steps on a terminal as one line that is redrawn, elsewhere as one plain line per step."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream if stream is not None else sys.stderr
        self.live = self.stream.isatty() and os.environ.get("TERM") != "dumb"

    def say(self, text: str) -> None:
        """A line that stays."""
        self._erase()
        self.stream.write(f"{text}\n")
        self.stream.flush()

    def run(
        self, label: str, command: Sequence[str | Path], *, log: Path, env: Mapping[str, str], folder: Path
    ) -> tuple[int, str]:
        """Run a command in `folder`; its output is added to `log` and returned with the exit status.

        The command is stopped when this call is interrupted.
        """
        if not self.live:
            self.say(f"{label} ...")
        started = time.monotonic()
        with log.open("ab") as file:
            begin = file.tell()
            process = subprocess.Popen(
                command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            )
        try:
            while process.poll() is None:
                said = log.read_text(errors="replace").splitlines()
                self.wait(label, started, said[-1].strip() if said else "")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        status = process.returncode
        self.say(f"{label}: {'done' if status == 0 else 'failed'} in {time.monotonic() - started:.1f} s")
        return status, log.read_bytes()[begin:].decode(errors="replace")

    def wait(self, label: str, started: float, detail: str = "") -> None:
        """Redraw the line of a wait; on a terminal only."""
        if self.live:
            self._draw(f"{label} {time.monotonic() - started:.0f} s  {detail}")

    def bar(self, label: str, done: int, total: int, started: float, detail: str = "") -> None:
        """Redraw a bar with the time that is left, and erase it when all is done; on a terminal only."""
        if done >= total or not self.live:
            self._erase()
            return
        filled = 30 * done // total
        elapsed = time.monotonic() - started
        left = f"{elapsed * (total - done) / done:.0f} s left" if done else ""
        self._draw(f"{label} [{'#' * filled}{'-' * (30 - filled)}] {100 * done // total} %  {left}  {detail}")

    def _draw(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self.stream.write(f"\r\x1b[2K{text[:width]}")
        self.stream.flush()

    def _erase(self) -> None:
        if self.live:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()
