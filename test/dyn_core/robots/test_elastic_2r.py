"""The shipped arm with elastic transmissions vibrates at the frequencies that its stiffnesses and inertias give."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.linalg import eigh

from dyn_core import Robot, load_robot
from dyn_core.control.computed_torque import ComputedTorque
from dyn_core.robots import TreeRobot
from dyn_core.simulation import simulate
from dyn_core.trajectory import cycloidal

ROBOT = load_robot("elastic_2r")
K = np.diag([0.0, 1500.0, 0.0, 400.0])
ELASTIC = [1, 3]


def inertia(elbow: float) -> np.ndarray:
    """Mass matrix in motor and twist coordinates, by the textbook's two-link arm in the links' angles.

    The links' angles are sums: link1 = motor1 + twist1, link2 = motor2 + twist2, so A = S^T A_links S plus what the
    motors' rotors (gear^2 times their own) and the elbow's gear (at the elbow, turning with its motor) add.
    """
    m1, l1, m2, l2 = 4.0, 0.5, 2.0, 0.4
    gear_mass, gear_inertia = 0.5, 3e-4
    a = m1 * l1**2 / 3 + (m2 + gear_mass) * l1**2
    b = m2 * l2**2 / 3
    c = m2 * l1 * l2 / 2 * np.cos(elbow)
    links = np.array([[a + b + 2 * c, b + c], [b + c, b]])
    S = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    turns = np.array([1.0, 1.0, 1.0, 0.0])  # of the elbow's gear: with all but its own twist
    rotors = np.diag([50**2 * 4e-5, 0.0, 40**2 * 2e-5, 0.0])
    return S.T @ links @ S + gear_inertia * np.outer(turns, turns) + rotors


def without_friction() -> Robot:
    zero = np.zeros(ROBOT.n)
    return TreeRobot(dataclasses.replace(ROBOT.mechanism, Fv=zero, Fs=zero))


@pytest.mark.parametrize("elbow", [0.0, 1.0, 2.5])
def test_the_mass_matrix_is_the_textbook_s(elbow: float) -> None:
    np.testing.assert_allclose(ROBOT.mass_matrix([0.3, 0.0, elbow, 0.0]), inertia(elbow), rtol=1e-9)


@pytest.mark.parametrize("mode", [2, 3])
def test_free_motors_vibrate_against_their_links(mode: int) -> None:
    """A small displacement along an eigenvector of K x = w^2 A x goes on as cos(w t), motors left to themselves."""
    q0 = np.array([0.0, 0.0, 1.0, 0.0])
    squares, shapes = eigh(K, inertia(1.0))
    omega, shape = np.sqrt(squares[mode]), shapes[:, mode] / np.abs(shapes[:, mode]).max()
    periods = 3 * 2 * np.pi / omega
    result = simulate(
        without_friction(), q0 + 1e-5 * shape, duration=periods, torques=np.zeros(4), h=1e-4, method="rk4"
    )
    expected = q0 + 1e-5 * np.outer(np.cos(omega * result.t), shape)
    np.testing.assert_allclose(result.q, expected, atol=2e-9)


@pytest.mark.parametrize("mode", [0, 1])
def test_links_vibrate_on_held_motors(mode: int) -> None:
    """With the motors held by the inverse model, only the links' inertias and the springs make the frequencies."""
    robot = without_friction()
    q0 = np.array([0.0, 0.0, 1.0, 0.0])
    squares, shapes = eigh(K[np.ix_(ELASTIC, ELASTIC)], inertia(1.0)[np.ix_(ELASTIC, ELASTIC)])
    omega, shape = np.sqrt(squares[mode]), np.zeros(4)
    shape[ELASTIC] = shapes[:, mode] / np.abs(shapes[:, mode]).max()

    def held(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return robot.mixed_dynamics(q, qd, -2e3 * qd - 1e6 * (q - q0))[0]

    result = simulate(robot, q0 + 1e-5 * shape, duration=2 * 2 * np.pi / omega, torques=held, h=1e-4, method="rk4")
    expected = q0 + 1e-5 * np.outer(np.cos(omega * result.t), shape)
    np.testing.assert_allclose(result.q, expected, atol=1e-7)


def test_a_stopped_move_rings_at_the_lowest_frequency() -> None:
    """Driven by volts through its motors and gears, the arm stops at once; the twist then rings, and dies away."""
    control = ComputedTorque(ROBOT, bandwidth=60.0, friction="desired")
    move = cycloidal(np.zeros(4), [0.6, 0.0, 0.0, 0.0], 0.5)
    drive = lambda t, q, qd: control.command(move.sample(t), q, qd).voltage  # noqa: E731
    result = simulate(ROBOT, duration=2.5, volts=drive, h=5e-4, dac_period=1e-3)
    assert result.failure == ""
    np.testing.assert_allclose(result.q[-1, [0, 2]], [0.6, 0.0], atol=5e-3)
    after = result.t > 0.6
    t, twist = result.t[after], result.q[after, 1]
    assert 1e-4 < np.abs(twist).max() < np.radians(10)
    crossings = t[1:][(twist[:-1] < 0.0) & (twist[1:] >= 0.0)][:4]
    lowest = np.sqrt(eigh(K[np.ix_(ELASTIC, ELASTIC)], inertia(0.0)[np.ix_(ELASTIC, ELASTIC)])[0][0])
    assert np.diff(crossings).mean() == pytest.approx(2 * np.pi / lowest, rel=0.03)
    late = np.abs(twist[t > 2.3]).max()
    assert late < 0.6 * np.abs(twist).max()


def test_the_springs_are_the_arm_s_stiffness() -> None:
    """The tool gives way by the twists alone: C = J_e K_e^-1 J_e^T."""
    q = [0.2, 0.0, 0.7, 0.0]
    J = ROBOT.jacobian(q)[:, ELASTIC]
    np.testing.assert_allclose(ROBOT.stiffness(q).C, J @ np.diag([1 / 1500, 1 / 400]) @ J.T, atol=1e-12)
