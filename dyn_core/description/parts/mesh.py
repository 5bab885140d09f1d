"""Solids enclosed by triangles, from STL files: read and integrated by trimesh.

trimesh needs numpy only, reads both kinds of STL and merges their corners, which shows whether the surface is closed.
"""

from __future__ import annotations

import io
import math
import os
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dyn_core.arrays import Bools, Floats
from dyn_core.errors import MissingLibraryError
from dyn_core.files import open_file

from ..documents.yaml_section import YamlSection
from ..inertial import Inertial

KEYS = ("file", "scale")
MAX_BYTES = 100_000_000
EMPTY = 1e-12  # of the cube around a mesh: below it, its volume is rounding


@dataclass(frozen=True)
class Mesh:
    """What a closed surface of triangles (n, 3, 3), in m, encloses; seen from outside they go round to the left."""

    triangles: Floats

    def unit(self) -> Inertial:
        from trimesh.triangles import mass_properties

        low, high = self.extent()
        middle, size = (low + high) / 2.0, float((high - low).max())
        about = mass_properties((self.triangles - middle) / size)
        centre = middle + size * np.asarray(about.center_mass)
        return Inertial(float(about.volume) * size**3, centre, np.asarray(about.inertia) * size**5)

    def extent(self) -> tuple[Floats, Floats]:
        return self.triangles.min(axis=(0, 1)), self.triangles.max(axis=(0, 1))

    def contains(self, points: Floats) -> Bools:
        """A ray along z leaves the body once more than it enters it."""
        x0, y0, _ = self.triangles.min(axis=1).T.copy()
        x1, y1, z1 = self.triangles.max(axis=1).T.copy()
        inside = np.zeros(len(points), dtype=np.bool_)
        for k, (x, y, z) in enumerate(points):
            near = (x0 <= x) & (x <= x1) & (y0 <= y) & (y <= y1) & (z <= z1)
            inside[k] = _leaves_less_enters(self.triangles[near], points[k]) > 0
        return inside


def _leaves_less_enters(triangles: Floats, point: Floats) -> int:
    """Of a ray along +z from the point through the triangles (n, 3, 3)."""
    start, end = triangles, np.roll(triangles, -1, axis=1)
    upwards = (start[..., 1] <= end[..., 1])[..., None]  # so that an edge gives both its triangles the same number
    a, b = np.where(upwards, start, end), np.where(upwards, end, start)
    crosses = (a[..., 1] > point[1]) != (b[..., 1] > point[1])
    rise = np.where(crosses, b[..., 1] - a[..., 1], 1.0)
    beyond = point[0] < a[..., 0] + (point[1] - a[..., 1]) * (b[..., 0] - a[..., 0]) / rise
    hit = triangles[(crosses & beyond).sum(axis=1) % 2 == 1]
    normal = np.cross(hit[:, 1] - hit[:, 0], hit[:, 2] - hit[:, 0])
    above = np.einsum("ti,ti->t", normal, hit[:, 0] - point) * normal[:, 2] > 0.0
    return int(np.sign(normal[above, 2]).sum())


def read_mesh(section: YamlSection) -> Mesh | None:
    """The mesh of a section, its file beside the database; None where there is none, which is noted."""
    scale = section.number("scale", unit="m per unit of the file", above=0.0, default=1.0)
    name = section.text("file")
    if not name:
        section.problem("file", "missing", "the name of an STL file")
        return None
    try:
        mesh = _loaded(section.document.path.parent / name)
    except _MeshError as error:
        found, allowed = error.args
        section.problem("file", f"'{name}' {found}", allowed)
        return None
    return Mesh(scale * mesh) if math.isfinite(scale) else None


class _MeshError(Exception):
    """What is wrong with a mesh, and what is allowed."""


def _loaded(path: Path) -> Floats:
    """The triangles (n, 3, 3) of an STL file, whose surface is closed and faces outwards."""
    try:
        import trimesh
    except ImportError as error:
        raise MissingLibraryError("a mesh needs trimesh: pip install trimesh") from error
    allowed = "an STL file, its name relative to this file's folder"
    try:
        with open_file(path) as file, warnings.catch_warnings():
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                raise _MeshError(f"is larger than {MAX_BYTES} bytes", allowed)
            warnings.simplefilter("ignore")
            mesh = trimesh.load_mesh(io.BytesIO(file.read(MAX_BYTES)), file_type="stl")
            mesh.merge_vertices(merge_tex=True, merge_norm=True)
    except OSError as error:
        raise _MeshError(f"cannot be read ({error.strerror or error})", allowed) from error
    except _MeshError:
        raise
    except Exception as error:  # whatever a reader of files trips over
        raise _MeshError("is not an STL file", allowed) from error
    faces: NDArray[np.int64] = np.asarray(mesh.faces, dtype=np.int64)
    corners: Floats = np.asarray(mesh.vertices, dtype=np.float64)
    if len(faces) == 0 or not np.isfinite(corners).all():
        raise _MeshError("has no triangles", allowed)
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(axis=1)]  # triangles whose corners became one
    _check_closed(faces, len(corners))
    triangles: Floats = corners[faces]
    a, b, c = (triangles - triangles.mean(axis=(0, 1))).transpose(1, 0, 2)
    enclosed = float(np.einsum("ti,ti->", a, np.cross(b, c))) / 6.0
    least = EMPTY * float(np.ptp(triangles, axis=(0, 1)).max()) ** 3
    if enclosed < -least:
        raise _MeshError("is inside out: its faces point inwards", "faces that point outwards")
    if enclosed <= least:
        raise _MeshError("encloses no volume", "a closed surface around a body")
    return triangles


def _check_closed(faces: NDArray[np.int64], corners: int) -> None:
    """On every edge as many faces go one way as the other; then the surface has no border."""
    allowed = "a watertight mesh: a surface without holes, all of whose faces point outwards"
    a, b = faces.ravel(), np.roll(faces, -1, axis=1).ravel()
    edges, index = np.unique(np.minimum(a, b) * corners + np.maximum(a, b), return_inverse=True)
    if len(edges) == 0:
        raise _MeshError("has no triangles", allowed)
    faces_at = np.bincount(index)
    balance = np.bincount(index, weights=np.where(a < b, 1.0, -1.0))
    if odd := int((faces_at % 2 == 1).sum()):
        raise _MeshError(f"is not watertight: {odd} edges have a face on one side only", allowed)
    if turned := int((balance != 0.0).sum()):
        raise _MeshError(f"has neighbouring faces that point to opposite sides, at {turned} edges", allowed)
