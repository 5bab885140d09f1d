"""Joint notations: each turns its keys into where the joint stands and where the described link frame is.

Body frames follow Khalil: z is the joint's axis. A link's described frame D_i (DH frame, URDF frame) is

    D_i = D_parent . front . motion(q) . tail

with motion(q) a rotation about z (revolute) or a translation along z (prismatic). A new notation is one
function and one line in NOTATIONS.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..mechanism import Floats
from .document import Section
from .pose import pose, rotation_from_rpy, rotation_to_axis, rotation_x, rotation_z

AXIS_TOLERANCE = 1e-6


class Placement(NamedTuple):
    """The two constant parts of a joint's transform."""

    front: Floats
    """The body frame at q = 0 in the parent's described frame."""
    tail: Floats
    """The described frame in the body frame."""


def standard_dh(joint: Section, kind: str) -> Placement:
    """T = Rz(theta) Tz(d) Tx(a) Rx(alpha), about and along z of the parent's described frame.

    The joint's variable is added to theta (revolute) or d (prismatic), whose entry is its offset.
    """
    dh = joint.section("dh", ("theta", "d", "a", "alpha"))
    turn = pose(rotation_z(dh.angle("theta", default=0.0)))
    slide = pose(p=np.array([0.0, 0.0, dh.number("d", unit="m", default=0.0)]))
    length = np.array([dh.number("a", unit="m", default=0.0), 0.0, 0.0])
    rest = pose(rotation_x(dh.angle("alpha", default=0.0)), length)
    if "axis" in joint:
        joint.problem("axis", "has no meaning with dh", "the joint's axis is z of the parent's frame")
    return Placement(turn, slide @ rest) if kind == "revolute" else Placement(turn @ slide, rest)


def origin_and_axis(joint: Section, kind: str) -> Placement:
    """URDF: a joint frame at (xyz, rpy) in the parent's described frame, moving about or along its axis."""
    T = origin(joint.section("origin", ("xyz", "rpy")))
    if kind == "fixed":
        if "axis" in joint:
            joint.problem("axis", "has no meaning on a fixed joint", "no axis")
        return Placement(T, np.eye(4))
    axis = joint.vector("axis", 3, default=(0.0, 0.0, 1.0))
    length = float(np.linalg.norm(axis))
    if abs(length - 1.0) > AXIS_TOLERANCE:
        unit = "" if length < 1e-9 else ", e.g. [{:.9g}, {:.9g}, {:.9g}]".format(*(axis / length))
        joint.problem("axis", f"has length {length:.6g}", f"a unit vector{unit}")
        return Placement(T, np.eye(4))
    Q = pose(rotation_to_axis(axis / length))
    return Placement(T @ Q, Q.T)


def origin(section: Section) -> Floats:
    """T from xyz (m) and rpy (rad)."""
    return pose(
        rotation_from_rpy(*section.angles("rpy", 3, default=(0.0, 0.0, 0.0))),
        section.vector("xyz", 3, unit="m", default=(0.0, 0.0, 0.0)),
    )


NOTATIONS: dict[str, Callable[[Section, str], Placement]] = {"dh": standard_dh, "origin": origin_and_axis}
