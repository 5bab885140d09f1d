"""What simulations are given: volts or forces, in a table or by a function, times, and constants of springs."""

from __future__ import annotations

import inspect
from math import ceil
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.multipliers import positive_definite
from dyn_core.dynamics.loops.virtual_springs import RADIUS
from dyn_core.errors import InputError
from dyn_core.robots.robot import Robot

NO_MOTORS = np.zeros((0, 10))


def check_times(h: float, duration: float = 0.0) -> None:
    """InputError where the step or the duration (s) is none."""
    if not (np.isfinite(h) and h > 0.0):
        raise InputError(f"the step h must be a positive number of seconds, found {h}")
    if not (np.isfinite(duration) and duration >= 0.0):
        raise InputError(f"the duration must be a number of seconds not below zero, found {duration}")


def prepared(
    robot: Robot, volts: Any, forces: Any, h: float, duration: float, what: str = "torques"
) -> tuple[Any, Floats, int]:
    """The drive, the motors that it drives (see `motors_of`), and how many rows the motion has."""
    check_times(h, duration)
    if volts is not None and forces is not None:
        raise InputError(f"give either volts or {what}, not both")
    by_force = None if volts is None and forces is None else volts is None
    return forces if volts is None else volts, motors_of(robot, by_force), round(duration / h) + 1


def motors_of(robot: Robot, by_force: bool | None) -> Floats:
    """Motors as packed by Actuation, (0, 10) for joint forces: of a robot without motors, or where asked for."""
    described = robot.mechanism.motors is not None
    if not described and by_force is False:
        robot.actuation.require_motors()
    return NO_MOTORS if by_force or not described else robot.actuation.motors


def of_time(drive: Any) -> bool:
    """Whether a drive is a function f(t) of time alone, and not of the state too."""
    if not callable(drive):
        return False
    try:
        parameters = inspect.signature(drive).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [each for each in parameters if each.default is each.empty and each.kind is not each.VAR_KEYWORD]
    return len(needed) == 1 and needed[0].kind in (needed[0].POSITIONAL_ONLY, needed[0].POSITIONAL_OR_KEYWORD)


def half_step_table(drive: Any, n: int, start: float, step: float, steps: int) -> Floats:
    """(2 steps + 1, n) a drive f(t) at the start, middle and end of steps (s) that begin at `start`."""
    return drive_table([drive(start + 0.5 * step * i) for i in range(2 * steps + 1)], n)


def drive_table(drive: Any, n: int) -> Floats:
    """(k, n) rows of a drive: zero where none is given, one row where it is held."""
    table = np.zeros(n) if drive is None else np.asarray(drive, float)
    if table.ndim not in (1, 2) or table.shape[-1] != n or len(table) == 0 or not np.isfinite(table).all():
        raise InputError(f"the drive has shape {table.shape}, expected ({n},) or (k, {n}) finite numbers")
    return np.array(np.atleast_2d(table), order="C")


def steps_per_period(dac_period: float, h: float) -> int:
    """How many steps of h (s) a DAC period (s) is; InputError where it is not a whole number of them."""
    ratio = dac_period / h
    hold = round(ratio) if np.isfinite(ratio) else 0
    if hold < 1 or abs(hold * h - dac_period) > 1e-9 * dac_period:
        raise InputError(f"the DAC period {dac_period:g} s is not a whole number of steps of {h:g} s")
    return hold


def steps_within(h: float, substeps: int | None, rate: float = 0.0) -> int:
    """Steps of the integrator within h (s): as many as given, or as springs with this rate (1/s) need."""
    if substeps is not None and substeps < 1:
        raise InputError(f"substeps must be at least one, found {substeps}")
    return substeps or max(1, ceil(h * rate / RADIUS * (1.0 - 1e-6)))


def require_masses(robot: Robot, M: Floats) -> None:
    """InputError where a joint moves no mass once the loops are let go: springs would move it at any speed."""
    if not positive_definite(M):
        raise InputError(f"{robot.name} has links without mass, which only exact closure can simulate, not springs")


def per_row(name: str, value: Any, count: int, positive: bool = False) -> Floats:
    """(count,) of a spring's or damper's constant, one for all constraint rows or one each."""
    try:
        array = np.broadcast_to(np.asarray(value, float), (count,)).copy()
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number or one per constraint row ({count},), found {value!r:.80}") from None
    if not np.isfinite(array).all() or (array < 0.0).any() or (positive and not (array > 0.0).all()):
        allowed = "positive" if positive else "not negative"
        raise InputError(f"{name} must be finite and {allowed}, found {value!r:.80}")
    return array
