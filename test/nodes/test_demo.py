"""``dyn demo`` from start to end."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from dyn_core import load_robot
from dyn_core.pose_trajectory import poses_apart
from nodes.demo import plan

DEMO = """
import sys
from nodes.cli import build_parser
from nodes.demo import run
sys.exit(run(build_parser("demo").parse_args(["--robot", sys.argv[1], "--json"])))
"""


def demo(robot: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", DEMO, robot]
    return subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)


def test_the_demo_reports_as_json_and_ends_with_status_0() -> None:
    ended = demo("planar_2r")
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["ok"] is True
    assert report["problems"] == []
    assert len(report["joints"]) == 2
    for joint in report["joints"]:
        assert joint["rms_error"] < 1e-3
        assert joint["rms_error"] <= joint["max_error"]
        assert joint["peak_torque"] > 0.0
        assert joint["peak_voltage"] > 0.0
        assert 0.0 < joint["dac_range_used"] <= 1.0
    assert report["controller"]["rate"] > 0.0
    assert "direction" in report["stiffness"]["message"]


def test_the_motion_of_the_demo_is_possible_for_every_robot() -> None:
    for name in ("planar_2r", "puma560", "cmu_dd_arm", "four_bar_saha", "five_bar_saha", "four_bar_wang"):
        robot = load_robot(name)
        motion = plan(robot, robot.neutral())
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
    motion = plan(robot, robot.neutral())
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


def test_an_arm_with_elastic_transmissions_runs_by_its_motors() -> None:
    ended = demo("elastic_2r")
    assert ended.returncode == 0, ended.stderr
    joints = {joint["name"]: joint for joint in json.loads(ended.stdout)["joints"]}
    for axis in ("shoulder", "elbow"):
        motor, twist = joints[f"{axis}_motor"], joints[f"{axis}_twist"]
        assert motor["rms_error"] < 1e-3
        assert motor["peak_voltage"] > 0.0
        assert twist["peak_voltage"] == twist["dac_range_used"] == twist["peak_torque"] == 0.0
        assert 1e-5 < twist["max_error"] < 5e-2  # it twists under the load, and does not swing up


def test_the_demo_leaves_elastic_joints_to_their_springs() -> None:
    robot = load_robot("elastic_2r")
    swing = np.ptp(plan(robot, np.zeros(4)).positions, axis=0)
    np.testing.assert_array_equal(swing > 0.0, [True, False, True, False])
