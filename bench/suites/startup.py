"""How long a start takes: import, first call (machine code cached and not), and `./dyn up` to the first joint state."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from dyn_cli.setup.environment import ROOT
from dyn_core.errors import DynError
from dyn_nodes.claims import claim_domain

ROUNDS = 5
GOALS = {"import dyn_core": 0.5, "first call, cached": 0.2, "dyn up to the first joint state": 3.0}
"""Seconds."""
NEEDED = {
    "first call, cached": "numba's own first use, in which it sets up its types, takes most of it",
    "dyn up to the first joint state": "three nodes start at once on two cores, and each imports ROS 2 and numba",
}

PROGRAM = """
import time
start = time.perf_counter()
import dyn_core
imported = time.perf_counter()
import numpy as np
robot = dyn_core.load_robot("puma560")
q = np.zeros(6)
before = time.perf_counter()
robot.inverse_dynamics(q, q, q)
print(imported - start, time.perf_counter() - before)
"""


def fresh(environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of the import and of the first call in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=environment, check=True, timeout=300
    )
    imported, called = done.stdout.split()
    return float(imported), float(called)


def to_first_joint_state() -> float:
    """Seconds from `./dyn up` to the first joint state that another process hears."""
    import rclpy
    from rclpy.qos import qos_profile_sensor_data
    from sensor_msgs.msg import JointState

    domain = claim_domain()
    heard: list[Any] = []
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node("startup_listener", context=context)
    node.create_subscription(JointState, "joint_states", heard.append, qos_profile_sensor_data)
    executor = rclpy.executors.SingleThreadedExecutor(context=context)
    executor.add_node(node)
    environment = os.environ | {"ROS_DOMAIN_ID": str(domain)}
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "dyn"), "up", "puma560"],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not heard and time.monotonic() - start < 60.0 and process.poll() is None:
            executor.spin_once(timeout_sec=0.05)
        took = time.monotonic() - start
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        node.destroy_node()
        rclpy.shutdown(context=context)
    if not heard:
        raise DynError("dyn up published no joint state within 60 s")
    return took


def run() -> list[dict[str, Any]]:
    """Medians over fresh processes, in seconds, beside the goals."""
    warm = [fresh(dict(os.environ)) for _ in range(ROUNDS + 1)][1:]
    with tempfile.TemporaryDirectory() as folder:
        cold = fresh(os.environ | {"NUMBA_CACHE_DIR": folder})[1]
    up = [to_first_joint_state() for _ in range(ROUNDS)]
    imports, calls = zip(*warm, strict=True)
    seconds = {
        "import dyn_core": imports,
        "first call, cached": calls,
        "dyn up to the first joint state": up,
        "first call, nothing cached": (cold,),
    }
    rows = []
    for work, times in seconds.items():
        low, middle, high = (float(x) for x in np.percentile(times, [10, 50, 90]))
        row: dict[str, Any] = {"work": work, "peer": "a clock (s)", "ratio": middle, "low": low, "high": high}
        if work in GOALS:
            row |= {"goal": GOALS[work], "needed": NEEDED.get(work, "")}
        rows.append(row)
    return rows


def table(figures: list[dict[str, Any]]) -> list[str]:
    """The lines to print."""
    lines = [f"{'start':36} {'median':>9}  [10 % - 90 %]"]
    for row in figures:
        goal = ""
        if "goal" in row:
            goal = f"  goal {row['goal']:g} s: {'reached' if row['ratio'] <= row['goal'] else 'missed'}"
        lines.append(f"{row['work']:36} {row['ratio']:7.2f} s  [{row['low']:.2f} - {row['high']:.2f}]{goal}")
    return lines
