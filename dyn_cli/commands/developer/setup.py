"""Make the environment.

Other commands do so by themselves.
"""

import argparse

from dyn_cli.setup import environment

NEEDS = "nothing"
EXAMPLES = ("./dyn setup", "./dyn setup test")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "tier",
        nargs="?",
        choices=list(environment.TIERS),
        default="ros",
        help="for which commands (default: ros)",
    )


def run(args: argparse.Namespace) -> int:
    """Say where the environment is; main has entered it."""
    if environment.in_checkout():
        print(f"ready: {environment.Environment.choose().venv}")
    else:
        print("nothing to set up: this is an installed package, and the environment is yours")
    return 0
