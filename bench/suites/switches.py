"""What the tricks below numba's public interface buy: the same work in processes in which one of them is turned off."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

ROUNDS = 5
SWITCHES = {"DYN_NATIVE_CALLS": "one call", "DYN_SIMD": "a state of a batch"}
"""The switches, and the work that each is for."""

PROGRAM = """
import time
import numpy as np
from dyn_core import load_robot
robot = load_robot("puma560")
def best(call, arguments, times, states):
    call(*arguments)
    found = []
    for _ in range(30):
        start = time.perf_counter()
        for _ in range(times):
            call(*arguments)
        found.append((time.perf_counter() - start) / times / states)
    return min(found)
many = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 8192, 6))
one = [x[0].copy() for x in many]
for call in (robot.inverse_dynamics, robot.forward_dynamics):
    print(best(call, one, 1000, 1), best(call, many, 1, 8192))
"""


def seconds(**variables: str) -> np.ndarray:
    """(2, 2) of inverse and forward dynamics: one call, and a state of a batch."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=os.environ | variables, check=True,
        timeout=600,
    )  # fmt: skip
    return np.array(done.stdout.split(), float).reshape(2, 2)


def run() -> list[dict[str, Any]]:
    """Times with a switch at 1 over times with it at 0, from processes that alternate."""
    rows = []
    for column, (switch, work) in enumerate(SWITCHES.items()):
        pairs = [[seconds(**{switch: value})[:, column] for value in ("1", "0")] for _ in range(ROUNDS)]
        on, off = np.moveaxis(np.array(pairs), 1, 0)
        for k, name in enumerate(("inverse dynamics", "forward dynamics")):
            low, middle, high = (float(x) for x in np.percentile(on[:, k] / off[:, k], [10, 50, 90]))
            rows.append(
                {"work": f"{name}, {work}", "peer": f"{switch}=0", "ratio": middle, "low": low, "high": high,
                 "ours": float(np.median(on[:, k])), "theirs": float(np.median(off[:, k]))}
            )  # fmt: skip
    return rows


def table(figures: list[dict[str, Any]]) -> list[str]:
    """The lines to print."""
    lines = [f"{'puma560':40} {'with it':>9} {'without':>9}  ratio [10 % - 90 %]"]
    for row in figures:
        times = f"{1e6 * row['ours']:6.3f} us {1e6 * row['theirs']:6.3f} us"
        spread = f"{row['ratio']:.2f} [{row['low']:.2f} - {row['high']:.2f}]"
        lines.append(f"{row['work']:40} {times}  {spread} of {row['peer']}")
    return lines
