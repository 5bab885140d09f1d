"""Numbers in lanes: a few states side by side in the processor's vector registers.

To numba, `Lanes` is a number type of its own: LANES floats on which the arithmetic operators, comparisons, min, max,
sin and cos act lane by lane. A kernel that is called with arrays of lanes in place of arrays of floats is compiled once
more, from the same source, and then computes LANES states at a time. A number that meets lanes stands for all of them;
a condition on lanes holds where it holds in all of them. Sines and cosines are polynomials, because a call into the
library would be one call per state.

Where there is no numba there are no lanes, and batches run on the kernels as they are.
"""

from __future__ import annotations

import math
import operator
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, overload, register_model, types
from numba.np.arrayobj import populate_array

from .jit import digest, kernel

LANES = 8
LARGEST_ANGLE = 1e6  # below it a multiple of pi / 2 is taken off exactly

VECTOR = ir.VectorType(ir.DoubleType(), LANES)
BITS = ir.VectorType(ir.IntType(1), LANES)


class Lanes(types.Type):
    """LANES floats."""

    def __init__(self) -> None:
        # kernels of other files are kept on disk by the types of their arguments: machine code made with another
        # version of this file must not be found
        super().__init__(f"Lanes({LANES}, {digest(Path(__file__))})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if isinstance(other, types.Number | Conditions) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if isinstance(other, types.Number) else None


class Conditions(types.Type):
    """LANES truth values."""

    def __init__(self) -> None:
        super().__init__(f"Conditions({LANES})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if isinstance(other, types.Boolean) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if isinstance(other, types.Boolean) else None


lanes, conditions = Lanes(), Conditions()


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


@register_model(Conditions)
class _ConditionsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, BITS)


@lower_cast(types.Number, Lanes)
def _spread(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    """A number in all lanes."""
    return _in_all(builder, context.cast(builder, value, given, types.float64), VECTOR)


@lower_cast(types.Boolean, Conditions)
def _spread_condition(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    """A condition in all lanes."""
    return _in_all(builder, value, BITS)


def _in_all(builder: Any, value: Any, kind: Any) -> Any:
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@lower_cast(Conditions, Lanes)
def _number(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    """1 where a condition holds, else 0."""
    return builder.uitofp(value, VECTOR)


def _operation(function: Any, given: Any, answer: Any, count: int, generate: Any) -> None:
    """Let a function of Python act on lanes or on conditions; other arguments are converted."""

    @infer_global(function)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            fits = len(args) == count and not kws and any(isinstance(arg, Lanes | Conditions) for arg in args)
            if fits and all(arg == given or given.can_convert_from(self.context, arg) for arg in args):
                return signature(answer, *[given] * count)
            return None

    @lower_builtin(function, *[given] * count)
    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return generate(builder, *args)


def _compared(sign: str) -> Any:
    return lambda builder, a, b: builder.fcmp_ordered(sign, a, b)


def _chosen(sign: str) -> Any:
    return lambda builder, a, b: builder.select(builder.fcmp_ordered(sign, a, b), a, b)


def _unequal(builder: Any, a: Any, b: Any) -> Any:
    return builder.fcmp_unordered("!=", a, b)


def _built_in(name: str, number: Any = VECTOR) -> Any:
    """A function that LLVM has for vectors, and for numbers."""

    def generate(builder: Any, value: Any) -> Any:
        kind = ir.FunctionType(number, [number])
        full = f"{name}.v{LANES}f64" if number == VECTOR else f"{name}.f64"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, full), [value])

    return generate


def _first(builder: Any, value: Any) -> Any:
    return builder.fptosi(builder.extract_element(value, ir.IntType(32)(0)), ir.IntType(64))


def _all(builder: Any, value: Any) -> Any:
    bits = builder.bitcast(value, ir.IntType(LANES))
    return builder.icmp_unsigned("==", bits, ir.Constant(ir.IntType(LANES), -1))


def _not_all(builder: Any, value: Any) -> Any:
    return builder.not_(_all(builder, value))


_operation(operator.add, lanes, lanes, 2, ir.IRBuilder.fadd)
_operation(operator.iadd, lanes, lanes, 2, ir.IRBuilder.fadd)
_operation(operator.sub, lanes, lanes, 2, ir.IRBuilder.fsub)
_operation(operator.isub, lanes, lanes, 2, ir.IRBuilder.fsub)
_operation(operator.mul, lanes, lanes, 2, ir.IRBuilder.fmul)
_operation(operator.imul, lanes, lanes, 2, ir.IRBuilder.fmul)
_operation(operator.truediv, lanes, lanes, 2, ir.IRBuilder.fdiv)
_operation(operator.itruediv, lanes, lanes, 2, ir.IRBuilder.fdiv)
_operation(operator.neg, lanes, lanes, 1, ir.IRBuilder.fneg)
_operation(min, lanes, lanes, 2, _chosen("<"))
_operation(max, lanes, lanes, 2, _chosen(">"))
_operation(abs, lanes, lanes, 1, _built_in("llvm.fabs"))
_operation(operator.lt, lanes, conditions, 2, _compared("<"))
_operation(operator.gt, lanes, conditions, 2, _compared(">"))
_operation(operator.eq, lanes, conditions, 2, _compared("=="))
_operation(operator.ne, lanes, conditions, 2, _unequal)
_operation(int, lanes, types.int64, 1, _first)  # of what is the same in all lanes: the row of a parent
_operation(bool, conditions, types.boolean, 1, _all)
_operation(operator.not_, conditions, types.boolean, 1, _not_all)


@intrinsic
def where(_: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Lane by lane `yes` where the condition holds, else `no`; of numbers too."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(*args)

    return yes(condition, yes, yes), generate


@intrinsic
def nearest(_: Any, value: Any) -> Any:
    """The nearest whole number, as a float, of lanes or of a number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _built_in("llvm.rint", args[0].type)(builder, *args)

    return value(value), generate


@intrinsic
def below(_: Any, value: Any) -> Any:
    """The whole number below, as a float, of lanes or of a number."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _built_in("llvm.floor", args[0].type)(builder, *args)

    return value(value), generate


@intrinsic
def lane(_: Any, value: Any, l: Any) -> Any:
    """The number in lane l."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(*args)

    return types.float64(lanes, types.int64), generate


@intrinsic
def with_lane(_: Any, value: Any, l: Any, number: Any) -> Any:
    """The same but for the number in lane l."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[2], args[1])

    return lanes(lanes, types.int64, types.float64), generate


@intrinsic
def in_lanes(_: Any, array: Any) -> Any:
    """An array of floats (..., LANES) that begins at a multiple of 64 bytes, as an array (...) of lanes."""
    kind = types.Array(lanes, array.ndim - 1, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        given = context.make_array(array)(context, builder, args[0])
        made = context.make_array(kind)(context, builder)
        populate_array(
            made,
            data=builder.bitcast(given.data, VECTOR.as_pointer()),
            shape=cgutils.unpack_tuple(builder, given.shape)[:-1],
            strides=cgutils.unpack_tuple(builder, given.strides)[:-1],
            itemsize=context.get_constant(types.intp, 8 * LANES),
            meminfo=given.meminfo,
        )
        return impl_ret_borrowed(context, builder, kind, made._getvalue())

    return kind(array), generate


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
    return (lambda x: sine(x)) if x == lanes else None


@overload(math.cos)
def _cos(x):
    return (lambda x: cosine(x)) if x == lanes else None


@kernel
def empty(size):
    """(size, LANES) floats for `in_lanes`, which begin where a line of the cache does."""
    space = np.empty((size + 1) * LANES)
    offset = -(space.ctypes.data // 8) % LANES
    return space[offset : offset + size * LANES].reshape(size, LANES)


@kernel
def fill(x, rows, first):
    """Put LANES rows (count, k), from `first` on, in the lanes of x (k,)."""
    for j in range(rows.shape[1]):
        value = x[j]
        for l in range(LANES):
            value = with_lane(value, l, rows[first + l, j])
        x[j] = value


@kernel
def drain(x, rows, first):
    """The other way round."""
    for j in range(rows.shape[1]):
        value = x[j]
        for l in range(LANES):
            rows[first + l, j] = lane(value, l)


@kernel
def beyond(x):
    """Whether an angle is too large for `sine`."""
    largest = 0.0
    for j in range(x.shape[0]):
        largest = max(largest, abs(x[j]))
    return not largest < LARGEST_ANGLE
