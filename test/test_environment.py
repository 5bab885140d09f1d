"""The set-up of `dyn`: its steps, its notes, its lock, and what it says when something is missing."""

import ast
import errno
import fcntl
import io
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from nodes import environment
from nodes.domain import DOMAINS, claim_domain, claim_robot, robot_runs
from nodes.environment import Environment, SetupError
from nodes.progress import Progress

REPO = Path(environment.__file__).resolve().parent.parent


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small repo of its own."""
    root = tmp_path / "repo"
    for name, text in {
        "CMakeLists.txt": "project(x)",
        "package.xml": "<package/>",
        "LICENSE": "free",
        "requirements/core.txt": "# core\nnumpy==2.0.0\n",
        "requirements/ros.txt": "ros-rclpy==7.1.6\n",
        "requirements/test.txt": "pytest==9.0.0\n",
        "requirements/bench.txt": "pin==4.0.0\n",
        "msg/A.msg": "bool a\n",
        "srv/B.srv": "---\n",
    }.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.setattr(environment, "ROOT", root)
    return root


class Recorded(Environment):
    """An environment whose steps are noted down instead of done."""

    def __init__(self, root: Path, fail: str = "") -> None:
        super().__init__(root / ".venv", sourced=False, progress=Progress(io.StringIO()))
        self.done: list[str] = []
        self.fail = fail

    def _run(self, label: str, *_: object, **__: object) -> None:
        self.done.append(label)
        if "Python environment" in label:
            (self.venv / "bin").mkdir(parents=True)
            (self.venv / "bin" / "python").symlink_to(sys.executable)
            (self.venv / "lib" / "python3.11" / "site-packages").mkdir(parents=True)
        if self.fail and self.fail in label:
            raise SetupError("broken")


def test_first_use_does_every_step_and_second_use_none(root: Path) -> None:
    first = Recorded(root)
    first.ensure("ros")
    assert [label.split()[0] for label in first.done] == [
        "making",
        "installing",
        "installing",
        "preparing",
        "building",
        "installing",
    ]
    assert first.is_complete("ros")
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
    [("msg/A.msg", "messages"), ("requirements/core.txt", "core"), ("CMakeLists.txt", "messages")],
)
def test_a_changed_file_redoes_what_depends_on_it(root: Path, changed: str, expected: str) -> None:
    Recorded(root).ensure("ros")
    path = root / changed
    path.write_text(path.read_text().replace("2.0.0", "2.0.1").replace("bool", "int8") + "\n")
    again = Recorded(root)
    again.ensure("ros")
    assert again.done
    assert all(expected in label for label in again.done)


def test_a_failed_or_interrupted_step_is_done_again(root: Path) -> None:
    with pytest.raises(SetupError, match="broken"):
        Recorded(root, fail="packages of ros").ensure("ros")
    again = Recorded(root)
    again.ensure("ros")
    assert "packages of ros" in again.done[0]


def test_a_half_made_venv_is_made_again(root: Path) -> None:
    with pytest.raises(SetupError, match="broken"):
        Recorded(root, fail="Python environment").ensure("core")
    again = Recorded(root)
    again.ensure("core")
    assert "Python environment" in again.done[0]


def test_a_moved_repo_makes_its_venv_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Recorded(root).ensure("core")
    moved = root.rename(root.parent / "moved")
    monkeypatch.setattr(environment, "ROOT", moved)
    assert not Recorded(moved).is_complete("core")


def test_a_replaced_python_makes_the_venv_again(root: Path) -> None:
    made = Recorded(root)
    made.ensure("core")
    python = made.venv / "bin" / "python"
    python.unlink()
    python.symlink_to("/usr/bin/env")
    assert not made.is_complete("core")
    python.unlink()
    assert not made.is_complete("core")


def test_a_venv_of_the_user_is_left_alone(root: Path) -> None:
    (root / ".venv").mkdir()
    with pytest.raises(SetupError, match="was not made by dyn"):
        Recorded(root).ensure("core")


def test_damaged_notes_count_as_none(root: Path) -> None:
    Recorded(root).ensure("core")
    (root / ".venv" / "dyn" / "state.json").write_text("{")
    assert not Recorded(root).is_complete("core")


def test_packages_cut_off_in_the_middle_are_forgotten(tmp_path: Path) -> None:
    for name, files in {"whole": ("METADATA", "RECORD"), "half": ("METADATA",)}.items():
        (tmp_path / f"{name}.dist-info").mkdir()
        for file in files:
            (tmp_path / f"{name}.dist-info" / file).touch()
    environment._remove_unfinished_packages(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["whole.dist-info"]


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
        assert "another dyn is setting up; waiting for it" in stream.getvalue()
        assert second.done == []
        first = Recorded(root)
        first._make("core")
        fcntl.flock(lock, fcntl.LOCK_UN)
        thread.join(10.0)
    assert first.done
    assert second.done == []
    assert second.is_complete("core")


def test_patching_rewrites_the_builders_paths_once(tmp_path: Path) -> None:
    path = tmp_path / "share" / "a_msgs" / "cmake" / "export_a_msgs__rosidl_generator_pyExport.cmake"
    path.parent.mkdir(parents=True)
    path.write_text(
        'INTERFACE_INCLUDE_DIRECTORIES "/opt/python/cp311-cp311/include/python3.11;'
        '/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"\n'
    )
    assert environment.patch_exports(tmp_path, "/inc/python3.11", r"/site\1/numpy") == 1
    assert path.read_text() == 'INTERFACE_INCLUDE_DIRECTORIES "/inc/python3.11;/site\\1/numpy"\n'
    assert environment.patch_exports(tmp_path, "/inc/python3.11", r"/site\1/numpy") == 0


TOOLS = ("cc", "c++", "cmake", "make")


@pytest.mark.parametrize(
    ("present", "sentence"),
    [
        (0, "there is no C compiler"),
        (1, "there is no C\\+\\+ compiler"),
        (2, "there is no CMake"),
        (3, "there is no `make`"),
    ],
)
def test_a_missing_tool_is_named_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: int, sentence: str
) -> None:
    for tool in TOOLS[:present]:
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(SetupError, match=f"{sentence}: install .*apt install"):
        environment.check_build_tools()


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment.shutil, "which", lambda name: name)
    monkeypatch.setattr(environment.sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(SetupError, match=r"headers of Python .* apt install python3\.\d+-dev"):
        environment.check_build_tools()


@pytest.mark.parametrize("module", ["venv", "ensurepip"])
def test_a_missing_venv_module_is_named(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None if name == module else name)
    with pytest.raises(SetupError, match=rf"no `{module}` module: .* apt install python3\.\d+-venv"):
        environment.check_venv_module()


def test_a_package_that_the_sourced_ros_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    monkeypatch.setattr(environment, "_imports", lambda _, module, __: module != "std_srvs")
    with pytest.raises(SetupError, match=r"no std_srvs: .* apt install ros-jazzy-std-srvs"):
        environment.check_sourced_ros(sys.executable)


@pytest.mark.parametrize(
    ("output", "sentence"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("OSError: [Errno 13] Permission denied: 'x'", "cannot be written"),
        (
            "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError'\n"
            "ERROR: No matching distribution found for numpy==2.0.0",
            "package index cannot be reached",
        ),
        ("ERROR: No matching distribution found for ros-rclpy==7.1.6", "no ready-made package ros-rclpy==7.1.6"),
        ("a.c:1: error: bad\nmake: *** [x] Error 1", "a.c:1: error: bad"),
        ("", "no output"),
    ],
)
def test_a_failed_command_is_explained_in_one_sentence(tmp_path: Path, output: str, sentence: str) -> None:
    with pytest.raises(SetupError) as caught:
        environment._explain_failure("installing", output, tmp_path / "dyn" / "setup.log")
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


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
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    assert not Environment.choose().sourced
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(root / ".venv" / "dyn_robot"))
    assert not Environment.choose().sourced
    monkeypatch.setenv("AMENT_PREFIX_PATH", "/opt/ros/jazzy")
    monkeypatch.setattr(environment, "_imports", lambda *_: True)
    assert Environment.choose().sourced
    monkeypatch.setattr(environment, "_imports", lambda *_: False)
    assert not Environment.choose().sourced


def test_a_command_that_is_interrupted_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(io.StringIO())
    started: list[subprocess.Popen[bytes]] = []

    def interrupted(process: subprocess.Popen[bytes], *_: object) -> str:
        started.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr(progress, "_follow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        progress.run("sleeping", [sys.executable, "-c", "import time; time.sleep(60)"], log=tmp_path / "log")
    assert started[0].returncode is not None


def test_progress_keeps_the_output_and_shows_plain_lines_off_a_terminal(tmp_path: Path) -> None:
    stream = io.StringIO()
    status, output = Progress(stream).run(
        "speaking", [sys.executable, "-c", "print('[ 10%] a'); raise SystemExit(3)"], log=tmp_path / "log"
    )
    assert (status, output) == (3, "[ 10%] a\n")
    assert (tmp_path / "log").read_text() == output
    first, second = stream.getvalue().splitlines()
    assert first == "speaking ..."
    assert second.startswith("speaking: failed in ")


def test_progress_is_live_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    leader, follower = os.openpty()
    program = "import time; print('[ 40%] a', flush=True); time.sleep(0.5)"
    with os.fdopen(follower, "w") as stream, os.fdopen(leader, "rb", buffering=0) as terminal:
        Progress(stream).run("building", [sys.executable, "-c", program], log=tmp_path / "log")
        shown = ""
        while "done" not in shown:
            shown += terminal.read(65536).decode()
    assert re.search(r"building \d+ s  40 %", shown)
    assert re.search(r"\r\x1b\[2Kbuilding: done in ", shown)


def test_domains_are_claimed_once_and_given_back(tmp_path: Path) -> None:
    program = "from nodes.domain import claim_domain; print(claim_domain(), flush=True); input()"
    env = os.environ | {"TMPDIR": str(tmp_path), "PYTHONPATH": str(REPO)}
    claimants = [
        subprocess.Popen([sys.executable, "-c", program], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(2)
    ]
    try:
        claimed = [int(process.stdout.readline()) for process in claimants if process.stdout]
    finally:
        for process in claimants:
            process.communicate(b"\n", timeout=30)
    assert len(set(claimed)) == 2
    assert all(domain in DOMAINS for domain in claimed)
    for domain in claimed:
        with (tmp_path / f"dyn_robot_domain_{domain}.lock").open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_process_never_claims_the_same_domain_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    monkeypatch.setattr("nodes.domain._held", held)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        assert sorted(claim_domain() for _ in DOMAINS) == list(DOMAINS)
        assert claim_domain() == 0
    finally:
        for descriptor in held:
            os.close(descriptor)


def test_a_namespace_has_one_robot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    monkeypatch.setattr("nodes.domain._held", held)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    try:
        assert not robot_runs("left")
        assert claim_robot("/left")
        assert robot_runs("left")
        assert not claim_robot("left")
        assert claim_robot("right")
        monkeypatch.setenv("ROS_DOMAIN_ID", "99")
        assert not robot_runs("left")
    finally:
        for descriptor in held:
            os.close(descriptor)
    monkeypatch.undo()
