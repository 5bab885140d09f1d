"""Steps of closed chains that do not pass a singularity unseen."""

from __future__ import annotations

from collections.abc import Callable

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.integrators import LEFT, TICKS
from dyn_core.errors import ClosureError, SingularityError
from dyn_core.robots.tracker import Tracker

Motion = tuple[Floats, Floats]
"""Positions q (nq,) and speeds (nv,)."""
Take = Callable[[Motion, float, float], Motion]


def watched(take: Take, tracker: Tracker, start: Motion, h: float) -> tuple[Motion, float]:
    """The motion after a step of h (s), and what part of the step it was; take(motion, begin, end) makes parts of it.

    A step may use up no more than a part of the distance from a singularity, as foreseen from its rate and in fact,
    else it is divided. Where the shortest step may not be taken either, or `take` comes to a singularity, the motion
    ends before.
    """
    now, tick, part = start, 0, TICKS
    try:
        seen = tracker.approach(*start)
    except (SingularityError, ClosureError):
        return start, 0.0
    while tick < TICKS:
        length = h * part / TICKS
        if seen is None or seen[0] + length * seen[1] >= LEFT * seen[0]:
            try:
                then = take(now, tick / TICKS, (tick + part) / TICKS)
                ahead = tracker.approach(*then)
                if seen is None or ahead is None or ahead[0] >= LEFT * seen[0]:
                    now, seen, tick = then, ahead, tick + part
                    continue
            except (SingularityError, ClosureError):
                pass
        if part == 1:
            break
        part //= 2
    return now, tick / TICKS
