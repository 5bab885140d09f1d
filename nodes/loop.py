"""The fast path of a node: a thread of its own, paced by absolute deadlines or woken by one subscription.

rclpy's executor costs several hundred microseconds per callback in Python, so messages of the control loop do not pass
through it: their subscriptions sit in a callback group that the executor never serves, and the loop's thread takes from
the subscription's handle directly. Everything slow stays with the executor in the main thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.callback_groups import CallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription

from dyn_core.errors import InputError

NANOSECONDS = 1_000_000_000
WINDOW = 10_000
"""Number of recent cycles over which the statistics are taken."""

BREATH = 50_000
"""Shortest sleep of a cycle (ns): a real-time thread that is always late must not shut out everybody else."""

FRESH = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=8,
    reliability=ReliabilityPolicy.BEST_EFFORT,
    durability=DurabilityPolicy.VOLATILE,
)
"""Subscriptions of the loop: only the newest counts, nothing is sent again."""

STREAM = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=8,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.VOLATILE,
)
"""Publishers of the loop: a reliable writer serves both kinds of subscribers."""

LATCHED = QoSProfile(
    history=HistoryPolicy.KEEP_LAST,
    depth=1,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)


def nanoseconds(time: Any) -> int:
    """A builtin_interfaces/Time or Duration as a whole number of ns."""
    return int(time.sec * NANOSECONDS + time.nanosec)


class WithheldGroup(CallbackGroup):
    """A callback group that the executor never serves."""

    def can_execute(self, entity: Any) -> bool:
        return False

    def beginning_execution(self, entity: Any) -> bool:
        return False

    def ending_execution(self, entity: Any) -> None:
        return None


def subscribe(node: Node, message_type: type, topic: str) -> Subscription:
    """A subscription that only the loop's thread reads."""
    return node.create_subscription(message_type, topic, lambda _: None, FRESH, callback_group=WithheldGroup())


def take_all(subscription: Subscription, raw: bool = False) -> list[Any]:
    """All pending messages, the oldest first, or their bytes if ``raw``; never blocks."""
    taken = []
    handle = subscription.handle
    with handle:
        while (message := handle.take_message(subscription.msg_type, raw)) is not None:
            taken.append(message[0])
    return taken


def take_newest(subscription: Subscription, raw: bool = False) -> tuple[Any | None, int]:
    """The newest pending message (None if there is none), and how many older ones were passed over; never blocks."""
    taken = take_all(subscription, raw)
    return (taken[-1], len(taken) - 1) if taken else (None, 0)


class StateWaiter:
    """Blocks until a subscription has a message, somebody calls ``wake``, or a time has passed."""

    def __init__(self, node: Node, *subscriptions: Subscription) -> None:
        self._subscriptions = subscriptions
        self.guard = node.create_guard_condition(lambda: None, callback_group=WithheldGroup())
        self._set = _rclpy.WaitSet(len(subscriptions), 1, 0, 0, 0, 0, node.context.handle)

    def wait(self, timeout: float) -> None:
        """Wait at most ``timeout`` seconds."""
        with contextlib.ExitStack() as held:
            held.enter_context(self.guard.handle)
            self._set.clear_entities()
            for subscription in self._subscriptions:
                held.enter_context(subscription.handle)
                self._set.add_subscription(subscription.handle)
            self._set.add_guard_condition(self.guard.handle)
            self._set.wait(int(timeout * NANOSECONDS))

    def wake(self) -> None:
        """End the present wait; may be called from any thread."""
        self.guard.trigger()


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
        """Rate (Hz), p50, p99 and max (s) of the cycle, and the share of cycles within 2 periods of 1 kHz (2 ms)."""
        cycles = self._ring[: min(self.count, WINDOW)].copy()
        if cycles.size == 0:
            return {"rate": 0.0, "p50": 0.0, "p99": 0.0, "max": 0.0, "within_2ms": 0.0}
        p50, p99 = np.percentile(cycles, (50.0, 99.0))
        return {
            "rate": float(cycles.size / cycles.sum()),
            "p50": float(p50),
            "p99": float(p99),
            "max": float(cycles.max()),
            "within_2ms": float(np.mean(cycles <= 2e-3)),
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

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

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
    _set_timer_slack(1)
    if priority == 0:
        return "ordinary"
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        for thread in _threads_without_python():
            with contextlib.suppress(ProcessLookupError):
                os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority + 1))
    except (OSError, AttributeError) as error:
        return f"ordinary (SCHED_FIFO {priority} refused: {error})"
    return f"SCHED_FIFO {priority}"


def _threads_without_python() -> list[int]:
    """Linux thread ids of this process that run no Python: those of the DDS layer."""
    python = {thread.native_id for thread in threading.enumerate()}
    return [thread for thread in map(int, os.listdir("/proc/self/task")) if thread not in python]


def _set_timer_slack(nanoseconds: int) -> None:
    """Linux lets timers of a thread fire up to 50 us late unless told otherwise (PR_SET_TIMERSLACK = 29)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(29, ctypes.c_ulong(nanoseconds), 0, 0, 0)


def view(message_array: Any, size: int) -> np.ndarray:
    """A numpy view of a message's numeric sequence, so that it can be filled without making a new one."""
    if len(message_array) != size:
        raise InputError(f"the sequence has {len(message_array)} elements, not {size}")
    return np.frombuffer(message_array, dtype=message_array.typecode)
