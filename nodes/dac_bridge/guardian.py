"""The guardian's process, seen from the bridge."""

import contextlib
import json
import socket
import subprocess
import sys
import time
from pathlib import Path

from . import guardian_process
from .guardian_process import DRIVING, RESTING
from .output_file import OutputError
from .outputs import Outputs

START = 10.0
"""Seconds in which the guardian must have started."""


class GuardianError(OutputError):
    """The guardian has ended, or does not answer."""


class Guardian:
    """Starts the process that makes the outputs safe when this one dies or falls silent, and beats for it."""

    def __init__(self, outputs: Outputs, timeout: float, priority: int = 0) -> None:
        ours, theirs = socket.socketpair()
        plan = outputs.plan()
        job = {"socket": theirs.fileno(), "plan": plan, "timeout": timeout, "priority": priority}
        self._socket = ours
        self._pause = timeout / 5.0
        self._patience = max(1.0, 5.0 * timeout)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(guardian_process.__file__)), json.dumps(job)],
            pass_fds=[theirs.fileno(), *(descriptor for descriptor, _, _ in plan)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        ours.settimeout(START)
        try:
            if ours.recv(1) != RESTING:
                raise GuardianError("the guardian of the outputs did not start")
        except OSError as error:
            self.close()
            raise GuardianError(f"the guardian of the outputs did not start ({error})") from error
        except BaseException:
            self.close()
            raise
        ours.setblocking(False)
        self._beaten, self._answered, self._word = 0.0, time.monotonic(), b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def beat(self, driving: bool) -> None:
        """Say that the bridge lives, and whether it drives; cheap enough for every cycle."""
        now, word = time.monotonic(), DRIVING if driving else RESTING
        if word == self._word and now - self._beaten < self._pause:
            return
        if now - self._beaten > self._patience:
            self._answered = now  # this process did not beat, so there was nothing to answer
        try:
            with contextlib.suppress(BlockingIOError):
                if not self._socket.recv(4096):
                    raise GuardianError("the guardian of the outputs has ended")
                self._answered = now
            self._socket.send(word)
        except OSError as error:
            raise GuardianError(f"the guardian of the outputs has ended ({error})") from error
        self._beaten, self._word = now, word
        if now - self._answered > self._patience:
            raise GuardianError(f"the guardian of the outputs has not answered for {self._patience:g} s")

    def close(self) -> None:
        """Let it write the safe codes once more, and end."""
        self._socket.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
