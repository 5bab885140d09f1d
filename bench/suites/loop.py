"""The control path between processes over DDS: joint state out, command back, at several rates.

A plant publishes joint states at a rate and takes the commands that answer them, each with its joint state's stamp.
The turn is the time from the one to the other. Our controller's loop takes messages straight from the subscription, and
reads and writes their bytes; so does the plant beside it, as simulated_robot does. The limit of plain rclpy is a pair
of nodes on two SingleThreadedExecutors that exchange the same messages and compute nothing. Plant and peer run in
processes of their own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bench.processes import running_module
from dyn_core.errors import DynError

RATES = (250.0, 500.0, 1000.0, 2000.0)
ROBOTS = ("puma560", "gough_stewart")
SECONDS = 5.0
SETTLE = 1.0
"""Seconds at the start of a run that do not count: discovery, first calls."""
TURN_GOAL = 0.6
"""Of the bare pair's median turn."""
NEEDED = (
    "fewer wake-ups in DDS: a turn wakes four threads, and already costs about as much where both sides only pass the"
    " bytes on and compute nothing"
)
LATE = 2e-3
LATE_GOAL = 1e-3
"""Share of the cycles at 1 kHz that may take longer than LATE seconds."""
TRACKING_GOAL = 1e-3
BARE = "a bare rclpy pair"
PRIORITY = 20
FIRST = f"SCHED_FIFO {PRIORITY}"


def plant(robot_name: str, rate: float, by_executor: bool, priority: int = 0) -> dict[str, Any]:
    """Publish joint states and time the answers; runs in a process of its own. priority: of SCHED_FIFO, 0 for none."""
    import rclpy
    from dyn_robot.msg import MotorCommand
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    from dyn_core import load_robot
    from dyn_nodes.common.cdr import CdrPublisher, stamp_of
    from dyn_nodes.common.direct_subscription import SubscriptionWaiter, subscribe, take_newest
    from dyn_nodes.common.loop_thread import quiet_interpreter, schedule
    from dyn_nodes.common.qos import FRESH, STREAM
    from dyn_nodes.common.stamps import NANOSECONDS, nanoseconds

    robot = load_robot(robot_name)
    rclpy.init()
    node = rclpy.create_node("plant")
    zeros = [0.0] * robot.n
    state = JointState(name=list(robot.joint_names), position=robot.neutral().tolist(), velocity=zeros, effort=zeros)
    publisher = node.create_publisher(JointState, "joint_states", STREAM)
    sent: dict[int, int] = {}
    turns: list[int] = []
    received: list[int] = []
    start, period = time.time_ns(), round(NANOSECONDS / rate)

    def answered(stamp: int) -> None:
        now = time.monotonic_ns()
        at = sent.pop(stamp, None)
        if at is not None:
            turns.append(now - at)
            received.append(now)

    count = round((SETTLE + SECONDS) * rate)
    if by_executor:
        k = 0

        def tick() -> None:
            nonlocal k
            stamp = start + k * period
            state.header.stamp.sec, state.header.stamp.nanosec = divmod(stamp, NANOSECONDS)
            sent[stamp] = time.monotonic_ns()
            publisher.publish(state)
            k += 1

        def take(command: MotorCommand) -> None:
            answered(nanoseconds(command.header.stamp))

        node.create_subscription(MotorCommand, "motor_commands", take, FRESH)
        node.create_timer(1.0 / rate, tick)
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        end = time.monotonic() + SETTLE + SECONDS
        while time.monotonic() < end:
            executor.spin_once(timeout_sec=0.1)
    else:
        subscription = subscribe(node, MotorCommand, "motor_commands")
        waiter, outgoing = SubscriptionWaiter(node, subscription), CdrPublisher(publisher, state)
        quiet_interpreter()
        schedule(priority)
        first = time.monotonic_ns()
        for k in range(count):
            deadline = first + k * period
            while (ahead := deadline - time.monotonic_ns()) > 0:
                waiter.wait(ahead / NANOSECONDS)
                command, _ = take_newest(subscription, raw=True)
                if command is not None:
                    answered(stamp_of(command))
            stamp = start + k * period
            sent[stamp] = time.monotonic_ns()
            outgoing.publish(stamp)
    rclpy.shutdown()
    settled = [i for i, at in enumerate(received) if at - received[0] > SETTLE * NANOSECONDS]
    cycles = np.diff(np.array(received)[settled]) * 1e-9
    turn = np.array(turns)[settled] * 1e-9
    if len(cycles) < 0.1 * count:
        raise DynError(f"{len(cycles)} of {count} joint states were answered")
    return {
        "rate_held": float(len(cycles) / cycles.sum()),
        "cycle": _percentiles(cycles),
        "turn": _percentiles(turn),
        "late": float(np.mean(cycles > LATE)),
        "answered": len(turn) / (SECONDS * rate),
    }


def answer() -> None:
    """The other half of the bare pair: a command for every joint state, on an executor; runs until it is ended."""
    import rclpy
    from dyn_robot.msg import MotorCommand
    from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    from dyn_nodes.common.qos import FRESH, STREAM

    rclpy.init()
    node = rclpy.create_node("bare_controller")
    publisher = node.create_publisher(MotorCommand, "motor_commands", STREAM)

    def on_state(message: JointState) -> None:
        n = len(message.name)
        command = MotorCommand(name=message.name, torque=[0.0] * n, voltage=[0.0] * n, dac_code=[0] * n)
        command.saturated = [False] * n
        command.header.stamp = message.header.stamp
        publisher.publish(command)

    node.create_subscription(JointState, "joint_states", on_state, FRESH)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    with contextlib.suppress(KeyboardInterrupt, ExternalShutdownException):
        executor.spin()


def _percentiles(seconds: np.ndarray) -> dict[str, float]:
    p50, p99, p999 = np.percentile(seconds, [50.0, 99.0, 99.9])
    return {"p50": float(p50), "p99": float(p99), "p99.9": float(p999), "max": float(seconds.max())}


@contextlib.contextmanager
def _controller(robot: str, rate: float, priority: int = 0) -> Iterator[None]:
    from dyn_cli.supervision.running import running
    from dyn_nodes.bringup.systems import system

    planned = system("control", {"robot": robot, "rate": rate, "realtime_priority": priority})
    alone = replace(planned, nodes=tuple(node for node in planned.nodes if node.lifecycle))
    with running(alone, quiet=[]):
        yield


def _run_plant(robot: str, rate: float, how: str, priority: int = 0) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.suites.loop", "plant", robot, str(rate), how, str(priority)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise DynError(f"the loop of {robot} at {rate:g} Hz failed: {(done.stderr.strip() or 'no output')[-300:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run() -> dict[str, Any]:
    """All rates and robots, the bare pair, and how well the demo's motion is tracked."""
    from dyn_nodes.claims import claim_domain

    os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
    loops: dict[str, dict[str, Any]] = {BARE: {}, **{robot: {} for robot in ROBOTS}}
    rows = []
    for rate in RATES:
        with running_module("bench.suites.loop", "answer"):
            limit = loops[BARE][f"{rate:g}"] = _run_plant("puma560", rate, "executor")
        for robot in ROBOTS:
            with _controller(robot, rate):
                found = loops[robot][f"{rate:g}"] = _run_plant(robot, rate, "direct")
            ratio = found["turn"]["p50"] / limit["turn"]["p50"]
            work = f"{robot} at {rate:g} Hz"
            turn = {"work": f"{work}: median turn", "peer": BARE, "ratio": ratio, "goal": TURN_GOAL}
            rows.append({**turn, "needed": NEEDED})
            if rate == 1000.0:
                rows.append(_late(work, found))
                if _may_have_priority():
                    with _controller(robot, rate, PRIORITY):
                        first = _run_plant(robot, rate, "direct", PRIORITY)
                    loops[f"{robot}, {FIRST}"] = {f"{rate:g}": first}
                    rows.append(_late(f"{work}, {FIRST}", first))
    tracking = {"work": "tracking error of the demo", "peer": "1 rad rms", "ratio": _tracking(), "goal": TRACKING_GOAL}
    return {"loops": loops, "goals": [*rows, tracking]}


def _late(work: str, found: dict[str, Any]) -> dict[str, Any]:
    row = {"work": f"{work}: cycles over 2 ms", "peer": "all cycles", "ratio": found["late"], "goal": LATE_GOAL}
    return {**row, "needed": "the loop's threads before all others: realtime_priority, where the system permits it"}


def _may_have_priority() -> bool:
    """Whether this user may give a thread a real-time priority."""
    program = f"import os; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param({PRIORITY + 1}))"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=False).returncode == 0


def _tracking() -> float:
    """The largest rms error (rad) of a joint of puma560 in the demo's motion, with motors and DAC in the loop."""
    from dyn_cli.commands.running.demo import run as demo
    from dyn_cli.main import build_parser

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = demo(build_parser("demo").parse_args(["--json"]))
    if status != 0:
        raise DynError(f"the demo ended with status {status}")
    return max(float(joint["rms_error"]) for joint in json.loads(printed.getvalue())["joints"])


def table(figures: dict[str, Any]) -> list[str]:
    """The lines to print."""
    lines = [
        f"{'':34} {'rate held':>11}  {'cycle p50, p99, p99.9, max (ms)':>34}  {'turn p50, p99, p99.9, max (ms)':>34}"
        f"  {'over 2 ms':>9}"
    ]
    for who, rates in figures["loops"].items():
        for rate, found in rates.items():
            cycle, turn = (" ".join(f"{1e3 * x:8.3f}" for x in found[what].values()) for what in ("cycle", "turn"))
            lines.append(
                f"{f'{who} at {rate} Hz':34} {found['rate_held']:8.1f} Hz  {cycle:>34}  {turn:>34}"
                f"  {100 * found['late']:7.2f} %"
            )
    lines.append("")
    for row in figures["goals"]:
        met = "reached" if row["ratio"] <= row["goal"] else "missed"
        lines.append(f"{row['work']:44} {row['ratio']:.2g} of {row['peer']} (goal {row['goal']:g}): {met}")
    return lines


def _main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.suites.loop")
    parser.add_argument("part", choices=("plant", "answer"))
    parser.add_argument("settings", nargs="*")
    args = parser.parse_args(argv)
    if args.part == "answer":
        answer()
        return 0
    robot, rate, how, priority = args.settings
    print(json.dumps(plant(robot, float(rate), how == "executor", int(priority))))
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
