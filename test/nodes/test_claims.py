"""What a process claims for as long as it runs: a ROS domain, a robot's namespace."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyn_nodes import claims
from dyn_nodes.claims import DOMAINS, claim_domain, claim_robot, robot_runs

REPO = Path(claims.__file__).resolve().parents[1]


def test_domains_are_claimed_once_and_given_back(tmp_path: Path) -> None:
    program = "from dyn_nodes.claims import claim_domain; print(claim_domain(), flush=True); input()"
    env = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(REPO)}
    claimants = [
        subprocess.Popen([sys.executable, "-c", program], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        claimed = [int(process.stdout.readline()) for process in claimants if process.stdout]
    finally:
        for process in claimants:
            process.communicate(b"\n", timeout=30)
    assert len(set(claimed)) == 2
    assert all(domain in DOMAINS for domain in claimed)
    for domain in claimed:
        with (tmp_path / f"dyn_robot_domain_{domain}.lock").open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_process_never_claims_the_same_domain_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    monkeypatch.setattr("dyn_nodes.claims._held", held)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        assert sorted(claim_domain() for _ in DOMAINS) == list(DOMAINS)
        assert claim_domain() == 0
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_a_namespace_has_one_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    monkeypatch.setattr("dyn_nodes.claims._held", held)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        assert not robot_runs("left")
        assert claim_robot("/left")
        assert robot_runs("left")
        assert not claim_robot("left")
        assert claim_robot("right")
        monkeypatch.setenv("ROS_DOMAIN_ID", "99")
        assert not robot_runs("left")
    finally:
        for descriptor in held:
            os.close(descriptor)
    monkeypatch.undo()
