"""Two ways to do the same work, measured alternately in one process."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ROUNDS = 31
SECONDS_PER_ROUND = 0.02
TOLERANCE = 1e-8


class DifferentAnswers(Exception):
    """The two sides of a comparison do not compute the same thing, so their times mean nothing."""


@dataclass(frozen=True)
class Comparison:
    """Times of one call in seconds, medians over rounds; ratio = ours / peer, below 1 where ours is faster."""

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

    def row(self) -> str:
        """One line of the table."""
        met = "reached" if self.ratio <= self.goal else f"missed by {100 * (self.ratio / self.goal - 1):.0f} %"
        return (
            f"{self.work:34} {1e6 * self.ours:10.2f} us {1e6 * self.theirs:10.2f} us  {self.peer:26}"
            f" {self.ratio:6.3f} [{self.low:.3f} - {self.high:.3f}]  goal {self.goal:g}: {met}"
        )


def compare(
    work: str,
    ours: Callable[[], object],
    peer: str,
    theirs: Callable[[], object],
    goal: float,
    answers: tuple[object, object],
) -> Comparison:
    """Check that both sides give the same answer, then time them in turn."""
    require_same(work, peer, answers)
    times = alternate(ours, theirs)
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


def alternate(*sides: Callable[[], object]) -> np.ndarray:
    """Seconds per call (rounds, sides), the sides in turn within each round."""
    counts = [_calls_per_round(side) for side in sides]
    return np.array([[_timed(side, count) for side, count in zip(sides, counts, strict=True)] for _ in range(ROUNDS)])


def _calls_per_round(call: Callable[[], object]) -> int:
    call()
    count = 1
    while (elapsed := _timed(call, count) * count) < SECONDS_PER_ROUND / 4:
        count *= 2
    return max(1, round(count * SECONDS_PER_ROUND / elapsed))


def _timed(call: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count
