"""``dyn dac calibrate``: a person measures what each converter puts out."""

import argparse
import math
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from dyn_core import Robot
from dyn_core.actuation import GAINS, Calibrated, Calibration, DacFile, read_calibration, write_calibration
from dyn_core.errors import InputError
from dyn_nodes.dac_bridge.guardian import Guardian
from dyn_nodes.dac_bridge.outputs import Outputs

SMALL = 0.5
"""Volts at a converter's output up to which a plain yes is enough."""
BAD_FIT = 0.02
"""Largest residual, in parts of the voltages' span, that is taken without asking."""
ATTEMPTS = 3
"""Answers that cannot be understood before giving up."""


def calibrate(dac: DacFile, robot: Robot, args: argparse.Namespace) -> int:
    """Walk a person through the channels; every finished one is kept at once."""
    target = Path(args.output) if args.output else dac.calibration
    if target is None:
        raise InputError(f"{dac.path}: names no calibration file; add `calibration: NAME.yaml`, or give --output")
    kept = {entry.joint: entry for entry in read_calibration(target)} if target.exists() else {}
    with _held(dac, robot, Path(args.iio_root)) as outputs:
        joints = args.joint or outputs.map.joints
        for joint in joints:
            if joint not in outputs.map.joints:
                raise InputError(f"no channel drives {joint}; there are: {', '.join(outputs.map.joints)}")
        _ask_consent(args.volts, joints)
        for joint in joints:
            entry = _measure(dac, outputs, joint, args.volts, args.points)
            if entry is None:
                print(f"{joint}: left as it was")
                continue
            kept[joint] = entry
            order = [j for j in outputs.map.joints if j in kept]
            write_calibration(target, robot.name, time.strftime("%Y-%m-%d"), tuple(kept[j] for j in order))
            print(f"{joint}: kept in {target}")
    print("safe codes written")
    return 0


@contextmanager
def _held(dac: DacFile, robot: Robot, root: Path) -> Iterator[Outputs]:
    """The outputs, locked and guarded: safe codes at the start, at the end, and if this process dies."""
    with closing(Outputs(dac, robot, root)) as outputs:
        guardian = Guardian(outputs, 1.0)
        try:
            problems = outputs.make_safe()
            if problems:
                raise problems[0]
            outputs.wake()
            yield outputs
        finally:
            left = outputs.make_safe()
            guardian.close()
        if left:
            raise left[0]


def _ask_consent(volts: float, joints: list[str]) -> None:
    print(
        f"Up to {volts:g} V will be put on each of these channels in turn: {', '.join(joints)}.\n"
        "The enable output stays off. Take the motors off the amplifiers, or their power away, and measure with a\n"
        "voltmeter at each converter's output. Ctrl-C ends with safe codes; so does the end of the input."
    )
    if volts <= SMALL:
        answer, wanted = _ask("Type yes to begin: "), "yes"
    else:
        answer = _ask(f"That is more than {SMALL:g} V. Type the voltage, {volts:g}, to agree: ")
        wanted = f"{volts:g}"
    if answer.lower() != wanted:
        raise InputError("nothing was calibrated: there was no consent")


def _measure(dac: DacFile, outputs: Outputs, joint: str, volts: float, points: int) -> Calibrated | None:
    """Measure one channel; None if the person skips it."""
    at = outputs.map.joints.index(joint)
    channel, zero = outputs.map.channels[at], float(outputs.map.zero[at])
    nominal, measured = [], []
    print(f"{joint}, {outputs.places[at]}: type the measured volts, or skip")
    for wanted in np.linspace(zero - volts, zero + volts, points):
        raw = min(max(channel.raw(float(wanted)), channel.lowest), channel.highest)
        values = outputs.map.rest()
        values[at] = raw
        outputs.write(values)
        reading = _ask_volts(f"  code {raw}, {channel.nominal(raw):.4f} V expected: ")
        if reading is None:
            outputs.make_safe()
            return None
        nominal.append(channel.nominal(raw))
        measured.append(reading)
    problems = outputs.make_safe()
    if problems:
        raise problems[0]
    found, residual = Calibration.fit(np.array(nominal), np.array(measured))
    print(f"  gain {found.gain:.6g}, offset {found.offset:.4g} V, largest residual {residual:.2g} V")
    if not GAINS[0] <= found.gain <= GAINS[1]:
        print("  that gain cannot be right: look at the wiring and the meter's range, and measure again")
        return None
    span = max(nominal) - min(nominal)
    if residual > BAD_FIT * span and _ask("  the points do not lie on a line; keep it? yes or no: ") != "yes":
        return None
    entry = next(entry for entry in dac.channels if entry.joint == joint)
    return Calibrated(joint, dac.device(entry.device).target, entry.channel, found, residual, points)


def _ask(question: str) -> str:
    print(question, end="", flush=True)
    line = sys.stdin.readline()
    if not sys.stdin.isatty():
        print(line.strip())
    if not line:
        raise InputError("the input has ended; what was finished is kept, and the safe codes are out")
    return line.strip()


def _ask_volts(question: str) -> float | None:
    for _ in range(ATTEMPTS):
        answer = _ask(question).removesuffix("V").strip()
        if answer == "skip":
            return None
        try:
            value = float(answer.replace(",", "."))
        except ValueError:
            value = math.nan
        if math.isfinite(value):
            return value
        print("  that is no number of volts")
    raise InputError(f"no number of volts in {ATTEMPTS} answers; the safe codes are out")
