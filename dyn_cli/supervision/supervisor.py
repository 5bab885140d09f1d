"""Starts the processes of a system and ends them together, where there is no ``ros2 launch``.

Every child is in a process group of its own, and asks the kernel for SIGTERM when the supervisor dies
(PR_SET_PDEATHSIG), so that none is left even after ``kill -9`` of the supervisor.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

from dyn_nodes.bringup.systems import NodeSpec, System

from . import shared_memory

PR_SET_PDEATHSIG = 1
PATIENCE = 2.5
"""Seconds between asking a process to end and ending it."""


class Supervisor:
    """The running processes of one system; must be used from the thread that made it, which children outlive not."""

    def __init__(
        self,
        system: System,
        environment: Mapping[str, str] | None = None,
        output: Callable[[str], None] | None = None,
    ) -> None:
        self.system = system
        self._environment = {
            "RCUTILS_COLORIZED_OUTPUT": "0",
            "RCUTILS_CONSOLE_OUTPUT_FORMAT": "{severity}: {message}",
            "PYTHONUNBUFFERED": "1",
            **os.environ,
            **(environment or {}),
        }
        self._output = output or to_stderr
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._readers: list[threading.Thread] = []

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by node name."""
        return {name: process.pid for name, process in self._processes.items()}

    def start(self) -> None:
        """Start every process of the system."""
        shared_memory.clean()
        for node in self.system.nodes:
            self._start(node)

    def restart(self, name: str, prefix: Sequence[str] = (), patience: float = PATIENCE) -> None:
        """Start a process again, ending it first if it runs; prefix: words before its command line."""
        node = next(node for node in self.system.nodes if node.name == name)
        self._end([self._processes[name]], patience)
        self._start(node, prefix)

    def alive(self, name: str) -> bool:
        """Whether a process runs."""
        return self._processes[name].poll() is None

    def _start(self, node: NodeSpec, prefix: Sequence[str] = ()) -> None:
        program = [node.module] if node.module else ["dyn_nodes.executables", node.name]
        command = [*prefix, *node.prefix, sys.executable, "-m", *program, *self.system.ros_arguments(node)]
        with _signals_wait() as usual:
            process = subprocess.Popen(
                command,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
                preexec_fn=_leash(os.getpid(), usual),
            )
            self._processes[node.name] = process
            reader = threading.Thread(target=self._forward, args=(node.name, process.stdout), daemon=True)
            reader.start()
            self._readers.append(reader)

    def dead(self) -> tuple[str, int] | None:
        """Name and exit status of a process that has ended, if one has."""
        ended = ((name, process.poll()) for name, process in self._processes.items())
        return next(((name, status) for name, status in ended if status is not None), None)

    def stop(self, patience: float = PATIENCE) -> dict[str, int]:
        """End every process: SIGTERM, and SIGKILL for those that do not answer in time; returns exit statuses."""
        self._end(list(self._processes.values()), patience)
        for reader in self._readers:
            reader.join(0.5)
        return {name: process.returncode for name, process in self._processes.items()}

    def _end(self, processes: Sequence[subprocess.Popen[str]], patience: float) -> None:
        for process in reversed(processes):
            _send(process, signal.SIGTERM)
        end = time.monotonic() + patience
        for process in processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                _send(process, signal.SIGKILL)
                process.wait()

    def __enter__(self) -> Supervisor:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _forward(self, name: str, stream: IO[str] | None) -> None:
        assert stream is not None
        with contextlib.suppress(ValueError, OSError):
            for line in stream:
                self._output(f"[{name}] {line.rstrip()}")


@contextlib.contextmanager
def _signals_wait() -> Iterator[set[signal.Signals]]:
    """SIGINT and SIGTERM wait until the block's end: Python loses an interrupt in the midst of a fork, and a process
    that was started but not noted would not be ended. Gives the usual mask."""
    usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield {signal.Signals(number) for number in usual}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, usual)


def _leash(parent: int, mask: set[signal.Signals]) -> Callable[[], None]:
    prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def tie() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if prctl is None:
            return
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return tie


def _send(process: subprocess.Popen[str], number: signal.Signals) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def to_stderr(line: str) -> None:
    """Print a line at once."""
    print(line, file=sys.stderr, flush=True)
