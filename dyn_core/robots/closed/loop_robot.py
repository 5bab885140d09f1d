"""A robot with closed chains, in its active joints."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, wraps
from typing import Any, NoReturn, Self, TypeVar

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops import projection
from dyn_core.dynamics.loops.closure import CLOSED, SMALLEST_DISTANCE, Branch, close, stand_at
from dyn_core.dynamics.loops.constraint_solver import LoopState, loop_state
from dyn_core.dynamics.loops.denoc import Denoc
from dyn_core.dynamics.loops.multipliers import positive_definite, weight
from dyn_core.dynamics.tree.batch import run_batch
from dyn_core.dynamics.tree.integrators import RUNGE_KUTTA
from dyn_core.dynamics.workspaces import Workspaces
from dyn_core.errors import ClosureError, InputError, SingularityError
from dyn_core.jit.kernel import compiled_call
from dyn_core.jit.native_call import native, never
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.mechanism import REVOLUTE, Mechanism
from dyn_core.stiffness import Deflection, Stiffness

from ..configuration import Configuration
from ..engine import Engine
from ..open_robot import Method
from ..robot import Formulation, Robot, checked_wrench, known_formulation
from ..tree_robot import TreeRobot
from .loop_assembly import LoopAssembly, numbers_text
from .loop_engine import LoopEngine
from .loop_tracker import LoopTracker
from .loop_workspace import LoopWorkspace
from .opened_tree import Closed, OpenedTree

T = TypeVar("T")
SAME = 1e-6  # rad, m or sizes: two configurations that near are one


def by_branch(method: Callable[..., T]) -> Callable[..., T]:
    """The method with an argument `near`: a closed configuration, from which the branch is followed to q."""

    @wraps(method)
    def answer(self: LoopRobot, *arguments: Any, near: Configuration | None = None, **options: Any) -> T:
        return method(self if near is None else self.starting_at(near), *arguments, **options)

    return answer


class LoopRobot(Robot):
    """A robot whose chains close, with as many active joints as it has freedoms, less those that springs hold.

    q, qd, qdd, tau (..., n) are those of the active joints, `joint_names`; where springs hold the rest of the freedoms,
    joints of these too, which have no drive. Where these leave several ways of assembly,
    the one is meant that the described configuration leads to as the active joints go the straight way from there; or
    the one that a configuration `near` leads to, where a method is given one. Nothing is remembered from one call to
    the next: whoever follows a motion uses a `tracker`. Wrenches act on every link of the tree.
    """

    def __init__(self, mechanism: Mechanism, formulation: Formulation = "projection") -> None:
        if not mechanism.loops:
            raise InputError(f"{mechanism.name} has no loops: use TreeRobot")
        if mechanism.base is not None:
            raise InputError(f"{mechanism.name} has a floating base: use FloatingLoopRobot")
        self.tree = TreeRobot(mechanism)
        """The same mechanism with its loops open."""
        self.assembly = self._assemble()
        """How the loops close."""
        super().__init__(self.tree.mechanism, self.assembly.joints)
        self.formulation = known_formulation(formulation)
        self.branch = self.assembly.described
        """The closed configuration that all others are looked for from; nobody writes to it."""
        self._through = False
        self.workspaces = self._workspaces()

    def _workspaces(self) -> Workspaces:
        return Workspaces(self._workspace)

    def _workspace(self) -> LoopWorkspace:
        return LoopWorkspace.new(self.tree.model.workspaces.new(), self.assembly.closure())

    def _assemble(self) -> LoopAssembly:
        return LoopAssembly(self.tree.model)

    def __repr__(self) -> str:
        return f"LoopRobot({self.name!r}, n={self.n} of {self.mechanism.n} joints, {len(self.mechanism.loops)} loops)"

    def using(self, formulation: Formulation) -> Self:
        """The same robot, computed by another formulation."""
        other = copy.copy(self)
        other.formulation = known_formulation(formulation)
        if formulation == "denoc":
            other.denoc  # noqa: B018 - a mechanism that is not legs shows here
        return other

    @cached_property
    def denoc(self) -> Denoc:
        """The legs, and their dynamics by the decoupled natural orthogonal complement."""
        coordinates = np.isin(np.arange(self.mechanism.n), self.joints)
        return Denoc(replace(self.mechanism, active=coordinates))

    @property
    def reference(self) -> Floats:
        """(n of the tree,) the closed configuration that stands for the assembly mode."""
        return self.assembly.reference

    def neutral(self) -> Floats:
        """(n,) the active joints of the described configuration."""
        return self.reference[self.joints].copy()

    # closure

    @property
    def redundant_constraints(self) -> int:
        """How many of the cut joints' constraints follow from the others."""
        return len(self.assembly.all_rows) - len(self.assembly.free)

    def through_singularities(self) -> Self:
        """The same robot by multipliers, whose simulated motion goes on where the active joints do not determine it."""
        other = self.using("multipliers")
        other._through = True
        return other

    def starting_at(self, near: Configuration) -> Self:
        """The same robot, on the branch of another closed configuration: others are looked for from there."""
        other = copy.copy(self)
        other.branch = self.assembly.branch(near)
        return other

    @by_branch
    def configuration(self, q: Any) -> Configuration:
        """The closed configuration at active positions q (n,)."""
        (q_a,) = self.single_state({"q": q})
        return self.follow(q_a, self.own_start())

    def own_start(self) -> Any:
        """What `follow` starts from, for the caller to keep."""
        return Branch(*(each.copy() for each in self.branch))

    @by_branch
    def leads_to(self, at: Configuration) -> bool:
        """Whether the active positions alone lead to a configuration, from the described one or one `near`."""
        try:
            found = self.configuration(at.q[self.joints])
        except (SingularityError, ClosureError):
            return False
        if found.pose is not None and at.pose is not None:
            turned = 1.0 - abs(float(found.pose[3:] @ at.pose[3:]))
            return bool(np.abs(found.pose[:3] - at.pose[:3]).max() < SAME * self.assembly.size and turned < SAME**2)
        off = found.q - at.q
        turns = self.mechanism.joint_type == REVOLUTE
        off[turns] = np.arctan2(np.sin(off[turns]), np.cos(off[turns]))
        return bool(np.abs(off).max() < SAME)

    def positions_of(self, start: Any) -> Floats:
        """(n of the tree,) positions of all joints in what `follow` starts from."""
        return np.array(start.q)

    def tracker(self, near: Configuration | None = None) -> LoopTracker:
        """What follows a motion from a closed configuration; from the described one if it is not given."""
        return LoopTracker(self, near)

    @by_branch
    def closed(self, q: Any, qd: Any = None) -> Closed:
        """All joints at active positions q (n,) and speeds qd (n,)."""
        q_a, qd_a = self.single_state({"q": q, "qd": self._zero if qd is None else qd})
        full = self._full(q_a)
        speeds, G, g = self._rates(full, qd_a)
        return Closed(full, speeds, G, g, self.assembly.distance(full))

    @by_branch
    def all_joints(self, q: Any, qd: Any) -> tuple[Floats, Floats]:
        """Positions and speeds (n of the tree,) of all joints at active positions and speeds q, qd (n,)."""
        q_a, qd_a = self.single_state({"q": q, "qd": qd})
        return self.joints_at(self.configuration(q_a), qd_a)

    def joints_at(self, at: Configuration, qd: Floats) -> tuple[Floats, Floats]:
        """The same at a closed configuration."""
        return at.q, self._rates(at.q.copy(), qd)[0]

    @by_branch
    def all_positions(self, q: Any) -> Floats:
        """(n of the tree,) positions of all joints at active positions q (n,)."""
        (q_a,) = self.single_state({"q": q})
        return self._full(q_a)

    def distance_at(self, at: Configuration) -> float:
        """How far from singular a configuration is, as `Closed.distance`."""
        return self.assembly.distance(at.q)

    def weakest_loop(self, q: Floats) -> str:
        """The loop that determines the passive joints least at positions q (n of the tree,) of all joints."""
        return self.assembly.weakest_loop(q)

    def _rates(self, full: Floats, qd: Floats) -> tuple[Floats, Floats, Floats]:
        """Speeds (n,), G (n, a) and g (n,) at a closed configuration."""
        speeds, g = np.empty(self.mechanism.n), np.empty(self.mechanism.n)
        with self.workspaces.one() as w:
            status = compiled_call(stand_at, w.record, w.closure, self.assembly.size, full, qd, speeds, g)
            G = w.closure.G.copy()
        if status != OK:
            self._failed(status, full, full[self.joints])
        return speeds, G, g

    def _full(self, q_a: Floats) -> Floats:
        """(n of the tree,) the closed configuration at q_a (n,), followed from `branch`."""
        return self.follow(q_a, self.own_start()).q.copy()

    def follow(self, q: Floats, start: Any) -> Configuration:
        """The closed configuration at q (n,), followed from a start of one's own, which becomes it."""
        rest = np.zeros((2, self.mechanism.n))
        with self.workspaces.one() as w:
            status = compiled_call(close, w.record, w.closure, start, q, self._zero, *rest)
            full = w.closure.q.copy()
            if status == OK:
                for own, found in zip(start, (full, w.closure.G, w.closure.rows, w.closure.numbers), strict=True):
                    own[:] = found
        if status != OK:
            self._failed(status, full, q)
        return Configuration(full)

    def _check_closed(self, status: int, q: Floats) -> None:
        if status != OK:
            self._failed(status, q, q[self.joints])

    def _failed(self, status: int, q: Floats, target: Floats) -> NoReturn:
        """Say why active positions target (n,) cannot be reached from q (n of the tree,), the last on the way there."""
        if status == NOT_FINITE:
            raise InputError(f"{self.name}: {self.tree.model.not_finite}, or the active positions are too far away")
        near = numbers_text(q)
        if np.abs(q[self.joints] - target).max() < CLOSED:
            if self.assembly.distance(q) > SMALLEST_DISTANCE and not self._moves_inertia(q):
                raise SingularityError(
                    f"{self.name}: an active joint moves no inertia at all; give a link or rotor a mass or inertia"
                )
            raise SingularityError(f"{self.name}: loop '{self.weakest_loop(q)}' is singular at q = {near}")
        there = q.copy()
        there[self.joints] = target
        there = self.assembly.closed_from(there, self.assembly.free)
        if self.assembly.opening(there) > CLOSED:
            name, by = self.assembly.worst(there)
            raise ClosureError(
                f"{self.name}: loop '{name}' does not close; it stays open by {by} near q = {numbers_text(there)}"
            )
        raise SingularityError(
            f"{self.name}: a singularity lies on the way to {numbers_text(target)}: loop '{self.weakest_loop(q)}' comes"
            f" to it near q = {near}"
        )

    def _moves_inertia(self, q: Floats) -> bool:
        """Whether every motion of the active joints moves some inertia at a closed configuration q (n of the tree,)."""
        at = self.assembly
        J = at.terms(at.all_rows, q, np.zeros(len(q)))[1]
        G = np.zeros((len(q), self.n))
        G[at.joints] = np.eye(self.n)
        G[at.free] = -np.linalg.lstsq(J[:, at.free], J[:, at.joints], rcond=None)[0]
        return positive_definite(G.T @ self.tree.mass_matrix(q) @ G)

    # dynamics

    @native
    def _native_inverse(self) -> Any:
        return self._bound_inverse(self.own_start(), follows=False)

    def following_inverse(self, start: Any) -> Any:
        """A native call: tau from q, qd, qdd of one state, followed from start, which becomes what it finds."""
        return self._bound_inverse(start, follows=True) if self.formulation == "projection" else never

    def _bound_inverse(self, start: Any, follows: bool) -> Any:
        w = self.workspaces.new()
        bound = w.closure, start, w.vectors, np.array([float(follows)])
        return projection.inverse.bind(w.record, (self.n,) * 3, (self.n,), *bound)

    def inverse_dynamics(
        self, q: Any, qd: Any, qdd: Any, wrenches: Any = None, near: Configuration | None = None
    ) -> Floats:
        """Forces of the active joints for a motion of theirs."""
        if near is not None:
            return self.starting_at(near).inverse_dynamics(q, qd, qdd, wrenches)
        values = {"q": q, "qd": qd, "qdd": qdd}
        if self.formulation != "projection":
            return self._over_rows(self._inverse, values, wrenches, (self.n,))
        if wrenches is None:
            tau = self._native_inverse(q, qd, qdd)
            if tau is not None:
                return tau
            lead, arrays = self.checked_state(values)
            tau = self.first_call("_native_inverse", *arrays) if lead == () else None
            if tau is not None:
                return tau
        return self._inverse_rows(values, wrenches)

    def _inverse_rows(self, values: dict[str, Any], wrenches: Any) -> Floats:
        return self._projected(projection.inverse_batch, values, wrenches, (self.n,))

    def _projected(self, kernel: Any, values: dict[str, Any], wrenches: Any, shape: tuple[int, ...]) -> Floats:
        """A kernel of the projection over all rows, shared out among the cores."""
        out, flat, wrench, flat_out = self._by_rows(values, wrenches, shape)
        stopped: list[tuple[Floats, Floats]] = []

        def given(w: LoopWorkspace, part: slice) -> tuple[Any, ...]:
            rows = (*(x[part] for x in flat), wrench[part])
            return w.record, w.closure, self.branch, *rows, w.vectors, w.A, w.A_c, flat_out[part]

        def failed(w: LoopWorkspace) -> None:
            stopped.append((w.closure.q.copy(), w.closure.target.copy()))

        status = run_batch(kernel, self.workspaces, len(flat_out), given, failed=failed)
        if status != OK:
            self._failed(status, *stopped[0])
        return out

    def _inverse(self, q: Floats, qd: Floats, qdd: Floats, w: Floats) -> Floats:
        if self.formulation != "denoc":
            return self._opened(q, qd, w).inverse(qdd, self.formulation == "virtual_spring")
        tau, full = np.empty(self.n), self._full(q)
        with self.tree.model.workspaces.one() as record:
            status = self.denoc.inverse(record, full, qd, qdd, w, tau)
        self._check_closed(status, full)
        return tau

    def _opened(self, q: Floats, qd: Floats, w: Floats) -> OpenedTree:
        return OpenedTree(self.tree, self.assembly, self.closed(q, qd), w)

    @by_branch
    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "matrices") -> Floats:
        """Accelerations of the active joints under forces of theirs."""
        if method != "matrices":
            raise InputError(f"{self.name} has closed chains: method must be 'matrices', found {method!r}")
        values = {"q": q, "qd": qd, "tau": tau}
        if self.formulation == "projection":
            return self._projected(projection.direct_batch, values, wrenches, (self.n,))
        return self._over_rows(self._direct, values, wrenches, (self.n,))

    def _direct(self, q: Floats, qd: Floats, tau: Floats, w: Floats) -> Floats:
        if self.formulation != "denoc":
            return self._opened(q, qd, w).direct(tau, self.formulation == "virtual_spring")
        qdd, full = np.empty(self.n), self._full(q)
        with self.tree.model.workspaces.one() as record:
            status = self.denoc.direct(record, full, qd, tau, w, qdd)
        self._check_closed(status, full)
        return qdd

    @by_branch
    def driven_forces(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        """(n,) forces for accelerations qdd (n,) of the driven joints; those that springs hold move as they must."""
        free = ~self.driven
        if not free.any():
            return self.inverse_dynamics(q, qd, qdd)
        qdd = np.where(free, 0.0, qdd)
        A, H = self.mass_matrix(q), self.inverse_dynamics(q, qd, qdd)
        qdd[free] = -np.linalg.solve(A[np.ix_(free, free)], H[free])
        return np.where(free, 0.0, self.inverse_dynamics(q, qd, qdd))

    @property
    def rubs_elsewhere(self) -> bool:
        """Whether passive joints rub."""
        m, passive = self.mechanism, self.assembly.free
        return bool(m.Fv[passive].any() or m.Fs[passive].any() or self.tree.model.element_friction.any())

    @by_branch
    def friction_change(self, q: Floats, qd: Floats, other: Floats) -> Floats:
        """(n,) what friction of all joints at other speeds (n,) asks for beyond that at speeds qd (n,)."""
        m, G = self.mechanism, self._rates_of_all(self.closed(q))
        Fv, Fs = np.concatenate([(m.Fv, m.Fs), self.tree.model.element_friction], axis=1)
        wanted, met = G @ other, G @ qd
        return G.T @ (Fv * (wanted - met) + Fs * (np.sign(wanted) - np.sign(met)))

    def _rates_of_all(self, at: Closed) -> Floats:
        """(n of the tree + e, n) rates of all joints and of force elements, per rate of the active joints."""
        return np.concatenate([at.G, self.tree.model.element_jacobian(at.q) @ at.G])

    @by_branch
    def reactions(self, q: Any, qd: Any, tau: Any) -> dict[str, Floats]:
        """Forces and moments of each cut joint on its second body, one per constraint, under active forces tau (n,)."""
        q_a, qd_a, tau_a = self.single_state({"q": q, "qd": qd, "tau": tau})
        found = self._opened(q_a, qd_a, np.empty((0, 6))).multipliers(tau_a).reactions
        owners = np.array(self.assembly.owners)
        return {loop.name: found[owners == k] for k, loop in enumerate(self.mechanism.loops)}

    @by_branch
    def mass_matrix(self, q: Any) -> Floats:
        """A_c (..., n, n) of (58)."""
        shape = self.n, self.n
        if self.formulation != "denoc":
            return self._projected(projection.mass_matrix_batch, {"q": q, "qd": self._zero}, None, shape)

        def one(q_a: Floats, _: Floats) -> Floats:
            I, full = np.empty(shape), self._full(q_a)
            with self.tree.model.workspaces.one() as record:
                status = self.denoc.inertia(record, full, I)
            self._check_closed(status, full)
            return I

        return self._over_rows(one, {"q": q}, None, shape)

    bias_forces = by_branch(Robot.bias_forces)
    gravity_forces = by_branch(Robot.gravity_forces)

    # stiffness

    def stiffness(
        self, q: Any, frame: str = "tool", wrench: Any = None, near: Configuration | None = None
    ) -> Stiffness:
        """As of any Robot; where q is that of `near` itself, nothing is followed, and it may be singular."""
        load = None if wrench is None else checked_wrench(wrench)
        return self.virtual_joints.stiffness(self.standing(q, near), frame, load)

    def deflected(self, q: Any, wrench: Any, frame: str = "tool", near: Configuration | None = None) -> Deflection:
        """As of any Robot; near: as of `stiffness`."""
        return self.stiffness(q, frame, near=near).deflected(checked_wrench(wrench))

    def deflection(self, q: Any, wrench: Any, frame: str = "tool", near: Configuration | None = None) -> Floats:
        """As of any Robot; near: as of `stiffness`."""
        return self.deflected(q, wrench, frame, near).motion

    def standing(self, q: Any, near: Configuration | None) -> Floats:
        """(n of the tree,) all joints at q (n,): those of `near` where q is its own, else followed from there."""
        (q_a,) = self.single_state({"q": q})
        if near is None:
            return self._full(q_a)
        full = self.assembly.closed_at(near)
        return full if np.array_equal(full[self.joints], q_a) else self.starting_at(near)._full(q_a)

    # kinematics

    @by_branch
    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame."""

        def one(q_a: Floats, _: Floats) -> Floats:
            return self.tree.forward_kinematics(self._full(q_a), frame)

        return self._over_rows(one, {"q": q}, None, (4, 4))

    @by_branch
    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, n) of a frame's origin, from the rates of the active joints."""

        def one(q_a: Floats, _: Floats) -> Floats:
            at = self.closed(q_a)
            return self.tree.jacobian(at.q, frame) @ at.G

        return self._over_rows(one, {"q": q}, None, (6, self.n))

    @by_branch
    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames`."""
        k = len(self.mechanism.frames)
        return self._over_rows(lambda q_a, _: self.tree.link_poses(self._full(q_a)), {"q": q}, None, (k, 4, 4))

    # simulation

    def with_continuous_friction(self, q: Any, h: float) -> Self:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h near q."""
        G = self._rates_of_all(self.closed(q))
        mobility = G @ np.linalg.solve(self.mass_matrix(q), G.T)
        other = copy.copy(self)
        other.tree = self.tree.with_friction_over(h * np.diag(mobility))
        other.workspaces = other._workspaces()
        return other

    def engine(self, motors: Floats, method: str, h: float) -> Engine | None:
        """Compiled by projection and by denoc, and with fixed steps by multipliers."""
        compiled = "projection", "denoc", *(("multipliers",) if method in RUNGE_KUTTA else ())
        if method == "euler" or self.formulation not in compiled:
            return None
        return LoopEngine(self, motors, self.denoc.state() if self.formulation == "denoc" else None)

    def motion(self) -> LoopState:
        """What the compiled simulation needs of the loops, at `branch`."""
        at, start = self.assembly, self.branch
        J = at.terms(at.all_rows, start.q, np.zeros(self.mechanism.n))[1]
        w = weight(self.tree.mass_matrix(start.q), J)
        return loop_state(at.closure(), start, self.formulation == "multipliers", w, self._through)

    def rechart(self, record: Floats, loops: LoopState, q: Floats) -> bool:
        """Whether another chart of the same configurations was chosen in a simulation's record, one that suits q."""
        return False

    def in_chart(self, record: Floats, q: Floats) -> Floats:
        """Positions (n of the tree,) of all joints in the described chart, from those in a simulation's record."""
        return q

    # the common path

    def _by_rows(
        self, values: dict[str, Any], wrenches: Any, shape: tuple[int, ...]
    ) -> tuple[Floats, list[Floats], Floats, Floats]:
        """The answer (..., *shape) to fill, and by rows: arguments, wrenches in the body frames, the answer."""
        lead, arrays = self.checked_state(values)
        out = np.empty((*lead, *shape))
        flat_out = out.reshape(-1, *shape)
        w = self.tree.model.wrenches(wrenches, lead)
        return out, [array.reshape(-1, self.n) for array in arrays], w.reshape(len(flat_out), *w.shape[-2:]), flat_out

    def _over_rows(self, one: Any, values: dict[str, Any], wrenches: Any, shape: tuple[int, ...]) -> Floats:
        """Row by row, each followed from `branch`."""
        out, flat, w, flat_out = self._by_rows(values, wrenches, shape)
        for b in range(len(flat_out)):
            flat_out[b] = one(*(array[b] for array in flat), w[b])
        return out
