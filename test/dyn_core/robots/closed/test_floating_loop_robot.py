"""Loops on a floating base: against the same loops on a fixed one, by two formulations, and by conservation laws."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_loops import random_loop
from random_robots import random_inertia

from dyn_core.errors import InputError
from dyn_core.mechanism import FloatingBase
from dyn_core.robots import FloatingRobot, LoopRobot, convert, load_robot, robot_of
from dyn_core.simulation import simulate

SATELLITE = """\
name: satellite
gravity: [0, 0, 0]
base: {type: floating, name: bus, mass: 8, com: [0.1, 0, 0.05], inertia: {xx: 0.6, yy: 0.5, zz: 0.7}}
joints:
  - {name: crank, type: revolute, parent: bus, origin: {xyz: [0.2, 0, 0.1]},
     link: {name: crank_link, mass: 1, com: [0.15, 0, 0], inertia: {xx: 0.002, yy: 0.0075, zz: 0.0075}}}
  - {name: rod, type: revolute, origin: {xyz: [0.3, 0, 0]}, active: false,
     link: {name: rod_link, mass: 2, com: [0.5, 0, 0], inertia: {xx: 0.002, yy: 0.17, zz: 0.17}}}
  - {name: slide, type: prismatic, parent: bus, origin: {xyz: [0.2, 0, 0.1]}, axis: [1, 0, 0], active: false,
     link: {name: slider, mass: 3, inertia: {xx: 0.01, yy: 0.01, zz: 0.01}}}
loops:
  - {name: piston, kind: planar_revolute, first: {link: slider}, second: {link: rod_link, xyz: [1, 0, 0]}}
assembly: {crank: 90 deg, rod: -107 deg, slide: 0.95}
"""


@pytest.fixture(scope="module")
def satellite(tmp_path_factory):
    path = tmp_path_factory.mktemp("floating") / "satellite.yaml"
    path.write_text(SATELLITE)
    return load_robot(path)


def floating(seed: int):
    rng = np.random.default_rng(seed)
    while True:
        m = random_loop(rng, "spherical")
        if np.abs(LoopRobot(m).closed(LoopRobot(m).neutral()).G).max() < 4.0:
            break
    base = FloatingBase("trunk", 3.0, np.array([0.3, 0.0, 0.6]), random_inertia(rng, 3.0) + 0.2 * np.eye(3))
    return rng, robot_of(dataclasses.replace(m, base=base)), LoopRobot(m)


@pytest.mark.parametrize("seed", range(2))
def test_on_a_base_that_is_held_the_joints_need_what_they_need_on_a_fixed_one(seed):
    rng, robot, fixed = floating(seed)
    q, qd, qdd = robot.neutral(), np.zeros(7), np.zeros(7)
    q[7:] += 0.02
    qd[6:], qdd[6:] = rng.normal(size=(2, 1))
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau[6:], fixed.inverse_dynamics(q[7:], qd[6:], qdd[6:]), rtol=1e-9)
    np.testing.assert_allclose(robot.mass_matrix(q)[6:, 6:], fixed.mass_matrix(q[7:]), rtol=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_formulations_agree_and_invert_each_other(seed):
    rng, robot, _ = floating(seed)
    q, (qd, qdd) = robot.neutral(), rng.normal(size=(2, 7))
    q[:3], q[3:7] = rng.normal(size=3), rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    w = rng.normal(size=(robot.mechanism.n + 1, 6))
    tau = robot.inverse_dynamics(q, qd, qdd, w)
    for each in (robot, robot.using("multipliers")):
        np.testing.assert_allclose(each.forward_dynamics(q, qd, tau, w), qdd, rtol=1e-6, atol=1e-6)
    batch = robot.inverse_dynamics(np.tile(q, (3, 1)), qd, qdd, w)
    np.testing.assert_allclose(batch[2], tau, rtol=1e-12)
    with pytest.raises(InputError, match="floating base"):
        robot.using("denoc")


def test_momentum_and_energy_are_kept(satellite):
    """A crank that is spun on a free bus turns it, and nothing else changes."""
    rng = np.random.default_rng(1)
    qd0 = np.append(0.2 * rng.normal(size=6), 4.0)
    motion = simulate(satellite, satellite.neutral(), qd0, duration=0.4, h=1e-3, method="rk4")
    assert not motion.failure
    assert abs(motion.q[-1, 7] - motion.q[0, 7]) > 0.5
    bare = FloatingRobot(dataclasses.replace(satellite.mechanism, loops=()))
    tracker = satellite.tracker()
    kept = []
    for q, qd in zip(motion.q, motion.qd, strict=True):
        full, rates = tracker.all_joints(q, qd)
        at, v = np.append(q[:7], full), np.append(qd[:6], rates)
        kept.append(np.append(bare.momentum(at, v), 0.5 * v @ bare.mass_matrix(at) @ v))
    np.testing.assert_allclose(kept[-1], kept[0], rtol=1e-6, atol=1e-6)


def test_poses_and_jacobians(satellite):
    q, h = satellite.neutral(), 1e-6
    q[:3] = 0.3, -0.2, 0.5
    J = satellite.jacobian(q, "slider")
    turned = q.copy()
    turned[7] += h
    moved = (satellite.forward_kinematics(turned, "slider") - satellite.forward_kinematics(q, "slider"))[:3, 3] / h
    np.testing.assert_allclose(J[:3, 6], moved, atol=1e-5)
    assert satellite.link_poses(q).shape == (len(satellite.mechanism.frames), 4, 4)


@pytest.mark.parametrize("notation", ["mdh", "origin"])
def test_every_notation_keeps_it(tmp_path, notation):
    source = tmp_path / "satellite.yaml"
    source.write_text(SATELLITE)
    convert(source, tmp_path / "out.yaml", notation)
    assert load_robot(tmp_path / "out.yaml").nv == 7
