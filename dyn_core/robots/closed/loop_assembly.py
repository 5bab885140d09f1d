"""How the loops of a mechanism close: their constraints, and the configuration that stands for the assembly mode."""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import least_squares

from dyn_core.arrays import Bools, Floats, Ints
from dyn_core.dynamics.loops.closure import CLOSED, MODE, Branch, Closure, new_closure, stand_at
from dyn_core.dynamics.loops.constraints import FACING, FIRST, FOLLOWS, TYPE, constraint_terms, pack_rows
from dyn_core.dynamics.tree.model import TreeModel
from dyn_core.errors import ClosureError, DescriptionError, DescriptionWarning, InputError, SingularityError
from dyn_core.jit.kernel import compiled_call
from dyn_core.jit.status import OK
from dyn_core.mechanism import BASE, PRISMATIC, Mechanism

from ..configuration import Configuration

RANK = 1e-8
REGULAR = 1e-2  # a start that is looked for is to be this far from singular
ATTEMPTS = 12  # starts of an assembly, ever farther from the described configuration


class LoopAssembly:
    """The constraints of all loops on the n joints of the tree, a of which are active."""

    def __init__(self, model: TreeModel) -> None:
        self.model, self.mechanism = model, model.mechanism
        self.name = self.mechanism.name
        self.leads = leaders(self.mechanism)
        """(n,) which joints do not follow others."""
        self._take(np.flatnonzero(self.mechanism.active & self.leads))
        self.all_rows, self.owners = pack_rows(self.mechanism)
        """(m, ROW_WIDTH) all constraints, and which of `names` each belongs to."""
        followers = np.flatnonzero(~self.leads)
        self.names = (
            *(loop.name for loop in self.mechanism.loops),
            *(self.mechanism.joint_names[j] for j in followers),
        )
        """Loops, then joints that follow others."""
        self._facing, self._facing_owners = pack_rows(self.mechanism, FACING)
        self._cycles = cycles_of(self.mechanism)
        described = self.mechanism.assembly
        if described is None:
            self.reference = self._regular(self._assembled(np.zeros(self.mechanism.n)))
        else:
            self.reference = self._assembled(np.array(described, float))
        """(n,) the closed configuration that stands for the assembly mode."""
        self._take(self._with_sprung(self.joints, self.reference))
        self._check_mobility()
        self.described = self.branch_at(self.reference)
        """The branch of the reference."""

    def _take(self, joints: Ints) -> None:
        self.joints, self.free = joints, np.setdiff1d(np.arange(self.mechanism.n), joints)
        """(a,) the active joints and those that springs hold, and (n - a,) the passive ones."""
        self.active, self.passive = self.joints.astype(float), self.free.astype(float)
        """The same, as kernels take them."""

    def _with_sprung(self, joints: Ints, q: Floats) -> Ints:
        """With joints that springs hold, where the loops leave more freedoms than there are drives at q (n,)."""
        m = self.mechanism
        springs = [each.stiffness for each in m.spring_dampers]
        springs += [acts.K for loop in m.loops for acts in (loop.turning, loop.sliding) if acts is not None]
        passive = ~m.active & self.leads
        held = np.flatnonzero(m.elastic & passive)
        others = np.setdiff1d(np.flatnonzero(passive), held) if any(springs) else held[:0]
        if len(held) + len(others) == 0:
            return joints
        J = self.terms(self.all_rows, q, np.zeros(m.n))[1]
        motions = null_space(J, RANK)
        chosen = list(joints)
        for j in (*held, *others):
            if len(chosen) < motions.shape[1] and np.linalg.matrix_rank(motions[[*chosen, j]], RANK) > len(chosen):
                chosen.append(j)
        return np.sort(np.array(chosen, int))

    def closure(self) -> Closure:
        """What kernels read of the loops, with scratch memory that nobody else has."""
        return new_closure(self.all_rows, self.active, self.passive, *self._cycles)

    def branch_at(self, q: Floats, mode: float = 0.0) -> Branch:
        """The branch of a closed configuration q (n,); SingularityError where it is singular.

        mode: the sign of det J_p there if it is known; then a singular configuration is taken too.
        """
        c, rest = self.closure(), np.zeros((2, len(q)))
        with self.model.workspaces.one() as record:
            status = compiled_call(stand_at, record, c, self.size, q, np.zeros(len(self.joints)), *rest)
        if status != OK and mode == 0.0:
            raise SingularityError(
                f"{self.name}: at the configuration {numbers_text(q)} the active joints do not determine the passive"
                " ones; several branches start there"
            )
        if mode != 0.0:
            c.numbers[MODE] = mode
        return Branch(c.q, c.G, c.rows, c.numbers)

    def branch(self, near: Configuration) -> Branch:
        """The branch of a closed configuration.

        InputError where the loops are open there, SingularityError where the passive joints are not determined.
        """
        return self.branch_at(self._polished(self.closed_at(near)))

    def _polished(self, q: Floats) -> Floats:
        """A configuration q (n,) that is nearly closed, with its passive joints moved to where it is closed."""
        rest = np.zeros(len(q))
        for _ in range(3):
            phi, J, _ = self.terms(self.all_rows, q, rest)
            if np.abs(phi).max() < CLOSED * 1e-4:
                break
            q[self.free] -= np.linalg.lstsq(J[:, self.free], phi, rcond=1e-9)[0]
        return q

    def closed_at(self, near: Configuration) -> Floats:
        """(n,) all joints of a closed configuration; InputError where the loops are open there, or it is none."""
        if not isinstance(near, Configuration):
            raise InputError(
                f"{self.name}: near must be a Configuration, such as `configuration(q)`, found {near!r:.80}"
            )
        start = near.q.copy()
        if start.shape != self.reference.shape or not np.isfinite(start).all():
            raise InputError(f"{self.name}: near must be one configuration of {len(self.reference)} joints")
        if self.opening(start) > 1e-6:
            name, by = self.worst(start)
            raise InputError(f"{self.name}: near is no closed configuration; loop '{name}' is open by {by}")
        return start

    # how open

    def terms(self, rows: Floats, q: Floats, qd: Floats) -> tuple[Floats, Floats, Floats]:
        """phi (m,), J (m, n) and bias (m,) of constraints, phi'' = J qdd + bias, at q, qd (n,) of all joints."""
        m, n = len(rows), len(q)
        phi, J, bias = np.empty(m), np.empty((m, n)), np.empty(m)
        with self.model.workspaces.one() as record:
            compiled_call(constraint_terms, record, rows, np.array(q), qd, phi, J, bias)  # q may be read-only
        return phi, J, bias

    def gaps(self, q: Floats) -> tuple[Floats, Floats]:
        """How far (m + f,) constraints, and axes that should face each other, are from being met, and d gaps / dq."""
        rest = np.zeros(self.mechanism.n)
        phi, J, _ = self.terms(self.all_rows, q, rest)
        facing, J_f, _ = self.terms(self._facing, q, rest)
        return np.concatenate([phi, facing - 1.0]), np.concatenate([J, J_f])

    def opening(self, q: Floats) -> float:
        """The largest of the gaps."""
        return float(np.abs(self.gaps(q)[0]).max())

    def worst(self, q: Floats) -> tuple[str, str]:
        """The loop that is open most, and by how much: the distance in m, or else the angle in rad."""
        gaps = self.gaps(q)[0]
        owners = np.array(self.owners + self._facing_owners)
        k = owners[np.argmax(np.abs(gaps))]
        phi, facing = np.split(np.where(owners == k, gaps, 0.0), [len(self.all_rows)])
        turns = self.all_rows[:, TYPE] == 1.0
        apart = float(np.linalg.norm(phi[~turns]))
        turned = np.arccos(np.clip(1.0 + facing, -1.0, 1.0)).max(initial=0.0)
        angle = max(np.arcsin(np.abs(phi[turns])).max(initial=0.0), turned)
        return self.names[k], f"{apart:.3g} m" if apart > CLOSED else f"{angle:.3g} rad"

    # how singular

    def distance(self, q: Floats) -> float:
        """From a singularity: the smallest singular value of the passive joints' Jacobian, lengths over `size`."""
        if len(self.free) == 0:
            return 1.0
        return float(np.linalg.svd(self._scaled_passive_jacobian(q), compute_uv=False)[-1])

    def weakest_loop(self, q: Floats) -> str:
        """The loop that determines the passive joints least at positions q (n,) of all joints."""
        J = self._scaled_passive_jacobian(q)
        weakest = np.linalg.svd(J)[0][:, min(J.shape) - 1]
        return self.names[self.owners[int(np.argmax(np.abs(weakest)))]]

    def _scaled_passive_jacobian(self, q: Floats) -> Floats:
        """J_p of all constraints with lengths measured in `size`: numbers without units."""
        rows = self.all_rows
        J = self.terms(rows, q, np.zeros(self.mechanism.n))[1][:, self.free]
        slides = self.mechanism.joint_type[rows[:, FIRST].astype(int) - 1] == PRISMATIC
        J[(rows[:, TYPE] == 0.0) | ((rows[:, TYPE] == FOLLOWS) & slides)] /= self.size
        J[:, self.mechanism.joint_type[self.free] == PRISMATIC] *= self.size
        return J

    @cached_property
    def size(self) -> float:
        """The mechanism's characteristic length, m: the largest distance between the joints on a body."""
        arms = [self.mechanism.p]
        arms += [np.array([loop.first.p, loop.second.p]) for loop in self.mechanism.loops]
        return float(np.linalg.norm(np.concatenate(arms), axis=1).max()) or 1.0

    # assembly

    def _assembled(self, q: Floats) -> Floats:
        """A closed configuration near q: its active joints stay if the loops can be closed so."""
        rng = np.random.default_rng(0)
        # a third of what a joint may be off at the start: rad, or m
        reach = np.where(self.mechanism.joint_type == PRISMATIC, self.size / 3.0, 1.0)
        nearest = q
        for free in (self.free, np.arange(len(q))):
            for attempt in range(ATTEMPTS if len(free) else 1):
                start = q.copy()
                start[free] += min(attempt, 3) * rng.uniform(-1.0, 1.0, len(free)) * reach[free]
                found = self.closed_from(start, free)
                if self.opening(found) <= CLOSED:
                    return found
                nearest = min(nearest, found, key=lambda at: float(np.linalg.norm(self.gaps(at)[0])))
        name, by = self.worst(nearest)
        raise ClosureError(
            f"{self.name}: loop '{name}' cannot be closed near the described configuration; it stays open by {by}"
        )

    def _regular(self, q: Floats) -> Floats:
        """The closed configuration q (n,) where it is regular, else a regular one nearby, with a warning.

        For descriptions that say no assembly. Where none is found it is q, and what is wrong with q is said elsewhere.
        """
        if self._conditioning(q) > RANK:
            return q
        rng = np.random.default_rng(0)
        elsewhere = q + rng.uniform(-0.1, 0.1, len(q))
        J = self.terms(self.all_rows, elsewhere, np.zeros(len(q)))[1]
        if len(q) - _rank(J) > len(self._with_sprung(self.joints, elsewhere)):
            return q  # drives are missing, not a better configuration
        reach = np.where(self.mechanism.joint_type == PRISMATIC, self.size / 3.0, 1.0)
        for attempt in range(1, 2 * ATTEMPTS + 1):
            aside = rng.uniform(-1.0, 1.0, len(q)) * reach * min(0.1 * attempt, 1.0)
            found = self.closed_from(q + aside, np.arange(len(q)))
            if self.opening(found) <= CLOSED and self._conditioning(found) > REGULAR:
                warnings.warn(
                    f"{self.name}: the zero configuration is singular and no assembly is described; the loops start"
                    f" from {numbers_text(found)} instead, which a robot YAML says as `assembly`",
                    DescriptionWarning,
                    stacklevel=5,
                )
                return found
        return q

    def _conditioning(self, q: Floats) -> float:
        """How well the active joints, and those that springs hold, determine the others at q (n,): 0, not at all."""
        J = self.terms(self.all_rows, q, np.zeros(len(q)))[1]
        joints = self._with_sprung(self.joints, q)
        if len(q) - _rank(J) != len(joints):
            return 0.0
        sizes = np.linalg.svd(np.delete(J, joints, axis=1), compute_uv=False)
        return float(sizes[-1] / sizes[0]) if len(sizes) else 1.0

    def closed_from(self, q: Floats, free: Any) -> Floats:
        """Where the loops are open least near q, moving the free joints."""

        def at(x: Floats) -> Floats:
            full = q.copy()
            full[free] = x
            return full

        if len(free) == 0:
            return q
        answer = least_squares(
            lambda x: self.gaps(at(x))[0], q[free], lambda x: self.gaps(at(x))[1][:, free],
            xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=200,
        )  # fmt: skip
        return at(answer.x)

    def _check_mobility(self) -> None:
        n, a = self.mechanism.n, len(self.joints)
        J = self.terms(self.all_rows, self.reference, np.zeros(n))[1]
        rank = _rank(J)
        mobility = n - rank
        if mobility != a:
            elsewhere = self.reference + np.random.default_rng(0).uniform(-0.1, 0.1, n)
            if n - _rank(self.terms(self.all_rows, elsewhere, np.zeros(n))[1]) == a:
                raise SingularityError(
                    f"{self.name}: the described configuration is singular, its loops let {mobility} joints move where"
                    f" {a} are active; describe another one as `assembly`"
                )
            which = "over" if a > mobility else "under"
            raise DescriptionError(
                f"{self.name} is {which}-actuated: {n} joints less {rank} independent constraints"
                f" (of {len(J)}) leave a mobility of {mobility}, but {a} joints are active or held by springs"
            )


def cycles_of(m: Mechanism) -> tuple[Floats, Floats]:
    """The joints of every loop, and of every pair of which one follows, and where each of these begins, and the end."""
    joints: list[int] = []
    starts = [0]
    for loop in m.loops:
        ways: list[set[int]] = []
        for at in (loop.first.body, loop.second.body):
            ways.append(set())
            while at != BASE:
                ways[-1].add(at)
                at = int(m.parent[at])
        joints += sorted(ways[0] ^ ways[1])
        starts.append(len(joints))
    for j in np.flatnonzero(~leaders(m)):
        joints += [int(j), int(m.mimic.leader[j])] if m.mimic is not None else []
        starts.append(len(joints))
    return np.array(joints, float), np.array(starts, float)


def leaders(m: Mechanism) -> Bools:
    """(n,) which joints do not follow others."""
    return np.ones(m.n, bool) if m.mimic is None else m.mimic.leader == np.arange(m.n)


def _rank(J: Floats) -> int:
    return int(np.linalg.matrix_rank(J, RANK * np.abs(J).max()))


def numbers_text(q: Floats) -> str:
    """Positions in a sentence."""
    return "[" + ", ".join(f"{x:.6g}" for x in q) + "]"
