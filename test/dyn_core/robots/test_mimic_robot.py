"""Mimic joints against Pinocchio's, against the constrained tree, and against conservation laws."""

from __future__ import annotations

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from random_robots import coupled, random_mechanism
from urdf_peers import USED, Peer, random_state, read, relative

from dyn_core import load_robot
from dyn_core.errors import InputError, MissingMotorError
from dyn_core.mechanism import Mimic, Springs
from dyn_core.robots import MimicRobot, TreeRobot, customise, require_tree, robot_of
from dyn_core.simulation import Stepper, simulate

EXAMPLES = [path for path in USED if isinstance(read(path), MimicRobot)]
NOT_FOR_PINOCCHIO = ("talos_full_v2.urdf", "talos_full_v2_box.urdf")
"""Pinocchio sorts joints by name and then wants a leader before its followers."""


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_joints_are_coupled_as_the_file_says(path, floating):
    robot = read(path, floating)
    q, _, _ = random_state(robot)
    full = dict(zip(robot.mechanism.joint_names, robot.expanded(q)[-robot.mechanism.n :], strict=True))
    own = dict(zip(robot.joint_names, q[-robot.n :], strict=True))
    for joint in ElementTree.parse(path).getroot().findall("joint"):
        mimic, name = joint.find("mimic"), joint.get("name")
        if joint.get("type") == "fixed":
            continue
        if mimic is None:
            assert full[name] == own[name]
        else:
            assert name not in own
            expected = float(mimic.get("multiplier", "1")) * full[mimic.get("joint")] + float(mimic.get("offset", "0"))
            assert full[name] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize(
    "path", [path for path in EXAMPLES if path.name not in NOT_FOR_PINOCCHIO], ids=lambda path: path.name
)
def test_dynamics_against_pinocchios_mimic_joints(path, floating):
    """Pinocchio has no aba for mimic joints: its crba and nle stand in."""
    robot = read(path, floating)
    m = robot.mechanism
    peer = Peer(path, robot, floating, mimic=True)
    q, v, vd = random_state(robot)
    rates = (robot.G @ v)[-m.n :]
    friction = robot.G[-m.n :].T @ (m.Fv * rates + m.Fs * np.sign(rates))
    assert relative(robot.inverse_dynamics(q, v, vd) - friction, peer.inverse(q, v, vd)) < 1e-9
    A = peer.mass_matrix(q)
    assert relative(robot.mass_matrix(q), A) < 1e-9
    tau = peer.inverse(q, v, vd)
    expected = np.linalg.solve(A, tau - peer.P.T @ pin.nle(peer.model, peer.data, peer.q(q), peer.P @ v))
    assert relative(peer.spatial(v, robot.forward_dynamics(q, v, tau + friction)), expected) < 1e-9
    assert relative(robot.link_poses(q)[:-1], peer.poses(q)) < 1e-9
    for frame in m.frames[::7]:
        index = peer.model.getFrameId(frame.name)
        if frame.name != "tool":
            J = pin.computeFrameJacobian(peer.model, peer.data, peer.q(q), index, pin.LOCAL_WORLD_ALIGNED)
            np.testing.assert_allclose(robot.jacobian(q, frame.name), J @ peer.P, atol=1e-9)


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
def test_the_tree_moves_so_under_the_forces_of_the_couplings(floating):
    """The couplings' forces f keep the tree on G q + o and do no work: G^T f = 0."""
    rng = np.random.default_rng(3)
    robot = MimicRobot(coupled(rng, floating))
    q, v, tau = random_state(robot)
    w = rng.normal(size=(robot.mechanism.n + floating, 6)) * 5
    vd = robot.forward_dynamics(q, v, tau, w)
    needed = robot.tree.inverse_dynamics(robot.expanded(q), robot.G @ v, robot.G @ vd, w)
    at_leaders = np.zeros(robot.tree.nv)
    first = robot.nv - robot.n
    at_leaders[:first], at_leaders[first + robot.joints] = tau[:first], tau[first:]
    np.testing.assert_allclose(robot.G.T @ (needed - at_leaders), 0.0, atol=1e-9)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, vd, w), tau, atol=1e-9)
    assert np.abs(needed - at_leaders).max() > 0.1


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("method", ["rk4", "DOP853"])
def test_momentum_and_energy_are_conserved(floating, method):
    """No gravity, no friction, no drive: kinetic energy stays, and on a floating base momentum too."""
    m = dataclasses.replace(coupled(np.random.default_rng(4), floating, friction=False), gravity=np.zeros(3))
    robot = robot_of(m)
    q, v, _ = random_state(robot)
    h, duration = (1e-4, 0.05) if method == "rk4" else (0.1, 0.3)
    result = simulate(robot, q, 0.5 * v, duration=duration, h=h, method=method)
    assert result.failure == ""
    energy = [0.5 * b @ robot.mass_matrix(a) @ b for a, b in zip(result.q[::20], result.qd[::20], strict=True)]
    np.testing.assert_allclose(energy, energy[0], rtol=1e-8)
    assert np.abs(result.q[-1] - result.q[0]).max() > 0.01
    if floating:
        states = [(result.q[k], result.qd[k]) for k in (0, -1)]
        start, end = (robot.tree.momentum(robot.expanded(a), robot.G @ b) for a, b in states)
        np.testing.assert_allclose(end, start, rtol=1e-8, atol=1e-8)


class Public(TreeRobot):
    """A tree that brings no engine."""

    def engine(self, motors, method, h):
        return None


@pytest.mark.parametrize("method", ["rk3", "rk4", "RK45"])
def test_the_simulation_through_forward_dynamics_is_that_of_the_kernels(method):
    rng = np.random.default_rng(5)
    m = random_mechanism(rng, 3)
    q, v = rng.normal(size=(2, 3))
    drive = rng.normal(size=(20, 3))
    wrenches = rng.normal(size=(3, 6))
    options = {"duration": 0.02, "torques": drive, "method": method, "wrenches": wrenches}
    found, expected = (simulate(kind(m), q, v, **options) for kind in (Public, TreeRobot))
    for part in ("t", "q", "qd", "qdd", "tau", "drive"):
        np.testing.assert_allclose(getattr(found, part), getattr(expected, part), rtol=1e-9, atol=1e-9)


def test_a_motor_driven_robot_simulates_alike_through_forward_dynamics():
    robot = load_robot("planar_2r")
    options = {"q0": [0.1, 0.2], "duration": 0.01, "volts": [3.0, -1.0]}
    found, expected = (simulate(kind(robot.mechanism), **options) for kind in (Public, TreeRobot))
    np.testing.assert_allclose(found.q, expected.q, rtol=1e-12)
    np.testing.assert_allclose(found.tau, expected.tau, rtol=1e-12)


def test_a_motion_that_cannot_go_on_ends_with_its_last_good_state():
    robot = robot_of(coupled(np.random.default_rng(6), friction=False))
    result = simulate(robot, torques=np.full(robot.n, 1e200), duration=0.01)
    assert "the motion is not finite" in result.failure
    assert np.isfinite(result.q).all()
    with pytest.raises(InputError, match="wrenches have shape"):
        Stepper(robot).step(np.zeros(robot.n), wrenches=np.zeros((2, 6)))


def test_coulomb_friction_holds_coupled_joints():
    """At rest under forces below friction nothing moves but a creep."""
    m = dataclasses.replace(coupled(np.random.default_rng(7)), gravity=np.zeros(3), Fs=np.full(7, 5.0))
    robot = robot_of(m)
    result = simulate(robot, torques=np.full(robot.n, 0.5), duration=0.1)
    assert np.abs(result.qd).max() < 0.02


def test_elastic_joints_with_followers():
    """(71): a joint with a spring, or whose follower has one, accelerates as its partition says."""
    rng = np.random.default_rng(8)
    K = np.array([0.0, 30.0, 0.0, 0.0, 0.0, 40.0, 0.0])
    robot = robot_of(dataclasses.replace(coupled(rng, floating=True), springs=Springs(K, np.zeros(7))))
    q, v, vd = random_state(robot)
    tau, found = robot.mixed_dynamics(q, v, vd)
    free = np.r_[np.ones(6, bool), [False, True, False, True]]  # joints 0, 1, 3, 4; 5 follows 4
    np.testing.assert_array_equal(found[~free], vd[~free])
    np.testing.assert_allclose(tau[free], 0.0)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, found), tau, atol=1e-9)
    base, forces = robot.base_motion(q, v, vd[6:])
    np.testing.assert_allclose(base, found[:6])
    np.testing.assert_allclose(forces, tau[6:])


def test_batches_equal_single_calls():
    rng = np.random.default_rng(9)
    robot = robot_of(coupled(rng, floating=True))
    states = [random_state(robot, seed) for seed in range(5)]
    q, v, vd = (np.array(values) for values in zip(*states, strict=True))
    for call, count in (
        (robot.inverse_dynamics, 3), (robot.forward_dynamics, 3), (robot.mass_matrix, 1), (robot.jacobian, 1),
        (robot.link_poses, 1), (robot.integrate, 2), (robot.bias_forces, 2),
        (lambda *values: robot.mixed_dynamics(*values)[1], 3),
    ):  # fmt: skip
        batch = call(*(q, v, vd)[:count])
        for k in range(5):
            np.testing.assert_allclose(batch[k], call(*(q[k], v[k], vd[k])[:count]), rtol=1e-9, atol=1e-9)


def test_the_regressor_gives_the_forces():
    robot = robot_of(coupled(np.random.default_rng(10)))
    state = random_state(robot)
    found = robot.regressor(*state) @ robot.tree.standard_parameters
    np.testing.assert_allclose(found, robot.inverse_dynamics(*state), atol=1e-9)


def test_motors_and_stiffness_are_those_of_the_independent_joints():
    m = load_robot("planar_2r").mechanism
    mimic = Mimic(np.array([0, 0]), np.array([1.0, -1.0]), np.zeros(2))
    robot = robot_of(dataclasses.replace(m, mimic=mimic))
    alone = TreeRobot(m)
    assert robot.joint_names == m.joint_names[:1]
    np.testing.assert_array_equal(robot.voltages([0.1], [0.2]), alone.voltages([0.1, 0.0], [0.2, 0.0])[:1])
    J = alone.jacobian([0.4, -0.4]) @ [[1.0], [-1.0]]
    np.testing.assert_allclose(robot.stiffness([0.4]).C, J @ J.T / m.stiffness[0])
    assert simulate(robot, volts=[1.0], duration=0.01).failure == ""


def test_what_is_not_for_coupled_joints_says_so():
    robot = robot_of(coupled(np.random.default_rng(11)))
    for call, sentence in (
        (lambda: robot.forward_dynamics(*[np.zeros(4)] * 3, method="recursive"), "method must be 'matrices'"),
        (
            lambda: require_tree(robot, "base parameters"),
            "base parameters can be computed of trees of independent joints",
        ),
        (lambda: customise(robot), "customised models can be computed of trees of independent joints"),
        (lambda: robot.base_motion(*[np.zeros(4)] * 3), "has a fixed base"),
        (lambda: robot.mass_matrix(np.zeros(7)), r"needs \(4,\)"),
        (lambda: MimicRobot(random_mechanism(np.random.default_rng(0), 2)), "independent joints only"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()
    with pytest.raises(MissingMotorError):
        robot.voltages(np.zeros(4), np.zeros(4))
    bad = Mimic(np.array([0, 0, 1]), np.ones(3), np.zeros(3))
    with pytest.raises(InputError, match="follows one that follows another"):
        dataclasses.replace(random_mechanism(np.random.default_rng(0), 3), mimic=bad)
