"""Where DAC codes go: Linux Industrial I/O, a file or a pipe.

A file or a pipe takes one line per command: the time on the monotonic clock and the raw value of each of its channels.
"""

import stat
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from dyn_core import DynError, Robot
from dyn_core.actuation import Calibration, Channel, ChannelEntry, ChannelMap, DacFile
from dyn_core.files import user_path

from .iio import IIO, find_device, iio_converter
from .output_file import Output, OutputError, OutputNotFoundError


class Outputs:
    """All outputs of a DAC file, open: their channels in the robot's joint order, written together.

    Nothing is written by opening them.
    """

    def __init__(self, dac: DacFile, robot: Robot, root: Path = IIO, lock: bool = True) -> None:
        self._open: list[Output] = []
        try:
            self._build(dac, robot, root, lock)
        except BaseException:
            self.close()
            raise

    def _build(self, dac: DacFile, robot: Robot, root: Path, lock: bool) -> None:
        folders = {d.name: find_device(d.target, root) for d in dac.devices if d.kind == "iio"}
        channels = [_channel(dac, entry, robot, root) for entry in dac.channels]
        self.map = ChannelMap(robot.joint_names, robot.described_motors.motors, channels)
        order = self.map.joints
        entries = sorted(dac.channels, key=lambda entry: order.index(entry.joint))
        self.places = [dac.place(entry) for entry in entries]
        self._groups: list[tuple[Output, list[int]]] = []
        """An output and the places, among the channels, of the values that it takes."""
        for device in dac.devices:
            own = [i for i, entry in enumerate(entries) if entry.device == device.name]
            if device.name in folders:
                for i in own:
                    path = folders[device.name] / f"out_voltage{entries[i].channel}_raw"
                    self._groups.append((self._opened(path, True, lock), [i]))
            elif own:
                own.sort(key=lambda i: entries[i].channel)
                path = dac.path.parent / user_path(device.target)
                if device.kind == "pipe" and not (path.exists() and stat.S_ISFIFO(path.stat().st_mode)):
                    raise OutputNotFoundError(f"{path}: is no named pipe; make one with mkfifo")
                self._groups.append((self._opened(path, False, lock), own))
        self._wake = [
            self._opened(path, True, False)
            for entry in entries
            if entry.device in folders
            and (path := folders[entry.device] / f"out_voltage{entry.channel}_powerdown").exists()
        ]
        self._enable: tuple[Output, str, str] | None = None
        if dac.enable is not None:
            output = self._opened(_enable_path(dac, root), True, lock)
            self._enable = (output, str(dac.enable.on), str(dac.enable.off))

    def _opened(self, path: Path, attribute: bool, lock: bool) -> Output:
        self._open.append(Output(path, attribute, lock))
        return self._open[-1]

    def write(self, raws: Sequence[int]) -> None:
        """Write the channels' raw values; the first output that refuses ends it."""
        for output, own in self._groups:
            output.write(" ".join(str(raws[i]) for i in own))

    def enable(self) -> None:
        """Switch the amplifiers on, where there is an enable output."""
        if self._enable is not None:
            output, on, _ = self._enable
            output.write(on)

    def wake(self) -> None:
        """Leave the power-down mode, in converters that have one."""
        for output in self._wake:
            output.write("0")

    def make_safe(self) -> list[OutputError]:
        """Amplifiers off and safe codes out, on every output that takes them; the errors of those that do not."""
        self.map.rest()
        errors = []
        for output, text in self._safe_texts():
            try:
                output.write(text)
            except OutputError as error:
                errors.append(error)
        return errors

    def _safe_texts(self) -> list[tuple[Output, str]]:
        texts = [(output, " ".join(str(self.map.safe[i]) for i in own)) for output, own in self._groups]
        if self._enable is not None:
            texts.insert(0, (self._enable[0], self._enable[2]))
        return texts

    def plan(self) -> list[tuple[int, str, bool]]:
        """What the guardian writes where: descriptor, text, and whether it is an attribute."""
        return [(output.descriptor, text, output.attribute) for output, text in self._safe_texts()]

    def close(self) -> None:
        """Close all; what was written stays."""
        while self._open:
            self._open.pop().close()


def write_safe(dac: DacFile, robot: Robot, root: Path = IIO) -> list[tuple[str, DynError | None]]:
    """Write each output's safe code by itself, locked or not; each place, and what prevented it."""
    found: list[tuple[str, DynError | None]] = []

    def safe_code(entry: ChannelEntry) -> str:
        channel = _channel(dac, entry, robot, root)
        rest = robot.described_motors.resting_outputs[robot.joint_names.index(entry.joint)]
        return str(min(max(channel.raw(float(rest)), channel.lowest), channel.highest))

    @contextmanager
    def attempt(place: str) -> Iterator[None]:
        try:
            yield
        except DynError as error:
            found.append((place, error))
        else:
            found.append((place, None))

    def write(path: Path, text: str, attribute: bool = True) -> None:
        with closing(Output(path, attribute, lock=False)) as output:
            output.write(text)

    if dac.enable is not None:
        with attempt("enable output"):
            write(_enable_path(dac, root), str(dac.enable.off))
    for device in dac.devices:
        own = sorted((entry for entry in dac.channels if entry.device == device.name), key=lambda e: e.channel)
        if device.kind == "iio":
            for entry in own:
                with attempt(dac.place(entry)):
                    write(find_device(device.target, root) / f"out_voltage{entry.channel}_raw", safe_code(entry))
        elif own:
            with attempt(device.target):
                write(dac.path.parent / user_path(device.target), " ".join(map(safe_code, own)), attribute=False)
    return found


def _enable_path(dac: DacFile, root: Path) -> Path:
    assert dac.enable is not None
    if dac.enable.file:
        path = dac.path.parent / user_path(dac.enable.file)
    elif dac.device(dac.enable.device).kind == "iio":
        path = find_device(dac.device(dac.enable.device).target, root) / f"out_voltage{dac.enable.channel}_raw"
    else:
        raise OutputError(f"{dac.path}: enable needs a channel of an IIO device, or a file of its own")
    if not path.exists():
        raise OutputNotFoundError(f"{path}: the enable output is not there")
    return path


def _channel(dac: DacFile, entry: ChannelEntry, robot: Robot, root: Path) -> Channel:
    """A channel with what its device says, or, for a file or pipe, with the figures of the described converter."""
    if entry.joint not in robot.joint_names:
        known = ", ".join(robot.joint_names)
        raise OutputError(f"{dac.path}: {robot.name} has no joint {entry.joint}; its joints are {known}")
    device = dac.device(entry.device)
    converter = robot.described_motors.converter(robot.joint_names.index(entry.joint))
    if device.kind == "iio":
        folder = find_device(device.target, root)
        converter = iio_converter(folder, entry.channel, (converter.lowest, converter.highest))
    low, high = entry.raw or (converter.lowest, converter.highest)
    calibration = dac.calibrations.get(entry.joint, Calibration())
    return Channel(entry.joint, converter.scale, converter.offset, low, high, entry.inverted, entry.slew, calibration)
