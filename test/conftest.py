"""A running system over real DDS, shared by the tests that only look at it or bring it back to where it was."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from running_arm import Arm


@pytest.fixture(scope="session")
def domain() -> int:
    from dyn_nodes.claims import claim_domain

    number = claim_domain()
    os.environ["ROS_DOMAIN_ID"] = str(number)
    os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
    os.environ.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
    return number


@pytest.fixture(scope="session")
def patient(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A parameter file for systems that run side by side on two cores: their states may be late by half a second."""
    file = tmp_path_factory.mktemp("patient") / "nodes.yaml"
    file.write_text("/**:\n  ros__parameters:\n    state_timeout: 0.5\n")
    return str(file)


@pytest.fixture(scope="session")
def shared_arm(domain: int, patient: str) -> Iterator[Arm]:
    from running_arm import Arm

    from dyn_cli.supervision.running import running
    from dyn_core import load_robot
    from dyn_nodes.bringup.systems import system

    output: list[str] = []
    # The ordinary scheduler: other test runs on this machine must not be shut out.
    planned = system("sim", {"robot": "puma560", "namespace": "shared", "realtime_priority": 0, "params_file": patient})
    with running(planned, quiet=output) as (supervisor, client):
        yield Arm(supervisor, client, load_robot("puma560"))
    print(*output, sep="\n")


@pytest.fixture
def arm(shared_arm: Arm) -> Iterator[Arm]:
    shared_arm.restore()
    yield shared_arm
    while shared_arm.recorders:
        shared_arm.recorders.pop().close()
