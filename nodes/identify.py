"""The commands `dyn identify` and `dyn excite`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dyn_core import Robot, load_robot
from dyn_core.description import robot_files
from dyn_core.description.refit import RobotText
from dyn_core.errors import InputError, UnknownRobotError
from dyn_core.excitation import excite
from dyn_core.files import write_whole
from dyn_core.identification import Identification, identify, with_parameters
from dyn_core.motion_log import motion_csv, read_motion_log

YAML_SUFFIXES = (".yaml", ".yml")
MOST_SAMPLES = 1_000_000


def run(args: argparse.Namespace) -> int:
    """Fit a robot's parameters to a log, write the new description, print the report."""
    path = _robot_file(args.robot)
    robot = load_robot(path)
    robot.base_parameters()  # refuses, before anything else, robots that have none
    text = RobotText(path)
    output = _output(args.output, f"{robot.name}_identified.yaml")
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
    lines = _table(rows)
    errors: list[tuple[str, ...]] = [("joint", "torque rms", "error: prior", "base", "physical")]
    for j, name in enumerate(robot.joint_names):
        errors.append((name, *(f"{found.rms[key][j]:.4g}" for key in ("torque", "prior", "base", "physical"))))
    lines += ["", *_table(errors), ""]
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


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Columns of numbers to the right, the first and the last two to the left."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    last = len(widths) - 2 if len(widths) > 5 else len(widths)
    return [
        "  ".join(
            cell.ljust(width) if k == 0 or k >= last else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def run_excite(args: argparse.Namespace) -> int:
    """Search an exciting trajectory and write it."""
    robot = load_robot(args.robot)
    output = _output(args.output, f"{robot.name}_excitation.csv")
    if not 2 <= args.duration * args.rate <= MOST_SAMPLES:
        raise InputError(f"{args.duration:g} s at {args.rate:g} Hz: 2 to {MOST_SAMPLES} samples can be written")
    found = excite(robot, args.duration, args.harmonics, args.evaluations, args.seed)
    t = np.arange(round(args.duration * args.rate) + 1) / args.rate
    q, qd, qdd = found.trajectory.sample(t)
    motion = {"q": q, "qd": qd, "qdd": qdd}
    if args.torques:
        motion["tau"] = robot.inverse_dynamics(q, qd, qdd)
    write_whole(output, motion_csv(robot.mechanism, t, **motion))
    if args.json:
        report = {
            "robot": robot.name, "output": str(output), "condition": found.condition, "start": q[0].tolist(),
            "duration": args.duration, "notes": list(found.notes),
        }  # fmt: skip
        print(json.dumps(report, indent=2))
        return 0
    print(f"start at  {'  '.join(f'{name} {x:.4g}' for name, x in zip(robot.joint_names, q[0], strict=True))}")
    print(f"condition number {found.condition:.4g} (first tried: {found.start_condition:.4g})")
    for note in found.notes:
        print(f"note: {note}")
    print("note: joint limits are respected; obstacles and the robot's own body are not known here")
    print(f"written: {output}")
    return 0


def _robot_file(robot: str) -> Path:
    """The YAML of a robot that is named or given by its file."""
    path = robot_files().get(robot, Path(robot))
    if not path.is_file():
        raise UnknownRobotError(f"no robot '{robot}': it is neither a file nor one of {', '.join(robot_files())}")
    if path.suffix.lower() not in YAML_SUFFIXES:
        raise InputError(f"{path}: identify rewrites robot YAML; convert the robot first (dyn convert)")
    return path


def _output(given: str | None, default: str) -> Path:
    """Where to write; a file that was not named is never overwritten."""
    output = Path(given or default)
    if given is None and output.exists():
        raise InputError(f"{output} exists; name it with --output to overwrite it")
    if output.is_dir() or not output.parent.is_dir():
        raise InputError(f"{output}: cannot be written ({'is a folder' if output.is_dir() else 'no such folder'})")
    return output
