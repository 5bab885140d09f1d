"""``./dyn bench``: every benchmark, or one by its name."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dyn_core.errors import DynError

NAMES = ("dynamics", "customised", "chains", "loops", "denoc", "loop", "stiffness_service")


def _measure(name: str) -> tuple[Any, list[str]]:
    """The figures of a benchmark, and its table."""
    if name == "dynamics":
        from bench.dynamics import run

        rows = run()
        head = f"{'work':34} {'ours':>13} {'peer':>13}  {'':26} ratio [10 % - 90 % of rounds]"
        return [asdict(row) for row in rows], [head, *(row.row() for row in rows)]
    module = importlib.import_module(f"bench.{name}")
    figures = module.run()
    return figures, module.table(figures)


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    versions = {}
    for package in ("numpy", "numba", "pin", "mujoco", "casadi", "ros-jazzy-rclpy"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "packages": versions,
    }


def main(argv: list[str]) -> int:
    """Run benchmarks; every comparison is a ratio to a peer measured in the same run."""
    parser = argparse.ArgumentParser(
        prog="./dyn bench", description="Measure speed, side by side with other libraries in the same run."
    )
    parser.add_argument(
        "name", nargs="?", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}; all if not given"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    args = parser.parse_args(argv)
    report: dict[str, Any] = {"machine": machine()}
    for name in (args.name,) if args.name else NAMES:
        print(f"dyn bench: measuring {name}", file=sys.stderr, flush=True)
        try:
            figures, lines = _measure(name)
        except DynError as error:
            print(f"dyn bench: {name}: {error}", file=sys.stderr)
            return 2
        report[name] = figures
        if not args.json:
            print("\n".join(lines), end="\n\n")
    if args.json:
        print(json.dumps(report))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
