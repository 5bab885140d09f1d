"""`dyn excite` and `dyn identify`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from recorded_motion import believed, recorded, series, torque_error

from dyn_cli import main as cli
from dyn_cli.setup import environment
from dyn_core import load_robot
from dyn_core.description import load_mechanism
from dyn_core.description.robot_yaml.update_parameters import RobotText
from dyn_core.identification import (
    motion_csv,
)

ROOT = Path(__file__).parents[4]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The commands in an empty folder, in the tests' own environment."""
    monkeypatch.setattr(environment, "enter", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_pages_commands_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "identification.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    commands = [line.split() for block in blocks for line in block.splitlines()]
    assert len(commands) == 3
    for program, *words in commands:
        assert program == "./dyn"
        assert cli.main(words) == 0, words
    out = capsys.readouterr().out
    report = json.loads(out[out.index("\n{") :])
    assert report["output"] == "fitted.yaml"
    assert {row["verdict"] for row in report["parameters"]} == {"ok", "near 0"}
    fitted = load_robot(here / "fitted.yaml")
    assert fitted.standard_parameters == pytest.approx(load_robot("planar_2r").standard_parameters, abs=1e-6)


def test_a_fitted_yaml_predicts_another_motion(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    arm = load_robot("planar_2r")
    text = RobotText(ROOT / "config" / "robots" / "planar_2r.yaml")
    model = believed(arm.mechanism, rng)
    (here / "model.yaml").write_text(text.with_mechanism(model))
    log = recorded(arm, series(arm, 1), rng, 0.02, 200.0)
    (here / "log.csv").write_text(motion_csv(arm.mechanism, log.t, q=log.q, qd=log.qd, qdd=log.qdd, tau=log.tau))
    assert cli.main(["identify", "model.yaml", "log.csv"]) == 0
    out = capsys.readouterr().out
    assert "ZZ_upper_arm + Ia_shoulder + 0.25 M_forearm" in out
    assert "no motion shows: XX_upper_arm" in out
    assert torque_error(arm.mechanism, load_mechanism(here / "planar_2r_identified.yaml"), series(arm, 7)) < 0.005
    assert "Identified from log.csv" in (here / "planar_2r_identified.yaml").read_text().splitlines()[0]
    assert cli.main(["identify", "model.yaml", "log.csv"]) == 2
    assert "planar_2r_identified.yaml exists" in capsys.readouterr().err


def test_a_urdf_is_fitted_without_motors_and_a_rehearsal_has_noise(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "arm.urdf").write_text(load_robot("planar_2r").urdf())
    motion = ["--output", "motion.csv", "--rate", "200", "--evaluations", "20"]
    assert cli.main(["excite", "arm.urdf", "--noise", "1e-4", "0.02", *motion]) == 0
    assert "one period of" in capsys.readouterr().out
    header, first = (here / "motion.csv").read_text().splitlines()[:2]
    assert header == "t,q_shoulder,q_elbow,tau_shoulder,tau_elbow"
    assert float(first.split(",")[1]) / 1e-4 == pytest.approx(round(float(first.split(",")[1]) / 1e-4), abs=1e-3)
    assert cli.main(["identify", "arm.urdf", "motion.csv", "--output", "fitted.yaml"]) == 0
    assert "after a low-pass filter of" in capsys.readouterr().out
    arm = load_robot(here / "arm.urdf")
    assert torque_error(arm.mechanism, load_mechanism(here / "fitted.yaml"), series(arm, 7)) < 0.01


def test_a_log_that_identifies_nothing_is_refused_with_what_is_wrong(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arm = load_robot("planar_2r")
    log = recorded(arm, series(arm, 1), np.random.default_rng(4), 0.02, 100.0)
    (here / "log.csv").write_text(motion_csv(arm.mechanism, log.t, q=np.degrees(log.q), tau=log.tau))
    assert cli.main(["identify", "planar_2r", "log.csv", "--output", "fitted.yaml"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("dyn: log.csv identifies no planar_2r: ")
    assert "units of deg: `position: deg`" in err
    assert "nothing written" in out
    assert not (here / "fitted.yaml").exists()
    (here / "format.yaml").write_text("position: deg\n")
    words = ["identify", "planar_2r", "log.csv", "--format", "format.yaml", "--output", "fitted.yaml"]
    assert cli.main([*words, "--payload", "log.csv"]) == 0
    assert "payload: " in capsys.readouterr().out
    assert torque_error(arm.mechanism, load_mechanism(here / "fitted.yaml"), series(arm, 7)) < 0.01


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["identify", "nobody", "log.csv"], "no robot 'nobody'"),
        (["identify", "planar_2r", "log.csv"], "log.csv: cannot be read"),
        (["identify", "planar_2r", "log.csv", "--output", "none/x.yaml"], "no such folder"),
        (["identify", "arm.urdf", "log.csv"], "log.csv: cannot be read"),
        (["excite", "planar_2r", "--rate", "1e9"], "samples can be written"),
        (["excite", "planar_2r", "--harmonics", "2"], "harmonics"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    here: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "arm.urdf").write_text(load_robot("planar_2r").urdf())
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err
    assert [path.name for path in here.iterdir()] == ["arm.urdf"]
