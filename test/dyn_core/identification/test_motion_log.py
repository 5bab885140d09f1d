"""Logs of motions as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.errors import InputError
from dyn_core.identification import (
    MotionLog,
    motion_csv,
    read_motion_log,
)


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
