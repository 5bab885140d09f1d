"""Write straight-line Python of a robot's dynamics.

Its operations are counted.
"""

import argparse
import sys
from pathlib import Path

from dyn_cli.options import robot_argument

NEEDS = "generate"
EXAMPLES = ("./dyn generate puma560 --output puma560_inverse.py", "./dyn generate puma560 --model direct")


def options(parser: argparse.ArgumentParser) -> None:
    robot_argument(parser, "robot")
    parser.add_argument(
        "--model", choices=("inverse", "direct", "mass_matrix"), default="inverse", help="default: inverse"
    )
    parser.add_argument("--output", metavar="FILE", help="a file to write (default: the terminal, counts on stderr)")
    parser.add_argument(
        "--described",
        action="store_true",
        help="take the inertial parameters as described instead of grouping them to the fewest",
    )


def run(args: argparse.Namespace) -> int:
    """Write the source; print its operations beside those of the general algorithm."""
    from dyn_core import load_robot
    from dyn_core.files import write_whole
    from dyn_core.robots import customised_source, general_operations

    mechanism = load_robot(args.robot).mechanism
    source = customised_source(mechanism, args.model, grouped=not args.described)
    if args.output is None:
        sys.stdout.write(source.text)
    else:
        write_whole(Path(args.output), source.text)
    counts = sys.stderr if args.output is None else sys.stdout
    print(f"{mechanism.name}, {args.model} model", file=counts)
    print(f"  customised: {source.operations}", file=counts)
    print(f"  general:    {general_operations(mechanism, args.model)}", file=counts)
    return 0
