"""Compilation of kernels: numba where it is installed, plain Python with the same results where it is not."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

try:
    import numba
except ImportError:  # the kernels are plain Python and run without it, slowly
    numba = None

COMPILED = numba is not None


def _sources() -> str:
    """A digest of the sources of all kernels, and of what generates kernels.

    numba renews a cached kernel when its own file changes, not when a kernel that it calls does; a folder per state of
    all kernels' sources makes stale machine code impossible.
    """
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        text = source.read_bytes()
        if b"jit import" in text or source.name == "jit.py" or source.parent.name == "customised":
            digest.update(text)
    return digest.hexdigest()[:16]


SOURCES = _sources()


def cache_folder() -> Path:
    """Where machine code is kept, and source that is generated: a folder of these sources' own, or the user's."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(chosen)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "dyn_robot" / SOURCES


if numba is not None and not os.environ.get("NUMBA_CACHE_DIR"):
    numba.config.CACHE_DIR = str(cache_folder())


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel on its first call: no Python objects, no GIL held, failures by status code, cached on disk."""
    if numba is None:
        return function
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})(function)


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


def compiled_call(function: Any, *args: Any) -> Any:
    """Call an entry with arguments of the right types, compiling it on first use."""
    if isinstance(function, _Uncompiled):
        return function.function(*args)
    try:
        return function(*args)
    except TypeError:
        if function.overloads:
            raise
    function._can_compile = True
    try:
        return function(*args)
    finally:
        function._can_compile = False
