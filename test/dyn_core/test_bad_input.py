"""Files from outside, damaged at random: each is read, or refused with one line; and none is left half written."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dyn_cli.shell import COMMANDS, Session
from dyn_core import load_robot
from dyn_core.actuation.dac_file import read_calibration, read_dac_file
from dyn_core.description import build_parts, load_mechanism, read_urdf
from dyn_core.description.documents.problems import MAX_PROBLEMS
from dyn_core.errors import DescriptionError, DynError, InputError
from dyn_core.files import MAX_LINE, open_file, user_path, write_whole
from dyn_core.identification import MotionLog, identify, motion_csv, read_motion_log
from dyn_core.robots import convert

CONFIG = Path(__file__).parents[2] / "config"
ROBOTS = sorted((CONFIG / "robots").glob("*.yaml"))
PARTS = CONFIG / "parts" / "cmu_dd_arm.parts.yaml"
DAC = CONFIG / "dac" / "planar_2r.yaml"
WORD = re.compile(r"[^\s,\[\]{}:\"<>=]+")
JUNK = [
    "0", "-1", "1e308", "-1e50", "1e-320", "nan", ".inf", "9" * 400, "~", "[]", "{}", "[0, 0, 0]", "true", "90 deg",
    "base",
    '"\\ud800"', '"\\0"', '"\\UFFFFFFFF"', '"\\e[31m"', "*a", "&a 1", "!!python/object:os.system x", "? x",
    "- x", "|", "%YAML 1." + "1" * 5000, "\0", "é", "<", "&amp;", "&x;", "x" * 5000, "\n", '"a\\nb"',
]  # fmt: skip
fixed = settings(
    max_examples=50, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)


@st.composite
def damaged(draw: st.DrawFn, text: str) -> bytes:
    """A text with words replaced by junk or by each other, lines lost or doubled, the end cut off, bytes changed."""
    for _ in range(draw(st.integers(1, 3))):
        words = list(WORD.finditer(text))
        lines = text.splitlines(keepends=True)
        if not words:
            break
        kind = draw(st.sampled_from(("junk", "junk", "swap", "lose", "double", "cut")))
        at = draw(st.integers(0, len(lines) - 1))
        if kind in ("junk", "swap"):
            word = draw(st.sampled_from(words))
            new = draw(st.sampled_from(JUNK)) if kind == "junk" else draw(st.sampled_from(words)).group()
            text = text[: word.start()] + new + text[word.end() :]
        elif kind == "cut":
            text = text[: draw(st.integers(0, len(text)))]
        else:
            text = "".join(lines[:at] + lines[at : at + 1] * (0 if kind == "lose" else 2) + lines[at + 1 :])
    raw = bytearray(text.encode())
    for _ in range(draw(st.sampled_from((0, 0, 1, 5))) if raw else 0):
        raw[draw(st.integers(0, len(raw) - 1))] = draw(st.integers(0, 255))
    return bytes(raw)


def read_or_refused(read: Callable[[Path], object], path: Path) -> None:
    said: list[str] = []
    try:
        read(path)
    except DynError as error:
        said = [str(error), *getattr(error, "__notes__", ())]
    assert all(line.isprintable() and len(line) < 6000 + len(str(path)) for line in said)


@pytest.mark.filterwarnings("ignore::dyn_core.errors.DescriptionWarning")
@pytest.mark.parametrize("source", [ROBOTS[0], *ROBOTS[4::3]], ids=lambda path: path.stem)
@fixed
@given(data=st.data())
def test_robot_files(source: Path, data: st.DataObject, tmp_path: Path) -> None:
    file = tmp_path / "robot.yaml"
    file.write_bytes(data.draw(damaged(source.read_text())))
    read_or_refused(load_mechanism, file)


@pytest.mark.filterwarnings("ignore::dyn_core.errors.DescriptionWarning")
@settings(fixed, max_examples=15)
@given(data=st.data())
def test_parts_files(data: st.DataObject, tmp_path: Path) -> None:
    file = tmp_path / "robot.parts.yaml"
    file.write_bytes(data.draw(damaged(PARTS.read_text())))
    read_or_refused(build_parts, file)


@pytest.fixture(scope="module")
def urdf(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("urdf") / "puma560.urdf"
    return convert("puma560", file, "urdf").text


@pytest.mark.filterwarnings("ignore::dyn_core.errors.DescriptionWarning")
@settings(fixed, max_examples=150)
@given(data=st.data())
def test_urdf_files(urdf: str, data: st.DataObject, tmp_path: Path) -> None:
    file = tmp_path / "robot.urdf"
    file.write_bytes(data.draw(damaged(urdf)))
    read_or_refused(read_urdf, file)


@fixed
@given(data=st.data())
def test_dac_and_calibration_files(data: st.DataObject, tmp_path: Path) -> None:
    file, calibration = tmp_path / "dac.yaml", tmp_path / "calibration.yaml"
    file.write_bytes(data.draw(damaged(DAC.read_text())))
    read_or_refused(read_dac_file, file)
    entry = "{joint: shoulder, device: a, channel: 0, gain: 1.01, offset: -0.002, residual: 1e-3, points: 5}"
    calibration.write_bytes(data.draw(damaged(f"robot: planar_2r\ndate: today\nchannels:\n  - {entry}\n")))
    read_or_refused(read_calibration, calibration)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(fixed, max_examples=80)
@given(data=st.data())
def test_motion_logs(data: st.DataObject, tmp_path: Path) -> None:
    robot = load_robot("planar_2r")
    t = np.linspace(0.0, 1.0, 40)
    q = np.sin(np.outer(t, (5.0, 7.0)))
    file = tmp_path / "log.csv"
    file.write_bytes(data.draw(damaged(motion_csv(robot.mechanism, t, q=q, tau=q))))
    read_or_refused(lambda path: identify(robot, read_motion_log(path, robot.mechanism)), file)


@settings(fixed, max_examples=100)
@given(raw=st.binary(max_size=300))
def test_any_bytes_at_all(raw: bytes, tmp_path: Path) -> None:
    mechanism = load_robot("planar_2r").mechanism
    file = tmp_path / "file"
    file.write_bytes(raw)
    for read in (load_mechanism, build_parts, read_urdf, read_dac_file, lambda path: read_motion_log(path, mechanism)):
        with pytest.raises(DynError) as refused:
            read(file)
        assert str(refused.value).isprintable()


@pytest.mark.parametrize("what", ["pipe", "folder", "nothing", "dangling link", "endless device", "no name"])
def test_what_is_no_file_is_refused_at_once(what: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    elif what == "dangling link":
        path.symlink_to(tmp_path / "nowhere")
    elif what == "endless device":
        path.symlink_to("/dev/zero")
    elif what == "no name":
        path = tmp_path / "x\0y"
    mechanism = load_robot("planar_2r").mechanism
    for read in (load_mechanism, build_parts, read_urdf, read_dac_file, lambda path: read_motion_log(path, mechanism)):
        with pytest.raises(DynError, match="cannot be read"):
            read(path)
    with pytest.raises(OSError, match=r"Errno|no file"):
        open_file(path)


def test_a_link_to_a_file_is_that_file(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").symlink_to(CONFIG / "robots" / "planar_2r.yaml")
    assert load_mechanism(tmp_path / "robot.yaml").n == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('name: "\\UFFFFFFFF"', ":1: is not valid YAML: no such character"),
        ("%YAML 1." + "1" * 5000 + "\n---\nname: x", ":1: is not valid YAML: no such character or version"),
        ('name: "\\ud800"', "control characters"),
        ('name: x\ndescription: "\\e[2J"', ":2: found .*control characters"),
        ("joints: [" + "1," * 120_000 + "1]", "more than 100000 values"),
        ("".join(f"key{i}: 1\n" for i in range(3000)), rf"key0: unknown key.* \(and {MAX_PROBLEMS - 1} more"),
        (f"{'k' * 900}: 1", r"k{57}\.\.\.: unknown key"),
        ('"a\\nb": 1', "a b: unknown key"),
        ('kind: spherical\nworking_mode: [1, 1, "x"]', "working_mode"),
    ],
    ids=range(9),
)
def test_bounds_of_yaml(text: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "robot.yaml"
    file.write_text(text)
    with pytest.raises(DescriptionError, match=complaint) as refused:
        load_mechanism(file)
    assert str(refused.value).isprintable()


def test_bounds_of_logs(tmp_path: Path) -> None:
    mechanism = load_robot("planar_2r").mechanism
    file = tmp_path / "log.csv"
    file.write_text("t" * (MAX_LINE + 1))
    with pytest.raises(InputError, match=r"log\.csv:1: the line has"):
        read_motion_log(file, mechanism)
    file.write_text("t,q1,q2,tau1,tau2\n0,1e60,0,0,0\n")
    with pytest.raises(InputError, match=r"log\.csv:2: column q1: found '1e60'"):
        read_motion_log(file, mechanism)


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    write_whole(file, "old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(InputError, match="cannot be written"):
                write_whole(file, "new")
        assert file.read_text() == "old"
        assert os.listdir(tmp_path) == ["file"]
    shutil.rmtree(tmp_path)
    with pytest.raises(InputError, match="cannot be written"):
        write_whole(file, "new")


SCHEDULES = {
    "s.csv": "t,v_shoulder,v_elbow\n0,1,-1\n0.002,0.5,2\n0.004,0,0\n",
    "s.yaml": "interpolation: ramp\npoints:\n  - {t: 0, voltage: [1, -1]}\n  - {t: 0.004, voltage: [0.5, 2]}\n",
}


@pytest.mark.parametrize("name", SCHEDULES)
@settings(fixed, max_examples=60)
@given(data=st.data())
def test_schedules(name: str, data: st.DataObject, tmp_path: Path) -> None:
    """Through the shell, which simulates with what was read; times far apart are too many steps, not a flood."""
    (tmp_path / name).write_bytes(data.draw(damaged(SCHEDULES[name])))
    session = Session(COMMANDS, "planar_2r")
    how = data.draw(st.sampled_from(("", " hold", " ramp", " steps 3")))
    read_or_refused(lambda path: session.execute(f"simulate schedule {path}{how}"), tmp_path / name)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session and its recording."""
    file = tmp_path_factory.mktemp("saved") / "a.sim"
    session = Session(COMMANDS, "planar_2r")
    for line in ("voltage = 1 -1", "simulate steps 3", f"save {file}"):
        session.execute(line)
    return file


@settings(fixed, max_examples=40)
@given(data=st.data())
def test_saved_sessions_and_recordings(saved: Path, data: st.DataObject, tmp_path: Path) -> None:
    recording = tmp_path / "a.sim.csv"
    recording.write_bytes(data.draw(damaged(saved.with_name("a.sim.csv").read_text())))
    (tmp_path / "a.sim").write_bytes(data.draw(st.just(saved.read_bytes()) | damaged(saved.read_text())))
    session = Session(COMMANDS, "planar_2r")
    read_or_refused(lambda path: session.execute(f"load {path}"), tmp_path / "a.sim")
    read_or_refused(lambda path: session.execute(f"read_results {path}"), recording)
    for line in ("show", "print_simulation", "simulate continue steps 2"):
        read_or_refused(lambda _, line=line: session.execute(line), recording)  # type: ignore[misc]


@settings(fixed, max_examples=60)
@given(data=st.data())
def test_meshes(data: st.DataObject, tmp_path: Path) -> None:
    from meshes import ascii_stl, binary_stl, cube, read

    raw = bytearray(binary_stl(cube()))
    for _ in range(data.draw(st.integers(1, 20))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    binary = bytes(raw[: data.draw(st.just(len(raw)) | st.integers(0, len(raw)))])
    content = data.draw(st.just(binary) | damaged(ascii_stl(cube()).decode()))
    read_or_refused(lambda folder: read(folder, content), tmp_path)


def test_parts_beyond_all_size_are_refused_at_their_line(tmp_path: Path) -> None:
    file = tmp_path / "robot.parts.yaml"
    file.write_text(PARTS.read_text().replace("radius: 0.070, length: 0.012", "radius: 1e16, length: 0.012", 1))
    assert file.read_text() != PARTS.read_text()
    with pytest.raises(DescriptionError, match=r"parts\.yaml:\d+: .*link\.inertia\.xx: found .*at most 1e\+50"):
        build_parts(file)


def test_a_log_with_an_endless_gap_and_a_vanishing_cutoff_are_refused() -> None:
    robot = load_robot("planar_2r")
    t = np.linspace(0.0, 1.0, 40)
    q = np.sin(np.outer(t, (5.0, 7.0)))
    with pytest.raises(InputError, match="too few for 11 base parameters"):
        identify(robot, MotionLog("log", np.append(t[:-1], 1e40), q, tau=q))
    with pytest.raises(InputError, match="the cutoff must lie between one period in the whole log"):
        identify(robot, MotionLog("log", t, q, tau=q), cutoff=1e-300)


@pytest.mark.parametrize("what", ["pipe", "device", "folder"])
def test_what_is_no_file_is_not_written_over(what: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/full")
    else:
        path.mkdir()
    before = path.lstat()
    with pytest.raises(InputError, match=r"x: cannot be written \(it is (a folder|not a file)\)"):
        write_whole(path, "text")
    assert os.listdir(tmp_path) == ["x"]
    assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_a_link_stays_a_link_and_long_names_are_written(tmp_path: Path) -> None:
    link, long = tmp_path / "link", tmp_path / ("n" * 255)
    link.symlink_to(long)
    write_whole(link, "text")
    assert link.is_symlink()
    assert long.read_text() == "text"
    with pytest.raises(InputError, match="no file can have this name"):
        write_whole(tmp_path / "a\0b", "text")
    with pytest.raises(InputError, match="there is no user of that name"):
        user_path("~no_such_user/file")


def test_complex_numbers_are_refused() -> None:
    robot = load_robot("puma560")
    with pytest.raises(InputError, match="q must be real numbers"):
        robot.inverse_dynamics(np.zeros(6) + 1j, np.zeros(6), np.zeros(6))


def test_what_the_description_says_cannot_be_assigned_to_a_robot() -> None:
    for name in ("puma560", "five_bar_saha", "eel"):
        with pytest.raises(AttributeError, match="belongs to the description"):
            load_robot(name).gravity = np.zeros(3)
