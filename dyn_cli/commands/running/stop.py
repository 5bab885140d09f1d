"""Brake and hold, or 0 V.

The running arm brakes along its path and is held; or its emergency stop is pressed.
"""

import argparse

from dyn_cli.options import namespace_option

NEEDS = "ros"
EXAMPLES = ("./dyn stop", "./dyn stop --emergency")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--emergency", action="store_true", help="press the emergency stop: brake, then 0 V")
    namespace_option(parser)


def run(args: argparse.Namespace) -> int:
    """Cancel the motion, or press the emergency stop."""
    from std_srvs.srv import SetBool, Trigger

    from dyn_cli.client.robot_client import CONTROLLER, connected

    with connected(args.namespace) as client:
        if args.emergency:
            said = client.call(SetBool, f"{CONTROLLER}/emergency_stop", SetBool.Request(data=True)).message
            print(f"emergency stop {said}; ./dyn clear lets the robot go on")
        else:
            print(client.call(Trigger, f"{CONTROLLER}/cancel", Trigger.Request()).message)
        return 0
