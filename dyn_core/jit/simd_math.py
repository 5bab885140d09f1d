"""Sine and cosine of SIMD vectors, as polynomials: a call into the library would be one call per state."""

from __future__ import annotations

import math

from numba.extending import overload

from .kernel import kernel
from .simd import LANES, below, lane, nearest, root, vector, where, with_lane

LARGEST_ANGLE = 1e6  # below it a multiple of pi / 2 is taken off exactly

# pi / 2 in three parts, the first two of 33 bits (as in fdlibm's e_rem_pio2.c)
P1, P2, P3 = 1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624879595063154e-21


@kernel
def _quarter(x):
    """(r, k): x = r + k pi / 2 with |r| <= pi / 4."""
    k = nearest(x * 0.6366197723675814)
    return ((x - k * P1) - k * P2) - k * P3, k


@kernel
def _sine(r):
    """sin r for |r| <= pi / 4; coefficients of the Cephes library (S. L. Moshier, sin.c)."""
    z = r * r
    p = 1.58962301576546568060e-10
    p = p * z - 2.50507477628578072866e-8
    p = p * z + 2.75573136213857245213e-6
    p = p * z - 1.98412698295895385996e-4
    p = p * z + 8.33333333332211858878e-3
    p = p * z - 1.66666666666666307295e-1
    return r + r * z * p


@kernel
def _cosine(r):
    """cos r for |r| <= pi / 4; coefficients of the Cephes library."""
    z = r * r
    p = -1.13585365213876817300e-11
    p = p * z + 2.08757008419747316778e-9
    p = p * z - 2.75573141792967388112e-7
    p = p * z + 2.48015872888517045348e-5
    p = p * z - 1.38888888888730564116e-3
    p = p * z + 4.16666666666665929218e-2
    return 1.0 - 0.5 * z + z * z * p


@kernel
def _turn(k):
    """(1 where k is odd, -1 where its half rounded down is odd): which function, and its sign, in quarter turn k."""
    half = below(0.5 * k)
    return k - 2.0 * half, 1.0 - 2.0 * (half - 2.0 * below(0.5 * half))


@kernel
def sine(x):
    """sin x for |x| < LARGEST_ANGLE."""
    r, k = _quarter(x)
    odd, sign = _turn(k)
    return sign * where(odd > 0.0, _cosine(r), _sine(r))


@kernel
def cosine(x):
    """cos x for |x| < LARGEST_ANGLE."""
    r, k = _quarter(x)
    odd, sign = _turn(k)
    return sign * where(odd > 0.0, -_sine(r), _cosine(r))


@kernel
def any_sine(x):
    """sin x of any number; compiled into its caller, which saves a call into the library where |x| < LARGEST_ANGLE."""
    return sine(x) if abs(x) < LARGEST_ANGLE else math.sin(x)


@kernel
def any_cosine(x):
    """cos x, likewise."""
    return cosine(x) if abs(x) < LARGEST_ANGLE else math.cos(x)


@overload(math.sin)
def _sin(x):
    return (lambda x: sine(x)) if x == vector else None


@overload(math.cos)
def _cos(x):
    return (lambda x: cosine(x)) if x == vector else None


@overload(math.sqrt)
def _sqrt(x):
    return (lambda x: root(x)) if x == vector else None


@kernel
def _angles(y, x):
    out = y
    for l in range(LANES):
        out = with_lane(out, l, math.atan2(lane(y, l), lane(x, l)))
    return out


@overload(math.atan2)
def _atan2(y, x):
    return (lambda y, x: _angles(y, x)) if y == vector else None


@kernel
def beyond(x):
    """Whether an angle is too large for `sine`."""
    largest = 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j]))
    return not largest < LARGEST_ANGLE
