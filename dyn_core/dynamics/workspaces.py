"""Workspaces: the scratch memory of computations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Workspaces:
    """Scratch memory that calls share one after the other, never two at a time.

    A call takes a workspace and gives it back; nothing that a later call reads is left in it. Threads each take their
    own. A copy, or what is read from a pickle, begins with none.
    """

    def __init__(self, new: Callable[[], Any]) -> None:
        self.new = new
        """Makes a workspace that nobody else has."""
        self._free: list[Any] = []

    @contextmanager
    def one(self) -> Iterator[Any]:
        """A workspace for the duration of a `with` block."""
        try:
            workspace = self._free.pop()
        except IndexError:
            workspace = self.new()
        try:
            yield workspace
        finally:
            self._free.append(workspace)

    def __getstate__(self) -> dict[str, Any]:
        return {"new": self.new, "_free": []}
