"""Triangle meshes for tests, and a reader of them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from dyn_core.description.documents.yaml_document import Document
from dyn_core.description.parts.mesh import KEYS, Mesh, read_mesh

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])


FACES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]  # fmt: skip


def cube(size: tuple[float, float, float] = (1.0, 1.0, 1.0), at: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    """Twelve triangles of a block with a corner at a place."""
    return CUBE[np.array(FACES)] * size + at


def ascii_stl(triangles: np.ndarray, name: str = "body") -> bytes:
    lines = [f"solid {name}"]
    for triangle in triangles:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex {!r} {!r} {!r}".format(*map(float, corner)) for corner in triangle]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, f"endsolid {name}\n"]).encode()


def binary_stl(triangles: np.ndarray) -> bytes:
    rows = [struct.pack("<12fH", 0, 0, 0, *triangle.ravel(), 0) for triangle in triangles]
    return b"solid, but binary".ljust(80) + struct.pack("<I", len(rows)) + b"".join(rows)


def read(folder: Path, content: bytes | None, more: str = "") -> Mesh:
    if content is not None:
        (folder / "body.stl").write_bytes(content)
    document = Document(folder / "arm.parts.yaml", f"{{file: body.stl{more}}}")
    mesh = read_mesh(document.root(KEYS))
    document.finish()
    assert mesh is not None
    return mesh
