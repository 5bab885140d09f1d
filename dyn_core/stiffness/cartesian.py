"""Cartesian stiffness of a frame, and how far the frame gives way.

A structure of springs and passive joints moves a frame by t = E x when its coordinates x = (theta, q) change: the
springs by theta, which costs the energy theta^T C_theta^-1 theta / 2, the passive joints by q for nothing; closed
chains allow only what keeps A x = 0. Under a wrench w (linear first, base axes, at the frame's origin) the frame comes
to rest where the energy less w . t is least. What then holds between t and w is, direction by direction, one of three:

    the frame yields     w = K t, t = C w
    it is free           nothing resists; K has these null directions, and a wrench along one has no equilibrium
    it is rigid          no coordinate moves it there; K is infinite, C has these null directions

With a basis N of all x with A x = 0, springs measured so that their energy is |y|^2 / 2, and z the coordinates in that
basis, all three follow from the singular values of N's spring rows and of E N. For one leg with regular springs it is
the system (13)-(15) of Wu, Bai and Kepler; for legs side by side, A says that their ends move together, as (16) does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dyn_core.arrays import Floats

RANK_TOLERANCE = 1e-6  # of the largest singular value, lengths by a length of the structure
FREE = 1e-7  # springs' part of a motion below which it costs no energy
NO_ENERGY = 1e-12  # of the largest eigenvalue of a compliance, below which a direction is rigid
LOADED = 1e-7  # part of a wrench that may lie along a null direction before it counts as loading it
ROUNDING = 1e-12  # of a null direction's components


@dataclass(frozen=True)
class Deflection:
    """How far a frame gives way under a wrench."""

    wrench: Floats
    """(6,) N, N m."""
    motion: Floats
    """(6,) translation (m) and rotation (rad), base axes: the smallest of all that the wrench allows."""
    null_directions: Floats
    """(6, k) orthonormal columns: twists (m, rad) that nothing resists; any of them may be added to the motion."""
    load: Floats
    """(k,) what the wrench does along each null direction."""
    equilibrium: bool
    """Whether the frame comes to rest: the wrench loads no null direction."""
    statement: str
    """What there is to say about the answer, in a sentence; empty where the frame is held in all directions."""

    @property
    def shift(self) -> float:
        """How far the frame's origin moves, m."""
        return float(np.linalg.norm(self.motion[:3]))

    @property
    def turn(self) -> float:
        """By how much the frame turns, rad."""
        return float(np.linalg.norm(self.motion[3:]))


@dataclass(frozen=True)
class Stiffness:
    """Stiffness and compliance of a frame at one configuration, base axes, linear first."""

    frame: str
    point: Floats
    """(3,) the frame's origin in the base frame, m."""
    C: Floats
    """(6, 6) compliance: m/N, m/(N m), rad/N, rad/(N m); the pseudo-inverse of K where that is singular."""
    K: Floats | None
    """(6, 6) stiffness: N/m, N/rad, N m/m, N m/rad; None where it is not finite."""
    rank: int
    """Of C, and so of K where that exists: in how many of six directions the frame yields to a force."""
    statement: str
    """Empty where K exists and is regular, else what there is to say about it."""
    null_directions: Floats
    """(6, k) orthonormal columns: the twists (m, rad) that nothing resists, K's null space."""

    @property
    def singular(self) -> bool:
        """Whether there are directions in which nothing resists."""
        return bool(self.null_directions.shape[1])

    @property
    def eigenvalues(self) -> Floats:
        """(6,) of K, ascending; of C where there is no K."""
        return np.linalg.eigvalsh(self.C if self.K is None else 0.5 * (self.K + self.K.T))

    @property
    def condition(self) -> float:
        """Condition number of K; infinite where it does not exist or is singular."""
        return float("inf") if self.K is None or self.singular else float(np.linalg.cond(self.K))

    def deflection(self, wrench: Floats) -> Floats:
        """(6,) translation (m) and rotation (rad) of the frame under a wrench (N, N m), small; see `deflected`."""
        return self.C @ wrench

    def deflected(self, wrench: Floats) -> Deflection:
        """The deflection, the directions that nothing holds, and whether there is an equilibrium at all."""
        w = np.asarray(wrench, float)
        load = self.null_directions.T @ w
        held = bool((np.abs(load) <= loading_scale(self.null_directions, w)).all())
        return Deflection(w, self.C @ w, self.null_directions, load, held, self._said(held))

    def _said(self, held: bool) -> str:
        if not self.singular:
            return ""
        ways = _ways(self.null_directions)
        if held:
            return f"nothing resists {ways}, but the wrench does not load that; the smallest deflection is given"
        return (
            f"there is no equilibrium: the wrench loads a motion that nothing resists ({ways}); the smallest deflection"
            " under the rest of the wrench is given"
        )


def _ways(null_directions: Floats) -> str:
    """Null directions in words."""
    return " and ".join(_way(column) for column in null_directions.T)


def _way(twist: Floats) -> str:
    v, w = twist[:3], twist[3:]
    if np.linalg.norm(w) < 1e-6:
        return f"a shift along {_vector(v / np.linalg.norm(v))}"
    size = np.linalg.norm(w)
    text = f"a turn about {_vector(w / size)}"
    return text if np.linalg.norm(v) < 1e-6 * size else f"{text} with a shift of {_vector(v / size)} m/rad"


def _vector(v: Floats) -> str:
    return "[" + ", ".join(f"{x + 0.0:.4g}" for x in np.round(v, 9)) + "]"


def loading_scale(directions: Floats, w: Floats) -> Floats:
    """(k,) the work of a wrench (6,) along unit twists (6, k) below which it loads them by rounding only."""
    sizes = np.array([np.linalg.norm(w[:3]), np.linalg.norm(w[3:])])
    parts = np.stack([np.linalg.norm(directions[:3], axis=0), np.linalg.norm(directions[3:], axis=0)], axis=1)
    return np.asarray((LOADED * parts + ROUNDING) @ sizes)


def from_factor(S: Floats, null_directions: Floats, point: Floats, frame: str) -> Stiffness:
    """The answer for K = S^T S, S (m, 6), with known null directions (6, k), orthonormal."""
    held = _complement(null_directions)
    half = held @ np.linalg.inv(np.linalg.qr(S @ held, mode="r"))
    statement = _singular(null_directions) if null_directions.shape[1] else ""
    K, C = S.T @ S, half @ half.T
    return Stiffness(frame, point, C, K, held.shape[1], statement, null_directions)


def _singular(null_directions: Floats) -> str:
    return f"singular stiffness: nothing resists {_ways(null_directions)}; the compliance is that of the rest"


def _complement(columns: Floats) -> Floats:
    """Orthonormal columns that span what is at right angles to orthonormal columns (6, k)."""
    return np.linalg.svd(columns)[0][:, columns.shape[1] :] if columns.shape[1] else np.eye(6)


@dataclass(frozen=True)
class Structure:
    """Springs, passive joints and closed chains, as a frame sees them; columns of springs cost |y|^2 / 2."""

    E_y: Floats
    """(6, s) motion of the frame per spring coordinate."""
    E_q: Floats
    """(6, p) motion of the frame per passive coordinate."""
    A_y: Floats
    """(m, s) opening of the closed chains per spring coordinate."""
    A_q: Floats
    """(m, p)."""
    length: float
    """m, by which lengths are measured where ranks are decided."""


@dataclass(frozen=True)
class CompliantModes:
    """What a structure allows: E N z with the energy |y|^2 / 2, y = N_y z."""

    N: Floats
    """(s + p, k) basis of the motions that keep the chains closed."""
    T: Floats
    """(6, k) motion of the frame, lengths measured by `length`."""
    held: Floats
    """(k, r) combinations that cost energy, of unit energy."""
    loose: Floats
    """(k, k - r) combinations that cost none."""


def compliant_modes(s: Structure) -> CompliantModes:
    """The motions that a structure allows, those that cost energy apart from those that do not."""
    springs = s.E_y.shape[1]
    if len(s.A_y) == 0 and s.E_q.shape[1] == 0:  # every spring for itself
        T = s.E_y / np.array([s.length] * 3 + [1.0] * 3)[:, None]
        return CompliantModes(np.eye(springs), T, np.eye(springs), np.zeros((springs, 0)))
    E = np.hstack([s.E_y, s.E_q])
    E[:3] /= s.length
    size = np.ones(E.shape[1])
    if springs:
        size[:springs] = max(float(np.abs(E[:, :springs]).max()), float(np.abs(s.A_y).max(initial=0.0))) or 1.0
    A = np.hstack([s.A_y, s.A_q]) / size
    N = _null_space(A, 1e-9) if len(A) else np.eye(len(size))
    T = (E / size) @ N
    _, sigma, V = np.linalg.svd(N[:springs], full_matrices=True)
    rank = int((sigma > FREE).sum())
    held = V[:rank].T * (size[0] / sigma[:rank]) if rank else V[:0].T
    return CompliantModes(N / size[:, None], T, held, V[rank:].T)


def frame_stiffness(s: Structure, point: Floats, frame: str, spring: str = "spring") -> Stiffness:
    """The stiffness of the frame that a structure carries; spring: what to call one of its springs.

    Lengths count in units of `s.length` where ranks are decided; null directions are orthonormal, and the deflection is
    smallest, in m and rad.
    """
    y = compliant_modes(s)
    springs = s.E_y.shape[1]
    unit = np.array([s.length] * 3 + [1.0] * 3)
    free = _range(y.T @ y.loose, RANK_TOLERANCE)
    null = np.linalg.qr(free * unit[:, None])[0] if free.shape[1] else np.zeros((6, 0))
    across = _complement(free)
    T = y.T @ y.held
    # what can move at all is seen without the energies, which a near singularity makes as small as one likes
    moved = _rank(y.T)
    rank = moved - free.shape[1]
    C = (T @ T.T) * np.outer(unit, unit)
    if null.shape[1]:
        rest = np.eye(6) - null @ null.T
        C = rest @ C @ rest
    if moved == 6:
        U, sigma, _ = np.linalg.svd(across.T @ T, full_matrices=False)
        half = (across @ U) / sigma / unit[:, None]
        statement = _singular(null) if null.shape[1] else ""
        return Stiffness(frame, point, C, half @ half.T, rank, statement, null)
    if springs == 0 and null.shape[1] == 0:
        statement = (
            "every joint is described as rigid, so the stiffness is infinite; give the joints a `stiffness`"
            if spring == "joint"
            else "everything is rigid, so the stiffness is infinite; give joints or links a compliance"
        )
    elif springs < 6 and null.shape[1] == 0:
        statement = (
            f"only {springs} {spring}{'s' if springs > 1 else ''} can give way, so the frame is compliant in"
            f" {moved} of 6 directions and its stiffness in the others is infinite; the compliance is given"
        )
    else:
        statement = (
            f"singular pose: the Jacobian has rank {moved}, so the stiffness is infinite in {6 - moved}"
            f" direction{'s' if moved < 5 else ''}; the compliance is given"
        )
        if null.shape[1]:
            statement += f"; nothing resists {_ways(null)}"
    return Stiffness(frame, point, C, None, rank, statement, null)


def cartesian_stiffness(J: Floats, K_theta: Floats, point: Floats, frame: str) -> Stiffness:
    """Stiffness of a frame with Jacobian J (6, n) and joint stiffnesses K_theta (n,), inf where a joint is rigid."""
    yields = np.isfinite(K_theta)
    G = J[:, yields] / np.sqrt(K_theta[yields])
    none = np.zeros((0, G.shape[1])), np.zeros((0, 0))
    reach = float(np.abs(J[:3]).max(initial=0.0)) or 1.0
    return frame_stiffness(Structure(G, np.zeros((6, 0)), *none, reach), point, frame, "joint")


def _rank(T: Floats) -> int:
    sigma = np.linalg.svd(T, compute_uv=False)
    return int((sigma > RANK_TOLERANCE * sigma.max(initial=0.0)).sum())


def _null_space(A: Floats, tolerance: float) -> Floats:
    _, sigma, V = np.linalg.svd(A, full_matrices=True)
    rank = int((sigma > tolerance * sigma.max(initial=0.0)).sum())
    return V[rank:].T


def _range(B: Floats, tolerance: float) -> Floats:
    """Orthonormal columns that span the range of B (6, k), whose columns count from `tolerance` on."""
    if B.shape[1] == 0:
        return np.zeros((6, 0))
    U, sigma, _ = np.linalg.svd(B, full_matrices=False)
    return U[:, sigma > tolerance]


def block_diagonal(parts: Sequence[Floats]) -> Floats:
    """The square matrices along the diagonal of one."""
    ends = np.cumsum([0, *(len(part) for part in parts)])
    out = np.zeros((ends[-1], ends[-1]))
    for part, begin, end in zip(parts, ends[:-1], ends[1:], strict=True):
        out[begin:end, begin:end] = part
    return out


def compliance_root(C: Floats) -> Floats:
    """L (s, r) with C = L L^T, without the directions that are rigid."""
    if C.size == 0:
        return np.zeros((len(C), 0))
    scale = np.sqrt(np.diag(C))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(C / np.outer(scale, scale))
    kept = values > NO_ENERGY * values[-1]
    return np.asarray(scale[:, None] * vectors[:, kept] * np.sqrt(values[kept]))
