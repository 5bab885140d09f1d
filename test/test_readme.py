"""Every command of the README works as it stands there, or is named here with the reason why it is not run."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="the commands need ROS 2")

from dyn_nodes.claims import claim_domain

pytestmark = pytest.mark.running

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()

NEEDS_ROS = "needs an installed ROS 2 with colcon and ros2; test_package.py and test/nodes test what they start"
NOT_RUN = {
    "./dyn test": "is what runs this test",
    "./dyn bench": "measures for minutes, and installs what it compares with",
    "colcon build --packages-select dyn_robot": NEEDS_ROS,
    "source install/setup.bash": NEEDS_ROS,
    "ros2 launch dyn_robot sim.launch.py robot:=puma560": NEEDS_ROS,
    "ros2 launch dyn_robot sim.launch.py --show-args": NEEDS_ROS,
}
UP = "./dyn up puma560"
MARK = "DYN_ROBOT_README_TEST"
ALONE = ("./dyn demo", "./dyn demo --json", "./dyn --help", "./dyn robots")
BESIDE = (
    "./dyn state",
    "./dyn move 0 45 -90 0 30 0 --degrees --duration 3",
    "./dyn stiffness",
    "./dyn stiffness --wrench 0 0 -50 0 0 0",
    "./dyn stop --emergency",
    "./dyn clear",
)


def commands() -> list[str]:
    """The lines of the README's bash blocks, in order."""
    blocks = re.findall(r"^```bash\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines() if line.strip() and not line.startswith("#")]


def words(command: str) -> list[str]:
    """The command as this test runs it: `./dyn` by this Python."""
    first, *rest = command.split()
    assert first == "./dyn"
    return [sys.executable, str(ROOT / "dyn"), *rest]


def environment(domain: int) -> dict[str, str]:
    """The environment of the commands, with a mark that everything which they start inherits."""
    return os.environ | {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", MARK: str(domain)}


def started(domain: int) -> list[int]:
    """The processes, begun by commands of this domain, that have not ended."""
    wanted = f"{MARK}={domain}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def kill_started(domain: int) -> None:
    for process in started(domain):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def run(command: str, domain: int, limit: float) -> str:
    """Standard output of a command that must end with status 0 within the limit (s)."""
    process = subprocess.Popen(
        words(command), cwd=ROOT, env=environment(domain), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"{command} did not end within {limit:g} s\n{out[-2000:]}\n{err[-2000:]}")
    assert process.returncode == 0, f"{command} ended with {process.returncode}\n{out[-2000:]}\n{err[-2000:]}"
    return out


@pytest.fixture(scope="module")
def domain() -> Iterator[int]:
    """A ROS domain for the commands that start and end by themselves; in the end nothing of them is left."""
    own = claim_domain()
    yield own
    left = started(own)
    kill_started(own)
    assert left == [], "processes were left behind"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The domain of the README's `./dyn up`, which runs until the last test that uses it has ended."""
    own = claim_domain()
    log = tmp_path_factory.mktemp("up") / "log"
    with log.open("wb") as file:
        process = subprocess.Popen(words(UP), cwd=ROOT, env=environment(own), stdout=file, stderr=file)
    try:
        end = time.monotonic() + 120
        while not moves(own):
            assert process.poll() is None, f"{UP} ended at once:\n{log.read_text()[-3000:]}"
            assert time.monotonic() < end, f"{UP} is not up after 120 s:\n{log.read_text()[-3000:]}"
            time.sleep(0.5)
        yield own
        assert len(started(own)) >= 4, "three nodes and the command"
        process.send_signal(signal.SIGINT)
        try:
            status = process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            pytest.fail(f"{UP} does not end on Ctrl-C:\n{log.read_text()[-3000:]}")
        assert status in (0, 130), log.read_text()[-3000:]
        assert started(own) == [], f"{UP} left processes behind"
    finally:
        kill_started(own)
        process.wait()


def moves(domain: int) -> bool:
    """Whether the controller is up: it does what `./dyn move` asks."""
    stay = words("./dyn move 0 0 0 0 0 0 --duration 0.5")
    return subprocess.run(stay, cwd=ROOT, env=environment(domain), capture_output=True, timeout=60).returncode == 0


def test_every_command_is_known_here() -> None:
    known = {*NOT_RUN, UP, *ALONE, *BESIDE}
    assert set(commands()) == known


@pytest.mark.parametrize("command", NOT_RUN)
def test_commands_that_are_not_run_exist(command: str) -> None:
    if command.startswith("./dyn"):
        assert "usage" in run(f"{command} --help", 0, 60).lower()
    else:
        pytest.skip(NOT_RUN[command])


def test_help_fits_on_a_screen() -> None:
    text = run("./dyn --help", 0, 60)
    assert len(text.splitlines()) <= 40
    assert all(len(line) <= 80 for line in text.splitlines())
    for command in ("demo", "up", "move", "state", "stiffness", "robots", "test", "bench"):
        assert command in text


def test_robots_are_listed() -> None:
    text = run("./dyn robots", 0, 60)
    assert all(name in text for name in ("puma560", "cmu_dd_arm", "planar_2r"))


def test_the_demo_prints_a_table(domain: int) -> None:
    text = run("./dyn demo", domain, 180)
    assert all(f"joint{j}" in text for j in range(1, 7))


def test_the_demo_gives_json(domain: int) -> None:
    assert isinstance(json.loads(run("./dyn demo --json", domain, 180)), dict)


@pytest.mark.parametrize("command", BESIDE)
def test_clients_of_a_running_system(system: int, command: str) -> None:
    assert run(command, system, 60).strip()
