"""The variables of the arm shell: how each is shown and set, and its help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.files import LARGEST
from dyn_core.mechanism import PRISMATIC
from dyn_core.simulation import ADAPTIVE, FIXED_STEP, steps_per_period

from .state import SessionState

Notes = list[str]


@dataclass(frozen=True)
class Variable:
    """One variable. set(state, words) gives the new state and notes for the user; show(state) its values and unit."""

    name: str
    summary: str
    help: str
    show: Callable[[SessionState], tuple[str, str]]
    set: Callable[[SessionState, Sequence[str]], tuple[SessionState, Notes]]


def number(text: str) -> float:
    """A finite number, of at most LARGEST in size."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"'{text[:40]}' is not a number") from None
    if not abs(value) <= LARGEST:
        raise InputError(f"'{text[:40]}' is not a finite number of at most {LARGEST:g} in size")
    return value


def vector(state: SessionState, name: str, words: Sequence[str]) -> Floats:
    """One number per joint."""
    if len(words) != state.robot.n:
        n = state.robot.n
        raise InputError(f"{name} needs {n} number{'s' if n > 1 else ''}, one per joint, found {len(words)}")
    return np.array([number(word) for word in words])


def text(values: object) -> str:
    """Numbers as they are shown: six digits."""
    return " ".join(f"{x:.6g}" for x in np.atleast_1d(np.asarray(values, float)))


def motion_unit(state: SessionState, per: str = "") -> str:
    """The unit of positions (per second, ...) of this robot's joints."""
    kinds = state.robot.mechanism.joint_type[state.robot.joints]
    turning = "deg" if state.degrees else "rad"
    units = [turning] if (kinds != PRISMATIC).any() else []
    return ", ".join(f"{unit}{per}" for unit in [*units, *(["m"] if (kinds == PRISMATIC).any() else [])])


def force_unit(state: SessionState) -> str:
    """The unit of this robot's joint torques."""
    kinds = state.robot.mechanism.joint_type[state.robot.joints]
    return ", ".join(unit for unit, there in (("N m", kinds != PRISMATIC), ("N", kinds == PRISMATIC)) if there.any())


def _show_gravity(state: SessionState) -> tuple[str, str]:
    gravity = state.robot.mechanism.gravity
    along_z = not gravity[:2].any()
    if along_z:
        return text(gravity[2]), "m/s^2 along z of the base"
    return text(gravity), "m/s^2 in the base frame"


def _set_gravity(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    if len(words) not in (1, 3):
        raise InputError(f"gravity needs 1 number or 3 (x y z), found {len(words)}")
    values = np.array([number(word) for word in words])
    if len(values) == 1:
        values = np.where(np.arange(3) == state.gravity_axis, values[0], 0.0)
    return state.with_gravity(values), []


def _positive(name: str, words: Sequence[str]) -> float:
    if len(words) != 1:
        raise InputError(f"{name} needs 1 number, found {len(words)}")
    value = number(words[0])
    if value <= 0.0:
        raise InputError(f"{name} must be above 0 s, found {value:g}")
    return value


def _set_dac_period(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    period = _positive("DACTimePeriod", words)
    steps_per_period(period, state.time_step)
    return replace(state, dac_period=period), []


def _set_time_step(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    step = _positive("TimeStep", words)
    try:
        steps_per_period(state.dac_period, step)
    except InputError:
        return replace(state, time_step=step, dac_period=step), [f"DACTimePeriod is {step:g} s too now"]
    return replace(state, time_step=step), []


def _set_method(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    methods = (*FIXED_STEP, *ADAPTIVE)
    if len(words) != 1 or words[0] not in methods:
        raise InputError(f"method is one of {', '.join(methods)}, found '{' '.join(words)[:40]}'")
    return replace(state, method=words[0]), []


def _set_theta(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    return replace(state, theta=vector(state, "theta", words) * state.angle), []


def _set_omega(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    return state.with_speed(vector(state, "omega", words) * state.angle)


def _set_alpha(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    return replace(state, alpha=vector(state, "alpha", words) * state.angle), []


def _set_torque(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    return state.with_torque(vector(state, "torque", words))


def _set_voltage(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    return state.with_voltage(vector(state, "voltage", words))


def _show_dac_out(state: SessionState) -> tuple[str, str]:
    outputs, codes = state.dac_output()
    return text(outputs), f"V, codes {' '.join(str(code) for code in codes)}"


def _set_dac_out(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
    outputs = vector(state, "DACOut", words)
    volts, cut = state.robot.actuation.volts_of_outputs(outputs)
    changed, notes = state.with_voltage(volts)
    names = [state.robot.joint_names[j] for j in np.flatnonzero(cut)]
    return changed, ([f"{', '.join(names)}: cut by the range of the DAC"] if names else []) + notes


VARIABLES = {
    variable.name: variable
    for variable in (
        Variable(
            "gravity",
            "gravitational acceleration",
            "The acceleration of a falling body, in the base frame, m/s^2: -9.80621 pulls along -z of the base. "
            "Three numbers are x, y and z. One number is along the axis of the described gravity, z for most "
            "arms. Default: the robot's own.",
            _show_gravity,
            _set_gravity,
        ),
        Variable(
            "DACTimePeriod",
            "time between changes of the voltage",
            "The time, in s, for which the digital-to-analogue converters hold the voltage: a schedule is read "
            "once per period. A whole number of TimeStep. Default: 0.001.",
            lambda state: (text(state.dac_period), "s"),
            _set_dac_period,
        ),
        Variable(
            "TimeStep",
            "step of the integration",
            "The step, in s, in which `simulate` integrates the motion and records it. Default: 0.001.",
            lambda state: (text(state.time_step), "s"),
            _set_time_step,
        ),
        Variable(
            "method",
            "integrator",
            "How `simulate` integrates: rk3 (Swartz's third-order Runge-Kutta, the default), rk4, euler (first order, "
            "one evaluation per step; not for closed chains or joints that follow others), or one of "
            f"scipy's adaptive solvers, slower and more exact: {', '.join(ADAPTIVE)}.",
            lambda state: (state.method, ""),
            _set_method,
        ),
        Variable(
            "theta",
            "joint positions",
            "The position of each joint, from the base on: rad (deg after `units deg`), m at prismatic joints. Of "
            "closed chains the active joints.",
            lambda state: (text(state.theta / state.angle), motion_unit(state)),
            _set_theta,
        ),
        Variable(
            "omega",
            "joint speeds",
            "The speed of each joint, the first derivative of theta. Setting it keeps the voltage and recomputes "
            "the torque, which the motors' back EMF lessens.",
            lambda state: (text(state.omega / state.angle), motion_unit(state, "/s")),
            _set_omega,
        ),
        Variable(
            "alpha",
            "joint accelerations",
            "The acceleration of each joint: what `inverse_arm` asks for, what `forward_arm` finds.",
            lambda state: (text(state.alpha / state.angle), motion_unit(state, "/s^2")),
            _set_alpha,
        ),
        Variable(
            "torque",
            "torques at the joints",
            "The torque of each motor at its joint (force at prismatic joints). Setting it recomputes the voltage "
            "at the present omega: V = R tau / (G Kt) + G Kt omega.",
            lambda state: (text(state.torque), force_unit(state)),
            _set_torque,
        ),
        Variable(
            "voltage",
            "voltages at the motors",
            "The voltage at each motor, V. Setting it recomputes the torque at the present omega: tau = G Kt (V - "
            "G Kt omega) / R. `simulate` holds it where no schedule is given.",
            lambda state: (text(state.voltage), "V"),
            _set_voltage,
        ),
        Variable(
            "DACOut",
            "outputs of the digital-to-analogue converters",
            "The voltage at the output of each converter, before the amplifier, nearest to what the voltage "
            "needs; with the codes. Setting it takes the nearest code and recomputes voltage and torque.",
            _show_dac_out,
            _set_dac_out,
        ),
    )
}
