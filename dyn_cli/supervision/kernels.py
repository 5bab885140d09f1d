"""The kernels of a robot are compiled before its nodes start: by two processes side by side, with progress.

Only the standard library is imported, so that a start whose kernels are compiled does not wait for more.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dyn_cli.setup.progress import Progress
from dyn_nodes.bringup.systems import System

PARTS = ("simulation", "control")
"""As dyn_core.control has them, which is not imported here."""
LABEL = "compiling the kernels"
REDRAW = 0.2  # s
LONGEST = 1 << 20  # bytes of a process's counts


def compile_kernels(planned: System) -> None:
    """Compile what the nodes of a system need, unless this was done before; errors are left for the nodes to say."""
    mark = _mark(planned)
    if mark is None or mark.exists():
        return
    progress, started, compiling, running = Progress(), time.monotonic(), False, True
    command = [sys.executable, "-m", "dyn_cli.supervision.kernels", *_words(planned)]
    with ExitStack() as stack:
        counts = [stack.enter_context(tempfile.TemporaryFile()) for _ in PARTS]
        stack.callback(progress.bar, LABEL, 1, 1, started)
        children = [
            subprocess.Popen([*command, part], stdin=subprocess.DEVNULL, stdout=count, stderr=subprocess.DEVNULL)
            for part, count in zip(PARTS, counts, strict=True)
        ]
        for child in children:
            stack.callback(child.wait)
            stack.callback(child.kill)
        while running:
            time.sleep(REDRAW)
            running = any(child.poll() is None for child in children)
            last = [os.pread(count.fileno(), LONGEST, 0).split()[-2:] for count in counts]
            ready, needed = (sum(int(words[k]) for words in last if words) for k in (0, 1))
            if needed and not (compiling or progress.live):
                progress.say(f"{LABEL}, once ...")
            compiling = needed > 0
            if compiling:
                progress.wait(f"{LABEL}: {ready} of {needed},", started)
        statuses = [child.returncode for child in children]
    if not any(statuses):
        if compiling:
            progress.say(f"{LABEL}: done in {time.monotonic() - started:.0f} s")
        mark.touch()


def _words(planned: System) -> tuple[str, str]:
    """Robot and formulation of a system."""
    formulations = [str(node.parameters.get("formulation", "")) for node in planned.nodes]
    return str(planned.nodes[0].parameters["robot"]), "".join(formulations) or "projection"


def _mark(planned: System) -> Path | None:
    """A file that is there once the kernels are compiled from the present sources; None if they cannot be kept."""
    core, numba = find_spec("dyn_core"), find_spec("numba")
    if core is None or core.origin is None or numba is None or numba.origin is None:
        return None
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(chosen or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dyn_robot")
    robot, formulation = _words(planned)
    seen = hashlib.sha256(f"{robot}\0{formulation}\0{sys.version}".encode())
    for path in (*sorted(Path(core.origin).parent.rglob("*.py")), Path(numba.origin), Path(robot)):
        try:
            status = path.stat()
        except OSError:
            continue
        seen.update(f"{path.resolve()}\0{status.st_size}\0{status.st_mtime_ns}".encode())
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder / f"compiled-{seen.hexdigest()[:16]}" if os.access(folder, os.W_OK) else None


def main(robot: str, formulation: Any, part: Any) -> int:
    """Compile one part for a robot, and print how many kernels are ready and needed, a line each time."""
    from dyn_core.control import compile_kernels
    from dyn_nodes.common.robot import load_fixed_robot

    own = load_fixed_robot(robot).using(formulation)
    compile_kernels(own, part, lambda ready, needed: print(ready, needed, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
