"""A short soak over the real system, and the verdict on series whose drift is known."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from dyn_cli.client.robot_client import ClientError
from dyn_cli.commands.endurance import soak as soak_command
from dyn_cli.commands.endurance.soak_motions import Soak, soak_report
from dyn_cli.setup import environment
from dyn_core import load_robot

pytestmark = pytest.mark.running

HOUR = np.linspace(15.0, 3600.0, 240)


def soaked(**series: np.ndarray) -> Soak:
    soak = Soak(load_robot("planar_2r"), None, {}, 3600.0)  # type: ignore[arg-type]
    soak.seconds, soak.motions = 3600.0, 300
    for name, values in series.items():
        quantity = name.replace("_", " ")
        soak.series["node", quantity] = list(zip(HOUR.tolist(), values.tolist(), strict=True))
    return soak


def test_drift_is_a_problem_and_warming_up_is_none() -> None:
    noise = np.random.default_rng(5).standard_normal(HOUR.size)
    fine = soaked(
        memory=240.0 - 60.0 * np.exp(-HOUR / 60.0) + 0.1 * noise,
        file_handles=np.full(HOUR.size, 24.0),
        rate=1000.0 + 5.0 * noise,
        tracking_error=0.3 + 0.01 * noise,
    )
    report = soak_report(load_robot("planar_2r"), fine, "")
    assert report["problems"] == []
    assert "DRIFTS" not in "\n".join(soak_command.report_lines(report))
    for name, values in {
        "memory": 240.0 + 10.0 * HOUR / 3600.0 + 0.5 * noise,
        "file_handles": 24.0 + np.floor(HOUR / 1000.0),
        "threads": 17.0 + np.floor(HOUR / 1000.0),
        "rate": 1000.0 - 100.0 * HOUR / 3600.0 + 5.0 * noise,
        "tracking_error": 0.3 + 0.5 * HOUR / 3600.0,
    }.items():
        report = soak_report(load_robot("planar_2r"), soaked(**{name: values}), "")
        assert len(report["problems"]) == 1
        assert "drifts" in report["problems"][0]
        assert "DRIFTS" in "\n".join(soak_command.report_lines(report))


def test_faults_and_a_run_that_is_too_short_are_problems() -> None:
    soak = soaked()
    soak.faults, soak.last_fault = 2, "no joint states"
    problems = soak_report(load_robot("planar_2r"), soak, "a node died")["problems"]
    assert problems[0] == "a node died"
    assert "2 faults, the last: no joint states" in problems[1]
    assert "too short" in problems[2]


@contextmanager
def not_running(*_: object, **__: object) -> Iterator[tuple[Any, Any]]:
    yield argparse.Namespace(pids={}), None


@pytest.mark.parametrize(
    ("end", "status", "sentence"),
    [
        (KeyboardInterrupt(), 130, ""),
        (ClientError("stiffness_server was ended by SIGKILL"), 1, "was ended by SIGKILL"),
    ],
)
def test_a_soak_that_is_cut_short_gives_its_table(
    end: BaseException,
    status: int,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def cut_short(soak: Soak) -> None:
        soak.seconds = 3600.0
        soak.series["node", "threads"] = [(t, 17.0) for t in HOUR.tolist()]
        raise end

    monkeypatch.setattr("dyn_cli.supervision.running.running", not_running)
    monkeypatch.setattr(Soak, "run", cut_short)
    monkeypatch.setenv("ROS_DOMAIN_ID", "0")
    given = argparse.Namespace(robot="planar_2r", dac="", realtime_priority=0, minutes=60.0, json=False)
    assert soak_command.run(given) == status
    out, err = capsys.readouterr()
    assert "threads" in out
    assert sentence in err


def test_a_short_soak_over_the_real_system() -> None:
    program = "import sys; from dyn_cli import main as cli; sys.exit(cli.main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", program, "soak", "--minutes", "0.2", "--robot", "planar_2r", "--json"],
        capture_output=True,
        text=True,
        cwd=environment.ROOT,
        env=os.environ | {"PYTHONPATH": f"{environment.ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
        timeout=180,
        check=False,
    )
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert report["robot"] == "planar_2r"
    assert report["samples"] >= 6
    rows = {(row["owner"], row["quantity"]): row for row in report["rows"]}
    for owner in ("simulated_robot", "computed_torque_controller", "stiffness_server"):
        for quantity in ("memory", "file handles", "threads", "shared memory files"):
            assert not rows[owner, quantity]["drifts"], "the load of the machine has no part in these"
    assert rows["computed_torque_controller", "rate"]["last"] > 1.0
    assert done.returncode == (0 if report["ok"] else 1), done.stderr
