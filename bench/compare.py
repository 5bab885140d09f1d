"""Two ways to do the same work, measured alternately in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

ROUNDS = 61
SECONDS_PER_ROUND = 0.005
TOLERANCE = 1e-8


class DifferentAnswers(Exception):
    """The two sides of a comparison do not compute the same thing, so their times mean nothing."""


@dataclass(frozen=True)
class Comparison:
    """Times of one call in seconds, medians over rounds; ratio = ours / peer, below 1 where ours is faster."""

    HEAD: ClassVar[str] = f"{'work':52} {'ours':>13} {'peer':>13}  {'':31} ratio [10 % - 90 % of rounds]"

    work: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    low: float
    """10th percentile of the ratio over rounds."""
    high: float
    """90th percentile."""
    goal: float
    """The ratio to reach."""
    needed: str = ""
    """What it would take, where it is missed."""

    def row(self) -> str:
        """One line of the table."""
        met = verdict(self.ratio, self.goal)
        return (
            f"{self.work:52} {1e6 * self.ours:10.2f} us {1e6 * self.theirs:10.2f} us  {self.peer:31}"
            f" {self.ratio:6.3f} [{self.low:.3f} - {self.high:.3f}]  goal {self.goal:g}: {met}"
        )


def verdict(ratio: float, goal: float) -> str:
    """Whether a goal is reached, and by how much it is missed."""
    return "reached" if ratio <= goal else f"missed by {100 * (ratio / goal - 1):.0f} %"


def compare(
    work: str,
    ours: Callable[[], object],
    peer: str,
    theirs: Callable[[], object],
    goal: float,
    answers: tuple[object, object],
    all_cores: bool = False,
) -> Comparison:
    """Check that both sides give the same answer, then time them in turn.

    all_cores: one of the sides works in several threads, so that the time on the clock counts; otherwise that of this
    thread alone does, which other programs on the machine do not disturb.
    """
    require_same(work, peer, answers)
    times = alternate(ours, theirs, clock=time.perf_counter if all_cores else time.thread_time)
    ratios = times[:, 0] / times[:, 1]
    low, ratio, high = np.percentile(ratios, [10, 50, 90])
    mine, other = np.median(times, axis=0)
    return Comparison(work, peer, float(mine), float(other), float(ratio), float(low), float(high), goal)


def require_same(work: str, peer: str, answers: tuple[object, object]) -> None:
    """DifferentAnswers where the two sides do not compute the same thing."""
    found, expected = (np.asarray(answer, float) for answer in answers)
    difference = np.abs(found - expected).max() / max(np.abs(expected).max(), 1.0)
    if not difference < TOLERANCE:
        raise DifferentAnswers(f"{work}: the answers differ by {difference:.3g} relative to {peer}")


def alternate(*sides: Callable[[], object], clock: Callable[[], float] = time.thread_time) -> np.ndarray:
    """Seconds per call (rounds, sides), the sides in turn within each round."""
    counts = [_calls_per_round(side, clock) for side in sides]
    return np.array(
        [[_timed(side, count, clock) for side, count in zip(sides, counts, strict=True)] for _ in range(ROUNDS)]
    )


def _calls_per_round(call: Callable[[], object], clock: Callable[[], float]) -> int:
    call()
    count = 1
    while (elapsed := _timed(call, count, clock) * count) < SECONDS_PER_ROUND / 4:
        count *= 2
    return max(1, round(count * SECONDS_PER_ROUND / elapsed))


def _timed(call: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count
