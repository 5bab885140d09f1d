"""Fit a robot's parameters to the log of a motion.

A report is printed and a new robot YAML written, unless the log identifies nothing.
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
    from dyn_core.identification import Identification, LogFormat, MotionLog

NEEDS = "core"
EXAMPLES = (
    "./dyn identify puma560 log.csv --output fitted.yaml",
    "./dyn identify arm.urdf log.mcap --format drives.yaml --json",
    "./dyn identify arm.yaml empty.csv --payload loaded.csv",
)

YAML_SUFFIXES = (".yaml", ".yml")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("robot", help="name of a robot, or its file: where the fit starts")
    parser.add_argument("log", help="CSV (t, q_<joint>, tau_<joint> or v_<joint>, ...), MCAP or ROS bag")
    parser.add_argument("--format", metavar="YAML", help="how the log was written: columns, units, drives")
    parser.add_argument("--payload", metavar="LOG", help="a second log, with a payload on the tool: identify it")
    parser.add_argument("--output", metavar="YAML", help="the new robot (default: <robot>_identified.yaml)")
    parser.add_argument("--cutoff", type=positive, metavar="HZ", help="of the low-pass filter (default: chosen)")
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Fit a robot's parameters to a log, write the new description, print the report."""
    from dyn_core import load_robot
    from dyn_core.description import RobotText, to_yaml
    from dyn_core.errors import IdentificationError
    from dyn_core.files import write_whole
    from dyn_core.identification import explanations, identify, identify_payload, read_log_format, with_parameters

    path = _robot_file(args.robot)
    robot = load_robot(path)
    text = RobotText(path) if path.suffix.lower() in YAML_SUFFIXES else None
    output = output_file(args.output, f"{robot.name}_identified.yaml")
    log_format = read_log_format(Path(args.format), robot.mechanism.n) if args.format else None
    log = _read_log(Path(args.log), robot, log_format)
    found = identify(robot, log, args.cutoff, None if text is None else text.fixed_parameters())
    suspected = explanations(robot, log, found) if found.doubtful else ()
    refused = bool(found.failures or suspected)
    payload = None
    if args.payload and not refused:
        payload = identify_payload(robot, log, _read_log(Path(args.payload), robot, log_format), found)
    if not refused:
        log_name = "".join(c if c.isprintable() else "?" for c in Path(args.log).name)
        heading = [
            f"Identified from {log_name} ({found.count} samples, {len(found.beta)} base parameters),",
            f"starting from {path.name}. Masses and inertias that no motion shows are as near to its own as can be.",
            *(f"Not in this file: {term.name} = {term.value:.5g}" for term in found.drive),
        ]
        fitted = with_parameters(robot.mechanism, found.chi)
        if text is not None:
            written = text.with_mechanism(fitted, heading)
        else:
            written = "".join(f"# {line}\n" for line in heading) + to_yaml(fitted, "origin")
        write_whole(output, written)
    if args.json:
        report = {"robot": robot.name, "log": args.log, "output": None if refused else str(output)}
        report |= {"ignored_columns": list(log.ignored), "joints": list(found.mechanism.joint_names)}
        report |= found.as_dict() | {"suspected": list(suspected)}
        print(json.dumps(report | ({} if payload is None else {"payload": payload.as_dict()}), indent=2))
    else:
        print(report_text(found, log.ignored))
        if payload is not None:
            com = ", ".join(f"{1000.0 * x:.4g}" for x in payload.com)
            mass = f"{payload.mass:.4g} kg (std {payload.std[-1]:.2g})"
            print(f"payload: {mass}, centre of mass at ({com}) mm from the tool, inertia about it, kg m^2:")
            print("\n".join("  ".join(f"{x:10.4g}" for x in row) for row in payload.inertia))
        print(f"written: {output}" if not refused else "nothing written")
    if refused:
        for sentence in () if args.json else suspected:
            print(f"may be wrong: {sentence}")
        hint = suspected[0] if suspected else (
            "no other units, signs, order of joints, zeros, couplings or torque factors help; is it this robot's log?"
        )  # fmt: skip
        left = found.failures[0] if found.failures else "another reading of it explains far more"
        raise IdentificationError(f"{args.log} identifies no {robot.name}: {left}; {hint}")
    return 0


def report_text(found: Identification, ignored: tuple[str, ...]) -> str:
    """Tables of the base parameters, of the drives' further terms and of the torque errors."""
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
    if found.drive:
        drive = [("drive", "identified", "std"), *((d.name, f"{d.value:.5g}", f"{d.std:.2g}") for d in found.drive)]
        lines += ["", *table(drive, "<>")]
    kinds = ("torque", "prior", "base", "held back", "physical", "alone")
    errors: list[tuple[str, ...]] = [("joint", "torque rms", "error: prior", *kinds[2:], "held back %")]
    for j, name in enumerate(found.mechanism.joint_names):
        share = 100.0 * found.unexplained["held back"][j]
        errors.append((name, *(f"{found.rms[key][j]:.4g}" for key in kinds), f"{share:.1f}"))
    lines += ["", *table(errors, "<>"), ""]
    counts = {verdict: found.verdicts.count(verdict) for verdict in ("ok", "near 0", "poor", "not excited")}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    lines.append(f"{len(found.beta)} base parameters: {said}; condition number {found.condition:.3g}")
    cutoff = found.samples.cutoff
    how = "as recorded" if cutoff is None else f"after a low-pass filter of {cutoff:.3g} Hz"
    lines.append(f"{found.count} samples per joint, {how} (at {found.samples.rate:.4g} Hz)")
    if found.delay:
        lines.append(f"forces were recorded {1000.0 * found.delay:.3g} ms after positions: compensated")
    lines.append(f"no motion shows: {', '.join(found.base.no_effect) or '(all show)'}")
    lines += [f"note: {note}" for note in found.notes]
    lines += [f"advice: {sentence}" for sentence in found.advice]
    if ignored:
        lines.append(f"note: columns not used: {', '.join(ignored)}")
    return "\n".join(lines)


def _read_log(path: Path, robot: Robot, log_format: LogFormat | None) -> MotionLog:
    """A log by its kind: a ROS bag is MCAP, a database or a folder; all else is CSV."""
    from dyn_cli.figures.bag import is_bag, read_bag
    from dyn_core.identification import read_motion_log

    return (read_bag if is_bag(path) else read_motion_log)(path, robot.mechanism, log_format)


def _robot_file(robot: str) -> Path:
    """The file of a robot that is named or given by its file."""
    from dyn_core.description import robot_files
    from dyn_core.errors import UnknownRobotError

    path = robot_files().get(robot, Path(robot))
    if not path.is_file():
        raise UnknownRobotError(f"no robot '{robot}': it is neither a file nor one of {', '.join(robot_files())}")
    return path
