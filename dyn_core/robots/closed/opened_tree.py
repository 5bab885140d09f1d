"""The open tree of closed chains at a closed state, and what closes it: multipliers, or virtual springs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops import multipliers, virtual_springs
from dyn_core.dynamics.loops.closure import ERROR
from dyn_core.dynamics.tree.state_kernels import inverse_dynamics
from dyn_core.jit.kernel import compiled_call

from ..tree_robot import TreeRobot
from .loop_assembly import LoopAssembly


class Closed(NamedTuple):
    """A closed configuration and what it does to the tree's n joints."""

    q: Floats
    """(n,) positions of all joints."""
    qd: Floats
    """(n,) their speeds, G qd_a."""
    G: Floats
    """(n, a) their rates per rate of the active joints."""
    g: Floats
    """(n,) their accelerations at qdd_a = 0."""
    distance: float
    """From a singularity: the smallest singular value of the passive joints' Jacobian, with lengths measured in the
    mechanism's characteristic length: 0 where the active joints do not determine the passive ones."""

    @property
    def digits(self) -> float:
        """About how many digits of G, and of all forces and accelerations here, rounding leaves."""
        return float(-np.log10(ERROR / min(self.distance, 1.0) ** 2))


class OpenedTree:
    """A tree at a closed state, under wrenches w (n, 6) in the body frames, or none (0, 6)."""

    def __init__(self, tree: TreeRobot, assembly: LoopAssembly, at: Closed, w: Floats) -> None:
        self.tree, self.assembly, self.at = tree, assembly, at
        _, self.J, self.bias = assembly.terms(assembly.all_rows, at.q, at.qd)
        self._pushed = _pushed(tree, at.q, w)

    def inverse(self, qdd: Floats, by_springs: bool) -> Floats:
        """(a,) active forces for active accelerations qdd (a,)."""
        at, joints = self.at, self.assembly.joints
        forces = self.tree.inverse_dynamics(at.q, at.qd, at.G @ qdd + at.g) - self._pushed
        if by_springs:
            return virtual_springs.inverse(self.J, forces, joints, self.assembly.free)
        unknowns = np.concatenate([np.eye(len(at.q))[:, joints], self.J.T], axis=1)
        return np.asarray(np.linalg.lstsq(unknowns, forces, rcond=1e-12)[0][: len(joints)])

    def multipliers(self, tau: Floats) -> multipliers.Answer:
        """Accelerations of all joints and reactions of the cut ones, under active forces tau (a,)."""
        return multipliers.accelerations(*self._matrices(), self._on_tree(tau))

    def direct(self, tau: Floats, by_springs: bool) -> Floats:
        """(a,) active accelerations under active forces tau (a,)."""
        if by_springs:
            return virtual_springs.direct(*self._matrices(), self._on_tree(tau))[self.assembly.joints]
        return self.multipliers(tau).qdd[self.assembly.joints]

    def _matrices(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Mass matrix (n, n) and bias forces (n,) of the tree, J and bias of all constraints.

        Where links have no mass the first two are those with w J^T (J qdd + bias), which is zero.
        """
        A, H = self.tree.mass_matrix(self.at.q), self.tree.bias_forces(self.at.q, self.at.qd) - self._pushed
        w = multipliers.weight(A, self.J)
        return A + w * self.J.T @ self.J, H + w * self.J.T @ self.bias, self.J, self.bias

    def _on_tree(self, tau: Floats) -> Floats:
        forces = np.zeros(len(self.at.q))
        forces[self.assembly.joints] = tau
        return forces


def _pushed(tree: TreeRobot, q: Floats, w: Floats) -> Floats:
    """(n,) what wrenches do to the tree's joints at q."""
    if len(w) == 0:
        return np.zeros(len(q))
    rest, held = np.zeros((1, len(q))), np.empty((1, len(q)))
    with tree.model.workspaces.one() as record:
        compiled_call(inverse_dynamics.rows, record, q[None], rest, rest, w[None], held)
    return tree.gravity_forces(q) - held[0]
