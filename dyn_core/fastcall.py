"""Kernels that Python calls as it calls its own built-in functions.

numba's dispatcher finds out the type of every argument and unpacks it: about 100 ns for each array, most of the time of
a small robot's dynamics. A fast call is a kernel behind the C signature of a built-in function (METH_FASTCALL): it
looks at the array objects themselves, and makes that of the answer. Where an argument is not a contiguous vector of
float64 of the expected size, or the kernel fails, it answers None; the caller then takes the way that converts, checks
and says what is wrong. The global interpreter lock is held throughout.

Where objects are not laid out as the offsets below say (another Python than CPython, one without the lock, a future
numpy) no fast call is made, and every call takes the other way: slower, with the same results.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from .jit import COMPILED, kept, kernel
from .mechanism import Floats

try:
    from llvmlite import ir
    from numba import carray, cfunc, float64, intp, types
    from numba.extending import intrinsic

    keep = types.ExternalFunction("Py_IncRef", types.void(intp))
    drop = types.ExternalFunction("Py_DecRef", types.void(intp))
except ImportError:  # then nothing is bound, and no kernel of this file is called
    carray = cfunc = float64 = intp = ir = types = keep = drop = None

    def intrinsic(function: Any) -> Any:
        return function


KIND, DATA, DIMENSIONS, SHAPE, DTYPE, FLAGS = 1, 2, 3, 4, 7, 8
"""Words (8 bytes) of an array object: its type, data, number of dimensions (4 bytes), shape, dtype, flags (4 bytes)."""
CONTIGUOUS_AND_ALIGNED = 0x101
LOW_HALF = 0xFFFFFFFF

NONE, ARRAY, FLOAT64, NEW, MODEL, ROWS, COLUMNS, AXES, SIZES, BESIDE = 0, 1, 2, 3, 4, 5, 6, 7, 8, 10
"""Words of the context that a fast call is bound to: addresses of None, of numpy's array type, its float64 and its
PyArray_New; data and shape of the model; number and sizes (2) of the answer's axes; data, rows and columns of further
arrays."""

METH_FASTCALL = 0x0080
PYARRAY_NEW, NPY_DOUBLE = 93, 12  # place in numpy's table of C functions, and its number of float64


def _pointer_to(element: Any) -> Any:
    @intrinsic
    def pointer_to(_: Any, address: Any) -> Any:
        pointer = types.CPointer(element)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            return builder.inttoptr(values[0], context.get_value_type(pointer))

        return pointer(address), generate

    return pointer_to


_word_pointer, _float_pointer = _pointer_to(intp), _pointer_to(float64)


@intrinsic
def _new_array(_: Any, function: Any, array_type: Any, axes: Any, sizes: Any) -> Any:
    """PyArray_New(array_type, axes, sizes, NPY_DOUBLE, NULL, NULL, 0, 0, NULL)."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        word, half = ir.IntType(64), ir.IntType(32)
        kind = ir.FunctionType(word, [word, half, word, half, word, word, half, half, word])
        call = builder.inttoptr(values[0], kind.as_pointer())
        axes = builder.trunc(values[2], half)
        rest = [half(NPY_DOUBLE), word(0), word(0), half(0), half(0), word(0)]
        return builder.call(call, [values[1], axes, values[3], *rest])

    return intp(intp, intp, intp, intp), generate


@kernel
def words(address):
    """The memory at an address as integers."""
    return carray(_word_pointer(address), 16)


@kernel
def vector(array, size):
    """The data of an array object as a vector."""
    return carray(_float_pointer(words(array)[DATA]), size)


@kernel
def matrix(array, rows, columns):
    """The data of an array object as a matrix."""
    return carray(_float_pointer(words(array)[DATA]), (rows, columns))


@kernel
def bound_to(self):
    """The context of a fast call."""
    return words(words(self)[DATA])


@kernel
def model(context):
    """The model that a fast call is bound to."""
    return carray(_float_pointer(context[MODEL]), (context[ROWS], context[COLUMNS]))


@kernel
def beside(context, k):
    """The k-th of the further arrays, a matrix."""
    at = BESIDE + 3 * k
    return carray(_float_pointer(context[at]), (context[at + 1], context[at + 2]))


@kernel
def beside_as(context, k, rows, columns):
    """The same, of a size that the caller knows."""
    return carray(_float_pointer(context[BESIDE + 3 * k]), (rows, columns))


@kernel
def is_vector(context, array, size):
    """Whether an object is a contiguous vector of float64 of that size."""
    w = words(array)
    if w[KIND] != context[ARRAY] or w[DTYPE] != context[FLOAT64]:
        return False
    flags = w[FLAGS] & CONTIGUOUS_AND_ALIGNED
    return w[DIMENSIONS] & LOW_HALF == 1 and flags == CONTIGUOUS_AND_ALIGNED and words(w[SHAPE])[0] == size


@kernel
def are_vectors(context, arrays, first, second, third):
    """Whether the first three objects are vectors of these sizes."""
    return (
        is_vector(context, arrays[0], first)
        and is_vector(context, arrays[1], second)
        and is_vector(context, arrays[2], third)
    )


@kernel
def new_answer(self):
    """An array for the answer, of the shape that a fast call is bound to; 0 and a MemoryError where there is none."""
    context = bound_to(self)
    return _new_array(context[NEW], context[ARRAY], context[AXES], words(self)[DATA] + 8 * SIZES)


@kernel
def no_answer(context):
    """None."""
    keep(context[NONE])
    return context[NONE]


@kernel
def answered(context, array, status):
    """The answer where the status is OK, else None."""
    if status == 0:
        return array
    drop(array)
    return no_answer(context)


if COMPILED:

    @kernel
    def bare(array, shape):
        """An array of float64 as one of a known shape that numba does not count references to.

        Counting is by atomic operations, two for every row that a kernel takes of an array: a fifth of the time of a
        customised robot's step.
        """
        return carray(_float_pointer(array.ctypes.data), shape)

else:

    def bare(array: Any, shape: Any) -> Any:
        return array


def never(*_: Any) -> Any:
    """A fast call that is not there (yet)."""
    return None


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


class FastCall:
    """A kernel with the C signature (self, arguments, their number) -> object; compiled when it is first bound."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__doc__ = function.__doc__
        self._function = function
        self._compiled: Any = None

    def bind(self, record: Floats, shape: tuple[int, ...], *further: Floats) -> Any:
        """The built-in function of a model (its record is also its scratch space) and of further arrays.

        shape: of the answer. Vectors among the further arrays become matrices of one row.
        """
        new = _new_array_function()
        if new is None:
            return never
        if self._compiled is None:
            with kept(self._function):
                self._compiled = cfunc(
                    intp(intp, intp, intp), cache=True, nopython=True, error_model="numpy", fastmath={"contract"}
                )(self._function)
            self._definition = _Definition(b"fast_call", self._compiled.address, METH_FASTCALL, None)
            _BOUND.append(self)
        context = [id(None), id(np.ndarray), id(np.dtype(float)), new, record.ctypes.data, *record.shape]
        context += [len(shape), *(*shape, 0)[:2]]
        for array in map(np.atleast_2d, further):
            context += [array.ctypes.data, *array.shape]
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        # The last argument is what Python takes for the function's module; here it keeps the arrays alive.
        return make(ctypes.addressof(self._definition), np.array(context, np.int64), (record, *further))


_BOUND: list[FastCall] = []  # built-in functions point into them, so they stay


@cache
def _new_array_function() -> int | None:
    """The address of PyArray_New; None where objects are not what the offsets above say, tried on some."""
    if not COMPILED or sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    if sys.byteorder != "little" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    for shape in ((3,), (5,), (2, 4)):
        array = np.zeros(shape)
        w = ctypes.cast(id(array), ctypes.POINTER(ctypes.c_int64))
        found = [w[KIND], w[DATA], w[DIMENSIONS] & LOW_HALF, w[DTYPE], w[FLAGS] & LOW_HALF]
        if found != [id(np.ndarray), array.ctypes.data, len(shape), id(np.dtype(float)), array.flags.num]:
            return None
        sizes = ctypes.cast(w[SHAPE], ctypes.POINTER(ctypes.c_int64))
        if tuple(sizes[k] for k in range(len(shape))) != shape:
            return None
    table = ctypes.pythonapi.PyCapsule_GetPointer
    table.restype, table.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = table(_numpy_functions(), None)
    return int(ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))[PYARRAY_NEW] or 0) or None


def _numpy_functions() -> Any:
    """numpy's table of C functions, in a capsule."""
    module = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    return module._ARRAY_API
