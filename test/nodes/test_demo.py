"""``dyn demo`` from start to end."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from dyn_core import load_robot
from nodes.demo import plan

DEMO = """
import argparse, sys
from nodes.demo import run
sys.exit(run(argparse.Namespace(robot="planar_2r", json=True, realtime_priority=0)))
"""


def test_the_demo_reports_as_json_and_ends_with_status_0() -> None:
    ended = subprocess.run([sys.executable, "-c", DEMO], capture_output=True, text=True, timeout=120, check=False)
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
    for name in ("planar_2r", "puma560", "cmu_dd_arm"):
        robot = load_robot(name)
        motion = plan(robot, np.zeros(robot.n))
        q, qd, qdd = motion.trajectory.sample(np.linspace(0.0, motion.trajectory.duration, 500))
        limits = robot.mechanism.position_limits
        assert ((q >= limits[:, 0] - 0.05) & (q <= limits[:, 1] + 0.05)).all()
        assert (np.abs(qd) <= robot.mechanism.velocity_limits).all()
        _, cut = robot.actuation.voltages(robot.inverse_dynamics(q, qd, qdd), qd)
        assert not cut.any()
        assert np.ptp(q, axis=0).min() > 0.1
        assert robot.stiffness(motion.positions[-1]).rank == min(robot.n, 6)
