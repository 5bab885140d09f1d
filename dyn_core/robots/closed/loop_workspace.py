"""Scratch memory of the kernels of closed chains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.closure import Closure


class LoopWorkspace(NamedTuple):
    """Of a tree of n joints, a of which are active; what the kernels of `dynamics.loops` call by these names."""

    record: Floats
    closure: Closure
    vectors: Floats
    """(5, n)."""
    A: Floats
    """(n, n)."""
    A_c: Floats
    """(a, a)."""

    @staticmethod
    def new(record: Floats, closure: Closure) -> LoopWorkspace:
        """A workspace that nobody else has, around a record and a Closure of its own."""
        n, a = closure.G.shape
        return LoopWorkspace(record, closure, np.zeros((5, n)), np.zeros((n, n)), np.zeros((a, a)))
