"""``dyn demo`` from start to end."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.running

DEMO = """
import sys
from dyn_cli.commands.running.demo import run
from dyn_cli.main import build_parser
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
