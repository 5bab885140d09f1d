"""Tree kernels against Pinocchio, against each other, and against conservation of energy."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from random_robots import friction_forces, pinocchio_model, random_mechanism

from dyn_core.errors import InputError, SingularityError
from dyn_core.robots import TreeRobot
from dyn_core.simulation import simulate

KINDS = [(1, True), (2, True), (6, True), (7, False), (20, False)]
CASES = [(seed, n, chain) for seed, (n, chain) in enumerate(KINDS * 8)]


def relative(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1.0)


@pytest.fixture(params=CASES, ids=lambda c: f"seed{c[0]}-n{c[1]}-{'chain' if c[2] else 'tree'}")
def case(request):
    seed, n, chain = request.param
    rng = np.random.default_rng(seed)
    mechanism = random_mechanism(rng, n, chain)
    model = pinocchio_model(mechanism)
    q, qd, qdd = rng.uniform(-3, 3, (3, n))
    wrenches = rng.normal(size=(n, 6)) * 10
    on_joints = pin.StdVec_Force()
    on_joints.append(pin.Force.Zero())
    for frame, w in zip(mechanism.frames, wrenches, strict=False):
        on_joints.append(pin.SE3(frame.R, frame.p).act(pin.Force(w)))
    return TreeRobot(mechanism), model, model.createData(), q, qd, qdd, wrenches, on_joints


def test_inverse_dynamics(case):
    robot, model, data, q, qd, qdd, wrenches, on_joints = case
    friction = friction_forces(robot.mechanism, qd)
    assert relative(robot.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, q, qd, qdd) + friction) < 1e-9
    expected = pin.rnea(model, data, q, qd, qdd, on_joints) + friction
    assert relative(robot.inverse_dynamics(q, qd, qdd, wrenches), expected) < 1e-9


def test_bias_and_gravity(case):
    robot, model, data, q, qd, *_ = case
    expected = pin.nonLinearEffects(model, data, q, qd) + friction_forces(robot.mechanism, qd)
    assert relative(robot.bias_forces(q, qd), expected) < 1e-9
    assert relative(robot.gravity_forces(q), pin.computeGeneralizedGravity(model, data, q)) < 1e-9


def test_forward_dynamics(case):
    robot, model, data, q, qd, tau, wrenches, on_joints = case
    driving = tau - friction_forces(robot.mechanism, qd)
    assert relative(robot.forward_dynamics(q, qd, tau), pin.aba(model, data, q, qd, driving)) < 1e-9
    expected = pin.aba(model, data, q, qd, driving, on_joints)
    assert relative(robot.forward_dynamics(q, qd, tau, wrenches), expected) < 1e-9


def test_forward_dynamics_undoes_inverse_dynamics(case):
    robot, _, _, q, qd, qdd, wrenches, _ = case
    tau = robot.inverse_dynamics(q, qd, qdd, wrenches)
    assert relative(robot.forward_dynamics(q, qd, tau, wrenches), qdd) < 1e-9


def test_mass_matrix(case):
    robot, model, data, q, *_ = case
    expected = pin.crba(model, data, q)
    expected = np.triu(expected) + np.triu(expected, 1).T
    assert relative(robot.mass_matrix(q), expected) < 1e-9
    assert relative(robot.mass_matrix_by_columns(q), expected) < 1e-9


def test_mass_matrix_of_a_tree_in_any_order():
    rng = np.random.default_rng(1)
    mechanism = random_mechanism(rng, 12)
    mechanism.parent[:] = [-1, 0, 0, 1, 2, 1, -1, 6, 3, 6, 7, 4]
    robot = TreeRobot(mechanism)
    q = rng.normal(size=12)
    np.testing.assert_allclose(robot.mass_matrix(q), robot.mass_matrix_by_columns(q), rtol=1e-12, atol=1e-12)


def test_kinematics(case):
    robot, model, data, q, *_ = case
    pin.framesForwardKinematics(model, data, q)
    poses = robot.link_poses(q)
    for k, frame in enumerate(robot.mechanism.frames):
        index = model.getFrameId(frame.name)
        expected = data.oMf[index].homogeneous
        assert relative(robot.forward_kinematics(q, frame.name), expected) < 1e-9
        assert relative(poses[k], expected) < 1e-9
        J = pin.computeFrameJacobian(model, data, q, index, pin.LOCAL_WORLD_ALIGNED).reshape(6, -1)
        assert relative(robot.jacobian(q, frame.name), J) < 1e-9


def test_jacobian_is_the_derivative_of_the_pose(case):
    robot, _, _, q, qd, *_ = case
    h = 1e-6
    ahead, behind = robot.forward_kinematics(q + h * qd), robot.forward_kinematics(q - h * qd)
    turn = (ahead[:3, :3] - behind[:3, :3]) @ robot.forward_kinematics(q)[:3, :3].T / (2 * h)
    twist = robot.jacobian(q) @ qd
    assert relative((ahead[:3, 3] - behind[:3, 3]) / (2 * h), twist[:3]) < 1e-6
    assert relative(np.array([turn[2, 1], turn[0, 2], turn[1, 0]]), twist[3:]) < 1e-6


@pytest.mark.parametrize("size", [1, 7, 2000])
def test_batches_equal_single_calls(size):
    rng = np.random.default_rng(size)
    robot = TreeRobot(random_mechanism(rng, 6))
    q, qd, qdd = rng.uniform(-3, 3, (3, size, 6))
    w = rng.normal(size=(size, 6, 6))
    some = range(0, size, max(1, size // 50))

    def check(batch, single):
        for b in some:
            np.testing.assert_allclose(batch[b], single(b), rtol=1e-12, atol=1e-12)

    check(robot.inverse_dynamics(q, qd, qdd), lambda b: robot.inverse_dynamics(q[b], qd[b], qdd[b]))
    check(robot.inverse_dynamics(q, qd, qdd, w), lambda b: robot.inverse_dynamics(q[b], qd[b], qdd[b], w[b]))
    check(robot.forward_dynamics(q, qd, qdd), lambda b: robot.forward_dynamics(q[b], qd[b], qdd[b]))
    check(robot.forward_dynamics(q, qd, qdd, w), lambda b: robot.forward_dynamics(q[b], qd[b], qdd[b], w[b]))
    check(robot.mass_matrix(q), lambda b: robot.mass_matrix(q[b]))
    check(robot.forward_kinematics(q), lambda b: robot.forward_kinematics(q[b]))
    check(robot.jacobian(q), lambda b: robot.jacobian(q[b]))
    check(robot.link_poses(q), lambda b: robot.link_poses(q[b]))
    check(robot.bias_forces(q, qd), lambda b: robot.bias_forces(q[b], qd[b]))
    check(robot.gravity_forces(q), lambda b: robot.gravity_forces(q[b]))


def test_leading_axes_of_any_number_and_broadcasting():
    rng = np.random.default_rng(0)
    robot = TreeRobot(random_mechanism(rng, 3))
    q = rng.normal(size=(4, 5, 3))
    qd = rng.normal(size=3)
    tau = robot.inverse_dynamics(q, qd, qd)
    assert tau.shape == (4, 5, 3)
    np.testing.assert_allclose(tau[2, 3], robot.inverse_dynamics(q[2, 3], qd, qd), rtol=1e-12)
    assert robot.mass_matrix(q).shape == (4, 5, 3, 3)
    assert robot.inverse_dynamics(np.zeros((0, 3)), qd, qd).shape == (0, 3)


def test_anything_that_is_a_vector_of_numbers_is_taken():
    rng = np.random.default_rng(0)
    robot = TreeRobot(random_mechanism(rng, 3))
    expected = robot.inverse_dynamics(np.array([1.0, 2.0, 3.0]), np.zeros(3), np.ones(3))
    wide = np.zeros((3, 2))
    wide[:, 0] = [1.0, 2.0, 3.0]
    frozen = np.array([1.0, 2.0, 3.0])
    frozen.flags.writeable = False
    for q in ([1, 2, 3], (1.0, 2.0, 3.0), np.array([1, 2, 3]), wide[:, 0], np.float32([1, 2, 3]), frozen):
        np.testing.assert_array_equal(robot.inverse_dynamics(q, [0, 0, 0], [1, 1, 1]), expected)
    np.testing.assert_array_equal(wide[:, 0], [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("q", "sentence"),
    [
        ([1.0, 2.0], "q has shape (2,), random needs (3,) or (..., 3)"),
        ([1.0, np.nan, 2.0], "q is not finite"),
        ([1.0, np.inf, 2.0], "q is not finite"),
        (np.zeros((3, 2)), "q has shape (3, 2)"),
        (1.0, "q has shape ()"),
        (["a", "b", "c"], "q must be real numbers"),
        (None, "q"),
    ],
)
def test_bad_arguments_are_named(q, sentence):
    robot = TreeRobot(random_mechanism(np.random.default_rng(0), 3))
    ok = np.zeros(3)
    calls = (
        lambda: robot.inverse_dynamics(q, ok, ok),
        lambda: robot.forward_dynamics(q, ok, ok),
        lambda: robot.mass_matrix(q),
        lambda: robot.forward_kinematics(q),
        lambda: robot.jacobian(q),
        lambda: robot.link_poses(q),
    )
    for call in calls:
        for _ in range(2):  # before and after the kernels are compiled
            with pytest.raises(InputError) as error:
                call()
            assert sentence in str(error.value)


def test_bad_wrenches_and_frames_are_named():
    robot = TreeRobot(random_mechanism(np.random.default_rng(0), 3))
    ok = np.zeros(3)
    with pytest.raises(InputError, match=r"needs \(3, 6\)"):
        robot.inverse_dynamics(ok, ok, ok, np.zeros((2, 6)))
    with pytest.raises(InputError, match="not finite"):
        robot.inverse_dynamics(ok, ok, ok, np.full((3, 6), np.nan))
    with pytest.raises(InputError, match="no frame 'hand'; it has link0, link1, link2, tool"):
        robot.jacobian(ok, "hand")


def test_a_joint_that_moves_nothing_is_named():
    m = random_mechanism(np.random.default_rng(0), 1)
    for array in (m.M, m.MS, m.J, m.Ia):
        array[:] = 0.0
    with pytest.raises(SingularityError, match="moves no inertia"):
        TreeRobot(m).forward_dynamics([0.0], [0.0], [1.0])


def energy(robot, model, data, q, qd):
    """Kinetic and potential energy by Pinocchio, with the rotors'."""
    pin.computeAllTerms(model, data, q, qd)
    rotors = 0.5 * float(robot.mechanism.Ia @ qd**2)
    return data.kinetic_energy + data.potential_energy + (rotors if not _kinetic_has_armature(model) else 0.0)


def _kinetic_has_armature(model):
    probe = model.copy()
    probe.armature = model.armature + 1.0
    q, v = np.zeros(model.nq), np.ones(model.nv)
    energies = [pin.computeKineticEnergy(m, m.createData(), q, v) for m in (probe, model)]
    return not np.isclose(*energies)


def test_without_friction_energy_is_conserved():
    rng = np.random.default_rng(5)
    mechanism = random_mechanism(rng, 5, friction=False)
    mechanism.joint_type[:] = 0
    robot, model = TreeRobot(mechanism), pinocchio_model(mechanism)
    data = model.createData()
    result = simulate(robot, rng.normal(size=5), rng.normal(size=5), 1.0, h=1e-4, method="rk4")
    energies = [energy(robot, model, data, q, qd) for q, qd in zip(result.q[::500], result.qd[::500], strict=True)]
    assert np.ptp(energies) < 1e-8 * np.abs(energies).max()
    assert np.abs(result.q[-1] - result.q[0]).max() > 0.5


def test_power_of_joint_forces_is_the_change_of_energy():
    rng = np.random.default_rng(6)
    mechanism = random_mechanism(rng, 6, friction=False)
    robot, model = TreeRobot(mechanism), pinocchio_model(mechanism)
    data = model.createData()
    q, qd, tau = rng.normal(size=(3, 6))
    qdd = robot.forward_dynamics(q, qd, tau)
    h = 1e-6
    ahead = energy(robot, model, data, q + h * qd + h * h / 2 * qdd, qd + h * qdd)
    behind = energy(robot, model, data, q - h * qd + h * h / 2 * qdd, qd - h * qdd)
    assert (ahead - behind) / (2 * h) == pytest.approx(tau @ qd, rel=1e-6)
