"""Robots on a floating base against Pinocchio's free-flyer, and against conservation of momentum."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from random_floating import free_flyer, random_floating
from random_robots import friction_forces, random_mechanism

from dyn_core.errors import InputError
from dyn_core.mechanism import Springs
from dyn_core.robots import FloatingRobot


def relative(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1.0)


@pytest.fixture(params=[(seed, n) for seed, n in enumerate([1, 2, 6, 12] * 5)], ids=lambda c: f"seed{c[0]}-n{c[1]}")
def case(request):
    seed, n = request.param
    rng = np.random.default_rng(seed)
    m = random_floating(rng, n)
    robot, model = FloatingRobot(m), free_flyer(m)
    q = np.concatenate([rng.normal(size=3), rng.normal(size=4), rng.uniform(-3, 3, n)])
    q[3:7] /= np.linalg.norm(q[3:7])
    qd, qdd = rng.normal(size=(2, n + 6))
    wrenches = rng.normal(size=(n + 1, 6)) * 10
    on_joints = pin.StdVec_Force()
    on_joints.append(pin.Force.Zero())
    on_joints.append(pin.Force(wrenches[0]))
    for frame, w in zip(m.frames, wrenches[1:], strict=False):
        on_joints.append(pin.SE3(frame.R, frame.p).act(pin.Force(w)))
    friction = np.concatenate([np.zeros(6), friction_forces(m, qd[6:])])
    return robot, model, model.createData(), q, qd, qdd, wrenches, on_joints, friction


def spatial(qd, qdd):
    """Pinocchio's acceleration of the base is the rate of its velocity's components, not the classical one."""
    out = qdd.copy()
    out[:3] -= np.cross(qd[3:6], qd[:3])
    return out


def test_inverse_dynamics(case):
    robot, model, data, q, qd, qdd, wrenches, on_joints, friction = case
    expected = pin.rnea(model, data, q, qd, spatial(qd, qdd)) + friction
    assert relative(robot.inverse_dynamics(q, qd, qdd), expected) < 1e-9
    expected = pin.rnea(model, data, q, qd, spatial(qd, qdd), on_joints) + friction
    assert relative(robot.inverse_dynamics(q, qd, qdd, wrenches), expected) < 1e-9


@pytest.mark.parametrize("method", ["recursive", "matrices"])
def test_forward_dynamics(case, method):
    robot, model, data, q, qd, tau, wrenches, on_joints, friction = case
    found = robot.forward_dynamics(q, qd, tau, wrenches, method=method)
    expected = pin.aba(model, data, q, qd, tau - friction, on_joints)
    assert relative(spatial(qd, found), expected) < 1e-9
    np.testing.assert_allclose(
        robot.forward_dynamics(q, qd, tau[6:], method=method),
        robot.forward_dynamics(q, qd, np.concatenate([np.zeros(6), tau[6:]]), method=method),
    )


def test_mass_matrix_and_bias(case):
    robot, model, data, q, qd, *_, friction = case
    expected = pin.crba(model, data, q)
    assert relative(robot.mass_matrix(q), np.triu(expected) + np.triu(expected, 1).T) < 1e-9
    expected = pin.rnea(model, data, q, qd, spatial(qd, np.zeros(robot.nv))) + friction
    assert relative(robot.bias_forces(q, qd), expected) < 1e-9
    assert relative(robot.gravity_forces(q), pin.computeGeneralizedGravity(model, data, q)) < 1e-9


def test_kinematics(case):
    robot, model, data, q, *_ = case
    pin.framesForwardKinematics(model, data, q)
    poses = robot.link_poses(q)
    for k, frame in enumerate(robot.mechanism.frames):
        index = model.getFrameId(frame.name)
        assert relative(robot.forward_kinematics(q, frame.name), data.oMf[index].homogeneous) < 1e-9
        assert relative(poses[k], data.oMf[index].homogeneous) < 1e-9
        J = pin.computeFrameJacobian(model, data, q, index, pin.LOCAL_WORLD_ALIGNED)
        assert relative(robot.jacobian(q, frame.name), J) < 1e-9


def test_base_motion_is_the_partition_of_the_matrices(case):
    """(86), (87): the base accelerates so that no wrench acts on it."""
    robot, _, _, q, qd, qdd, wrenches, *_ = case
    base, tau = robot.base_motion(q, qd, qdd[6:], wrenches)
    A = robot.mass_matrix(q)
    H = robot.inverse_dynamics(q, qd, np.zeros(robot.nv), wrenches)
    expected = -np.linalg.solve(A[:6, :6], H[:6] + A[:6, 6:] @ qdd[6:])
    assert relative(base, expected) < 1e-9
    assert relative(tau, A[6:, :6] @ expected + A[6:, 6:] @ qdd[6:] + H[6:]) < 1e-9
    back = robot.forward_dynamics(q, qd, tau, wrenches)
    assert relative(back, np.concatenate([base, qdd[6:]])) < 1e-9


def test_integrate(case):
    robot, model, _, q, qd, *_ = case
    expected = pin.integrate(model, q, 0.7 * qd)
    found = robot.integrate(q, qd, 0.7)
    if found[3:7] @ expected[3:7] < 0.0:
        expected[3:7] *= -1.0
    assert relative(found, expected) < 1e-9
    assert np.linalg.norm(robot.integrate(q, 1e-6 * qd)[3:7]) == pytest.approx(1.0, abs=1e-15)


def test_momentum(case):
    robot, model, data, q, qd, *_ = case
    pin.ccrba(model, data, q, qd)
    com = pin.centerOfMass(model, data, q, qd)
    expected = data.hg.vector.copy()
    expected[3:] += np.cross(com, expected[:3])
    assert relative(robot.momentum(q, qd), expected) < 1e-9


def test_batches_equal_single_calls():
    rng = np.random.default_rng(1)
    robot = FloatingRobot(random_floating(rng, 4))
    size = 700
    q = rng.normal(size=(size, robot.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    qd, qdd = rng.normal(size=(2, size, robot.nv))
    calls = [
        (lambda *x: robot.inverse_dynamics(*x), (q, qd, qdd)),
        (lambda *x: robot.forward_dynamics(*x), (q, qd, qdd)),
        (lambda *x: robot.mass_matrix(*x), (q,)),
        (lambda *x: robot.jacobian(*x), (q,)),
        (lambda *x: robot.link_poses(*x), (q,)),
        (lambda *x: robot.integrate(*x), (q, qd)),
        (lambda *x: robot.base_motion(*x)[0], (q, qd, qdd[:, 6:])),
    ]
    for call, values in calls:
        batch = call(*values)
        for b in (0, 350, 699):
            np.testing.assert_allclose(batch[b], call(*(value[b] for value in values)), rtol=1e-12, atol=1e-12)


def test_elastic_joints_on_a_floating_base():
    """(71) with the base among the unknown accelerations."""
    rng = np.random.default_rng(2)
    n = 5
    K = np.array([0.0, 50.0, 0.0, 80.0, 0.0])
    m = dataclasses.replace(random_floating(rng, n), springs=Springs(K, rng.normal(size=n)))
    robot = FloatingRobot(m)
    q = np.concatenate([rng.normal(size=3), [0, 0, 0, 1], rng.normal(size=n)])
    qd, qdd = rng.normal(size=(2, n + 6))
    tau, found = robot.mixed_dynamics(q, qd, qdd)
    rigid = np.concatenate([np.zeros(6, bool), K == 0.0])
    np.testing.assert_array_equal(found[rigid], qdd[rigid])
    A, H = robot.mass_matrix(q), robot.bias_forces(q, qd)  # H holds the springs
    free = ~rigid
    expected = -np.linalg.solve(A[np.ix_(free, free)], H[free] + A[np.ix_(free, rigid)] @ qdd[rigid])
    np.testing.assert_allclose(found[free], expected, rtol=1e-9)
    np.testing.assert_allclose(tau[rigid], (A @ found + H)[rigid], rtol=1e-9)


def test_bad_input_is_named():
    robot = FloatingRobot(random_floating(np.random.default_rng(0), 2))
    ok = robot.neutral()
    for bad, sentence in (
        (np.zeros(9), "unit quaternion"),
        (np.zeros(8), r"q has shape \(8,\), random needs \(9,\)"),
        (np.full(9, np.nan), "q is not finite"),
    ):
        with pytest.raises(InputError, match=sentence):
            robot.mass_matrix(bad)
    with pytest.raises(InputError, match="the base's first"):
        robot.inverse_dynamics(ok, np.zeros(8), np.zeros(8), np.zeros((2, 6)))
    with pytest.raises(InputError, match="fixed base"):
        FloatingRobot(random_mechanism(np.random.default_rng(0), 2))
