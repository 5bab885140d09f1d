"""Mass, centre of mass and inertia of a rigid body."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.spatial.poses import inertia_about_origin

INERTIA_TOLERANCE = 1e-6
"""Of the largest principal moment, by which a real body's moments may miss their conditions."""
ROUNDING = 1e-14  # of an inertia that is the difference of two others
CUT = 1e-13  # of the largest: below it, an entry is rounding


class Inertial(NamedTuple):
    """A rigid body's mass, centre of mass, and inertia about it, in some frame; kg, m, kg m^2."""

    mass: float
    com: Floats
    inertia: Floats

    @classmethod
    def from_standard_parameters(cls, M: float, MS: Floats, J: Floats) -> Inertial:
        """From M, MS = M com, and J about the origin."""
        com = MS / M if M != 0.0 else np.zeros(3)
        return cls(M, com, J - inertia_about_origin(np.zeros((3, 3)), M, com))

    def moved(self, T: Floats) -> Inertial:
        """The same body seen from the frame in which its own stands at T."""
        R = T[:3, :3]
        return Inertial(self.mass, R @ self.com + T[:3, 3], R @ self.inertia @ R.T)

    def without_rounding(self) -> Inertial:
        """Entries of centre and inertia that are only rounding beside the body's size become 0."""
        reach = math.sqrt(abs(float(np.trace(self.inertia)) / self.mass)) if self.mass else 0.0
        return Inertial(self.mass, cut(self.com, reach), cut(self.inertia))

    def standard_parameters(self) -> tuple[float, Floats, Floats]:
        """M, MS = M com, and J about the origin."""
        return self.mass, self.mass * self.com, inertia_about_origin(self.inertia, self.mass, self.com)


def cut(values: Floats, reach: float = 0.0) -> Floats:
    """Without what is only rounding beside the largest entry and the reach."""
    return np.where(np.abs(values) < CUT * (reach + float(np.abs(values).max())), 0.0, values)


NO_MASS = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


def combined(bodies: Sequence[Inertial]) -> Inertial:
    """Bodies of one frame as one: masses add up, inertias about the common centre of mass (Huygens-Steiner)."""
    mass = float(np.sum([body.mass for body in bodies]))  # sum() rounds differently from Python 3.12 on
    if not mass > 0.0:
        return NO_MASS._replace(mass=mass)
    com = sum((body.mass * body.com for body in bodies), np.zeros(3)) / mass
    inertia = sum((inertia_about_origin(body.inertia, body.mass, body.com - com) for body in bodies), np.zeros((3, 3)))
    return Inertial(mass, com, inertia)
