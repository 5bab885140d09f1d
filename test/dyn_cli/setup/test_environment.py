"""The set-up of `dyn`: its steps, its notes, its lock, and the variables inside."""

import ast
import errno
import fcntl
import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from dyn_cli.setup import environment, sourced_ros
from dyn_cli.setup.environment import Environment
from dyn_cli.setup.errors import SetupError
from dyn_cli.setup.progress import Progress

REPO = Path(environment.__file__).resolve().parents[2]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small repo of its own."""
    root = tmp_path / "repo"
    for name, text in {
        "CMakeLists.txt": "project(x)",
        "package.xml": "<package><depend>std_srvs</depend></package>",
        "LICENSE": "free",
        "pyproject.toml": "[project]",
        "requirements.lock": "numpy==2.0.0\nros-rclpy==7.1.6\n",
        "msg/A.msg": "bool a\n",
        "srv/B.srv": "---\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(environment, "ROOT", root)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    return root


class Recorded(Environment):
    """An environment whose commands are noted down instead of run."""

    def __init__(self, root: Path, fail: str = "", sourced: bool = False) -> None:
        super().__init__(root / ".venv", sourced=sourced, progress=Progress(io.StringIO()))
        self.done: list[str] = []
        self.commands: list[str] = []
        self.fail = fail

    def _run(self, label: str, command: object, env: object) -> None:
        self.done.append(label)
        self.commands.append(" ".join(map(str, command)) if isinstance(command, list) else "")
        if "Python environment" in label:
            self.python.parent.mkdir(parents=True)
            self.python.symlink_to(sys.executable)
            (self.venv / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        if self.fail and self.fail in label:
            raise SetupError("broken")


def test_first_use_does_every_step_and_second_use_none(root: Path) -> None:
    first = Recorded(root)
    first.ensure("ros")
    assert [label.split()[0] for label in first.done] == ["making", "fetching", "installing", "preparing", "building"]
    assert first.is_complete("ros")
    assert first.is_complete("core")
    assert not first.is_complete("test")
    second = Recorded(root)
    second.ensure("ros")
    assert second.done == []


def test_core_needs_no_interfaces(root: Path) -> None:
    environment_of_core = Recorded(root)
    environment_of_core.ensure("core")
    assert not any("messages" in label for label in environment_of_core.done)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ("msg/A.msg", {"preparing the build of the messages", "building the messages"}),
        ("CMakeLists.txt", {"preparing the build of the messages", "building the messages"}),
        ("pyproject.toml", {"installing core, ros"}),
        ("requirements.lock", {"installing core, ros"}),
    ],
)
def test_a_changed_file_redoes_what_depends_on_it(root: Path, changed: str, expected: set[str]) -> None:
    Recorded(root).ensure("ros")
    path = root / changed
    path.write_text(path.read_text().replace("2.0.0", "2.0.1").replace("bool", "int8") + "\n")
    again = Recorded(root)
    again.ensure("ros")
    assert set(again.done) == expected


def test_a_failed_or_interrupted_step_is_done_again(root: Path) -> None:
    with pytest.raises(SetupError, match="broken"):
        Recorded(root, fail="installing").ensure("ros")
    again = Recorded(root)
    again.ensure("ros")
    assert again.done[0] == "installing core, ros"
    assert "--reinstall" in again.commands[0], "a package may have been cut off in the middle"
    more = Recorded(root)
    more.ensure("test")
    assert more.done == ["installing generate, mjcf, parts, sim, test"]
    assert "--reinstall" not in more.commands[0]


def test_a_half_made_venv_is_made_again(root: Path) -> None:
    for step in ("Python environment", "uv"):
        with pytest.raises(SetupError, match="broken"):
            Recorded(root, fail=step).ensure("core")
    again = Recorded(root)
    again.ensure("core")
    assert "Python environment" in again.done[0]


def test_a_moved_repo_or_a_replaced_python_makes_the_venv_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Recorded(root)
    made.ensure("core")
    assert made.is_complete("core")
    made.python.unlink()
    assert not made.is_complete("core")
    made.python.symlink_to("/usr/bin/env")
    assert not made.is_complete("core")
    made.python.unlink()
    made.python.symlink_to(sys.executable)
    assert made.is_complete("core")
    moved = root.rename(root.parent / "moved")
    monkeypatch.setattr(environment, "ROOT", moved)
    assert not Recorded(moved).is_complete("core")


def test_a_venv_of_the_user_is_left_alone(root: Path) -> None:
    (root / ".venv").mkdir()
    with pytest.raises(SetupError, match="was not made by dyn"):
        Recorded(root).ensure("core")


def test_damaged_notes_count_as_none(root: Path) -> None:
    Recorded(root).ensure("core")
    (root / ".venv" / "dyn" / "state.json").write_text("{")
    assert not Recorded(root).is_complete("core")


def test_the_second_dyn_waits_and_finds_the_work_done(root: Path) -> None:
    with (root / ".venv.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        second = Recorded(root)
        thread = threading.Thread(target=second.ensure, args=("core",))
        thread.start()
        deadline = time.monotonic() + 10.0
        stream = second.progress.stream
        assert isinstance(stream, io.StringIO)
        while "waiting" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "Another dyn is setting up: waiting for it" in stream.getvalue()
        assert second.done == []
        first = Recorded(root)
        first._make("core")
        fcntl.flock(lock, fcntl.LOCK_UN)
        thread.join(10.0)
    assert first.done
    assert second.done == []
    assert second.is_complete("core")


@pytest.mark.parametrize(
    ("code", "sentence"), [(errno.ENOSPC, "disk is full"), (errno.EROFS, "cannot be written"), (errno.EIO, "error")]
)
def test_a_failed_file_operation_is_explained(
    root: Path, monkeypatch: pytest.MonkeyPatch, code: int, sentence: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code), "a file")

    broken = Recorded(root)
    monkeypatch.setattr(broken, "_make_venv", fail)
    with pytest.raises(SetupError, match=sentence):
        broken.ensure("core")


@pytest.mark.parametrize("version", [(2, 7, 18), (3, 10, 0)])
def test_an_old_python_is_refused_with_a_sentence(version: tuple[int, int, int]) -> None:
    source = (REPO / "dyn").read_text()
    ast.parse(source, feature_version=(3, 4))
    program = f"import sys; sys.version_info = {version}; exec(compile({source!r}, 'dyn', 'exec'))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        f"dyn: Python {version[0]}.{version[1]} is too old:"
        " install Python 3.11 or newer and run `python3.11 dyn ...`.\n"
    )


def test_variables_put_the_repo_first_and_stay_on_this_machine(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_AUTOMATIC_DISCOVERY_RANGE", raising=False)
    monkeypatch.delenv("FASTDDS_BUILTIN_TRANSPORTS", raising=False)
    monkeypatch.delenv("FASTRTPS_DEFAULT_PROFILES_FILE", raising=False)
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros/other")
    monkeypatch.setenv("PYTHONPATH", f"/opt/ros/other/lib{os.pathsep}/home/me/lib")
    made = Recorded(root)
    made.ensure("core")
    (made.prefix / "share").mkdir(parents=True)
    env = made.variables()
    interfaces = made.prefix / "lib" / "python3.11" / "site-packages"
    assert env["PYTHONPATH"].split(os.pathsep) == [str(root), str(interfaces), "/home/me/lib"]
    assert env["AMENT_PREFIX_PATH"].split(os.pathsep) == [str(made.prefix), str(made.venv)]
    assert env["PATH"].split(os.pathsep)[0] == str(made.venv / "bin")
    assert env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert env["FASTDDS_BUILTIN_TRANSPORTS"] == "UDPv4"
    assert env["FASTRTPS_DEFAULT_PROFILES_FILE"] == str(root / "config" / "security" / "this_machine.xml")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    assert "FASTRTPS_DEFAULT_PROFILES_FILE" not in made.variables(), "who opens it to the network gets the network"


def test_compiled_modules_are_kept_in_the_venv_for_who_wants_none_beside_sources(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Recorded(root)
    made.ensure("core")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    variables = made.variables()
    assert "PYTHONDONTWRITEBYTECODE" not in variables
    assert Path(variables["PYTHONPYCACHEPREFIX"]).is_relative_to(made.venv)
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE")
    assert "PYTHONPYCACHEPREFIX" not in made.variables()


def test_beside_a_sourced_ros_its_paths_are_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros/jazzy")
    monkeypatch.setenv("PYTHONPATH", "/opt/ros/jazzy/lib")
    (root / ".venv-ros2" / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
    env = Environment(root / ".venv-ros2", sourced=True).variables()
    assert env["AMENT_PREFIX_PATH"] == "/opt/ros/jazzy"
    assert env["PYTHONPATH"].split(os.pathsep) == [str(root), "/opt/ros/jazzy/lib"]


def test_a_sourced_ros_is_used_where_this_python_imports_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Environment.choose().sourced
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(root / ".venv" / "dyn_robot"))
    assert not Environment.choose().sourced
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros/jazzy")
    for there in (True, False):
        monkeypatch.setattr(sourced_ros, "imports", lambda _, there=there: there)
        assert Environment.choose().sourced == there


def test_beside_a_sourced_ros_only_what_it_lacks_is_installed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sourced_ros, "imports", lambda _: True)
    monkeypatch.setattr("dyn_cli.setup.packages.distributions", lambda _: ["numpy", "PyYAML"])
    beside = Recorded(root, sourced=True)
    beside.ensure("map")
    assert "--system-site-packages" in beside.commands[0]
    assert beside.done[2] == "installing core, reproduce"
    assert (beside.folder / "present.txt").read_text().split() == ["numpy", "PyYAML"]
    assert "DYN_ROBOT_PYTHON_ONLY=OFF" in beside.commands[3], "others may speak another DDS, or C++"
    assert beside.is_complete("ros")


def test_the_python_below_a_venv_has_the_same_name_inside_it(tmp_path: Path) -> None:
    subprocess.run([sourced_ros.PYTHON, "-m", "venv", "--without-pip", tmp_path], timeout=60, check=True)
    program = "from dyn_cli.setup import sourced_ros; print(sourced_ros.PYTHON)"
    for name in ("python", "python3"):
        command, env = [tmp_path / "bin" / name, "-c", program], os.environ | {"PYTHONPATH": str(REPO)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout.strip() == sourced_ros.PYTHON, "a set-up beside ROS 2 would be redone inside"


def test_a_package_that_the_sourced_ros_lacks_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    monkeypatch.setattr(sourced_ros, "imports", lambda module: module != "std_srvs")
    with pytest.raises(SetupError, match=r"no std_srvs: .* apt install ros-jazzy-std-srvs"):
        sourced_ros.check(root)
