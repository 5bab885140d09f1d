"""Measure speed, side by side with other libraries."""

import argparse

from dyn_cli.options import json_option

NEEDS = "bench"
EXAMPLES = ("./dyn bench", "./dyn bench dynamics loops --save before.json", "./dyn bench --compare before.json")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks (default: all)")
    json_option(parser)
    parser.add_argument("--save", metavar="FILE", help="keep the figures as JSON")
    parser.add_argument("--compare", metavar="FILE", help="set the ratios beside those of an earlier --save")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md (needs a run of everything)")


def run(args: argparse.Namespace) -> int:
    """Measure; every comparison is a ratio to a peer measured in the same run."""
    from bench.run import measure

    return measure(args.names, args.json, args.save, args.compare, args.page)
