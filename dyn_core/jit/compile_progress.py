"""How far compiling has come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .kernel import COMPILED


@contextmanager
def compile_progress(show: Callable[[int, int], None]) -> Iterator[None]:
    """In the block, show(ready, needed) is called whenever a kernel was compiled.

    needed: the kernels that the calls so far lead to, themselves and those that they call in turn.
    """
    if not COMPILED:
        yield
        return
    from numba.core import event

    needed: dict[Any, None] = {}

    class Listener(event.Listener):  # type: ignore[misc]
        def on_start(self, happened: Any) -> None:
            _add_reached(happened.data["dispatcher"], needed)

        def on_end(self, happened: Any) -> None:
            show(sum(bool(kernel.overloads) for kernel in needed), len(needed))

    with event.install_listener("numba:compile", Listener()):
        yield


def _add_reached(kernel: Any, found: dict[Any, None]) -> None:
    """Add a kernel and all kernels that its code names, one through another."""
    if kernel in found:
        return
    found[kernel] = None
    names = kernel.py_func.__globals__
    for name in kernel.py_func.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            _add_reached(names[name], found)
