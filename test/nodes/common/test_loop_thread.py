"""Deadlines and statistics of the loop."""

from __future__ import annotations

import threading
import time

import pytest

from dyn_core.errors import InputError
from dyn_nodes.common.loop_thread import CycleStatistics, LoopThread, Pacer

pytestmark = pytest.mark.running


def test_the_pacer_counts_every_period_once() -> None:
    pacer = Pacer(200.0, limit=1.0)
    begin = time.monotonic()
    periods = sum(pacer.wait() for _ in range(20))
    elapsed = time.monotonic() - begin
    assert periods >= 20
    assert periods == pytest.approx(elapsed * 200.0, abs=2.0)
    assert pacer.missed == periods - 20


def test_a_stall_is_made_up_for_only_up_to_the_limit() -> None:
    pacer = Pacer(100.0, limit=0.05)
    pacer.wait()
    time.sleep(0.3)
    assert pacer.wait() == 5
    assert pacer.missed >= 28
    assert pacer.lost == pytest.approx(pacer.missed - 4, abs=1)
    assert pacer.wait() == 1


def test_cycle_statistics() -> None:
    statistics = CycleStatistics()
    assert statistics.summary()["rate (Hz)"] == 0.0
    for _ in range(50):
        statistics.tick()
        time.sleep(0.002)
    statistics.pause()
    time.sleep(0.05)
    assert statistics.tick() == 0.0, "a wanted pause is no cycle"
    summary = statistics.summary()
    assert statistics.count == 49
    assert 2.0 <= summary["cycle p50 (ms)"] <= summary["cycle p99 (ms)"] <= summary["cycle max (ms)"]
    assert summary["rate (Hz)"] == pytest.approx(1e3 / summary["cycle p50 (ms)"], rel=0.9)
    assert summary["within 2 ms (%)"] == 0.0


def test_a_loop_that_fails_keeps_its_error() -> None:
    def fail() -> None:
        raise InputError("no")

    loop = LoopThread("failing", fail)
    loop.start()
    end = time.monotonic() + 5.0
    while loop._thread.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    assert isinstance(loop.failure, InputError)
    assert not loop._thread.is_alive()


def test_a_loop_stops_when_it_is_told() -> None:
    turns = threading.Semaphore(0)
    loop = LoopThread("turning", turns.release)
    loop.start()
    assert turns.acquire(timeout=5.0)
    loop.stop()
    assert not loop._thread.is_alive()
    assert loop.failure is None
    assert loop.scheduling == "ordinary"
