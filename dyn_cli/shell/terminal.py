"""`dyn sim`: the arm shell at a terminal, or over a script on standard input.

History and completion are readline's, of the standard library: nothing has to be installed for them.
"""

import contextlib
import os
import signal
import sys
import time
import webbrowser
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

from dyn_cli.setup.progress import Progress
from dyn_core.errors import DynError, InputError

from . import COMMANDS, Quit, Session, completions

try:
    import readline
except ImportError:  # a Python without it: a plain prompt
    readline = None  # type: ignore[assignment]

PROMPT = "sim> "
INTERRUPTED = 130
REDRAW = 0.1  # s
STEPS = 1000  # of the bar
HISTORY_LENGTH = 1000
LONGEST_LINE = 100_000


class Watcher:
    """Shows how far a simulation is and how fast, and lets Ctrl-C stop it with what it has computed."""

    def __init__(self, progress: Progress | None = None) -> None:
        self.progress = Progress() if progress is None else progress
        self.stopped = False
        """Whether Ctrl-C has stopped a simulation."""
        self._running = self._asked = False
        self._began = self._drawn = 0.0

    def __call__(self, start: float, t: float, end: float) -> bool:
        now = time.monotonic()
        if t == start:
            self._running, self._asked, self._began, self._drawn = True, False, now, -REDRAW
        if now - self._drawn >= REDRAW:
            self._drawn = now
            factor = (t - start) / max(now - self._began, 1e-9)
            done = min(round(STEPS * (t - start) / max(end - start, 1e-12)), STEPS - 1)
            detail = f"{factor:.3g} x real time" if t > start else "starting"
            self.progress.bar("simulating", done, STEPS, self._began, detail)
        return not self._asked

    @contextlib.contextmanager
    def guard(self) -> Iterator[None]:
        """Ctrl-C within stops a simulation that runs, once; at any other time it is a KeyboardInterrupt as ever."""
        before = signal.signal(signal.SIGINT, self._on_interrupt)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)
            if self._running:
                self.progress.bar("simulating", STEPS, STEPS, self._began)
            self._running = False

    def _on_interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._running or self._asked:
            raise KeyboardInterrupt
        self._asked = self.stopped = True


def open_shell(robot: str) -> int:
    """Open the shell; status 2 at the first error of a script, 130 where Ctrl-C stopped one of its simulations."""
    with contextlib.suppress(AttributeError):
        sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr] # names of files may be any bytes
    watcher = Watcher()
    if not sys.stdin.isatty():
        return run_script(Session(COMMANDS, robot, watch=watcher), watcher)
    session = Session(COMMANDS, robot, ask=ask, watch=watcher, show=show_on_screen)
    with history():
        return converse(session, watcher)


def run_script(session: Session, watcher: Watcher) -> int:
    """Execute the lines of standard input."""
    for number, line in enumerate(iter(lambda: sys.stdin.readline(LONGEST_LINE + 1), ""), 1):
        try:
            if len(line) > LONGEST_LINE:
                raise InputError(f"the line has more than {LONGEST_LINE} characters, which is too many")
            with watcher.guard():
                text = session.execute(line)
        except Quit:
            break
        except DynError as error:
            sys.stdout.flush()
            print(f"dyn: line {number}: {error}", file=sys.stderr)
            return 2
        if text:
            print(text, flush=True)
    return INTERRUPTED if watcher.stopped else 0


def converse(session: Session, watcher: Watcher) -> int:
    """Read lines until the user leaves."""
    print("The arm shell: `help` lists its variables and commands, `quit` leaves.")
    print(session.execute("show").splitlines()[0])
    while True:
        try:
            line = input(PROMPT)
            with watcher.guard():
                text = session.execute(line)
            if text:
                print(text)
        except (EOFError, Quit):
            return 0
        except KeyboardInterrupt:
            print()
        except DynError as error:
            print(f"error: {error}")


def ask(question: str, default: str) -> str:
    """Put a question to the user, its default shown."""
    try:
        return input(f"{question} [{default}]: ")
    except EOFError:
        print()
        raise KeyboardInterrupt from None


def show_on_screen(image: Path) -> str:
    """Open an image where there is a screen."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return ""
    return "opened on the screen" if webbrowser.open(image.resolve().as_uri()) else ""


@contextlib.contextmanager
def history() -> Iterator[None]:
    """Lines of earlier sessions, and completion by the tabulator."""
    if readline is None:
        yield
        return
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "dyn_robot"
    file = state / "sim_history"
    with contextlib.suppress(OSError):
        readline.read_history_file(file)
    readline.set_history_length(HISTORY_LENGTH)
    readline.set_completer_delims(" ")
    readline.set_completer(_complete)
    libedit = "libedit" in (readline.__doc__ or "")
    readline.parse_and_bind("bind ^I rl_complete" if libedit else "tab: complete")
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            state.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(file)


def _complete(word: str, number: int) -> str | None:
    found = completions(readline.get_line_buffer()[: readline.get_endidx()])
    return found[number] if number < len(found) else None
