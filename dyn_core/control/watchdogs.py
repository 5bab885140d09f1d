"""What is watched while the controller is active, each in plain numbers, so that every case can be tried without DDS.

Every watch returns a sentence when it barks, and an empty string while all is well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dyn_core.arrays import Floats

from .limits import ERROR, HARD, KINDS, TORQUE, VELOCITY, VOLTAGE, Excess, Limits

WARN, SLOW_DOWN, SAFE_STOP = "warn", "slow_down", "safe_stop"
REACTIONS = (WARN, SLOW_DOWN, SAFE_STOP)
"""From the mildest to the strongest."""


class SilenceWatch:
    """No valid joint state for ``timeout`` seconds in which this process ran.

    The wait for a joint state is cut into slices; a slice counts at most its own length, so that a stall of this
    process itself counts as one of them. Silence before the first joint state is none.
    """

    SLICES = 5

    def __init__(self, timeout: float, now: float) -> None:
        self.slice = timeout / self.SLICES
        self.silence = 0.0
        self._timeout = timeout
        self._counted = now
        self._back = 0.0
        self.heard = False

    def hear(self, now: float) -> None:
        """A valid joint state."""
        self.heard, self.silence, self._counted, self._back = True, 0.0, now, 0.0

    def reject(self, back: float) -> None:
        """A joint state whose stamp lies ``back`` seconds before the last valid one."""
        self._back = back

    def check(self, now: float) -> str:
        """No valid joint state in a slice or a part of one."""
        self.silence += min(now - self._counted, self.slice)
        self._counted = now
        if not self.heard or self.silence <= self._timeout:
            return ""
        if self._back > self._timeout:
            return f"the clock of the joint states jumped back by {self._back:.3g} s"
        return "no valid joint state in time"

    @property
    def silent(self) -> bool:
        """Whether joint states are missing now."""
        return not self.heard or self.silence > self.slice


class DeadlineWatch:
    """Counts missed deadlines; barks when more than ``limit`` are missed without one that is met (0: never)."""

    LATE = 1.5
    """A cycle that takes longer than so many periods has missed a deadline."""

    def __init__(self, period: float, limit: int) -> None:
        self.missed = 0
        self._period, self._limit = period, limit
        self._in_a_row = 0

    def check(self, interval: float) -> str:
        """``interval`` seconds since the last cycle; 0 after a pause."""
        if interval <= self.LATE * self._period:
            self._in_a_row = 0
            return ""
        missed = round(interval / self._period) - 1
        self.missed += missed
        self._in_a_row += missed
        if self._limit and self._in_a_row > self._limit:
            count, self._in_a_row = self._in_a_row, 0
            return f"{count} deadlines missed in a row, {self._limit} are allowed"
        return ""


class PeerWatch:
    """Nobody takes motor commands for ``timeout`` seconds (0: never), after somebody did."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._seen: float | None = None
        self.alone = False

    def check(self, peers: int, now: float) -> str:
        """``peers`` take motor commands at the time ``now`` (s)."""
        self.alone = peers == 0
        if peers:
            self._seen = now
        if not self._timeout or self._seen is None or now - self._seen <= self._timeout:
            return ""
        return "nobody takes the motor commands any more"


@dataclass(frozen=True)
class Verdict:
    """What is to be done about exceeded limits: the strongest reaction, and the sentence of each excess."""

    reaction: str
    sentences: tuple[str, ...]
    off_path: bool
    """Whether the robot is so far from its path that it cannot brake along it."""


class LimitWatch:
    """The reaction to every kind of limit.

    Torque and voltage may be exceeded for ``saturation_time`` seconds, as feedback does for a moment.
    """

    def __init__(self, limits: Limits, reactions: Mapping[str, str], saturation_time: float) -> None:
        self.limits = limits
        self._reactions = [reactions[kind] for kind in KINDS]
        self._saturation_time = saturation_time
        self._since: dict[int, float] = {}

    def check(self, q: Floats, qd: Floats, q_d: Floats, torque: Floats, now: float) -> Verdict | None:
        """None if all is well at the measured q, qd, the desired q_d and the wanted torque, at the time ``now`` (s)."""
        if not self.limits.exceeded(q, qd, q_d, torque):
            if self._since:
                self._since.clear()
            return None
        excesses = self.limits.excesses(q, qd, q_d, torque)
        self._since = {excess.kind: self._since.get(excess.kind, now) for excess in excesses}
        lasting = [excess for excess in excesses if not self._brief(excess.kind, now)]
        if not lasting:
            return None
        strongest = max((self._reactions[excess.kind] for excess in lasting), key=REACTIONS.index)
        sentences = tuple(excess.sentence for excess in lasting if self._reactions[excess.kind] == strongest)
        return Verdict(strongest, sentences, any(excess.kind == ERROR for excess in lasting))

    def _brief(self, kind: int, now: float) -> bool:
        return kind in (TORQUE, VOLTAGE) and now - self._since[kind] < self._saturation_time

    def present(self, q: Floats, qd: Floats) -> list[Excess]:
        """What of a measured state forbids to go on, were it held where it is."""
        zeros = np.zeros_like(q)
        stops = [e for e in self.limits.excesses(q, qd, q, zeros) if e.kind in (HARD, VELOCITY)]
        return [excess for excess in stops if self._reactions[excess.kind] == SAFE_STOP]
