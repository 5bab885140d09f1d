"""Links without mass inside loops: a slider-crank with a massless rod, against its Lagrangian written by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.errors import DescriptionError, InputError, SingularityError
from dyn_core.simulation import simulate, simulate_with_springs

R, L, M, I, G = 0.3, 1.0, 3.0, 0.03, 9.81  # crank, rod, slider's mass, crank's inertia about its pin, gravity along -x

TEXT = f"""\
name: slider_crank
gravity: [{-G}, 0, 0]
joints:
  - {{name: crank, type: revolute, origin: {{}},
     link: {{name: crank_link, mass: 1, inertia: {{xx: {I}, yy: {I}, zz: {I}}}}}}}
  - {{name: rod, type: revolute, origin: {{xyz: [{R}, 0, 0]}}, active: false, link: {{name: rod_link}}}}
  - {{name: slide, type: prismatic, parent: base, origin: {{}}, axis: [1, 0, 0], active: false,
     link: {{name: slider, mass: {M}}}}}
loops:
  - {{name: piston, kind: planar_revolute, first: {{link: slider}}, second: {{link: rod_link, xyz: [{L}, 0, 0]}}}}
assembly: {{crank: 90 deg, rod: -107 deg, slide: 0.95}}
"""


def position(angle):
    """Of the slider, also at complex angles."""
    return R * np.cos(angle) + np.sqrt(L**2 - R**2 * np.sin(angle) ** 2)


def slopes(angle: float) -> tuple[float, float]:
    """dx / d angle by a complex step, and its slope by differences of that."""

    def slope(at: float) -> float:
        return float(position(at + 1e-30j).imag / 1e-30)

    h = 1e-5
    return slope(angle), (slope(angle + h) - slope(angle - h)) / (2.0 * h)


def torque(angle: float, rate: float, acceleration: float) -> float:
    """(I + M x'^2) a'' + M x' x'' a'^2 + M g x'."""
    s, ss = slopes(angle)
    return (I + M * s * s) * acceleration + M * s * ss * rate**2 + M * G * s


@pytest.fixture(scope="module")
def robot(tmp_path_factory):
    path = tmp_path_factory.mktemp("massless") / "slider_crank.yaml"
    path.write_text(TEXT)
    return load_robot(path)


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "denoc", "virtual_spring"])
def test_its_lagrangian(robot, formulation):
    robot = robot.using(formulation)
    for angle, rate, acceleration in ((0.7, 1.3, -0.4), (2.1, -0.8, 2.0)):
        expected = torque(angle, rate, acceleration)
        tau = robot.inverse_dynamics([angle], [rate], [acceleration])
        np.testing.assert_allclose(tau, [expected], rtol=1e-7)
        np.testing.assert_allclose(robot.forward_dynamics([angle], [rate], [expected]), [acceleration], atol=1e-5)
    np.testing.assert_allclose(robot.mass_matrix([0.7]), [[I + M * slopes(0.7)[0] ** 2]], rtol=1e-9)


def test_a_rod_without_mass_carries_force_along_itself_only(robot):
    reaction = robot.reactions([0.7], [0.0], [0.0])["piston"]
    x, tip = position(0.7), R * np.array([np.cos(0.7), np.sin(0.7)])
    along = np.array([x, 0.0]) - tip
    assert abs(np.cross(np.append(reaction, 0.0), np.append(along, 0.0))[2]) < 1e-8 * np.linalg.norm(reaction)


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "denoc"])
def test_energy_is_kept(robot, formulation):
    motion = simulate(robot.using(formulation), [1.2], [3.0], duration=0.5, h=5e-4, method="rk4")
    assert not motion.failure

    def energy(angle: float, rate: float) -> float:
        return 0.5 * (I + M * slopes(angle)[0] ** 2) * rate**2 + M * G * position(angle)

    first, last = (energy(motion.q[k, 0], motion.qd[k, 0]) for k in (0, -1))
    assert last == pytest.approx(first, rel=1e-6)
    assert abs(motion.q[-1, 0] - 1.2) > 0.3


def test_springs_cannot_hold_what_has_no_mass(robot):
    with pytest.raises(InputError, match="links without mass"):
        simulate_with_springs(robot, duration=0.01)


def test_a_drive_that_moves_nothing_is_refused(tmp_path):
    path = tmp_path / "nothing.yaml"
    path.write_text(
        TEXT.replace(f"mass: 1, inertia: {{xx: {I}, yy: {I}, zz: {I}}}", "mass: 0").replace(f", mass: {M}", "")
    )
    robot = load_robot(path)
    with pytest.raises(SingularityError, match="moves no inertia at all"):
        robot.forward_dynamics([1.2], [0.0], [1.0])


def test_an_open_chain_still_needs_its_masses(tmp_path):
    path = tmp_path / "open.yaml"
    path.write_text(TEXT[: TEXT.index("loops:")])
    with pytest.raises(DescriptionError, match="nothing to move"):
        load_robot(path)
