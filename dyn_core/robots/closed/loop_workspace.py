"""Scratch memory of the kernels of closed chains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree.model import TreeModel


class LoopWorkspace(NamedTuple):
    """Of a tree of n joints, a of which are active; what the kernels of `dynamics.loops` call by these names."""

    record: Floats
    q: Floats
    """(n,) a closed configuration."""
    vectors: Floats
    """(6, n)."""
    G: Floats
    """(n, a)."""
    work: Floats
    A: Floats
    """(n, n)."""
    A_c: Floats
    """(a, a)."""

    @staticmethod
    def new(model: TreeModel, a: int) -> LoopWorkspace:
        """A workspace for a tree with a active joints."""
        n = model.mechanism.n
        p = n - a
        return LoopWorkspace(
            model.workspaces.new(), np.zeros(n), np.zeros((6, n)), np.zeros((n, a)),
            np.zeros((4 + 2 * p, max(n, p))), np.zeros((n, n)), np.zeros((a, a)),
        )  # fmt: skip
