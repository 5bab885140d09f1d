"""STL meshes: their inertia against closed forms, and every kind of mesh that is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from quadrature import assert_same
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from dyn_core.description.document import Document
from dyn_core.description.mesh import KEYS, Mesh, read_mesh
from dyn_core.description.parts import moved
from dyn_core.description.pose import pose
from dyn_core.description.robot_file import Inertial
from dyn_core.description.solids import Box
from dyn_core.errors import DescriptionError

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
FACES = [
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1),
    (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3),
]  # fmt: skip


def cube(size: tuple[float, float, float] = (1.0, 1.0, 1.0), at: tuple[float, float, float] = (0, 0, 0)) -> np.ndarray:
    """Twelve triangles of a block with a corner at a place."""
    return CUBE[np.array(FACES)] * size + at


def hull(points: np.ndarray) -> np.ndarray:
    """Triangles around points that are all corners of a convex body, turned outwards."""
    triangles = points[ConvexHull(points).simplices]
    a, b, c = triangles.transpose(1, 0, 2)
    inwards = np.einsum("ti,ti->t", np.cross(b - a, c - a), a - points.mean(axis=0)) < 0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return triangles


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


def test_a_turned_block_in_both_kinds_of_stl(tmp_path: Path) -> None:
    size, shift = np.array([0.1, 0.2, 0.35]), np.array([3.0, -2.0, 5.0])
    R = Rotation.from_euler("xyz", [0.4, -1.1, 2.0]).as_matrix()
    triangles = (cube((0.1, 0.2, 0.35)) - size / 2) @ R.T + shift
    wanted = moved(Box(size).unit(), pose(R, shift))
    assert_same(read(tmp_path, ascii_stl(triangles)).unit(), wanted, 1e-10)
    assert_same(read(tmp_path, binary_stl(triangles)).unit(), wanted, 1e-4)  # its corners are in single precision
    assert_same(read(tmp_path, ascii_stl(triangles * 1000), ", scale: 0.001").unit(), wanted, 1e-10)


def test_a_tetrahedron_and_a_round_body(tmp_path: Path) -> None:
    """With corners p_i: V = |det| / 6, second moments V / 20 (sum p p^T + sum p sum p^T); a sphere is approached."""
    p = np.array([[0.1, 0, 0], [0.4, 0.1, 0], [0, 0.5, 0.1], [0.1, 0.1, 0.6]])
    V = abs(np.linalg.det(p[1:] - p[0])) / 6
    about_origin = V / 20 * (p.T @ p + np.outer(p.sum(0), p.sum(0)))
    S = about_origin - V * np.outer(p.mean(0), p.mean(0))
    wanted = Inertial(V, p.mean(0), np.trace(S) * np.eye(3) - S)
    assert_same(read(tmp_path, ascii_stl(hull(p))).unit(), wanted, 1e-11)
    k = np.arange(4000) + 0.5
    z, angle = 1 - 2 * k / len(k), np.pi * (1 + 5**0.5) * k
    ball = 0.1 * np.column_stack([np.cos(angle) * np.sqrt(1 - z**2), np.sin(angle) * np.sqrt(1 - z**2), z])
    volume = 4 / 3 * np.pi * 0.1**3
    sphere = Inertial(volume, np.zeros(3), 0.4 * volume * 0.1**2 * np.eye(3))
    assert_same(read(tmp_path, binary_stl(hull(ball))).unit(), sphere, 3e-3)


def test_bodies_that_touch_cavities_and_several_solids(tmp_path: Path) -> None:
    """Two blocks with a common edge, a block with a hollow, and a file of two solids."""
    pair = np.concatenate([cube(), cube(at=(1, 1, 0))])
    assert read(tmp_path, ascii_stl(pair)).unit().mass == pytest.approx(2.0)
    assert read(tmp_path, ascii_stl(pair[:12], "a") + ascii_stl(pair[12:], "b")).unit().mass == pytest.approx(2.0)
    hollow = read(tmp_path, ascii_stl(np.concatenate([cube(), cube((0.5,) * 3, (0.25,) * 3)[:, ::-1]])))
    found = hollow.unit()
    assert found.mass == pytest.approx(1 - 0.125)
    np.testing.assert_allclose(found.inertia, (1 - 0.5**5) / 6 * np.eye(3), atol=1e-12)
    points = np.array([[0.1, 0.5, 0.5], [0.5, 0.5, 0.5], [1.2, 0.5, 0.5], [0.9, 0.9, 0.9]])
    assert hollow.contains(points).tolist() == [True, False, False, True]


def test_triangles_without_an_area_do_no_harm(tmp_path: Path) -> None:
    flat = np.array([[CUBE[0], CUBE[0], CUBE[1]]])
    assert read(tmp_path, ascii_stl(np.concatenate([cube(), flat]))).unit().mass == pytest.approx(1.0)


BACK = cube()
BACK[0] = BACK[0, ::-1]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (ascii_stl(cube()[1:]), "is not watertight: 3 edges have a face on one side only"),
        (binary_stl(cube()[:-2]), "is not watertight: 4 edges"),
        (ascii_stl(BACK), "has neighbouring faces that point to opposite sides, at 3 edges"),
        (ascii_stl(cube()[:, ::-1]), "is inside out"),
        (ascii_stl(cube((1.0, 1.0, 0.0))), "encloses no volume"),
        (ascii_stl(cube()).replace(b"1.0", b"nan"), "is not|has no"),
        (ascii_stl(cube()[:0]), "is not an STL file|has no triangles"),
        (binary_stl(cube())[:-7], "is not an STL file|has no triangles"),
        (b"", "is not an STL file|has no triangles"),
        (b"\x00\xff" * 300, "is not an STL file|has no triangles"),
        (None, "cannot be read .No such file"),
    ],
)
def test_what_encloses_no_body_is_refused(content: bytes | None, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=f"arm.parts.yaml:1: file: 'body.stl' .*({complaint}).*; allowed: "):
        read(tmp_path, content)
