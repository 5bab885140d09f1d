"""Joint trajectories: position, velocity and acceleration as functions of time."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.interpolate import BPoly, PPoly, make_interp_spline

from .errors import InputError
from .mechanism import Floats

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


class Cycloid:
    """q0 + (q1 - q0) (s - sin(2 pi s) / 2 pi), s = t / duration: at rest, without acceleration, at both ends."""

    def __init__(self, q0: Floats, q1: Floats, duration: float) -> None:
        self.n = len(q0)
        self.duration = duration
        self._q0 = q0
        self._change = q1 - q0

    def sample(self, t: Any) -> Sample:
        """q, qd, qdd at time t."""
        s = np.clip(np.asarray(t, float) / self.duration, 0.0, 1.0)[..., None]
        angle = 2.0 * np.pi * s
        rate = self._change / self.duration
        q = self._q0 + self._change * (s - np.sin(angle) / (2.0 * np.pi))
        return q, rate * (1.0 - np.cos(angle)), rate * (2.0 * np.pi / self.duration) * np.sin(angle)


class PiecewisePolynomial:
    """A polynomial between each two knots."""

    def __init__(self, polynomial: PPoly) -> None:
        self.n = polynomial.c.shape[2]
        self.duration = float(polynomial.x[-1])
        self._knots = polynomial.x
        self._q = polynomial
        self._qd = polynomial.derivative(1)
        self._qdd = polynomial.derivative(2)

    def sample(self, t: Any) -> Sample:
        """q, qd, qdd at time t."""
        t = np.asarray(t, float)
        inside = np.clip(t, 0.0, self.duration)
        outside = (t != inside)[..., None]
        q, qd, qdd = self._q(inside), self._qd(inside), self._qdd(inside)
        return q, np.where(outside, 0.0, qd), np.where(outside, 0.0, qdd)


def _vector(name: str, value: Any, n: int | None = None) -> Floats:
    try:
        array = np.atleast_1d(np.asarray(value, float))
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, found {value!r:.80}") from None
    if n is not None and array.shape == (1,):
        array = np.repeat(array, n)
    if array.ndim != 1 or (n is not None and len(array) != n):
        raise InputError(f"{name} has shape {array.shape}, expected {(n,) if n else '(n,)'}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} is not finite")
    return array


def _duration(value: float) -> float:
    if not (np.isfinite(value) and value > 0.0):
        raise InputError(f"a duration must be a positive number of seconds, found {value}")
    return float(value)


def cycloidal(q0: Any, q1: Any, duration: float) -> Trajectory:
    """From rest at q0 (n,) to rest at q1 (n,) along a cycloid."""
    start = _vector("q0", q0)
    return Cycloid(start, _vector("q1", q1, len(start)), _duration(duration))


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
        try:
            table = np.asarray(value, float)
        except (TypeError, ValueError):
            raise InputError(f"{name} must be a table of numbers") from None
        if table.ndim != 2 or len(table) != m or table.shape != tables.get("positions", table).shape:
            raise InputError(f"{name} has shape {table.shape}, expected one row for each of {m} points")
        if not np.isfinite(table).all():
            raise InputError(f"{name} is not finite")
        tables[name] = table
    q = tables["positions"]
    if velocities is None:
        if accelerations is not None:
            raise InputError("accelerations are given without velocities")
        rest = [(1, np.zeros(q.shape[1])), (2, np.zeros(q.shape[1]))]
        spline = make_interp_spline(t, q, k=5, bc_type=(rest, rest))
        return PiecewisePolynomial(PPoly.from_spline(spline))
    return _hermite(t, [list(point) for point in zip(*tables.values(), strict=True)])


def _hermite(t: Floats, points: list[list[Floats]]) -> Trajectory:
    return PiecewisePolynomial(PPoly.from_bernstein_basis(BPoly.from_derivatives(t, points)))
