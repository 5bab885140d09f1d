"""Whether a part's sections fit together: at every point, solids less holes must come to one or to nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Bools, Floats

from .mesh import Mesh
from .solids import Solid

POINTS = 1000
EFFORT = 100_000_000  # points times triangles of a mesh, at most
STEPS = 1.0 / 1.2207440846057596 ** np.arange(1, 4)  # of a sequence that fills a cube evenly: root of x^4 = x + 1


class Piece(NamedTuple):
    """A solid or a hole, and where it stands in its part."""

    solid: Solid
    pose: Floats
    hole: bool


def misfits(pieces: Sequence[Piece]) -> list[float]:
    """For each piece the fraction of it that does not fit.

    Of a hole: where it takes away what is not there. Of a solid: where the solids before it have been already. Found
    by trying points in it, so good to about a hundredth.
    """
    faces = max((len(piece.solid.triangles) for piece in pieces if isinstance(piece.solid, Mesh)), default=1)
    count = int(np.clip(EFFORT / faces, 50, POINTS))
    out = []
    for k, piece in enumerate(pieces):
        points = _inside(piece.solid, count) @ piece.pose[:3, :3].T + piece.pose[:3, 3]
        layers = np.zeros(len(points), dtype=np.int64)
        for i, other in enumerate(pieces):
            if other.hole:
                layers -= _contains(other, points)
            elif piece.hole or i <= k:
                layers += _contains(other, points)
        wrong = layers < 0 if piece.hole else layers > 1
        out.append(float(wrong.mean()) if len(points) else 0.0)
    return out


def _contains(piece: Piece, points: Floats) -> Bools:
    local = (points - piece.pose[:3, 3]) @ piece.pose[:3, :3]
    low, high = piece.solid.extent()
    inside: Bools = np.all((low <= local) & (local <= high), axis=1)
    inside[inside] = piece.solid.contains(local[inside])
    return inside


def _inside(solid: Solid, count: int) -> Floats:
    """About `count` points (n, 3) spread evenly in a solid; fewer where it fills little of the box around it."""
    low, high = solid.extent()
    tried = 4 * count
    while True:
        box = low + (high - low) * np.mod(0.5 + np.arange(1, tried + 1)[:, None] * STEPS, 1.0)
        points = box[solid.contains(box)][:count]
        if len(points) == count or tried >= 64 * count or isinstance(solid, Mesh):
            return np.asarray(points)
        tried *= 4
