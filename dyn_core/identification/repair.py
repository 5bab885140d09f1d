"""Faults that recorders leave in a log: repeated times, stale positions, spikes, and gaps.

What can be mended is mended and said; a gap cuts the log into pieces, which are filtered apart.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from dyn_core.arrays import Bools, Floats
from dyn_core.errors import InputError

from .motion_log import FEWEST_SAMPLES, MotionLog

GAP = 10.0
"""A pause longer than this many ordinary steps cuts the log."""
SPIKE = 10.0
"""A value counts as a spike that stands out on both sides by this many times nine tenths of all steps."""
STALE = 3.0
"""Positions that jump by more encoder steps than this after standing still were not fresh in between."""


def repaired(log: MotionLog) -> tuple[list[MotionLog], list[str]]:
    """The log in pieces without gaps, and what was found, one sentence each."""
    notes: list[str] = []
    log = _distinct_times(log, notes)
    step = encoder_steps(log.q)
    log = _fresh_positions(log, step, notes)
    log = _without_spikes(log, notes)
    steps = np.diff(log.t)
    ends = np.flatnonzero(steps > GAP * np.median(steps)) + 1
    if not len(ends):
        return [log], notes
    pieces = []
    for begin, end in pairwise([0, *ends, len(log.t)]):
        rows = slice(begin, end)
        if end - begin >= FEWEST_SAMPLES:
            pieces.append(log.changed(log.t[rows], lambda _, x, rows=rows: x[rows]))  # type: ignore[misc]
    notes.append(
        f"{len(ends)} gaps, the longest {steps[ends - 1].max():.3g} s: the log is taken in {len(pieces)} pieces"
    )
    if not pieces:
        raise InputError(f"{log.source}: its {len(ends)} gaps leave no {FEWEST_SAMPLES} samples in a row")
    return pieces, notes


def encoder_steps(q: Floats) -> Floats:
    """(n,) the step to which the positions of each joint are rounded; 0 where they lie on no grid."""
    found = np.zeros(q.shape[1])
    for j, column in enumerate(q.T):
        values = np.unique(column)
        gaps = np.diff(values)
        gaps = gaps[gaps > 1e-9 * max(np.ptp(column), 1e-300)]  # the rest is the rounding of the numbers themselves
        if not len(gaps):
            continue
        step = float(np.median(gaps[gaps < 1.5 * gaps.min()]))
        counts = gaps / step
        if (np.abs(counts - np.rint(counts)) < 0.05).mean() > 0.95:
            found[j] = step
    return found


def _distinct_times(log: MotionLog, notes: list[str]) -> MotionLog:
    """Samples of the same time become their mean."""
    t, first, counts = np.unique(log.t, return_index=True, return_counts=True)
    if len(t) == len(log.t):
        return log
    notes.append(f"{len(log.t) - len(t)} samples bear the time of the one before: they are taken together")
    if len(t) < FEWEST_SAMPLES:
        raise InputError(f"{log.source}: {len(t)} different times are too few, at least {FEWEST_SAMPLES} are needed")
    return log.changed(t, lambda _, x: np.add.reduceat(x, first) / counts[:, None])


def _fresh_positions(log: MotionLog, step: Floats, notes: list[str]) -> MotionLog:
    """Where all positions stand still and then jump, they were repeated: interpolate between the fresh ones."""
    changes = np.flatnonzero(np.r_[True, np.diff(log.q, axis=0).any(axis=1)])
    jumps = np.abs(np.diff(log.q[changes], axis=0))
    size = np.where(step > 0.0, step, np.ptp(log.q, axis=0) * 1e-6 + 1e-300)
    jumped = np.asarray((jumps > STALE * size).any(axis=1))
    fresh = np.ones(len(log.t), np.bool_)
    for begin, end, stale in zip(changes, changes[1:], jumped, strict=False):
        fresh[begin + 1 : end] = not stale or end - begin > GAP
    count = int((~fresh).sum())
    if count == 0:
        return log
    notes.append(f"{count} of {len(fresh)} positions repeat the one before during motion: interpolated")
    columns = [_interpolated(log.t, column, fresh) for column in log.q.T]
    return replace(log, q=np.column_stack(columns))


def _interpolated(t: Floats, x: Floats, known: Bools) -> Floats:
    return np.asarray(np.interp(t, t[known], x[known]))


def _without_spikes(log: MotionLog, notes: list[str]) -> MotionLog:
    """Single values, or two in a row, that stand out on both sides."""
    count = 0

    def mended(_: str, value: Floats) -> Floats:
        nonlocal count
        columns = []
        for x in value.T:
            limit = SPIKE * float(np.quantile(np.abs(np.diff(x)), 0.9))
            spikes = np.zeros(len(x), np.bool_)
            for reach in (1, 2) if limit > 0.0 else ():
                before, after = x[reach:-reach] - x[: -2 * reach], x[reach:-reach] - x[2 * reach :]
                apart = np.minimum(np.abs(before), np.abs(after)) > limit * reach
                spikes[reach:-reach] |= apart & (before * after > 0.0)
            count += int(spikes.sum())
            columns.append(_interpolated(log.t, x, ~spikes) if spikes.any() else x)
        return np.column_stack(columns)

    log = log.changed(log.t, mended)
    if count:
        notes.append(f"{count} values stand out from their neighbours as spikes: interpolated")
    return log
