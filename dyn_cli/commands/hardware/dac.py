"""Look at a real arm's converters, calibrate or drive them."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_cli.options import namespace_option, positive, whole
from dyn_cli.table import table

if TYPE_CHECKING:
    from dyn_core import Robot
    from dyn_core.actuation import DacFile

    Read = Callable[..., DacFile]

NEEDS = "ros"
EXAMPLES = ("./dyn dac check dac.yaml", "./dyn dac calibrate dac.yaml --joint elbow", "./dyn dac run dac.yaml")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("check", "calibrate", "safe", "run"),
        help="show, calibrate, write safe codes, or run the bridge",
    )
    parser.add_argument("file", metavar="FILE", help="the DAC file (docs/dac.md)")
    parser.add_argument("--robot", help="name or file (default: the DAC file's)")
    parser.add_argument("--joint", action="append", metavar="J", help="calibrate this one only")
    parser.add_argument("--volts", type=positive, default=0.5, metavar="V", help="calibrate up to (default: 0.5)")
    parser.add_argument("--points", type=_points, default=5, metavar="N", help="per channel (default: 5)")
    parser.add_argument("--output", metavar="YAML", help="calibration (default: the DAC file's)")
    parser.add_argument("--iio-root", default="/sys/bus/iio/devices", metavar="DIR", help=argparse.SUPPRESS)
    namespace_option(parser)


def _points(text: str) -> int:
    value = whole(text)
    if not 2 <= value <= 100:
        raise argparse.ArgumentTypeError(f"'{text.strip()}' is not a whole number from 2 to 100")
    return value


def run(args: argparse.Namespace) -> int:
    """Do what the action says."""
    from dyn_core.actuation import read_dac_file

    actions = {"check": _check, "safe": _safe, "calibrate": _calibrate, "run": _run}
    return actions[args.action](args, partial(read_dac_file, args.file))


def _robot(args: argparse.Namespace, dac: DacFile) -> Robot:
    from dyn_core.errors import InputError
    from dyn_nodes.common.robot import load_fixed_robot

    robot = load_fixed_robot(args.robot or dac.robot)
    if robot.name != dac.robot:
        raise InputError(f"{dac.path}: is for the robot {dac.robot}, not for {robot.name}")
    return robot


def _check(args: argparse.Namespace, read: Read) -> int:
    """Say what is where; nothing is written."""
    from dyn_nodes.dac_bridge.outputs import Outputs

    dac = read()
    with closing(Outputs(dac, _robot(args, dac), Path(args.iio_root), lock=False)) as outputs:
        joints = outputs.map.joints
        rows = [("joint", "output", "volts", "safe code", "slew", "calibration")]
        for joint, place, channel, safe in zip(
            joints, outputs.places, outputs.map.channels, outputs.map.safe, strict=True
        ):
            gain, offset = channel.calibration.gain, channel.calibration.offset
            rows.append((
                joint,
                place + (", inverted" if channel.inverted else ""),
                f"{channel.volts(channel.lowest):.4g} to {channel.volts(channel.highest):.4g}",
                str(safe),
                "free" if math.isinf(channel.slew) else f"{channel.slew:g} V/s",
                f"gain {gain:.5g}, offset {offset:.3g} V" if joint in dac.calibrations else "none",
            ))  # fmt: skip
    print("\n".join(table(rows)))
    print(f"enable output: {'yes' if dac.enable is not None else 'none'}")
    return 0


def _safe(args: argparse.Namespace, read: Read) -> int:
    """Write the safe codes wherever that is possible, whoever holds the outputs."""
    from dyn_core.errors import DynError
    from dyn_nodes.dac_bridge.outputs import write_safe

    try:
        dac = read()
    except DynError as error:
        dac = read(calibrated=False)
        print(f"dyn dac: without the calibration: {error}", file=sys.stderr)
    failed = False
    for place, problem in write_safe(dac, _robot(args, dac), Path(args.iio_root)):
        print(f"{place}: {'safe' if problem is None else 'NOT SAFE'}")
        if problem is not None:
            failed = True
            print(f"dyn dac: {problem}", file=sys.stderr)
    return 1 if failed else 0


def _run(args: argparse.Namespace, read: Read) -> int:
    """Be the bridge, until told to end."""
    from dyn_nodes.bringup.systems import NodeSpec, System
    from dyn_nodes.executables import main

    dac = read()
    robot = args.robot or dac.robot
    given = {"robot": robot, "dac": str(args.file), "iio_root": args.iio_root, "autostart": True}
    node = NodeSpec("dac_bridge", given, lifecycle=True)
    return main("dac_bridge", System("control", (node,), args.namespace).ros_arguments(node))


def _calibrate(args: argparse.Namespace, read: Read) -> int:
    """Measure the channels with a person's help."""
    from .dac_calibration import calibrate

    dac = read(calibrated=False)
    return calibrate(dac, _robot(args, dac), args)
