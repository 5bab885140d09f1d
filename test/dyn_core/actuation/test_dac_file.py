"""DAC files and calibration files: what they say, and what is refused with its line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from dyn_core.actuation.dac_channels import Calibration
from dyn_core.actuation.dac_file import Calibrated, read_calibration, read_dac_file, write_calibration
from dyn_core.errors import DescriptionError, InputError

TEXT = """\
robot: planar_2r
calibration: cal.yaml
devices:
  - {name: main, iio: ad5754}
  - {name: dry, file: run.log}
channels:
  - {joint: shoulder, device: main, channel: 0, slew: 500, raw: [0, 65535]}
  - {joint: elbow, device: dry, channel: 3, inverted: true}
enable: {device: main, channel: 7, on: 65535, off: 0}
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "dac.yaml"
    path.write_text(text)
    return path


def test_a_dac_file_is_read(tmp_path: Path) -> None:
    dac = read_dac_file(written(tmp_path, TEXT), calibrated=False)
    shoulder, elbow = dac.channels
    assert (dac.robot, dac.device("main").target, dac.calibration) == ("planar_2r", "ad5754", tmp_path / "cal.yaml")
    assert (shoulder.channel, shoulder.slew, shoulder.raw, shoulder.inverted) == (0, 500.0, (0, 65535), False)
    assert (elbow.device, elbow.slew, elbow.raw, elbow.inverted) == ("dry", math.inf, None, True)
    assert dac.enable is not None
    assert (dac.enable.channel, dac.enable.on, dac.enable.off) == (7, 65535, 0)
    assert dac.place(elbow) == "run.log channel 3"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("robot: planar_2r\n", "", "robot"),
        ("iio: ad5754", "iio: ad5754, file: x", "dac.yaml:4.*one of iio, file, pipe"),
        ("iio: ad5754", "bus: x", "dac.yaml:4"),
        ("name: dry", "name: main", "a name of its own"),
        ("device: dry", "device: wet", "dac.yaml:8.*main, dry"),
        ("channel: 3", "channel: -3", "dac.yaml:8"),
        ("slew: 500", "slew: 0", "dac.yaml:7.*> 0"),
        ("slew: 500", "slew: .nan", "dac.yaml:7"),
        ("[0, 65535]", "[5, 5]", "the lowest and the highest"),
        ("[0, 65535]", "[0, .inf]", "dac.yaml:7"),
        ("[0, 65535]", "[0, 1.5]", "the lowest and the highest"),
        ("joint: elbow", "joint: shoulder", "two channels"),
        ("device: dry, channel: 3", "device: main, channel: 0", "share channel 0"),
        ("channel: 7", "channel: 0", "drives a motor already"),
        ("on: 65535", "on: 0", "on and off are the same"),
        ("enable: {device: main, channel: 7,", "enable: {file: x, channel: 7,", "either file"),
        ("channels:", "chanels:", "did you mean 'channels'"),
    ],
)
def test_mistakes_are_said_with_their_place(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in TEXT
    with pytest.raises(DescriptionError, match=sentence) as raised:
        read_dac_file(written(tmp_path, TEXT.replace(old, new)), calibrated=False)
    assert "dac.yaml:" in str(raised.value)


def test_a_calibration_is_written_and_read_back_exactly(tmp_path: Path) -> None:
    entries = (
        Calibrated("shoulder", "ad5754", 0, Calibration(1.0123456789012345, -0.1 / 3), 0.0004, 5),
        Calibrated("elbow", "run.log", 3, Calibration(0.99, 0.0), 0.001, 3),
    )
    path = tmp_path / "cal.yaml"
    write_calibration(path, "planar_2r", "2026-01-01", entries)
    assert read_calibration(path) == entries
    dac = read_dac_file(written(tmp_path, TEXT))
    assert dac.calibrations == {entry.joint: entry.calibration for entry in entries}
    assert list(tmp_path.glob(".cal*")) == []


def test_a_calibration_of_another_channel_is_refused(tmp_path: Path) -> None:
    entry = Calibrated("shoulder", "ad5754", 1, Calibration(), 0.0, 5)
    write_calibration(tmp_path / "cal.yaml", "planar_2r", "2026-01-01", (entry,))
    with pytest.raises(InputError, match=r"calibrated on ad5754 channel 1.*calibrate it again"):
        read_dac_file(written(tmp_path, TEXT))


@pytest.mark.parametrize("text", ["", "channels: 3", "channels: [{joint: a, gain: 0}]", "a: [", "\x00"])
def test_a_broken_calibration_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cal.yaml").write_text(text)
    with pytest.raises(DescriptionError, match=r"cal\.yaml"):
        read_dac_file(written(tmp_path, TEXT))


def test_a_missing_calibration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match=r"cal\.yaml: cannot be read"):
        read_dac_file(written(tmp_path, TEXT))
