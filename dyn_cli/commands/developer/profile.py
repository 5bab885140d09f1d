"""Show where the time of a benchmark goes.

Python functions by their own time; compiled kernels appear as the function that calls them.
"""

import argparse

from dyn_cli.options import whole

NEEDS = "bench"
EXAMPLES = ("./dyn profile dynamics", "./dyn profile simulation --save simulation.prof")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="which benchmark")
    parser.add_argument("--lines", type=whole, default=25, metavar="N", help="functions to show (default: 25)")
    parser.add_argument("--save", metavar="FILE", help="keep the whole profile, for pstats or snakeviz")


def run(args: argparse.Namespace) -> int:
    """Run the benchmark under Python's profiler."""
    from bench.run import profile

    return profile(args.name, args.lines, args.save)
