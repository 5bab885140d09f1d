"""Test memory, rate and error for drift over a long time.

Status 1 if one of them drifts.
"""

import argparse
import json
import sys
from typing import Any

from dyn_cli.options import dac_option, json_option, positive, priority_option, robot_argument
from dyn_cli.table import table
from dyn_nodes.bringup.systems import system

NEEDS = "ros"
EXAMPLES = ("./dyn soak --minutes 60", "./dyn soak --minutes 5 --robot planar_2r --json")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=positive, default=60.0, metavar="N", help="how long (default: 60)")
    robot_argument(parser, "--robot", "puma560")
    dac_option(parser)
    priority_option(parser)
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Run the soak; status 1 if something drifts or fails, 130 if it was interrupted before anything did."""
    from dyn_cli.client.robot_client import ClientError
    from dyn_cli.supervision.running import running_alone
    from dyn_nodes.common.robot import load_fixed_robot

    from .soak_motions import Soak, soak_report

    robot = load_fixed_robot(args.robot)
    planned = system("sim", {"robot": args.robot, "dac": args.dac, "realtime_priority": args.realtime_priority})
    interrupted, problem = False, ""
    with running_alone(planned, "soak") as (supervisor, client):
        soak = Soak(robot, client, supervisor.pids, 60.0 * args.minutes)
        try:
            soak.run()
        except KeyboardInterrupt:
            interrupted = True
        except ClientError as error:
            problem = str(error)
    report = soak_report(robot, soak, problem)
    print(json.dumps(report) if args.json else "\n".join(report_lines(report)))
    for line in report["problems"]:
        print(f"dyn soak: {line}", file=sys.stderr)
    if report["problems"]:
        return 1
    return 130 if interrupted else 0


def report_lines(report: dict[str, Any]) -> list[str]:
    """A line per process and quantity."""
    rows = [("", "quantity", "first", "last", "growth", "95 % interval", "allowed", "")]
    for row in report["rows"]:
        rows.append((
            row["owner"], f"{row['quantity']} ({row['unit']})" if row["unit"] else row["quantity"],
            f"{row['first']:.4g}", f"{row['last']:.4g}", f"{row['growth']:+.3g}",
            f"{row['growth_low']:+.3g} to {row['growth_high']:+.3g}", f"{row['allowed']:.3g}",
            "DRIFTS" if row["drifts"] else "steady",
        ))  # fmt: skip
    return [
        f"{report['robot']}: {report['minutes']:.1f} min, {report['motions']} motions, {report['samples']} samples;"
        f" the first {report['warm_up_minutes']:.1f} min are left out",
        "",
        *table(rows, "<<>>>>><"),
    ]
