"""Long commands run with a live display: what is being done, how far it is, for how long. Standard library only."""

import os
import re
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

_COMPILED = re.compile(r"^\[ *(\d+)%\]")
_COLLECTED = re.compile(r"^(?:Collecting|Requirement already satisfied:) ([A-Za-z0-9_.-]+)")
_INSTALLING = re.compile(r"^Installing collected packages")


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
        self,
        label: str,
        command: Sequence[str | Path],
        *,
        log: Path,
        env: Mapping[str, str] | None = None,
        total: int | None = None,
    ) -> tuple[int, str]:
        """Run a command; its output goes to `log` and is returned with the exit status. It dies with this call."""
        if not self.live:
            self.say(f"{label} ...")
        started = time.monotonic()
        process = subprocess.Popen(
            [str(part) for part in command],
            env=None if env is None else dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            output = self._follow(process, label, started, log, total)
            status = process.wait()
        finally:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5.0)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            self._erase()
        self.say(f"{label}: {'done' if status == 0 else 'failed'} in {time.monotonic() - started:.1f} s")
        return status, output

    def wait(self, label: str, started: float) -> None:
        """Redraw the line of a wait that has no command; on a terminal only."""
        if self.live:
            self._draw(f"{label} {time.monotonic() - started:.0f} s")

    def bar(self, label: str, done: int, total: int, started: float, detail: str = "") -> None:
        """Redraw a bar with the time that is left, and erase it when all is done; on a terminal only."""
        if not self.live:
            return
        if done >= total:
            self._erase()
            return
        filled = 30 * done // total
        elapsed = time.monotonic() - started
        left = f"{elapsed * (total - done) / done:.0f} s left" if done else ""
        self._draw(f"{label} [{'#' * filled}{'-' * (30 - filled)}] {100 * done // total} %  {left}  {detail}")

    def _follow(
        self, process: subprocess.Popen[bytes], label: str, started: float, log: Path, total: int | None
    ) -> str:
        assert process.stdout is not None
        descriptor = process.stdout.fileno()
        text, detail, unfinished, packages = bytearray(), "", b"", 0
        with log.open("ab") as file, selectors.DefaultSelector() as selector, process.stdout:
            selector.register(descriptor, selectors.EVENT_READ)
            while True:
                ready = selector.select(timeout=0.2)
                if ready:
                    chunk = os.read(descriptor, 65536)
                    if not chunk:
                        break
                    file.write(chunk)
                    text += chunk
                    *lines, unfinished = (unfinished + chunk).split(b"\n")
                    for line in lines:
                        shown = line.decode(errors="replace")
                        if match := _COMPILED.match(shown):
                            detail = f"{match[1]} %"
                        elif match := _COLLECTED.match(shown):
                            packages += 1
                            count = f"{packages}/{total} " if total else ""
                            detail = f"{count}{match[1]}"
                        elif _INSTALLING.match(shown):
                            detail = "unpacking"
                elif process.poll() is not None:
                    break
                if self.live:
                    self._draw(f"{label} {time.monotonic() - started:.0f} s  {detail}")
        return text.decode(errors="replace")

    def _draw(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self.stream.write(f"\r\x1b[2K{text[:width]}")
        self.stream.flush()

    def _erase(self) -> None:
        if self.live:
            self.stream.write("\r\x1b[2K")
            self.stream.flush()
