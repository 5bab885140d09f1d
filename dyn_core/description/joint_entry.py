"""A joint and its link as a file describes them, whatever its format."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import BASE, OWN_LINK, Beam, Compliance

from .inertial import NO_MASS, Inertial


class Placement(NamedTuple):
    """The two constant parts of a joint's transform."""

    front: Floats
    """The body frame at q = 0 in the parent's notated frame."""
    tail: Floats
    """The notated frame in the body frame."""


@dataclass(kw_only=True, eq=False)
class JointEntry:
    """A joint with the link that it carries, read but not yet placed in the tree.

    A link has a notated frame, which its notation gives (Denavit-Hartenberg's, say): its inertial parameters and the
    joints that it carries are given in that frame. Its described frame is the one that has the link's name.
    """

    name: str
    kind: str
    """revolute, prismatic or fixed."""
    link: str
    parent: str
    placement: Placement = field(default_factory=lambda: Placement(np.eye(4), np.eye(4)))
    inertial: Inertial = NO_MASS
    frame: Floats = field(default_factory=lambda: np.eye(4))
    """The described frame in the notated one."""
    Ia: float = 0.0
    Fv: float = 0.0
    Fs: float = 0.0
    stiffness: float = math.inf
    spring: float = 0.0
    rest: float = 0.0
    leader: str = ""
    """The independent joint that this one follows; empty where it follows none."""
    multiplier: float = 1.0
    offset: float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    velocity: float = math.inf
    effort: float = math.inf
    active: bool = True
    motor: Mapping[str, float] | None = None
    """The drive, by the names of the fields of Motors."""
    beam: Beam | None = None
    compliance: Compliance | None = None
    """In the described frame."""
    body: int = BASE
    """The body that the link is a part of; known once the mechanism is assembled, as is the next."""
    notated: Floats = field(default_factory=lambda: np.eye(4))
    """The notated frame in the frame of the body."""
    tip: int = OWN_LINK
    """The compliance of a link on a fixed joint at whose tip this link is; known as the last two."""

    @property
    def moves(self) -> bool:
        return self.kind != "fixed"

    @property
    def described(self) -> Floats:
        """The described frame in the frame of the body."""
        return self.notated @ self.frame
