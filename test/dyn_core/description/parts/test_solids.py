"""Solids: closed forms against quadrature, and which points they contain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from quadrature import ARROW, SHAPES, assert_same, fan

from dyn_core.description.documents.yaml_document import Document
from dyn_core.description.parts import solids
from dyn_core.description.parts.solids import Prism, Solid, tangled_edges


def solid(text: str) -> Solid:
    document = Document(Path("section.yaml"), f"{{{text}}}")
    shape = next(name for name in solids.SHAPES if f"shape: {name}," in text)
    read = solids.SHAPES[shape].read(document.root(("shape", *solids.SHAPES[shape].keys)))
    document.finish()
    assert read is not None
    return read


def test_every_shape_is_tested() -> None:
    assert set(SHAPES) == set(solids.SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_volume_centre_and_inertia_are_those_of_quadrature(name: str) -> None:
    text, cloud = SHAPES[name]
    assert_same(solid(text).unit(), cloud.inertial())


@pytest.mark.parametrize("name", SHAPES)
def test_the_points_inside_fill_the_volume(name: str) -> None:
    text, cloud = SHAPES[name]
    body = solid(text)
    assert cloud.weights @ body.contains(cloud.points) == pytest.approx(cloud.weights.sum(), rel=0.02)
    low, high = body.extent()
    assert (low - 1e-12 <= cloud.points).all()
    assert (cloud.points <= high + 1e-12).all()
    margin = 0.1 * (high - low)
    points = np.random.default_rng(0).uniform(low - margin, high + margin, (40_000, 3))
    volume = body.contains(points).mean() * np.prod(high - low + 2 * margin)
    assert volume == pytest.approx(cloud.weights.sum(), rel=0.06)


def test_a_polygon_may_go_round_either_way_and_be_far_away() -> None:
    there, back = Prism(np.array(ARROW), 0.15).unit(), Prism(np.array(ARROW[::-1]), 0.15).unit()
    assert_same(back, there)
    far = Prism(np.array(ARROW) + np.array([1e4, -3e4]), 0.15).unit()
    np.testing.assert_allclose(far.inertia, there.inertia, rtol=0, atol=1e-9 * there.inertia.max())
    triangle = [[0.0, 0.0], [0.3, 0.0], [0.0, 0.2]]
    assert_same(Prism(np.array(triangle), 0.05).unit(), fan(triangle, 0.05).inertial())


@pytest.mark.parametrize(
    ("polygon", "edges"),
    [
        ([[0, 0], [1, 1], [1, 0], [0, 1]], (0, 2)),
        ([[0, 0], [1, 0], [1, 1], [1, 0], [0, 1]], (1, 2)),
        ([[0, 0], [2, 0], [2, 2], [1, 0], [0, 2]], (0, 2)),
        ([[0, 0], [0, 0], [1, 0], [0, 1]], (0, 1)),
        ([[0, 0], [1, 1], [3, 3]], (1, 2)),
    ],
)
def test_tangled_polygons_are_found(polygon: list[list[float]], edges: tuple[int, int]) -> None:
    assert tangled_edges(np.array(polygon, dtype=float)) == edges


def test_simple_polygons_are_simple() -> None:
    """Stars with many corners, corners in line, and ones that nearly touch."""
    angles = np.linspace(0, 2 * np.pi, 80, endpoint=False)
    radii = np.where(np.arange(80) % 2, 0.2, 1.0)
    assert tangled_edges(np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])) is None
    assert tangled_edges(np.array([[0, 0], [1, 0], [2, 0], [2, 1], [1, 1], [0, 1.0]])) is None
    assert tangled_edges(np.array([[0, 0], [2, 0], [2, 2], [1, 1e-9], [0, 2.0]])) is None
