"""What real drives add: couplings, offsets, further friction, delays, and warming up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from recorded_motion import believed, series

from dyn_core import load_robot
from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError, InputError
from dyn_core.identification import MotionLog, identify, motion_csv, read_log_format, read_motion_log
from dyn_core.robots import TreeRobot

RATE = 250.0


def arm() -> tuple[TreeRobot, Floats, Floats, Floats, Floats, Floats]:
    """A planar arm, and 20 s of its motion with its torques."""
    robot = load_robot("planar_2r")
    assert isinstance(robot, TreeRobot)
    motion = series(robot, 1)
    t = np.arange(0.0, 20.0, 1.0 / RATE)
    q, qd, qdd = motion.sample(t % motion.duration)
    return robot, t, q, qd, qdd, robot.inverse_dynamics(q, qd, qdd)


def noisy(tau: Floats, seed: int = 0) -> Floats:
    return tau + 0.02 * tau.std(axis=0) * np.random.default_rng(seed).normal(size=tau.shape)


def terms(robot: TreeRobot, log: MotionLog) -> dict[str, tuple[float, float]]:
    model = TreeRobot(believed(robot.mechanism, np.random.default_rng(1)))
    return {term.name: (term.value, term.std) for term in identify(model, log).drive}


def test_plain_friction_asks_for_no_further_terms() -> None:
    robot, t, q, _, _, tau = arm()
    assert terms(robot, MotionLog("x", t, np.round(q / 5e-5) * 5e-5, tau=noisy(tau))) == {}


def test_offsets_and_asymmetry_are_found() -> None:
    robot, t, q, qd, _, tau = arm()
    more = np.array([3.0, 0.0]) + np.array([0.0, 0.8]) * np.abs(qd)
    found = terms(robot, MotionLog("x", t, q, tau=noisy(tau + more)))
    assert found.keys() == {"offset_shoulder", "Fv_asymmetric_elbow"}
    for name, expected in {"offset_shoulder": 3.0, "Fv_asymmetric_elbow": 0.8}.items():
        value, std = found[name]
        assert abs(value - expected) < 4.0 * std < 0.5 * expected


def test_stribeck_friction_is_seen_where_it_is() -> None:
    robot, t, q, qd, _, tau = arm()
    slow = 0.05 * np.abs(qd[:, 0]).max()
    tau[:, 0] += 8.0 * np.exp(-np.abs(qd[:, 0]) / slow) * np.sign(qd[:, 0])
    found = terms(robot, MotionLog("x", t, q, tau=noisy(tau)))
    assert [name.startswith("F_stribeck") and name.endswith("_shoulder") for name in found] == [True]
    value, std = next(iter(found.values()))
    assert abs(value - 8.0) < max(4.0 * std, 1.5)


def test_a_delay_is_estimated_and_compensated() -> None:
    robot, t, q, _, _, tau = arm()
    late = noisy(tau)[np.maximum(np.arange(len(t)) - 4, 0)]
    found = identify(robot, MotionLog("x", t, q, tau=late))
    assert found.delay == pytest.approx(4.0 / RATE, abs=0.3 / RATE)
    assert identify(robot, MotionLog("x", t, q, tau=noisy(tau))).delay == 0.0
    truth = found.base.values(robot.standard_parameters)
    assert (np.abs(found.beta - truth) < 4.0 * found.std).all()


def test_friction_that_changes_in_the_course_of_the_log_is_flagged() -> None:
    robot, t, q, qd, _, tau = arm()
    size = tau[:, 1].std()
    cooling = tau + np.array([0.0, 0.6 * size]) * np.sign(qd) * (1.0 - t / t[-1])[:, None]
    notes = identify(robot, MotionLog("x", t, q, tau=noisy(cooling))).notes
    assert [note.split(" changes")[0] for note in notes if "warming" in note] == ["the friction of elbow"]


def test_coupled_motors_in_degrees_and_amperes(tmp_path: Path) -> None:
    """A log at the motors: coupled, in degrees, with a rotor and friction on the motor that drives both joints."""
    robot, t, q, qd, qdd, tau = arm()
    T = np.array([[80.0, 0.0], [-50.0, 50.0]])
    through = T[1] / 50.0
    w, wd = qd @ through, qdd @ through
    tau = tau + (0.3 * wd + 0.5 * w + 2.0 * np.sign(w))[:, None] * through
    constants = np.array([0.3, 0.2])
    currents = noisy(tau) @ np.linalg.inv(T) / constants
    motors = np.degrees((q - [0.1, -0.2]) @ T.T)
    text = motion_csv(robot.mechanism, t * 1000.0, p=np.round(motors / 0.05) * 0.05, i=currents)
    (tmp_path / "log.csv").write_text(
        text.replace("p_shoulder,p_elbow,i_shoulder,i_elbow", "P0;P1;I0;I1").replace(",", ";")
    )
    (tmp_path / "format.yaml").write_text(
        'columns: {q: "P{k}", tau: "I{k}"}\ntime: ms\nposition: deg\ncoupling: [[80, 0], [-50, 50]]\n'
        "offset: [0.1, -0.2]\ntorque_per_unit: [0.3, 0.2]\n"
    )
    log = read_motion_log(tmp_path / "log.csv", robot.mechanism, read_log_format(tmp_path / "format.yaml", 2))
    assert np.abs(log.q - q).max() < 1e-4
    found = identify(TreeRobot(believed(robot.mechanism, np.random.default_rng(1))), log)
    assert not found.failures
    assert found.unexplained["held back"].max() < 0.03
    assert [term.name for term in found.drive] == ["Ia_motor2", "Fv_motor2", "Fs_motor2"]
    for term, expected in zip(found.drive, (0.3, 0.5, 2.0), strict=True):
        assert abs(term.value - expected) < 4.0 * term.std
    truth = found.base.values(robot.standard_parameters)
    assert (np.abs(found.beta - truth) < 4.0 * found.std).all()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("columns: {q: pos}", "columns.q: found 'pos'; allowed: a name with"),
        ("position: degrees", "position"),
        ("coupling: [[1, 1], [1, 1]]", "singular"),
        ("reduction: [1, 0]", "reduction: found 0"),
        ("reduction: [1, 2]\ncoupling: [[1, 0], [0, 1]]", "given beside coupling"),
        ("sign: [1, 2]", "1 or -1"),
        ("gear: 3", "unknown key"),
    ],
)
def test_a_wrong_format_is_refused_with_its_place(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "format.yaml").write_text(text)
    with pytest.raises(DescriptionError, match=r"format\.yaml:[12]: ") as error:
        read_log_format(tmp_path / "format.yaml", 2)
    assert complaint in str(error.value)


def test_a_joint_that_was_not_recorded_stands_still_and_is_named(tmp_path: Path) -> None:
    robot, t, q, qd, qdd, _ = arm()
    still = np.array([1.0, 0.0])
    tau = robot.inverse_dynamics(q * still, qd * still, qdd * still)
    path = tmp_path / "log.csv"
    rows = np.column_stack([t, q[:, 0], noisy(tau)[:, 0]])
    path.write_text("t q_shoulder tau_shoulder\n" + "".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist()))
    log = read_motion_log(path, robot.mechanism)
    assert "elbow: not in the log" in log.notes[0]
    found = identify(robot, log)
    assert found.rms["base"][0] < 0.03 * found.rms["torque"][0]
    assert dict(zip(found.base.names, found.verdicts, strict=True))["Fv_elbow"] == "not excited"
    path.write_text("t,q1,q2,tau1\n")
    with pytest.raises(InputError, match="found no column tau_elbow"):
        read_motion_log(path, robot.mechanism)
