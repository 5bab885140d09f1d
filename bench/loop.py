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


def run() -> dict[str, Any]:
    """Figures of the loops of the demo's motion."""
    from nodes.demo import run as demo

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = demo(argparse.Namespace(robot="puma560", json=True))
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
    lines = [f"{'loop at 1 kHz':14} {'rate held':>12} {'p50':>9} {'p99':>9} {'max':>9}  within 2 ms   missed"]
    for name in ("controller", "simulation"):
        loop = figures[name]
        lines.append(
            f"{name:14} {loop['rate']:9.1f} Hz {loop['cycle_p50_ms']:6.3f} ms {loop['cycle_p99_ms']:6.3f} ms"
            f" {loop['cycle_max_ms']:6.2f} ms  {100 * loop['within_2ms']:9.2f} %"
            f" {loop['missed_deadlines']:4} of {loop['cycles']}"
        )
    share = figures["controller"]["within_2ms"]
    lines.append(f"goal {100 * GOAL:g} % of cycles within 2 ms: {'reached' if share >= GOAL else 'missed'}")
    lines.append(f"largest tracking error {figures['largest_rms_error']:.2e} rad rms (goal 1e-3)")
    return lines
