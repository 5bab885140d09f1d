"""A robot with closed chains, behind the same face as an open one, in its active joints."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from scipy.linalg import qr
from scipy.optimize import least_squares

from .actuation import Actuation
from .batch import run_batch
from .errors import ClosureError, DescriptionError, InputError, SingularityError
from .fastcall import never
from .jit import compiled_call
from .loops import multipliers, projection, virtual_spring
from .loops.closure import CLOSED, OPEN, SMALLEST_PIVOT, close, closed_rates
from .loops.constraints import FACING, MODE, TYPE, constraint_terms, pack_rows
from .loops.denoc import Denoc
from .loops.motion import Motion, motion
from .mechanism import PRISMATIC, Floats, Mechanism
from .robot import Method, Robot
from .tree.record import NOT_FINITE, OK, SINGULAR
from .tree.rnea import rnea_batch

Formulation = Literal["projection", "multipliers", "virtual_spring", "denoc"]
FORMULATIONS: tuple[Formulation, ...] = ("projection", "multipliers", "virtual_spring", "denoc")
RANK = 1e-8
ATTEMPTS = 12  # starts of an assembly, ever farther from the described configuration


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


class LoopRobot(Robot):
    """A robot whose chains close, with as many active joints as it has freedoms.

    q, qd, qdd, tau (..., n) are those of the active joints, `joint_names`. The assembly mode is that of the described
    configuration, kept along the straight way from there. Wrenches act on every link of the tree.
    """

    compiled = False

    def __init__(self, mechanism: Mechanism, formulation: Formulation = "projection") -> None:
        if not mechanism.loops:
            raise InputError(f"{mechanism.name} has no loops: use Robot")
        if mechanism.base is not None or mechanism.mimic is not None:
            raise InputError(f"{mechanism.name}: closed chains need a fixed base and no mimic joints")
        self.tree = Robot(mechanism)
        """The same mechanism with its loops open."""
        self.mechanism = mechanism
        self.name = mechanism.name
        self.formulation = _known(formulation)
        driven = mechanism.active
        self.joints = np.flatnonzero(driven)
        self.joint_names = tuple(mechanism.joint_names[j] for j in self.joints)
        self.n = self.nq = self.nv = len(self.joints)
        self._zero = np.zeros(self.n)
        self._inverse_call = never
        self._active, self._passive = self.joints.astype(float), np.flatnonzero(~driven).astype(float)
        self._all_rows, self._owners = pack_rows(mechanism)
        self._facing, self._facing_owners = pack_rows(mechanism, FACING)
        start = np.zeros(mechanism.n) if mechanism.assembly is None else np.array(mechanism.assembly, float)
        self.reference = self._assembled(start)
        """(n of the tree,) the closed configuration that stands for the assembly mode."""
        self._rows = self._independent_rows()
        p, n = len(self._passive), mechanism.n
        self._work = np.zeros((4 + 2 * p, max(n, p)))
        self._vectors = np.zeros((6, n))
        self._G = np.zeros((n, self.n))
        self._A, self._A_c = np.zeros((n, n)), np.zeros((self.n, self.n))
        self._last = self.reference.copy()

    def __repr__(self) -> str:
        return f"LoopRobot({self.name!r}, n={self.n} of {self.mechanism.n} joints, {len(self.mechanism.loops)} loops)"

    def using(self, formulation: Formulation) -> LoopRobot:
        """The same robot, computed by another formulation."""
        other = copy.copy(self)
        other.formulation = _known(formulation)
        other._last = self._last.copy()
        if formulation == "denoc":
            other.denoc  # noqa: B018 - a mechanism that is not legs shows here
        return other

    @cached_property
    def denoc(self) -> Denoc:
        """The legs, and their dynamics by the decoupled natural orthogonal complement."""
        return Denoc(self.mechanism)

    def neutral(self) -> Floats:
        """(n,) the active joints of the described configuration."""
        return self.reference[self.joints].copy()

    # closure

    @property
    def redundant_constraints(self) -> int:
        """How many of the cut joints' constraints follow from the others."""
        return len(self._all_rows) - len(self._rows)

    def closed(self, q: Any, qd: Any = None) -> Closed:
        """All joints at active positions q (n,) and speeds qd (n,)."""
        q_a, qd_a = self._single({"q": q, "qd": self._zero if qd is None else qd})
        full = self._full(q_a)
        speeds, G, g = self._rates(full, qd_a)
        return Closed(full, speeds, G, g, self._distance(full))

    def joint_motion(self, q: Any, qd: Any) -> tuple[Floats, Floats]:
        """Positions and speeds (n of the tree,) of all joints at active positions and speeds q, qd (n,).

        Less than `closed`, and quicker, for one state after another.
        """
        q_a, qd_a = self._single({"q": q, "qd": qd})
        full = LoopRobot._full(self, q_a)
        return full, self._rates(full, qd_a)[0]

    def _rates(self, full: Floats, qd: Floats) -> tuple[Floats, Floats, Floats]:
        n = self.mechanism.n
        speeds, g, G = np.empty(n), np.empty(n), np.empty((n, self.n))
        distance = compiled_call(
            closed_rates, self.tree._record, self._rows, self._active, self._passive, full, qd, speeds, g, G,
            self._work,
        )  # fmt: skip
        if distance < SMALLEST_PIVOT:
            self._singular(full)
        return speeds, G, g

    def _distance(self, q: Floats) -> float:
        if len(self._passive) == 0:
            return 1.0
        return float(np.linalg.svd(self._scaled_passive_jacobian(self._rows, q), compute_uv=False)[-1])

    def frame_motion(self, q: Any, qd: Any, frame: str = "tool") -> tuple[Floats, Floats]:
        """Pose (4, 4) and twist (6,) of a frame in the base frame, from all joints' q, qd (n of the tree,)."""
        return self.tree.forward_kinematics(q, frame), self.tree.jacobian(q, frame) @ qd

    def all_positions(self, q: Any) -> Floats:
        """(n of the tree,) positions of all joints at active positions q (n,)."""
        (q_a,) = self._single({"q": q})
        return self._full(q_a)

    def _full(self, q_a: Floats) -> Floats:
        near = np.abs(q_a - self._last[self.joints]).max() < projection.NEAR
        for start in (self._last, self.reference) if near else (self.reference,):
            full = start.copy()
            status = compiled_call(
                close, self.tree._record, self._rows, self._active, self._passive, q_a, full, self._work
            )
            if status == OK:
                break
        self._check_closed(status, full)
        self._last[:] = full
        return full

    def _check_closed(self, status: int, q: Floats) -> None:
        if status != OK:
            self._failed(status, q)

    def _failed(self, status: int, q: Floats) -> NoReturn:
        if status == SINGULAR:
            self._singular(q)
        if status == NOT_FINITE:
            raise InputError(f"{self.name}: the active positions are not finite, or too far away")
        name, by = self._worst(q)
        raise ClosureError(f"{self.name}: loop '{name}' does not close; it stays open by {by} near q = {_text(q)}")

    def _singular(self, q: Floats) -> NoReturn:
        if self._distance(q) > 1e-6:
            raise SingularityError(f"{self.name}: a singularity lies on the way to q = {_text(q)}")
        raise SingularityError(f"{self.name}: loop '{self.weakest_loop(q)}' is singular at q = {_text(q)}")

    def weakest_loop(self, q: Floats) -> str:
        """The loop that determines the passive joints least at positions q (n of the tree,) of all joints."""
        J = self._scaled_passive_jacobian(self._all_rows, q)
        weakest = np.linalg.svd(J)[0][:, min(J.shape) - 1]
        return self.mechanism.loops[self._owners[int(np.argmax(np.abs(weakest)))]].name

    def _scaled_passive_jacobian(self, rows: Floats, q: Floats) -> Floats:
        """J_p with lengths measured in `size`: numbers without units."""
        passive = self._passive.astype(int)
        J = self._terms(rows, q, np.zeros(self.mechanism.n))[1][:, passive]
        J[rows[:, TYPE] == 0.0] /= self.size
        J[:, self.mechanism.joint_type[passive] == PRISMATIC] *= self.size
        return J

    @cached_property
    def size(self) -> float:
        """The mechanism's characteristic length, m: the largest distance between the joints on a body."""
        arms = [self.mechanism.p]
        arms += [np.array([loop.first.p, loop.second.p]) for loop in self.mechanism.loops]
        return float(np.linalg.norm(np.concatenate(arms), axis=1).max()) or 1.0

    def motion(self) -> Motion:
        """What the compiled simulation needs of the loops, at the closed configuration last found."""
        by_multipliers = self.formulation == "multipliers"
        return motion(self._rows, self._all_rows, self._active, self._passive, by_multipliers, self._last)

    def rechart(self, record: Floats, loops: Motion, q: Floats) -> bool:
        """Whether another chart of the same configurations was chosen in a simulation's record, one that suits q."""
        return False

    def in_chart(self, record: Floats, q: Floats) -> Floats:
        """Positions (n of the tree,) of all joints in the described chart, from those in a simulation's record."""
        return q

    def _gaps(self, q: Floats) -> tuple[Floats, Floats]:
        """How far (m + f,) constraints, and axes that should face each other, are from being met, and d gaps / dq."""
        rest = np.zeros(self.mechanism.n)
        phi, J, _ = self._terms(self._all_rows, q, rest)
        facing, J_f, _ = self._terms(self._facing, q, rest)
        return np.concatenate([phi, facing - 1.0]), np.concatenate([J, J_f])

    def _opening(self, q: Floats) -> float:
        return float(np.abs(self._gaps(q)[0]).max())

    def _worst(self, q: Floats) -> tuple[str, str]:
        """The loop that is open most, and by how much: the distance in m, or else the angle in rad."""
        gaps = self._gaps(q)[0]
        owners = np.array(self._owners + self._facing_owners)
        k = owners[np.argmax(np.abs(gaps))]
        phi, facing = np.split(np.where(owners == k, gaps, 0.0), [len(self._all_rows)])
        apart = float(np.linalg.norm(phi[self._all_rows[:, TYPE] == 0.0]))
        angle = max(np.arcsin(np.abs(phi[self._all_rows[:, TYPE] == 1.0])).max(initial=0.0), _turned(facing))
        return self.mechanism.loops[k].name, f"{apart:.3g} m" if apart > CLOSED else f"{angle:.3g} rad"

    def _terms(self, rows: Floats, q: Floats, qd: Floats) -> tuple[Floats, Floats, Floats]:
        m, n = len(rows), len(q)
        phi, J, bias = np.empty(m), np.empty((m, n)), np.empty(m)
        compiled_call(constraint_terms, self.tree._record, rows, q, qd, phi, J, bias)
        return phi, J, bias

    def _assembled(self, q: Floats) -> Floats:
        """A closed configuration near q: its active joints stay if the loops can be closed so."""
        rng = np.random.default_rng(0)
        nearest = q
        for free in (self._passive.astype(int), np.arange(len(q))):
            for attempt in range(ATTEMPTS if len(free) else 1):
                start = q.copy()
                start[free] += min(attempt, 3) * rng.uniform(-1.0, 1.0, len(free)) * self._reach[free]
                found = self._closed_from(start, free)
                if self._opening(found) <= CLOSED:
                    return found
                nearest = min(nearest, found, key=lambda at: float(np.linalg.norm(self._gaps(at)[0])))
        name, by = self._worst(nearest)
        raise ClosureError(
            f"{self.name}: loop '{name}' cannot be closed near the described configuration; it stays open by {by}"
        )

    @property
    def _reach(self) -> Floats:
        """(n,) a third of what a joint may be off at the start of an assembly: rad, or m."""
        return np.where(self.mechanism.joint_type == PRISMATIC, self.size / 3.0, 1.0)

    def _closed_from(self, q: Floats, free: Any) -> Floats:
        """Where the loops are open least near q, moving the free joints."""

        def at(x: Floats) -> Floats:
            full = q.copy()
            full[free] = x
            return full

        if len(free) == 0:
            return q
        answer = least_squares(
            lambda x: self._gaps(at(x))[0],
            q[free],
            lambda x: self._gaps(at(x))[1][:, free],
            xtol=1e-15,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=200,
        )
        return at(answer.x)

    def _independent_rows(self) -> Floats:
        J = self._terms(self._all_rows, self.reference, np.zeros(self.mechanism.n))[1]
        rank = _rank(J)
        mobility = self.mechanism.n - rank
        if mobility != self.n:
            elsewhere = self.reference + np.random.default_rng(0).uniform(-0.1, 0.1, len(self.reference))
            if self.mechanism.n - _rank(self._terms(self._all_rows, elsewhere, np.zeros(len(elsewhere)))[1]) == self.n:
                raise SingularityError(
                    f"{self.name}: the described configuration is singular, its loops let {mobility} joints move where"
                    f" {self.n} are active; describe another one as `assembly`"
                )
            which = "over" if self.n > mobility else "under"
            raise DescriptionError(
                f"{self.name} is {which}-actuated: {self.mechanism.n} joints less {rank} independent constraints"
                f" (of {len(J)}) leave a mobility of {mobility}, but {self.n} joints are active"
            )
        J_p = J[:, self._passive.astype(int)]
        _, R, pivots = qr(J_p.T, mode="economic", pivoting=True)
        sizes = np.abs(np.diag(R))
        if len(sizes) and sizes[-1] < RANK * sizes[0]:
            raise SingularityError(
                f"{self.name}: at the described configuration the active joints do not determine the passive ones"
            )
        kept = np.sort(pivots[: len(self._passive)])
        rows = np.ascontiguousarray(self._all_rows[kept])
        rows[:1, MODE] = np.sign(np.linalg.det(J_p[kept]))
        return rows

    # dynamics

    def inverse_dynamics(self, q: Any, qd: Any, qdd: Any, wrenches: Any = None) -> Floats:
        """Forces of the active joints for a motion of theirs."""
        values = {"q": q, "qd": qd, "qdd": qdd}
        if self.formulation != "projection":
            return self._over_rows(self._inverse, values, wrenches, (self.n,))
        if wrenches is None:
            tau = self._inverse_call(q, qd, qdd)
            if tau is not None:
                return tau
            lead, arrays = self._arrays(values)
            if lead == ():
                self._bind_inverse()
                tau = self._inverse_call(*arrays)
                if tau is not None:
                    return tau
        return self._inverse_rows(values, wrenches)

    def _inverse_rows(self, values: dict[str, Any], wrenches: Any) -> Floats:
        return self._projected(projection.inverse_batch, values, wrenches, (self.n,))

    def _bind_inverse(self) -> None:
        if self._inverse_call is never:
            arrays = self._rows, self._active, self._passive, self.reference, self._last
            scratch = self._vectors, self._G, self._work
            self._inverse_call = projection.inverse.bind(self.tree._record, (self.n,), *arrays, *scratch)

    def _projected(self, kernel: Any, values: dict[str, Any], wrenches: Any, shape: tuple[int, ...]) -> Floats:
        """A kernel of the projection over all rows, shared out among the cores."""
        lead, arrays = self._arrays(values)
        out = np.empty((*lead, *shape))
        flat = [array.reshape(-1, self.n) for array in arrays]
        flat_out = out.reshape(-1, *shape)
        w = self.tree._flat_wrenches(wrenches, lead, len(flat_out))
        shares: list[Floats] = []

        def slices(part: slice) -> tuple[Any, ...]:
            shares.append(self._last.copy())
            scratch = (np.empty_like(x) for x in (self._vectors, self._G, self._work, self._A, self._A_c))
            constants = self._rows, self._active, self._passive
            return *constants, *(x[part] for x in flat), w[part], self.reference, shares[-1], *scratch, flat_out[part]

        status = run_batch(kernel, self.tree._record, len(flat_out), slices)
        if status != OK:
            self._failed(status, max(shares, key=self._opening) if status == OPEN else min(shares, key=self._distance))
        if len(flat_out):
            self._last[:] = shares[-1]
        return out

    def _inverse(self, q: Floats, qd: Floats, qdd: Floats, w: Floats) -> Floats:
        if self.formulation == "virtual_spring":
            at, forces = self._tree_forces(q, qd, qdd, w)
            J = self._terms(self._all_rows, at.q, at.qd)[1]
            return virtual_spring.inverse(J, forces, self.joints, self._passive.astype(int))
        if self.formulation == "multipliers":
            return self._inverse_by_multipliers(q, qd, qdd, w)
        tau, full = np.empty(self.n), self._full(q)
        self._check_closed(self.denoc.inverse(self.tree._record, full, qd, qdd, w, tau), full)
        return tau

    def _inverse_by_multipliers(self, q: Floats, qd: Floats, qdd: Floats, w: Floats) -> Floats:
        at, forces = self._tree_forces(q, qd, qdd, w)
        J = self._terms(self._all_rows, at.q, at.qd)[1]
        unknowns = np.concatenate([np.eye(self.mechanism.n)[:, self.joints], J.T], axis=1)
        return np.asarray(np.linalg.lstsq(unknowns, forces, rcond=1e-12)[0][: self.n])

    def _tree_forces(self, q: Floats, qd: Floats, qdd: Floats, w: Floats) -> tuple[Closed, Floats]:
        """The closed configuration, and the forces (n of the tree,) that all joints of the open tree would need."""
        at = self.closed(q, qd)
        return at, self.tree.inverse_dynamics(at.q, at.qd, at.G @ qdd + at.g) - self._pushed(at.q, w)

    def forward_dynamics(self, q: Any, qd: Any, tau: Any, wrenches: Any = None, method: Method = "matrices") -> Floats:
        """Accelerations of the active joints under forces of theirs."""
        if method != "matrices":
            raise InputError(f"{self.name} has closed chains: method must be 'matrices', found {method!r}")
        values = {"q": q, "qd": qd, "tau": tau}
        if self.formulation == "projection":
            return self._projected(projection.direct_batch, values, wrenches, (self.n,))
        return self._over_rows(self._direct, values, wrenches, (self.n,))

    def _direct(self, q: Floats, qd: Floats, tau: Floats, w: Floats) -> Floats:
        on_tree = np.zeros(self.mechanism.n)
        on_tree[self.joints] = tau
        if self.formulation == "multipliers":
            return self._with_multipliers(q, qd, on_tree, w).qdd[self.joints]
        if self.formulation == "virtual_spring":
            M, H, J, bias = self._opened(q, qd, w)
            return virtual_spring.direct(M, H, J, bias, on_tree)[self.joints]
        qdd, full = np.empty(self.n), self._full(q)
        self._check_closed(self.denoc.direct(self.tree._record, full, qd, tau, w, qdd), full)
        return qdd

    def _with_multipliers(self, q: Floats, qd: Floats, tau: Floats, w: Floats) -> multipliers.Answer:
        return multipliers.accelerations(*self._opened(q, qd, w), tau)

    def _opened(self, q: Floats, qd: Floats, w: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Mass matrix (n, n) and bias forces (n,) of the open tree, J and bias of all rows, at a closed state."""
        at = self.closed(q, qd)
        _, J, bias = self._terms(self._all_rows, at.q, at.qd)
        H = self.tree.bias_forces(at.q, at.qd) - self._pushed(at.q, w)
        return self.tree.mass_matrix(at.q), H, J, bias

    def reactions(self, q: Any, qd: Any, tau: Any) -> dict[str, Floats]:
        """Forces and moments of each cut joint on its second body, one per constraint, under active forces tau (n,)."""
        q_a, qd_a, tau_a = self._single({"q": q, "qd": qd, "tau": tau})
        on_tree = np.zeros(self.mechanism.n)
        on_tree[self.joints] = tau_a
        found = self._with_multipliers(q_a, qd_a, on_tree, np.empty((0, 6))).reactions
        owners = np.array(self._owners)
        return {loop.name: found[owners == k] for k, loop in enumerate(self.mechanism.loops)}

    def mass_matrix(self, q: Any) -> Floats:
        """A_c (..., n, n) of (58)."""

        shape = self.n, self.n
        if self.formulation != "denoc":
            return self._projected(projection.mass_matrix_batch, {"q": q, "qd": self._zero}, None, shape)

        def one(q_a: Floats, _: Floats) -> Floats:
            I, full = np.empty(shape), self._full(q_a)
            self._check_closed(self.denoc.inertia(self.tree._record, full, I), full)
            return I

        return self._over_rows(one, {"q": q}, None, shape)

    def mass_matrix_by_columns(self, q: Any) -> NoReturn:
        """Not for closed chains: the tree's, `tree.mass_matrix_by_columns`, is projected instead."""
        self._not_for_closed_chains("the mass matrix by columns")

    def mixed_dynamics(self, q: Any, qd: Any, qdd: Any, tau: Any = None, wrenches: Any = None) -> NoReturn:
        """Not for closed chains: springs of passive joints are in `inverse_dynamics` already."""
        self._not_for_closed_chains("the mixed model")

    def regressor(self, q: Any, qd: Any, qdd: Any) -> NoReturn:
        """Not for closed chains."""
        self._not_for_closed_chains("a regressor")

    def base_parameters(self, rotor: bool = True, friction: bool = True) -> NoReturn:
        """Not for closed chains: the rules are those of a tree."""
        self._not_for_closed_chains("base parameters")

    def customised(self, *models: Any) -> NoReturn:
        """Not for closed chains."""
        self._not_for_closed_chains("customised models")

    def _not_for_closed_chains(self, what: str) -> NoReturn:
        raise InputError(f"{self.name} has closed chains: {what} can be had of trees only, such as its `tree`")

    # kinematics

    def forward_kinematics(self, q: Any, frame: str = "tool") -> Floats:
        """Pose (..., 4, 4) of a frame in the base frame."""

        def one(q_a: Floats, _: Floats) -> Floats:
            return self.tree.forward_kinematics(self._full(q_a), frame)

        return self._over_rows(one, {"q": q}, None, (4, 4))

    def jacobian(self, q: Any, frame: str = "tool") -> Floats:
        """Jacobian (..., 6, n) of a frame's origin, from the rates of the active joints."""

        def one(q_a: Floats, _: Floats) -> Floats:
            at = self.closed(q_a)
            return self.tree.jacobian(at.q, frame) @ at.G

        return self._over_rows(one, {"q": q}, None, (6, self.n))

    def link_poses(self, q: Any) -> Floats:
        """Poses (..., k, 4, 4) of all k frames of `mechanism.frames`."""
        k = len(self.mechanism.frames)
        return self._over_rows(lambda q_a, _: self.tree.link_poses(self._full(q_a)), {"q": q}, None, (k, 4, 4))

    # actuation, simulation

    @cached_property
    def actuation(self) -> Actuation:
        """Motors, amplifiers and DAC of the active joints."""
        return Actuation(self.mechanism, self.joints)

    def _joint_positions(self, q: Any) -> Floats:
        return self.all_positions(q)

    def with_continuous_friction(self, q: Any, h: float) -> LoopRobot:
        """A copy whose Coulomb friction is continuous over the speed that it could reverse within h near q."""
        G = self.closed(q).G
        mobility = G @ np.linalg.solve(self.mass_matrix(q), G.T)
        other = copy.copy(self)
        other.tree = self.tree._with_friction_over(h * np.diag(mobility))
        other._last = self._last.copy()
        other._inverse_call = never
        return other

    # the common path

    def _pushed(self, q: Floats, w: Floats) -> Floats:
        """What wrenches (in the body frames) do to the tree's joints at q."""
        if len(w) == 0:
            return np.zeros(self.mechanism.n)
        rest, held = np.zeros((1, len(q))), np.empty((1, len(q)))
        compiled_call(rnea_batch, self.tree._record, q[None], rest, rest, w[None], held)
        return self.tree.gravity_forces(q) - held[0]

    def _single(self, values: dict[str, Any]) -> list[Floats]:
        lead, arrays = self._arrays(values)
        if lead != ():
            raise InputError(f"{self.name}: one state at a time, found leading axes {lead}")
        return arrays

    def _over_rows(self, one: Any, values: dict[str, Any], wrenches: Any, shape: tuple[int, ...]) -> Floats:
        """Row by row, each closed from the one before where it is near."""
        lead, arrays = self._arrays(values)
        out = np.empty((*lead, *shape))
        flat = [array.reshape(-1, self.n) for array in arrays]
        flat_out = out.reshape(-1, *shape)
        w = self.tree._flat_wrenches(wrenches, lead, len(flat_out))
        for b in range(len(flat_out)):
            flat_out[b] = one(*(array[b] for array in flat), w[b])
        return out


def _turned(facing: Floats) -> float:
    """Largest angle between axes of which a . b - 1 is given."""
    return float(np.arccos(np.clip(1.0 + facing, -1.0, 1.0)).max(initial=0.0))


def _rank(J: Floats) -> int:
    return int(np.linalg.matrix_rank(J, RANK * np.abs(J).max()))


def _known(formulation: str) -> Any:
    if formulation not in FORMULATIONS:
        raise InputError(f"a formulation is one of {', '.join(FORMULATIONS)}, found {formulation!r}")
    return formulation


def _text(q: Floats) -> str:
    return "[" + ", ".join(f"{x:.6g}" for x in q) + "]"
