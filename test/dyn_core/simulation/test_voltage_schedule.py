"""Voltage schedules: held and ramped values, CSV and YAML, and every mistake with its file and line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_robots import random_mechanism

from dyn_core import DynError, load_robot
from dyn_core.robots import TreeRobot
from dyn_core.simulation import Schedule, read_schedule

ARM = load_robot("planar_2r")
NAMES = ARM.joint_names
HEADER = "t," + ",".join(f"v_{name}" for name in NAMES)


def written(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_value_holds_until_the_next() -> None:
    schedule = Schedule("here", "voltage", np.array([0.1, 0.3]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    rows = schedule.sampled(0.1, 6)
    np.testing.assert_array_equal(rows, [[0, 0], [1, 2], [1, 2], [3, 4], [3, 4], [3, 4]])


def test_a_value_ramps_to_the_next() -> None:
    schedule = Schedule("here", "voltage", np.array([0.1, 0.3]), np.array([[1.0, 2.0], [3.0, 4.0]]), "ramp")
    rows = schedule.sampled(0.1, 5)
    np.testing.assert_allclose(rows, [[0, 0], [1, 2], [2, 3], [3, 4], [3, 4]], atol=1e-12)


@pytest.mark.parametrize("period", [0.1, 0.01, 1e-3, 1e-4])
def test_a_time_that_a_period_begins_at_is_met_in_spite_of_rounding(period: float) -> None:
    """k * period, as floating point has it, is sometimes a little below the decimal number that a file says."""
    times = np.array([float(f"{k * period:.10g}") for k in range(200)])
    values = np.arange(200.0)[:, None]
    assert (Schedule("here", "voltage", times, values).sampled(period, 200)[:, 0] == np.arange(200)).all()


def test_csv_and_yaml_say_the_same(tmp_path: Path) -> None:
    csv = written(tmp_path, "a.csv", f"# volts\n{HEADER}\n0,1,2\n\n0.5,-3,4e-1\n")
    numbered = written(tmp_path, "b.csv", "note,t,v2,v1\nx,0,2,1\ny,0.5,0.4,-3\n")
    yaml = written(
        tmp_path,
        "c.yaml",
        "interpolation: ramp\npoints:\n  - {t: 0, voltage: [1, 2]}\n  - {t: 0.5, voltage: [-3, 0.4]}\n",
    )
    found = [read_schedule(path, ARM) for path in (csv, numbered, yaml)]
    for schedule in found:
        np.testing.assert_array_equal(schedule.t, [0.0, 0.5])
        np.testing.assert_array_equal(schedule.values, [[1.0, 2.0], [-3.0, 0.4]])
        assert schedule.quantity == "voltage"
        assert schedule.duration == 0.5
    assert [schedule.interpolation for schedule in found] == ["hold", "hold", "ramp"]
    assert read_schedule(yaml, ARM, "hold").interpolation == "hold"
    assert read_schedule(csv, ARM, "ramp").interpolation == "ramp"


def test_torques_drive_a_robot_without_motors(tmp_path: Path) -> None:
    robot = TreeRobot(random_mechanism(np.random.default_rng(0), 2))
    torques = written(tmp_path, "a.csv", "t,tau1,tau2\n0,1,2\n")
    assert read_schedule(torques, robot).quantity == "torque"
    volts = written(tmp_path, "b.csv", "t,v1,v2\n0,1,2\n")
    with pytest.raises(DynError, match=r"b\.csv: found no column|describes no motors"):
        read_schedule(volts, robot)


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.csv", "", "a.csv:1: found no header"),
        ("a.csv", f"t,v_{NAMES[0]}\n0,1\n", f"a.csv:1: found no column v_{NAMES[1]}"),
        ("a.csv", "v1,v2\n1,1\n", "a.csv:1: found no column t"),
        ("a.csv", f"{HEADER}\n0,1,nan\n", f"a.csv:2: column v_{NAMES[1]}: found 'nan', expected a finite number"),
        ("a.csv", f"{HEADER}\n0,1,2\n0,1,2\n", "a.csv:3: column t: found 0 after 0, times must increase"),
        ("a.csv", f"{HEADER}\n0,1\n", "a.csv:2: found 2 cells, the header has 3"),
        ("a.csv", f"{HEADER},v1\n0,1,2,3\n", "a.csv:1: column v1: given twice"),
        ("a.csv", f"{HEADER}\n", "has no rows"),
        ("a.csv", f"{HEADER}\n-1,0,0\n", "times start at 0"),
        ("a.csv", "t,v1,v2,tau1\n0,1,2,3\n", "a.csv:1: found columns of v and of tau"),
        ("a.yaml", "points:\n  - {t: 0, voltage: [1]}\n", "a.yaml:2: points[0].voltage: found a list of 1"),
        ("a.yaml", "points: []\n", "a.yaml:1: points: found a list of 0"),
        ("a.yaml", "interpolation: jump\npoints:\n  - {t: 0, voltage: [1, 2]}\n", "a.yaml:1: interpolation"),
        ("a.yaml", "points:\n  - {t: 1, voltage: [1, 2]}\n  - {t: 1, voltage: [1, 2]}\n", "a.yaml:3: points[1].t"),
        ("a.yaml", "points:\n  - {t: 1, voltage: [1, 2]}\n  - {t: 2, torque: [1, 2]}\n", "a.yaml:3: points[1].torque"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, name: str, text: str, sentence: str) -> None:
    with pytest.raises(DynError) as found:
        read_schedule(written(tmp_path, name, text), ARM)
    assert sentence in str(found.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DynError, match=r"none\.csv: cannot be read"):
        read_schedule(tmp_path / "none.csv", ARM)
