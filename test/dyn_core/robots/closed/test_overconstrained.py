"""Loops whose constraints are redundant: closed by all of them, wherever they go, and without false singularities."""

from __future__ import annotations

import numpy as np
import overconstrained
import pytest

from dyn_core.errors import ClosureError, SingularityError
from dyn_core.robots import LoopRobot
from dyn_core.simulation import simulate

FORMULATIONS = ("projection", "multipliers", "denoc", "virtual_spring")
FULL_TURN = ("bennett", "spherical_4r", "three_cranks")
TO_AN_END = ("sarrus", "trihedral_bricard", "line_symmetric_bricard")


def robot_of(name, seed):
    return LoopRobot(getattr(overconstrained, name)(np.random.default_rng(seed)))


def check_at(robot, at, speed, drive):
    """All constraints are met, and the formulations agree with each other."""
    assert robot.assembly.opening(at.q) < 1e-11
    q = at.q[robot.joints]
    kinds = [f for f in FORMULATIONS if f != "denoc" or len(robot.mechanism.loops) == 1]
    tau = [robot.using(f).inverse_dynamics(q, speed, drive, near=at) for f in kinds]
    qdd = [robot.using(f).forward_dynamics(q, speed, drive, near=at) for f in kinds]
    left = max(1e-9, 100.0 * 10.0 ** -robot.closed(q, near=at).digits)
    for each in (tau, qdd):
        assert np.ptp(each, axis=0).max() < left * max(1.0, np.abs(each).max())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", FULL_TURN)
def test_full_turns(name, seed):
    robot = robot_of(name, seed)
    tracker, start = robot.tracker(), robot.neutral()
    h = 1e-5
    for k in range(1, 41):
        q = start + 4.0 * np.pi * k / 40
        for plain in (q, 2 * start - q):
            np.testing.assert_allclose(robot.configuration(plain).q[robot.joints], plain, atol=1e-15)
        at = tracker.move_to(q)
        check_at(robot, at, [0.7], [0.3])
        ahead, behind = (robot.configuration(q + s * h, near=at).q for s in (1.0, -1.0))
        np.testing.assert_allclose((ahead - behind) / (2 * h), robot.closed(q, near=at).G[:, 0], rtol=1e-6, atol=1e-6)
    after = at.q - robot.reference
    np.testing.assert_allclose(after, 2.0 * np.pi * np.round(after / (2.0 * np.pi)), atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", TO_AN_END)
def test_up_to_a_singularity(name, seed):
    """Both ways until the loops say that they cannot go on: a singularity is there then."""
    robot = robot_of(name, seed)
    for way in (1.0, -1.0):
        tracker, q, step = robot.tracker(), robot.neutral(), 0.1
        for _ in range(200):
            try:
                at = tracker.move_to(q + way * step)
            except (SingularityError, ClosureError):
                step *= 0.25
                if step < 1e-7:
                    break
                continue
            q = at.q[robot.joints]
            if step == 0.1:
                check_at(robot, at, [0.7], [0.3])
        if step < 1e-7:
            assert robot.assembly.distance(at.q) < 2e-3
        assert np.abs(q - robot.neutral()).max() > 1e-3


def test_change_points_are_named():
    """Cranks on one line: where they all lie along it, parallelogram and antiparallelogram meet."""
    rng = np.random.default_rng(2)
    robot = LoopRobot(overconstrained.three_cranks(rng, collinear=True))
    with pytest.raises(SingularityError, match="lies on the way"):
        robot.closed([-0.5])
    with pytest.raises(SingularityError, match="is singular at"):
        robot.closed([0.0])
    tracker = robot.tracker()
    for q in np.arange(robot.neutral()[0], 0.0, -0.07):
        tracker.move_to([q])
    with pytest.raises(SingularityError):
        tracker.move_to([-0.03])


@pytest.mark.parametrize("formulation", ["projection", "multipliers"])
@pytest.mark.parametrize("name", FULL_TURN)
def test_simulation_goes_round_and_keeps_its_energy(name, formulation):
    robot = robot_of(name, 1)
    m = robot.mechanism
    result = simulate(robot.using(formulation), qd0=[9.0], duration=1.5, torques=[0.0], h=1e-3, method="rk4")
    assert not result.failure
    assert np.ptp(result.q) > 3.0 * np.pi
    energies = []
    tracker = robot.tracker()
    for q, qd in zip(result.q[::25], result.qd[::25], strict=True):
        full, speeds = tracker.all_joints(q, qd)
        energy = 0.5 * speeds @ robot.tree.mass_matrix(full) @ speeds
        poses = robot.tree.link_poses(full)
        for j in range(m.n):
            frame = m.frame(m.body_names[j])
            T = poses[m.frames.index(frame)] @ np.linalg.inv(np.block([[frame.R, frame.p[:, None]], [0, 0, 0, 1]]))
            energy -= m.gravity @ (T[:3, :3] @ m.MS[j] + m.M[j] * T[:3, 3])
        energies.append(energy)
    assert np.ptp(energies) < 2e-4 * np.abs(energies).max()
