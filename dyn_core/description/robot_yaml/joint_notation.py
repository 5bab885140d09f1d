"""Joint notations: each turns its keys into where the joint stands and where the described link frame is.

Body frames follow Khalil: z is the joint's axis. A link's described frame D_i (DH frame, URDF frame) is

    D_i = D_parent . front . motion(q) . tail

with motion(q) a rotation about z (revolute) or a translation along z (prismatic). A new notation is one
function and one line in NOTATIONS. Denavit-Hartenberg rows come one per joint, or as a list of which the last one
moves, where a single row has too few parameters.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.spatial.poses import pose, rotation_from_rpy, rotation_to_axis, rotation_x, rotation_z

from ..documents.yaml_section import YamlSection
from ..joint_entry import Placement

AXIS_TOLERANCE = 1e-6


def standard_dh(joint: YamlSection, kind: str) -> Placement:
    """T = Rz(theta) Tz(d) Tx(a) Rx(alpha), about and along z of the frame before.

    The joint's variable is added to theta (revolute) or d (prismatic) of the last row, whose entry is its offset.
    """
    *constant, last = joint.rows("dh", ("theta", "d", "a", "alpha"))
    front = pose()
    for row in constant:
        turn, slide, rest = _standard_row(row)
        front = front @ turn @ slide @ rest
    turn, slide, rest = _standard_row(last)
    joint.refuse(("axis",), "has no meaning with dh", "the joint's axis is z of the frame before")
    if kind == "revolute":
        return Placement(front @ turn, slide @ rest)
    return Placement(front @ turn @ slide, rest)


def _standard_row(row: YamlSection) -> tuple[Floats, Floats, Floats]:
    """Rz(theta), Tz(d) and Tx(a) Rx(alpha)."""
    turn = pose(rotation_z(row.angle("theta", default=0.0)))
    slide = pose(p=np.array([0.0, 0.0, row.number("d", unit="m", default=0.0)]))
    length = np.array([row.number("a", unit="m", default=0.0), 0.0, 0.0])
    return turn, slide, pose(rotation_x(row.angle("alpha", default=0.0)), length)


def modified_dh(joint: YamlSection, kind: str) -> Placement:
    """Khalil and Kleinfinger: T = Rz(gamma) Tz(b) Rx(alpha) Tx(d) Rz(theta) Tz(r).

    The joint's variable is added to theta (revolute) or r (prismatic) of the last row, whose entry is its offset.
    """
    front = pose()
    for row in joint.rows("mdh", ("gamma", "b", "alpha", "d", "theta", "r")):
        gamma, alpha, theta = (row.angle(key, default=0.0) for key in ("gamma", "alpha", "theta"))
        b, d, r = (row.number(key, unit="m", default=0.0) for key in ("b", "d", "r"))
        front = front @ modified_transform(gamma, b, alpha, d, theta, r)
    joint.refuse(("axis",), "has no meaning with mdh", "the joint's axis is z of its own frame")
    return Placement(front, pose())


def modified_transform(gamma: float, b: float, alpha: float, d: float, theta: float, r: float) -> Floats:
    """T of one row of modified Denavit-Hartenberg parameters; rad, m."""
    before = pose(rotation_z(gamma), np.array([0.0, 0.0, b]))
    across = pose(rotation_x(alpha), np.array([d, 0.0, 0.0]))
    return before @ across @ pose(rotation_z(theta), np.array([0.0, 0.0, r]))


def standard_transform(theta: float, d: float, a: float, alpha: float) -> Floats:
    """T of one row of standard Denavit-Hartenberg parameters; rad, m."""
    return modified_transform(theta, d, alpha, a, 0.0, 0.0)


def origin_and_axis(joint: YamlSection, kind: str) -> Placement:
    """URDF: a joint frame at (xyz, rpy) in the parent's described frame, moving about or along its axis."""
    T = origin(joint.section("origin", ("xyz", "rpy")))
    if kind == "fixed":
        joint.refuse(("axis",), "has no meaning on a fixed joint", "no axis")
        return Placement(T, np.eye(4))
    axis = joint.vector("axis", 3, default=(0.0, 0.0, 1.0))
    length = float(np.linalg.norm(axis))
    if abs(length - 1.0) > AXIS_TOLERANCE:
        unit = "" if length < 1e-9 else ", e.g. [{:.9g}, {:.9g}, {:.9g}]".format(*(axis / length))
        joint.problem("axis", f"has length {length:.6g}", f"a unit vector{unit}")
        return Placement(T, np.eye(4))
    Q = pose(rotation_to_axis(axis / length))
    return Placement(T @ Q, Q.T)


def origin(section: YamlSection) -> Floats:
    """T from xyz (m) and rpy (rad)."""
    return pose(
        rotation_from_rpy(*section.angles("rpy", 3, default=(0.0, 0.0, 0.0))),
        section.vector("xyz", 3, unit="m", default=(0.0, 0.0, 0.0)),
    )


NOTATIONS: dict[str, Callable[[YamlSection, str], Placement]] = {
    "dh": standard_dh,
    "mdh": modified_dh,
    "origin": origin_and_axis,
}
