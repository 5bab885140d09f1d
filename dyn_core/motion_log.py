"""A recorded motion: joint positions and forces over time, read from and written to CSV.

The first line names the columns: `t` (s), and per joint `q_<joint>` (rad, m), `qd_<joint>`, `qdd_<joint>`, and
`tau_<joint>` (N m, N) or `v_<joint>` (V at the motor). `q1`, `qd1`, ... by the joint's number work too. Speeds and
accelerations may be missing. Empty lines and lines that begin with # are skipped.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .errors import InputError
from .mechanism import Floats, Mechanism

QUANTITIES = ("q", "qd", "qdd", "tau", "v")
MAX_VALUES = 50_000_000
FEWEST_SAMPLES = 20


@dataclass(frozen=True)
class MotionLog:
    """m samples of n joints; what was not recorded is None."""

    source: str
    t: Floats
    """(m,) s, increasing."""
    q: Floats
    """(m, n)."""
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    """(m, n) joint forces; None where the motors' voltages were recorded."""
    v: Floats | None = None
    """(m, n) V at the motors, 0 at joints without one."""
    ignored: tuple[str, ...] = ()
    """Columns that mean nothing here."""

    def __post_init__(self) -> None:
        shape = np.shape(self.q)
        if len(shape) != 2 or np.shape(self.t) != shape[:1]:
            raise InputError(f"{self.source}: t has shape {np.shape(self.t)} and q {shape}, expected (m,) and (m, n)")
        for name in ("qd", "qdd", "tau", "v"):
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise InputError(f"{self.source}: {name} has shape {np.shape(value)}, expected {shape}")
        for name in ("t", *QUANTITIES):
            value = getattr(self, name)
            if value is not None and not np.isfinite(value).all():
                raise InputError(f"{self.source}: {name} is not finite")
        if shape[0] < FEWEST_SAMPLES:
            raise InputError(f"{self.source}: {shape[0]} samples are too few, at least {FEWEST_SAMPLES} are needed")
        if not (np.diff(self.t) > 0.0).all():
            raise InputError(f"{self.source}: times must increase")
        if (self.tau is None) == (self.v is None):
            raise InputError(f"{self.source}: either tau or v is needed, and not both")


def read_motion_log(path: Path, mechanism: Mechanism) -> MotionLog:
    """Read a CSV log of a robot's motion; an InputError names file, line and column of what is wrong."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read(path, _rows(path, csv.reader(file)), mechanism)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text") from error


def _rows(path: Path, reader: Iterator[list[str]]) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells."""
    line = 0
    try:
        for cells in reader:
            line = reader.line_num  # type: ignore[attr-defined]
            if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
                yield line, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise InputError(f"{path}:{line + 1}: is not CSV: {error}") from error


def _read(path: Path, rows: Iterator[tuple[int, list[str]]], mechanism: Mechanism) -> MotionLog:
    header_line, header = next(rows, (1, []))
    if not header:
        raise InputError(f"{path}:1: found no header; the first line names the columns, e.g. t, q_<joint>, tau_<joint>")
    places = _columns(f"{path}:{header_line}", header, mechanism)
    known = sorted(set(places.values()))
    table: list[list[float]] = []
    previous = -math.inf
    for line, cells in rows:
        if len(cells) != len(header):
            raise InputError(f"{path}:{line}: found {len(cells)} cells, the header has {len(header)}")
        values = []
        for c in known:
            try:
                value = float(cells[c])
            except ValueError:
                value = math.nan
            if not math.isfinite(value):
                found = cells[c][:40]
                raise InputError(f"{path}:{line}: column {header[c]}: found {found!r}, expected a finite number")
            values.append(value)
        table.append(values)
        time = values[known.index(places["t", -1])]
        if time <= previous:
            raise InputError(f"{path}:{line}: column t: found {time:g} after {previous:g}, times must increase")
        previous = time
        if len(table) * len(known) > MAX_VALUES:
            raise InputError(f"{path}:{line}: more than {MAX_VALUES} values")
    data = np.array(table).reshape(len(table), len(known))
    arrays: dict[str, Floats] = {}
    for quantity in QUANTITIES:
        if any(name == quantity for name, _ in places):
            arrays[quantity] = np.zeros((len(data), mechanism.n))
    for (quantity, j), c in places.items():
        if quantity != "t":
            arrays[quantity][:, j] = data[:, known.index(c)]
    ignored = tuple(name for c, name in enumerate(header) if c not in known)
    return MotionLog(str(path), data[:, known.index(places["t", -1])], **arrays, ignored=ignored)


def _columns(place: str, header: list[str], mechanism: Mechanism) -> dict[tuple[str, int], int]:
    """Where each (quantity, joint) stands; t is ("t", -1)."""
    meaning = {"t": ("t", -1)}
    for j, joint in enumerate(mechanism.joint_names):
        for quantity in QUANTITIES:
            meaning[f"{quantity}_{joint}"] = meaning[f"{quantity}{j + 1}"] = (quantity, j)
    places: dict[tuple[str, int], int] = {}
    for c, name in enumerate(header):
        if name in meaning:
            if meaning[name] in places:
                raise InputError(f"{place}: column {name}: given twice ({header[places[meaning[name]]]}, {name})")
            places[meaning[name]] = c

    def missing(quantity: str, joints: list[int]) -> list[str]:
        return [f"{quantity}_{mechanism.joint_names[j]}" for j in joints if (quantity, j) not in places]

    every = list(range(mechanism.n))
    driven = [j for j in every if mechanism.active[j]]
    given = {quantity for quantity, _ in places}
    lacking = ([] if "t" in given else ["t"]) + missing("q", every)
    for quantity in ("qd", "qdd"):
        lacking += missing(quantity, every) if quantity in given else []
    if "tau" in given and "v" in given:
        raise InputError(f"{place}: found columns of tau and of v, expected one of them")
    lacking += missing("v" if "v" in given else "tau", driven)
    if lacking:
        raise InputError(f"{place}: found no column {', '.join(lacking[:6])}{', ...' if len(lacking) > 6 else ''}")
    return places


def motion_csv(mechanism: Mechanism, t: Floats, **quantities: Floats) -> str:
    """A motion as the text of a log: quantities q, qd, ... of shape (m, n) by name."""
    header = ["t", *(f"{name}_{joint}" for name in quantities for joint in mechanism.joint_names)]
    table = np.column_stack([t, *quantities.values()])
    return "\n".join([",".join(header), *(",".join(f"{x:.9g}" for x in row) for row in table.tolist())]) + "\n"
