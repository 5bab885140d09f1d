"""The virtual-joint method for a whole mechanism: compliant links and actuators become springs in virtual joints.

`VirtualJoints` adds six joints at the tip of every compliant link, three that slide and three that turn, held by the
link's compliance; the Jacobians are those of any tree, so chains may branch and close in any way, over-constrained or
not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.constraints import TYPE, constraint_terms, pack_rows
from dyn_core.dynamics.tree.model import TreeModel
from dyn_core.dynamics.tree.state_kernels import frame_jacobian, frame_pose
from dyn_core.errors import InputError, SingularityError
from dyn_core.jit.kernel import compiled_call
from dyn_core.mechanism import BASE, OWN_LINK, PRISMATIC, REVOLUTE, Compliance, Frame, Mechanism

from .beam_column import loaded_stiffness
from .cartesian import (
    LOADED,
    RANK_TOLERANCE,
    Stiffness,
    Structure,
    block_diagonal,
    compliance_root,
    compliant_modes,
    frame_stiffness,
)

STEP = 1e-5  # m or rad, of the differences that give the congruence term
BENT = 0.25  # rad, by which a link may be bent where its stiffness under load is asked
MATRIX = 0.05  # part of a link's stiffness that its load changes, above which a link without a shape is spoken of
UNSTABLE = "the equilibrium under this wrench is not stable"
ILL = 1e-12  # inverse condition number below which a loaded structure counts as singular


class _Link(NamedTuple):
    """A compliant link, and where its six coordinates are among the springs."""

    name: str
    rows: slice
    compliance: Compliance


class VirtualJoints:
    """A mechanism with springs in place of what gives way: its joints' stiffnesses and its links' compliances.

    A joint with a stiffness is a spring; one without is rigid if it is active, and free if it is passive. A joint that
    follows another moves with it.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.name = mechanism.name
        self.n = mechanism.n
        extended, self.of_joint, blocks = _extended(mechanism)
        self.mechanism = extended
        """With six joints more per link that gives way."""
        self._model = TreeModel(extended)
        self._rows, _ = pack_rows(extended)
        leads = np.ones(mechanism.n, bool)
        self._G = np.eye(extended.n)
        if (mimic := mechanism.mimic) is not None:
            leads = mimic.leader == np.arange(mechanism.n)
            own, led = self.of_joint, self.of_joint[mimic.leader]
            self._G[own, own] = 0.0
            self._G[own, led] = mimic.multiplier
        stiffness, yields = mechanism.stiffness, np.isfinite(mechanism.stiffness) & leads
        springs = [int(self.of_joint[j]) for j in np.flatnonzero(yields)]
        C = [np.diag(1.0 / stiffness[yields])]
        self._links = tuple(
            _Link(_name_of(mechanism, each), slice(len(springs) + 6 * k, len(springs) + 6 * k + 6), each)
            for k, each in enumerate(mechanism.compliances)
        )
        for block, compliance in zip(blocks, mechanism.compliances, strict=True):
            springs += block
            C.append(compliance.C)
        self.springs = np.array(springs, int)
        """(s,) which joints are springs."""
        self.passive = self.of_joint[leads & ~yields & ~mechanism.active]
        """(p,) which are free."""
        self._L = compliance_root(block_diagonal(C))
        arms = [extended.p, *(np.array([loop.first.p, loop.second.p]) for loop in extended.loops)]
        self._size = float(np.linalg.norm(np.concatenate(arms), axis=1).max()) or 1.0
        self._spring = "spring" if blocks else "joint"

    def at(self, q: Floats) -> Floats:
        """Positions of all joints, virtual ones too, where the mechanism's own are at q (n,) and nothing is loaded."""
        x = np.zeros(self.mechanism.n)
        x[self.of_joint] = q
        return x

    def stiffness(self, q: Floats, frame: str, wrench: Floats | None = None) -> Stiffness:
        """Of a frame at closed positions q (n,) of all joints, unloaded, or in which they stand under a wrench (6,)."""
        x = self.at(q)
        point = self.pose(x, frame)[:3, 3]
        if wrench is not None and np.any(wrench):
            return self._loaded(x, frame, np.asarray(wrench, float), point)
        return frame_stiffness(self._structure(x, frame), point, frame, self._spring)

    @property
    def is_open(self) -> bool:
        """Whether there are neither closed chains nor free joints: then C = E L L^T E^T, with nothing to be solved."""
        return len(self._rows) == 0 and len(self.passive) == 0

    def compliances(self, q: Floats, frame: str) -> Floats:
        """C (m, 6, 6) of a frame at positions q (m, n) of all joints of an open structure, on all cores."""
        x = np.zeros((len(q), self.mechanism.n))
        x[:, self.of_joint] = q
        E = np.empty((len(x), 6, self.mechanism.n))
        self._model.batch(frame_jacobian, (len(x),), E, [self._model.frame(frame)], x)
        Y = E @ (self._G[:, self.springs] @ self._L)
        return Y @ Y.transpose(0, 2, 1)

    def _loaded(self, x: Floats, frame: str, w: Floats, point: Floats) -> Stiffness:
        """The conservative congruence transformation of Chen and Kao, for any structure.

        With energy |y|^2 / 2 and closure A(c) = 0, equilibrium is g(c) = (y, 0) - E(c)^T w + A(c)^T lambda = 0 in the
        coordinates c = (y, q). A change of the wrench then moves them by (dg/dc) dc + A^T dlambda = E^T dw, A dc = 0.
        Springs are taken as already deflected where they stand; K is not symmetric under a moment, whose axes are the
        base's. A link's coordinates are the shift and the rotation vector of its tip, so that its section's axes do not
        matter; a bar's own stiffness under load is that of `beam_column`.
        """
        s = self._structure(x, frame)
        unit = np.array([s.length] * 3 + [1.0] * 3)
        Y = compliant_modes(s)
        Z = np.hstack([Y.held, Y.loose])
        T, r = Y.T @ Z, Y.held.shape[1]
        push = T.T @ (unit * w)
        if len(push) > r and np.abs(push[r:]).max() > LOADED * np.linalg.norm(unit * w):
            raise SingularityError(f"{self.name}: there is no equilibrium under this wrench: a passive joint gives way")
        c = Y.N @ Y.held @ push[:r]
        c[s.E_y.shape[1] :] = 0.0
        B = np.zeros((len(x), s.E_y.shape[1] + s.E_q.shape[1]))
        B[self.springs, : s.E_y.shape[1]] = self._L
        B[self.passive, np.arange(s.E_y.shape[1], B.shape[1])] = 1.0
        A = self.closure(x)[1] @ B
        E = self.jacobian(x, frame) @ B
        forces = np.linalg.lstsq(A.T, E.T @ w - c, rcond=1e-12)[0]
        H = np.zeros((B.shape[1], B.shape[1]))
        carried = (self.jacobian(x, frame).T @ w - self.closure(x)[1].T @ forces)[self.springs]
        H[: s.E_y.shape[1], : s.E_y.shape[1]], said = self._springs_under_load(carried)
        for j, way in enumerate(B.T):
            h = STEP / np.abs(way).max()
            step = h * self._G @ way
            ahead, behind = (
                self.closure(at)[1].T @ forces - self.jacobian(at, frame).T @ w for at in (x + step, x - step)
            )
            H[:, j] += B.T @ (ahead - behind) / (2.0 * h)
        N = Y.N @ Z
        H = N.T @ H @ N
        stable = np.linalg.eigvalsh(0.5 * (H + H.T))[0] > -RANK_TOLERANCE if len(H) else True
        if not (stable or said.startswith(UNSTABLE)):
            said = f"{UNSTABLE}: the structure buckles"
        null = np.zeros((6, 0))
        sigma = np.linalg.svd(T, compute_uv=False)
        if len(H) == 0 or np.linalg.cond(H) > 1.0 / ILL or len(sigma) < 6 or sigma[5] < RANK_TOLERANCE * sigma[0]:
            return self._loaded_partly(H, T, unit, point, frame, said)
        C = T @ np.linalg.solve(H, T.T)
        K = np.linalg.inv(C) / np.outer(unit, unit)
        return Stiffness(frame, point, C * np.outer(unit, unit), K, 6, said, null)

    def _springs_under_load(self, carried: Floats) -> tuple[Floats, str]:
        """(r, r) second derivatives of the energy by y where springs carry forces (s,), and what there is to say."""
        H, said = np.eye(self._L.shape[1]), ""
        for name, rows, link in self._links:
            C, bar = link.C, link.bar
            f, m = carried[rows][:3], carried[rows][3:]
            # from the angles of turns about x, y, z in a row, which the tree has, to the rotation vector
            change = np.zeros((6, 6))
            for (i, j), moment in {(4, 5): m[0], (3, 5): -m[1], (3, 4): m[2]}.items():
                change[i, j] = change[j, i] = 0.5 * moment
            if bar is not None:
                bent = float(np.linalg.norm(C[3:] @ carried[rows]))
                if bent > BENT:
                    raise InputError(
                        f"{self.name}: the wrench bends link '{name}' by {bent:.2g} rad, and the stiffness under load"
                        f" holds for small deflections, up to {BENT:g} rad"
                    )
                try:
                    own, buckled = loaded_stiffness(bar, f, m)
                except InputError as error:
                    raise InputError(f"{self.name}: the wrench is too large for link '{name}': its {error}") from None
                change += own
                said = f"{UNSTABLE}: link '{name}' buckles between its ends" if buckled else said
            elif np.linalg.norm(C[3:, :3]) * np.linalg.norm(f) + np.linalg.norm(C[3:, 3:]) * np.linalg.norm(m) > MATRIX:
                said = said or f"link '{name}' is given by a matrix: how its load changes its own stiffness is left out"
            L = self._L[rows]
            H += L.T @ change @ L
        return H, said

    def _loaded_partly(self, H: Floats, T: Floats, unit: Floats, point: Floats, frame: str, said: str) -> Stiffness:
        """Where the frame is rigid in some directions only a compliance exists; where it is loose, only a stiffness."""
        if len(H) and np.linalg.cond(H) <= 1.0 / ILL:
            C = T @ np.linalg.solve(H, T.T) * np.outer(unit, unit)
            rank = int(np.linalg.matrix_rank(T, RANK_TOLERANCE * float(np.abs(T).max())))
            said = said or f"the frame is rigid in {6 - rank} of 6 directions; the compliance is given"
            return Stiffness(frame, point, C, None, rank, said, np.zeros((6, 0)))
        raise SingularityError(f"{self.name}: the stiffness under this wrench is singular; see it without the wrench")

    def pose(self, x: Floats, frame: str) -> Floats:
        """(4, 4) of a frame at positions x of all joints, virtual ones too."""
        pose = np.empty((4, 4))
        self._model.batch(frame_pose, (), pose, [self._model.frame(frame)], x)
        return pose

    def jacobian(self, x: Floats, frame: str) -> Floats:
        """(6, all joints)."""
        E = np.empty((6, len(x)))
        self._model.batch(frame_jacobian, (), E, [self._model.frame(frame)], x)
        return E @ self._G

    def closure(self, x: Floats) -> tuple[Floats, Floats]:
        """Opening (m,) of the loops, and its rates (m, all joints)."""
        m = len(self._rows)
        phi, A, bias = np.empty(m), np.empty((m, len(x))), np.empty(m)
        if m:
            with self._model.workspaces.one() as record:
                compiled_call(constraint_terms, record, self._rows, x, np.zeros_like(x), phi, A, bias)
        return phi, A

    def _structure(self, x: Floats, frame: str) -> Structure:
        E, (_, A) = self.jacobian(x, frame), self.closure(x)
        length = max(self._size, float(np.abs(E[:3]).max(initial=0.0)))
        A[self._rows[:, TYPE] == 0.0] /= length
        s, p = self.springs, self.passive
        return Structure(E[:, s] @ self._L, E[:, p], A[:, s] @ self._L, A[:, p], length)


def _name_of(m: Mechanism, link: Compliance) -> str:
    body = "base" if link.body == BASE else m.body_names[link.body]
    return body if link.on is None else f"fixed to {body}"


def _extended(m: Mechanism) -> tuple[Mechanism, Floats, list[list[int]]]:
    """The mechanism with virtual joints, the index of each of its own joints, and of each link's six virtual ones.

    Behind a joint come the virtual ones of its body's links, first those of links on the base.
    """
    own: dict[int, int] = {}
    for k, each in enumerate(m.compliances):
        if each.on is None and own.setdefault(each.body, k) != k:
            raise InputError(f"{m.name}: link '{m.body_names[each.body]}' has two compliances")
    order, begin, total = np.empty(m.n, int), np.empty(len(m.compliances), int), 0
    for j in range(BASE, m.n):
        if j != BASE:
            order[j], total = total, total + 1
        for k, each in enumerate(m.compliances):
            if each.body == j:
                begin[k], total = total, total + 6

    def placed(body: int, tip: int, R0: Floats, p0: Floats) -> tuple[int, Floats, Floats]:
        """The extended mechanism's body that carries a pose on a body, at a tip of it, and the pose in its frame."""
        k = tip if tip != OWN_LINK else own.get(body)
        if k is None:
            return BASE if body == BASE else int(order[body]), R0, p0
        at = m.compliances[k]
        return int(begin[k]) + 5, at.R.T @ R0, at.R.T @ (p0 - at.p)

    parent, kind = np.empty(total, np.int64), np.full(total, REVOLUTE, np.int64)
    R, p = np.empty((total, 3, 3)), np.zeros((total, 3))
    names, bodies = [""] * total, [""] * total
    for j, i in enumerate(order):
        tip = OWN_LINK if m.joint_tips is None else int(m.joint_tips[j])
        parent[i], R[i], p[i] = placed(int(m.parent[j]), tip, m.R[j], m.p[j])
        kind[i], names[i], bodies[i] = m.joint_type[j], m.joint_names[j], m.body_names[j]
    for k, (each, i) in enumerate(zip(m.compliances, begin, strict=True)):
        if each.on is None:
            first = int(order[each.body]), each.R, each.p
        else:
            first = placed(each.body, each.on, each.R, each.p)
        before = np.eye(3)
        for c in range(6):
            turned = np.roll(np.eye(3), -(c % 3) - 1, axis=1)  # z along axis c of the tip
            v = i + c
            parent[v], R[v], p[v] = (v - 1, before.T, np.zeros(3)) if c else first
            R[v] = R[v] @ turned
            kind[v] = PRISMATIC if c < 3 else REVOLUTE
            before = turned
            names[v], bodies[v] = f"link{k}_{'xyzrpq'[c]}", f"link{k}_tip_{c}"

    def on(frame: Frame) -> Frame:
        body, Rf, pf = placed(frame.body, frame.tip, frame.R, frame.p)
        return replace(frame, body=body, R=Rf, p=pf, tip=OWN_LINK)

    zero, infinite = np.zeros(total), np.full(total, np.inf)
    extended = Mechanism(
        name=m.name,
        description="",
        joint_names=tuple(names),
        body_names=tuple(bodies),
        parent=parent,
        joint_type=kind,
        R=R,
        p=p,
        M=zero,
        MS=np.zeros((total, 3)),
        J=np.zeros((total, 3, 3)),
        Ia=zero,
        Fv=zero,
        Fs=zero,
        stiffness=infinite,
        position_limits=np.tile([-np.inf, np.inf], (total, 1)),
        velocity_limits=infinite,
        effort_limits=infinite,
        active=np.zeros(total, bool),
        gravity=np.zeros(3),
        frames=tuple(on(frame) for frame in m.frames),
        loops=tuple(replace(loop, first=on(loop.first), second=on(loop.second)) for loop in m.loops),
    )
    return extended, order, [list(range(i, i + 6)) for i in begin]
