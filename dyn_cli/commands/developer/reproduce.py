"""Compute what papers and benchmarks print, and compare.

Status 1 if a result that should come out does not.
"""

import argparse
from importlib import import_module

from dyn_cli.options import json_option

NEEDS = "reproduce"
EXAMPLES = ("./dyn reproduce saha2001", "./dyn reproduce wang2001 --output figures --json")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paper", help="which paper: benchmarks, saha2001, wang2001, wu2014")
    parser.add_argument("--output", metavar="DIR", help="where the figures go (default: <paper>_figures)")
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Compute, draw, write, and print the table; status 1 if something that should come out does not."""
    return int(import_module("papers.__main__").main(args))
