"""A session of the arm shell: lines in, text out, with no terminal.

`execute` runs one line: `name = v1 v2 ... vN` sets a variable, `name` shows it, anything else is a command. What a
command is not told on its line it asks for; who does not answer (a script) gets the default.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from dyn_cli.figures.recording import Recording, write_csv
from dyn_core.errors import DynError, InputError, SimulationError
from dyn_core.files import open_file, user_path, write_whole
from dyn_core.simulation import Schedule, Stepper, steps_per_period

from .state import SessionState
from .variables import VARIABLES

Follows = Literal["nothing", "name", "robot", "file", "quantity"]

FIRST_ROBOT = "cmu_dd_arm"
MOST_UNDO = 100
MOST_VALUES = 100_000_000
"""Numbers that recordings may hold in memory: 800 MB."""
MOST_STEPS = 2**53
"""Since time 0: beyond, floating point does not count them."""
LONGEST_FILE = 1_000_000
RESTORING = ("database_read", "units", "read_results")
"""Commands that a saved session may have."""

Ask = Callable[[str, str], str]
"""ask(question, default): the answer; an empty one means the default."""
Watch = Callable[[float, float, float], bool]
"""watch(start, t, end): called as a simulation from start to end (s) reaches t; False stops it there."""


@dataclass(frozen=True)
class ShellCommand:
    """One command. run(session, words) does it and returns what to print."""

    usage: str
    summary: str
    help: str
    run: Callable[[Session, Sequence[str]], str]
    words: tuple[str, ...]
    """Words that may follow."""
    follows: Follows
    """What else may follow."""

    @property
    def name(self) -> str:
        return self.usage.split()[0]


def command(
    usage: str, words: tuple[str, ...] = (), follows: Follows = "nothing"
) -> Callable[[Callable[[Session, Sequence[str]], str]], ShellCommand]:
    """Make a command of a function, whose docstring is its summary and its help. usage: its name, and what follows."""

    def made(run: Callable[[Session, Sequence[str]], str]) -> ShellCommand:
        summary, _, text = str(run.__doc__).partition("\n\n")
        text += "A file that exists is written over only with the word `over`." if "over" in words else ""
        return ShellCommand(usage, summary, " ".join(text.split()), run, words, follows)

    return made


class Quit(Exception):
    """The user wants to leave."""


class Session:
    """One user's arm, variables, last simulation and output file."""

    def __init__(
        self,
        commands: Mapping[str, ShellCommand],
        robot: str = FIRST_ROBOT,
        ask: Ask | None = None,
        watch: Watch | None = None,
        show: Callable[[Path], str] | None = None,
    ) -> None:
        """commands: by their names; ask: answers questions (defaults if not given).

        watch: looks on simulations, and may stop them;
        show: puts an image file on the screen and says so, or returns "" where there is no screen.
        """
        self.state = SessionState.of(robot)
        self._commands = commands
        self._ask = ask
        self._watch = watch
        self._show = show
        self._before: list[SessionState] = []
        self._output: tuple[Path, list[str]] | None = None
        self._stepper: tuple[Recording, Stepper] | None = None
        self._folder: Path | None = None

    def execute(self, line: str) -> str:
        """Run one line and return what it has to say; a DynError says what is wrong, and nothing has changed."""
        name, equals, values = (part.strip() for part in line.partition("#")[0].partition("="))
        if equals and name.isidentifier():
            return self._set(name, values)
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            raise InputError("a quotation mark has no partner") from None
        if not words:
            return ""
        name, *rest = words
        if name in VARIABLES:
            if rest:
                raise InputError(f"{name} is a variable: `{name}` shows it, `{name} = ...` sets it")
            return self.shown(name)
        if name not in self._commands:
            raise InputError(self._unknown(name, (*self._commands, *VARIABLES)))
        if rest and self._commands[name].usage == name:
            raise InputError(f"{name} takes nothing after it, found '{rest[0][:40]}'")
        try:
            return self._commands[name].run(self, rest)
        except OSError as error:
            raise InputError(f"{error.filename or name}: {error.strerror or error}") from error

    def _unknown(self, name: str, names: tuple[str, ...]) -> str:
        near = difflib.get_close_matches(name, names, 1)
        return f"there is no command or variable '{name[:40]}'" + (
            f"; did you mean {near[0]}?" if near else "; `help` lists them"
        )

    def _set(self, name: str, values: str) -> str:
        if name not in VARIABLES:
            raise InputError(self._unknown(name, tuple(VARIABLES)))
        state, notes = VARIABLES[name].set(self.state, values.replace(",", " ").split())
        self.change(state)
        return "\n".join(f"note: {note}" for note in notes)

    def shown(self, name: str) -> str:
        """A variable as it would be set, with its unit."""
        values, unit = VARIABLES[name].show(self.state)
        return f"{name} = {values}" + (f"  # {unit}" if unit else "")

    # states

    def change(self, state: SessionState) -> None:
        """Take on a new state; `undo` brings this one back."""
        self._before.append(self.state)
        self.state = state
        while len(self._before) > 1 and (len(self._before) > MOST_UNDO or self._values_held() > MOST_VALUES):
            self._before.pop(0)

    def _values_held(self) -> int:
        held = {id(state.recording): state.recording for state in self._before}
        return sum(len(each) * (1 + 5 * each.robot.n) for each in held.values() if each is not None)

    def undo(self) -> bool:
        """Take back the last change; whether there was one."""
        if not self._before:
            return False
        self.state = self._before.pop()
        return True

    def recording(self) -> Recording:
        """The last simulation; InputError if there is none."""
        if self.state.recording is None:
            raise InputError("nothing has been simulated yet; `simulate` first")
        return self.state.recording

    # questions and files

    def ask(self, question: str, default: str) -> str:
        """The answer to a question, or its default."""
        return (self._ask(question, default).strip() or default) if self._ask is not None else default

    def ask_yes(self, question: str, default: bool) -> bool:
        """Whether the answer is yes."""
        answer = self.ask(f"{question} (yes or no)", "yes" if default else "no").lower()
        if answer not in ("y", "yes", "n", "no"):
            raise InputError(f"'{answer[:40]}' is neither yes nor no")
        return answer in ("y", "yes")

    def show(self, image: Path) -> str:
        """Put an image on the screen; what was done, or "" where there is no screen."""
        return "" if self._show is None else self._show(image)

    def path(self, name: str) -> Path:
        """A file that is named on a line."""
        path = user_path(name)
        return self._folder / path if self._folder is not None else path

    def target(self, name: str, over: bool) -> Path:
        """A file to be written; one that exists only if the user says so."""
        path = self.path(name)
        if path.is_dir() or not path.parent.is_dir():
            raise InputError(f"{path}: cannot be written ({'is a folder' if path.is_dir() else 'no such folder'})")
        if path.exists() and not over and not (self._ask and self.ask_yes(f"{path} exists; write over it?", False)):
            raise InputError(f"{path} exists; add the word `over` to write over it")
        return path

    def open_output(self, path: Path) -> None:
        """Send what `print_simulation` prints to a file from now on."""
        write_whole(path, "")
        self._output = (path, [])

    def close_output(self) -> Path:
        """Print to the screen again; returns the file that was open."""
        if self._output is None:
            raise InputError("no output file is open; `open_output_file` opens one")
        path, _ = self._output
        self._output = None
        return path

    def printed(self, text: str) -> str:
        """Text for the screen, or for the open output file."""
        if self._output is None:
            return text
        path, texts = self._output
        texts.append(text + "\n")
        write_whole(path, "".join(texts))
        return f"printed to {path}"

    # simulation

    def simulate(self, fresh: bool, from_rest: bool, schedule: Schedule | None, steps: int) -> Recording:
        """Simulate; the variables become those of the end, and what was computed is recorded."""
        state = self.state
        by_torque = schedule.quantity == "torque" if schedule is not None else not state.has_motors
        hold = steps_per_period(state.dac_period, state.time_step)
        earlier = None if fresh else self.recording()
        rows = steps + 1 + (0 if earlier is None else len(earlier))
        if rows * (1 + 5 * state.robot.n) > MOST_VALUES:
            most = MOST_VALUES // (1 + 5 * state.robot.n)
            raise InputError(f"{rows} rows are too many for the memory, at most {most}; take a larger TimeStep")
        if schedule is not None:
            drive = schedule.sampled(state.dac_period, -(-steps // hold) or 1)
        else:
            drive = state.torque if by_torque else state.voltage
        stepper = self._stepper_for(earlier, from_rest, by_torque)
        start, end = stepper.t, stepper.t + steps * state.time_step

        def go_on(t: float) -> bool:
            return self._watch is None or self._watch(start, t, end)

        go_on(start)
        part = Recording(state.robot, stepper.record(drive, steps, hold, go_on=go_on), by_torque)
        if len(part) == 0:
            raise SimulationError(part.result.failure)
        recording = part if earlier is None else earlier.followed_by(part)
        self._stepper = recording, stepper
        self._take(recording)
        return recording

    def _stepper_for(self, earlier: Recording | None, from_rest: bool, by_torque: bool) -> Stepper:
        """Where the simulation starts: the very integrator that ended the last one, if nothing was changed since."""
        state = self.state
        if earlier is not None and self._stepper is not None:
            recording, stepper = self._stepper
            same = recording is earlier and stepper.robot is state.robot and stepper.torque_driven == by_torque
            same = same and stepper.h == state.time_step and stepper.method == state.method
            if same and (stepper.q == state.theta).all() and (stepper.qd == state.omega).all():
                return stepper
        theta, omega = (state.robot.neutral(), None) if from_rest else (state.theta, state.omega)
        stepper = Stepper(state.robot, theta, omega, state.time_step, state.method, by_torque)
        if earlier is not None:
            before = float(earlier.result.t[-1]) / state.time_step
            if not abs(before) <= MOST_STEPS:
                raise InputError(
                    f"the last simulation ends at t = {earlier.result.t[-1]:g} s, too late to be continued in steps of"
                    f" {state.time_step:g} s; take a larger TimeStep, or start a new one"
                )
            stepper.start_at(round(before))
        return stepper

    def _take(self, recording: Recording) -> None:
        r = recording.result
        volts = self.state.volts if recording.torque_driven else r.drive[-1].copy()
        theta, omega, alpha, torque = (rows[-1].copy() for rows in (r.q, r.qd, r.qdd, r.tau))
        self.change(
            replace(self.state, theta=theta, omega=omega, alpha=alpha, torque=torque, volts=volts, recording=recording)
        )

    # saving

    def save(self, path: Path, recording_path: Path) -> None:
        """Write the session as lines that restore it; the last simulation, if any, goes to a CSV file beside it."""
        if self.state.recording is not None:
            write_csv(self.state.recording, recording_path)
        write_whole(path, self.as_lines(recording_path.name))

    def as_lines(self, recording_name: str) -> str:
        """The lines that make this state from nothing, to the last bit."""
        state = self.state
        source = str(Path(state.source).resolve()) if Path(state.source).is_file() else state.source
        lines = ["# a session of dyn sim; `load` restores it", f"database_read {shlex.quote(source)}", "units rad"]
        values: dict[str, object] = {
            "gravity": state.robot.mechanism.gravity,
            "TimeStep": [state.time_step],
            "DACTimePeriod": [state.dac_period],
            "theta": state.theta,
            "omega": state.omega,
            "alpha": state.alpha,
        }
        values |= {"voltage": state.volts} if state.has_motors else {"torque": state.torque}
        lines += [f"{name} = {' '.join(repr(float(x)) for x in numbers)}" for name, numbers in values.items()]  # type: ignore[attr-defined]
        lines.append(f"method = {state.method}")
        if state.recording is not None:
            lines.append(f"read_results {shlex.quote(recording_name)}")
        lines.append(f"units {'deg' if state.degrees else 'rad'}")
        return "\n".join(lines) + "\n"

    def load(self, path: Path) -> None:
        """Restore a saved session; if a line of it is wrong nothing changes. Files in it are beside it."""
        try:
            with open_file(path) as file:
                raw = file.read(LONGEST_FILE + 1)
            text = raw.decode()
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: is not UTF-8 text") from error
        if len(raw) > LONGEST_FILE:
            raise InputError(f"{path}: is larger than {LONGEST_FILE} bytes, which is allowed at most")
        other = Session(self._commands, self.state.source)
        other._folder = path.parent
        for number, line in enumerate(text.splitlines(), 1):
            first = line.split("#")[0].replace("=", " ").split()[:1]
            if first and first[0] not in (*RESTORING, *VARIABLES):
                raise InputError(f"{path}:{number}: a saved session sets variables only, found '{first[0][:40]}'")
            try:
                other.execute(line)
            except DynError as error:
                raise InputError(f"{path}:{number}: {error}") from error
        self.change(other.state)
