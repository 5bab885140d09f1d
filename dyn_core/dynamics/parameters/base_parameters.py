"""Base inertial parameters: the smallest set of numbers on which the dynamics of a fixed-base tree depends.

Two independent ways. `base_parameters` applies the closed-form rules of Gautier and Khalil (1990) and of Khalil and
Bennis (1994) body by body, from the leaves to the base, stated for any placement (R, p) of the joint frames instead of
Denavit-Hartenberg parameters. `base_parameters_by_rank` finds the same set from the rank of the regressor.

The rules follow from the energy of a body in its parent's motion. A body's inertia splits into what its joint cannot
tell from a part of the parent (which is grouped with the parent) and the rest:

    revolute    J = diag(YY, YY, 0), MS = (0, 0, MZ) and M look the same at every angle: grouped with the parent.
    prismatic   J turns as the parent does: grouped with the parent.

Near the base a body does not move in every way, so more is grouped or has no effect at all. Let a path's bodies
translate (no revolute joint yet), turn about one direction a (all revolute axes so far parallel), or turn freely:

    translates   Only M has an effect. Ia is grouped with M where the joint's axis is perpendicular to gravity and to
                 the prismatic axes before it: DIa_j = DM_j - DM_parent, D being a parameter's effect.
    turns on a   Only ZZ, MX, MY (revolute), or M and the part of MS across a (prismatic), have an effect. MX and MY
                 have none where the axis is fixed in space (but for sliding along itself) and along gravity. A
                 prismatic joint along a leaves MX and MY to the parent, and Ia is grouped with M as above.
    turns        The two rules above. Without gravity, MX and MY of a body of whose axis a point is fixed in space are
                 grouped with XZ and YZ.

Ia of a revolute joint is grouped with ZZ where the parent cannot turn about the joint's axis: the parent translates,
or turns on a direction perpendicular to that axis.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import qr

from dyn_core.arrays import Floats, Ints
from dyn_core.errors import InputError
from dyn_core.jit.kernel import compiled_call
from dyn_core.mechanism import BASE, PRISMATIC, Mechanism
from dyn_core.spatial.poses import skew

from ..tree.record import pack
from .regressor import FS, FV, IA, INERTIAL, WIDTH, parameter_names, regressor

XX, XY, XZ, YY, YZ, ZZ, MX, MY, MZ, M = range(INERTIAL)
TRANSLATES, TURNS_ON_ONE_DIRECTION, TURNS_FREELY = range(3)
SAME = 1e-9  # directions (rad) and points (m) closer than this are taken for the same
ROUNDING = 1e-12  # coefficients below this part of the largest in a sum are taken for zero
RANK = 1e-9  # pivots of the regressor below this part of the largest are taken for zero


@dataclass(frozen=True)
class BaseParameters:
    """b base parameters of a mechanism: beta = K chi, with tau = Y[:, columns] beta for every motion."""

    parameter_names: tuple[str, ...]
    """Names of all 13 n standard parameters."""
    selected: Ints
    """Indices of the standard parameters that were considered (rotors and friction may be left out)."""
    columns: Ints
    """(b,) index of the standard parameter that stands for each base parameter."""
    K: Floats
    """(b, 13 n) grouping; its columns `columns` are the identity."""

    @property
    def names(self) -> tuple[str, ...]:
        """(b,) each base parameter bears the name of the standard parameter that stands for it."""
        return tuple(self.parameter_names[c] for c in self.columns)

    @property
    def no_effect(self) -> tuple[str, ...]:
        """Standard parameters that no motion can show."""
        silent = np.abs(self.K).max(axis=0, initial=0.0) <= ROUNDING
        return tuple(self.parameter_names[k] for k in self.selected if silent[k])

    def values(self, chi: Floats) -> Floats:
        """beta (b,) of standard parameters chi (13 n,)."""
        return np.asarray(self.K @ chi)

    def expressions(self, digits: int = 6) -> tuple[str, ...]:
        """(b,) each base parameter as a sum of standard ones, e.g. `ZZ_link1 + Ia_joint1 + 0.25 M_link2`."""
        return tuple(_sum(row, self.parameter_names, c, digits) for row, c in zip(self.K, self.columns, strict=True))

    def regrouped(self, columns: Ints) -> BaseParameters:
        """The same set, with other standard parameters standing for its members."""
        block = self.K[:, columns]
        if len(columns) != len(self.columns) or np.linalg.matrix_rank(block) < len(columns):
            raise InputError("these standard parameters do not make a set of base parameters")
        return BaseParameters(self.parameter_names, self.selected, columns, np.linalg.solve(block, self.K))


def _sum(row: Floats, names: tuple[str, ...], first: int, digits: int) -> str:
    text = names[first]
    for k in np.flatnonzero(np.abs(row) > ROUNDING * np.abs(row).max()):
        if k != first:
            factor = "" if abs(row[k]) == 1.0 else f"{abs(row[k]):.{digits}g} "
            text += f" {'-' if row[k] < 0.0 else '+'} {factor}{names[k]}"
    return text


def selected_parameters(n: int, rotor: bool, friction: bool) -> Ints:
    """Indices of the standard parameters of n bodies, with or without Ia and Fv, Fs."""
    kinds = [*range(INERTIAL), *([IA] if rotor else []), *([FV, FS] if friction else [])]
    return np.array([WIDTH * j + k for j in range(n) for k in kinds], dtype=np.int64)


def transport(R: Floats, p: Floats) -> Floats:
    """(10, 10): inertial parameters in a frame that stands at (R, p), seen from the frame that it stands in."""
    X = np.zeros((INERTIAL, INERTIAL))
    rows, columns = np.triu_indices(3)
    for k in range(INERTIAL):
        unit = np.zeros(INERTIAL)
        unit[k] = 1.0
        J = np.zeros((3, 3))
        J[rows, columns] = unit[:6]
        J = J + J.T - np.diag(np.diag(J))
        ms, m = R @ unit[6:9], unit[9]
        P, S = skew(p), skew(ms)
        moved = R @ J @ R.T - P @ S - S @ P - m * P @ P
        X[:6, k] = moved[rows, columns]
        X[6:9, k] = ms + m * p
        X[9, k] = m
    return X


@dataclass
class _Motion:
    """How a body can move, as far as the rules ask."""

    stage: int = TRANSLATES
    R: Floats = field(default_factory=lambda: np.eye(3))
    """Orientation in the base frame with all joints at zero."""
    a: Floats = field(default_factory=lambda: np.full(3, np.nan))
    """The direction, in the base frame, that a body of the second stage turns on."""
    slides: list[Floats] = field(default_factory=list)
    """Directions, in the base frame, of the prismatic joints before the free stage."""
    axis_point: Floats | None = None
    """Second stage: a point, in the body frame, of a line along a that can slide along itself only."""
    fixed_point: Floats | None = None
    """Third stage: a point, in the body frame, that is fixed in space."""


def _parallel(u: Floats, v: Floats) -> bool:
    return bool(np.linalg.norm(np.cross(u, v)) < SAME)


def _motions(mechanism: Mechanism) -> list[_Motion]:
    motions: list[_Motion] = []
    for j in range(mechanism.n):
        i = int(mechanism.parent[j])
        up = _Motion() if i == BASE else motions[i]
        to_parent, p = mechanism.R[j], mechanism.p[j]
        R = up.R @ to_parent
        z = R[:, 2]
        motion = _Motion(up.stage, R, up.a, list(up.slides))
        if mechanism.joint_type[j] == PRISMATIC:
            motion.slides.append(z)
            if up.stage == TURNS_ON_ONE_DIRECTION and up.axis_point is not None and _parallel(z, up.a):
                motion.axis_point = to_parent.T @ (up.axis_point - p)
        elif up.stage == TRANSLATES:
            motion.stage, motion.a = TURNS_ON_ONE_DIRECTION, z
            if all(_parallel(slide, z) for slide in up.slides):
                motion.axis_point = np.zeros(3)
        elif up.stage == TURNS_ON_ONE_DIRECTION and _parallel(z, up.a):
            if up.axis_point is not None and _on_axis(to_parent, p, up.axis_point) is not None:
                motion.axis_point = np.zeros(3)
        else:
            motion.stage = TURNS_FREELY
            motion.fixed_point = _fixed_point(up, to_parent, p)
        motions.append(motion)
    return motions


def _on_axis(R: Floats, p: Floats, point: Floats) -> Floats | None:
    """A point of the parent in the frame at (R, p), if it lies on that frame's z axis."""
    seen = R.T @ (point - p)
    return seen if np.linalg.norm(seen[:2]) < SAME else None


def _fixed_point(up: _Motion, R: Floats, p: Floats) -> Floats | None:
    """The point of a freely turning body's axis that is fixed in space, in the body frame."""
    if up.slides:
        return None
    if up.stage == TURNS_FREELY:
        return None if up.fixed_point is None else _on_axis(R, p, up.fixed_point)
    if up.axis_point is None:
        return None
    start, direction = R.T @ (up.axis_point - p), R.T @ up.R.T @ up.a  # the parent's fixed line in the body frame
    along = -(start[:2] @ direction[:2]) / (direction[:2] @ direction[:2])
    nearest = start + along * direction
    return nearest if np.linalg.norm(nearest[:2]) < SAME else None


def base_parameters(mechanism: Mechanism, rotor: bool = True, friction: bool = True) -> BaseParameters:
    """The base parameters by the closed-form rules; rotor, friction: whether Ia, and Fv and Fs, are considered."""
    n = mechanism.n
    motions = _motions(mechanism)
    seen = np.zeros((n + 1, INERTIAL, WIDTH * n))  # each body's parameters as sums of standard ones; the base last
    for j in range(n):
        seen[j, :, WIDTH * j : WIDTH * j + INERTIAL] = np.eye(INERTIAL)
    kept: dict[int, Floats] = {}
    for j in reversed(range(n)):
        body, parent, motion = seen[j], seen[mechanism.parent[j]], motions[j]
        first = WIDTH * j
        up = _Motion() if mechanism.parent[j] == BASE else motions[mechanism.parent[j]]
        X = transport(mechanism.R[j], mechanism.p[j])
        Ia = np.zeros(WIDTH * n)
        Ia[first + IA] = 1.0
        if mechanism.joint_type[j] == PRISMATIC:
            kinds, rotor_grouped = _slide(body, parent, X, motion, up, mechanism.gravity)
            if rotor and rotor_grouped:
                body[M] += Ia
                parent -= np.outer(X[:, M], Ia)
        else:
            kinds, rotor_grouped = _turn(body, parent, X, motion, up, mechanism.gravity)
            if rotor and rotor_grouped:
                body[ZZ] += Ia
        kept.update({first + kind: body[kind] for kind in kinds})
        if rotor and not rotor_grouped:
            kept[first + IA] = Ia
        for kind in (FV, FS) if friction else ():
            kept[first + kind] = np.eye(1, WIDTH * n, first + kind)[0]
    columns = np.array(sorted(kept), dtype=np.int64)
    return BaseParameters(
        parameter_names(mechanism),
        selected_parameters(n, rotor, friction),
        columns,
        np.array([kept[c] for c in columns.tolist()]),
    )


def _turn(
    body: Floats, parent: Floats, X: Floats, motion: _Motion, up: _Motion, gravity: Floats
) -> tuple[list[int], bool]:
    """A revolute joint: group in place; which kinds of parameter stay, and whether Ia is grouped with ZZ."""
    parent += np.outer(X[:, XX] + X[:, YY], body[YY]) + np.outer(X[:, MZ], body[MZ]) + np.outer(X[:, M], body[M])
    body[XX] -= body[YY]
    z = motion.R[:, 2]
    if motion.stage == TURNS_ON_ONE_DIRECTION:
        silent = motion.axis_point is not None and _parallel(gravity, z)
        return [ZZ] if silent else [ZZ, MX, MY], up.stage == TRANSLATES
    rotor_grouped = up.stage == TURNS_ON_ONE_DIRECTION and bool(abs(z @ up.a) < SAME)
    if motion.fixed_point is not None and not gravity.any():
        body[XZ] += motion.fixed_point[2] * body[MX]
        body[YZ] += motion.fixed_point[2] * body[MY]
        return [XX, XY, XZ, YZ, ZZ], rotor_grouped
    return [XX, XY, XZ, YZ, ZZ, MX, MY], rotor_grouped


def _slide(
    body: Floats, parent: Floats, X: Floats, motion: _Motion, up: _Motion, gravity: Floats
) -> tuple[list[int], bool]:
    """A prismatic joint: group in place; which kinds of parameter stay, and whether Ia is grouped with M."""
    z = motion.R[:, 2]
    parent += X[:, :6] @ body[:6]
    if motion.stage == TURNS_FREELY:
        return [MX, MY, MZ, M], False
    across = all(abs(direction @ z) < SAME for direction in (gravity, *up.slides))
    if motion.stage == TRANSLATES:
        return [M], across
    if _parallel(z, motion.a):
        parent += X[:, MX : MZ + 1] @ body[MX : MZ + 1]
        return [M], across
    along = motion.R.T @ motion.a
    k = int(np.argmax(np.abs(along)))
    body[MX : MZ + 1] -= np.outer(along / along[k], body[MX + k])
    return [kind for kind in (MX, MY, MZ) if kind != MX + k] + [M], False


def base_parameters_by_rank(
    mechanism: Mechanism, rotor: bool = True, friction: bool = True, seed: int = 0
) -> BaseParameters:
    """The base parameters from the regressor at random states, by QR with column pivoting.

    W P = Q R with R = [R1 R2; 0 0]: the first b pivots are independent columns, and K = R1^-1 R2 groups the others.
    """
    n = mechanism.n
    selected = selected_parameters(n, rotor, friction)
    rng = np.random.default_rng(seed)
    count = max(60, 2 * len(selected))
    q, qd, qdd = (rng.uniform(-2.0, 2.0, (count, n)) for _ in range(3))
    Y = np.empty((count, n, WIDTH * n))
    compiled_call(regressor.rows, pack(mechanism), q, qd, qdd, Y)
    W = Y.reshape(-1, WIDTH * n)[:, selected]
    norms = np.linalg.norm(W, axis=0)
    effective = norms > RANK * norms.max()
    scale = np.where(effective, norms, 1.0)
    _, R, pivots = qr(np.where(effective, W / scale, 0.0), mode="economic", pivoting=True)
    sizes = np.abs(np.diag(R))
    b = int((sizes > RANK * sizes[0]).sum())
    grouping = np.zeros((b, len(selected)))
    grouping[:, pivots[:b]] = np.eye(b)
    grouping[:, pivots[b:]] = np.linalg.solve(R[:b, :b], R[:b, b:])
    grouping *= scale / scale[pivots[:b], None]
    grouping[:, ~effective] = 0.0
    K = np.zeros((b, WIDTH * n))
    K[:, selected] = grouping
    order = np.argsort(selected[pivots[:b]])
    return BaseParameters(parameter_names(mechanism), selected, selected[pivots[:b]][order], K[order])
