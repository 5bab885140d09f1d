"""Outputs of a folder that behaves like sysfs, of files and pipes: what is written, and every way to fail."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from iio_folder import DAC_FILE, SAFE, IioFolder

from dyn_core import load_robot
from dyn_core.actuation.dac_file import read_dac_file
from dyn_nodes.dac_bridge import guardian_process as dac_guardian
from dyn_nodes.dac_bridge.guardian import Guardian, GuardianError
from dyn_nodes.dac_bridge.iio import find_device
from dyn_nodes.dac_bridge.output_file import OutputBusyError, OutputError, OutputGoneError, OutputNotFoundError
from dyn_nodes.dac_bridge.outputs import Outputs

pytestmark = pytest.mark.running

ROBOT = load_robot("planar_2r")
SILENCE = 0.2


def repeat(action: Callable[[], object], pause: float = 0.02) -> None:
    """Do it again and again for 10 s."""
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        action()
        time.sleep(pause)


@pytest.fixture
def iio(tmp_path: Path) -> IioFolder:
    return IioFolder(tmp_path)


def opened(iio: IioFolder, text: str = DAC_FILE, lock: bool = True) -> Outputs:
    iio.dac.write_text(text)
    return Outputs(read_dac_file(iio.dac), ROBOT, iio.root, lock)


@pytest.fixture
def outputs(iio: IioFolder) -> Iterator[Outputs]:
    with closing(opened(iio)) as found:
        yield found


def test_devices_are_found_by_name_label_or_folder(iio: IioFolder) -> None:
    assert find_device("ad5754", iio.root).name == "iio:device0"
    assert find_device("wrist_dac", iio.root).name == find_device("iio:device1", iio.root).name == "iio:device1"
    with pytest.raises(OutputNotFoundError, match=r"'ad7'; there are: ad5686, ad5754, iio:device0, .*wrist_dac"):
        find_device("ad7", iio.root)
    (iio.root / "iio:device1" / "name").write_text("ad5754\n")
    with pytest.raises(OutputNotFoundError, match=r"2 IIO devices are called 'ad5754'.*label"):
        find_device("ad5754", iio.root)
    with pytest.raises(OutputNotFoundError, match="driver"):
        find_device("ad5754", iio.root / "nowhere")


def test_opening_writes_nothing(iio: IioFolder, outputs: Outputs) -> None:
    assert iio.raws() == ["3999", "3999"]
    assert iio.enable.read_text() == "1\n"


def test_codes_reach_their_channels_and_safe_ones_switch_off(iio: IioFolder, outputs: Outputs) -> None:
    outputs.wake()
    assert (iio.root / "iio:device1" / "out_voltage2_powerdown").read_text() == "0\n"
    outputs.enable()
    outputs.write(outputs.map.step(np.array([2148.0, 2148.0]), 1.0))
    assert iio.raws() == ["2148", "1948"], "the elbow is inverted"
    outputs.write([7, 12])
    assert iio.shoulder.read_text() == "7\n", "a shorter number leaves nothing of a longer one"
    assert outputs.make_safe() == []
    assert iio.safe()


def test_the_devices_own_range_counts(iio: IioFolder) -> None:
    (iio.root / "iio:device0" / "out_voltage0_raw_available").write_text("[0 1 4090]\n")
    with closing(opened(iio)) as outputs:
        assert [channel.highest for channel in outputs.map.channels] == [4090, 4095]


def test_an_output_can_be_driven_by_one_program_only(iio: IioFolder, outputs: Outputs) -> None:
    with pytest.raises(OutputBusyError, match="another program drives it"):
        opened(iio)
    opened(iio, lock=False).close()


def broken(iio: IioFolder) -> dict[str, tuple[Callable[[], object], type, str]]:
    device = iio.root / "iio:device0"

    def replaced(make: Callable[[], object]) -> Callable[[], object]:
        return lambda: (iio.shoulder.unlink(), make())

    return {
        "no channel": (iio.shoulder.unlink, OutputNotFoundError, "no output channel 0; there are: 1"),
        "a folder": (replaced(iio.shoulder.mkdir), OutputError, "directory"),
        "a pipe without reader": (replaced(lambda: os.mkfifo(iio.shoulder)), OutputError, "nobody reads"),
        "no scale": ((device / "out_voltage0_scale").unlink, OutputError, "no out_voltage0_scale"),
        "scale 0": (lambda: (device / "out_voltage0_scale").write_text("0"), OutputError, "not greater than 0"),
        "words": (lambda: (device / "out_voltage0_scale").write_text("some"), OutputError, "'some', which is no"),
        "another range": (lambda: (device / "out_voltage0_scale").write_text("0.1"), Exception, "motor needs"),
        "no enable": (iio.enable.unlink, OutputNotFoundError, "enable output is not there"),
    }


@pytest.mark.parametrize(
    "case",
    ["no channel", "a folder", "a pipe without reader", "no scale", "scale 0", "words", "another range", "no enable"],
)
def test_what_cannot_be_opened_is_said(iio: IioFolder, case: str) -> None:
    spoil, kind, sentence = broken(iio)[case]
    spoil()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(kind, match=sentence):
        opened(iio)
    assert len(os.listdir("/proc/self/fd")) == before, "nothing is left open"


@pytest.mark.parametrize(
    ("number", "kind", "sentence"),
    [
        (errno.EIO, OutputError, "Input/output error"),
        (errno.EBUSY, OutputError, "busy"),
        (errno.ENODEV, OutputGoneError, "not there any more"),
        (errno.ENOSPC, OutputError, "the disk is full"),
        (errno.EINVAL, OutputError, "Invalid argument"),
    ],
)
def test_a_write_error_is_named_and_the_other_outputs_are_made_safe(
    iio: IioFolder, outputs: Outputs, monkeypatch: pytest.MonkeyPatch, number: int, kind: type, sentence: str
) -> None:
    own = os.stat(iio.shoulder).st_ino
    genuine = os.pwrite

    def failing(descriptor: int, data: bytes, offset: int) -> int:
        if os.fstat(descriptor).st_ino == own:
            raise OSError(number, os.strerror(number))
        return genuine(descriptor, data, offset)

    monkeypatch.setattr(os, "pwrite", failing)
    with pytest.raises(kind, match=sentence):
        outputs.write([2000, 2000])
    errors = outputs.make_safe()
    assert [type(error) for error in errors] == [kind]
    assert iio.raws() == ["3999", "2048"]
    assert iio.enable.read_text() == "0\n"
    monkeypatch.undo()
    assert outputs.make_safe() == []
    assert iio.safe()


def test_a_device_that_disappears_is_noticed(iio: IioFolder, outputs: Outputs) -> None:
    outputs.write([2000, 2000])
    iio.shoulder.unlink()
    with pytest.raises(OutputGoneError, match="out_voltage0_raw"):
        outputs.write([2001, 2001])


@pytest.mark.parametrize(("target", "sentence"), [("/dev/full", "disk is full"), ("/proc/self/mem", "output error")])
def test_the_kernels_own_errors(iio: IioFolder, target: str, sentence: str) -> None:
    iio.elbow.unlink()
    iio.elbow.symlink_to(target)
    with closing(opened(iio, lock=False)) as outputs, pytest.raises(OutputError, match=sentence):
        outputs.write([2000, 2000])


TO_A_FILE = """\
robot: planar_2r
devices: [{name: dry, KIND: lines}]
channels:
  - {joint: elbow, device: dry, channel: 0}
  - {joint: shoulder, device: dry, channel: 1}
"""


def test_a_file_takes_a_line_per_command_in_the_order_of_its_channels(iio: IioFolder) -> None:
    with closing(opened(iio, TO_A_FILE.replace("KIND", "file"))) as outputs:
        outputs.write([2000, 3000])
        outputs.make_safe()
    rows = [line.split() for line in (iio.root / "lines").read_text().splitlines()]
    assert [row[1:] for row in rows] == [["3000", "2000"], ["2048", "2048"]]
    assert 0.0 <= float(rows[1][0]) - float(rows[0][0]) < 60.0


def test_a_full_disk_under_the_file_is_named(iio: IioFolder) -> None:
    (iio.root / "lines").symlink_to("/dev/full")
    text = TO_A_FILE.replace("KIND", "file")
    with closing(opened(iio, text, lock=False)) as outputs, pytest.raises(OutputError, match="full"):
        outputs.write([2000, 3000])


def test_a_pipe_needs_a_reader_that_keeps_up_and_stays(iio: IioFolder) -> None:
    text, path = TO_A_FILE.replace("KIND", "pipe"), iio.root / "lines"
    with pytest.raises(OutputNotFoundError, match="mkfifo"):
        opened(iio, text)
    os.mkfifo(path)
    with pytest.raises(OutputError, match="nobody reads"):
        opened(iio, text)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with closing(opened(iio, text)) as outputs:
        outputs.write([2000, 3000])
        assert os.read(reader, 100).split()[1:] == [b"3000", b"2000"]
        with pytest.raises(OutputError, match="does not keep up"):
            repeat(lambda: outputs.write([2000, 3000]), 0.0)
        os.close(reader)
        with pytest.raises(OutputGoneError, match="reader has ended"):
            outputs.write([2000, 3000])


def test_the_guardian_acts_on_silence_and_again_on_the_end(iio: IioFolder, outputs: Outputs) -> None:
    guardian = Guardian(outputs, SILENCE)
    try:
        guardian.beat(False)
        time.sleep(2.0 * SILENCE)
        assert iio.raws() == ["3999", "3999"], "at rest it does not watch"
        outputs.write([2100, 2100])
        end = time.monotonic() + 2.0 * SILENCE
        while time.monotonic() < end:
            guardian.beat(True)
            time.sleep(SILENCE / 20.0)
        assert iio.raws() == ["2100", "2100"], "it leaves a beating bridge alone"
        assert iio.wait_safe(SILENCE + 2.0) > 0.0
        outputs.write([2100, 2100])
        iio.wait_safe(SILENCE + 2.0)
        outputs.write([2100, 2100])
        guardian.beat(False)
    finally:
        guardian.close()
    assert iio.safe()


def test_a_guardian_that_ends_is_noticed(outputs: Outputs) -> None:
    guardian = Guardian(outputs, SILENCE)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGABRT):
        os.kill(guardian.pid, number)
    guardian.beat(True)
    time.sleep(SILENCE / 2.0)
    guardian.beat(True)
    os.kill(guardian.pid, signal.SIGKILL)
    with pytest.raises(GuardianError, match="has ended"):
        repeat(lambda: guardian.beat(True))
    guardian.close()


def test_a_guardian_that_hangs_is_noticed(outputs: Outputs) -> None:
    guardian = Guardian(outputs, SILENCE)
    os.kill(guardian.pid, signal.SIGSTOP)
    try:
        with pytest.raises(GuardianError, match="not answered"):
            repeat(lambda: guardian.beat(True))
    finally:
        os.kill(guardian.pid, signal.SIGCONT)
        guardian.close()


KILLED = """
import os, sys, time
from pathlib import Path
from dyn_core import load_robot
from dyn_core.actuation import read_dac_file
from dyn_nodes.dac_bridge.guardian import Guardian
from dyn_nodes.dac_bridge.outputs import Outputs
folder = Path(sys.argv[1])
outputs = Outputs(read_dac_file(folder / "dac.yaml"), load_robot("planar_2r"), folder)
guardian = Guardian(outputs, 5.0)
guardian.beat(True)
outputs.enable()
outputs.write([3000, 3000])
print("driving", flush=True)
time.sleep(60)
"""


def test_a_killed_writer_leaves_safe_codes_and_keeps_the_lock_until_then(iio: IioFolder) -> None:
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(iio.root)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "driving\n"
    assert iio.raws() == ["3000", "3000"]
    with pytest.raises(OutputBusyError):
        opened(iio)
    process.kill()
    process.wait()
    process.stdout.close()
    iio.wait_safe(2.0)
    end = time.monotonic() + 5.0
    while True:
        try:
            opened(iio).close()
            break
        except OutputBusyError:
            assert time.monotonic() < end
            time.sleep(0.01)
    assert iio.raws() == SAFE


def test_the_guardian_needs_the_standard_library_only() -> None:
    program = f"import runpy, sys; runpy.run_path({dac_guardian.__file__!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} <= {*sys.stdlib_module_names, "__main__"}
