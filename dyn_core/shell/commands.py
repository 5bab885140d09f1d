"""The commands of the arm shell, each with its help and with what can follow it on a line."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from ..animation import write_animation
from ..curves import FORMATS, Panel, terminal_plot, write_figures
from ..description import robot_files
from ..errors import DynError, InputError, printable
from ..mechanism import Floats
from ..recording import WRITERS, Recording, read_csv, write_recording
from ..robot import load_robot
from ..schedule import INTERPOLATIONS, Interpolation, Schedule, read_schedule
from .session import Quit, Session
from .state import State
from .variables import VARIABLES, force_unit, motion_unit, number

Follows = Literal["nothing", "name", "robot", "file", "quantity"]

WIDTH = 79
MOST_ROWS_SHOWN = 20
QUANTITIES = ("theta", "omega", "alpha", "torque", "voltage")
PLOTTED = ("theta", "omega", "voltage")


@dataclass(frozen=True)
class Command:
    """One command. run(session, words) does it and returns what to print."""

    name: str
    usage: str
    summary: str
    help: str
    run: Callable[[Session, Sequence[str]], str]
    words: tuple[str, ...] = ()
    """Words that may follow."""
    follows: Follows = "nothing"
    """What else may follow."""


def _no_words(name: str, words: Sequence[str]) -> None:
    if words:
        raise InputError(f"{name} takes nothing after it, found '{words[0][:40]}'")


def _without_over(words: Sequence[str]) -> tuple[list[str], bool]:
    return [word for word in words if word != "over"], "over" in words


def _one_file(name: str, words: Sequence[str]) -> str | None:
    if len(words) > 1:
        raise InputError(f"{name} takes one file, found '{words[1][:40]}' after it (put names with spaces in quotes)")
    return words[0] if words else None


def _noted(lines: Sequence[str], notes: Sequence[str]) -> str:
    return "\n".join([*lines, *(f"note: {note}" for note in notes)])


# the two models


def inverse_arm(session: Session, words: Sequence[str]) -> str:
    _no_words("inverse_arm", words)
    s = session.state
    state, notes = s.with_torque(s.robot.inverse_dynamics(s.theta, s.omega, s.alpha))
    session.change(state)
    names = ("torque", "voltage") if s.has_motors else ("torque",)
    return _noted([session.shown(name) for name in names], notes)


def forward_arm(session: Session, words: Sequence[str]) -> str:
    _no_words("forward_arm", words)
    state, notes = session.state, list[str]()
    if state.has_motors:
        state, notes = state.with_voltage(state.volts)
    alpha = state.robot.forward_dynamics(state.theta, state.omega, state.torque)
    session.change(replace(state, alpha=alpha))
    return _noted([session.shown("alpha")], notes)


# simulation


def simulate(session: Session, words: Sequence[str]) -> str:
    fresh, from_rest, schedule, steps = _asked(session) if not words else _told(session, words)
    recording = session.simulate(fresh, from_rest, schedule, steps)
    r = recording.result
    text = f"simulated to t = {r.t[-1]:.6g} s; {len(recording)} rows are recorded"
    return text if not r.failure else f"{text}\nnote: {r.failure}"


def _asked(session: Session) -> tuple[bool, bool, Schedule | None, int]:
    fresh = session.state.recording is None or session.ask_yes("Start a new simulation, not continue the last?", True)
    from_rest = fresh and session.ask_yes("Set theta and omega to zero first?", False)
    name = session.ask("Voltage schedule file, or none to hold the voltage", "none")
    schedule = None if name == "none" else _schedule(session, name, None)
    if schedule is not None:
        return fresh, from_rest, schedule, _scheduled(schedule, session.state)
    steps = _count(session.ask(f"Number of time steps of {session.state.time_step:g} s", "1000"))
    return fresh, from_rest, None, steps


def _told(session: Session, words: Sequence[str]) -> tuple[bool, bool, Schedule | None, int]:
    fresh, from_rest, steps = True, False, 1000
    name: str | None = None
    how: Interpolation | None = None
    given = False
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word in ("new", "continue"):
            fresh = word == "new"
        elif word == "rest":
            from_rest = True
        elif word in INTERPOLATIONS:
            how = "ramp" if word == "ramp" else "hold"
        elif word in ("schedule", "steps"):
            if not rest:
                raise InputError(f"{word} needs {'a file' if word == 'schedule' else 'a number'} after it")
            if word == "schedule":
                name = rest.pop(0)
            else:
                steps, given = _count(rest.pop(0)), True
        else:
            raise InputError(f"simulate does not know '{word[:40]}'; {COMMANDS['simulate'].usage}")
    if from_rest and not fresh:
        raise InputError("a simulation that continues cannot start from rest")
    if name is None:
        if how is not None:
            raise InputError(f"{how} is said of a schedule; add `schedule FILE`")
        return fresh, from_rest, None, steps
    schedule = _schedule(session, name, how)
    return fresh, from_rest, schedule, steps if given else _scheduled(schedule, session.state)


def _schedule(session: Session, name: str, how: Interpolation | None) -> Schedule:
    return read_schedule(session.path(name), session.state.robot, how)


def _scheduled(schedule: Schedule, state: State) -> int:
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


def print_simulation(session: Session, words: Sequence[str]) -> str:
    recording = session.recording()
    last = len(recording) - 1
    names = [word for word in words if word in QUANTITIES] or list(quantities(session.state, recording))
    places = [word for word in words if word not in QUANTITIES]
    if len(places) > 3:
        raise InputError("print_simulation takes start, finish and step, and names of quantities")
    defaults = ["0", str(last), str(max(1, -(-last // MOST_ROWS_SHOWN)))]
    texts = places + defaults[len(places) :]
    if not words:
        questions = ("Start", f"Finish (of {last})", "Step")
        texts = [session.ask(question, default) for question, default in zip(questions, defaults, strict=True)]
    start, finish, step = (_row(text, recording) for text in texts)
    if not (0 <= start <= finish <= last) or step < 1:
        raise InputError(f"start, finish and step must lie in 0 <= start <= finish <= {last} and step >= 1")
    return session.printed(table(session.state, recording, range(start, finish + 1, step), names))


def _row(text: str, recording: Recording) -> int:
    """A row by its number, or by its time with an s behind it."""
    if text.endswith("s"):
        t = number(text[:-1])
        return int(np.argmin(np.abs(recording.result.t - t))) if t > 0.0 else 0
    value = number(text)
    if value != int(value):
        raise InputError(f"'{text[:40]}' is not a whole number of steps; a time has an s behind it, as 0.5s")
    return int(value)


def quantities(state: State, recording: Recording) -> dict[str, tuple[Floats, str]]:
    """What a recording has, by the variables' names, in the units that are shown: (m, n) and the unit."""
    r = recording.result
    found = {
        "theta": (r.q / state.angle, motion_unit(state)),
        "omega": (r.qd / state.angle, motion_unit(state, "/s")),
        "alpha": (r.qdd / state.angle, motion_unit(state, "/s^2")),
        "torque": (r.tau, force_unit(state)),
    }
    return found if recording.torque_driven else found | {"voltage": (r.drive, "V")}


def table(state: State, recording: Recording, rows: range, names: Sequence[str]) -> str:
    """Rows of a recording: a table per quantity, with a column per joint."""
    joints = recording.robot.joint_names
    widths = [max(10, len(joint)) for joint in joints]
    lines: list[str] = []
    for panel in panels(state, recording, names):
        lines.append(f"# {recording.robot.name}: {panel.title}")
        lines.append(f"{'t':>9}  " + "  ".join(f"{joint:>{w}}" for joint, w in zip(joints, widths, strict=True)))
        for k in rows:
            cells = "  ".join(f"{x:{w}.5g}" for x, w in zip(panel.values[k], widths, strict=True))
            lines.append(f"{panel.t[k]:9.4f}  {cells}")
    return "\n".join(lines)


def panels(state: State, recording: Recording, names: Sequence[str]) -> list[Panel]:
    """The curves of some quantities."""
    found = quantities(state, recording)
    unknown = [name for name in names if name not in found]
    if unknown:
        raise InputError(f"the simulation has no '{unknown[0][:40]}'; there are {', '.join(found)}")
    joints = recording.robot.joint_names
    return [Panel(f"{name}, {found[name][1]}", joints, recording.result.t, found[name][0]) for name in names]


def plot_simulation(session: Session, words: Sequence[str]) -> str:
    recording = session.recording()
    rest, over = _without_over(words)
    default = " ".join(name for name in PLOTTED if name in quantities(session.state, recording))
    stem = f"{recording.robot.name}_simulation"
    if not words:
        names = session.ask(f"Which of {' '.join(QUANTITIES)}", default).split()
        stem = session.ask(f"File, to which {' and '.join('.' + kind for kind in FORMATS)} are added", stem)
    else:
        names = [word for word in rest if word in QUANTITIES] or default.split()
        stem = _one_file("plot_simulation", [word for word in rest if word not in QUANTITIES]) or stem
    drawn = panels(session.state, recording, names)
    path = session.path(stem)
    if not path.name:
        raise InputError(f"{path}: is a folder; name a file without its ending")
    path = path.with_suffix("") if path.suffix.lstrip(".") in FORMATS else path
    for kind in FORMATS:
        session.target(str(path.with_name(f"{path.name}.{kind}")), over)
    files = write_figures(drawn, recording.robot.name, path)
    text = f"written: {', '.join(str(file) for file in files)}"
    return f"{text} ({shown})" if (shown := session.show(files[0])) else "\n".join([*map(terminal_plot, drawn), text])


def write_results(session: Session, words: Sequence[str]) -> str:
    return _written(session, "write_results", words, f"File ({' or '.join(WRITERS)})", ".csv", write_recording)


def write_graphic_file(session: Session, words: Sequence[str]) -> str:
    return _written(session, "write_graphic_file", words, "File (.html)", ".html", write_animation)


def _written(
    session: Session,
    name: str,
    words: Sequence[str],
    question: str,
    suffix: str,
    write: Callable[[Recording, Path], object],
) -> str:
    recording = session.recording()
    rest, over = _without_over(words)
    default = f"{recording.robot.name}_simulation{suffix}"
    chosen = _one_file(name, rest) or (default if words else session.ask(question, default))
    path = session.target(chosen, over)
    write(recording, path)
    return f"written: {path}"


def read_results(session: Session, words: Sequence[str]) -> str:
    chosen = _one_file("read_results", words) or session.ask("File (.csv)", "")
    if not chosen:
        raise InputError("read_results needs a file: read_results FILE")
    recording = read_csv(session.path(chosen), session.state.robot)
    session.change(replace(session.state, recording=recording))
    return f"read {len(recording)} rows to t = {recording.result.t[-1]:.6g} s"


def open_output_file(session: Session, words: Sequence[str]) -> str:
    rest, over = _without_over(words)
    chosen = _one_file("open_output_file", rest) or session.ask("File", "simulation.txt")
    path = session.target(chosen, over)
    session.open_output(path)
    return f"print_simulation writes to {path}"


def close_output_file(session: Session, words: Sequence[str]) -> str:
    _no_words("close_output_file", words)
    return f"closed: {session.close_output()}"


# the arm and the session


def database_read(session: Session, words: Sequence[str]) -> str:
    chosen = _one_file("database_read", words) or session.ask("Robot, or file of one", session.state.source)
    named = chosen in robot_files()
    s = session.state
    fresh = State.of(chosen if named else str(session.path(chosen)))
    session.change(replace(fresh, dac_period=s.dac_period, time_step=s.time_step, method=s.method, degrees=s.degrees))
    return describe(fresh)


def describe(state: State) -> str:
    """The arm in one line."""
    robot = state.robot
    joints = f"{robot.n} joint{'s' if robot.n > 1 else ''}"
    if robot.n != robot.mechanism.n:
        joints += f" of {robot.mechanism.n}"
    return f"{robot.name}: {joints} ({', '.join(robot.joint_names)})" + ("" if state.has_motors else ", no motors")


def robots(session: Session, words: Sequence[str]) -> str:
    _no_words("robots", words)
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


def units(session: Session, words: Sequence[str]) -> str:
    if not words:
        return f"units {'deg' if session.state.degrees else 'rad'}"
    if len(words) != 1 or words[0] not in ("deg", "rad"):
        raise InputError(f"units are deg or rad, found '{' '.join(words)[:40]}'")
    session.change(replace(session.state, degrees=words[0] == "deg"))
    return ""


def show(session: Session, words: Sequence[str]) -> str:
    _no_words("show", words)
    state = session.state
    names = [name for name in VARIABLES if state.has_motors or name not in ("voltage", "DACOut")]
    last = "nothing simulated yet"
    if state.recording is not None:
        last = f"simulated to t = {state.recording.result.t[-1]:.6g} s, {len(state.recording)} rows"
    return "\n".join([f"# {describe(state)}; {last}", *(session.shown(name) for name in names)])


def undo(session: Session, words: Sequence[str]) -> str:
    _no_words("undo", words)
    return "taken back" if session.undo() else "there is nothing to take back"


def save(session: Session, words: Sequence[str]) -> str:
    rest, over = _without_over(words)
    chosen = _one_file("save", rest) or session.ask("File", f"{session.state.robot.name}.sim")
    path = session.target(chosen, over)
    beside = path.with_name(f"{path.name}.csv")
    if session.state.recording is None:
        session.save(path, beside)
        return f"saved: {path}"
    session.save(path, session.target(str(beside), over))
    return f"saved: {path}, and the simulation in {beside.name}"


def load(session: Session, words: Sequence[str]) -> str:
    chosen = _one_file("load", words) or session.ask("File", f"{session.state.robot.name}.sim")
    session.load(session.path(chosen))
    return describe(session.state)


def help_command(session: Session, words: Sequence[str]) -> str:
    if not words:
        width = max(map(len, (*COMMANDS, *VARIABLES)))
        lines = ["variables: `name` shows one, `name = v1 v2 ... vN` sets it"]
        lines += [f"  {variable.name:{width}}  {variable.summary}" for variable in VARIABLES.values()]
        lines.append("commands: `help NAME` tells more; what is not said on the line is asked for")
        return "\n".join([*lines, *(f"  {command.name:{width}}  {command.summary}" for command in COMMANDS.values())])
    name = words[0]
    if name in VARIABLES:
        variable = VARIABLES[name]
        return f"{name}: {variable.summary}\n{textwrap.fill(variable.help, WIDTH)}"
    if name in COMMANDS:
        command = COMMANDS[name]
        return f"{command.usage}\n{textwrap.fill(command.help, WIDTH)}"
    raise InputError(f"there is no help on '{name[:40]}'; `help` lists everything")


def leave(session: Session, words: Sequence[str]) -> str:
    _no_words("quit", words)
    raise Quit


OVER = "A file that exists is written over only with the word `over`."

COMMANDS = {
    command.name: command
    for command in (
        Command(
            "inverse_arm",
            "inverse_arm",
            "torque and voltage for theta, omega and alpha",
            "Runs the inverse arm model on theta, omega and alpha; the result is in torque and voltage.",
            inverse_arm,
        ),
        Command(
            "forward_arm",
            "forward_arm",
            "alpha for theta, omega and voltage",
            "Runs the forward arm model on theta, omega and voltage (torque, for a robot without motors); the "
            "result is in alpha. Nothing is integrated.",
            forward_arm,
        ),
        Command(
            "simulate",
            "simulate [new|continue] [rest] [schedule FILE [hold|ramp]] [steps N]",
            "the arm's motion under voltages",
            "Integrates the motion from theta and omega, in steps of TimeStep, and records it; then theta, omega, "
            "alpha, torque and voltage are those of the end. `continue` adds to the last simulation instead of "
            "starting a new one; `rest` first sets theta and omega to zero (closed chains: to the described "
            "configuration). The voltage is held (the torque, for a robot without motors), or follows a schedule "
            "(CSV: columns t and v_<joint>; YAML; see docs/arm_shell.md), held or ramped between its times. N is "
            "1000, or up to the schedule's last time. Ctrl-C stops it and keeps what was computed.",
            simulate,
            ("new", "continue", "rest", "schedule", "hold", "ramp", "steps"),
            "file",
        ),
        Command(
            "plot_simulation",
            "plot_simulation [FILE] [theta|omega|alpha|torque|voltage ...] [over]",
            "plot the simulation, as PNG and PDF",
            "Plots quantities over time (theta, omega and voltage if none is named) into FILE.png and FILE.pdf, "
            f"and shows them: on the screen, or in the terminal where there is none. {OVER}",
            plot_simulation,
            (*QUANTITIES, "over"),
            "file",
        ),
        Command(
            "print_simulation",
            "print_simulation [START [FINISH [STEP]]] [theta|omega|alpha|torque|voltage ...]",
            "print rows of the simulation",
            "Prints the rows from START to FINISH, every STEP-th, to the screen or to the open output file. They "
            "are numbers of time steps, or times with an s behind them: print_simulation 0 0.5s 100 theta.",
            print_simulation,
            QUANTITIES,
        ),
        Command(
            "write_results",
            "write_results [FILE.csv|FILE.mcap] [over]",
            "write the simulation as CSV or MCAP",
            "CSV has t, q_, qd_, qdd_, tau_ and voltage_<joint>, in SI units, exact to the last bit. MCAP has the "
            f"ROS 2 messages joint_states and motor_commands, for Foxglove, PlotJuggler or ros2 bag. {OVER}",
            write_results,
            ("over",),
            "file",
        ),
        Command(
            "read_results",
            "read_results FILE.csv",
            "read a simulation back",
            "Reads what write_results wrote as CSV for this robot, to plot, print or continue it.",
            read_results,
            (),
            "file",
        ),
        Command(
            "write_graphic_file",
            "write_graphic_file [FILE.html] [over]",
            "write an animation for a browser",
            f"Writes the moving arm as one page that a browser opens by itself, with no network. {OVER}",
            write_graphic_file,
            ("over",),
            "file",
        ),
        Command(
            "open_output_file",
            "open_output_file [FILE] [over]",
            "send print_simulation to a file",
            f"What print_simulation prints goes to FILE, until close_output_file. {OVER}",
            open_output_file,
            ("over",),
            "file",
        ),
        Command(
            "close_output_file",
            "close_output_file",
            "send print_simulation to the screen again",
            "Closes the output file; it is whole after every print_simulation.",
            close_output_file,
        ),
        Command(
            "database_read",
            "database_read [ROBOT|FILE]",
            "read another arm",
            "Reads an arm by its name (`robots` lists them) or from a robot YAML or URDF file. The variables "
            "start anew.",
            database_read,
            (),
            "robot",
        ),
        Command("robots", "robots", "list the arms that have names", "The arms that database_read knows.", robots),
        Command(
            "show",
            "show",
            "all variables",
            "Shows the arm, the last simulation and all variables.",
            show,
        ),
        Command(
            "units",
            "units [deg|rad]",
            "degrees or radians",
            "Shows and reads theta, omega and alpha in degrees or radians. Files are always in radians.",
            units,
            ("deg", "rad"),
        ),
        Command(
            "undo",
            "undo",
            "take back the last change",
            "Takes back the last change of variables, arm, units or simulation; again, the one before. Files stay.",
            undo,
        ),
        Command(
            "save",
            "save [FILE] [over]",
            "save the session",
            f"Writes arm, variables and units to FILE, and the last simulation to FILE.csv. {OVER}",
            save,
            ("over",),
            "file",
        ),
        Command("load", "load [FILE]", "load a saved session", "Restores what `save` wrote.", load, (), "file"),
        Command("help", "help [NAME]", "tell more", "Lists everything, or tells about NAME.", help_command, (), "name"),
        Command("quit", "quit", "leave", "Leaves the shell; so does Ctrl-D.", leave),
    )
}
