"""Processes start, end, and leave nothing behind, whoever dies first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from rosgraph_msgs.msg import Clock

from dyn_cli.client.robot_client import CONTROLLER, RobotClient
from dyn_cli.supervision.supervisor import Supervisor
from dyn_nodes.bringup.systems import in_words, system
from dyn_nodes.common.stamps import NANOSECONDS, nanoseconds

pytestmark = pytest.mark.running

NODES = ("simulated_robot", "computed_torque_controller", "stiffness_server")
UP = """
import sys
from dyn_cli.commands.running.up import run
from dyn_cli.main import build_parser
sys.exit(run(build_parser("up").parse_args(["planar_2r", "--rate", "200"])))
"""


def eventually(ready: Callable[[], bool], timeout: float) -> bool:
    end = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def children(pid: int) -> dict[str, int]:
    """Process ids of the nodes that a process has started, by name."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                words = (entry / "cmdline").read_text().split("\0")
            except OSError:
                continue
            if parent == pid and "dyn_nodes.executables" in words:
                found[words[words.index("dyn_nodes.executables") + 1]] = int(entry.name)
    return found


@pytest.fixture
def up(domain: int) -> Iterator[subprocess.Popen[str]]:
    """``dyn up`` in a process of its own, with the controller active."""
    process = subprocess.Popen([sys.executable, "-c", UP], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    started: dict[str, int] = {}
    try:
        for line in process.stderr:
            if "is up" in line:
                break
        started = children(process.pid)
        assert sorted(started) == sorted(NODES)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()
        for pid in started.values():
            if alive(pid):
                os.kill(pid, signal.SIGKILL)


def test_ctrl_c_ends_everything(up: subprocess.Popen[str]) -> None:
    started = children(up.pid)
    up.send_signal(signal.SIGINT)
    assert up.wait(20) == 0
    assert not [name for name, pid in started.items() if alive(pid)]


def test_killing_the_supervisor_leaves_no_child(up: subprocess.Popen[str]) -> None:
    started = children(up.pid)
    up.kill()
    up.wait()
    assert eventually(lambda: not any(alive(pid) for pid in started.values()), 20.0)


def test_a_node_that_dies_ends_the_system_with_status_1(up: subprocess.Popen[str]) -> None:
    started = children(up.pid)
    os.kill(started["stiffness_server"], signal.SIGKILL)
    assert up.stderr is not None
    assert up.wait(30) == 1
    assert "stiffness_server was ended by SIGKILL" in up.stderr.read()
    assert not [name for name, pid in started.items() if alive(pid)]


def test_a_second_robot_of_the_same_name_is_refused(up: subprocess.Popen[str]) -> None:
    second = subprocess.run([sys.executable, "-c", UP], stderr=subprocess.PIPE, text=True, timeout=90, check=False)
    assert second.returncode != 0
    assert "running here already" in second.stderr
    assert up.poll() is None


def test_simulated_time_a_parameter_file_and_a_clean_end(domain: int, tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("/**/simulated_robot:\n  ros__parameters:\n    initial_positions: [0.25, -0.5]\n")
    given = {"robot": "planar_2r", "namespace": "ends", "rate": 200.0, "use_sim_time": True, "params_file": file}
    output: list[str] = []
    with Supervisor(system("sim", given), output=output.append) as supervisor, RobotClient("ends") as client:
        client.activate(CONTROLLER, 60.0)
        state = client.joint_state(60.0)
        np.testing.assert_allclose(state.position, [0.25, -0.5], atol=1e-3)
        with client.record(Clock, "/clock") as clock:
            client.spin(0.5)
            clock.drain()
        stamps = [nanoseconds(message.clock) for message in clock.messages]
        assert len(stamps) > 5
        assert stamps == sorted(stamps)
        assert stamps[-1] < 60 * NANOSECONDS, "simulated time counts from zero"
        assert abs(nanoseconds(state.header.stamp) - stamps[0]) < 10 * NANOSECONDS
        assert client.parameter(CONTROLLER, "use_sim_time") is True
        begin = time.monotonic()
        statuses = supervisor.stop()
        assert time.monotonic() - begin < 3.0
    assert statuses == dict.fromkeys(NODES, 0)
    assert not [line for line in output if "Traceback" in line], output


@pytest.mark.parametrize("node", NODES)
@pytest.mark.parametrize(
    "wrong", [["-p", "robot:=no_such_robot"], ["-p", "robot:=7"], ["-p", "rate:=fast"], ["-p", "no colon"]]
)
def test_wrong_arguments_are_one_line_and_status_2(domain: int, node: str, wrong: list[str]) -> None:
    if node == "stiffness_server" and "rate" in wrong[1]:
        pytest.skip("the stiffness server has no rate")
    command = [sys.executable, "-m", "dyn_nodes.executables", node, "--ros-args", *wrong]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=90, check=False)
    assert ended.returncode == 2, ended.stderr
    lines = [line for line in ended.stderr.splitlines() if line.startswith(f"{node}: ")]
    assert len(lines) == 1, ended.stderr
    assert "Traceback" not in ended.stderr


def test_exit_statuses_in_words() -> None:
    assert in_words(3) == "ended with status 3"
    assert in_words(-signal.SIGKILL) == "was ended by SIGKILL"
