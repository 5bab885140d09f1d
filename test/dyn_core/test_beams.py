"""Beams against integrals of the strain energy, chains of straight elements, and the textbook."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad_vec

from dyn_core.beams import (
    BeamSection,
    Material,
    circle,
    curved_beam,
    own_compliance,
    rectangle,
    rigid,
    straight_beam,
    tip_jacobian,
    tube,
)
from dyn_core.errors import InputError

STEEL = Material.isotropic(210e9, 0.3)
BAR = BeamSection(3e-4, 2e-9, 5e-9, 9e-9, 0.8, 0.9)


def about(axis: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = axis
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def series(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> np.ndarray:
    """Compliance at a point of beams in a row, from their own and the axes and places of their tips."""
    moved = ((C, tip_jacobian(R, -np.asarray(p))) for C, R, p in parts)
    return sum(X @ C @ X.T for C, X in moved)


@pytest.mark.parametrize("arc", [0.01, np.pi / 3, np.pi / 2, 2.5, 5.0, 2 * np.pi])
def test_a_curved_beam_is_the_second_derivative_of_its_strain_energy(arc):
    """The internal wrench by vectors (tip wrench moved to the section), its energy integrated by another rule."""
    R = 0.3
    t, n = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    rigidity = np.array([
        STEEL.E * BAR.A, BAR.shear_y * STEEL.G * BAR.A, BAR.shear_z * STEEL.G * BAR.A,
        STEEL.G * BAR.Ix, STEEL.E * BAR.Iy, STEEL.E * BAR.Iz,
    ])  # fmt: skip

    def density(phi: float) -> np.ndarray:
        turn = about(n, -phi)  # the section's axes in those of the tip
        lever = R * (t - turn @ t)
        cross = np.array([[0, -lever[2], lever[1]], [lever[2], 0, -lever[0]], [-lever[1], lever[0], 0]])
        wrench = np.block([[turn.T, np.zeros((3, 3))], [turn.T @ cross, turn.T]])
        return R * wrench.T @ np.diag(1 / rigidity) @ wrench

    expected = quad_vec(density, 0.0, arc, epsrel=1e-12, epsabs=0.0)[0]
    C = curved_beam(R, arc, BAR, STEEL)
    scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.abs((C - expected) / scale).max() < 1e-10
    assert np.linalg.eigvalsh(C / scale)[0] > 0


def test_a_curved_beam_is_many_straight_ones_in_a_row():
    R, arc = 0.2, 1.9
    errors = []
    for count in (50, 100):
        step = arc / count
        parts = []
        for k in range(count):
            back = arc - (k + 1) * step  # from the tip to the end of this element
            middle = about(np.array([0.0, 0.0, 1.0]), -back - 0.5 * step)
            # a straight element's x points away from the clamp, the tip's first axis towards it
            axes = middle @ np.diag([-1.0, 1.0, -1.0])
            place = R * (about(np.array([0.0, 0.0, 1.0]), -back) @ [0.0, 1.0, 0.0] - [0.0, 1.0, 0.0])
            parts.append((straight_beam(2 * R * np.sin(step / 2), BAR, STEEL), axes, place))
        exact = curved_beam(R, arc, BAR, STEEL)
        scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
        errors.append(np.abs((series(parts) - exact) / scale).max())
    assert errors[1] < 1e-3
    assert errors[1] < 0.3 * errors[0]  # of second order


def test_the_papers_link():
    """(21) of Wu, Bai and Kepler, with C26 as it follows from (18)."""
    C = curved_beam(0.2, np.pi / 2, circle(0.0075), STEEL) * 1e4
    printed = {
        (3, 3): 6.923, (3, 4): -0.575, (3, 2): 0.388, (4, 4): 6.923, (4, 2): 0.881, (5, 5): 6.020, (5, 0): -0.438,
        (5, 1): -0.767, (0, 0): 0.055, (0, 1): 0.077, (1, 1): 0.121, (2, 2): 0.192,
    }  # fmt: skip
    for (i, j), value in printed.items():
        assert C[i, j] == pytest.approx(value, abs=6e-4)
        assert C[j, i] == C[i, j]


def test_a_straight_beam_is_a_short_arc_of_a_large_circle():
    L, R = 0.4, 4e6
    turn = np.diag([-1.0, 1.0, -1.0])
    flip = np.block([[turn, np.zeros((3, 3))], [np.zeros((3, 3)), turn]])
    C = straight_beam(L, BAR, STEEL)
    scale = np.sqrt(np.outer(np.diag(C), np.diag(C)))
    assert np.abs((flip @ curved_beam(R, L / R, BAR, STEEL) @ flip.T - C) / scale).max() < 1e-5
    assert C[1, 1] == pytest.approx(L**3 / (3 * STEEL.E * BAR.Iz) + L / (0.8 * STEEL.G * BAR.A), rel=1e-14)


def test_beams_in_a_row_are_one_beam():
    half, whole = straight_beam(0.3, BAR, STEEL), straight_beam(0.6, BAR, STEEL)
    row = series([(half, np.eye(3), np.array([-0.3, 0.0, 0.0])), (half, np.eye(3), np.zeros(3))])
    scale = np.sqrt(np.outer(np.diag(whole), np.diag(whole)))
    assert np.abs((row - whole) / scale).max() < 1e-12


def test_sections():
    bar = circle(0.02)
    np.testing.assert_allclose([bar.A, bar.Ix], [np.pi * 0.02**2, np.pi * 0.02**4 / 2])
    ring = tube(0.02, 0.019)
    assert ring.Ix == pytest.approx(ring.Iy + ring.Iz)
    np.testing.assert_allclose(ring.A, np.pi * (0.02**2 - 0.019**2))
    flat = rectangle(0.02, 0.01)
    assert flat.Iy == pytest.approx(0.02 * 0.01**3 / 12)
    assert flat.Iz == pytest.approx(0.01 * 0.02**3 / 12)
    assert flat.Ix == pytest.approx(0.2287 * 0.02 * 0.01**3, rel=1e-3)  # Roark's table
    assert rectangle(0.01, 0.01).Ix == pytest.approx(0.1406 * 0.01**4, rel=1e-3)


def test_own_matrices_are_checked():
    C = straight_beam(0.4, BAR, STEEL)
    np.testing.assert_array_equal(own_compliance(C), C)
    np.testing.assert_array_equal(own_compliance(rigid()), np.zeros((6, 6)))
    skewed = C.copy()
    skewed[0, 1] = 1e-6
    for wrong, why in ((skewed, "symmetric"), (-C, "negative"), (np.eye(5), "6 x 6")):
        with pytest.raises(InputError, match=why):
            own_compliance(wrong)
    for call in (lambda: circle(-1.0), lambda: tube(0.1, 0.2), lambda: curved_beam(0.2, 0.0, BAR, STEEL),
                 lambda: Material.isotropic(1e9, 0.7), lambda: straight_beam(0.0, BAR, STEEL)):  # fmt: skip
        with pytest.raises(InputError):
            call()
