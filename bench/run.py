"""Runs benchmarks by their names, and shows where the time of one goes."""

from __future__ import annotations

import cProfile
import importlib
import json
import marshal
import pstats
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.report import differences, machine, page, with_goals
from dyn_core.errors import InputError
from dyn_core.files import open_file, write_whole

NAMES = (
    "dynamics", "customised", "chains", "simulation", "loops", "denoc", "parallel", "loop", "stiffness",
    "stiffness_service", "startup", "switches",
)  # fmt: skip
MOST_BYTES = 10_000_000
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def measure(
    names: Sequence[str] = (),
    as_json: bool = False,
    save: str | None = None,
    compare: str | None = None,
    write_page: bool = False,
) -> int:
    """Run the named benchmarks, or all; every comparison is a ratio to a peer measured in the same run.

    save: a file that keeps the figures; compare: such a file of an earlier run; write_page: write docs/benchmarks.md.
    """
    for name in names:
        _known(name)
    if write_page and names:
        raise InputError("--page needs a run of everything: leave out the names")
    before = _read(compare) if compare else None
    report: dict[str, Any] = {}
    tables: dict[str, list[str]] = {}
    for name in names or NAMES:
        print(f"dyn bench: measuring {name}", file=sys.stderr, flush=True)
        module = importlib.import_module(f"bench.suites.{name}")
        report[name] = module.run()
        tables[name] = module.table(report[name])
        if not as_json:
            print("\n".join(tables[name]), end="\n\n", flush=True)
        if save:  # after each, so that an interrupted run keeps what it has
            write_whole(Path(save), json.dumps({"machine": machine(), **report}, indent=1) + "\n")
    report["machine"] = machine()
    if as_json:
        print(json.dumps(report))
    if before is not None:
        print("\n".join(differences(report, before)), file=sys.stderr if as_json else sys.stdout)
    if write_page:
        write_whole(PAGE, page(report, tables))
        print(f"dyn bench: wrote {PAGE}", file=sys.stderr)
    return 0


def profile(name: str, lines: int = 25, save: str | None = None) -> int:
    """Run one benchmark under Python's profiler, and show the functions that take the most time."""
    module = importlib.import_module(f"bench.suites.{_known(name)}")
    profiler = cProfile.Profile()
    try:
        profiler.runcall(module.run)
    finally:  # an interrupted run shows what it has
        if save:
            profiler.create_stats()
            write_whole(Path(save), marshal.dumps(profiler.stats))
        pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(lines)
    return 0


def _known(name: str) -> str:
    if name not in NAMES:
        raise InputError(f"there is no benchmark '{name}' (there are {', '.join(NAMES)})")
    return name


def _read(path: str) -> dict[str, Any]:
    try:
        with open_file(Path(path)) as file:
            text = file.read(MOST_BYTES)
        found = json.loads(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no file of `./dyn bench --save` ({error})") from error
    rows = list(with_goals(found)) if isinstance(found, dict) else []
    if not rows or not all(isinstance(row["ratio"], float | int) and row["ratio"] > 0.0 for row in rows):
        raise InputError(f"{path} is no file of `./dyn bench --save`")
    return dict(found)
