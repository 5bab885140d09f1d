"""SIMD: a few states side by side in the processor's vector registers.

To numba, `SimdVector` is a number type of its own: LANES floats on which the arithmetic operators, comparisons, min,
max, sin and cos act lane by lane. A kernel that is called with arrays of them in place of arrays of floats is compiled
once more, from the same source, and then computes LANES states at a time. A number that meets a vector stands for all
lanes; a condition on a vector holds where it holds in all of them.

Where there is no numba there is no SIMD, and batches run on the kernels as they are.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, lower_cast, models, register_model, types
from numba.np.arrayobj import populate_array

from .kernel import OPTIONS, kernel

LANES = 8

VECTOR = ir.VectorType(ir.DoubleType(), LANES)
BITS = ir.VectorType(ir.IntType(1), LANES)


class SimdVector(types.Type):
    """LANES floats."""

    def __init__(self) -> None:
        super().__init__(f"SimdVector({LANES})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if isinstance(other, types.Number | SimdMask) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if isinstance(other, types.Number) else None


class SimdMask(types.Type):
    """LANES truth values."""

    def __init__(self) -> None:
        super().__init__(f"SimdMask({LANES})")

    def can_convert_from(self, typingctx: Any, other: Any) -> Any:
        return Conversion.promote if isinstance(other, types.Boolean) else None

    def unify(self, typingctx: Any, other: Any) -> Any:
        return self if isinstance(other, types.Boolean) else None


vector, mask = SimdVector(), SimdMask()


@register_model(SimdVector)
class _VectorModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, VECTOR)


@register_model(SimdMask)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, BITS)


@lower_cast(types.Number, SimdVector)
def _spread(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    """A number in all lanes."""
    return _in_all(builder, context.cast(builder, value, given, types.float64), VECTOR)


@lower_cast(types.Boolean, SimdMask)
def _spread_condition(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    """A condition in all lanes."""
    return _in_all(builder, value, BITS)


def _in_all(builder: Any, value: Any, kind: Any) -> Any:
    nothing = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


@lower_cast(SimdMask, SimdVector)
def _number(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    """1 where a condition holds, else 0."""
    return builder.uitofp(value, VECTOR)


def _operation(function: Any, given: Any, answer: Any, count: int, generate: Any) -> None:
    """Let a function of Python act on vectors or on masks; other arguments are converted."""

    @infer_global(function)
    class Typing(AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            fits = len(args) == count and not kws and any(isinstance(arg, SimdVector | SimdMask) for arg in args)
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


for _name in ("add", "sub", "mul", "truediv"):
    for _function in (getattr(operator, _name), getattr(operator, f"i{_name}")):
        _operation(_function, vector, vector, 2, getattr(ir.IRBuilder, "f" + _name.removeprefix("true")))
_operation(operator.neg, vector, vector, 1, ir.IRBuilder.fneg)
_operation(min, vector, vector, 2, _chosen("<"))
_operation(max, vector, vector, 2, _chosen(">"))
_operation(abs, vector, vector, 1, _built_in("llvm.fabs"))
_operation(operator.lt, vector, mask, 2, _compared("<"))
_operation(operator.gt, vector, mask, 2, _compared(">"))
_operation(operator.eq, vector, mask, 2, _compared("=="))
_operation(operator.ne, vector, mask, 2, _unequal)
_operation(int, vector, types.int64, 1, _first)  # of what is the same in all lanes: the row of a parent
_operation(bool, mask, types.boolean, 1, _all)
_operation(operator.not_, mask, types.boolean, 1, _not_all)


@intrinsic
def where(_: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Lane by lane `yes` where the condition holds, else `no`; of numbers too."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.select(*args)

    return yes(condition, yes, yes), generate


def _rounded(name: str) -> Any:
    """A whole number, as a float, of a vector or of a number."""

    @intrinsic
    def rounded(_: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return _built_in(name, args[0].type)(builder, *args)

        return value(value), generate

    return rounded


nearest, below = _rounded("llvm.rint"), _rounded("llvm.floor")


@intrinsic
def root(_: Any, value: Any) -> Any:
    """The square root of a vector."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _built_in("llvm.sqrt")(builder, *args)

    return value(value), generate


@intrinsic
def lane(_: Any, value: Any, l: Any) -> Any:
    """The number in lane l."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(*args)

    return types.float64(vector, types.int64), generate


@intrinsic
def with_lane(_: Any, value: Any, l: Any, number: Any) -> Any:
    """The same but for the number in lane l."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[2], args[1])

    return vector(vector, types.int64, types.float64), generate


@intrinsic
def in_lanes(_: Any, array: Any) -> Any:
    """An array of floats (..., LANES) that begins at a multiple of 64 bytes, as an array (...) of vectors."""
    kind = types.Array(vector, array.ndim - 1, "C")

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


@kernel
def empty(size):
    """(size, LANES) floats for `in_lanes`, which begin where a line of the cache does."""
    space = np.empty((size + 1) * LANES)
    offset = -(space.ctypes.data // 8) % LANES
    return space[offset : offset + size * LANES].reshape(size, LANES)


@njit(**OPTIONS, no_cpython_wrapper=True)  # Python has no such array
def space(rows):
    """For LANES rows of (count, ...): SIMD vectors in the shape of one, the same (k,), and the rows (count, k)."""
    size = 1
    for k in rows.shape[1:]:
        size *= k
    vectors = in_lanes(empty(size).reshape(*rows.shape[1:], LANES))
    return vectors, vectors.reshape(size), rows.reshape(rows.shape[0], size)


@njit(**OPTIONS, no_cpython_wrapper=True)
def spread(matrix):
    """The SIMD matrix with every number of a matrix in all lanes."""
    wide = in_lanes(empty(matrix.size).reshape(*matrix.shape, LANES))
    for j in range(matrix.shape[0]):
        for k in range(matrix.shape[1]):
            wide[j, k] = matrix[j, k]
    return wide


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
