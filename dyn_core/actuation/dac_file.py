"""The DAC file of an arm, which says where its motors' voltages go, and the calibration file beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dyn_core.description.documents.yaml_document import Document
from dyn_core.description.documents.yaml_section import YamlSection
from dyn_core.description.documents.yaml_text import document_text
from dyn_core.errors import InputError
from dyn_core.files import user_path, write_whole

from .dac_channels import Calibration

KEYS = ("robot", "calibration", "devices", "channels", "enable")
DEVICE_KEYS = ("name", "iio", "file", "pipe")
CHANNEL_KEYS = ("joint", "device", "channel", "inverted", "slew", "raw")
ENABLE_KEYS = ("device", "channel", "file", "on", "off")
CALIBRATION_KEYS = ("robot", "date", "channels")
CALIBRATED_KEYS = ("joint", "device", "channel", "gain", "offset", "residual", "points")
LEVELS = (("on", 1), ("off", 0))
MOST_CHANNELS = 1023
LARGEST_RAW = 2**31 - 1
HEADING = """\
# Written by dyn dac calibrate. Measured volts = offset + gain * volts by the converter's own figures;
# offset and residual (the largest) in V.
"""


@dataclass(frozen=True)
class DeviceEntry:
    """A converter, or what stands for one: kind ``iio``, ``file`` or ``pipe``, and its name, label or path."""

    name: str
    kind: str
    target: str


@dataclass(frozen=True)
class ChannelEntry:
    """Which channel of which device drives a joint's motor, and how."""

    joint: str
    device: str
    channel: int
    inverted: bool
    slew: float
    raw: tuple[int, int] | None
    """Lowest and highest raw value, where the device does not say them."""


@dataclass(frozen=True)
class EnableEntry:
    """An output that switches the amplifiers: a device's channel, or a file of its own, and what to write to it."""

    device: str
    channel: int
    file: str
    on: int
    off: int


@dataclass(frozen=True)
class DacFile:
    """What a DAC file says."""

    path: Path
    robot: str
    devices: tuple[DeviceEntry, ...]
    channels: tuple[ChannelEntry, ...]
    enable: EnableEntry | None
    calibration: Path | None
    calibrations: Mapping[str, Calibration] = field(default_factory=dict)
    """By joint, from the calibration file; joints that are not in it are not calibrated."""

    def device(self, name: str) -> DeviceEntry:
        return next(device for device in self.devices if device.name == name)

    def place(self, entry: ChannelEntry) -> str:
        """A channel as a person names it."""
        return f"{self.device(entry.device).target} channel {entry.channel}"


@dataclass(frozen=True)
class Calibrated:
    """One entry of a calibration file."""

    joint: str
    device: str
    """Name, label or path of the device that was measured."""
    channel: int
    calibration: Calibration
    residual: float
    points: int


def read_dac_file(path: str | Path, calibrated: bool = True) -> DacFile:
    """Read a DAC file and, unless ``calibrated`` is false, the calibration file that it names."""
    where = user_path(path)
    document = Document(where)
    root = document.root(KEYS)
    robot = root.name("robot")
    devices = _devices(root)
    names = [device.name for device in devices]
    channels = tuple(_channel(section, names) for section in root.sections("channels", CHANNEL_KEYS))
    _refuse_repeated(root, channels)
    enable = _enable(root.section("enable", ENABLE_KEYS), names) if "enable" in root else None
    if enable is not None and (enable.device, enable.channel) in {(c.device, c.channel) for c in channels}:
        root.problem("enable", "the channel drives a motor already", "a channel of its own")
    named = root.text("calibration")
    document.finish()
    calibration = where.parent / named if named else None
    found = DacFile(where, robot, devices, channels, enable, calibration)
    if calibration is None or not calibrated:
        return found
    return replace(found, calibrations=_matching(found, read_calibration(calibration)))


def read_calibration(path: Path) -> tuple[Calibrated, ...]:
    """The entries of a calibration file."""
    document = Document(path)
    root = document.root(CALIBRATION_KEYS)
    entries = tuple(
        Calibrated(
            section.name("joint"),
            section.text("device"),
            section.integer("channel", 0, MOST_CHANNELS),
            Calibration(section.number("gain", above=0.0), section.number("offset", unit="V")),
            section.number("residual", unit="V", default=0.0, least=0.0),
            section.integer("points", 2, 1000) if "points" in section else 2,
        )
        for section in root.sections("channels", CALIBRATED_KEYS)
    )
    document.finish()
    return entries


def write_calibration(path: Path, robot: str, date: str, entries: tuple[Calibrated, ...]) -> None:
    """Write a calibration file whole; it is what ``read_calibration`` reads."""
    channels = [
        {
            "joint": entry.joint, "device": entry.device, "channel": entry.channel, "gain": entry.calibration.gain,
            "offset": entry.calibration.offset, "residual": float(f"{entry.residual:.3g}"), "points": entry.points,
        }
        for entry in entries
    ]  # fmt: skip
    write_whole(path, HEADING + document_text({"robot": robot, "date": date, "channels": channels}))


def _devices(root: YamlSection) -> tuple[DeviceEntry, ...]:
    devices: list[DeviceEntry] = []
    for section in root.sections("devices", DEVICE_KEYS):
        name = section.name("name")
        kinds = [kind for kind in ("iio", "file", "pipe") if kind in section]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none of them"
            section.problem("name", f"found {found}", "one of iio, file, pipe")
            continue
        target = section.text(kinds[0])
        if not target:
            section.problem(kinds[0], "found nothing", "a name, a label or a path")
        if name in [device.name for device in devices]:
            section.problem("name", f"found {name!r} a second time", "a name of its own for each device")
        devices.append(DeviceEntry(name, kinds[0], target))
    return tuple(devices)


def _channel(section: YamlSection, devices: list[str]) -> ChannelEntry:
    slew = section.number("slew", unit="V/s", default=math.inf, above=0.0)
    return ChannelEntry(
        section.name("joint"),
        section.choice("device", devices),
        section.integer("channel", 0, MOST_CHANNELS),
        section.boolean("inverted", False),
        slew,
        _raw_range(section) if "raw" in section else None,
    )


def _raw_range(section: YamlSection) -> tuple[int, int]:
    low, high = section.vector("raw", 2)
    whole = all(abs(end) <= LARGEST_RAW and end == int(end) for end in (low, high))  # not a number is none of both
    if not whole or low >= high:
        section.problem("raw", f"found [{low:g}, {high:g}]", "two whole numbers, the lowest and the highest raw value")
        return 0, 1
    return int(low), int(high)


def _enable(section: YamlSection, devices: list[str]) -> EnableEntry:
    levels = [section.integer(key, -999_999_999, 999_999_999) if key in section else n for key, n in LEVELS]
    if levels[0] == levels[1]:
        section.problem("on", "on and off are the same", "two different values")
    if "file" in section:
        if "device" in section or "channel" in section:
            section.problem("file", "found beside a device", "either file, or device and channel")
        return EnableEntry("", 0, section.text("file"), *levels)
    return EnableEntry(section.choice("device", devices), section.integer("channel", 0, MOST_CHANNELS), "", *levels)


def _refuse_repeated(root: YamlSection, channels: tuple[ChannelEntry, ...]) -> None:
    places: dict[tuple[str, int], str] = {}
    joints: set[str] = set()
    for entry in channels:
        key = (entry.device, entry.channel)
        if entry.joint in joints:
            root.problem("channels", f"joint {entry.joint} has two channels", "one channel per joint")
        if key in places:
            two = f"{places[key]} and {entry.joint}"
            root.problem("channels", f"{two} share channel {entry.channel} of {entry.device}", "a channel per joint")
        joints.add(entry.joint)
        places[key] = entry.joint


def _matching(dac: DacFile, entries: tuple[Calibrated, ...]) -> dict[str, Calibration]:
    """The calibrations by joint, refusing those of another channel than the one that the joint has now."""
    channels = {entry.joint: entry for entry in dac.channels}
    found = {}
    for entry in entries:
        channel = channels.get(entry.joint)
        if channel is None:
            continue
        target = dac.device(channel.device).target
        if (entry.device, entry.channel) != (target, channel.channel):
            raise InputError(
                f"{dac.calibration}: joint {entry.joint} was calibrated on {entry.device} channel {entry.channel}, but"
                f" {dac.path} has it on {target} channel {channel.channel}; calibrate it again"
            )
        found[entry.joint] = entry.calibration
    return found
