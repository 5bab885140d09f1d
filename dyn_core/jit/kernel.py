"""Compilation of kernels: numba where it is installed, plain Python with the same results where it is not."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

try:
    import numba
    import scipy.linalg  # noqa: F401 - numba imports it at its first use: better now than in a first call

    from . import cache

    cache.register()
except ImportError:  # the kernels are plain Python and run without it, slowly
    numba = None

COMPILED = numba is not None
SIMD = COMPILED and os.environ.get("DYN_SIMD") != "0"
"""Whether large batches run in vector registers, several states at a time; DYN_SIMD=0 turns that off."""
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}}
"""How every kernel is compiled: no GIL held, no Python exceptions."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel on its first call: no Python objects, no GIL held, failures by status code, cached on disk."""
    return function if numba is None else _compiled(function)


def uncounted(function: Callable[..., Any]) -> Any:
    """A kernel that counts no references to the arrays it is given.

    With a record of many arrays, that counting takes most of the time of a small kernel. Such a kernel can neither
    return an array nor assign one to a slice, for which numba would allocate memory.
    """
    return function if numba is None else _compiled(function, _nrt=False)


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    return numba.njit(cache=True, **OPTIONS, **options)(function)


def part(function: Callable[..., Any], **options: Any) -> Any:
    """A kernel that takes other kernels as arguments: compiled into those that call it, and cached with them."""
    return function if numba is None else numba.njit(**OPTIONS, forceinline=True, **options)(function)


def uncounted_part(function: Callable[..., Any]) -> Any:
    """The same, which counts no references, see `uncounted`."""
    return part(function, _nrt=False)


def argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's arguments."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def generated(text: str, place: Callable[..., Any], names: dict[str, Any]) -> Any:
    """The function that a text defines, over these names, at the place of another function.

    In its file, by whose content machine code is kept, and at its line, where numba reads the source. A closure would
    do as well, but numba could not keep its machine code for the next process.
    """
    code = place.__code__
    exec(compile("\n" * (code.co_firstlineno - 1) + text.lstrip(), code.co_filename, "exec"), names)
    return names[text.split("(")[0].split()[-1]]


def rebound(function: Callable[..., Any], place: Callable[..., Any], **names: Any) -> Any:
    """A function as it is, but with other values of some global names, at the place of another function."""
    code = function.__code__.replace(
        co_filename=place.__code__.co_filename, co_firstlineno=place.__code__.co_firstlineno
    )
    return FunctionType(code, function.__globals__ | names, function.__name__)


def entry(function: Callable[..., Any]) -> Any:
    """A kernel that is called straight from Python with what a user passed.

    It is compiled only through `compiled_call`, with contiguous float64 arrays. For anything else that a user may pass
    (lists, integers, slices) a direct call raises TypeError instead of compiling a variant, which tells the caller to
    convert the arguments; the usual case then pays for no checks in Python.
    """
    if numba is None:
        return _Uncompiled(function)
    compiled = kernel(function)
    compiled._can_compile = False
    return compiled


class _Uncompiled:
    """An entry where there is no numba: a direct call sends every caller through the conversion."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        raise TypeError("not compiled")


def is_compiled(function: Any) -> bool:
    """Whether an entry can be called without compiling (or loading) it first."""
    return isinstance(function, _Uncompiled) or bool(function.overloads)


_COMPILING = threading.RLock()


def compiled_call(function: Any, *args: Any) -> Any:
    """Call an entry with arguments of the right types, compiling it on first use, in one of several threads.

    An array that nobody may write to, such as a configuration's, is of another type for numba: a copy is passed.
    """
    if isinstance(function, _Uncompiled):
        return function.function(*args)
    if function.overloads:
        try:
            return function(*args)
        except TypeError:
            writeable = _writeable(args)
            if all(a is b for a, b in zip(args, writeable, strict=True)):
                raise
            return function(*writeable)
    with _COMPILING:
        function._can_compile = not function.overloads
        try:
            return function(*_writeable(args))
        finally:
            function._can_compile = False


def _writeable(args: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) and not a.flags.writeable else a for a in args]
