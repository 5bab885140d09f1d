"""Stiffness of legs side by side, by the virtual-joint method: (10)-(16) of Wu, Bai and Kepler.

A leg is a chain of springs and passive joints; legs that end in one platform add up to its stiffness.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.beams import tip_jacobian
from dyn_core.errors import InputError

from .cartesian import Stiffness, Structure, block_diagonal, compliance_root, frame_stiffness


def _empty() -> Floats:
    return np.zeros((6, 0))


@dataclass
class Leg:
    """A chain from the base to a point, whose motion is J_theta theta + J_q q (10); add its parts in any order.

    Screws and places are in base axes, motions are those of `point`, linear first.
    """

    point: Floats
    """(3,) where the leg ends, m."""
    J_theta: Floats = field(default_factory=_empty)
    """(6, s) per spring coordinate (11a)."""
    C_theta: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    """(s, s) compliance of the springs, the inverse of (14)."""
    J_q: Floats = field(default_factory=_empty)
    """(6, p) per passive joint (11b)."""

    def turning_spring(self, axis: Floats, place: Floats, stiffness: float) -> Leg:
        """A spring (N m/rad; inf: rigid) about an axis through a place, such as an actuator."""
        return self._spring(self._turn(axis, place), np.array([[_inverse(stiffness)]]))

    def sliding_spring(self, axis: Floats, stiffness: float) -> Leg:
        """A spring (N/m; inf: rigid) along an axis."""
        return self._spring(_slide(axis), np.array([[_inverse(stiffness)]]))

    def link(self, C: Floats, R: Floats, tip: Floats) -> Leg:
        """A link of compliance C (6, 6) at its tip, in the tip's axes R (3, 3); see `beam`."""
        X = tip_jacobian(np.asarray(R, float), self.point - np.asarray(tip, float))
        return self._spring(X, np.asarray(C, float))

    def turning_joint(self, axis: Floats, place: Floats) -> Leg:
        """A passive joint that turns about an axis through a place."""
        self.J_q = np.hstack([self.J_q, self._turn(axis, place)])
        return self

    def sliding_joint(self, axis: Floats) -> Leg:
        """A passive joint that slides along an axis."""
        self.J_q = np.hstack([self.J_q, _slide(axis)])
        return self

    def ball_joint(self, place: Floats) -> Leg:
        """A passive joint that turns about all axes through a place."""
        for axis in np.eye(3):
            self.turning_joint(axis, place)
        return self

    def _spring(self, J: Floats, C: Floats) -> Leg:
        self.J_theta = np.hstack([self.J_theta, J])
        self.C_theta = block_diagonal([self.C_theta, C])
        return self

    def _turn(self, axis: Floats, place: Floats) -> Floats:
        a = _unit(axis)
        return np.concatenate([np.cross(a, self.point - np.asarray(place, float)), a])[:, None]


def leg_stiffness(leg: Leg) -> Stiffness:
    """K_i (6, 6) of one leg at its end: the first block of (15), also where (13) is singular."""
    return parallel_stiffness([leg])


def parallel_stiffness(legs: Sequence[Leg], frame: str = "platform") -> Stiffness:
    """K (6, 6) of a platform on legs that end at the same point (16).

    Where a leg is rigid in some direction its own K_i is infinite; the legs are then still put together, since what is
    solved is that all ends move alike.
    """
    if not legs:
        raise InputError("a platform needs at least one leg")
    point = np.asarray(legs[0].point, float)
    if any(np.abs(np.asarray(leg.point) - point).max() > 1e-12 for leg in legs):
        raise InputError("legs that carry one platform end at the same point")
    Y = [leg.J_theta @ compliance_root(leg.C_theta) for leg in legs]
    Q = [leg.J_q for leg in legs]
    length = max(float(np.abs(np.hstack([leg.J_theta, leg.J_q])[:3]).max(initial=0.0)) for leg in legs) or 1.0

    def first(parts: Sequence[Floats]) -> Floats:
        return np.hstack([parts[0], *(np.zeros_like(part) for part in parts[1:])])

    def closed(parts: Sequence[Floats]) -> Floats:
        ends = [np.vstack([part[:3] / length, part[3:]]) for part in parts]
        rows = [
            np.hstack([ends[0], *(-end if k == i else np.zeros_like(end) for k, end in enumerate(ends[1:]))])
            for i in range(len(ends) - 1)
        ]
        return np.vstack(rows) if rows else np.zeros((0, sum(end.shape[1] for end in ends)))

    return frame_stiffness(Structure(first(Y), first(Q), closed(Y), closed(Q), length), point, frame)


def _slide(axis: Floats) -> Floats:
    return np.concatenate([_unit(axis), np.zeros(3)])[:, None]


def _unit(axis: Floats) -> Floats:
    a = np.asarray(axis, float)
    size = float(np.linalg.norm(a))
    if a.shape != (3,) or not np.isfinite(size) or size == 0.0:
        raise InputError(f"an axis is three finite numbers that are not all zero, found {axis}")
    return a / size


def _inverse(stiffness: float) -> float:
    if not stiffness > 0.0:
        raise InputError(f"a stiffness must be above zero, found {stiffness}")
    return 1.0 / stiffness
