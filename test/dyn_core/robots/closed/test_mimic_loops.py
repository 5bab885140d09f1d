"""Loops with joints that follow others: a five-bar whose second drive follows the first, against its two drives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.errors import StructureError
from dyn_core.mechanism import Mimic
from dyn_core.robots import LoopRobot, convert
from dyn_core.simulation import simulate

TIMES, SHIFT = -0.7, 0.2


@pytest.fixture(scope="module")
def both():
    return load_robot("five_bar_saha")


@pytest.fixture(scope="module")
def geared(both):
    """q_second = TIMES q_first + offset, where the offset is that of the described configuration."""
    m, (first, second) = both.mechanism, both.joints
    leader, multiplier, offset = np.arange(m.n), np.ones(m.n), np.zeros(m.n)
    leader[second], multiplier[second] = first, TIMES
    offset[second] = both.neutral()[1] - TIMES * both.neutral()[0] + SHIFT
    start = both.closed(both.neutral() + np.array([0.0, SHIFT])).q
    return LoopRobot(dataclasses.replace(m, mimic=Mimic(leader, multiplier, offset), assembly=start, motors=None))


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "virtual_spring"])
def test_forces_are_those_of_both_drives(both, geared, formulation):
    robot = geared.using(formulation)
    assert robot.joint_names == both.joint_names[:1]
    lead = np.array([1.0, TIMES])
    for step in (-0.1, 0.0, 0.15):
        q, qd, qdd = robot.neutral() + step, np.array([0.6]), np.array([-1.2])
        at = robot.closed(q, qd)
        drives = at.q[both.joints], at.qd[both.joints], lead * qdd
        np.testing.assert_allclose(drives[1], lead * qd, rtol=1e-12)
        tau = robot.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(tau, [lead @ both.inverse_dynamics(*drives)], rtol=1e-8)
        np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, rtol=1e-5)
        np.testing.assert_allclose(robot.mass_matrix(q), [[lead @ both.mass_matrix(drives[0]) @ lead]], rtol=1e-8)


def test_it_moves_alike_by_both_formulations_and_keeps_its_ratio(geared):
    motions = [
        simulate(each, duration=0.3, torques=[0.0], h=1e-3, method="rk4")
        for each in (geared, geared.using("multipliers"))
    ]
    assert not motions[0].failure
    np.testing.assert_allclose(motions[1].q, motions[0].q, atol=1e-7)
    assert abs(motions[0].q[-1] - motions[0].q[0]) > 0.01
    full = geared.all_positions(motions[0].q[-1])
    mimic, second = geared.mechanism.mimic, int(np.flatnonzero(geared.mechanism.mimic.leader != np.arange(4))[0])
    assert full[second] == pytest.approx(TIMES * full[mimic.leader[second]] + mimic.offset[second], abs=1e-12)


def test_denoc_says_that_it_cannot(geared):
    with pytest.raises(StructureError, match="joints follow others"):
        geared.using("denoc")


def test_a_file_may_say_so(tmp_path):
    text = """\
name: geared
gravity: [0, -9.81, 0]
joints:
  - {name: crank, type: revolute, origin: {},
     link: {name: crank_link, mass: 1, com: [0.15, 0, 0], inertia: {xx: 0, yy: 0.01, zz: 0.01}}}
  - {name: rod, type: revolute, origin: {xyz: [0.3, 0, 0]}, active: false,
     link: {name: rod_link, mass: 2, com: [0.5, 0, 0], inertia: {xx: 0, yy: 0.17, zz: 0.17}}}
  - {name: slide, type: prismatic, parent: base, origin: {}, axis: [1, 0, 0], active: false,
     link: {name: slider, mass: 3}}
  - {name: gear, type: revolute, parent: base, origin: {xyz: [0, 1, 0]}, mimic: {joint: crank, multiplier: -2},
     link: {name: wheel, mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.2}}}
loops:
  - {name: piston, kind: planar_revolute, first: {link: slider}, second: {link: rod_link, xyz: [1, 0, 0]}}
assembly: {crank: 90 deg, rod: -107 deg, slide: 0.95}
"""
    path = tmp_path / "geared.yaml"
    path.write_text(text)
    robot = load_robot(path)
    bare = tmp_path / "bare.yaml"
    bare.write_text("\n".join(line for line in text.splitlines() if "gear," not in line and "wheel" not in line))
    extra = robot.mass_matrix([1.0]) - load_robot(bare).mass_matrix([1.0])
    np.testing.assert_allclose(extra, [[4.0 * 0.2]], rtol=1e-9)
    convert(path, tmp_path / "out.yaml", "mdh")
