"""``dyn up``: a system that runs until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from nodes.bringup import System, system
from nodes.domain import robot_runs
from nodes.supervisor import Supervisor, in_words, to_stderr

if TYPE_CHECKING:  # what takes long to import is imported while the nodes start
    from nodes.client import RobotClient

START_TIMEOUT = 180.0
"""Seconds for the first start, in which the kernels are compiled."""
DISCOVERY = 4.0
"""Seconds in which a robot on another machine is heard, also if its first announcement is missed."""
ALREADY = "a robot is running here already; give this one a --namespace, or another ROS_DOMAIN_ID"


def run(args: argparse.Namespace) -> int:
    """Run the system until it is told to end (status 0) or a node dies (status 1)."""
    given = {"robot": args.robot, "namespace": args.namespace, "realtime_priority": args.realtime_priority}
    given["dac"] = args.dac
    if args.rate is not None:
        given["rate"] = args.rate
    planned = system("sim", given)
    try:
        _refuse_a_second(planned)
        with running(planned) as (_, client):
            print(_welcome(planned), file=sys.stderr, flush=True)
            client.wait(lambda: False, float("inf"), 0.2)
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    except Exception as error:
        from nodes.client import NodeDied

        if not isinstance(error, NodeDied):
            raise
        print(f"dyn up: {error}", file=sys.stderr)
        return 1
    return 0


@contextmanager
def running(planned: System, quiet: list[str] | None = None) -> Iterator[tuple[Supervisor, RobotClient]]:
    """Start a system and activate its lifecycle nodes; every process has ended when the block has.

    While the nodes start, the robot is checked here; one that cannot be run is said in one error, the nodes' own are
    not shown. quiet: a list that takes the nodes' output instead of the terminal.
    """
    previous = signal.signal(signal.SIGTERM, _interrupt)
    output = _Withheld(to_stderr if quiet is None else quiet.append)
    supervisor = Supervisor(planned, output=output)
    try:
        supervisor.start()
        check(planned)
        output.release()
        from nodes.client import RobotClient

        with RobotClient(planned.namespace) as client:
            client.check = lambda: _raise_if_dead(supervisor)
            _activate(planned, client)
            yield supervisor, client
    finally:
        # From here on nothing may interrupt: the children end first.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        supervisor.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, previous)


class _Withheld:
    """Lines that are shown only from ``release`` on."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._held: list[str] | None = []
        self._lock = threading.Lock()

    def __call__(self, line: str) -> None:
        with self._lock:
            if self._held is None:
                self._show(line)
            else:
                self._held.append(line)

    def release(self) -> None:
        with self._lock:
            for line in self._held or []:
                self._show(line)
            self._held = None


def check(planned: System) -> None:
    """The named error of a robot that cannot be run, and a word where the first start takes long."""
    from dyn_core.integration import __file__ as kernels
    from dyn_core.jit import cache_folder
    from nodes.robots import load_fixed_robot

    _ = load_fixed_robot(str(planned.nodes[0].parameters["robot"])).actuation
    if not cache_folder(Path(kernels)).exists():
        print("compiling the kernels, once: this start takes a minute or two", file=sys.stderr, flush=True)


def _activate(planned: System, client: RobotClient) -> None:
    from rcl_interfaces.srv import ListParameters

    from nodes.client import SIMULATION, ClientError

    names = [node.name for node in planned.nodes]
    if SIMULATION in names:
        if not client.running(START_TIMEOUT):
            raise ClientError(f"{SIMULATION} did not come up")
        client.joint_state(START_TIMEOUT)
    for node in planned.nodes:
        if not node.lifecycle:  # a node that joins later would delay the loop, as DDS introduces it to the others
            client.call(ListParameters, f"{node.name}/list_parameters", ListParameters.Request(), START_TIMEOUT)
    for node in planned.nodes:
        if node.lifecycle:
            client.activate(node.name, START_TIMEOUT)
    if SIMULATION in names:
        client.controller_state(START_TIMEOUT)


def _refuse_a_second(planned: System) -> None:
    """Two robots on the same topics would drive each other."""
    local = os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").upper() in ("LOCALHOST", "OFF")
    if local and not robot_runs(planned.namespace):
        return
    from nodes.client import ClientError, RobotClient

    if robot_runs(planned.namespace):
        raise ClientError(ALREADY)
    with RobotClient(planned.namespace) as client:
        if client.running(DISCOVERY):
            raise ClientError(ALREADY)


def _raise_if_dead(supervisor: Supervisor) -> None:
    from nodes.client import NodeDied

    dead = supervisor.dead()
    if dead is not None:
        name, status = dead
        raise NodeDied(f"{name} {in_words(status)}, so the system ends")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _welcome(planned: System) -> str:
    robot = planned.nodes[0].parameters["robot"]
    option = f" --namespace {planned.namespace}" if planned.namespace else ""
    domain = os.environ.get("ROS_DOMAIN_ID", "0")
    return (
        f"{robot} is up (ROS domain {domain}) and holds its position; Ctrl-C ends it. In another terminal:\n"
        f"  ./dyn state{option}    ./dyn move{option} POSITIONS    ./dyn stiffness{option}"
    )
