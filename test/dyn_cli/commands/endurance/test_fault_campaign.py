"""The shortened fault campaign, over real processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from dyn_cli import main as cli
from dyn_cli.commands.endurance.fault_campaign import Seen, Watch
from dyn_cli.commands.endurance.fault_injections import FAULTS

pytestmark = pytest.mark.running


def test_the_short_campaign_is_survived() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dyn_cli.main", "faults", "--short", "--json"],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.stdout, done.stderr
    report = json.loads(done.stdout)
    assert [row for row in report["results"] if not row["survived"]] == []
    assert report["faults"] == report["asked"] == report["survived"] == sum(fault.short for fault in FAULTS)
    assert done.returncode == 0


def test_every_fault_has_a_name_of_its_own_and_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
    assert cli.main(["faults", "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [fault.name for fault in FAULTS]
    assert cli.main(["faults", "--list", "--only", "burst"]) == 0
    assert all("burst" in line for line in capsys.readouterr().out.splitlines())
    assert cli.main(["faults", "--only", "earthquake"]) == 2
    assert "no fault has 'earthquake' in its name" in capsys.readouterr().err


def test_a_robot_is_unsafe_while_it_moves_with_power() -> None:
    watch = Watch.__new__(Watch)
    rows = [(1.0, 5.0, 1.0), (2.0, 5.0, 0.01), (3.0, 0.0, 1.0), (4.0, 0.1, 0.1), (5.0, 9.0, 0.0)]
    watch.seen = [Seen(*row) for row in rows]
    assert watch.unsafe_until(0.5) == 4.0
    assert watch.unsafe_until(4.5) == 4.5
    watch.seen = watch.seen[:3]
    assert watch.unsafe_until(0.0) == 1.0
