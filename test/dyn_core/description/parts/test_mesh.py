"""STL meshes: their inertia against closed forms, and every kind of mesh that is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from meshes import CUBE, ascii_stl, binary_stl, cube, read
from quadrature import assert_same
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from dyn_core.description import Inertial
from dyn_core.description.parts.solids import box
from dyn_core.errors import DescriptionError
from dyn_core.spatial.poses import pose


def hull(points: np.ndarray) -> np.ndarray:
    """Triangles around points that are all corners of a convex body, turned outwards."""
    triangles = points[ConvexHull(points).simplices]
    a, b, c = triangles.transpose(1, 0, 2)
    inwards = np.einsum("ti,ti->t", np.cross(b - a, c - a), a - points.mean(axis=0)) < 0
    triangles[inwards] = triangles[inwards][:, ::-1]
    return triangles


def test_a_turned_block_in_both_kinds_of_stl(tmp_path: Path) -> None:
    size, shift = np.array([0.1, 0.2, 0.35]), np.array([3.0, -2.0, 5.0])
    R = Rotation.from_euler("xyz", [0.4, -1.1, 2.0]).as_matrix()
    triangles = (cube((0.1, 0.2, 0.35)) - size / 2) @ R.T + shift
    wanted = box(size).unit().moved(pose(R, shift))
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
