"""Joint trajectories: position, velocity and acceleration as functions of time."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any, Protocol

import numpy as np
from scipy.interpolate import BPoly, PPoly, make_interp_spline

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.jit.kernel import compiled_call, entry

Sample = tuple[Floats, Floats, Floats]


class Trajectory(Protocol):
    """A motion of n joints over [0, duration] seconds."""

    n: int
    duration: float

    def sample(self, t: Any) -> Sample:
        """q, qd, qdd at time t: (n,) each, or (m, n) for m times.

        Before the start it stands at the first point; after the end it stands at the last one.
        """
        ...


@entry
def _cycloid(start, change, duration, times, out):
    """out (m, 3, n)."""
    for i in range(times.shape[0]):
        s = min(max(times[i] / duration, 0.0), 1.0)
        angle = 2.0 * pi * s if s < 1.0 else 0.0
        for j in range(start.shape[0]):
            rate = change[j] / duration
            out[i, 0, j] = start[j] + change[j] * (s - sin(angle) / (2.0 * pi))
            out[i, 1, j] = rate * (1.0 - cos(angle))
            out[i, 2, j] = rate * 2.0 * pi / duration * sin(angle)


@entry
def _piecewise(knots, c, times, out):
    """out (m, 3, n); c (degree + 1, pieces, n), highest power first, in the time since a piece's first knot."""
    pieces = c.shape[1]
    for i in range(times.shape[0]):
        t = min(max(times[i], knots[0]), knots[pieces])
        inside = t == times[i]
        lo, hi = 0, pieces - 1
        while lo < hi:
            middle = (lo + hi + 1) // 2
            if knots[middle] <= t:
                lo = middle
            else:
                hi = middle - 1
        x = t - knots[lo]
        for j in range(c.shape[2]):
            q = qd = qdd = 0.0
            for k in range(c.shape[0]):  # Horner, with both derivatives
                qdd = qdd * x + 2.0 * qd
                qd = qd * x + q
                q = q * x + c[k, lo, j]
            out[i, 0, j] = q
            out[i, 1, j] = qd if inside else 0.0
            out[i, 2, j] = qdd if inside else 0.0


class SampledTrajectory:
    """A trajectory that a kernel computes from constants."""

    def __init__(self, kernel: Any, constants: tuple[Any, ...], n: int, duration: float) -> None:
        self.n, self.duration = n, duration
        self._kernel, self._constants = kernel, constants

    def sample(self, t: Any) -> Sample:
        """q, qd, qdd at time t."""
        times = np.array(t, float, ndmin=1)
        out = np.empty((len(times), 3, self.n))
        compiled_call(self._kernel, *self._constants, times, out)
        if isinstance(t, (int, float)) or np.ndim(t) == 0:
            return out[0, 0], out[0, 1], out[0, 2]
        return out[:, 0], out[:, 1], out[:, 2]


def _numbers(name: str, value: Any) -> Floats:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, found {value!r:.80}") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name} is not finite")
    return array


def _vector(name: str, value: Any, n: int | None = None) -> Floats:
    array = np.atleast_1d(_numbers(name, value))
    if n is not None and array.shape == (1,):
        array = np.repeat(array, n)
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise InputError(f"{name} has shape {array.shape}, expected {(n,) if n else '(n,)'}")
    return array


def _duration(value: float) -> float:
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(f"a duration must be a positive number of seconds, found {value}")
    return float(value)


def cycloidal(q0: Any, q1: Any, duration: float) -> Trajectory:
    """From rest at q0 (n,) to rest at q1 (n,): q0 + (q1 - q0) (s - sin(2 pi s) / 2 pi), s = t / duration.

    There is no acceleration at both ends.
    """
    start, seconds = _vector("q0", q0), _duration(duration)
    change = _vector("q1", q1, len(start)) - start
    return SampledTrajectory(_cycloid, (start, change, seconds), len(start), seconds)


def quintic(
    q0: Any, q1: Any, duration: float, v0: Any = 0.0, v1: Any = 0.0, a0: Any = 0.0, a1: Any = 0.0
) -> Trajectory:
    """The polynomial of degree five with given positions, velocities and accelerations at both ends."""
    start = _vector("q0", q0)
    n = len(start)
    ends = [
        [start, _vector("v0", v0, n), _vector("a0", a0, n)],
        [_vector("q1", q1, n), _vector("v1", v1, n), _vector("a1", a1, n)],
    ]
    return _hermite(np.array([0.0, _duration(duration)]), ends)


def through_points(times: Any, positions: Any, velocities: Any = None, accelerations: Any = None) -> Trajectory:
    """A spline through points (m, n) at times (m,), which start at 0.

    Positions alone: a spline of degree five, four times continuously differentiable, at rest and without acceleration
    at both ends. With velocities: cubics between points. With velocities and accelerations: quintics between points.
    """
    t = _vector("times", times)
    m = len(t)
    if m < 2 or t[0] != 0.0 or not (np.diff(t) > 0.0).all():
        raise InputError(f"times must start at 0 and increase over at least two points, found {t.tolist()}")
    tables: dict[str, Floats] = {}
    for name, value in (("positions", positions), ("velocities", velocities), ("accelerations", accelerations)):
        if value is None:
            continue
        table = _numbers(name, value)
        if table.ndim != 2 or len(table) != m or table.shape != tables.get("positions", table).shape:
            raise InputError(f"{name} has shape {table.shape}, expected one row for each of {m} points")
        tables[name] = table
    q = tables["positions"]
    if velocities is None:
        if accelerations is not None:
            raise InputError("accelerations are given without velocities")
        rest = [(1, np.zeros(q.shape[1])), (2, np.zeros(q.shape[1]))]
        spline = make_interp_spline(t, q, k=5, bc_type=(rest, rest))
        # its knots are the points, so the derivatives there say it all
        tables |= {"velocities": spline(t, 1), "accelerations": spline(t, 2)}
    return _hermite(t, [list(point) for point in zip(*tables.values(), strict=True)])


def _hermite(t: Floats, points: list[list[Floats]]) -> Trajectory:
    """Polynomials between points of given derivatives: positions, velocities, ..."""
    pieces = PPoly.from_bernstein_basis(BPoly.from_derivatives(t, points))
    constants = np.array(pieces.x, float), np.array(pieces.c, float, order="C")
    return SampledTrajectory(_piecewise, constants, pieces.c.shape[2], float(pieces.x[-1]))
