"""Motions of a platform: twists by numerical differentiation, legs by the platform's own forward kinematics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_parallel import load, six_rss, three_rrr
from scipy.spatial.transform import Rotation

from dyn_core import load_robot
from dyn_core.control.computed_torque import ComputedTorque
from dyn_core.errors import InputError, SingularityError, WorkspaceError
from dyn_core.robots import LoopRobot, ParallelRobot
from dyn_core.spatial import poses_apart
from dyn_core.trajectory import (
    displaced,
    leg_trajectory,
    platform_move,
    straight,
    through_poses,
)


@pytest.fixture(scope="module")
def platform() -> ParallelRobot:
    robot = load_robot("gough_stewart")
    assert isinstance(robot, ParallelRobot)
    return robot


@pytest.mark.parametrize("turn", [1e-4, 0.3, 3.0])
def test_twist_and_acceleration_are_the_derivatives_of_the_pose(turn: float) -> None:
    rng = np.random.default_rng(3)
    first = displaced(np.eye(4), rng.normal(size=6))
    poses = [first, *(displaced(first, [*rng.normal(size=3), *turn * rng.normal(size=3) / 3.0]) for _ in range(3))]
    path = through_poses([0.0, 0.4, 1.0, 1.5], poses)
    h = 1e-5
    for t in (0.2, 0.4, 1.2):
        at, before, after = path.sample(t), path.sample(t - h), path.sample(t + h)
        turned = Rotation.from_matrix(after.pose[:3, :3] @ before.pose[:3, :3].T).as_rotvec()
        moved = np.concatenate([after.pose[:3, 3] - before.pose[:3, 3], turned])
        scale = np.abs(at.acceleration).max()
        np.testing.assert_allclose(at.twist, moved / (2 * h), atol=1e-7 * scale)
        np.testing.assert_allclose(at.acceleration, (after.twist - before.twist) / (2 * h), atol=1e-6 * scale)
    for pose, t in zip(poses, (0.0, 0.4, 1.0, 1.5), strict=True):
        np.testing.assert_allclose(path.sample(t).pose, pose, atol=1e-12)
    for t in (0.0, path.duration, 9.0):
        assert max(np.abs(path.sample(t).twist).max(), np.abs(path.sample(t).acceleration).max()) < 1e-9 * scale


def test_two_poses_are_joined_straight_and_about_one_axis_by_the_shortest_way() -> None:
    first = displaced(np.eye(4), [0.1, -0.2, 0.3, 0.5, 0.1, -0.4])
    turn = np.array([2.0, -1.0, 1.5])
    path = straight(first, displaced(first, [0.3, 0.2, -0.1, *turn]), 2.0)
    at = path.sample(np.linspace(0.0, 2.0, 21))
    np.testing.assert_allclose(np.cross(at.pose[:, :3, 3] - first[:3, 3], [0.3, 0.2, -0.1]), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.cross(at.twist[:, 3:], turn), 0.0, atol=1e-12)
    assert (np.diff(poses_apart(first, at.pose)[1]) > 0.0).all()
    long = straight(first, displaced(first, [0.0, 0.0, 0.0, 0.0, 0.0, 2.0 * np.pi - 0.5]), 1.0)
    assert poses_apart(first, long.sample(np.linspace(0.0, 1.0, 11)).pose)[1].max() == pytest.approx(0.5)
    with pytest.raises(InputError, match="finite"):
        straight(first, np.full((4, 4), np.nan), 1.0)


@pytest.mark.parametrize("kind", ["gough_stewart", "six_rss", "three_rrr"])
def test_the_platform_stays_on_its_path_between_the_points(kind: str, tmp_path: Path, platform: ParallelRobot) -> None:
    makers = {"six_rss": six_rss, "three_rrr": three_rrr}
    robot = platform if kind == "gough_stewart" else load(tmp_path, makers[kind](np.random.default_rng(1)))
    S = robot.platform.freedoms
    first = robot.platform.home
    offsets = 0.05 * np.array([[1.0, 0.0, 1.0, 1.0, 2.0, 0.0], [0.0, -1.0, 0.5, 0.0, 1.0, 2.0]]) @ S @ S.T
    path = through_poses([0.0, 0.5, 1.0], [first, *(displaced(first, each) for each in offsets)])
    legs = leg_trajectory(robot, path, distance=1e-6, angle=1e-6)
    other = LoopRobot(robot.mechanism)  # the same robot, closed as a tree with loops
    trajectory = legs.trajectory()
    for t in (0.0, 0.123, 0.456, 0.789, 1.0):
        distance, angle = poses_apart(path.sample(t).pose, other.forward_kinematics(trajectory.sample(t)[0]))
        assert distance < 1.1e-6
        assert angle < 1.1e-6
    np.testing.assert_allclose(legs.qd[[0, -1]], 0.0, atol=1e-9)


def test_a_move_is_as_slow_as_legs_and_motors_ask_for(platform: ParallelRobot) -> None:
    target = displaced(platform.platform.home, [0.02, 0.03, 0.1, 0.05, 0.1, 0.2])
    legs = platform_move(platform, platform.neutral(), target)
    assert legs.times[-1] >= 1.0
    assert (np.abs(legs.qd).max(axis=0) <= 0.5001 * platform.mechanism.velocity_limits[platform.joints]).all()
    _, cut = platform.actuation.voltages(platform.inverse_dynamics(legs.q, legs.qd, legs.qdd), legs.qd)
    assert not cut.any()
    np.testing.assert_allclose(platform.forward_kinematics(legs.q[-1]), target, atol=1e-9)
    assert platform_move(platform, platform.neutral(), target, 0.7).times[-1] == 0.7


def test_what_the_platform_cannot_do_is_a_named_error_with_a_sentence(platform: ParallelRobot) -> None:
    with pytest.raises(WorkspaceError, match=r"'leg\d' would be at 1\.\d+, beyond its limits 0\.8 to 1\.2$"):
        platform_move(platform, platform.neutral(), displaced(platform.platform.home, [0, 0, 0.5, 0, 0, 0]))
    with pytest.raises(SingularityError, match=r"beyond a singularity, in another assembly mode$"):
        platform_move(platform, platform.neutral(), displaced(platform.platform.home, [0, 0, 0, 0, 0, 2.6]))


def test_a_limit_and_a_singularity_on_the_way_are_named_with_their_place(platform: ParallelRobot) -> None:
    high = displaced(platform.platform.home, [0, 0, 0.4, 0, 0, 0])
    ends = [platform.platform.home, high, platform.platform.home]
    with pytest.raises(WorkspaceError, match=r"beyond its limits .* of the way$"):
        leg_trajectory(platform, through_poses([0.0, 1.0, 2.0], ends))
    wang = load_robot("gough_stewart_wang")
    assert isinstance(wang, ParallelRobot)
    over = displaced(wang.platform.home, [0, 0, 0, 2.0, 0, 0])
    with pytest.raises(SingularityError, match=r"after \d+% of the way$"):
        leg_trajectory(wang, through_poses([0.0, 1.0, 2.0], [wang.platform.home, over, wang.platform.home]))


def test_friction_of_the_legs_at_the_desired_speed_is_that_of_all_joints(platform: ParallelRobot) -> None:
    rng = np.random.default_rng(0)
    q = platform.neutral() + rng.uniform(-0.05, 0.05, 6)
    qd, qd_d, qdd_d = rng.normal(size=(3, 6)) * 0.1
    law = ComputedTorque(platform, 20.0, friction="desired")
    m, G = platform.mechanism, platform.closed(q).G
    expected = platform.inverse_dynamics(q, qd, qdd_d - 40.0 * (qd - qd_d))
    expected += G.T @ (m.Fv * (G @ (qd_d - qd)) + m.Fs * (np.sign(G @ qd_d) - np.sign(G @ qd)))
    np.testing.assert_allclose(law.command((q, qd_d, qdd_d), q, qd).torque, expected, rtol=1e-9)
