"""Voltage schedules: what the motors are given over time, read from CSV or YAML.

CSV: columns `t` (s) and `v_<joint>` (V at the motor) for every joint with a motor, or `tau_<joint>` (N m, N) to drive
the joints by torque; `v1`, `tau1`, ... by the joint's number work too. YAML:

    interpolation: ramp        # or hold, the default
    points:
      - {t: 0.0, voltage: [0, 0]}
      - {t: 1.0, voltage: [2, -1]}

A value holds from its time until the next one, or ramps linearly to it. Before the first time the motors see 0 V; the
last value stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.description.documents.yaml_document import Document
from dyn_core.errors import InputError, MissingMotorError
from dyn_core.files import Key, joint_columns, read_time_table
from dyn_core.robots.robot import Robot

Interpolation = Literal["hold", "ramp"]
Quantity = Literal["voltage", "torque"]
INTERPOLATIONS: tuple[Interpolation, ...] = ("hold", "ramp")
PREFIXES = {"v": "voltage", "voltage": "voltage", "tau": "torque"}
YAML_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Schedule:
    """m values of n joints over time."""

    source: str
    quantity: Quantity
    t: Floats
    """(m,) s, increasing, not below zero."""
    values: Floats
    """(m, n) V at the motors, or N m (N) at the joints."""
    interpolation: Interpolation = "hold"

    def __post_init__(self) -> None:
        if len(self.t) == 0:
            raise InputError(f"{self.source}: has no rows; at least one time with its values is needed")
        if self.t[0] < 0.0:
            raise InputError(f"{self.source}: begins at {self.t[0]:g} s; times start at 0 or later")

    @property
    def duration(self) -> float:
        """s, until the last time."""
        return float(self.t[-1])

    def sampled(self, period: float, count: int) -> Floats:
        """(count, n) the values at the starts of `count` DAC periods (s), the first at 0."""
        times = period * np.arange(count)
        nearly = times + 1e-6 * period  # 0.3 s is a little after three periods of 0.1 s
        if self.interpolation == "ramp":
            out = np.stack([np.interp(times, self.t, column) for column in self.values.T], axis=1)
        else:
            out = self.values[np.maximum(np.searchsorted(self.t, nearly, side="right") - 1, 0)]
        return np.where((nearly < self.t[0])[:, None], 0.0, out)


def read_schedule(path: Path, robot: Robot, interpolation: Interpolation | None = None) -> Schedule:
    """The schedule in a file, for a robot; interpolation: in place of the file's own ("hold" if it names none)."""
    if path.suffix.lower() in YAML_SUFFIXES:
        schedule = _from_yaml(path, robot, interpolation)
    else:
        schedule = _from_csv(path, robot, interpolation)
    if schedule.quantity == "voltage" and robot.mechanism.motors is None:
        raise MissingMotorError(
            f"{path}: gives voltages, but {robot.name} describes no motors; give torques (tau_<joint>) instead"
        )
    return schedule


def _from_csv(path: Path, robot: Robot, interpolation: Interpolation | None) -> Schedule:
    table = read_time_table(path, lambda place, header: _columns(place, header, robot))
    quantity: Quantity = "torque" if any(key[0] == "torque" for key in table.columns) else "voltage"
    return Schedule(str(path), quantity, table.t, table.required(quantity, robot.n), interpolation or "hold")


def _columns(place: str, header: list[str], robot: Robot) -> dict[Key, int]:
    places = joint_columns(place, header, robot.joint_names, PREFIXES)
    given = {quantity for quantity, _ in places} - {"t"}
    if len(given) > 1:
        raise InputError(f"{place}: found columns of v and of tau, expected one of them")
    prefix, quantity = ("tau", "torque") if given == {"torque"} else ("v", "voltage")
    driven = [j for j in range(robot.n) if quantity == "torque" or _has_motor(robot, j)]
    lacking = [] if ("t", -1) in places else ["t"]
    lacking += [f"{prefix}_{robot.joint_names[j]}" for j in driven if (quantity, j) not in places]
    if lacking:
        raise InputError(f"{place}: found no column {', '.join(lacking[:6])}{', ...' if len(lacking) > 6 else ''}")
    return places


def _has_motor(robot: Robot, j: int) -> bool:
    motors = robot.mechanism.motors
    return motors is not None and not np.isnan(motors.gear[robot.joints[j]])


def _from_yaml(path: Path, robot: Robot, interpolation: Interpolation | None) -> Schedule:
    document = Document(path)
    root = document.root(("interpolation", "points"))
    chosen = root.choice("interpolation", INTERPOLATIONS) if "interpolation" in root else "hold"
    points = list(root.sections("points", ("t", "voltage", "torque")))
    quantity: Quantity = "torque" if points and "torque" in points[0] else "voltage"
    unit = "V" if quantity == "voltage" else "N m or N"
    times: list[float] = []
    values: list[Floats] = []
    for point in points:
        time = point.number("t", unit="s", least=0.0)
        if times and time <= times[-1]:
            point.problem("t", f"found {time:g} after {times[-1]:g}", "times that increase")
        other = "voltage" if quantity == "torque" else "torque"
        point.refuse((other,), "found beside " + quantity, "one of them throughout")
        times.append(time)
        values.append(point.vector(quantity, robot.n, unit=unit))
    document.finish()
    how: Interpolation = "ramp" if (interpolation or chosen) == "ramp" else "hold"
    return Schedule(str(path), quantity, np.array(times), np.array(values).reshape(-1, robot.n), how)
