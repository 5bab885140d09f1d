"""The command line of `dyn`: help that fits a screen, and one clear line for every mistake."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyn_cli import main as cli
from dyn_cli import registry
from dyn_cli.setup import environment
from dyn_cli.setup.errors import SetupError
from dyn_core.errors import DynError

REPO = Path(environment.__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def inside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own environment is the one to run in."""
    monkeypatch.setattr(environment, "enter", lambda *_: None)


def test_the_command_line_needs_the_standard_library_only() -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from dyn_cli import main, registry\n"
        "registry.overview(); print(*sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(REPO)], capture_output=True, text=True, timeout=60, check=True
    )
    top = {name.partition(".")[0] for name in done.stdout.split()}
    assert top - set(sys.stdlib_module_names) - {"__main__", "__mp_main__"} == {"dyn_cli", "dyn_nodes"}


def test_help_fits_one_screen_and_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["--help"])
    assert ended.value.code == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    named = [line.find(f" {name:10} {registry.help_of(name)[0]}") for line in lines for name in registry.NAMES]
    assert sum(place > 0 for place in named) == len(registry.NAMES)


def test_every_command_is_a_file_and_every_such_file_is_listed() -> None:
    folder = REPO / "dyn_cli" / "commands"
    files = {path.stem: path.parent.name for path in folder.glob("*/*.py") if "\nNEEDS = " in path.read_text()}
    assert files == registry.NAMES


@pytest.mark.parametrize("name", list(registry.NAMES))
def test_every_command_has_help_with_examples(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        cli.main([name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert f"./dyn {name}" in text.partition("examples:")[2]
    assert len(text.splitlines()) <= 24


@pytest.mark.parametrize("name", list(registry.NAMES))
def test_every_example_is_understood(name: str) -> None:
    for example in registry.find(name).EXAMPLES:
        program, *words = example.partition(" <")[0].split()
        assert program == "./dyn"
        assert cli.parse(words).command == name


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["fly"], "no command 'fly'"),
        (["demo", "--robots", "x"], "--robots"),
        (["demo", "extra"], "extra"),
        (["up", "a", "b"], "b"),
        (["up", "--rate", "0"], "not greater than 0"),
        (["up", "--rate", "-5"], "not greater than 0"),
        (["up", "--rate", "fast"], "not a number"),
        (["move"], "Q"),
        (["move", "1", "x"], "'x' is not a number"),
        (["move", "1", "--pose", "0", "0", "1", "0", "0", "0"], "not allowed with"),
        (["move", "--pose", "0", "0", "1"], "6 arguments"),
        (["move", "1", "nan"], "not a finite number"),
        (["move", "1", "-inf"], "'-inf' is not a finite number"),
        (["move", "1", "--duration", "inf"], "not a finite number"),
        (["stiffness", "--wrench", "1", "2"], "6 arguments"),
        (["setup", "everything"], "everything"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(words)
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err


def test_without_a_command_the_help_is_shown_and_the_status_is_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main([])
    assert ended.value.code == 2
    assert capsys.readouterr().out == registry.overview()


def test_negative_numbers_are_numbers() -> None:
    args = cli.parse(["move", "0", "-0.5", "-1e-3", "-.5", "--duration", "2", "--no-wait"])
    assert args.positions == [0.0, -0.5, -1e-3, -0.5]
    assert args.wait is False
    args = cli.parse(["move", "--pose", "-0.1", "0", "1", "0", "0", "-5", "--degrees"])
    assert (args.positions, args.pose) == ([], [-0.1, 0.0, 1.0, 0.0, 0.0, -5.0])
    args = cli.parse(["stiffness", "-1", "--wrench", "0", "0", "-5e1", "0", "0", "0"])
    assert args.positions == [-1.0]
    assert args.wrench == [0.0, 0.0, -50.0, 0.0, 0.0, 0.0]


def test_arguments_of_test_go_to_pytest_untouched() -> None:
    assert cli.parse(["test", "-k", "a or b", "-x", "--durations=3"]).arguments == [
        "-k",
        "a or b",
        "-x",
        "--durations=3",
    ]


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (DynError("the arm is asleep"), 2, "dyn: the arm is asleep\n"),
        (SetupError("no compiler."), 2, "dyn: no compiler.\n"),
        (PermissionError(13, "Permission denied", "log.csv"), 2, "dyn: log.csv: Permission denied\n"),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_of_a_command_are_one_line(
    error: BaseException, status: int, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> int:
        raise error

    monkeypatch.setattr("dyn_cli.commands.running.state.run", fail)
    assert cli.main(["state"]) == status
    assert capsys.readouterr().err == line


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = (
        "import sys\nfrom dyn_cli import main as cli\nfrom dyn_cli.setup import environment\n"
        "environment.enter = lambda *_: None\n"
        "sys.stdin.read(); sys.exit(cli.main(['setup']))"
    )
    read, write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=write,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(REPO)},
    )
    os.close(write)
    os.close(read)
    _, err = process.communicate(b"", timeout=60)
    assert err == b""
    assert process.returncode == 141


def test_a_full_disk_is_one_line() -> None:
    program = (
        "import sys\nfrom dyn_cli import main as cli\nfrom dyn_cli.setup import environment\n"
        "environment.enter = lambda *_: None\n"
        "sys.exit(cli.main(['setup']))"
    )
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(REPO)},
            timeout=60,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "dyn: the disk is full: make room and run the command again.\n"


def test_robots_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["robots", "--json"]) == 0
    robots = {row["name"]: row for row in json.loads(capsys.readouterr().out)["robots"]}
    assert {"planar_2r", "puma560", "cmu_dd_arm"} <= set(robots)
    assert robots["puma560"]["joints"] == 6
    assert [robots[name]["kind"] for name in ("puma560", "eel", "elastic_2r")] == [
        "fixed base",
        "floating base",
        "fixed base, elastic",
    ]
    assert cli.main(["robots"]) == 0
    assert any(line.split()[:2] == ["puma560", "6"] for line in capsys.readouterr().out.splitlines())


def test_a_broken_robot_is_listed_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "crooked.yaml").write_text("name: crooked\njoints: 3\n")
    monkeypatch.setenv("DYN_ROBOT_PATH", str(tmp_path))
    assert cli.main(["robots"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("crooked") and "cannot be loaded" in line for line in lines)
    assert any(line.startswith("puma560") for line in lines)


def test_a_robot_is_converted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "arm.urdf"
    assert cli.main(["convert", "planar_2r", str(target)]) == 0
    out, err = capsys.readouterr()
    assert out == f"{target}: planar_2r by urdf, read back and found to be the same robot\n"
    assert "<dyn_robot> keeps them" in err
    assert cli.main(["convert", str(target), str(tmp_path / "arm.yaml")]) == 0
    assert "mdh:" in (tmp_path / "arm.yaml").read_text()
    capsys.readouterr()
    assert cli.main(["convert", "planar_2r", str(target)]) == 2
    assert capsys.readouterr().err == f"dyn: {target} exists already; --force writes over it\n"
    assert cli.main(["convert", "planar_2r", str(target), "--force"]) == 0


def test_a_robot_is_built_from_its_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts, robot = tmp_path / "cmu_dd_arm.parts.yaml", tmp_path / "cmu_dd_arm.yaml"
    parts.write_text((REPO / "config" / "parts" / parts.name).read_text())
    assert cli.main(["parts", "build", str(parts)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.splitlines()[-1] == f"written: {robot}"
    assert any(line.split()[:2] == ["link6", "0.7254"] for line in out.splitlines())
    assert any(line.startswith("    cone (hole)") for line in out.splitlines())
    assert robot.read_text() == (REPO / "config" / "robots" / robot.name).read_text()
    assert cli.main(["parts", "build", str(parts), "--json"]) == 0  # again: the file was made from parts
    report = json.loads(capsys.readouterr().out)
    assert (report["robot"], report["output"], report["warnings"]) == ("cmu_dd_arm", str(robot), [])
    assert report["links"][6]["mass"] == pytest.approx(sum(part["mass"] for part in report["links"][6]["parts"]))
    robot.write_text("name: mine\n")
    assert cli.main(["parts", "build", str(parts)]) == 2
    assert "exists already and was not made from parts; --force writes over it" in capsys.readouterr().err
    assert robot.read_text() == "name: mine\n"
    assert cli.main(["parts", "build", str(parts), "--force"]) == 0
    assert cli.main(["parts", "build", str(parts), "--force", "--output", str(parts)]) == 2
    assert "is the parts database itself" in capsys.readouterr().err


def test_mistakes_in_parts_are_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.parts.yaml").write_text("name: 3\njoints: 4\n")
    assert cli.main(["parts", "build", str(tmp_path / "a.parts.yaml")]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, *others = err.splitlines()
    assert first.startswith(f"dyn: {tmp_path / 'a.parts.yaml'}:1: name: found 3; allowed: a name")
    assert others == [f"{tmp_path / 'a.parts.yaml'}:2: joints: found 4; allowed: a list with at least one entry"]
    assert list(tmp_path.iterdir()) == [tmp_path / "a.parts.yaml"]


@pytest.mark.parametrize("command", [["demo", "--robot", "eel"], ["up", "mobile_manipulator"]])
def test_the_nodes_refuse_a_floating_base(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rclpy", reason="the command needs ROS 2")
    assert cli.main(command) == 2
    err = capsys.readouterr().err
    assert "has a floating base, but the nodes run robots with a fixed one; simulate it in Python" in err
    assert err.count("\n") == 1


OPTIONS = sorted(
    {word for name in registry.NAMES for a in cli.build_parser(name)._actions for word in a.option_strings}
)
JUNK = [
    "0", "1", "-1", "1e308", "-1e400", "nan", "inf", "1_0", "9" * 400, "1e-320", "", " ", "--", "-", "---", "=", "@x",
    "--=x", "\n", "\x1b[2J", "\udcff", "é", "nowhere.yaml", "x" * 3000, "%s", "{0}", "../..", "/dev/null", "puma560",
    *OPTIONS,
    *(f"{option}{value}" for option in OPTIONS for value in ("=", "=x", "=-1")),
]  # fmt: skip
WORDS = st.sampled_from(JUNK) | st.text(max_size=20)


@settings(
    max_examples=500,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(command=st.sampled_from(list(registry.NAMES)) | WORDS, words=st.lists(WORDS, max_size=6))
def test_any_words_are_understood_or_refused_in_one_line(
    command: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status: object = None
    try:
        assert cli.parse([command, *words]).command == command
    except SystemExit as ended:
        status = ended.code
    out, err = capsys.readouterr()
    assert status in (None, 0, 2)
    if status == 2:
        assert out == ""
        assert err.endswith("\n")
        assert err[:-1].isprintable()


ARM = (REPO / "config" / "robots" / "planar_2r.yaml").read_text()
NUMBERS = ["0", "0.3", "-1", "5", "1e50", "-1e50", "1e-320", "1e308", "nan", "9" * 400]
FILES = [
    "arm.yaml",
    "broken.yaml",
    "pipe",
    "folder",
    "loop",
    "nowhere/x.yaml",
    "out.csv",
    "out.urdf",
    "\udcff.yaml",
    "a\nb.yaml",
]
FILES += ["n" * 300, "", ".", "~x", "arm.yaml/x", "planar_2r", "five_bar_saha", "eel"]
COMPUTING = {
    "stiffness": ["--offline", "--robot"],
    "convert": [],
    "generate": [],
    "parts": ["build"],
    "excite": ["--evaluations=2", "--output"],
    "identify": [],
    "robots": [],
    "reproduce": [],
    "map": ["--offline", "--count", "2", "--resolution", "60", "--output", "out.csv", "--robot"],
}
"""Commands that need no ROS, and words that keep them short."""


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_words_run_or_end_in_one_line(
    data: st.DataObject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Through the commands: status 0, 1 or 2, a line where it is 2, and no draft of a file left."""
    monkeypatch.chdir(tmp_path)
    if not (tmp_path / "pipe").exists():
        os.mkfifo(tmp_path / "pipe")
        (tmp_path / "folder").mkdir()
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "arm.yaml").write_text(ARM)
    (tmp_path / "broken.yaml").write_text(ARM[: data.draw(st.integers(0, len(ARM)))])
    name = data.draw(st.sampled_from(sorted(COMPUTING)))
    options = sorted(
        {word for action in cli.build_parser(name)._actions for word in action.option_strings} - {"-h", "--help"}
    )
    words = data.draw(st.lists(st.sampled_from(FILES + NUMBERS + (options or [""])), max_size=4))
    try:
        status: object = cli.main([name, *COMPUTING[name], *words])
    except SystemExit as ended:
        status = ended.code
    err = capsys.readouterr().err
    assert status in (0, 1, 2)
    assert all(line.isprintable() and len(line) < 6000 for line in err.splitlines())
    if status == 2:
        assert err.startswith("dyn")
        assert err.count("\n") == 1 or name == "parts"
    assert not [path.name for path in tmp_path.rglob(".*")]


def test_a_file_of_any_name_is_written_and_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "\udcff.yaml"
    assert cli.main(["convert", "planar_2r", str(target)]) == 0
    assert target.exists()
    assert "\\udcff.yaml: planar_2r by mdh" in capsys.readouterr().out


def test_odd_folders_of_robots_hide_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_text("")
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "endless.yaml").symlink_to("/dev/zero")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "\x1b[2J.yaml").write_bytes(b"\xff\x00")
    with (tmp_path / "huge.yaml").open("wb") as file:
        file.truncate(1 << 34)
    entries = ["n" * 5000, "\udcff", str(tmp_path / "loop"), str(tmp_path / "file"), "/proc/self/mem", str(tmp_path)]
    monkeypatch.setenv("DYN_ROBOT_PATH", os.pathsep.join(entries))
    assert cli.main(["robots"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert all(line.isprintable() for line in out.splitlines())
    assert "huge " in out
    assert "?[2J " in out
    assert any(line.startswith("puma560") for line in out.splitlines())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["excite", "five_bar_saha"], "five_bar_saha has closed chains"),
        (["excite", "planar_2r", "--evaluations", "1e16"], "1 to 100000 motions can be tried"),
        (["map", "--offline", "--resolution", "1e-320"], "--resolution: found .* degrees, at least 0.001 is allowed"),
        (["map", "--resolution", "1e-320"], "--resolution: found .* degrees, at least 0.001 is allowed"),
        (["map", "--joints", "a", "b", "--count", "1e9"], r"1e\+18 poses are too many, at most 5000000"),
        (["stiffness", "--offline", "1e60"], "not a finite number of at most 1e\\+50 in size"),
        (["generate", "n" * 5000], r"n+\.\.\.: File name too long"),
        (["generate", "planar_2r", "--output", "pipe"], r"pipe: cannot be written \(it is not a file\)"),
    ],
)
def test_what_fuzzing_found_is_one_line(
    words: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    try:
        status: object = cli.main(words)
    except SystemExit as ended:
        status = ended.code
    out, err = capsys.readouterr()
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert re.search(sentence, err)
    assert os.listdir() == ["pipe"]


def test_a_warning_is_one_line_once(tmp_path: Path) -> None:
    source = tmp_path / "arm.urdf"
    assert cli.main(["convert", "planar_2r", str(source)]) == 0
    text, count = re.subn(r'izz="[^"]*"', 'izz="1e3"', source.read_text())
    assert count > 0
    source.write_text(text)
    program = (
        "import sys\nfrom dyn_cli import main as cli\nfrom dyn_cli.setup import environment\n"
        "environment.enter = lambda *_: None\n"
        "sys.exit(cli.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "convert", str(source), str(tmp_path / "b.urdf")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPO)},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    said = [line for line in done.stderr.splitlines() if "URDF has no place" not in line]
    assert [line.split(" no real")[0] for line in said] == [f"dyn: warning: {source}:"]
