"""Columns of numbers over time, read from CSV with care: every mistake is named with file, line and column.

The first line names the columns. Empty lines and lines that begin with # are skipped.
"""

from __future__ import annotations

import csv
import io
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import InputError

from .atomic import open_file

MAX_VALUES = 50_000_000
MAX_LINE = 1_000_000
LARGEST = 1e50  # so that products of a few figures stay finite
TIME = ("t", -1)

Key = tuple[str, int]
"""A quantity and the number of its joint; TIME is ("t", -1)."""


@dataclass(frozen=True)
class TimeTable:
    """Columns of m samples, by quantity and joint."""

    source: str
    t: Floats
    """(m,) s, increasing."""
    columns: Mapping[Key, Floats]
    """(m,) each."""
    ignored: tuple[str, ...]
    """Columns that mean nothing here."""

    def quantity(self, name: str, n: int) -> Floats | None:
        """(m, n) the columns of a quantity, 0 for joints that have none; None if there is no such column."""
        if not any(quantity == name for quantity, _ in self.columns):
            return None
        out = np.zeros((len(self.t), n))
        for (quantity, j), column in self.columns.items():
            if quantity == name:
                out[:, j] = column
        return out

    def required(self, name: str, n: int) -> Floats:
        """`quantity` of columns that the header was found to have."""
        found = self.quantity(name, n)
        assert found is not None
        return found


def read_time_table(
    path: Path, places_of: Callable[[str, list[str]], dict[Key, int]], *, recorded: bool = False
) -> TimeTable:
    """Read a CSV file; places_of(place, header) says which column is what, and raises InputError for a bad header.

    recorded: as recorders write it: cells may be separated by semicolons, tabs or spaces, times may be repeated, and
    where no column is the time, t is the number of the sample.
    """
    try:
        with io.TextIOWrapper(open_file(path), encoding="utf-8-sig", newline="") as file:
            lines = _lines(path, file)
            rows = csv.reader(_commas(lines) if recorded else lines)
            return _read(path, _rows(path, rows), places_of, recorded)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text") from error


def joint_columns(
    place: str, header: Sequence[str], joints: Sequence[str], quantities: Mapping[str, str]
) -> dict[Key, int]:
    """Where `t` and each quantity of each joint stand: columns `<prefix>_<joint>`, or `<prefix><number>` from 1.

    quantities: the quantity that each prefix stands for.
    """
    meaning = {"t": TIME}
    for j, joint in enumerate(joints):
        for prefix, quantity in quantities.items():
            meaning[f"{prefix}_{joint}"] = meaning[f"{prefix}{j + 1}"] = (quantity, j)
    places: dict[Key, int] = {}
    for c, name in enumerate(header):
        if name in meaning:
            if meaning[name] in places:
                raise InputError(f"{place}: column {name}: given twice ({header[places[meaning[name]]]}, {name})")
            places[meaning[name]] = c
    return places


def _lines(path: Path, file: io.TextIOWrapper) -> Iterator[str]:
    """The lines, none of them without end."""
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if len(line) == MAX_LINE:
            raise InputError(f"{path}:{number}: the line has {MAX_LINE} characters or more, which is too many")
        yield line


def _commas(lines: Iterator[str]) -> Iterator[str]:
    """The lines with commas for the semicolons, tabs or spaces that separate the cells of the first."""
    separator = ""
    for line in lines:
        if not separator and line.strip() and not line.lstrip().startswith("#"):
            separator = next((mark for mark in ",;\t" if mark in line), " ")
        if separator == " ":
            yield ",".join(line.split()) + "\n"
        else:
            yield line if separator in ",#" else line.replace(separator, ",")


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


def _read(
    path: Path, rows: Iterator[tuple[int, list[str]]], places_of: Callable[[str, list[str]], dict[Key, int]],
    recorded: bool,
) -> TimeTable:  # fmt: skip
    header_line, header = next(rows, (1, []))
    if not header:
        raise InputError(f"{path}:1: found no header; the first line names the columns, e.g. t, q_<joint>, tau_<joint>")
    places = places_of(f"{path}:{header_line}", header)
    known = sorted(set(places.values()))
    clock = known.index(places[TIME]) if TIME in places else None
    table = array("d")  # a quarter of the memory of a list
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
            if not abs(value) <= LARGEST:  # nor not a number
                found, expected = cells[c][:40], f"a finite number of at most {LARGEST:g} in size"
                raise InputError(f"{path}:{line}: column {header[c]}: found {found!r}, expected {expected}")
            values.append(value)
        table.extend(values)
        time = math.nan if clock is None else values[clock]
        if time < previous or (time == previous and not recorded):
            raise InputError(f"{path}:{line}: column t: found {time:g} after {previous:g}, times must increase")
        previous = time
        if len(table) > MAX_VALUES:
            raise InputError(f"{path}:{line}: more than {MAX_VALUES} values")
    data = np.array(table).reshape(-1, len(known))
    columns = {key: data[:, known.index(c)] for key, c in places.items() if key != TIME}
    ignored = tuple(name for c, name in enumerate(header) if c not in known)
    t = np.arange(float(len(data))) if clock is None else data[:, clock]
    return TimeTable(str(path), t, columns, ignored)
