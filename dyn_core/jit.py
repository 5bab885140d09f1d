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


def _cache_folder() -> Path:
    """A cache folder that belongs to exactly these sources.

    numba renews a cached kernel when its own file changes, not when a kernel that it calls does; a folder per state of
    all sources makes stale machine code impossible.
    """
    root = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        digest.update(source.read_bytes())
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "dyn_robot" / digest.hexdigest()[:16]


if numba is not None and not os.environ.get("NUMBA_CACHE_DIR"):
    numba.config.CACHE_DIR = str(_cache_folder())


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel: no Python objects, no GIL held, errors by status code, cached on disk."""
    if numba is None:
        return function
    return numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "nsz"})(function)
