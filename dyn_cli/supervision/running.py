"""A whole system that runs for as long as a block of code."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dyn_nodes.bringup.systems import System, check, in_words
from dyn_nodes.claims import claim_domain

from .kernels import compile_kernels
from .supervisor import Supervisor, to_stderr

if TYPE_CHECKING:  # what takes long to import is imported while the nodes start
    from dyn_cli.client.robot_client import RobotClient

START_TIMEOUT = 180.0
"""Seconds for a first start."""


@contextmanager
def running(planned: System, quiet: list[str] | None = None) -> Iterator[tuple[Supervisor, RobotClient]]:
    """Start a system and activate its lifecycle nodes; every process has ended when the block has.

    While the nodes start, the robot is checked here; one that cannot be run is said in one error, the nodes' own are
    not shown. quiet: a list that takes the nodes' output instead of the terminal.
    """
    compile_kernels(planned)
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)
    say = to_stderr if quiet is None else quiet.append
    checked, runs = threading.Event(), False

    def output(line: str) -> None:
        checked.wait()
        if runs:
            say(line)

    supervisor = Supervisor(planned, output=output)
    try:
        supervisor.start()
        check(planned)
        runs = True
        checked.set()
        from dyn_cli.client.robot_client import RobotClient

        with RobotClient(planned.namespace) as client:
            client.check = lambda: _raise_if_dead(supervisor)
            _activate(planned, client)
            yield supervisor, client
    finally:
        # From here on nothing may interrupt: the children end first.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        checked.set()
        supervisor.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def running_alone(planned: System, what: str) -> Iterator[tuple[Supervisor, RobotClient]]:
    """As `running`, in a ROS domain of its own and quiet; if it fails, the end of the nodes' output is shown."""
    os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    from dyn_cli.client.robot_client import ClientError

    output: list[str] = []
    try:
        with running(planned, quiet=output) as system:
            yield system
    except ClientError as error:
        print("\n".join(output[-20:]), file=sys.stderr)
        raise ClientError(f"the {what} failed: {error}") from error


def _activate(planned: System, client: RobotClient) -> None:
    from rcl_interfaces.srv import ListParameters

    from dyn_cli.client.robot_client import SIMULATION, ClientError

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


def _raise_if_dead(supervisor: Supervisor) -> None:
    from dyn_cli.client.robot_client import NodeDied

    dead = supervisor.dead()
    if dead is not None:
        name, status = dead
        raise NodeDied(f"{name} {in_words(status)}, so the system ends")
