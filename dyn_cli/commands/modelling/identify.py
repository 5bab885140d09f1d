"""Fit a robot's parameters to the log of a motion.

A report is printed and a new robot YAML written.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from dyn_cli.options import json_option, positive
from dyn_cli.output_file import output_file
from dyn_cli.table import table

if TYPE_CHECKING:
    from dyn_core import Robot
    from dyn_core.identification import Identification

NEEDS = "core"
EXAMPLES = (
    "./dyn identify puma560 log.csv --output fitted.yaml",
    "./dyn identify arm.yaml log.csv --cutoff 5 --json",
)

YAML_SUFFIXES = (".yaml", ".yml")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot, or a YAML file: where the fit starts")
    parser.add_argument("log", metavar="CSV", help="columns t, q_<joint>, tau_<joint> or v_<joint>, ...")
    parser.add_argument("--output", metavar="YAML", help="the new robot (default: <robot>_identified.yaml)")
    parser.add_argument("--cutoff", type=positive, metavar="HZ", help="of the low-pass filter (default: chosen)")
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Fit a robot's parameters to a log, write the new description, print the report."""
    from dyn_core import load_robot
    from dyn_core.description import RobotText
    from dyn_core.files import write_whole
    from dyn_core.identification import identify, read_motion_log, with_parameters
    from dyn_core.robots import require_tree

    path = _robot_file(args.robot)
    robot = require_tree(load_robot(path), "base parameters")
    text = RobotText(path)
    output = output_file(args.output, f"{robot.name}_identified.yaml")
    log = read_motion_log(Path(args.log), text.mechanism)
    found = identify(robot, log, args.cutoff, text.fixed_parameters())
    log_name = "".join(c if c.isprintable() else "?" for c in Path(args.log).name)
    heading = [
        f"Identified from {log_name} ({found.count} samples, {len(found.beta)} base parameters),",
        f"starting from {path.name}. Masses and inertias that no motion shows are as near to that file's as can be.",
    ]
    write_whole(output, text.with_mechanism(with_parameters(text.mechanism, found.chi), heading))
    if args.json:
        report = {"robot": robot.name, "log": args.log, "output": str(output), "ignored_columns": list(log.ignored)}
        print(json.dumps(report | {"joints": list(robot.joint_names)} | found.as_dict(), indent=2))
    else:
        print(report_text(robot, found, log.ignored))
        print(f"written: {output}")
    return 0


def report_text(robot: Robot, found: Identification, ignored: tuple[str, ...]) -> str:
    """Tables of the base parameters and of the torque errors."""
    groups = found.base.expressions(digits=4)
    rows = [("parameter", "prior", "identified", "std", "std %", "physical", "", "stands for")]
    for k, name in enumerate(found.base.names):
        verdict = found.verdicts[k]
        rows.append((
            name, f"{found.prior[k]:.5g}", f"{found.beta[k]:.5g}", f"{found.std[k]:.2g}",
            f"{found.relative_std[k]:.2g}" if found.relative_std[k] < 1e4 else "-", f"{found.physical[k]:.5g}",
            "" if verdict == "ok" else verdict, "" if groups[k] == name else groups[k],
        ))  # fmt: skip
    lines = table(rows, "<>>>>><")
    errors: list[tuple[str, ...]] = [("joint", "torque rms", "error: prior", "base", "physical")]
    for j, name in enumerate(robot.joint_names):
        errors.append((name, *(f"{found.rms[key][j]:.4g}" for key in ("torque", "prior", "base", "physical"))))
    lines += ["", *table(errors, "<>"), ""]
    counts = {verdict: found.verdicts.count(verdict) for verdict in ("ok", "near 0", "poor", "not excited")}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    lines.append(f"{len(found.beta)} base parameters: {said}; condition number {found.condition:.3g}")
    cutoff = found.samples.cutoff
    how = "as recorded" if cutoff is None else f"after a low-pass filter of {cutoff:.3g} Hz"
    lines.append(f"{found.count} samples per joint, {how} (log at {found.samples.rate:.4g} Hz)")
    lines.append(f"no motion shows: {', '.join(found.base.no_effect) or '(all show)'}")
    lines += [f"note: {note}" for note in found.samples.notes]
    if ignored:
        lines.append(f"note: columns not used: {', '.join(ignored)}")
    return "\n".join(lines)


def _robot_file(robot: str) -> Path:
    """The YAML of a robot that is named or given by its file."""
    from dyn_core.description import robot_files
    from dyn_core.errors import InputError, UnknownRobotError

    path = robot_files().get(robot, Path(robot))
    if not path.is_file():
        raise UnknownRobotError(f"no robot '{robot}': it is neither a file nor one of {', '.join(robot_files())}")
    if path.suffix.lower() not in YAML_SUFFIXES:
        raise InputError(f"{path}: identify rewrites robot YAML; convert the robot first (dyn convert)")
    return path
