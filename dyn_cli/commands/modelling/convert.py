"""Write a robot's description in another notation.

It is read back and must be the same robot.
"""

import argparse
import sys
from pathlib import Path

NEEDS = "core"
EXAMPLES = (
    "./dyn convert puma560 puma560.urdf",
    "./dyn convert five_bar_saha five_bar.xml --to mjcf",
    "./dyn convert robot.urdf robot.yaml --add-motors",
)


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="IN", help="a robot's name, or its YAML, URDF, MJCF or SDF file")
    parser.add_argument("target", metavar="OUT", help="the file to write")
    parser.add_argument(
        "--to",
        choices=("dh", "mdh", "origin", "urdf", "mjcf"),
        help="Denavit-Hartenberg (standard, modified), origin and axis, URDF (URDF+ for closed chains), MJCF"
        " (default: by OUT's ending, else mdh)",
    )
    parser.add_argument("--floating", action="store_true", help="the base of the URDF file IN moves freely")
    parser.add_argument(
        "--add-motors", action="store_true", help="add motors with assumed figures, to edit"
    )
    parser.add_argument("--force", action="store_true", help="write over OUT if it exists")


def run(args: argparse.Namespace) -> int:
    """Write the file and say what it is; status 0."""
    from dyn_core.robots import convert

    target = Path(args.target)
    notation = args.to or {".urdf": "urdf", ".xml": "mjcf", ".mjcf": "mjcf"}.get(target.suffix, "mdh")
    done = convert(args.source, target, notation, args.floating, args.force, args.add_motors)
    for note in done.notes:
        print(f"dyn convert: {note}", file=sys.stderr)
    print(f"{target}: {args.source} by {notation}, read back and found to be the same robot")
    return 0
