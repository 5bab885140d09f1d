"""A service answer of the stiffness server, p50 and p99, against an empty service of the same types.

Three processes: a client, the stiffness server, and a server that returns the response as it comes
(bench/empty_service). The client asks them in turn; what the stiffness adds is the difference of the medians.
"""

from __future__ import annotations

import os
import time
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np

from bench.processes import running_module
from dyn_core.errors import DynError

ROBOT = "puma560"
Q = [0.1, 0.5, -0.4, 0.3, 0.7, -0.2]
ROUNDS, CALLS = 20, 50
START = 120.0
"""Seconds in which a server must be up."""


def _process(program: tuple[str, ...], namespace: str, *parameters: str) -> AbstractContextManager[None]:
    arguments = ["--ros-args", "--log-level", "warn", "-r", f"__ns:=/{namespace}"]
    return running_module(*program, *arguments, *(word for p in parameters for word in ("-p", p)))


def run() -> dict[str, Any]:
    """Times of an answer in seconds, by what was asked: p50 and p99 of the server and of the empty one."""
    from dyn_nodes.claims import claim_domain

    os.environ["ROS_DOMAIN_ID"] = str(claim_domain())
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    from dyn_robot.srv import GetDeflection, GetStiffness
    from geometry_msgs.msg import Quaternion

    deflection = GetDeflection.Request(positions=Q)
    deflection.wrench.force.z = -50.0
    wrist = GetStiffness.Request(orientation=[Quaternion(x=0.0, y=0.1305, z=0.0, w=0.9914)])
    asked = {
        f"stiffness of {ROBOT}": (ROBOT, GetStiffness, "get_stiffness", GetStiffness.Request(positions=Q)),
        f"deflection of {ROBOT}": (ROBOT, GetDeflection, "get_deflection", deflection),
        "stiffness of agile_wrist, by orientation": ("agile_wrist", GetStiffness, "get_stiffness", wrist),
    }
    with ExitStack() as stack:
        stack.enter_context(_process(("bench.empty_service",), "empty"))
        for robot in dict.fromkeys(robot for robot, *_ in asked.values()):
            server = ("dyn_nodes.executables", "stiffness_server")
            stack.enter_context(_process(server, robot, f"robot:='{robot}'"))
        return {name: _compared(*question) for name, question in asked.items()}


def _compared(robot: str, service: Any, name: str, request: Any) -> dict[str, float]:
    from dyn_cli.client.robot_client import RobotClient

    with RobotClient() as client:
        servers = {place: client.node.create_client(service, f"/{place}/{name}") for place in (robot, "empty")}
        times: dict[str, list[float]] = {place: [] for place in servers}
        for place, server in servers.items():
            if not client.wait(server.service_is_ready, START):
                raise DynError(f"the server of {place} did not come up")
        answer = None
        for k in range(ROUNDS + 1):
            for place, server in servers.items():
                for _ in range(CALLS):
                    began = time.perf_counter()
                    future = server.call_async(request)
                    if not client.wait(future.done, 10.0):
                        raise DynError(f"the server of {place} gave no answer")
                    if k > 0:
                        times[place].append(time.perf_counter() - began)
                answer = future.result() if place == robot else answer
        if answer is None or not answer.success:
            raise DynError(f"{robot}: {answer.message if answer else 'no answer'}")
    ours, empty = (np.percentile(times[place], (50.0, 99.0)) for place in servers)
    return {
        "p50": float(ours[0]),
        "p99": float(ours[1]),
        "empty_p50": float(empty[0]),
        "empty_p99": float(empty[1]),
        "overhead": float(ours[0] - empty[0]),
    }


def table(figures: dict[str, Any]) -> list[str]:
    """The figures as lines."""
    lines = [f"{'service answer':42} {'p50':>9} {'p99':>9}   {'empty p50':>9} {'p99':>9}   added at p50"]
    for name, found in figures.items():
        cells = [f"{1e3 * found[key]:6.3f} ms" for key in ("p50", "p99", "empty_p50", "empty_p99")]
        lines.append(
            f"{name:42} {cells[0]} {cells[1]}   {cells[2]} {cells[3]}   {1e3 * found['overhead']:.3f} ms,"
            f" {found['p50'] / found['empty_p50']:.2f} times an empty answer"
        )
    return lines
