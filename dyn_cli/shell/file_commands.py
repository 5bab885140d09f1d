"""The commands of the arm shell that show a simulation and that read or write files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dyn_cli.figures.animation import write_animation
from dyn_cli.figures.recording import WRITERS, Recording, read_csv, write_recording
from dyn_cli.figures.terminal_plot import terminal_plot
from dyn_cli.figures.time_plots import FORMATS, Panel, write_figures
from dyn_cli.table import table
from dyn_core.arrays import Floats
from dyn_core.errors import InputError

from .session import Session, command
from .state import SessionState
from .variables import force_unit, motion_unit, number

MOST_ROWS_SHOWN = 20
QUANTITIES = ("theta", "omega", "alpha", "torque", "voltage")
PLOTTED = ("theta", "omega", "voltage")


def _without_over(words: Sequence[str]) -> tuple[list[str], bool]:
    return [word for word in words if word != "over"], "over" in words


def one_file(name: str, words: Sequence[str]) -> str | None:
    """The one file that may follow a command."""
    if len(words) > 1:
        raise InputError(f"{name} takes one file, found '{words[1][:40]}' after it (put names with spaces in quotes)")
    return words[0] if words else None


@command("print_simulation [START [FINISH [STEP]]] [theta|omega|alpha|torque|voltage ...]", QUANTITIES)
def print_simulation(session: Session, words: Sequence[str]) -> str:
    """print rows of the simulation

    Prints the rows from START to FINISH, every STEP-th, to the screen or to the open output file. They are numbers of
    time steps, or times with an s behind them: print_simulation 0 0.5s 100 theta.
    """
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
    return session.printed(tables(session.state, recording, range(start, finish + 1, step), names))


def _row(text: str, recording: Recording) -> int:
    """A row by its number, or by its time with an s behind it."""
    if text.endswith("s"):
        t = number(text[:-1])
        return int(np.argmin(np.abs(recording.result.t - t))) if t > 0.0 else 0
    value = number(text)
    if value != int(value):
        raise InputError(f"'{text[:40]}' is not a whole number of steps; a time has an s behind it, as 0.5s")
    return int(value)


def quantities(state: SessionState, recording: Recording) -> dict[str, tuple[Floats, str]]:
    """What a recording has, by the variables' names, in the units that are shown: (m, n) and the unit."""
    r = recording.result
    found = {
        "theta": (r.q / state.angle, motion_unit(state)),
        "omega": (r.qd / state.angle, motion_unit(state, "/s")),
        "alpha": (r.qdd / state.angle, motion_unit(state, "/s^2")),
        "torque": (r.tau, force_unit(state)),
    }
    return found if recording.torque_driven else found | {"voltage": (r.drive, "V")}


def tables(state: SessionState, recording: Recording, rows: range, names: Sequence[str]) -> str:
    """Rows of a recording: a table per quantity, with a column per joint."""
    lines: list[str] = []
    for panel in panels(state, recording, names):
        cells = [("t", *recording.robot.joint_names)]
        cells += [(f"{panel.t[k]:.4f}", *(f"{x:.5g}" for x in panel.values[k])) for k in rows]
        lines += [f"# {recording.robot.name}: {panel.title}", *table(cells, ">")]
    return "\n".join(lines)


def panels(state: SessionState, recording: Recording, names: Sequence[str]) -> list[Panel]:
    """The curves of some quantities."""
    found = quantities(state, recording)
    unknown = [name for name in names if name not in found]
    if unknown:
        raise InputError(f"the simulation has no '{unknown[0][:40]}'; there are {', '.join(found)}")
    joints = recording.robot.joint_names
    return [Panel(f"{name}, {found[name][1]}", joints, recording.result.t, found[name][0]) for name in names]


@command("plot_simulation [FILE] [theta|omega|alpha|torque|voltage ...] [over]", (*QUANTITIES, "over"), "file")
def plot_simulation(session: Session, words: Sequence[str]) -> str:
    """plot the simulation, as PNG and PDF

    Plots quantities over time (theta, omega and voltage if none is named) into FILE.png and FILE.pdf, and shows them:
    on the screen, or in the terminal where there is none.
    """
    recording = session.recording()
    rest, over = _without_over(words)
    default = " ".join(name for name in PLOTTED if name in quantities(session.state, recording))
    stem = f"{recording.robot.name}_simulation"
    if not words:
        names = session.ask(f"Which of {' '.join(QUANTITIES)}", default).split()
        stem = session.ask(f"File, to which {' and '.join('.' + kind for kind in FORMATS)} are added", stem)
    else:
        names = [word for word in rest if word in QUANTITIES] or default.split()
        stem = one_file("plot_simulation", [word for word in rest if word not in QUANTITIES]) or stem
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


@command("write_results [FILE.csv|FILE.mcap] [over]", ("over",), "file")
def write_results(session: Session, words: Sequence[str]) -> str:
    """write the simulation as CSV or MCAP

    CSV has t, q_, qd_, qdd_, tau_ and voltage_<joint>, in SI units, exact to the last bit. MCAP has the ROS 2 messages
    joint_states and motor_commands, for Foxglove, PlotJuggler or ros2 bag.
    """
    return _written(session, "write_results", words, f"File ({' or '.join(WRITERS)})", ".csv", write_recording)


@command("write_graphic_file [FILE.html] [over]", ("over",), "file")
def write_graphic_file(session: Session, words: Sequence[str]) -> str:
    """write an animation for a browser

    Writes the moving arm as one page that a browser opens by itself, with no network.
    """
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
    chosen = one_file(name, rest) or (default if words else session.ask(question, default))
    path = session.target(chosen, over)
    write(recording, path)
    return f"written: {path}"


@command("read_results FILE.csv", follows="file")
def read_results(session: Session, words: Sequence[str]) -> str:
    """read a simulation back

    Reads what write_results wrote as CSV for this robot, to plot, print or continue it.
    """
    chosen = one_file("read_results", words) or session.ask("File (.csv)", "")
    if not chosen:
        raise InputError("read_results needs a file: read_results FILE")
    recording = read_csv(session.path(chosen), session.state.robot)
    session.change(replace(session.state, recording=recording))
    return f"read {len(recording)} rows to t = {recording.result.t[-1]:.6g} s"


@command("open_output_file [FILE] [over]", ("over",), "file")
def open_output_file(session: Session, words: Sequence[str]) -> str:
    """send print_simulation to a file

    What print_simulation prints goes to FILE, until close_output_file.
    """
    rest, over = _without_over(words)
    chosen = one_file("open_output_file", rest) or session.ask("File", "simulation.txt")
    path = session.target(chosen, over)
    session.open_output(path)
    return f"print_simulation writes to {path}"


@command("close_output_file")
def close_output_file(session: Session, words: Sequence[str]) -> str:
    """send print_simulation to the screen again

    Closes the output file; it is whole after every print_simulation.
    """
    return f"closed: {session.close_output()}"


@command("save [FILE] [over]", ("over",), "file")
def save(session: Session, words: Sequence[str]) -> str:
    """save the session

    Writes arm, variables and units to FILE, and the last simulation to FILE.csv.
    """
    rest, over = _without_over(words)
    chosen = one_file("save", rest) or session.ask("File", f"{session.state.robot.name}.sim")
    path = session.target(chosen, over)
    beside = path.with_name(f"{path.name}.csv")
    if session.state.recording is None:
        session.save(path, beside)
        return f"saved: {path}"
    session.save(path, session.target(str(beside), over))
    return f"saved: {path}, and the simulation in {beside.name}"


@command("load [FILE]", follows="file")
def load(session: Session, words: Sequence[str]) -> str:
    """load a saved session

    Restores what `save` wrote.
    """
    chosen = one_file("load", words) or session.ask("File", f"{session.state.robot.name}.sim")
    session.load(session.path(chosen))
    return session.state.described()


FILE_COMMANDS = (
    *(plot_simulation, print_simulation, write_results, read_results, write_graphic_file),
    *(open_output_file, close_output_file, save, load),
)
