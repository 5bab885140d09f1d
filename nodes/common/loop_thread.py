"""The loop of a node: a thread of its own, its deadlines, its statistics and its scheduling.

Everything slow stays with the executor in the main thread.
"""

import contextlib
import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable

import numpy as np

from .stamps import NANOSECONDS

WINDOW = 10_000
"""Number of recent cycles over which the statistics are taken."""

PR_SET_TIMERSLACK = 29
BREATH = 50_000
"""Shortest sleep of a cycle (ns): a real-time thread that is always late must not shut out everybody else."""


class Pacer:
    """Absolute deadlines t0 + k/rate on the monotonic clock.

    A missed deadline is counted and its period handed to the caller, who does the work of all elapsed periods at once;
    beyond ``limit`` seconds the rest is given up and counted in ``lost``, and the deadlines move on.
    """

    def __init__(self, rate: float, limit: float) -> None:
        self.period = round(NANOSECONDS / rate)
        self.missed = 0
        self.lost = 0
        self._limit = max(1, round(limit * rate))
        self._deadline = time.monotonic_ns() + self.period

    def wait(self) -> int:
        """Sleep to the next deadline; returns how many periods have ended since the last one that was served (>= 1)."""
        ahead = self._deadline - time.monotonic_ns()
        time.sleep(max(ahead, BREATH) / NANOSECONDS)
        now = time.monotonic_ns()
        elapsed = max(1, 1 + (now - self._deadline) // self.period)
        self._deadline += elapsed * self.period
        self.missed += elapsed - 1
        if elapsed > self._limit:
            self.lost += elapsed - self._limit
            return self._limit
        return elapsed


class CycleStatistics:
    """Times between the ends of successive cycles: a ring of the last ones, and the number of all."""

    def __init__(self) -> None:
        self.count = 0
        self._ring = np.zeros(WINDOW)
        self._last = 0
        np.percentile(self._ring[:2], 50.0)  # its first call imports modules, for which the loop must not wait

    def tick(self) -> float:
        """Record the end of a cycle; returns the time since the previous one (s), 0 at the first."""
        now = time.monotonic_ns()
        last, self._last = self._last, now
        if last == 0:
            return 0.0
        interval = (now - last) * 1e-9
        self._ring[self.count % WINDOW] = interval
        self.count += 1
        return interval

    def pause(self) -> None:
        """Forget the end of the last cycle, so that a pause that was wanted counts as no cycle."""
        self._last = 0

    def summary(self) -> dict[str, float]:
        """For /diagnostics: the rate, median, 99th percentile and longest of the cycles, and how many are short."""
        cycles = self._ring[: min(self.count, WINDOW)].copy() if self.count else np.zeros(1)
        p50, p99 = np.percentile(cycles, (50.0, 99.0))
        return {
            "rate (Hz)": float(cycles.size / cycles.sum()) if self.count else 0.0,
            "cycle p50 (ms)": 1e3 * float(p50),
            "cycle p99 (ms)": 1e3 * float(p99),
            "cycle max (ms)": 1e3 * float(cycles.max()),
            "within 2 ms (%)": 100.0 * float(np.mean(cycles <= 2e-3)) if self.count else 0.0,
        }


def quiet_interpreter() -> None:
    """Keep the garbage collector and long turns of other threads out of the loop."""
    gc.collect()
    gc.freeze()
    gc.disable()
    sys.setswitchinterval(1e-4)


class LoopThread:
    """Runs ``cycle`` again and again in a thread of its own until ``stop``; an exception ends it and is kept."""

    def __init__(self, name: str, cycle: Callable[[], None], priority: int = 0) -> None:
        self.failure: Exception | None = None
        self.scheduling = "not started"
        self._cycle = cycle
        self._priority = priority
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, timeout: float = 1.0) -> None:
        """Ask the loop to end after its present cycle, and wait for that."""
        self._stopping.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout)

    def _run(self) -> None:
        self.scheduling = schedule(self._priority)
        try:
            while not self._stopping.is_set():
                self._cycle()
        except Exception as error:
            self.failure = error


def schedule(priority: int) -> str:
    """Give the calling thread fine timers and, if asked and permitted, a real-time priority; says what it got.

    The threads of the DDS layer, through which every message of the loop passes, come just above it.
    """
    if sys.platform == "linux":  # timers of a thread fire up to 50 us late unless told otherwise
        ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)
    if priority == 0:
        return "ordinary"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        python = {thread.native_id for thread in threading.enumerate()}
        for thread in set(map(int, os.listdir("/proc/self/task"))) - python:  # those of the DDS layer
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority + 1))
    except (OSError, AttributeError) as error:
        return f"ordinary (SCHED_FIFO {priority} refused: {error})"
    return f"SCHED_FIFO {priority}"
