"""Frames and rows of a Denavit-Hartenberg notation, for mechanisms that were described in any way.

A notation gives each link a frame N_j of its own. A line in space has four parameters: the common normal from z to it
(Rz, Tz, then Tx, Rx) is a row of standard parameters, and the first four of a modified row. Where z and the line are
all but parallel the common normal is far away and uncertain; a quarter turn as a row of its own goes before.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import PRISMATIC, Mechanism
from dyn_core.spatial.poses import inverse, pose

from .joint_notation import modified_transform, standard_transform

PARALLEL = 1e-12  # sine of an angle below which two axes count as parallel
CERTAIN = 1e-4  # and above which their common normal is certain enough
NEAR = 0.05  # and above which it is near enough to carry a link's frame
TIDY = 1e-13  # m or rad: below this a figure is rounding

Row = dict[str, float]


def frames_of_notation(m: Mechanism, notation: str) -> list[Floats]:
    """N_j in body frame j. The described frame where the notation can have it there, for it needs no `frame` then."""
    frames = []
    for j in range(m.n):
        described = m.frames[j].T
        children = [pose(m.R[k], m.p[k]) for k in range(m.n) if m.parent[k] == j]
        if notation == "origin":
            on_axis = m.joint_type[j] == PRISMATIC or np.abs(described[:2, 3]).max() < TIDY
            frames.append(described if on_axis else pose())
        elif notation == "mdh":
            frames.append(described if _same_line(described) else _towards_child(children)[0])
        else:
            reaches_child = not children or any(_same_line(inverse(described) @ child) for child in children)
            frames.append(described if reaches_child and _is_row(described) else _towards_child(children)[1])
    return frames


def _towards_child(children: list[Floats]) -> tuple[Floats, Floats]:
    """Two frames by the common normal from a body's z to its first child's axis: x along it, on either axis."""
    row = _common_normal(children[0], NEAR) if children else None
    if row is None:
        return pose(), pose()
    gamma, b, alpha, d = row
    return modified_transform(gamma, b, 0.0, 0.0, 0.0, 0.0), standard_transform(gamma, b, d, alpha)


def _common_normal(T: Floats, certain: float = CERTAIN) -> tuple[float, float, float, float] | None:
    """gamma, b, alpha, d of the frame Rz(gamma) Tz(b) Rx(alpha) Tx(d) whose z is that of T; None where uncertain."""
    (ux, uy, uz), (px, py, pz) = T[:3, 2], T[:3, 3]
    sine = math.hypot(ux, uy)
    if sine < PARALLEL:
        d = math.hypot(px, py)
        gamma = math.atan2(py, px) if d > TIDY else 0.0
        return gamma, 0.0, 0.0 if uz > 0.0 else math.pi, d
    if sine < certain:
        return None
    # x along z cross u; the point of the line nearest to z is r before T's origin
    d = (ux * py - uy * px) / sine
    r = (px * ux + py * uy) / sine**2
    gamma, alpha, b = math.atan2(ux, -uy), math.atan2(sine, uz), pz - r * uz
    turned_back = abs(d) <= TIDY and not -math.pi / 2 - TIDY < gamma < math.pi / 2 + TIDY
    if d < -TIDY or turned_back:
        gamma, alpha, d = gamma - math.copysign(math.pi, gamma), -alpha, -d
    return gamma, b, alpha, d


def _same_line(T: Floats) -> bool:
    """Whether T has its z on that of the frame in which it stands, in the same direction."""
    return bool(np.abs(T[:2, 2]).max() < PARALLEL and T[2, 2] > 0.0 and np.abs(T[:2, 3]).max() < TIDY)


def _is_row(T: Floats) -> bool:
    """Whether T is Rz Tz Tx Rx: its x crosses z at a right angle."""
    across = T[0, 0] * T[1, 3] - T[1, 0] * T[0, 3]
    return bool(abs(T[2, 0]) < PARALLEL and abs(across) < TIDY)


def standard_rows(axis: Floats, N: Floats) -> list[Row]:
    """Rows of standard parameters; the last one moves about or along z of the axis' frame and ends in N."""
    rows: list[Row] = []
    if not _same_line(axis):
        rows, axis = _to_line(axis, _standard_row)
    T = axis @ N
    theta, alpha = math.atan2(T[1, 0], T[0, 0]), math.atan2(T[2, 1], T[2, 2])
    a = T[0, 3] * math.cos(theta) + T[1, 3] * math.sin(theta)
    return [*rows, {"theta": theta, "d": float(T[2, 3]), "a": a, "alpha": alpha}]


def modified_rows(axis: Floats, N: Floats) -> list[Row]:
    """Rows of modified parameters, the last of which ends in N on the joint's axis."""
    rows, T = _to_line(axis @ N, _modified_row)
    rows[-1] |= {"theta": math.atan2(T[1, 0], T[0, 0]), "r": float(T[2, 3])}
    return rows


def _to_line(T: Floats, row: Callable[..., tuple[Row, Floats]]) -> tuple[list[Row], Floats]:
    """Rows from a frame to one with its z on that of T, and T in the latter frame."""
    normal = _common_normal(T)
    if normal is None:
        quarter, turn = row(0.0, 0.0, math.pi / 2, 0.0)
        rows, rest = _to_line(inverse(turn) @ T, row)
        return [quarter, *rows], rest
    one, reached = row(*normal)
    return [one], inverse(reached) @ T


def _standard_row(gamma: float, b: float, alpha: float, d: float) -> tuple[Row, Floats]:
    return {"theta": gamma, "d": b, "a": d, "alpha": alpha}, standard_transform(gamma, b, d, alpha)


def _modified_row(gamma: float, b: float, alpha: float, d: float) -> tuple[Row, Floats]:
    return {"gamma": gamma, "b": b, "alpha": alpha, "d": d}, modified_transform(gamma, b, alpha, d, 0.0, 0.0)
