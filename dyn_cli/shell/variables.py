"""The variables of the arm shell: how each is shown and set, and its help."""

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
Setter = Callable[[SessionState, Sequence[str]], tuple[SessionState, Notes]]


@dataclass(frozen=True)
class Variable:
    """One variable. set(state, words) gives the new state and notes for the user; show(state) its values and unit."""

    name: str
    summary: str
    help: str
    show: Callable[[SessionState], tuple[str, str]]
    set: Setter


def number(text: str) -> float:
    """A finite number, of at most LARGEST in size."""
    try:
        value = float(text)
    except ValueError:
        raise InputError(f"'{text[:40]}' is not a number") from None
    if not abs(value) <= LARGEST:
        raise InputError(f"'{text[:40]}' is not a finite number of at most {LARGEST:g} in size")
    return value


def per_joint(name: str, change: Callable[[SessionState, Floats], tuple[SessionState, Notes]]) -> Setter:
    """Sets a variable of one number per joint: change(state, numbers) gives the new state and notes."""

    def set_numbers(state: SessionState, words: Sequence[str]) -> tuple[SessionState, Notes]:
        n = state.robot.n
        if len(words) != n:
            raise InputError(f"{name} needs {n} number{'s' if n > 1 else ''}, one per joint, found {len(words)}")
        return change(state, np.array([number(word) for word in words]))

    return set_numbers


def text(values: object) -> str:
    """Numbers as they are shown: six digits."""
    return " ".join(f"{x:.6g}" for x in np.atleast_1d(np.asarray(values, float)))


def motion_unit(state: SessionState, per: str = "") -> str:
    """The unit of positions (per second, ...) of this robot's joints."""
    return _units(state, f"{'deg' if state.degrees else 'rad'}{per}", f"m{per}")


def force_unit(state: SessionState) -> str:
    """The unit of this robot's joint torques."""
    return _units(state, "N m", "N")


def _units(state: SessionState, turning: str, sliding: str) -> str:
    slides = state.robot.mechanism.joint_type[state.robot.joints] == PRISMATIC
    return ", ".join([turning] * bool((~slides).any()) + [sliding] * bool(slides.any()))


def _show_gravity(state: SessionState) -> tuple[str, str]:
    gravity = state.robot.mechanism.gravity
    if not gravity[:2].any():
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


def _show_dac_out(state: SessionState) -> tuple[str, str]:
    outputs, codes = state.robot.actuation.dac_outputs(state.voltage)
    return text(outputs), f"V, codes {' '.join(str(code) for code in codes)}"


def _set_dac_out(state: SessionState, outputs: Floats) -> tuple[SessionState, Notes]:
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
            per_joint("theta", lambda state, x: (replace(state, theta=x * state.angle), [])),
        ),
        Variable(
            "omega",
            "joint speeds",
            "The speed of each joint, the first derivative of theta. Setting it keeps the voltage and recomputes "
            "the torque, which the motors' back EMF lessens.",
            lambda state: (text(state.omega / state.angle), motion_unit(state, "/s")),
            per_joint("omega", lambda state, x: state.with_speed(x * state.angle)),
        ),
        Variable(
            "alpha",
            "joint accelerations",
            "The acceleration of each joint: what `inverse_arm` asks for, what `forward_arm` finds.",
            lambda state: (text(state.alpha / state.angle), motion_unit(state, "/s^2")),
            per_joint("alpha", lambda state, x: (replace(state, alpha=x * state.angle), [])),
        ),
        Variable(
            "torque",
            "torques at the joints",
            "The torque of each motor at its joint (force at prismatic joints). Setting it recomputes the voltage "
            "at the present omega: V = R tau / (G Kt) + G Kt omega.",
            lambda state: (text(state.torque), force_unit(state)),
            per_joint("torque", SessionState.with_torque),
        ),
        Variable(
            "voltage",
            "voltages at the motors",
            "The voltage at each motor, V. Setting it recomputes the torque at the present omega: tau = G Kt (V - "
            "G Kt omega) / R. `simulate` holds it where no schedule is given.",
            lambda state: (text(state.voltage), "V"),
            per_joint("voltage", SessionState.with_voltage),
        ),
        Variable(
            "DACOut",
            "outputs of the digital-to-analogue converters",
            "The voltage at the output of each converter, before the amplifier, nearest to what the voltage "
            "needs; with the codes. Setting it takes the nearest code and recomputes voltage and torque.",
            _show_dac_out,
            per_joint("DACOut", _set_dac_out),
        ),
    )
}
