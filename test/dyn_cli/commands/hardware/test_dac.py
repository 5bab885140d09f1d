"""``dyn dac``: look, calibrate, make safe, without a running system."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from iio_folder import IioFolder

from dyn_cli import main as cli
from dyn_cli.setup import environment
from dyn_core import load_robot
from dyn_core.actuation.dac_file import read_calibration, read_dac_file
from dyn_nodes.dac_bridge.outputs import Outputs

pytestmark = pytest.mark.running


@pytest.fixture(autouse=True)
def inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "enter", lambda *_: None)


@pytest.fixture
def iio(tmp_path: Path) -> IioFolder:
    return IioFolder(tmp_path)


def dyn(iio: IioFolder, action: str, *words: str) -> int:
    return cli.main(["dac", action, str(iio.dac), "--iio-root", str(iio.root), *words])


class Person(io.StringIO):
    """Answers a calibration: agrees, then reads volts off a channel that is 2 % and 10 mV off."""

    def __init__(self, iio: IioFolder, *first: str) -> None:
        super().__init__()
        self.iio, self.first, self.largest = iio, list(first), 0.0

    def readline(self, *_: object) -> str:  # type: ignore[override]
        assert self.iio.enable.read_text() == "0\n", "the amplifiers stay off"
        if self.first:
            return f"{self.first.pop(0)}\n"
        shoulder, elbow = ((int(raw) - 2048) * 20.0 / 4096 for raw in self.iio.raws())
        assert shoulder == 0.0 or elbow == 0.0, "one channel at a time"
        self.largest = max(self.largest, abs(shoulder), abs(elbow))
        return f"{0.01 + 1.02 * (shoulder + elbow):.6f} V\n"


def test_check_shows_the_outputs_and_writes_nothing(iio: IioFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert dyn(iio, "check") == 0
    out = capsys.readouterr().out
    assert "ad5754 channel 0" in out
    assert "wrist_dac channel 2, inverted" in out
    assert out.count("2048") == 2
    assert iio.raws() == ["3999", "3999"]


def test_safe_writes_whatever_can_be_written(iio: IioFolder, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(Outputs(read_dac_file(iio.dac), load_robot("planar_2r"), iio.root)):
        assert dyn(iio, "safe") == 0, "whoever holds them"
    assert iio.safe()
    iio.enable.write_text("1\n")
    iio.elbow.write_text("9\n")
    iio.shoulder.unlink()
    iio.dac.write_text(iio.dac.read_text() + "calibration: missing.yaml\n")
    capsys.readouterr()
    assert dyn(iio, "safe") == 1
    out, err = capsys.readouterr()
    assert "ad5754 channel 0: NOT SAFE" in out
    assert "no output channel 0" in err
    assert "without the calibration" in err
    assert iio.elbow.read_text() == "2048\n"
    assert iio.enable.read_text() == "0\n"


def test_a_calibration_is_found_kept_and_used(
    iio: IioFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    iio.dac.write_text(iio.dac.read_text() + "calibration: cal.yaml\n")
    person = Person(iio, "yes", "nonsense")
    monkeypatch.setattr(sys, "stdin", person)
    assert dyn(iio, "calibrate") == 0
    assert iio.safe()
    assert person.largest == pytest.approx(0.5, abs=0.003)
    out = capsys.readouterr().out
    assert "that is no number of volts" in out
    entries = read_calibration(iio.root / "cal.yaml")
    assert [entry.joint for entry in entries] == ["shoulder", "elbow"]
    for entry in entries:
        assert entry.calibration.gain == pytest.approx(1.02, abs=1e-4)
        assert entry.calibration.offset == pytest.approx(0.01, abs=1e-5)
        assert entry.residual < 1e-5
    capsys.readouterr()
    assert dyn(iio, "check") == 0
    assert capsys.readouterr().out.count("gain 1.02, offset 0.01 V") == 2
    monkeypatch.setattr(sys, "stdin", Person(iio, "yes", "skip"))
    assert dyn(iio, "calibrate", "--joint", "elbow") == 0
    assert "elbow: left as it was" in capsys.readouterr().out
    assert read_calibration(iio.root / "cal.yaml") == entries


@pytest.mark.parametrize(
    ("words", "answers", "sentence"),
    [
        ((), "no\n", "no consent"),
        (("--volts", "5"), "yes\n", "no consent"),
        ((), "", "the input has ended"),
        ((), "yes\n0.1\n", "the input has ended"),
        ((), "yes\na\nb\nc\n", "no number of volts in 3 answers"),
        (("--joint", "wrist"), "", "no channel drives wrist"),
    ],
)
def test_without_consent_or_sense_nothing_is_kept(
    iio: IioFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    answers: str,
    sentence: str,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    assert dyn(iio, "calibrate", "--output", str(iio.root / "cal.yaml"), *words) == 2
    assert sentence in capsys.readouterr().err
    assert iio.safe()
    assert not (iio.root / "cal.yaml").exists()


def test_a_larger_voltage_needs_its_own_consent(iio: IioFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person(iio, "5")
    monkeypatch.setattr(sys, "stdin", person)
    assert dyn(iio, "calibrate", "--output", str(iio.root / "cal.yaml"), "--volts", "5", "--points", "3") == 0
    assert person.largest == pytest.approx(5.0, abs=0.003)


def test_an_unlikely_calibration_is_not_kept(
    iio: IioFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = "yes\n5\n-5\n0.3\n0.4\n0.1\n" + "-0.5\n0.1\n0\n0.25\n0.5\nno\n"
    monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
    assert dyn(iio, "calibrate", "--output", str(iio.root / "cal.yaml")) == 0
    out = capsys.readouterr().out
    assert "that gain cannot be right" in out
    assert "do not lie on a line" in out
    assert not (iio.root / "cal.yaml").exists()


def test_no_calibration_file_and_a_running_bridge_are_refused(
    iio: IioFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    assert dyn(iio, "calibrate") == 2
    assert "add `calibration: NAME.yaml`" in capsys.readouterr().err
    with closing(Outputs(read_dac_file(iio.dac), load_robot("planar_2r"), iio.root)):
        assert dyn(iio, "calibrate", "--output", str(iio.root / "cal.yaml")) == 2
    assert "another program drives it" in capsys.readouterr().err
    assert dyn(iio, "check", "--robot", "puma560") == 2
    assert "is for the robot planar_2r, not for puma560" in capsys.readouterr().err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_calibration_that_is_cut_short_leaves_safe_codes(iio: IioFolder, number: signal.Signals) -> None:
    program = (
        "import sys\nfrom dyn_cli import main as cli\nfrom dyn_cli.setup import environment\n"
        "environment.enter = lambda *_: None\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    words = ["dac", "calibrate", str(iio.dac), "--iio-root", str(iio.root), "--output", str(iio.root / "cal.yaml")]
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{environment.ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"},
    )
    assert process.stdin is not None
    process.stdin.write("yes\n0.1\n")
    process.stdin.flush()
    end = time.monotonic() + 60.0
    while iio.raws()[0] in ("3999", "2048", ""):
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(20.0) == (130 if number == signal.SIGINT else -signal.SIGKILL)
    process.stdin.close()
    iio.wait_safe(2.0)
    assert not (iio.root / "cal.yaml").exists()
