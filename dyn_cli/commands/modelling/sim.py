"""Open the arm shell.

`help` in it lists its variables and commands. A script can be piped in.
"""

import argparse

from dyn_cli.options import robot_argument

NEEDS = "sim"
EXAMPLES = ("./dyn sim", "./dyn sim puma560", "./dyn sim planar_2r < script")


def options(parser: argparse.ArgumentParser) -> None:
    robot_argument(parser, "robot", "cmu_dd_arm")


def run(args: argparse.Namespace) -> int:
    """Open the shell at the terminal, or over a script on standard input."""
    from dyn_cli.shell.terminal import open_shell

    return open_shell(args.robot)
