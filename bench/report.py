"""What is made of the figures of benchmarks: goals, comparison with an earlier run, the page."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.compare import verdict

PACKAGES = ("numpy", "numba", "scipy", "casadi", "pin", "mujoco", "roboticstoolbox-python", "ros-jazzy-rclpy")
GOAL_KEYS = {"work", "peer", "ratio", "goal"}


def machine() -> dict[str, Any]:
    """What the figures were measured on, and when."""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "python": platform.python_version(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": os.getloadavg()[0],
        "packages": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def with_goals(figures: Any) -> Iterator[dict[str, Any]]:
    """Every figure that has a goal, however deep: a ratio that is to be at most the goal."""
    if isinstance(figures, dict):
        if figures.keys() >= GOAL_KEYS:
            yield figures
        else:
            for value in figures.values():
                yield from with_goals(value)
    elif isinstance(figures, list):
        for value in figures:
            yield from with_goals(value)


def differences(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    """One line for every ratio that both runs have; a change counts where the spreads of the rounds do not overlap."""
    before = {(row["work"], row["peer"]): row for row in with_goals(old)}
    lines = [f"{'work':52} {'peer':31} {'before':>8} {'now':>8}"]
    for row in with_goals(new):
        past = before.get((row["work"], row["peer"]))
        if past is None:
            continue
        change = row["ratio"] / past["ratio"] - 1.0
        apart = row.get("low", row["ratio"]) > past.get("high", past["ratio"]) or row.get(
            "high", row["ratio"]
        ) < past.get("low", past["ratio"])
        word = ("slower" if change > 0.0 else "faster") if apart else "the same within the spread"
        lines.append(
            f"{row['work']:52} {row['peer']:31} {past['ratio']:8.3f} {row['ratio']:8.3f}  {100 * change:+.0f} % {word}"
        )
    return lines if len(lines) > 1 else ["the two runs have no comparison in common"]


def page(report: dict[str, Any], tables: dict[str, list[str]]) -> str:
    """docs/benchmarks.md: goals first, then every table; all of it comes from the report."""
    m = report["machine"]
    packages = ", ".join(f"{name} {number}" for name, number in m["packages"].items())
    lines = [
        "# Benchmarks",
        "",
        "This page is written by `./dyn bench --page`; no number in it is typed by hand. Every comparison is measured",
        "in turns within one process, after both sides were seen to give the same answer: the ratio is the median over",
        "the rounds, with its 10th and 90th percentile. Times of single calls are those of the thread alone. Below 1",
        "we are faster.",
        "",
        f"Measured on {m['date']}: {m['processor']}, {m['cores']} cores, load {m['load']:.1f} at the end; Python"
        f" {m['python']}, {packages}.",
        "",
        "```bash",
        "./dyn bench",
        "```",
        "",
        "runs all of it again; `./dyn bench NAME` one; `--save run.json` keeps the figures, `--compare run.json` sets",
        "a new run beside them. `./dyn profile NAME` shows where the time of a benchmark goes.",
        "",
        "## Goals",
        "",
        "| work | peer | ratio | spread | goal | |",
        "|---|---|---|---|---|---|",
    ]
    for row in with_goals({name: report[name] for name in tables}):
        spread = f"{row['low']:.3f} - {row['high']:.3f}" if "low" in row else ""
        reached = verdict(row["ratio"], row["goal"])
        if reached != "reached" and row.get("needed"):
            reached += f": {row['needed']}"
        lines.append(f"| {row['work']} | {row['peer']} | {row['ratio']:.3f} | {spread} | {row['goal']:g} | {reached} |")
    for name, table in tables.items():
        lines += ["", f"## {name}", "", "```text", *table, "```"]
    return "\n".join([*lines, ""])
