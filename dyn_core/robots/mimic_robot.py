"""A robot some of whose joints follow others: mimic joints.

With the independent joints q, all joints of the tree are at G q + o (G constant), so that

    tau = G^T tau_tree,   A = G^T A_tree G,   J = J_tree G

where the tree's joints are taken as independent. The couplings are rigid and do no work.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np

from dyn_core.arrays import Bools, Floats
from dyn_core.errors import InputError, SingularityError
from dyn_core.mechanism import Mechanism

from .floating_robot import FloatingRobot
from .open_robot import Method
from .robot import Robot
from .tree_robot import TreeRobot, require_tree


class MimicRobot(Robot):
    """A robot of n independent joints, on a fixed or a floating base.

    q, qd, qdd, tau are those of a TreeRobot or FloatingRobot with the independent joints only, `joint_names`, which are
    the joints `joints` of the mechanism. Wrenches act on every link of the mechanism.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        mimic = mechanism.mimic
        if mimic is None:
            raise InputError(f"{mechanism.name} has independent joints only: use TreeRobot or FloatingRobot")
        super().__init__(mechanism, np.flatnonzero(mimic.leader == np.arange(mechanism.n)))
        self.tree: TreeRobot | FloatingRobot = (
            TreeRobot(self.mechanism) if mechanism.base is None else FloatingRobot(self.mechanism)
        )
        """The same mechanism with all joints taken as independent."""
        self._base = self.nv - self.n
        column = {int(j): k for k, j in enumerate(self.joints)}
        G = np.zeros((mechanism.n, self.n))
        for j in range(mechanism.n):
            G[j, column[int(mimic.leader[j])]] = mimic.multiplier[j]
        self.G = _below_identity(G, self._base)
        """(tree's nv, nv) rates of all joints from those of the independent ones."""
        self._Gq = _below_identity(G, self.nq - self.n)
        self._o = np.concatenate([np.zeros(self.nq - self.n), mimic.offset])
        self._elastic = np.abs(G).T @ mechanism.elastic > 0.0

    def __repr__(self) -> str:
        return f"MimicRobot({self.name!r}, n={self.n} of {self.mechanism.n} joints)"

    def expanded(self, q: Any) -> Floats:
        """Positions (..., tree's nq) of all joints."""
        _, (q,) = self.checked_state({"q": q})
        return self._expand(q)

    def all_positions(self, q: Any) -> Floats:
        """(n of the mechanism,) positions of all its joints, in its order, at q (nq,)."""
        (q,) = self.single_state({"q": q})
        return self._expand(q)[self.nq - self.n :]

    def all_joints(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """Positions and speeds (n of the mechanism,) of all its joints, in its order, at q (nq,), qd (nv,)."""
        return self._expand(q)[self.nq - self.n :], (self.G @ qd)[self._base :]

    # dynamics

    @cached_property
    def driven(self) -> Bools:
        """(n,) which joints have drives; one whose followers have springs moves as the dynamics says."""
        return self.mechanism.active[self.joints] & ~self._elastic

    def driven_forces(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """(n,) forces for accelerations qdd (n,) of the driven joints; elastic ones move as they must."""
        if self.driven.all():
            return self.inverse_dynamics(q, qd, qdd)
        return self.mixed_dynamics(q, qd, qdd)[0]

    @property
    def rubs_elsewhere(self) -> bool:
        """Whether followers rub."""
        m = self.mechanism
        followers = np.setdiff1d(np.arange(m.n), self.joints)
        return bool(m.Fv[followers].any() or m.Fs[followers].any())

    def friction_change(self, q: Floats, qd: Floats, other: Floats) -> Floats:
        """(n,) what friction of all joints at other speeds (n,) asks for beyond that at speeds qd (n,)."""
        m, G = self.mechanism, self.G[self._base :, self._base :]
        wanted, met = G @ other, G @ qd
        return G.T @ (m.Fv * (wanted - met) + m.Fs * (np.sign(wanted) - np.sign(met)))

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """Forces at the base (if it floats) and at the independent joints for a motion."""
        _, (q, qd, qdd) = self.checked_state({"q": q, "qd": qd, "qdd": qdd})
        return self.tree.inverse_dynamics(self._expand(q), qd @ self.G.T, qdd @ self.G.T, wrenches) @ self.G

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "matrices") -> Floats:
        """Accelerations by A and H; the recursion over articulated bodies does not hold for coupled joints."""
        if method != "matrices":
            raise InputError(f"{self.name} has coupled joints: method must be 'matrices', found {method!r}")
        _, (q, qd, tau) = self.checked_state({"q": q, "qd": qd, "tau": self.with_base(tau)})
        H = self.inverse_dynamics(q, qd, self._zero, wrenches)
        return self._solve(self.mass_matrix(q), tau - H)

    def mixed_dynamics(self, q: Any, qd: Any, qdd: Any, tau: Any = None, wrenches: Any = None) -> tuple[Floats, Floats]:
        """As `OpenRobot.mixed_dynamics` by the partition (71); a joint is elastic if it or a follower has a spring."""
        values = {"q": q, "qd": qd, "tau": self._zero if tau is None else self.with_base(tau), "qdd": qdd}
        _, (q, qd, tau, qdd) = self.checked_state(values)
        qdd = qdd.copy()
        free = np.concatenate([np.ones(self._base, bool), self._elastic])
        A, H = self.mass_matrix(q), self.inverse_dynamics(q, qd, np.where(free, 0.0, qdd), wrenches)
        if free.any():
            qdd[..., free] = self._solve(A[..., free, :][..., free], (tau - H)[..., free])
        forces = self.inverse_dynamics(q, qd, qdd, wrenches)
        return np.where(free, tau, forces), qdd

    def base_motion(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> tuple[Floats, Floats]:
        """As `FloatingRobot.base_motion`, with the accelerations and forces of the independent joints."""
        if self._base == 0:
            raise InputError(f"{self.name} has a fixed base, which does not move")
        tau, found = self.mixed_dynamics(q, qd, self.with_base(qdd), wrenches=wrenches)
        return found[..., :6], tau[..., 6:]

    def mass_matrix(self, q: Any) -> Floats:
        """G^T A_tree G (..., nv, nv)."""
        return self.G.T @ self.tree.mass_matrix(self.expanded(q)) @ self.G

    def with_continuous_friction(self, q: Any, h: float) -> MimicRobot:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h near q."""
        mobility = self.G @ self._solve(self.mass_matrix(q), self.G.T)
        other = copy.copy(self)
        other.tree = self.tree.with_friction_over(h * np.diag(mobility))
        return other

    def regressor(self, q: Any, qd: Any, qdd: Any) -> Floats:
        """Y (..., n, 13 x joints of the mechanism) on a fixed base: G^T times the tree's."""
        tree = require_tree(self.tree, "a regressor")
        _, (q, qd, qdd) = self.checked_state({"q": q, "qd": qd, "qdd": qdd})
        return self.G.T @ tree.regressor(self._expand(q), qd @ self.G.T, qdd @ self.G.T)

    # kinematics

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame (in the world, on a floating base)."""
        return self.tree.forward_kinematics(self.expanded(q), frame)

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, nv) of a frame's origin: rows v, omega."""
        return self.tree.jacobian(self.expanded(q), frame) @ self.G

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames`."""
        return self.tree.link_poses(self.expanded(q))

    def integrate(self, q: Any, qd: Any, time: float = 1.0) -> Floats:
        """The configuration reached from q when the velocity qd (constant in the base's axes) lasts for a time."""
        _, (q, qd) = self.checked_state({"q": q, "qd": qd})
        if isinstance(self.tree, FloatingRobot):
            return self._reduced(self.tree.integrate(self._expand(q), qd @ self.G.T, time))
        return q + float(time) * qd

    # inside

    def _expand(self, q: Floats) -> Floats:
        return q @ self._Gq.T + self._o

    def _reduced(self, q: Floats) -> Floats:
        first = self.nq - self.n
        return np.concatenate([q[..., :first], q[..., first + self.joints]], axis=-1)

    def _solve(self, A: Floats, b: Floats) -> Floats:
        """A^-1 b, b a matrix or a batch of vectors with the leading axes of A."""
        try:
            return np.linalg.solve(A, b) if b.ndim == A.ndim else np.linalg.solve(A, b[..., None])[..., 0]
        except np.linalg.LinAlgError:
            raise SingularityError(
                f"{self.name}: the mass matrix is singular; a joint moves no inertia at all"
            ) from None


def _below_identity(G: Floats, size: int) -> Floats:
    """[[1, 0], [0, G]]."""
    out = np.zeros((size + G.shape[0], size + G.shape[1]))
    out[:size, :size] = np.eye(size)
    out[size:, size:] = G
    return out
