"""``dyn map``: the largest deflections over a grid of poses, of a running robot or, offline, of any robot."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from dyn_core import Robot
from dyn_core.errors import InputError
from dyn_core.files import write_whole
from dyn_core.plots import png
from dyn_core.stiffness.maps import (
    STATUS,
    Grid,
    JointGrid,
    OrientationGrid,
    Peak,
    StiffnessMap,
    empty_map,
    fill,
    sign_combinations,
)
from nodes.progress import Progress
from nodes.robots import load_fixed_robot

ROBOT = "agile_wrist"
"""Which robot is mapped offline if none is named."""
MOST_POSES = 5_000_000
"""Of a map: they and their lines of CSV fit into the memory of a small machine."""
FINEST = 1e-3
"""Degrees between two orientations, at least."""
INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def run(args: argparse.Namespace) -> int:
    """Compute or ask for the map, write its files and print its largest values; Ctrl-C keeps what is there."""
    for file in map(Path, args.output):
        if file.suffix not in (".csv", ".png"):
            raise InputError(f"{file}: found the ending {file.suffix!r}, allowed: .csv, .png")
        if not file.parent.is_dir():
            raise InputError(f"{file}: there is no folder {file.parent}")
    table = _computed(args) if args.offline else _asked(args)
    complete = table.done == table.size
    files = [Path(name) for name in args.output or (f"{table.robot}_map.csv", f"{table.robot}_map.png")]
    for file in files:
        write_whole(file, table.csv() if file.suffix == ".csv" else png(table.plot()))
    if not complete:
        kept = ", ".join(map(str, files))
        sentence = f"interrupted after {table.done} of {table.size} poses, which are kept in {kept}"
        print(f"dyn map: {sentence}", file=sys.stderr)
    print(json.dumps(_report(table, files)) if args.json else _summary(table, files))
    return 0 if complete else INTERRUPTED


def grid_of(args: argparse.Namespace, robot: Robot | None) -> Grid:
    """The grid that the options describe; robot: None where the server knows the joints' positions."""
    grid = _joint_grid(args, robot) if args.joints else _orientation_grid(args)
    if grid.size > MOST_POSES:
        raise InputError(
            f"{grid.size:g} poses are too many, at most {MOST_POSES}: give a coarser --resolution or a smaller --count"
        )
    return grid


def _joint_grid(args: argparse.Namespace, robot: Robot | None) -> JointGrid:
    positions = tuple(args.at) or (() if robot is None else tuple(robot.neutral()))
    return JointGrid(tuple(args.joints), (args.count, args.count), positions)


def _orientation_grid(args: argparse.Namespace) -> OrientationGrid:
    if args.resolution < FINEST:
        raise InputError(f"--resolution: found {args.resolution:g} degrees, at least {FINEST:g} is allowed")
    step = float(np.radians(args.resolution))
    tilt_max = float(np.radians(args.tilt_max))
    azimuths, tilts = max(3, round(2.0 * np.pi / step)), 1 + max(1, round(tilt_max / step))
    place = tuple(args.at) or None
    if place is not None and len(place) != 3:
        raise InputError(f"--at: found {len(place)} numbers, expected the three coordinates of the platform")
    return OrientationGrid(tilt_max, azimuths, tilts, float(np.radians(args.torsion)), place)


def _computed(args: argparse.Namespace) -> StiffnessMap:
    robot = load_fixed_robot(args.robot or ROBOT)
    grid = grid_of(args, robot)
    table = empty_map(robot, grid, sign_combinations(args.wrench), args.frame or "tool")
    progress, started = Progress(), time.monotonic()
    with _ctrl_c() as pressed:
        for done in fill(table, robot, grid):
            progress.bar("map", done, table.size, started, _so_far(table.largest_translation, table.largest_rotation))
            if pressed.is_set():
                break
    progress.bar("map", 1, 1, started)
    return table


@contextmanager
def _ctrl_c() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets in the block, in place of an exception anywhere; a second Ctrl-C is as ever."""
    pressed = threading.Event()

    def press(number: int, frame: FrameType | None) -> None:
        pressed.set()
        signal.signal(signal.SIGINT, previous)

    previous = signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous)


def _asked(args: argparse.Namespace) -> StiffnessMap:
    from nodes.stiffness_client import map_stiffness, server
    from nodes.stiffness_messages import map_goal

    progress, started = Progress(), time.monotonic()

    def show(feedback: Any) -> None:
        if feedback.at_translation:
            shift = Peak(feedback.largest_translation, *feedback.at_translation)
            turn = Peak(feedback.largest_rotation, *feedback.at_rotation)
            progress.bar("map", feedback.done, feedback.total, started, _so_far(shift, turn))

    goal = map_goal(grid_of(args, None), sign_combinations(args.wrench), args.frame or "")
    with server(args.namespace, args.robot) as client, _ctrl_c() as pressed:
        table = map_stiffness(client, goal, show, pressed.is_set)
    progress.bar("map", 1, 1, started)
    return table


def _so_far(shift: Peak | None, turn: Peak | None) -> str:
    if shift is None or turn is None:
        return ""
    return f"up to {1e3 * shift.value:.3g} mm, {np.degrees(turn.value):.3g} degrees"


def _summary(table: StiffnessMap, files: list[Path]) -> str:
    across, along = table.columns, table.rows
    fixed = "".join(f", {name} {np.degrees(value):.4g} degrees" for name, value in table.fixed.items())
    counts = ", ".join(f"{count} {word}" for word, count in table.counts.items() if count)
    lines = [
        f"{table.robot} at the frame {table.frame!r}{fixed}: {len(across.values)} x {len(along.values)} poses over"
        f" {across.name} and {along.name}, {len(table.wrenches)} wrenches ({counts})"
    ]
    for name, peak, value in (
        ("shift", table.largest_translation, "{:.4g} mm"),
        ("orientation error", table.largest_rotation, "{:.4g} degrees"),
    ):
        if peak is None:
            lines.append(f"largest {name}: none, as no pose has a value")
            continue
        scaled = 1e3 * peak.value if name == "shift" else np.degrees(peak.value)
        where = (
            f"{axis.name} {np.degrees(v):.4g} degrees" if axis.unit == "rad" else f"{axis.name} {v:.4g} m"
            for axis, v in ((across, peak.column), (along, peak.row))
        )
        lines.append(f"largest {name} {value.format(scaled)} at {', '.join(where)}")
    lines += [f"note: {note}" for note in table.notes]
    return "\n".join([*lines, *(f"written: {file}" for file in files)])


def _report(table: StiffnessMap, files: list[Path]) -> dict[str, Any]:
    def peak(found: Peak | None) -> dict[str, float] | None:
        if found is None:
            return None
        return {"value": found.value, table.columns.name: found.column, table.rows.name: found.row}

    axes = (table.columns, table.rows)
    return {
        "robot": table.robot,
        "frame": table.frame,
        **table.fixed,
        "axes": {axis.name: {"unit": axis.unit, "values": axis.values.tolist()} for axis in axes},
        "wrenches": table.wrenches.tolist(),
        "complete": table.done == table.size,
        "counts": {word.replace(" ", "_"): table.counts[word] for word in STATUS},
        "largest_translation": peak(table.largest_translation),
        "largest_rotation": peak(table.largest_rotation),
        "notes": table.notes,
        "files": [str(file) for file in files],
    }
