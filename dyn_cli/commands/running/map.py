"""The largest deflections over many poses, as CSV and picture."""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from dyn_cli.options import finite, json_option, namespace_option, numbers, offline_options, positive, whole
from dyn_cli.setup.progress import Progress

if TYPE_CHECKING:
    from dyn_core import Robot
    from dyn_core.stiffness_maps import Grid, Peak, StiffnessMap

NEEDS = "map"
OFFLINE = "reproduce"
EXAMPLES = (
    "./dyn map --joints joint2 joint3",
    "./dyn map --offline --robot agile_wrist --tilt-max 54 --output wrist.png",
)

ROBOT = "agile_wrist"
"""Which robot is mapped offline if none is named."""
MOST_POSES = 5_000_000
"""Of a map: they and their lines of CSV fit into the memory of a small machine."""
FINEST = 1e-3
"""Degrees between two orientations, at least."""
INTERRUPTED = 130
"""Exit status after Ctrl-C."""


def options(parser: argparse.ArgumentParser) -> None:
    parser.usage = "dyn map [OPTIONS]"
    parser.add_argument("--tilt-max", type=positive, default=45.0, metavar="DEG", help="largest tilt (default: 45)")
    parser.add_argument("--torsion", type=finite, default=0.0, metavar="DEG", help="of the platform (default: 0)")
    parser.add_argument("--resolution", type=positive, default=2.0, metavar="DEG", help="default: 2")
    parser.add_argument("--joints", nargs=2, metavar="NAME", help="over two joints instead of azimuth and tilt")
    parser.add_argument("--at", nargs="+", type=finite, default=[], metavar="X", help="the other joints; or x y z")
    parser.add_argument("--count", type=whole, default=60, metavar="N", help="positions per joint (default: 60)")
    numbers(parser, "--wrench", 6, "N, N m; all signs are tried (default: 0 0 0 10 10 10)", (0, 0, 0, 10, 10, 10))
    parser.add_argument(
        "--output", nargs="+", default=[], metavar="FILE", help=".csv, .png (default: both, by the robot's name)"
    )
    offline_options(parser)
    json_option(parser)
    namespace_option(parser)


def run(args: argparse.Namespace) -> int:
    """Compute or ask for the map, write its files and print its largest values; Ctrl-C keeps what is there."""
    from dyn_cli.figures.deflection_map import deflection_plot
    from dyn_cli.figures.figure import drawn
    from dyn_core.errors import InputError
    from dyn_core.files import write_whole

    for file in map(Path, args.output):
        if file.suffix not in (".csv", ".png"):
            raise InputError(f"{file}: found the ending {file.suffix!r}, allowed: .csv, .png")
        if not file.parent.is_dir():
            raise InputError(f"{file}: there is no folder {file.parent}")
    found = _computed(args) if args.offline else _asked(args)
    complete = found.done == found.size
    files = [Path(name) for name in args.output or (f"{found.robot}_map.csv", f"{found.robot}_map.png")]
    for file in files:
        write_whole(file, found.csv() if file.suffix == ".csv" else drawn(deflection_plot(found)))
    if not complete:
        kept = ", ".join(map(str, files))
        sentence = f"interrupted after {found.done} of {found.size} poses, which are kept in {kept}"
        print(f"dyn map: {sentence}", file=sys.stderr)
    print(json.dumps(_report(found, files)) if args.json else _summary(found, files))
    return 0 if complete else INTERRUPTED


def grid_of(args: argparse.Namespace, robot: Robot | None) -> Grid:
    """The grid that the options describe; robot: None where the server knows the joints' positions."""
    from dyn_core.errors import InputError
    from dyn_core.stiffness_maps import JointGrid, OrientationGrid

    if args.joints:
        positions = tuple(args.at) or (() if robot is None else tuple(robot.neutral()))
        grid: Grid = JointGrid(tuple(args.joints), (args.count, args.count), positions)
    elif args.resolution < FINEST:
        raise InputError(f"--resolution: found {args.resolution:g} degrees, at least {FINEST:g} is allowed")
    elif len(args.at) not in (0, 3):
        raise InputError(f"--at: found {len(args.at)} numbers, expected the three coordinates of the platform")
    else:
        tilt_max, torsion, step = map(math.radians, (args.tilt_max, args.torsion, args.resolution))
        azimuths, tilts = max(3, round(2.0 * math.pi / step)), 1 + max(1, round(tilt_max / step))
        grid = OrientationGrid(tilt_max, azimuths, tilts, torsion, tuple(args.at) or None)
    if grid.size > MOST_POSES:
        raise InputError(
            f"{grid.size:g} poses are too many, at most {MOST_POSES}: give a coarser --resolution or a smaller --count"
        )
    return grid


def _computed(args: argparse.Namespace) -> StiffnessMap:
    from dyn_core.stiffness_maps import empty_map, fill, sign_combinations
    from dyn_nodes.common.robot import load_fixed_robot

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
    from dyn_cli.client.stiffness_client import map_stiffness, server
    from dyn_core.stiffness_maps import Peak, sign_combinations
    from dyn_nodes.stiffness_server.map_messages import map_goal

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
    return f"up to {1e3 * shift.value:.3g} mm, {math.degrees(turn.value):.3g} degrees"


def _summary(table: StiffnessMap, files: list[Path]) -> str:
    across, along = table.columns, table.rows
    fixed = "".join(f", {name} {math.degrees(value):.4g} degrees" for name, value in table.fixed.items())
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
        scaled = 1e3 * peak.value if name == "shift" else math.degrees(peak.value)
        where = (
            f"{axis.name} {math.degrees(v):.4g} degrees" if axis.unit == "rad" else f"{axis.name} {v:.4g} m"
            for axis, v in ((across, peak.column), (along, peak.row))
        )
        lines.append(f"largest {name} {value.format(scaled)} at {', '.join(where)}")
    if table.beyond_linear:
        lines.append(
            f"note: at {table.beyond_linear} poses the error is above 20 degrees, beyond the linear theory: they are"
            " beside singular ones"
        )
    lines += [f"note: {note}" for note in table.notes]
    return "\n".join([*lines, *(f"written: {file}" for file in files)])


def _report(table: StiffnessMap, files: list[Path]) -> dict[str, Any]:
    from dyn_core.stiffness_maps import STATUS

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
        "beyond_linear": table.beyond_linear,
        "largest_translation": peak(table.largest_translation),
        "largest_rotation": peak(table.largest_rotation),
        "notes": table.notes,
        "files": [str(file) for file in files],
    }
