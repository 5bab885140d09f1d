"""The kernels of a robot are compiled before its nodes start: by two processes side by side, with progress.

Only the standard library is imported, so that a start whose kernels are compiled does not wait for more.
"""

import hashlib
import os
import subprocess
import sys
import threading
import time
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from dyn_cli.setup.progress import Progress
from dyn_nodes.bringup.systems import System

PARTS = ("simulation", "control")
"""As dyn_core.control has them, which is not imported here."""
LABEL = "compiling the kernels"
REDRAW = 0.2  # s


def compile_kernels(planned: System) -> None:
    """Compile what the nodes of a system need, unless this was done before; errors are left for the nodes to say."""
    mark = _mark(planned)
    if mark is None or mark.exists():
        return
    progress, started, compiling = Progress(), time.monotonic(), False
    words = _words(planned)
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "dyn_cli.supervision.kernels", *words, part],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for part in PARTS
    ]
    counts = {child.pid: (0, 0) for child in children}
    readers = [
        threading.Thread(target=_count, args=(child.pid, child.stdout, counts), daemon=True) for child in children
    ]
    try:
        for reader in readers:
            reader.start()
        while any(reader.is_alive() for reader in readers):
            time.sleep(REDRAW)
            ready, needed = (sum(column) for column in zip(*counts.values(), strict=True))
            if needed and not (compiling or progress.live):
                progress.say(f"{LABEL}, once ...")
            compiling = needed > 0
            if compiling:
                progress.wait(f"{LABEL}: {ready} of {needed},", started)
        statuses = [child.wait() for child in children]
    finally:
        for child in children:
            child.kill()
            child.wait()
        progress.bar(LABEL, 1, 1, started)
    if not any(statuses):
        if compiling:
            progress.say(f"{LABEL}: done in {time.monotonic() - started:.0f} s")
        mark.touch()


def _count(child: int, lines: IO[str], counts: dict[int, tuple[int, int]]) -> None:
    for line in lines:
        ready, needed = map(int, line.split())
        counts[child] = ready, needed


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
