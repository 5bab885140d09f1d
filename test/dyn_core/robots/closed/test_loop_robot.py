"""Closed chains: closure against finite differences, the formulations against each other and against energy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_loops import SPATIAL, random_loop, random_planar_loop

from dyn_core.errors import ClosureError, DescriptionError, InputError, SingularityError
from dyn_core.robots import LoopRobot
from dyn_core.simulation import simulate

CASES = [(kind, seed) for kind in SPATIAL for seed in range(4)] + [(n, seed) for n in (3, 4, 5) for seed in range(4)]


@pytest.fixture(params=CASES, ids=str)
def case(request):
    kind, seed = request.param
    make = random_loop if isinstance(kind, str) else random_planar_loop
    for attempt in range(100):
        rng = np.random.default_rng([seed, attempt])
        robot = LoopRobot(make(rng, kind))
        if np.abs(robot.closed(robot.neutral()).G).max() < 4.0:  # not near the end of its motion
            break
    q = robot.neutral() + rng.uniform(-1e-3, 1e-3, robot.n)
    return robot, q, *rng.normal(size=(2, robot.n))


def test_loops_stay_closed(case):
    robot, q, *_ = case
    for scale in (0.0, 1.0):
        full = robot.all_positions(robot.neutral() + scale * (q - robot.neutral()))
        phi = robot.assembly.terms(robot.assembly.all_rows, full, np.zeros(len(full)))[0]
        assert np.abs(phi).max() < 1e-11
    np.testing.assert_array_equal(full[robot.joints], q)


def test_rates_are_derivatives(case):
    robot, q, qd, qdd = case
    h = 1e-5
    at = robot.closed(q, qd)
    ahead, behind = (robot.closed(q + s * h * qd + h * h / 2 * qdd, qd + s * h * qdd) for s in (1, -1))
    np.testing.assert_allclose((ahead.q - behind.q) / (2 * h), at.qd, rtol=1e-5, atol=1e-5)
    found = (ahead.qd - behind.qd) / (2 * h)
    np.testing.assert_allclose(found, at.G @ qdd + at.g, rtol=1e-4, atol=1e-4 * max(1.0, np.abs(found).max()))
    np.testing.assert_allclose(at.G @ qd, at.qd)


def test_formulations_agree(case):
    robot, q, qd, x = case
    other = robot.using("multipliers")
    w = np.random.default_rng(0).normal(size=(robot.mechanism.n, 6))
    for wrenches in (None, w):
        tau = robot.inverse_dynamics(q, qd, x, wrenches)
        assert relative(other.inverse_dynamics(q, qd, x, wrenches), tau) < 1e-9
        qdd = robot.forward_dynamics(q, qd, x, wrenches)
        assert relative(other.forward_dynamics(q, qd, x, wrenches), qdd) < 1e-9
        assert relative(robot.forward_dynamics(q, qd, tau, wrenches), x) < 1e-9
        assert relative(robot.mass_matrix(q) @ x + robot.inverse_dynamics(q, qd, 0 * x, wrenches), tau) < 1e-9


def relative(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1.0)


def test_power_of_active_forces_is_the_change_of_energy(case):
    """Independent of any formulation: d/dt (kinetic + potential) of the tree's bodies = tau . qd, without friction."""
    robot, q, qd, tau = case
    m = dataclasses.replace(robot.mechanism, Fv=np.zeros(robot.mechanism.n), Fs=np.zeros(robot.mechanism.n))
    robot = LoopRobot(m)

    def energy(q_a, qd_a):
        at = robot.closed(q_a, qd_a)
        kinetic = 0.5 * at.qd @ robot.tree.mass_matrix(at.q) @ at.qd
        poses = robot.tree.link_poses(at.q)
        height = 0.0
        for j in range(m.n):
            frame = m.frame(m.body_names[j])
            com = frame.R.T @ (m.MS[j] / m.M[j] - frame.p)
            T = poses[m.frames.index(frame)]
            height -= m.M[j] * m.gravity @ (T[:3, :3] @ com + T[:3, 3])
        return kinetic + height

    qdd = robot.forward_dynamics(q, qd, tau)
    h = 1e-5
    rate = (energy(q + h * qd + h * h / 2 * qdd, qd + h * qdd) - energy(q - h * qd + h * h / 2 * qdd, qd - h * qdd)) / (
        2 * h
    )
    assert rate == pytest.approx(tau @ qd, rel=1e-4, abs=1e-4)


def test_batches_and_kinematics(case):
    robot, q, qd, qdd = case
    Q = np.array([q, robot.neutral()])
    tau = robot.inverse_dynamics(Q, qd, qdd)
    assert tau.shape == (2, robot.n)
    np.testing.assert_allclose(tau[0], robot.inverse_dynamics(q, qd, qdd), rtol=1e-9, atol=1e-9)
    h = 1e-6
    ahead, behind = robot.forward_kinematics(q + h * qd), robot.forward_kinematics(q - h * qd)
    np.testing.assert_allclose((ahead - behind)[:3, 3] / (2 * h), robot.jacobian(q)[:3] @ qd, rtol=1e-4, atol=1e-5)
    assert robot.link_poses(Q).shape == (2, len(robot.mechanism.frames), 4, 4)


def test_simulation_conserves_energy_and_agrees():
    rng = np.random.default_rng(3)
    robot = LoopRobot(random_planar_loop(rng, 3, friction=False))
    results = [simulate(each, duration=0.2, h=1e-3, method="rk4") for each in (robot, robot.using("multipliers"))]
    assert not results[0].failure
    np.testing.assert_allclose(results[0].q, results[1].q, atol=1e-8)


def test_a_loop_that_cannot_close_is_named():
    m = random_planar_loop(np.random.default_rng(0), 3)
    far = dataclasses.replace(m.loops[0].second, p=m.loops[0].second.p + np.array([50.0, 0.0, 0.0]))
    with pytest.raises(ClosureError, match=r"loop 'loop' cannot be closed near .* stays open by \d+\.?\d* m"):
        LoopRobot(dataclasses.replace(m, loops=(dataclasses.replace(m.loops[0], second=far),)))


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "fixed"])
def test_a_rough_guess_does_not_turn_a_frame_over(kind):
    """Right angles alone would also hold with the second frame turned by half a turn."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        m = random_loop(rng, kind)
        loop = m.loops[0]
        frames = dataclasses.replace(loop.first, name="first"), dataclasses.replace(loop.second, name="second")
        m = dataclasses.replace(m, assembly=m.assembly + 1.5 * rng.normal(size=m.n), frames=(*frames, *m.frames))
        robot = LoopRobot(m)
        first, second = (robot.forward_kinematics(robot.neutral(), each)[:3, :3] for each in ("first", "second"))
        between = first.T @ second
        assert between[2, 2] == pytest.approx(1.0, abs=1e-8)
        if kind != "revolute":
            np.testing.assert_allclose(between, np.eye(3), atol=1e-8)


def test_a_singular_description_is_named():
    """A parallelogram that lies flat: two joints could move there, although one is active as it should be."""
    m = random_planar_loop(np.random.default_rng(0), 3)
    flat = dataclasses.replace(m, R=np.tile(np.eye(3), (3, 1, 1)), p=np.array([[0.0, 0, 0], [0.3, 0, 0], [1.0, 0, 0]]))
    end, pin = (dataclasses.replace(f, R=np.eye(3)) for f in (m.loops[0].first, m.loops[0].second))
    end, pin = dataclasses.replace(end, p=np.array([-0.3, 0, 0])), dataclasses.replace(pin, p=np.array([1.0, 0, 0]))
    loop = dataclasses.replace(m.loops[0], first=end, second=pin)
    flat = dataclasses.replace(flat, loops=(loop,), assembly=np.zeros(3))
    with pytest.raises(SingularityError, match=r"the described configuration is singular.* describe another"):
        LoopRobot(flat)
    up = LoopRobot(dataclasses.replace(flat, assembly=np.array([1.5, -1.5, 1.5])))
    np.testing.assert_allclose(up.closed(up.neutral()).G[:, 0], [1.0, -1.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(("active", "word"), [([True, True, False], "over"), ([False, False, False], "under")])
def test_mobility_is_counted(active, word):
    m = random_planar_loop(np.random.default_rng(0), 3)
    with pytest.raises(DescriptionError, match=f"{word}-actuated: 3 joints less 2 independent .* mobility of 1"):
        LoopRobot(dataclasses.replace(m, active=np.array(active)))


def test_redundant_constraints_are_counted_and_harmless():
    """A planar loop closed by a revolute joint in space has three constraints too many."""
    m = random_planar_loop(np.random.default_rng(1), 3)
    robot = LoopRobot(m)
    spatial = LoopRobot(dataclasses.replace(m, loops=(dataclasses.replace(m.loops[0], kind="revolute"),)))
    assert robot.redundant_constraints == 0
    assert spatial.redundant_constraints == 3
    q, qd, qdd = robot.neutral(), np.array([0.7]), np.array([-0.4])
    for each in (spatial, spatial.using("multipliers")):
        np.testing.assert_allclose(each.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd), rtol=1e-9)
        np.testing.assert_allclose(each.forward_dynamics(q, qd, qdd), robot.forward_dynamics(q, qd, qdd), rtol=1e-9)


def test_reactions_hold_the_end():
    """Newton for the whole tree: reactions of the cut joint are what the opened chain would need as a wrench."""
    m = random_planar_loop(np.random.default_rng(2), 3)
    robot = LoopRobot(m)
    q, qd, tau = robot.neutral(), np.array([0.3]), np.array([2.0])
    at = robot.closed(q, qd)
    force = robot.reactions(q, qd, tau)["loop"]
    qdd = robot.forward_dynamics(q, qd, tau)
    needed = robot.tree.inverse_dynamics(at.q, at.qd, at.G @ qdd + at.g)
    J = robot.assembly.terms(robot.assembly.all_rows, at.q, at.qd)[1]
    expected = np.zeros(3)
    expected[robot.joints] = tau
    np.testing.assert_allclose(needed, expected + J.T @ force, rtol=1e-9, atol=1e-9)


def test_bad_input_is_named():
    m = random_planar_loop(np.random.default_rng(0), 3)
    robot = LoopRobot(m)
    with pytest.raises(InputError, match="q has shape"):
        robot.inverse_dynamics([0.0, 0.0], [0.0], [0.0])
    with pytest.raises(InputError, match="a formulation is one of"):
        robot.using("magic")
    with pytest.raises(InputError, match="no loops"):
        LoopRobot(dataclasses.replace(m, loops=()))
