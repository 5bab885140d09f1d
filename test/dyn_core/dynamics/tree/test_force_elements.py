"""Springs and dampers between links, against Pinocchio with their forces as external ones, and against energy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from random_floating import free_flyer, random_floating
from random_loops import random_loop, random_planar_loop
from random_parallel import six_ups
from random_robots import friction_forces, pinocchio_model, random_mechanism

from dyn_core.errors import InputError
from dyn_core.mechanism import BASE, WORLD, Frame, Mechanism, Mimic, SpringDamper
from dyn_core.robots import LoopRobot, MimicRobot, ParallelRobot, TreeRobot, customise, load_robot, robot_of
from dyn_core.simulation import simulate, simulate_platform, simulate_with_springs


def tied(rng: np.random.Generator, m: Mechanism, *bodies: tuple[int, int], damping: float = 1.0) -> Mechanism:
    """The mechanism with springs and dampers between pairs of bodies."""
    springs = []
    for pair in bodies:
        ends = [Frame("spring", body, np.eye(3), rng.normal(size=3) * 0.3) for body in pair]
        k, rest, c = rng.uniform(50.0, 300.0), rng.uniform(0.0, 0.3), damping * rng.uniform(2.0, 9.0)
        springs.append(SpringDamper("spring", *ends, k, rest, c))
    return dataclasses.replace(m, spring_dampers=tuple(springs))


def pulls(m: Mechanism, model: pin.Model, q: np.ndarray, v: np.ndarray, first: int = 1) -> list[pin.Force]:
    """What springs and dampers do to Pinocchio's joints, from its own positions and velocities of points."""
    data = model.createData()
    pin.forwardKinematics(model, data, q, v)
    forces = [pin.Force.Zero() for _ in range(model.njoints)]
    for spring in m.spring_dampers:
        joints = [0 if end.body == WORLD else end.body + first for end in (spring.first, spring.second)]
        points, speeds = [], []
        for joint, end in zip(joints, (spring.first, spring.second), strict=True):
            points.append(data.oMi[joint].act(end.p))
            velocity = data.v[joint].linear + np.cross(data.v[joint].angular, end.p)
            speeds.append(data.oMi[joint].rotation @ velocity)
        d = points[1] - points[0]
        length = np.linalg.norm(d)
        u = d / length
        tension = spring.stiffness * (length - spring.rest) + spring.damping * u @ (speeds[1] - speeds[0])
        for joint, point, sign in zip(joints, points, (1.0, -1.0), strict=True):
            force = sign * tension * u
            forces[joint] += data.oMi[joint].actInv(pin.Force(force, np.cross(point, force)))
    return forces


@pytest.mark.parametrize("seed", range(4))
def test_trees_move_as_in_pinocchio(seed):
    rng = np.random.default_rng(seed)
    m = tied(rng, random_mechanism(rng, 7), (BASE, 3), (2, 6), (5, BASE), (6, 0))
    robot, model = TreeRobot(m), pinocchio_model(m)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 7))
    expected = pin.rnea(model, model.createData(), q, qd, qdd, pulls(m, model, q, qd)) + friction_forces(m, qd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, expected, atol=1e-11)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-10)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau, method="matrices"), qdd, atol=1e-10)
    np.testing.assert_allclose(robot.mass_matrix_by_columns(q), robot.mass_matrix(q), atol=1e-11)
    still = pin.rnea(model, model.createData(), q, 0.0 * q, 0.0 * q, pulls(m, model, q, 0.0 * q))
    np.testing.assert_allclose(robot.gravity_forces(q), still, atol=1e-11)


def test_batches_in_vector_registers_agree():
    rng = np.random.default_rng(1)
    m = tied(rng, random_mechanism(rng, 5), (BASE, 3), (0, 4))
    robot = TreeRobot(m)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 1030, 5))
    tau = robot.inverse_dynamics(q, qd, qdd)
    for k in (0, 500, 1029):
        np.testing.assert_allclose(tau[k], robot.inverse_dynamics(q[k], qd[k], qdd[k]), atol=1e-11)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, atol=1e-9)


def test_floating_base_tied_to_the_world_moves_as_in_pinocchio():
    rng = np.random.default_rng(2)
    m = tied(rng, random_floating(rng, 5), (BASE, 3), (WORLD, BASE), (4, WORLD), (1, 2))
    robot, model = robot_of(m), free_flyer(m)
    q, v, vd = robot.neutral(), *rng.normal(size=(2, 11))
    q[:3], q[3:7], q[7:] = (
        rng.normal(size=3),
        *(lambda u: (u / np.linalg.norm(u),))(rng.normal(size=4)),
        rng.normal(size=5),
    )
    a = vd.copy()
    a[:3] -= np.cross(v[3:6], v[:3])  # Pinocchio's is the rate of the components
    expected = pin.rnea(model, model.createData(), q, v, a, pulls(m, model, q, v, 2))
    expected[6:] += friction_forces(m, v[6:])
    force = robot.inverse_dynamics(q, v, vd)
    np.testing.assert_allclose(force, expected, atol=1e-11)
    np.testing.assert_allclose(robot.forward_dynamics(q, v, force), vd, atol=1e-9)
    batch = robot.inverse_dynamics(np.tile(q, (1030, 1)), v, vd)
    np.testing.assert_allclose(batch[-1], expected, atol=1e-11)


def test_mimic_joints_feel_them():
    rng = np.random.default_rng(3)
    m = tied(rng, random_mechanism(rng, 3, friction=False), (BASE, 2))
    mimic = Mimic(np.array([0, 1, 0]), np.array([1.0, 1.0, -0.5]), np.array([0.0, 0.0, 0.2]))
    robot, tree = MimicRobot(dataclasses.replace(m, mimic=mimic)), TreeRobot(m)
    q = np.array([0.3, -0.4])
    tau = robot.gravity_forces(q)
    np.testing.assert_allclose(tau, robot.G.T @ tree.gravity_forces(robot.expanded(q)), atol=1e-12)


def energy(robot, springs: Mechanism, q, qd) -> float:
    """Kinetic energy, gravity and springs, from masses and poses alone."""
    m = springs
    tree = getattr(robot, "tree", robot)
    full, rates = robot.all_joints(q, qd)
    kinetic = 0.5 * rates @ tree.mass_matrix(full) @ rates
    poses = dict(zip([f.name for f in m.frames], tree.link_poses(full), strict=True))
    poses = [poses[m.body_names[j]] @ np.linalg.inv(m.frames[j].T) for j in range(m.n)]
    potential = -sum(m.gravity @ (T[:3, :3] @ MS + M * T[:3, 3]) for T, M, MS in zip(poses, m.M, m.MS, strict=True))
    for spring in m.spring_dampers:
        ends = [
            end.p if end.body < 0 else poses[end.body][:3, :3] @ end.p + poses[end.body][:3, 3]
            for end in (spring.first, spring.second)
        ]
        potential += 0.5 * spring.stiffness * (np.linalg.norm(ends[1] - ends[0]) - spring.rest) ** 2
    return float(kinetic + potential)


@pytest.mark.parametrize("kind", ["tree", "planar", "spherical"])
def test_energy_is_kept_without_dampers_and_lost_with_them(kind):
    rng = np.random.default_rng(6)
    for damping in (0.0, 1.0):
        for _ in range(100):
            m = (
                random_mechanism(rng, 4, friction=False) if kind == "tree"
                else random_planar_loop(rng, 3, friction=False) if kind == "planar"
                else random_loop(rng, kind, friction=False)
            )  # fmt: skip
            m = tied(rng, m, (BASE, 1), (0, 2), damping=damping)
            robot = robot_of(m)
            motion = simulate(robot, robot.neutral(), np.full(robot.n, 0.5), duration=0.05, h=1e-4, method="rk4")
            if kind == "tree" or (not motion.failure and np.abs(robot.closed(motion.q[-1]).G).max() < 2.0):
                break
        E = [energy(robot, m, motion.q[k], motion.qd[k]) for k in (0, -1)]
        assert np.abs(motion.q[-1] - motion.q[0]).max() > 0.01
        if damping:
            assert E[1] < E[0] - 1e-3
        else:
            assert E[1] == pytest.approx(E[0], abs=1e-8 * max(1.0, abs(E[0])))


@pytest.mark.parametrize("seed", range(2))
def test_formulations_of_closed_chains_agree(seed):
    rng = np.random.default_rng(seed)
    m = tied(rng, random_loop(rng, "spherical"), (BASE, 2), (0, 3))
    robot, free = LoopRobot(m), LoopRobot(dataclasses.replace(m, spring_dampers=()))
    q, (qd, qdd) = robot.neutral() + 0.02, rng.uniform(-1.0, 1.0, (2, 1))
    tau = robot.inverse_dynamics(q, qd, qdd)
    at = robot.closed(q, qd)
    tree = TreeRobot(m), TreeRobot(free.mechanism)
    extra = at.G.T @ np.subtract(*(each.bias_forces(at.q, at.qd) for each in tree))
    np.testing.assert_allclose(tau - free.inverse_dynamics(q, qd, qdd), extra, atol=1e-9)
    assert np.abs(extra).max() > 0.1
    for formulation in ("denoc", "multipliers", "virtual_spring"):
        other = robot.using(formulation)
        np.testing.assert_allclose(other.inverse_dynamics(q, qd, qdd), tau, rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(other.forward_dynamics(q, qd, tau), qdd, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, rtol=1e-8, atol=1e-8)


SPRINGS = """\
spring_dampers:
  - {name: weight, first: {link: base, xyz: [0.1, 0.2, 2.5]}, second: {link: platform, xyz: [0.1, 0, 0.05]},
     stiffness: 120, rest_length: 0.7, damping: 4}
  - {name: brace, first: {link: leg0_lower, xyz: [0.05, 0, 0.2]}, second: {link: leg3_upper, xyz: [0, 0.02, -0.1]},
     stiffness: 90, rest_length: 0.1}
  - {name: stay, first: {link: leg1_upper}, second: {link: platform}, damping: 12}
"""


@pytest.fixture(scope="module")
def hexapod(tmp_path_factory):
    path = tmp_path_factory.mktemp("springs") / "random.yaml"
    path.write_text(six_ups(np.random.default_rng(3), spin=False) + SPRINGS)
    return load_robot(path)


def test_platform_and_tree_agree(hexapod):
    rng = np.random.default_rng(4)
    q, (qd, qdd) = hexapod.neutral() + 0.02 * rng.normal(size=6), rng.normal(size=(2, 6))
    assert isinstance(hexapod, ParallelRobot)
    tau = hexapod.inverse_dynamics(q, qd, qdd)
    bare = ParallelRobot(dataclasses.replace(hexapod.mechanism, spring_dampers=()))
    assert np.abs(tau - bare.inverse_dynamics(q, qd, qdd)).max() > 1.0
    np.testing.assert_allclose(hexapod.using("multipliers").inverse_dynamics(q, qd, qdd), tau, rtol=1e-8)
    np.testing.assert_allclose(LoopRobot(hexapod.mechanism).inverse_dynamics(q, qd, qdd), tau, rtol=1e-8)
    np.testing.assert_allclose(hexapod.forward_dynamics(q, qd, tau), qdd, atol=1e-8)


def test_ways_of_simulating_a_platform_agree(hexapod):
    weight = hexapod.gravity_forces(hexapod.neutral())
    options = {"duration": 0.05, "h": 1e-3}
    by_legs = simulate(hexapod, torques=0.9 * weight, method="rk4", **options)
    by_pose = simulate_platform(hexapod, forces=0.9 * weight, **options)
    assert np.abs(by_legs.q[-1] - by_legs.q[0]).max() > 1e-3
    np.testing.assert_allclose(by_pose.q[-1], by_legs.q[-1], atol=2e-5)  # Coulomb friction fades by other steps
    sprung = simulate_platform(hexapod, forces=0.9 * weight, k=1e7, b=1e3, **options)
    np.testing.assert_allclose(sprung.q[-1], by_pose.q[-1], atol=2e-4)
    all_joints = simulate_with_springs(LoopRobot(hexapod.mechanism), torques=0.9 * weight, k=1e7, b=1e3, **options)
    np.testing.assert_allclose(all_joints.q[-1], by_pose.q[-1], atol=2e-4)


def test_customised_models_have_them():
    rng = np.random.default_rng(7)
    m = tied(rng, random_mechanism(rng, 3), (BASE, 2), (0, 2))
    robot = TreeRobot(m)
    own = customise(robot)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, 3))
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(own.inverse_dynamics(q, qd, qdd), tau, atol=1e-10)
    np.testing.assert_allclose(own.forward_dynamics(q, qd, tau), qdd, atol=1e-9)
    motions = [simulate(each, q, qd, duration=0.05, torques=tau) for each in (robot, own)]
    np.testing.assert_allclose(motions[1].q, motions[0].q, atol=1e-10)


def test_where_a_length_is_zero():
    """Without rest length a spring pulls with k d, also at d = 0; with one its direction is not defined there."""
    rng = np.random.default_rng(8)
    m = random_mechanism(rng, 1, friction=False)
    m.joint_type[:] = 1
    at = Frame("spring", 0, np.eye(3), np.zeros(3))
    base = Frame("spring", BASE, np.eye(3), m.p[0])

    def robot(rest: float) -> TreeRobot:
        return TreeRobot(dataclasses.replace(m, spring_dampers=(SpringDamper("spring", base, at, 80.0, rest, 3.0),)))

    bare = TreeRobot(m)
    for d in (0.0, 1e-160, 0.25):
        pull = robot(0.0).gravity_forces([d]) - bare.gravity_forces([d])
        np.testing.assert_allclose(pull, [80.0 * d], atol=1e-12)
    np.testing.assert_allclose(robot(0.1).gravity_forces([0.25]) - bare.gravity_forces([0.25]), [80.0 * 0.15])
    with pytest.raises(InputError, match="a spring with a rest length has no length"):
        robot(0.1).gravity_forces([0.0])


def test_a_stiffness_that_would_leave_springs_out_is_refused():
    rng = np.random.default_rng(9)
    robot = TreeRobot(tied(rng, random_mechanism(rng, 3), (BASE, 2)))
    with pytest.raises(InputError, match="springs between links"):
        robot.stiffness(np.zeros(3))
