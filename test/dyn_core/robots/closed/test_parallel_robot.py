"""Parallel robots: platform and legs against the general formulations of the same mechanism, and against Pinocchio."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_parallel import MAKERS, load, random_poses, rotation

from dyn_core import load_robot
from dyn_core.errors import InputError, SingularityError, StructureError, WorkspaceError
from dyn_core.robots import LoopRobot, ParallelRobot

REACH = 0.05
STATES = 12


def shipped(name: str) -> ParallelRobot:
    robot = load_robot(name)
    assert isinstance(robot, ParallelRobot)
    return robot


def relative(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.abs(x - y).max() / np.abs(y).max())


@pytest.mark.parametrize("kind", MAKERS)
def test_it_moves_as_the_general_formulations_say(kind: str, tmp_path: Path) -> None:
    """Random geometry, off-axis masses, tilted gravity, friction, rotors, and wrenches on legs and platform."""
    rng = np.random.default_rng(5)
    robot = load(tmp_path, MAKERS[kind](rng))
    general = LoopRobot(robot.mechanism)
    poses = random_poses(rng, robot, STATES, REACH)
    q = robot.platform.inverse_kinematics(poses).q
    np.testing.assert_allclose(robot.forward_kinematics(q), poses, atol=1e-11)
    np.testing.assert_allclose(general.forward_kinematics(q), poses, atol=1e-11)
    qd, qdd = rng.normal(size=(2, STATES, robot.n))
    legs = robot.mechanism.n - len(robot.layout.chart)
    wrenches = np.zeros((STATES, robot.mechanism.n, 6))
    wrenches[:, :legs] = rng.normal(size=(STATES, legs, 6))
    wrenches[:, -1] = rng.normal(size=(STATES, 6))
    tau = robot.inverse_dynamics(q, qd, qdd, wrenches)
    for formulation in ("projection", "multipliers", "denoc"):
        other = general.using(formulation)  # type: ignore[arg-type]
        assert relative(tau, other.inverse_dynamics(q, qd, qdd, wrenches)) < 1e-9
    assert relative(robot.forward_dynamics(q, qd, tau, wrenches), qdd) < 1e-9
    assert relative(robot.mass_matrix(q), general.mass_matrix(q)) < 1e-9
    assert relative(robot.jacobian(q), general.jacobian(q)) < 1e-9
    full, expected = robot.all_positions(q[0]), general.all_positions(q[0])
    np.testing.assert_allclose(full, expected, atol=1e-9)
    for k in range(STATES):  # one by one as all together
        np.testing.assert_allclose(
            robot.inverse_dynamics(q[k], qd[k], qdd[k]),
            general.inverse_dynamics(q[k], qd[k], qdd[k]),
            rtol=1e-8,
            atol=1e-8,
        )


@pytest.mark.parametrize("kind", ["ups", "rss", "3-rrr", "delta"])
def test_rates_and_accelerations_are_those_of_differences(kind: str, tmp_path: Path) -> None:
    """Along a smooth motion of the tool: central differences of positions, and the way back."""
    rng = np.random.default_rng(3)
    robot = load(tmp_path, MAKERS[kind](rng))
    axis, step = rng.normal(size=(2, 3)) * 0.2
    step, axis = np.split(np.concatenate([step, axis]) @ robot.platform.freedoms @ robot.platform.freedoms.T, 2)
    h = 1e-4

    def pose(t: float) -> np.ndarray:
        T = robot.platform.home.copy()
        T[:3, :3] = rotation(list(axis * (t + t**2))) @ T[:3, :3]
        T[:3, 3] += step * (t - t**2)
        return T

    before, now, after = (robot.platform.inverse_kinematics(pose(t)).q for t in (0.2 - h, 0.2, 0.2 + h))
    twist = np.concatenate([step * (1 - 0.4), axis * (1 + 0.4)])
    acceleration = np.concatenate([-2 * step, 2 * axis])
    legs = robot.platform.legs(pose(0.2), twist, acceleration)
    np.testing.assert_allclose(legs.qd, (after - before) / (2 * h), atol=1e-7)
    np.testing.assert_allclose(legs.qdd, (after - 2 * now + before) / h**2, atol=1e-5)
    np.testing.assert_allclose(legs.inverse_jacobian @ twist, legs.qd, atol=1e-12)
    np.testing.assert_allclose(
        robot.platform.inverse_jacobian(pose(0.2)) @ robot.jacobian(now), np.eye(robot.n), atol=1e-9
    )
    back = robot.platform.motion(legs.q, legs.qd, legs.qdd)
    np.testing.assert_allclose(back, (twist, acceleration), atol=1e-9)


def test_a_length_is_the_distance_between_the_attachments() -> None:
    robot = shipped("gough_stewart_wang")
    rng = np.random.default_rng(0)
    feet = [[-2.12, 1.374], [-2.38, 1.224], [-2.38, -1.224], [-2.12, -1.374], [0, -0.15], [0, 0.15]]
    tips = [[0.17, 0.595], [-0.6, 0.15], [-0.6, -0.15], [0.17, -0.595], [0.43, -0.445], [0.43, 0.445]]
    for T in random_poses(rng, robot, 10, 0.3):
        points = T[:3, :3] @ np.array([[a, b, -0.4] for a, b in tips]).T + T[:3, 3:]
        lengths = np.linalg.norm(points.T - np.array([[x, y, 0.0] for x, y in feet]), axis=1)
        np.testing.assert_allclose(robot.platform.inverse_kinematics(T, check=False).q, lengths, rtol=1e-13)


def test_the_platform_alone_falls_as_a_body_by_newton_and_euler(tmp_path: Path) -> None:
    """Legs without mass: J^-T tau is the platform's own wrench."""
    text = Path(__file__).parents[4].joinpath("config/robots/gough_stewart_wang.yaml").read_text()
    robot = load(
        tmp_path, "\n".join(line for line in text.splitlines() if "lower:" not in line and "upper:" not in line)
    )
    qd = np.array([0.3, -0.2, 0.1, 0.4, -0.5, 0.2])
    q, qdd = robot.neutral(), np.array([1.0, 2.0, -1.0, 0.5, 0.3, -0.7])
    V, A = robot.platform.motion(q, qd, qdd)
    force = 1.5 * (A[:3] - robot.mechanism.gravity)
    moment = 0.08 * A[3:]  # a ball: no gyroscopic part
    np.testing.assert_allclose(
        robot.inverse_dynamics(q, qd, qdd), robot.jacobian(q).T @ np.concatenate([force, moment]), rtol=1e-10
    )
    assert np.linalg.norm(V) > 0.1


def test_it_keeps_its_assembly_mode_and_says_where_it_would_leave_it() -> None:
    """Lengths that close on this side of the base plane only through a singularity are refused, from near and far."""
    robot = shipped("gough_stewart")
    mirrored = robot.platform.home.copy()
    mirrored[2, 3] *= -1.0
    with pytest.raises(SingularityError, match="assembly mode"):
        robot.platform.inverse_kinematics(mirrored)
    lengths = robot.platform.inverse_kinematics(mirrored, check=False).q
    above = robot.forward_kinematics(lengths)  # the same lengths have a pose above too
    assert above[2, 3] > 0.5
    np.testing.assert_allclose(robot.platform.inverse_kinematics(above).q, lengths, atol=1e-12)
    with pytest.raises(SingularityError, match="assembly mode"):
        robot.forward_kinematics(np.full(6, 0.3))
    np.testing.assert_allclose(robot.forward_kinematics(robot.neutral()), robot.platform.home, atol=1e-12)


def test_a_pose_beyond_a_singularity_is_told_and_named_by_its_configuration() -> None:
    robot = shipped("gough_stewart_wang")
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(40):
        T = robot.platform.home.copy()
        T[:3, :3] = T[:3, :3] @ rotation(rng.uniform(-2.0, 2.0, 3))
        T[:3, 3] += rng.uniform(-1.0, 1.0, 3)
        reached = robot.platform.inverse_kinematics(T, check=False)
        back = robot.forward_kinematics(reached.q, near=reached.configuration)
        np.testing.assert_allclose(back, T, atol=1e-8)
        assert robot.leads_to(reached.configuration, near=reached.configuration)
        if reached.beyond:
            seen += 1
            assert not robot.leads_to(reached.configuration)
        elif robot.leads_to(reached.configuration):
            np.testing.assert_allclose(robot.forward_kinematics(reached.q), T, atol=1e-8)
    assert seen > 3


def test_an_euler_singularity_does_not_matter() -> None:
    """Pitched by a right angle from home, where yaw and roll are one: everything but the tree's chart is regular."""
    robot = shipped("gough_stewart_wang")
    T = robot.platform.home.copy()
    T[:3, :3] = T[:3, :3] @ rotation([0.0, np.pi / 2, 0.0])
    legs = robot.platform.legs(T, np.ones(6), check=False)
    assert np.isfinite(legs.qdd).all()
    np.testing.assert_allclose(legs.inverse_jacobian @ np.ones(6), legs.qd, atol=1e-12)


def test_limits_and_reach_are_named() -> None:
    robot = shipped("gough_stewart")
    T = robot.platform.home.copy()
    T[2, 3] += 0.4
    with pytest.raises(WorkspaceError, match=r"joint 'leg1' would be at 1\.3.*beyond its limits 0.8 to 1.2"):
        robot.platform.inverse_kinematics(T)
    assert (robot.platform.inverse_kinematics(T, check=False).q > 1.2).all()
    with pytest.raises(WorkspaceError, match=r"pose 1"):
        robot.platform.inverse_kinematics(np.array([robot.platform.home, T]))
    with pytest.raises(WorkspaceError, match="leg3"):
        robot.platform.check(robot.neutral() + 0.5 * np.eye(6)[2])
    robot.platform.check(robot.neutral())
    with pytest.raises(InputError, match="rotation"):
        robot.platform.inverse_kinematics(2.0 * np.eye(4))
    with pytest.raises(InputError, match="shape"):
        robot.platform.inverse_kinematics(np.eye(3))
    with pytest.raises(InputError, match="not on the platform"):
        robot.platform.inverse_kinematics(robot.platform.home, frame="leg1_lower")
    with pytest.raises(InputError, match="finite"):
        robot.forward_kinematics(np.full(6, np.nan))


def test_a_leg_of_links_does_not_reach_everywhere(tmp_path: Path) -> None:
    robot = load(tmp_path, MAKERS["3-rrr"](np.random.default_rng(5)))
    far, up = robot.platform.home.copy(), robot.platform.home.copy()
    far[0, 3] += 2.0
    with pytest.raises(WorkspaceError, match="does not reach the pose"):
        robot.platform.inverse_kinematics(far)
    up[2, 3] += 0.1
    with pytest.raises(WorkspaceError, match="leaves the plane"):
        robot.platform.inverse_kinematics(up)
    with pytest.raises(WorkspaceError, match="leaves the plane"):
        robot.platform.legs(robot.platform.home, [0, 0, 0.1, 0, 0, 0])


def test_workspace_samples_say_what_the_checks_say() -> None:
    robot = shipped("gough_stewart")
    found = robot.platform.workspace([0.15, 0.15, 0.15, 0.2, 0.2, 0.2], 300, seed=1)
    assert 0.05 < found.reachable.mean() < 0.95
    low, high = robot.mechanism.position_limits[robot.joints].T
    within = ((found.q >= low) & (found.q <= high)).all(axis=1)
    assert (within >= found.reachable).all()
    for k in np.flatnonzero(found.reachable)[:5]:
        np.testing.assert_allclose(robot.platform.inverse_kinematics(found.poses[k]).q, found.q[k])
        np.testing.assert_allclose(robot.platform.singularity_distance(found.poses[k]), found.distance[k], rtol=1e-9)
    with pytest.raises(WorkspaceError):
        robot.platform.inverse_kinematics(found.poses[~within][0])


@pytest.mark.parametrize("kind", ["ups", "rss", "3-rrr", "delta"])
def test_forces_at_a_pose_are_those_of_the_legs_motion(kind: str, tmp_path: Path) -> None:
    """Also far from home, where lengths alone lead to another pose, or to none."""
    rng = np.random.default_rng(6)
    robot = load(tmp_path, MAKERS[kind](rng))
    poses = random_poses(rng, robot, STATES, 0.04)
    twists, accelerations = rng.normal(size=(2, STATES, 6)) @ robot.platform.freedoms @ robot.platform.freedoms.T
    pushed = robot.platform.wrenches(rng.normal(size=(STATES, 6)))
    legs = robot.platform.legs(poses, twists, accelerations)
    tau = robot.platform.inverse_dynamics(poses, twists, accelerations, pushed)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(legs.q, legs.qd, legs.qdd, pushed), rtol=1e-8, atol=1e-8)
    one = robot.platform.inverse_dynamics(poses[0], twists[0], accelerations[0])
    np.testing.assert_allclose(one, robot.inverse_dynamics(legs.q[0], legs.qd[0], legs.qdd[0]), rtol=1e-8, atol=1e-8)


def test_lengths_of_a_pose_lead_back_to_it(tmp_path: Path) -> None:
    """Far from home the straight way of the legs may meet a singularity that the platform's does not."""
    rng = np.random.default_rng(26)
    robot = load(tmp_path, MAKERS["ups"](rng))
    refused = 0
    for T in random_poses(rng, robot, 40, 0.4):
        try:
            reached = robot.platform.inverse_kinematics(T)
        except SingularityError:
            continue
        near = reached.configuration
        np.testing.assert_allclose(robot.forward_kinematics(reached.q, near=near), T, atol=1e-11)
        try:
            robot.forward_kinematics(reached.q)
        except SingularityError:
            refused += 1
    assert refused > 0


def test_near_a_singularity_the_pose_is_found_to_rounding() -> None:
    """Turned until the legs hardly hold it: Newton must not stop while a further step still improves the pose."""
    robot = shipped("gough_stewart")
    poses = np.tile(robot.platform.home, (200, 1, 1))
    for T, angle in zip(poses, np.linspace(0.0, 1.57, 200), strict=True):
        T[:3, :3] = rotation([0.0, 0.0, float(angle)]) @ T[:3, :3]
    reached = robot.platform.inverse_kinematics(poses, check=False)
    distance = robot.platform.singularity_distance(poses)
    assert distance[-1] < 1e-3 * distance[0]
    tracker = robot.tracker()
    for q, T in zip(reached.q, poses, strict=True):
        found = tracker.move_to(q)
        np.testing.assert_allclose(robot.forward_kinematics(q, near=found), T, atol=1e-11)


def test_a_delta_robot_shifts_and_does_not_turn(tmp_path: Path) -> None:
    """The rods keep their lengths; three spheres meet in the platform; a pose or twist that turns it is refused."""
    rng = np.random.default_rng(5)
    robot = load(tmp_path, MAKERS["delta"](rng))
    assert robot.n == 3
    for T in random_poses(rng, robot, 5, 0.05):
        q = robot.platform.inverse_kinematics(T).q
        np.testing.assert_allclose(robot.forward_kinematics(q), T, atol=1e-12)
        for k, loop in enumerate(robot.mechanism.loops):
            elbow = robot.forward_kinematics(q, f"leg{k}_rod")[:3, 3]
            frame = robot.mechanism.frame("platform")
            B = robot.forward_kinematics(q, "platform")
            tip = B[:3, :3] @ (frame.R.T @ (loop.second.p - frame.p)) + B[:3, 3]
            np.testing.assert_allclose(np.linalg.norm(tip - elbow), np.linalg.norm(loop.first.p), rtol=1e-12)
    turned = robot.platform.home.copy()
    turned[:3, :3] = rotation([0.0, 0.0, 0.1]) @ turned[:3, :3]
    with pytest.raises(WorkspaceError, match="turns the platform, which only shifts"):
        robot.platform.inverse_kinematics(turned)
    with pytest.raises(WorkspaceError, match="turns the platform, which only shifts"):
        robot.platform.legs(robot.platform.home, [0, 0, 0, 0, 0, 1.0])


def test_arguments_that_mean_nothing_are_named() -> None:
    robot = shipped("gough_stewart")
    far = robot.platform.home.copy()
    far[0, 3] = 1e200
    with pytest.raises(WorkspaceError, match="beyond any reach"):
        robot.platform.inverse_kinematics(far)
    with pytest.raises(InputError, match="shape"):
        robot.platform.wrenches(np.zeros(5))
    with pytest.raises(InputError, match="numbers"):
        robot.platform.wrenches("a")
    with pytest.raises(InputError, match="numbers"):
        robot.platform.workspace("a")
    with pytest.raises(InputError, match="whole number"):
        robot.platform.workspace(np.ones(6), samples=2.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="too large"):
        robot.platform.inverse_dynamics(robot.platform.home, np.full(6, 1e200))
    with pytest.raises(InputError, match="carrier"):
        robot.platform.inverse_dynamics(robot.platform.home, wrenches=np.ones(6))


@pytest.mark.parametrize("kind", MAKERS)
def test_an_active_joint_at_rest_has_no_coulomb_friction(kind: str, tmp_path: Path) -> None:
    """Rounding of its speed must not give friction a sign."""
    robot = load(tmp_path, MAKERS[kind](np.random.default_rng(5)))
    general = LoopRobot(robot.mechanism)
    q, qdd = robot.neutral() + 0.01, np.ones(robot.n)
    for k in range(robot.n):
        qd = np.linspace(-1.0, 2.0, robot.n)
        qd[k] = 0.0
        tau = robot.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(tau, general.inverse_dynamics(q, qd, qdd), rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, rtol=1e-7, atol=1e-7)


def test_one_wrench_for_all_bodies_acts_on_the_carriers_too() -> None:
    robot = shipped("gough_stewart")
    q, rest = robot.neutral() + 0.01, np.zeros(6)
    general = LoopRobot(robot.mechanism)
    expected = general.inverse_dynamics(q, rest, rest, np.ones(6))
    np.testing.assert_allclose(robot.inverse_dynamics(q, rest, rest, np.ones(6)), expected, rtol=1e-9)


def test_a_batch_runs_on_all_cores_with_the_same_answers() -> None:
    robot = shipped("gough_stewart")
    rng = np.random.default_rng(2)
    q = robot.neutral() + rng.uniform(-0.05, 0.05, (1024, 6))
    qd, qdd = rng.normal(size=(2, 1024, 6))
    tau = robot.inverse_dynamics(q, qd, qdd)
    for k in (0, 511, 1023):
        np.testing.assert_allclose(tau[k], robot.inverse_dynamics(q[k], qd[k], qdd[k]), rtol=1e-12)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, rtol=1e-9, atol=1e-9)
    assert robot.inverse_dynamics(q[:0], qd[:0], qdd[:0]).shape == (0, 6)


def test_a_push_on_the_platform_reaches_the_legs() -> None:
    robot = shipped("gough_stewart")
    pushed = robot.platform.wrenches([0.0, 0.0, -100.0, 0.0, 0.0, 0.0])
    q, rest = robot.neutral(), np.zeros(6)
    more = robot.inverse_dynamics(q, rest, rest, pushed) - robot.gravity_forces(q)
    np.testing.assert_allclose(robot.jacobian(q, "platform")[2] * 100.0, more, atol=1e-9)


def test_legs_that_are_not_square_are_refused(tmp_path: Path) -> None:
    text = MAKERS["3-rrr"](np.random.default_rng(5)).replace("kind: planar_revolute", "kind: spherical")
    with pytest.raises(StructureError, match="has 2 joints, but ties the platform by 3"):
        load(tmp_path, text)
