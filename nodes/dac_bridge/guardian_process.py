"""The process beside ``dac_bridge`` that writes the safe codes when the bridge dies or falls silent.

It is given the bridge's open outputs and, on the command line, what to write to each; the bridge beats on a socket.
``b"d"`` (driving) starts the watch: no beat for the timeout, and the safe codes are written, again and again until the
bridge beats. ``b"r"`` (at rest) ends the watch. The socket's end, which the kernel brings about however the bridge
dies, makes it write them and end. Every beat is answered, so that the bridge knows that it is guarded.

It runs by itself, on the standard library alone, in a session of its own, so that what ends the bridge does not end it.
"""

import contextlib
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence

DRIVING, RESTING = b"d", b"r"
RETRIES = 20
"""Attempts to write the safe codes after the bridge has died, 50 ms apart, while an output refuses."""


def put(descriptor: int, text: bytes, attribute: bool) -> None:
    """Write to an open output: the whole content of an attribute, or a further line of a file or pipe."""
    if not attribute:
        written = os.write(descriptor, text)
    else:
        if os.fstat(descriptor).st_nlink == 0:
            raise FileNotFoundError(2, "the output has been removed")
        written = os.pwrite(descriptor, text, 0)
        os.ftruncate(descriptor, len(text))
    if written != len(text):
        raise OSError(5, f"{written} of {len(text)} bytes were written")


def stamped(text: str) -> bytes:
    """A line of a file or pipe: the time on the monotonic clock (s), then the values."""
    return f"{time.monotonic():.6f} {text}\n".encode()


def make_safe(plan: Sequence[tuple[int, str, bool]]) -> bool:
    """Write every output's safe text; says whether all took it."""
    fine = True
    for descriptor, text, attribute in plan:
        try:
            put(descriptor, f"{text}\n".encode() if attribute else stamped(text), attribute)
        except OSError:
            fine = False
    return fine


def guard(beats: socket.socket, plan: Sequence[tuple[int, str, bool]], timeout: float) -> None:
    """Watch until the bridge's end of the socket is closed."""
    beats.setblocking(False)
    last, driving = time.monotonic(), False
    with selectors.DefaultSelector() as selector:
        selector.register(beats, selectors.EVENT_READ)
        while True:
            left = max(0.0, last + timeout - time.monotonic()) if driving else None
            if not selector.select(left):
                make_safe(plan)
                last = time.monotonic()
                continue
            try:
                received = beats.recv(4096)
            except ConnectionError:
                received = b""
            if not received:
                break
            last, driving = time.monotonic(), received.endswith(DRIVING)
            with contextlib.suppress(OSError):
                beats.send(received[-1:])
    for _ in range(RETRIES):
        if make_safe(plan):
            break
        time.sleep(0.05)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGABRT):
        signal.signal(number, signal.SIG_IGN)
    job = json.loads(sys.argv[1])
    if job["priority"] > 0:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(job["priority"]))
    with socket.socket(fileno=job["socket"]) as end:
        end.send(RESTING)
        guard(end, job["plan"], job["timeout"])
