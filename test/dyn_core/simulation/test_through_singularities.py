"""Motions on through singularities: a flywheel carries a slider-crank and a parallelogram through their dead points."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.errors import InputError
from dyn_core.simulation import simulate

R, L = 0.3, 1.0
SLIDER_CRANK = f"""\
name: engine
gravity: [0, 0, 0]
joints:
  - {{name: crank, type: revolute, origin: {{}}, active: false, rotor_inertia: 0.4,
     link: {{name: wheel, mass: 1, inertia: {{xx: 0.01, yy: 0.01, zz: 0.01}}}}}}
  - {{name: rod, type: revolute, origin: {{xyz: [{R}, 0, 0]}}, active: false,
     link: {{name: rod_link, mass: 0.5, com: [0.5, 0, 0], inertia: {{xx: 0, yy: 0.04, zz: 0.04}}}}}}
  - {{name: piston, type: prismatic, parent: base, origin: {{}}, axis: [1, 0, 0], link: {{name: slider, mass: 0.8}}}}
loops:
  - {{name: pin, kind: planar_revolute, first: {{link: slider}}, second: {{link: rod_link, xyz: [{L}, 0, 0]}}}}
assembly: {{crank: 90 deg, rod: -107 deg, piston: 0.954}}
"""
PARALLELOGRAM = """\
name: parallelogram
gravity: [0, 0, 0]
joints:
  - {name: left, type: revolute, origin: {}, rotor_inertia: 0.4,
     link: {name: left_crank, mass: 1, com: [0.15, 0, 0], inertia: {xx: 0, yy: 0.01, zz: 0.01}}}
  - {name: coupler, type: revolute, origin: {xyz: [0.3, 0, 0]}, active: false,
     link: {name: coupler_link, mass: 1, com: [0.5, 0, 0], inertia: {xx: 0, yy: 0.08, zz: 0.08}}}
  - {name: right, type: revolute, parent: base, origin: {xyz: [1, 0, 0]}, active: false,
     link: {name: right_crank, mass: 1, com: [0.15, 0, 0], inertia: {xx: 0, yy: 0.01, zz: 0.01}}}
loops:
  - {name: pin, kind: planar_revolute, first: {link: right_crank, xyz: [0.3, 0, 0]},
     second: {link: coupler_link, xyz: [1, 0, 0]}}
assembly: {left: 60 deg, coupler: -60 deg, right: 60 deg}
"""


def robot_of(tmp_path, text):
    path = tmp_path / "robot.yaml"
    path.write_text(text)
    return load_robot(path)


def test_a_flywheel_carries_a_piston_through_its_dead_points(tmp_path):
    """The piston is the coordinate, which does not determine the crank where it turns back."""
    robot = robot_of(tmp_path, SLIDER_CRANK)
    q0 = robot.neutral()
    speed = robot.closed(q0, [1.0]).qd[0]
    options = {"qd0": [8.0 / speed], "duration": 1.0, "h": 1e-3, "method": "rk4"}  # 8 rad/s of the crank
    stopped = simulate(robot, q0, **options)
    assert stopped.singularity is not None
    motion = simulate(robot, q0, **options, through_singularities=True)
    assert not motion.failure
    crank, rod, piston = motion.all_q.T
    assert abs(crank[-1] - crank[0]) > 2.0 * np.pi  # over a turn, and so through both dead points
    tip = R * np.exp(1j * crank) + L * np.exp(1j * (crank + rod))
    np.testing.assert_allclose(tip, piston, atol=1e-9)  # the loop stays closed
    rates = np.gradient(motion.all_q, motion.t, axis=0, edge_order=2)[1:-1]
    energy = [0.5 * v @ robot.tree.mass_matrix(q) @ v for q, v in zip(motion.all_q[1:-1:50], rates[::50], strict=True)]
    np.testing.assert_allclose(energy, energy[0], rtol=2e-3)  # of speeds by differences
    other = SLIDER_CRANK.replace("{}, active: false, rotor", "{}, rotor")
    other = other.replace("axis: [1, 0, 0], link", "axis: [1, 0, 0], active: false, link")
    ahead = simulate(robot_of(tmp_path, other), [crank[0]], [8.0], duration=1.0, h=1e-3, method="rk4")
    np.testing.assert_allclose(crank, ahead.q[:, 0], atol=1e-6)  # with the crank as coordinate there are none


def test_a_parallelogram_stays_one_where_it_is_flat(tmp_path):
    """There the loop itself is singular, and a second way of moving begins; speed carries it on."""
    robot = robot_of(tmp_path, PARALLELOGRAM)
    motion = simulate(robot, qd0=[5.0], duration=1.5, h=1e-3, method="rk4", through_singularities=True)
    assert not motion.failure
    left, coupler, right = motion.all_q.T
    assert left[-1] - left[0] > 2.0 * np.pi
    np.testing.assert_allclose(np.exp(1j * right), np.exp(1j * left), atol=1e-6)
    np.testing.assert_allclose(np.exp(1j * (left + coupler)), 1.0, atol=1e-6)
    np.testing.assert_allclose(motion.qd[:, 0], 5.0, rtol=1e-6)  # no force does work, and its inertia is constant


def test_what_cannot_go_through_says_so(tmp_path):
    robot = robot_of(tmp_path, PARALLELOGRAM)
    with pytest.raises(InputError, match="rk3 or rk4"):
        simulate(robot, duration=0.01, method="DOP853", through_singularities=True)
    with pytest.raises(InputError, match="simulate_platform"):
        simulate(load_robot("gough_stewart_wang"), duration=0.01, through_singularities=True)
