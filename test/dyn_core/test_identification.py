"""Identification: from a simulated, noisy motion back to the parameters that made it."""

from __future__ import annotations

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core import Robot, load_robot
from dyn_core.description import load_mechanism
from dyn_core.description.refit import RobotText
from dyn_core.errors import DescriptionError, InputError
from dyn_core.excitation import FourierSeries, excite
from dyn_core.files import write_whole
from dyn_core.identification import identify, physical_parameters, prepare, with_parameters
from dyn_core.mechanism import Mechanism
from dyn_core.motion_log import MotionLog, motion_csv, read_motion_log
from dyn_core.pseudo_inertia import from_log_cholesky, inertial_parameters, pseudo_inertia
from dyn_core.tree.regressor import WIDTH, standard_parameters
from nodes import cli, environment

ROOT = Path(__file__).parent.parent.parent


def believed(m: Mechanism, rng: np.random.Generator) -> Mechanism:
    """A wrong but physical model of a robot: masses scaled, rotors and friction off."""
    chi = standard_parameters(m).reshape(m.n, WIDTH).copy()
    chi[:, :10] *= rng.uniform(0.7, 1.3, (m.n, 1))
    chi[:, 10:] *= rng.uniform(0.5, 1.5, (m.n, 3))
    return with_parameters(m, chi.ravel())


def series(robot: Robot, seed: int, duration: float = 10.0) -> FourierSeries:
    return excite(robot, duration, evaluations=8, seed=seed).trajectory


def recorded(robot: Robot, motion: FourierSeries, rng: np.random.Generator, noise: float, rate: float) -> MotionLog:
    """Two periods with noise on the torques, a given part of their size."""
    t = np.arange(0.0, 2.0 * motion.duration, 1.0 / rate)
    q, qd, qdd = motion.sample(t % motion.duration)
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau = tau + noise * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return MotionLog("simulation", t, q, qd, qdd, tau)


def torque_error(a: Mechanism, b: Mechanism, motion: FourierSeries) -> float:
    """Relative error of b's torques in a motion."""
    state = motion.sample(np.linspace(0.0, motion.duration, 300))
    tau = Robot(a).inverse_dynamics(*state)
    return float(np.linalg.norm(Robot(b).inverse_dynamics(*state) - tau) / np.linalg.norm(tau))


@pytest.mark.parametrize("name", ["planar_2r", "puma560"])
def test_parameters_come_back_within_their_confidence(name: str) -> None:
    rng = np.random.default_rng(1)
    robot = load_robot(name)
    model = Robot(believed(robot.mechanism, rng))
    found = identify(model, recorded(robot, series(robot, 1), rng, 0.02, 200.0))
    off = (found.beta - found.base.values(robot.standard_parameters)) / found.std
    assert np.sqrt((off**2).mean()) < 1.5
    assert np.sqrt((off**2).mean()) > 0.5
    assert np.abs(off).max() < 4.0
    fitted = with_parameters(robot.mechanism, found.chi)
    other = series(robot, 7, 6.0)
    assert torque_error(robot.mechanism, fitted, other) < 0.005
    assert torque_error(robot.mechanism, model.mechanism, other) > 0.03
    assert found.rms["physical"] == pytest.approx(found.rms["base"], rel=0.02)


def test_positions_alone_are_enough() -> None:
    """Noisy positions and torques, no speeds: filtered, differentiated, and still within the confidence."""
    rng = np.random.default_rng(2)
    robot = load_robot("planar_2r")
    log = recorded(robot, series(robot, 1), rng, 0.02, 500.0)
    log = replace(log, q=log.q + 2e-5 * rng.normal(size=log.q.shape), qd=None, qdd=None)
    found = identify(Robot(believed(robot.mechanism, rng)), log)
    assert 1.0 < found.samples.cutoff < 20.0
    off = (found.beta - found.base.values(robot.standard_parameters)) / found.std
    assert np.abs(off).max() < 4.5
    assert torque_error(robot.mechanism, with_parameters(robot.mechanism, found.chi), series(robot, 7)) < 0.01


def test_filter_gives_the_derivatives_of_a_smooth_motion() -> None:
    robot = load_robot("planar_2r")
    motion = series(robot, 3)
    t = np.arange(0.0, 20.0, 0.005)
    q, qd, qdd = motion.sample(t % 10.0)
    samples = prepare(robot, MotionLog("x", t, q, tau=q), cutoff=20.0)
    middle = slice(200, -200)
    assert np.abs(samples.qd - qd)[middle].max() < 1e-3 * np.abs(qd).max()
    assert np.abs(samples.qdd - qdd)[middle].max() < 1e-2 * np.abs(qdd).max()
    jitter = t + np.random.default_rng(0).uniform(-0.001, 0.001, len(t))
    uneven = prepare(robot, MotionLog("x", jitter, motion.sample(jitter % 10.0)[0], tau=q), cutoff=20.0)
    assert "not evenly spaced" in uneven.notes[0]
    inner = slice(200, -200)
    expected = motion.sample(uneven.t % 10.0)[1]
    assert np.abs(uneven.qd - expected)[inner].max() < 1e-2 * np.abs(qd).max()


def test_voltages_serve_as_well_as_torques() -> None:
    rng = np.random.default_rng(3)
    robot = load_robot("planar_2r")
    log = recorded(robot, series(robot, 1), rng, 0.0, 100.0)
    volts = robot.actuation.voltages(log.tau, log.qd)[0]
    by_volts = identify(robot, replace(log, tau=None, v=volts))
    assert by_volts.beta == pytest.approx(identify(robot, log).beta, abs=1e-6)


def test_what_a_motion_does_not_show_keeps_the_prior() -> None:
    """Only the elbow moves: nothing of the shoulder's inertia or friction shows."""
    robot = load_robot("planar_2r")
    t = np.linspace(0.0, 10.0, 500)
    q = np.column_stack([np.full_like(t, 0.3), np.sin(t)])
    qd = np.column_stack([np.zeros_like(t), np.cos(t)])
    qdd = np.column_stack([np.zeros_like(t), -np.sin(t)])
    found = identify(robot, MotionLog("x", t, q, qd, qdd, robot.inverse_dynamics(q, qd, qdd)))
    verdict = dict(zip(found.base.names, found.verdicts, strict=True))
    assert {verdict[name] for name in ("ZZ_upper_arm", "Fv_shoulder", "Fs_shoulder")} == {"not excited"}
    assert verdict["Fv_elbow"] == "ok"
    assert found.beta == pytest.approx(found.prior, abs=1e-6)
    assert json.dumps(found.as_dict(), allow_nan=False)


@pytest.mark.parametrize("seed", range(3))
def test_standard_parameters_are_physical_even_where_the_data_are_not(seed: int) -> None:
    """Base parameters of an impossible robot (negative masses) give the nearest possible one."""
    rng = np.random.default_rng(seed)
    m = random_mechanism(rng, 4)
    base = Robot(m).base_parameters()
    chi = standard_parameters(m)
    wrong = base.values(chi) - 1.5 * np.abs(base.values(chi)) * rng.uniform(0.0, 1.0, len(base.columns))
    found = physical_parameters(m, chi, base, wrong, np.eye(len(wrong)) * 10.0).reshape(m.n, WIDTH)
    assert np.linalg.eigvalsh(pseudo_inertia(found[:, :10])).min() > 0.0
    assert found[:, 10:].min() >= 0.0


def test_pseudo_inertia_is_inverted_and_differentiated() -> None:
    rng = np.random.default_rng(0)
    parameters = rng.normal(size=(5, 10))
    assert inertial_parameters(pseudo_inertia(parameters)) == pytest.approx(parameters)
    x = rng.normal(size=10)
    sigma, change = from_log_cholesky(x)
    assert np.linalg.eigvalsh(sigma).min() > 0.0
    for k in range(10):
        step = np.eye(10)[k] * 1e-6
        numeric = (from_log_cholesky(x + step)[0] - from_log_cholesky(x - step)[0]) / 2e-6
        assert change[k] == pytest.approx(numeric, abs=1e-7)


# exciting trajectories


def test_exciting_motion_keeps_the_limits_and_rests_at_its_ends() -> None:
    robot = load_robot("puma560")
    found = excite(robot, 10.0, evaluations=40)
    assert found.condition < found.start_condition
    m = robot.mechanism
    t = np.linspace(0.0, 10.0, 3000)
    q, qd, qdd = found.trajectory.sample(t)
    assert (q > m.position_limits[:, 0]).all()
    assert (q < m.position_limits[:, 1]).all()
    assert (np.abs(qd) < m.velocity_limits).all()
    assert (np.abs(robot.inverse_dynamics(q, qd, qdd)).max(axis=0) < m.effort_limits).all()
    for end in (0.0, 10.0, -1.0, 11.0):
        at, speed, acceleration = found.trajectory.sample(end)
        assert at == pytest.approx(q[0])
        assert np.abs(speed).max() < 1e-12
        assert np.abs(acceleration).max() < 1e-12
    assert np.gradient(q, t, axis=0)[5:-5] == pytest.approx(qd[5:-5], abs=1e-3)
    assert np.gradient(qd, t, axis=0)[5:-5] == pytest.approx(qdd[5:-5], abs=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_effort_limits_that_bind_make_the_motion_smaller(seed: int) -> None:
    m = load_robot("planar_2r").mechanism
    t = np.linspace(0.0, 3.0, 3000)
    free = excite(Robot(m), 3.0, evaluations=1, seed=seed).trajectory.sample(t)
    limits = 0.9 * np.abs(Robot(m).inverse_dynamics(*free)).max(axis=0)
    robot = Robot(replace(m, effort_limits=limits))
    state = excite(robot, 3.0, evaluations=10, seed=seed).trajectory.sample(t)
    assert (np.abs(robot.inverse_dynamics(*state)).max(axis=0) <= limits).all()
    assert np.ptp(state[0], axis=0).min() > 0.1


def test_missing_limits_are_named() -> None:
    robot = Robot(random_mechanism(np.random.default_rng(0), 2))
    assert [note.split()[0] for note in excite(robot, evaluations=4).notes] == ["joint0", "joint1"]


def test_an_arm_that_cannot_hold_itself_is_refused() -> None:
    m = load_robot("planar_2r").mechanism
    weak = Robot(replace(m, effort_limits=np.full(2, 0.1)))
    with pytest.raises(InputError, match="effort limits"):
        excite(weak, evaluations=5)
    with pytest.raises(InputError, match="elbow cannot be driven"):
        excite(Robot(replace(m, active=np.array([True, False]))))


@pytest.mark.parametrize(("options", "match"), [({"duration": -1.0}, "duration"), ({"harmonics": 2}, "harmonics")])
def test_wrong_options_of_excite(options: dict[str, float], match: str) -> None:
    with pytest.raises(InputError, match=match):
        excite(load_robot("planar_2r"), **options)  # type: ignore[arg-type]


# logs


def csv_text(rows: int = 25) -> list[str]:
    robot = load_robot("planar_2r")
    t = np.arange(rows) * 0.01
    q = np.sin(np.outer(t, [1.0, 2.0]))
    return motion_csv(robot.mechanism, t, q=q, tau=q).splitlines()


def read(tmp_path: Path, lines: list[str]) -> MotionLog:
    path = tmp_path / "log.csv"
    path.write_text("\n".join(lines) + "\n")
    return read_motion_log(path, load_robot("planar_2r").mechanism)


def test_a_log_is_read_by_names_or_numbers_in_any_order(tmp_path: Path) -> None:
    by_name = read(tmp_path, csv_text())
    header, *rows = csv_text()
    assert header == "t,q_shoulder,q_elbow,tau_shoulder,tau_elbow"
    lines = ["# recorded today", "", "extra, tau2, tau1, q1, q2, t"]
    for row in rows:
        t, q1, q2, tau1, tau2 = row.split(",")
        lines.append(f"nothing, {tau2}, {tau1}, {q1}, {q2}, {t}")
    by_number = read(tmp_path, lines)
    assert np.array_equal(by_name.q, by_number.q)
    assert np.array_equal(by_name.tau, by_number.tau)
    assert by_number.ignored == ("extra",)
    assert by_name.qd is None


def _header(text: str) -> list[str]:
    return [text, *csv_text()[1:]]


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        ([], r"log\.csv:1: found no header"),
        (_header("t,q_shoulder,q_elbw,tau_shoulder,tau_elbow"), r"log\.csv:1: found no column q_elbow"),
        (_header("t,q_shoulder,q1,tau_shoulder,tau_elbow"), r"log\.csv:1: column q1: given twice"),
        (_header("t,q_shoulder,q_elbow,tau_shoulder,v_elbow"), r"log\.csv:1: found columns of tau and of v"),
        (_header("t,q_shoulder,q_elbow,qd_shoulder,tau_elbow"), r"no column qd_elbow, tau_shoulder"),
        ([*csv_text()[:5], "0.04,1,x,1,1"], r"log\.csv:6: column q_elbow: found 'x'"),
        ([*csv_text()[:5], "0.04,1,nan,1,1"], r"log\.csv:6: column q_elbow: found 'nan'"),
        ([*csv_text()[:5], "0.04,1,1"], r"log\.csv:6: found 3 cells, the header has 5"),
        ([*csv_text()[:5], "0.01,1,1,1,1"], r"log\.csv:6: column t: found 0.01 after 0.03"),
        (csv_text()[:10], "9 samples are too few"),
    ],
)
def test_a_wrong_log_is_refused_with_its_place(tmp_path: Path, lines: list[str], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        read(tmp_path, lines)


def test_a_log_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    m = load_robot("planar_2r").mechanism
    with pytest.raises(InputError, match="cannot be read"):
        read_motion_log(tmp_path / "none.csv", m)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InputError, match="not UTF-8"):
        read_motion_log(tmp_path / "binary.csv", m)


# the new YAML

WELDED = """\
name: welded
joints:
  - name: no
    type: revolute
    dh: {theta: 30 deg, d: 0.3, a: 0.2, alpha: 90 deg}
    Fv: 0.3
    friction: {coulomb: 1e-1}
    link: &heavy {mass: 3, com: [0.1, 0, 0.05], inertia: {xx: 0.02, yy: 0.03, zz: 0.04, xy: 0.001}}
  - name: tray
    type: fixed
    origin: {xyz: [0.1, 0, 0], rpy: [0, 0.4, 0]}
    link: {mass: 0.5, com: [0, 0, 0.1]}
  - name: slide
    type: prismatic
    dh: {d: 0.1}
    Ia: 0.7
    link: {name: carriage, M: 2, MS: [0.1, 0.2, 0], J: [[0.1, -0.01, 0], [-0.01, 0.1, 0], [0, 0, 0.12]]}
  - {name: bare, type: revolute, origin: {xyz: [0, 0, 0.1]}, axis: [0, 1, 0], rotor_inertia: 0.1}
"""


def physical_change(m: Mechanism, fixed: np.ndarray, rng: np.random.Generator) -> Mechanism:
    """Other physical parameters, on top of the welded links."""
    chi = np.empty((m.n, WIDTH))
    for j in range(m.n):
        chi[j, :10] = fixed[j] + inertial_parameters(from_log_cholesky(rng.normal(size=10) * 0.3 - 1.0)[0])
    chi[:, 10:] = rng.uniform(0.1, 1.0, (m.n, 3))
    return with_parameters(m, chi.ravel())


@pytest.mark.parametrize("name", ["welded", "planar_2r", "puma560", "cmu_dd_arm"])
def test_a_yaml_takes_other_parameters_and_keeps_the_rest(name: str, tmp_path: Path) -> None:
    path = ROOT / "config" / "robots" / f"{name}.yaml"
    if name == "welded":
        path = tmp_path / "welded.yaml"
        path.write_text(WELDED)
    text = RobotText(path)
    wanted = physical_change(text.mechanism, text.fixed_parameters(), np.random.default_rng(0))
    (tmp_path / "new.yaml").write_text(text.with_mechanism(wanted, ["a heading"]))
    found = load_mechanism(tmp_path / "new.yaml")
    for field in ("M", "MS", "J", "Ia", "Fv", "Fs"):
        assert getattr(found, field) == pytest.approx(getattr(wanted, field), rel=1e-9, abs=1e-11)
    for field in ("joint_names", "body_names", "description"):
        assert getattr(found, field) == getattr(text.mechanism, field)
    for field in ("R", "p", "position_limits", "velocity_limits", "effort_limits", "stiffness", "gravity", "active"):
        assert np.array_equal(getattr(found, field), getattr(text.mechanism, field))
    assert (tmp_path / "new.yaml").read_text().startswith("# a heading\nname: ")


def test_welded_links_are_known(tmp_path: Path) -> None:
    path = tmp_path / "welded.yaml"
    path.write_text(WELDED)
    fixed = RobotText(path).fixed_parameters()
    assert fixed[:, 9] == pytest.approx([0.5, 0.0, 0.0], abs=1e-12)
    light = np.zeros(WIDTH * 3)
    with pytest.raises(DescriptionError, match="cannot be rewritten"):
        RobotText(path).with_mechanism(with_parameters(load_mechanism(path), light + 1e-3))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "out.yaml"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"):
        write_whole(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    monkeypatch.undo()
    write_whole(target, "new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


# the commands


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The commands in an empty folder, in the tests' own environment."""
    monkeypatch.setattr(environment, "enter", lambda *_: None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_pages_commands_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "identification.md").read_text()
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    commands = [line.split() for block in blocks for line in block.splitlines()]
    assert len(commands) == 3
    for program, *words in commands:
        assert program == "./dyn"
        assert cli.main(words) == 0, words
    out = capsys.readouterr().out
    report = json.loads(out[out.index("\n{") :])
    assert report["output"] == "fitted.yaml"
    assert {row["verdict"] for row in report["parameters"]} == {"ok", "near 0"}
    fitted = load_robot(here / "fitted.yaml")
    assert fitted.standard_parameters == pytest.approx(load_robot("planar_2r").standard_parameters, abs=1e-6)


def test_a_fitted_yaml_predicts_another_motion(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    arm = load_robot("planar_2r")
    text = RobotText(ROOT / "config" / "robots" / "planar_2r.yaml")
    model = believed(arm.mechanism, rng)
    (here / "model.yaml").write_text(text.with_mechanism(model))
    log = recorded(arm, series(arm, 1), rng, 0.02, 200.0)
    (here / "log.csv").write_text(motion_csv(arm.mechanism, log.t, q=log.q, qd=log.qd, qdd=log.qdd, tau=log.tau))
    assert cli.main(["identify", "model.yaml", "log.csv"]) == 0
    out = capsys.readouterr().out
    assert "ZZ_upper_arm + Ia_shoulder + 0.25 M_forearm" in out
    assert "no motion shows: XX_upper_arm" in out
    assert torque_error(arm.mechanism, load_mechanism(here / "planar_2r_identified.yaml"), series(arm, 7)) < 0.005
    assert "Identified from log.csv" in (here / "planar_2r_identified.yaml").read_text().splitlines()[0]
    assert cli.main(["identify", "model.yaml", "log.csv"]) == 2
    assert "planar_2r_identified.yaml exists" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["identify", "nobody", "log.csv"], "no robot 'nobody'"),
        (["identify", "planar_2r", "log.csv"], "log.csv: cannot be read"),
        (["identify", "planar_2r", "log.csv", "--output", "none/x.yaml"], "no such folder"),
        (["identify", "arm.urdf", "log.csv"], "dyn convert"),
        (["excite", "planar_2r", "--rate", "1e9"], "samples can be written"),
        (["excite", "planar_2r", "--harmonics", "2"], "harmonics"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    here: Path, words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "arm.urdf").write_text(load_robot("planar_2r").urdf())
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert complaint in err
    assert [path.name for path in here.iterdir()] == ["arm.urdf"]
