"""The demo's motion is within what joints, legs and motors allow."""

from __future__ import annotations

import numpy as np

from dyn_core import load_robot
from dyn_core.spatial import poses_apart
from dyn_core.trajectory import exercise_motion


def test_the_motion_of_the_demo_is_possible_for_every_robot() -> None:
    for name in ("planar_2r", "puma560", "cmu_dd_arm", "four_bar_saha", "five_bar_saha", "four_bar_wang"):
        robot = load_robot(name)
        motion = exercise_motion(robot, robot.neutral())
        q, qd, qdd = motion.trajectory.sample(np.linspace(0.0, motion.trajectory.duration, 500))
        limits = robot.mechanism.position_limits[robot.joints]
        assert ((q >= limits[:, 0] - 0.05) & (q <= limits[:, 1] + 0.05)).all()
        assert (np.abs(qd) <= robot.mechanism.velocity_limits[robot.joints]).all()
        _, cut = robot.actuation.voltages(robot.inverse_dynamics(q, qd, qdd), qd)
        assert not cut.any()
        assert np.ptp(q, axis=0).min() > 0.1
        assert robot.stiffness(motion.positions[-1]).rank == min(robot.n, 6)


def test_the_demo_moves_a_platform_along_poses_within_its_legs() -> None:
    robot = load_robot("gough_stewart")
    motion = exercise_motion(robot, robot.neutral())
    assert motion.platform is not None
    t = np.linspace(0.0, motion.trajectory.duration, 300)
    q, qd, qdd = motion.trajectory.sample(t)
    low, high = robot.mechanism.position_limits[robot.joints].T
    assert ((q > low) & (q < high)).all()
    _, cut = robot.actuation.voltages(robot.inverse_dynamics(q, qd, qdd), qd)
    assert not cut.any()
    poses = motion.platform.sample(t).pose
    distance, angle = poses_apart(poses, robot.forward_kinematics(q))
    assert distance.max() < 1.1e-5
    assert angle.max() < 1.1e-5
    travel, turn = poses_apart(poses[:1], poses)
    assert travel.max() > 0.05
    assert turn.max() > 0.05


def test_the_demo_leaves_elastic_joints_to_their_springs() -> None:
    robot = load_robot("elastic_2r")
    swing = np.ptp(exercise_motion(robot, np.zeros(4)).positions, axis=0)
    np.testing.assert_array_equal(swing > 0.0, [True, False, True, False])
