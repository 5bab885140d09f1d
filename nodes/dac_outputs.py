"""Where DAC codes go: Linux Industrial I/O, a file or a pipe; and the guardian that makes them safe.

An IIO device is a folder below ``/sys/bus/iio/devices``: ``name`` and perhaps ``label`` say what it is, and writing a
number to ``out_voltageN_raw`` puts out (raw + ``out_voltageN_offset``) ``out_voltageN_scale`` millivolts at once. A
file or a pipe takes one line per command: the time on the monotonic clock and the raw value of each of its channels.

Every output is locked (flock) while it is open, so that two programs cannot drive it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

import numpy as np

from dyn_core.actuation import CODES, LOW, OFFSET, STEP
from dyn_core.dac import Calibration, Channel, ChannelMap
from dyn_core.dac_file import ChannelEntry, DacFile
from dyn_core.errors import DynError
from dyn_core.files import user_path
from dyn_core.robot import Robot
from nodes import dac_guardian
from nodes.dac_guardian import DRIVING, RESTING, put, stamped

IIO = Path("/sys/bus/iio/devices")
RAW = re.compile(r"out_voltage(\d+)_raw")
START = 10.0
"""Seconds in which the guardian must have started."""


class OutputError(DynError):
    """An output cannot be used: says which, why, and what to do."""


class OutputNotFoundError(OutputError):
    """There is no such device, channel or file."""


class OutputBusyError(OutputError):
    """Another program drives the output."""


class OutputGoneError(OutputError):
    """An output that was there has disappeared."""


class GuardianError(OutputError):
    """The guardian has ended, or does not answer."""


def find_device(wanted: str, root: Path = IIO) -> Path:
    """The folder of the IIO device with this name, label or folder name."""
    try:
        folders = sorted(path for path in root.iterdir() if path.name.startswith("iio:device"))
    except OSError as error:
        cause = f"cannot be read ({error.strerror}); is the converter's driver loaded?"
        raise OutputNotFoundError(f"{root}: {cause}") from error
    described = {folder: {folder.name, _text(folder / "name"), _text(folder / "label")} - {""} for folder in folders}
    found = [folder for folder, names in described.items() if wanted in names]
    if len(found) == 1:
        return found[0]
    if found:
        each = ", ".join(folder.name for folder in found)
        many = f"{len(found)} IIO devices are called {wanted!r}"
        raise OutputNotFoundError(f"{root}: {many}; say which by its label, or as one of {each}")
    there = ", ".join(sorted(set().union(*described.values()))) or "none"
    raise OutputNotFoundError(f"{root}: no IIO device is called {wanted!r}; there are: {there}")


class Output:
    """One open file: an attribute that holds a number, or a file or pipe that takes lines."""

    def __init__(self, path: Path, attribute: bool, lock: bool = True) -> None:
        self.path, self.attribute = path, attribute
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if attribute else os.O_APPEND)
        try:
            if not attribute and not path.exists():
                flags |= os.O_CREAT
            self.descriptor = os.open(path, flags, 0o644)
        except OSError as error:
            raise _named(path, error) from error
        try:
            if stat.S_ISDIR(os.fstat(self.descriptor).st_mode):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            if lock:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self.descriptor)
            if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
                raise OutputBusyError(f"{path}: another program drives it; end that first") from error
            raise _named(path, error) from error

    def write(self, text: str) -> None:
        """Write a number, or a line of numbers; OutputError if it is not taken."""
        try:
            put(self.descriptor, f"{text}\n".encode() if self.attribute else stamped(text), self.attribute)
        except OSError as error:
            raise _named(self.path, error) from error

    def close(self) -> None:
        os.close(self.descriptor)


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
        motors = robot.actuation.motors
        folders = {d.name: find_device(d.target, root) for d in dac.devices if d.kind == "iio"}
        channels = []
        for entry in dac.channels:
            channels.append(_channel(dac, entry, _motor(dac, robot, entry), root))
        self.map = ChannelMap(robot.joint_names, motors, channels)
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

    def __enter__(self) -> Outputs:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def write_safe(dac: DacFile, robot: Robot, root: Path = IIO) -> list[tuple[str, DynError | None]]:
    """Write each output's safe code by itself, locked or not; each place, and what prevented it."""

    def enable_off() -> None:
        assert dac.enable is not None
        _write_once(_enable_path(dac, root), str(dac.enable.off))

    def safe_code(entry: ChannelEntry) -> int:
        motor = _motor(dac, robot, entry)
        channel = _channel(dac, entry, motor, root)
        return min(max(channel.raw(float(motor[OFFSET])), channel.lowest), channel.highest)

    def code(entry: ChannelEntry) -> None:
        folder = find_device(dac.device(entry.device).target, root)
        _write_once(folder / f"out_voltage{entry.channel}_raw", str(safe_code(entry)))

    def line(path: Path, entries: Sequence[ChannelEntry]) -> None:
        _write_once(path, " ".join(str(safe_code(entry)) for entry in entries), attribute=False)

    found = [("enable output", _attempt(enable_off))] if dac.enable is not None else []
    for device in dac.devices:
        own = sorted((entry for entry in dac.channels if entry.device == device.name), key=lambda e: e.channel)
        if device.kind == "iio":
            found += [(dac.place(entry), _attempt(partial(code, entry))) for entry in own]
        elif own:
            path = dac.path.parent / user_path(device.target)
            found.append((device.target, _attempt(partial(line, path, own))))
    return found


class Guardian:
    """The guardian's process, seen from the bridge."""

    def __init__(self, outputs: Outputs, timeout: float, priority: int = 0) -> None:
        ours, theirs = socket.socketpair()
        plan = outputs.plan()
        job = {"socket": theirs.fileno(), "plan": plan, "timeout": timeout, "priority": priority}
        self._socket = ours
        self._pause = timeout / 5.0
        self._patience = max(1.0, 5.0 * timeout)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(Path(dac_guardian.__file__)), json.dumps(job)],
            pass_fds=[theirs.fileno(), *(descriptor for descriptor, _, _ in plan)],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        ours.settimeout(START)
        try:
            if ours.recv(1) != RESTING:
                raise GuardianError("the guardian of the outputs did not start")
        except OSError as error:
            self.close()
            raise GuardianError(f"the guardian of the outputs did not start ({error})") from error
        except BaseException:
            self.close()
            raise
        ours.setblocking(False)
        self._beaten, self._answered, self._word = 0.0, time.monotonic(), b""

    @property
    def pid(self) -> int:
        return self._process.pid

    def beat(self, driving: bool) -> None:
        """Say that the bridge lives, and whether it drives; cheap enough for every cycle."""
        now, word = time.monotonic(), DRIVING if driving else RESTING
        if word == self._word and now - self._beaten < self._pause:
            return
        if now - self._beaten > self._patience:
            self._answered = now  # this process did not beat, so there was nothing to answer
        try:
            with contextlib.suppress(BlockingIOError):
                if not self._socket.recv(4096):
                    raise GuardianError("the guardian of the outputs has ended")
                self._answered = now
            self._socket.send(word)
        except OSError as error:
            raise GuardianError(f"the guardian of the outputs has ended ({error})") from error
        self._beaten, self._word = now, word
        if now - self._answered > self._patience:
            raise GuardianError(f"the guardian of the outputs has not answered for {self._patience:g} s")

    def close(self) -> None:
        """Let it write the safe codes once more, and end."""
        self._socket.close()
        try:
            self._process.wait(2.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _write_once(path: Path, text: str, attribute: bool = True) -> None:
    output = Output(path, attribute, lock=False)
    try:
        output.write(text)
    finally:
        output.close()


def _attempt(write: Callable[[], None]) -> DynError | None:
    try:
        write()
    except DynError as error:
        return error
    return None


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


def _motor(dac: DacFile, robot: Robot, entry: ChannelEntry) -> np.ndarray:
    if entry.joint not in robot.joint_names:
        known = ", ".join(robot.joint_names)
        raise OutputError(f"{dac.path}: {robot.name} has no joint {entry.joint}; its joints are {known}")
    return robot.actuation.motors[robot.joint_names.index(entry.joint)]


def _channel(dac: DacFile, entry: ChannelEntry, motor: np.ndarray, root: Path) -> Channel:
    """A channel with what its device says, or, for a file or pipe, with the figures of the described converter."""
    calibration, device = dac.calibrations.get(entry.joint, Calibration()), dac.device(entry.device)
    if device.kind == "iio":
        return _iio_channel(find_device(device.target, root), entry, motor, calibration)
    low, high = entry.raw or (0, int(motor[CODES]) - 1)
    scale, offset = float(motor[STEP]), float(motor[LOW] / motor[STEP])
    return Channel(entry.joint, scale, offset, low, high, entry.inverted, entry.slew, calibration)


def _iio_channel(folder: Path, entry: ChannelEntry, motor: np.ndarray, calibration: Calibration) -> Channel:
    stem = f"out_voltage{entry.channel}"
    if not (folder / f"{stem}_raw").exists():
        there = sorted((m[1] for p in folder.iterdir() if (m := RAW.fullmatch(p.name))), key=int)
        each = ", ".join(there) or "none"
        raise OutputNotFoundError(f"{folder}: has no output channel {entry.channel}; there are: {each}")
    scale = _figure(folder, (f"{stem}_scale", "out_voltage_scale"))
    if scale is None:
        raise OutputError(f"{folder}: says no {stem}_scale, so its volts are not known")
    if scale <= 0.0:
        raise OutputError(f"{folder}: {stem}_scale is {scale:g}, which is not greater than 0")
    offset = _figure(folder, (f"{stem}_offset", "out_voltage_offset")) or 0.0
    low, high = entry.raw or _available(folder / f"{stem}_raw_available") or (0, int(motor[CODES]) - 1)
    return Channel(entry.joint, scale * 1e-3, offset, low, high, entry.inverted, entry.slew, calibration)


def _figure(folder: Path, names: Sequence[str]) -> float | None:
    """The number in the first of these attributes that exists."""
    for name in names:
        path = folder / name
        if path.exists():
            try:
                value = float(_text(path))
            except ValueError:
                value = np.nan
            if not np.isfinite(value):
                raise OutputError(f"{path}: found {_text(path)!r}, which is no number")
            return value
    return None


def _available(path: Path) -> tuple[int, int] | None:
    """Lowest and highest raw value, where the device says them as [lowest step highest]."""
    match = re.fullmatch(r"\[(-?\d+) \d+ (-?\d+)\]", _text(path))
    return (int(match[1]), int(match[2])) if match else None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def _named(path: Path, error: OSError) -> OutputError:
    """The same error by name, with the remedy."""
    if error.errno in (errno.ENOENT, errno.ENODEV):
        return OutputGoneError(f"{path}: the output is not there any more or never was; connect it and configure again")
    if error.errno in (errno.EACCES, errno.EPERM):
        return OutputError(f"{path}: may not be written; install the udev rule (docs/dac.md) and join its group")
    if error.errno == errno.ENXIO:
        return OutputError(f"{path}: nobody reads the pipe; start its reader first")
    if error.errno == errno.EPIPE:
        return OutputGoneError(f"{path}: the pipe's reader has ended; start it and clear the fault")
    if error.errno == errno.EAGAIN:
        return OutputError(f"{path}: the pipe is full, its reader does not keep up")
    if error.errno == errno.ENOSPC:
        return OutputError(f"{path}: the disk is full; make room and clear the fault")
    return OutputError(f"{path}: the write failed ({error.strerror or error})")
