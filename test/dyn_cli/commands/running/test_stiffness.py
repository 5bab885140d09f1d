"""``dyn stiffness`` and ``dyn map``: the same answers from a running robot and offline."""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path

import numpy as np
import pytest
from running_arm import Arm

from dyn_cli import main as cli
from dyn_cli.client.robot_client import ClientError
from dyn_cli.commands.running import map as map_command
from dyn_cli.commands.running import stiffness

pytestmark = pytest.mark.running

Q = [0.1, 0.5, -0.4, 0.3, 0.7, -0.2]
SINGULAR = [0.0, 0.5, -0.4, 0.0, 0.0, 0.0]
RUNNING = ["--namespace", "shared"]
OFFLINE = ["--offline", "--robot", "puma560"]
WRENCH = [0.0, 0.0, -50.0, 0.0, 0.0, 0.0]


def ask(where: list[str], *words: object) -> int:
    return stiffness.run(cli.parse(["stiffness", *where, *map(str, words)]))


def draw(where: list[str], *words: object) -> int:
    return map_command.run(cli.parse(["map", *where, *map(str, words)]))


@pytest.mark.parametrize("where", [RUNNING, OFFLINE], ids=["running", "offline"])
def test_stiffness_of_a_regular_and_of_a_singular_pose(
    shared_arm: Arm, where: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert ask(where, *Q, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    expected = shared_arm.robot.stiffness(np.array(Q))
    np.testing.assert_allclose(answer["stiffness"], expected.K, rtol=1e-9)
    np.testing.assert_allclose(answer["eigenvalues"], expected.eigenvalues, rtol=1e-6)
    assert answer["joint_positions"] == Q
    assert (answer["frame_id"], answer["frame"]) == ("base", "tool")
    assert ask(where, *SINGULAR) == 0
    assert "singular" in capsys.readouterr().out
    assert ask(where, *SINGULAR, "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["success"], answer["stiffness"], answer["condition"]) == (False, None, None)
    assert np.any(answer["compliance"])
    assert ask(where, 0.0) == 1
    assert "6" in capsys.readouterr().err


@pytest.mark.parametrize("where", [RUNNING, OFFLINE], ids=["running", "offline"])
def test_deflection_under_a_wrench(shared_arm: Arm, where: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(where, *Q, "--wrench", *WRENCH, "--frame", "link4", "--json") == 0
    answer = json.loads(capsys.readouterr().out)
    expected = shared_arm.robot.deflection(np.array(Q), np.array(WRENCH), "link4")
    np.testing.assert_allclose([*answer["translation"], *answer["rotation"]], expected, rtol=1e-9)
    assert answer["equilibrium"] is True
    assert ask(where, *Q, "--wrench", *WRENCH) == 0
    assert capsys.readouterr().out.startswith("translation [")
    assert ask(where, "--orientation", 0, 10, 0, "--wrench", *WRENCH) == 1
    assert "no inverse kinematics" in capsys.readouterr().err


def test_a_map_is_the_same_from_a_running_robot_and_offline(
    shared_arm: Arm, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = []
    for where in (RUNNING, OFFLINE):
        file = tmp_path / "arm.csv"
        words = ["--joints", "joint2", "joint3", "--count", 12, "--at", *Q, "--wrench", 5, 0, 0, 0, 2, 0]
        assert draw(where, *words, "--output", file, tmp_path / "arm.png", "--json") == 0
        report = json.loads(capsys.readouterr().out)
        assert report["complete"] is True
        assert report["counts"]["computed"] == 144
        with file.open() as lines:
            tables.append([[float(x) for x in row[:4]] for row in list(csv.reader(lines))[1:]])
        assert report["largest_translation"]["value"] == pytest.approx(max(row[2] for row in tables[-1]), rel=1e-8)
        assert (tmp_path / "arm.png").read_bytes().startswith(b"\x89PNG")
    assert tables[0] == tables[1]


@pytest.mark.parametrize("where", [RUNNING, OFFLINE], ids=["running", "offline"])
def test_ctrl_c_keeps_what_was_computed(
    shared_arm: Arm,
    where: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pressed: list[int] = []

    def press(*args: object) -> None:
        if not pressed:
            pressed.append(1)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("dyn_cli.setup.progress.Progress.bar", press)
    monkeypatch.chdir(tmp_path)
    every_sign = ["--wrench", 1, 1, 1, 1, 1, 1]
    assert draw(where, "--joints", "joint2", "joint3", "--count", 440, "--at", *Q, *every_sign) == 130
    out, err = capsys.readouterr()
    assert "of 193600 poses, which are kept in puma560_map.csv, puma560_map.png" in err
    assert "not computed" in out
    with Path("puma560_map.csv").open() as lines:
        states = [row["status"] for row in csv.DictReader(lines)]
    assert 0 < states.count("computed") < len(states) == 193600


def test_another_robot_than_the_running_one_is_not_taken_for_it(shared_arm: Arm) -> None:
    with pytest.raises(ClientError, match="is puma560, not planar_2r; --offline computes it"):
        ask([*RUNNING, "--robot", "planar_2r"])


def test_without_a_server_the_way_out_is_said(domain: int) -> None:
    with pytest.raises(ClientError, match=r"start one with \./dyn up, or compute without ROS: --offline"):
        ask(["--namespace", "nobody"])


def test_a_map_that_would_not_fit_into_memory_is_refused() -> None:
    with pytest.raises(ValueError, match="too many, at most 5000000: give a coarser"):
        draw(OFFLINE, "--joints", "joint2", "joint3", "--count", 100_000)


def test_files_that_cannot_be_written_are_refused_before_anything_is_computed(tmp_path: Path) -> None:
    for name, complaint in (("map.pdf", r"allowed: \.csv, \.png"), ("nowhere/map.csv", "there is no folder")):
        with pytest.raises(ValueError, match=complaint):
            draw(OFFLINE, "--joints", "joint2", "joint3", "--output", tmp_path / name)
