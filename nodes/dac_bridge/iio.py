"""Converters of Linux Industrial I/O, as folders below ``/sys/bus/iio/devices``.

``name`` and perhaps ``label`` say what a device is; writing a number to ``out_voltageN_raw`` puts out
(raw + ``out_voltageN_offset``) ``out_voltageN_scale`` millivolts at once.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path

from dyn_core.actuation import Converter

from .output_file import OutputError, OutputNotFoundError

IIO = Path("/sys/bus/iio/devices")
RAW = re.compile(r"out_voltage(\d+)_raw")


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


def iio_converter(folder: Path, channel: int, raw: tuple[int, int]) -> Converter:
    """The converter of a device's channel by its own figures; raw: its range, where the device does not say it."""
    stem = f"out_voltage{channel}"
    if not (folder / f"{stem}_raw").exists():
        there = sorted((m[1] for p in folder.iterdir() if (m := RAW.fullmatch(p.name))), key=int)
        each = ", ".join(there) or "none"
        raise OutputNotFoundError(f"{folder}: has no output channel {channel}; there are: {each}")
    scale = _figure(folder, (f"{stem}_scale", "out_voltage_scale"))
    if scale is None:
        raise OutputError(f"{folder}: says no {stem}_scale, so its volts are not known")
    if scale <= 0.0:
        raise OutputError(f"{folder}: {stem}_scale is {scale:g}, which is not greater than 0")
    offset = _figure(folder, (f"{stem}_offset", "out_voltage_offset")) or 0.0
    return Converter(scale * 1e-3, offset, *(_available(folder / f"{stem}_raw_available") or raw))


def _figure(folder: Path, names: Sequence[str]) -> float | None:
    """The number in the first of these attributes that exists."""
    for name in names:
        path = folder / name
        if path.exists():
            try:
                value = float(_text(path))
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
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
