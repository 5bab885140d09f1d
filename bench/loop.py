"""The control loop between two processes over DDS: how well 1 kHz is held, with the arm in motion."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from typing import Any

from dyn_core.errors import DynError

GOAL = 0.999
"""Share of the controller's cycles within 2 ms."""


PRIORITIES = {"ordinary": 0, "SCHED_FIFO": 50}


def run() -> dict[str, Any]:
    """Figures of the loops of the demo's motion, under the ordinary scheduler and a real-time one."""
    return {name: _measured(priority) for name, priority in PRIORITIES.items()}


def _measured(priority: int) -> dict[str, Any]:
    from nodes.demo import run as demo

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = demo(
            argparse.Namespace(robot="puma560", formulation="projection", json=True, realtime_priority=priority)
        )
    if status != 0:
        raise DynError(f"the demo ended with status {status}")
    report = json.loads(printed.getvalue())
    return {
        "controller": report["controller"],
        "simulation": report["simulation"],
        "largest_rms_error": max(joint["rms_error"] for joint in report["joints"]),
    }


def table(figures: dict[str, Any]) -> list[str]:
    """The figures as lines."""
    lines = [f"{'loop at 1 kHz':24} {'rate held':>12} {'p50':>9} {'p99':>9} {'max':>9}  within 2 ms   missed"]
    for scheduler, found in figures.items():
        for name in ("controller", "simulation"):
            loop = found[name]
            lines.append(
                f"{f'{name}, {scheduler}':24} {loop['rate']:9.1f} Hz {loop['cycle_p50_ms']:6.3f} ms"
                f" {loop['cycle_p99_ms']:6.3f} ms {loop['cycle_max_ms']:6.2f} ms  {100 * loop['within_2ms']:9.2f} %"
                f" {loop['missed_deadlines']:4} of {loop['cycles']}"
            )
    best = max(found["controller"]["within_2ms"] for found in figures.values())
    met = "reached" if best >= GOAL else "missed"
    lines.append(f"goal {100 * GOAL:g} % of the controller's cycles within 2 ms: {met}")
    worst = max(found["largest_rms_error"] for found in figures.values())
    lines.append(f"largest tracking error {worst:.2e} rad rms (goal 1e-3)")
    return lines
