"""The commands of the arm shell, each with its help and with what can follow it on a line."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dyn_core import load_robot
from dyn_core.description import robot_files
from dyn_core.errors import DynError, InputError, printable
from dyn_core.simulation import INTERPOLATIONS, Schedule, read_schedule

from .file_commands import FILE_COMMANDS, one_file
from .session import Quit, Session, command
from .state import SessionState
from .variables import VARIABLES, number

WIDTH = 79


def _noted(lines: Sequence[str], notes: Sequence[str]) -> str:
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


@command("inverse_arm")
def inverse_arm(session: Session, words: Sequence[str]) -> str:
    """torque and voltage for theta, omega and alpha

    Runs the inverse arm model on theta, omega and alpha; the result is in torque and voltage.
    """
    s = session.state
    state, notes = s.with_torque(s.robot.inverse_dynamics(s.theta, s.omega, s.alpha))
    session.change(state)
    names = ("torque", "voltage") if s.has_motors else ("torque",)
    return _noted([session.shown(name) for name in names], notes)


@command("forward_arm")
def forward_arm(session: Session, words: Sequence[str]) -> str:
    """alpha for theta, omega and voltage

    Runs the forward arm model on theta, omega and voltage (torque, for a robot without motors); the result is in
    alpha. Nothing is integrated.
    """
    state, notes = session.state, list[str]()
    if state.has_motors:
        state, notes = state.with_voltage(state.volts)
    alpha = state.robot.forward_dynamics(state.theta, state.omega, state.torque)
    session.change(replace(state, alpha=alpha))
    return _noted([session.shown("alpha")], notes)


@command(
    "simulate [new|continue] [rest] [schedule FILE [hold|ramp]] [steps N]",
    ("new", "continue", "rest", "schedule", "hold", "ramp", "steps"),
    "file",
)
def simulate(session: Session, words: Sequence[str]) -> str:
    """the arm's motion under voltages

    Integrates the motion from theta and omega, in steps of TimeStep, and records it; then theta, omega, alpha, torque
    and voltage are those of the end. `continue` adds to the last simulation instead of starting a new one; `rest` first
    sets theta and omega to zero (closed chains: to the described configuration). The voltage is held (the torque, for a
    robot without motors), or follows a schedule (CSV: columns t and v_<joint>; YAML; see docs/arm_shell.md), held or
    ramped between its times. N is 1000, or up to the schedule's last time. Ctrl-C stops it and keeps what was computed.
    """
    fresh, from_rest, schedule, steps = _asked(session) if not words else _told(session, words)
    recording = session.simulate(fresh, from_rest, schedule, steps)
    r = recording.result
    text = f"simulated to t = {r.t[-1]:.6g} s; {len(recording)} rows are recorded"
    return "\n".join([text, *(f"note: {note}" for note in (r.failure, r.warning) if note)])


def _asked(session: Session) -> tuple[bool, bool, Schedule | None, int]:
    fresh = session.state.recording is None or session.ask_yes("Start a new simulation, not continue the last?", True)
    from_rest = fresh and session.ask_yes("Set theta and omega to zero first?", False)
    name = session.ask("Voltage schedule file, or none to hold the voltage", "none")
    schedule = None if name == "none" else read_schedule(session.path(name), session.state.robot, None)
    if schedule is not None:
        return fresh, from_rest, schedule, _scheduled(schedule, session.state)
    steps = _count(session.ask(f"Number of time steps of {session.state.time_step:g} s", "1000"))
    return fresh, from_rest, None, steps


def _told(session: Session, words: Sequence[str]) -> tuple[bool, bool, Schedule | None, int]:
    said: dict[str, str] = {}
    rest = iter(words)
    for word in rest:
        if word in ("schedule", "steps"):
            said[word] = next(rest, "")
            if not said[word]:
                raise InputError(f"{word} needs {'a file' if word == 'schedule' else 'a number'} after it")
        elif word in ("new", "continue", "rest", *INTERPOLATIONS):
            kind = "how" if word in INTERPOLATIONS else "rest" if word == "rest" else "begin"
            said[kind] = word
        else:
            raise InputError(f"simulate does not know '{word[:40]}'; {simulate.usage}")
    fresh, from_rest = said.get("begin") != "continue", "rest" in said
    steps = _count(said.get("steps", "1000"))
    if from_rest and not fresh:
        raise InputError("a simulation that continues cannot start from rest")
    if "schedule" not in said:
        if "how" in said:
            raise InputError(f"{said['how']} is said of a schedule; add `schedule FILE`")
        return fresh, from_rest, None, steps
    schedule = read_schedule(session.path(said["schedule"]), session.state.robot, said.get("how"))  # type: ignore[arg-type]
    return fresh, from_rest, schedule, steps if "steps" in said else _scheduled(schedule, session.state)


def _scheduled(schedule: Schedule, state: SessionState) -> int:
    """How many steps a schedule takes: to its last time."""
    steps = schedule.duration / state.time_step
    if not np.isfinite(steps):
        raise InputError(f"{schedule.source}: its {schedule.duration:g} s are too many steps of {state.time_step:g} s")
    return max(1, round(steps))


def _count(text: str) -> int:
    value = number(text)
    if value < 1 or value != int(value):
        raise InputError(f"a number of time steps is whole and above 0, found '{text[:40]}'")
    return int(value)


@command("database_read [ROBOT|FILE]", follows="robot")
def database_read(session: Session, words: Sequence[str]) -> str:
    """read another arm

    Reads an arm by its name (`robots` lists them) or from a robot YAML or URDF file. The variables start again at their
    defaults.
    """
    chosen = one_file("database_read", words) or session.ask("Robot, or file of one", session.state.source)
    named = chosen in robot_files()
    s = session.state
    fresh = SessionState.of(chosen if named else str(session.path(chosen)))
    session.change(replace(fresh, dac_period=s.dac_period, time_step=s.time_step, method=s.method, degrees=s.degrees))
    return fresh.described()


@command("robots")
def robots(session: Session, words: Sequence[str]) -> str:
    """list the arms that have names

    The arms that database_read knows.
    """
    lines = []
    for name in sorted(robot_files()):
        try:
            mechanism = load_robot(name).mechanism
        except DynError as error:
            lines.append(f"{printable(name):24} cannot be loaded: {str(error).splitlines()[0]}")
        else:
            floating = "  (floating base: not for this shell)" if mechanism.base is not None else ""
            lines.append(f"{printable(name):24} {mechanism.n:3} joints  {mechanism.description}{floating}")
    return "\n".join(lines)


@command("units [deg|rad]", ("deg", "rad"))
def units(session: Session, words: Sequence[str]) -> str:
    """degrees or radians

    Shows and reads theta, omega and alpha in degrees or radians. Files are always in radians.
    """
    if not words:
        return f"units {'deg' if session.state.degrees else 'rad'}"
    if len(words) != 1 or words[0] not in ("deg", "rad"):
        raise InputError(f"units are deg or rad, found '{' '.join(words)[:40]}'")
    session.change(replace(session.state, degrees=words[0] == "deg"))
    return ""


@command("show")
def show(session: Session, words: Sequence[str]) -> str:
    """all variables

    Shows the arm, the last simulation and all variables.
    """
    state = session.state
    names = [name for name in VARIABLES if state.has_motors or name not in ("voltage", "DACOut")]
    last = "nothing simulated yet"
    if state.recording is not None:
        last = f"simulated to t = {state.recording.result.t[-1]:.6g} s, {len(state.recording)} rows"
    return "\n".join([f"# {state.described()}; {last}", *(session.shown(name) for name in names)])


@command("undo")
def undo(session: Session, words: Sequence[str]) -> str:
    """take back the last change

    Takes back the last change of variables, arm, units or simulation; again, the one before. Files stay.
    """
    return "taken back" if session.undo() else "there is nothing to take back"


@command("help [NAME]", follows="name")
def help_command(session: Session, words: Sequence[str]) -> str:
    """more about a name

    Lists everything, or explains NAME.
    """
    if not words:
        width = max(map(len, (*COMMANDS, *VARIABLES)))
        lines = ["variables: `name` shows one, `name = v1 v2 ... vN` sets it"]
        lines += [f"  {variable.name:{width}}  {variable.summary}" for variable in VARIABLES.values()]
        lines.append("commands: `help NAME` explains one; what is not said on the line is asked for")
        return "\n".join([*lines, *(f"  {each.name:{width}}  {each.summary}" for each in COMMANDS.values())])
    name = words[0]
    if name in VARIABLES:
        variable = VARIABLES[name]
        return f"{name}: {variable.summary}\n{textwrap.fill(variable.help, WIDTH)}"
    if name in COMMANDS:
        return f"{COMMANDS[name].usage}\n{textwrap.fill(COMMANDS[name].help, WIDTH)}"
    raise InputError(f"there is no help on '{name[:40]}'; `help` lists everything")


@command("quit")
def leave(session: Session, words: Sequence[str]) -> str:
    """leave

    Leaves the shell; so does Ctrl-D.
    """
    raise Quit


COMMANDS = {
    each.name: each
    for each in (
        *(inverse_arm, forward_arm, simulate),
        *FILE_COMMANDS,
        *(database_read, robots, show, units, undo, help_command, leave),
    )
}
"""By their names, in the order of the help."""
