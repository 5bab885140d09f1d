"""Run a simulated robot with its controller until Ctrl-C."""

import argparse
import os
import sys

from dyn_cli.options import dac_option, namespace_option, positive, priority_option, robot_argument
from dyn_nodes.bringup.systems import System, system
from dyn_nodes.claims import robot_runs

NEEDS = "ros"
EXAMPLES = ("./dyn up", "./dyn up planar_2r --namespace left", "./dyn up my_robot.yaml --rate 500")

DISCOVERY = 4.0
"""Seconds in which a robot on another machine is heard, also if its first announcement is missed."""
ALREADY = "a robot is running here already; give this one a --namespace, or another ROS_DOMAIN_ID"


def options(parser: argparse.ArgumentParser) -> None:
    robot_argument(parser, "robot", "puma560")
    namespace_option(parser)
    parser.add_argument("--rate", type=positive, metavar="HZ", help="rate of the control loop (default: 1000)")
    dac_option(parser)
    priority_option(parser)


def run(args: argparse.Namespace) -> int:
    """Run the system until it is told to end (status 0) or a node dies (status 1)."""
    from dyn_cli.supervision.running import running

    given = {"robot": args.robot, "namespace": args.namespace, "realtime_priority": args.realtime_priority}
    given["dac"] = args.dac
    if args.rate is not None:
        given["rate"] = args.rate
    planned = system("sim", given)
    try:
        _refuse_a_second(planned)
        with running(planned) as (_, client):
            print(_welcome(planned), file=sys.stderr, flush=True)
            client.wait(lambda: False, float("inf"), 0.2)
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    except Exception as error:
        from dyn_cli.client.robot_client import NodeDied

        if not isinstance(error, NodeDied):
            raise
        print(f"dyn up: {error}", file=sys.stderr)
        return 1
    return 0


def _refuse_a_second(planned: System) -> None:
    """Two robots on the same topics would drive each other."""
    local = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").upper() in ("LOCALHOST", "OFF")
    if local and not robot_runs(planned.namespace):
        return
    from dyn_cli.client.robot_client import ClientError, RobotClient

    if robot_runs(planned.namespace):
        raise ClientError(ALREADY)
    with RobotClient(planned.namespace) as client:
        if client.running(DISCOVERY):
            raise ClientError(ALREADY)


def _welcome(planned: System) -> str:
    robot = planned.nodes[0].parameters["robot"]
    option = f" --namespace {planned.namespace}" if planned.namespace else ""
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    return (
        f"{robot} is up (ROS domain {domain}) and holds its position; Ctrl-C ends it. In another terminal:\n"
        f"  ./dyn state{option}    ./dyn move{option} POSITIONS    ./dyn stiffness{option}"
    )
