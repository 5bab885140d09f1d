"""A robot with closed chains on a base that moves freely.

The loops tie links and base to each other, wherever the base is: they close as on a fixed base. With its rates nu and
those of the active joints qd_a, the tree on the floating base moves at

    v = G (nu, qd_a),   vd = G (nud, qdd_a) + (0, g),   G = diag(1, G_loops)

so that tau = G^T tau_tree and A = G^T A_tree G, or with multipliers A_tree vd + H = tau + (0, J)^T lambda.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops import multipliers
from dyn_core.errors import InputError, SingularityError
from dyn_core.mechanism import Mechanism

from ..configuration import Configuration
from ..floating_robot import FloatingRobot
from ..open_robot import Method
from ..robot import Formulation, Robot
from ..tracker import Tracker
from .loop_robot import LoopRobot
from .opened_tree import Closed

FORMULATIONS: tuple[Formulation, ...] = ("projection", "multipliers")
POSE, TWIST = 7, 6


class FloatingLoopRobot(Robot):
    """Closed chains on a floating base, with as many active joints as the loops leave freedoms.

    q (7 + n,), qd, qdd, tau (6 + n,) are those of a FloatingRobot with the active joints only, `joint_names`. Wrenches
    (n of the tree + 1, 6): the base's first. Branches of the loops are as those of a LoopRobot.
    """

    def __init__(self, mechanism: Mechanism, formulation: Formulation = "projection") -> None:
        if mechanism.base is None or not mechanism.loops:
            raise InputError(f"{mechanism.name} has a fixed base or no loops: use LoopRobot or FloatingRobot")
        self.chains = LoopRobot(replace(mechanism, base=None))
        """The same chains on a fixed base."""
        self.tree = FloatingRobot(mechanism)
        """The same mechanism with its loops open."""
        super().__init__(mechanism, self.chains.joints)
        self.formulation = _known(self.name, formulation)

    def __repr__(self) -> str:
        return f"FloatingLoopRobot({self.name!r}, n={self.n} of {self.mechanism.n} joints)"

    def using(self, formulation: Formulation) -> Self:
        """The same robot, computed by another formulation."""
        other = copy.copy(self)
        other.formulation = _known(self.name, formulation)
        return other

    # configurations

    def neutral(self) -> Floats:
        """(nq,) the base at the world's origin, the active joints as described."""
        q = super().neutral()
        q[POSE:] = self.chains.neutral()
        return q

    def starting_at(self, near: Configuration) -> Self:
        """The same robot, its loops on the branch of another closed configuration."""
        other = copy.copy(self)
        other.chains = self.chains.starting_at(near)
        return other

    def configuration(self, q: Any) -> Configuration:
        """The closed configuration at q (nq,)."""
        (q,) = self.single_state({"q": q})
        return self.chains.configuration(q[POSE:])

    def tracker(self, near: Configuration | None = None) -> Tracker:
        """What follows a motion from a closed configuration; from the described one if it is not given."""
        return FloatingLoopTracker(self, near)

    def all_positions(self, q: Any) -> Floats:
        """(n of the tree,) positions of all joints at q (nq,)."""
        return self.configuration(q).q

    def all_joints(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        """Positions and speeds (n of the tree,) of all joints at q (nq,), qd (nv,)."""
        return self.chains.all_joints(q[POSE:], qd[TWIST:])

    def weakest_loop(self, q: Floats) -> str:
        """The loop that determines the passive joints least at positions q (n of the tree,) of all joints."""
        return self.chains.weakest_loop(q)

    # dynamics

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """The wrench that the base needs, and forces of the active joints, for a motion."""

        def one(q: Floats, qd: Floats, qdd: Floats, w: Any) -> Floats:
            full, v, G, at = self._spread(q, qd)
            acceleration = G @ qdd
            acceleration[TWIST:] += at.g
            return self.tree.inverse_dynamics(full, v, acceleration, w) @ G

        return self._over_rows(one, {"q": q, "qd": qd, "qdd": qdd}, wrenches, (self.nv,))

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "matrices") -> Floats:
        """Accelerations of the base and of the active joints; tau (nv,), or (n,) where nothing acts on the base."""
        if method != "matrices":
            raise InputError(f"{self.name} has closed chains: method must be 'matrices', found {method!r}")

        def one(q: Floats, qd: Floats, tau: Floats, w: Any) -> Floats:
            full, v, G, at = self._spread(q, qd)
            A, H = self.tree.mass_matrix(full), self.tree.inverse_dynamics(full, v, 0.0 * v, w)
            if self.formulation == "multipliers":
                return self._by_multipliers(A, H, at, tau)
            g = np.append(np.zeros(TWIST), at.g)
            try:
                return np.asarray(np.linalg.solve(G.T @ A @ G, tau - G.T @ (A @ g + H)))
            except np.linalg.LinAlgError:
                raise SingularityError(f"{self.name}: the mass matrix is singular; a joint moves no inertia") from None

        values = {"q": q, "qd": qd, "tau": self.with_base(tau)}
        return self._over_rows(one, values, wrenches, (self.nv,))

    def _by_multipliers(self, A: Floats, H: Floats, at: Closed, tau: Floats) -> Floats:
        assembly = self.chains.assembly
        _, J, bias = assembly.terms(assembly.all_rows, at.q, at.qd)
        J = np.hstack([np.zeros((len(J), TWIST)), J])
        own = np.append(np.arange(TWIST), TWIST + self.joints)
        forces = np.zeros(len(A))
        forces[own] = tau
        return multipliers.accelerations(A, H, J, bias, forces).qdd[own]

    def mass_matrix(self, q: Any) -> Floats:
        """G^T A_tree G (..., nv, nv)."""

        def one(q: Floats, _: Any) -> Floats:
            full, _, G, _ = self._spread(q, self._zero)
            return G.T @ self.tree.mass_matrix(full) @ G

        return self._over_rows(one, {"q": q}, None, (self.nv, self.nv))

    def with_continuous_friction(self, q: Any, h: float) -> Self:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h near q."""
        _, _, G, at = self._spread(np.asarray(q, float), self._zero)
        elements = self.chains.tree.model.element_jacobian(at.q) @ at.G
        G = np.vstack([G, np.hstack([np.zeros((len(elements), TWIST)), elements])])
        mobility = G @ np.linalg.solve(self.mass_matrix(q), G.T)
        other = copy.copy(self)
        other.tree = self.tree.with_friction_over(h * np.diag(mobility))
        return other

    # kinematics

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the world."""
        return self._over_rows(lambda q, _: self.tree.forward_kinematics(self._full(q), frame), {"q": q}, None, (4, 4))

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, nv) of a frame's origin: rows v, omega in world axes."""

        def one(q: Floats, _: Any) -> Floats:
            full, _, G, _ = self._spread(q, self._zero)
            return self.tree.jacobian(full, frame) @ G

        return self._over_rows(one, {"q": q}, None, (6, self.nv))

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames` in the world."""
        k = len(self.mechanism.frames)
        return self._over_rows(lambda q, _: self.tree.link_poses(self._full(q)), {"q": q}, None, (k, 4, 4))

    # inside

    def _full(self, q: Floats) -> Floats:
        return np.append(q[:POSE], self.chains.all_positions(q[POSE:]))

    def _spread(self, q: Floats, qd: Floats) -> tuple[Floats, Floats, Floats, Closed]:
        """Configuration and velocity of the tree, G (nv of the tree, nv), and how the loops close."""
        at = self.chains.closed(q[POSE:], qd[TWIST:])
        G = np.zeros((TWIST + self.mechanism.n, self.nv))
        G[:TWIST, :TWIST], G[TWIST:, TWIST:] = np.eye(TWIST), at.G
        return np.append(q[:POSE], at.q), np.append(qd[:TWIST], at.qd), G, at

    def _over_rows(
        self, one: Callable[..., Floats], values: dict[str, Any], wrenches: Any, shape: tuple[int, ...]
    ) -> Floats:
        lead, arrays = self.checked_state(values)
        w = None
        if wrenches is not None:
            self.tree.model.wrenches(wrenches, lead)  # whether they are so
            w = np.broadcast_to(wrenches, (*lead, self.mechanism.n + 1, 6)).reshape(-1, self.mechanism.n + 1, 6)
        out = np.empty((*lead, *shape))
        rows, flat = out.reshape(-1, *shape), [each.reshape(-1, each.shape[-1]) for each in arrays]
        for b in range(len(rows)):
            rows[b] = one(*(each[b] for each in flat), None if w is None else w[b])
        return out


class FloatingLoopTracker(Tracker):
    """Holds the last closed configuration of the loops."""

    robot: FloatingLoopRobot

    def __init__(self, robot: FloatingLoopRobot, near: Configuration | None = None) -> None:
        super().__init__(robot)
        self.start(near)

    def start(self, near: Configuration | None = None) -> None:
        self._loops = self.robot.chains.tracker(near)

    def move_to(self, q: Any) -> Configuration:
        (q,) = self.robot.single_state({"q": q})
        return self._loops.move_to(q[POSE:])

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        return self.robot.starting_at(self.move_to(q)).inverse_dynamics(q, qd, qdd, wrenches)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None) -> Floats:
        return self.robot.starting_at(self.move_to(q)).forward_dynamics(q, qd, tau, wrenches)

    def all_joints(self, q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        return self._loops.all_joints(q[POSE:], qd[TWIST:])

    def last(self) -> Floats:
        return self._loops.last()

    def approach(self, q: Floats, qd: Floats) -> tuple[float, float] | None:
        return self._loops.approach(q[POSE:], qd[TWIST:])


def _known(name: str, formulation: Formulation) -> Formulation:
    if formulation not in FORMULATIONS:
        raise InputError(f"{name} has loops on a floating base, computed by {' or '.join(FORMULATIONS)}")
    return formulation
