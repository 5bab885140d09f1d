"""``./dyn bench``: every benchmark, or one by its name; ``./dyn profile``: where the time of one goes."""

from __future__ import annotations

import argparse
import cProfile
import importlib
import json
import marshal
import pstats
import sys
from pathlib import Path
from typing import Any

from bench.report import differences, machine, page, with_goals
from dyn_core.errors import DynError, InputError
from dyn_core.files import open_file, write_whole

NAMES = (
    "dynamics", "customised", "chains", "simulation", "loops", "denoc", "parallel", "loop", "stiffness",
    "stiffness_service", "startup",
)  # fmt: skip
MOST_BYTES = 10_000_000
PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"


def main(argv: list[str]) -> int:
    """Run benchmarks; every comparison is a ratio to a peer measured in the same run."""
    parser = argparse.ArgumentParser(
        prog="./dyn bench", description="Measure speed, side by side with other libraries in the same run."
    )
    parser.add_argument(
        "name", nargs="?", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}; all if not given"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--save", metavar="FILE", help="keep the figures as JSON")
    parser.add_argument("--compare", metavar="FILE", help="set the ratios beside those of an earlier --save")
    parser.add_argument("--page", action="store_true", help="write docs/benchmarks.md (needs a run of everything)")
    args = parser.parse_args(argv)
    if args.page and args.name:
        parser.error("--page needs a run of everything: leave out NAME")
    before = _read(args.compare) if args.compare else None
    report: dict[str, Any] = {}
    tables: dict[str, list[str]] = {}
    for name in (args.name,) if args.name else NAMES:
        print(f"dyn bench: measuring {name}", file=sys.stderr, flush=True)
        module = importlib.import_module(f"bench.{name}")
        report[name] = module.run()
        tables[name] = module.table(report[name])
        if not args.json:
            print("\n".join(tables[name]), end="\n\n", flush=True)
        if args.save:  # after each, so that an interrupted run keeps what it has
            write_whole(Path(args.save), json.dumps({"machine": machine(), **report}, indent=1) + "\n")
    report["machine"] = machine()
    if args.json:
        print(json.dumps(report))
    if before is not None:
        print("\n".join(differences(report, before)), file=sys.stderr if args.json else sys.stdout)
    if args.page:
        write_whole(PAGE, page(report, tables))
        print(f"dyn bench: wrote {PAGE}", file=sys.stderr)
    return 0


def profile(argv: list[str]) -> int:
    """Run one benchmark under Python's profiler, and show the functions that take the most time."""
    parser = argparse.ArgumentParser(
        prog="./dyn profile",
        description="Show where the time of a benchmark goes: Python functions by their own time."
        " Compiled kernels appear as the function that calls them.",
    )
    parser.add_argument("name", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--lines", type=int, default=25, metavar="N", help="functions to show (default: 25)")
    parser.add_argument("--save", metavar="FILE", help="keep the whole profile, for pstats or snakeviz")
    args = parser.parse_args(argv)
    module = importlib.import_module(f"bench.{args.name}")
    profiler = cProfile.Profile()
    try:
        profiler.runcall(module.run)
    finally:  # an interrupted run shows what it has
        if args.save:
            profiler.create_stats()
            write_whole(Path(args.save), marshal.dumps(profiler.stats))
        pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(args.lines)
    return 0


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
    return found


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except DynError as error:
        sys.exit(f"dyn bench: {error}")
