"""Kernels that Python calls as it calls its own built-in functions.

numba's dispatcher finds out the type of every argument and unpacks it: about 100 ns for each array, most of the time of
a small robot's dynamics. A native call is a kernel behind the C signature of a built-in function (METH_FASTCALL): it
looks at the array objects themselves, and makes that of the answer. Where an argument is not a contiguous vector of
float64 of the expected size, or the kernel fails, it answers None; the caller then takes the way that converts, checks
and says what is wrong. The global interpreter lock is held throughout.

Where objects are not laid out as the offsets below say (another Python than CPython, one without the lock, a future
numpy), and where DYN_NATIVE_CALLS=0 is set, no native call is made, and every call takes the other way: slower, with
the same results.
"""

from __future__ import annotations

import ctypes
import os
import sys
import sysconfig
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from dyn_core.arrays import Floats

from .kernel import COMPILED, argument_names, generated, kernel, part

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

NONE, ARRAY, FLOAT64, NEW, AXES, SIZES, GIVEN, BOUND = 0, 1, 2, 3, 4, 5, 7, 12
"""Words of the context that a native call is bound to: addresses of None, of numpy's array type, its float64 and its
PyArray_New; number and sizes (2) of the answer's axes; sizes (5) of the given vectors; data, rows and columns of the
arrays that it is bound to."""

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
    """The context of a native call."""
    return words(words(self)[DATA])


@kernel
def bound(context, k):
    """The k-th of the arrays that a native call is bound to, a matrix."""
    at = BOUND + 3 * k
    return carray(_float_pointer(context[at]), (context[at + 1], context[at + 2]))


@kernel
def is_vector(context, array, size):
    """Whether an object is a contiguous vector of float64 of that size."""
    w = words(array)
    if w[KIND] != context[ARRAY] or w[DTYPE] != context[FLOAT64]:
        return False
    flags = w[FLAGS] & CONTIGUOUS_AND_ALIGNED
    return w[DIMENSIONS] & LOW_HALF == 1 and flags == CONTIGUOUS_AND_ALIGNED and words(w[SHAPE])[0] == size


@kernel
def new_answer(self):
    """An array for the answer, of the shape that a native call is bound to; 0 and a MemoryError where there is none."""
    context = bound_to(self)
    return _new_array(context[NEW], context[ARRAY], context[AXES], words(self)[DATA] + 8 * SIZES)


@kernel
def kept(array):
    """An object, held once more."""
    keep(array)
    return array


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
    """A native call that is not there (yet)."""
    return None


class _Definition(ctypes.Structure):
    """PyMethodDef of CPython."""

    _fields_ = (("name", ctypes.c_char_p), ("call", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


SOURCE = """
def native_{name}(self, arguments, count):
    context, a = bound_to(self), words(arguments)
    if count != {count} or not ({checks}):
        return no_answer(context)
    answer = {new}
    if answer == 0:
        return answer
    return answered(context, answer, function({views}))
"""


class NativeCall:
    """What makes native calls of function(record, *further arrays, *given vectors, answer) -> status; a decorator.

    Where no shape of an answer is given there is none: the first vector itself is handed back, None where it fails. An
    argument `wrenches` is no vector: a native call has no wrenches.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.__doc__ = function.__doc__
        self.function = function
        self.compiled: Any = None
        """The C function; None before the first `bind`."""

    @cached_property
    def inlined(self) -> Any:
        """The kernel, to be compiled into what is made of it."""
        return part(self.function)

    def bind(self, record: Floats, given: tuple[int, ...], shape: tuple[int, ...], *further: Any) -> Any:
        """The built-in function of a model (its record is also its scratch space) and of further arrays.

        given: sizes of the one to five vectors; shape: of the answer. A named tuple of arrays is one further argument.
        """
        if not NATIVE_CALLS:
            return never
        if self.compiled is None:
            self._compile(len(given), len(shape), (record, *further))
        context = [id(None), id(np.ndarray), id(np.dtype(float)), NEW_ARRAY]
        context += [len(shape), *(*shape, 0, 0)[:2], *(*given, 0, 0, 0, 0)[:5]]
        arrays = [each for one in (record, *further) for each in (one if isinstance(one, tuple) else (one,))]
        for array in map(np.atleast_2d, arrays):
            context += [array.ctypes.data, *array.shape]
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.py_object, ctypes.py_object)
        # The last argument is what Python takes for the function's module; here it keeps the arrays alive.
        return make(ctypes.addressof(self._definition), np.array(context, np.int64), tuple(arrays))

    def _compile(self, count: int, axes: int, memory: tuple[Any, ...]) -> None:
        names = globals() | {"function": self.inlined}
        views, k = [], 0
        for one in memory:
            arrays = one if isinstance(one, tuple) else (one,)
            parts = [f"bound(context, {k + i})" + "[0]" * (array.ndim == 1) for i, array in enumerate(arrays)]
            k += len(arrays)
            names[type(one).__name__] = type(one)
            views.append(f"{type(one).__name__}({', '.join(parts)})" if isinstance(one, tuple) else parts[0])
        views += [f"vector(a[{i}], context[{GIVEN + i}])" for i in range(count)]
        views += [[], ["vector(answer, context[SIZES])"], ["matrix(answer, context[SIZES], context[SIZES + 1])"]][axes]
        if "wrenches" in (arguments := argument_names(self.function)):
            views.insert(arguments.index("wrenches"), "bound(context, 0)[:0]")
        text = SOURCE.format(
            name=self.function.__name__,
            count=count,
            checks=" and ".join(f"is_vector(context, a[{i}], context[{GIVEN + i}])" for i in range(count)),
            new="new_answer(self)" if axes else "kept(a[0])",
            views=", ".join(views),
        )
        options = {"cache": True, "nopython": True, "error_model": "numpy", "fastmath": {"contract"}}
        self.compiled = cfunc(intp(intp, intp, intp), **options)(generated(text, self.function, names))
        self._definition = _Definition(b"native_call", self.compiled.address, METH_FASTCALL, None)
        _BOUND.append(self)


_BOUND: list[NativeCall] = []  # built-in functions point into them, so they stay


class native:
    """A native call of the objects of a class: decorates the method that binds it to the memory of one object.

    Until it is bound, by `Natives.first_call`, it answers None.
    """

    unbound: Callable[[], Any] = staticmethod(lambda: never)

    def __init__(self, bind: Callable[..., Any]) -> None:
        self.bind = bind

    def __set_name__(self, owner: type[Natives], name: str) -> None:
        owner.natives = owner.natives | {name: self}
        delattr(owner, name)  # Python looks up faster what only the object has

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Never called: for type checkers."""


class native_by_frame(native):
    """The same with a call for each of several frames, in a dictionary."""

    unbound = dict


class Natives:
    """A class that declares native calls. They are bound to the memory of one object: a copy binds its own."""

    natives: ClassVar[dict[str, native]] = {}

    def __init__(self) -> None:
        for name, call in self._unbound().items():
            setattr(self, name, call)

    def _unbound(self) -> dict[str, Any]:
        return {name: declared.unbound() for name, declared in self.natives.items()}

    def first_call(self, name: str, *arguments: Any, frame: str | None = None) -> Any:
        """What a native call answers, which is bound now if it is not yet."""
        declared = self.natives[name]
        if frame is None:
            if getattr(self, name) is never:
                setattr(self, name, declared.bind(self))
            return getattr(self, name)(*arguments)
        calls = getattr(self, name)
        if frame not in calls:
            calls[frame] = declared.bind(self, frame)
        return calls[frame](*arguments)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | self._unbound()


def _new_array_function() -> int:
    """The address of PyArray_New; 0 where objects are not what the offsets above say, tried on some."""
    if not COMPILED or os.environ.get("DYN_NATIVE_CALLS") == "0":
        return 0
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return 0
    if sys.byteorder != "little" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return 0
    for shape in ((3,), (5,), (2, 4)):
        array = np.zeros(shape)
        w = ctypes.cast(id(array), ctypes.POINTER(ctypes.c_int64))
        found = [w[KIND], w[DATA], w[DIMENSIONS] & LOW_HALF, w[DTYPE], w[FLAGS] & LOW_HALF]
        if found != [id(np.ndarray), array.ctypes.data, len(shape), id(np.dtype(float)), array.flags.num]:
            return 0
        sizes = ctypes.cast(w[SHAPE], ctypes.POINTER(ctypes.c_int64))
        if tuple(sizes[k] for k in range(len(shape))) != shape:
            return 0
    table = ctypes.pythonapi.PyCapsule_GetPointer
    table.restype, table.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    functions = table(_numpy_functions(), None)
    return int(ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))[PYARRAY_NEW] or 0)


def _numpy_functions() -> Any:
    """numpy's table of C functions, in a capsule."""
    module = sys.modules.get("numpy._core._multiarray_umath") or sys.modules["numpy.core._multiarray_umath"]
    return module._ARRAY_API


NEW_ARRAY = _new_array_function()
NATIVE_CALLS = NEW_ARRAY != 0
"""Whether native calls are made."""
