"""Start robot and controller, move, print a table, end."""

import argparse
import json
import math
import sys
from typing import Any

from dyn_cli.options import json_option, priority_option, robot_argument
from dyn_cli.table import table
from dyn_nodes.bringup.systems import system
from dyn_nodes.computed_torque_controller.parameters import FORMULATIONS

NEEDS = "ros"
EXAMPLES = ("./dyn demo", "./dyn demo --robot planar_2r", "./dyn demo --json")


def options(parser: argparse.ArgumentParser) -> None:
    robot_argument(parser, "--robot", "puma560")
    parser.add_argument(
        "--formulation",
        choices=FORMULATIONS,
        default="projection",
        help="how the controller computes closed chains (default: projection)",
    )
    priority_option(parser)
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Run the demo; status 0 only if everything went well."""
    from dyn_cli.supervision.running import running_alone
    from dyn_nodes.common.robot import load_fixed_robot

    from .exercise import perform

    robot = load_fixed_robot(args.robot)
    given = {"robot": args.robot, "formulation": args.formulation, "realtime_priority": args.realtime_priority}
    planned = system("sim", given)
    _say(f"starting {', '.join(node.name for node in planned.nodes)}")
    with running_alone(planned, "demo") as (supervisor, client):
        report = perform(robot, client, _say)
        statuses = supervisor.stop()
    report["problems"] += [f"{name} ended with status {s}" for name, s in statuses.items() if s != 0]
    report["ok"] = not report["problems"]
    print(json.dumps(report) if args.json else "\n".join(report_lines(report)))
    for problem in report["problems"]:
        print(f"dyn demo: {problem}", file=sys.stderr)
    return 0 if report["ok"] else 1


def report_lines(report: dict[str, Any]) -> list[str]:
    """Tables of tracking, platform, loops and stiffness."""
    rows = [("joint", "rms error", "max error", "peak torque", "peak voltage", "DAC range")]
    for joint in report["joints"]:
        unit, effort = joint["unit"], "N" if joint["unit"] == "m" else "N m"
        rows.append((
            joint["name"], f"{joint['rms_error']:.2e} {unit:3}", f"{joint['max_error']:.2e} {unit:3}",
            f"{joint['peak_torque']:.2f} {effort:3}",
            *(("ideal drive", "no DAC") if joint["ideal_drive"] else
              (f"{joint['peak_voltage']:.2f} V", f"{100 * joint['dac_range_used']:.1f} %")),
        ))  # fmt: skip
    lines = [f"{report['robot']}: a motion of {report['duration']:g} s, {report['samples']} samples", ""]
    lines += table(rows, "<>")
    if (at := report.get("platform")) is not None:
        lines += [
            "",
            f"platform: up to {1e3 * at['travel']:.0f} mm and {math.degrees(at['turn']):.1f} degrees from its start;"
            f" position off by {1e3 * at['rms_distance']:.3f} mm rms, {1e3 * at['max_distance']:.3f} mm at most,"
            f" orientation by {math.degrees(at['rms_angle']):.4f} degrees rms, {math.degrees(at['max_angle']):.4f}"
            " at most",
        ]
    lines.append("")
    for name in ("controller", "simulation"):
        loop = report[name]
        lines.append(
            f"{name}: {loop['rate']:.0f} Hz held, {loop['missed_deadlines']} of"
            f" {loop['cycles'] + loop['missed_deadlines']} deadlines missed;"
            f" cycle p50 {loop['cycle_p50_ms']:.2f}, p99 {loop['cycle_p99_ms']:.2f}, max {loop['cycle_max_ms']:.2f} ms;"
            f" {100 * loop['within_2ms']:.2f} % within 2 ms"
        )
    stiffness = report["stiffness"]
    if not stiffness["success"]:
        return [*lines, "", f"stiffness at the end pose: {stiffness['message']}"]
    point = [round(x, 3) for x in stiffness["point"]]
    diagonal = [f"{row[i]:.4g}" for i, row in enumerate(stiffness["stiffness"])]
    lines += ["", f"stiffness at the end pose, tool at {point} m:"]
    along, about = " ".join(diagonal[:3]), " ".join(diagonal[3:])
    return [*lines, f"  along x y z {along} N/m, about x y z {about} N m/rad"]


def _say(text: str) -> None:
    print(f"dyn demo: {text}", file=sys.stderr, flush=True)
