"""Maps against deflections computed pose by pose, and what becomes of a map that is given up."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from dyn_cli.figures.deflection_map import deflection_plot
from dyn_cli.figures.figure import drawn
from dyn_core import load_robot
from dyn_core.errors import InputError, WorkspaceError
from dyn_core.robots import robot_of
from dyn_core.spatial.poses import azimuth_tilt_torsion
from dyn_core.stiffness_maps.deflection_map import (
    NO_EQUILIBRIUM,
    UNREACHABLE,
    JointGrid,
    OrientationGrid,
    empty_map,
    fill,
    sign_combinations,
    stiffness_map,
)

AT = (0.2, 0.0, 0.0, 0.3, 0.6, 0.1)
GRID = JointGrid(("joint2", "joint3"), (9, 7), AT)


def test_orientations_are_three_turns_one_after_the_other() -> None:
    phi, theta, sigma = np.random.default_rng(0).uniform(-3.0, 3.0, (3, 40))
    z, y = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    turns = (np.outer(phi, z), np.outer(theta, y), np.outer(sigma - phi, z))
    a, b, c = (Rotation.from_rotvec(turn) for turn in turns)
    np.testing.assert_allclose(azimuth_tilt_torsion(phi, theta, sigma), (a * b * c).as_matrix(), atol=1e-14)


def test_sign_combinations_are_all_and_no_more() -> None:
    found = sign_combinations([0.0, -2.0, 0.0, 10.0, 0.0, 3.0])
    assert {tuple(row) for row in found.tolist()} == {
        (0.0, a, 0.0, b, 0.0, c) for a, b, c in itertools.product((2.0, -2.0), (10.0, -10.0), (3.0, -3.0))
    }
    for bad in ([0.0] * 6, [1.0] * 5, [np.nan] + [1.0] * 5):
        with pytest.raises(InputError, match="six finite numbers"):
            sign_combinations(bad)


def test_a_map_over_joints_is_that_of_every_single_pose() -> None:
    robot = load_robot("puma560")
    found = stiffness_map(robot, GRID, frame="link6")
    low, high = robot.mechanism.position_limits.T
    assert found.columns.values[[0, -1]].tolist() == [low[1], high[1]]
    for j, i in ((0, 0), (3, 5), (6, 8)):
        q = np.array(AT)
        q[1], q[2] = found.columns.values[i], found.rows.values[j]
        J = robot.jacobian(q, "link6")
        wrenches = [[0, 0, 0, *(10 * s for s in signs)] for signs in itertools.product((1, -1), repeat=3)]
        moved = [J @ ((J.T @ w) / robot.mechanism.stiffness) for w in np.array(wrenches, float)]
        assert found.translation[j, i] == pytest.approx(max(np.linalg.norm(t[:3]) for t in moved), rel=1e-9)
        assert found.rotation[j, i] == pytest.approx(max(np.linalg.norm(t[3:]) for t in moved), rel=1e-9)
    peak = found.largest_rotation
    assert peak is not None
    j, i = np.unravel_index(np.argmax(found.rotation), found.rotation.shape)
    assert (peak.value, peak.column, peak.row) == (
        found.rotation.max(), found.columns.values[i], found.rows.values[j],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shift", "turn"),
    [("spm_unlimited_roll", 2.01e-3, 3.53), ("agile_wrist", 4.48e-3, 12.0)],
)
def test_the_largest_deflections_of_the_paper_s_figures_come_out(name: str, shift: float, turn: float) -> None:
    """Figs 9 and 13 of Wu, Bai and Kepler, tilts up to 54 degrees: 2 mm and 3.5 degrees, 4.5 mm and 12 degrees."""
    found = stiffness_map(load_robot(name), OrientationGrid(np.radians(54.0), 360, 28))
    assert found.counts["computed"] == found.size
    assert found.translation.max() == pytest.approx(shift, rel=3e-3)
    assert np.degrees(found.rotation.max()) == pytest.approx(turn, rel=3e-3)
    np.testing.assert_allclose(found.rotation[0], found.rotation[0, 0], rtol=1e-9)


def test_a_map_over_orientations_is_that_of_every_single_pose() -> None:
    """At a frame off the centre, over poses that are reached, out of reach, and without equilibrium."""
    base = load_robot("spm_coaxial")
    tool = next(k for k, frame in enumerate(base.mechanism.frames) if frame.name == "tool")
    frames = list(base.mechanism.frames)
    frames[tool] = dataclasses.replace(frames[tool], p=frames[tool].p + np.array([0.03, -0.02, 0.1]))
    robot = robot_of(dataclasses.replace(base.mechanism, frames=tuple(frames)))
    wrenches = np.array([[3.0, -5.0, 2.0, 0.5, 1.0, -2.0], [0.0, 0.0, 8.0, 0.0, 0.0, 1.0]])
    found = stiffness_map(robot, OrientationGrid(np.radians(90.0), 12, 4, 0.0), wrenches)
    for j, tilt in enumerate(found.rows.values):
        for i, azimuth in enumerate(found.columns.values):
            try:
                there = robot.platform.stiffness_at(azimuth_tilt_torsion(azimuth, tilt, 0.0))
            except WorkspaceError:
                assert found.status[j, i] == UNREACHABLE
                continue
            if not all(there.deflected(w).equilibrium for w in wrenches):
                assert found.status[j, i] == NO_EQUILIBRIUM
                assert np.isnan(found.rotation[j, i])
                continue
            moved = np.array([np.linalg.solve(there.K, w) for w in wrenches])
            assert found.translation[j, i] == pytest.approx(np.linalg.norm(moved[:, :3], axis=1).max(), rel=1e-6)
            assert found.rotation[j, i] == pytest.approx(np.linalg.norm(moved[:, 3:], axis=1).max(), rel=1e-6)
    assert all(found.counts[word] > 0 for word in ("computed", "unreachable", "no equilibrium"))
    assert found.csv().startswith("azimuth_rad,tilt_rad,torsion_rad,")
    assert drawn(deflection_plot(found)).startswith(b"\x89PNG")


def test_a_platform_that_also_translates_is_mapped_at_a_position() -> None:
    robot = load_robot("gough_stewart")
    home = robot.forward_kinematics(robot.neutral())
    place = (float(home[0, 3]) + 0.02, float(home[1, 3]), float(home[2, 3]))
    wrenches = np.array([[0.0, 0.0, -100.0, 5.0, 0.0, 0.0]])
    found = stiffness_map(robot, OrientationGrid(np.radians(50.0), 3, 5, 0.1, place), wrenches)
    assert {found.counts["computed"] > 3, found.counts["unreachable"] > 0} == {True}
    assert "limits" in found.notes[0] or "singularity" in found.notes[0]
    T = np.eye(4)
    T[:3, 3] = place
    for j, i in ((0, 0), (1, 1), (1, 2)):
        T[:3, :3] = azimuth_tilt_torsion(found.columns.values[i], found.rows.values[j], 0.1)
        J = robot.jacobian(robot.platform.inverse_kinematics(T).q)
        moved = J @ (J.T @ wrenches[0] / robot.mechanism.stiffness[robot.joints])
        assert found.translation[j, i] == pytest.approx(np.linalg.norm(moved[:3]), rel=1e-6)


def test_a_map_that_is_given_up_keeps_what_it_has_and_goes_on_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dyn_core.stiffness_maps.deflection_map.FIRST_PART", 20)
    monkeypatch.setattr("dyn_core.stiffness_maps.deflection_map.LARGEST_PART", 20)
    robot = load_robot("puma560")
    table = empty_map(robot, GRID)
    assert next(fill(table, robot, GRID)) == table.done == 20
    assert np.isfinite(table.translation.ravel()[:20]).all()
    assert np.isnan(table.translation.ravel()[20:]).all()
    assert table.counts["not computed"] == 43
    assert drawn(deflection_plot(table)).startswith(b"\x89PNG")
    assert list(fill(table, robot, GRID)) == [40, 60, 63]
    np.testing.assert_array_equal(table.translation, stiffness_map(robot, GRID).translation)


def test_the_table_has_a_line_per_pose() -> None:
    robot = load_robot("puma560")
    table = stiffness_map(robot, GRID)
    table.status[2, 4], table.translation[2, 4], table.rotation[2, 4] = 2, np.nan, np.nan
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert list(rows[0]) == ["joint2_rad", "joint3_rad", "translation_m", "rotation_rad", "status"]
    assert len(rows) == 63
    assert rows[2 * 9 + 4]["translation_m"] == ""
    assert rows[2 * 9 + 4]["status"] == "unreachable"
    for k in (0, 17, 62):
        assert float(rows[k]["joint2_rad"]) == pytest.approx(table.columns.values[k % 9], rel=1e-8)
        assert float(rows[k]["joint3_rad"]) == pytest.approx(table.rows.values[k // 9], rel=1e-8)
        assert float(rows[k]["translation_m"]) == pytest.approx(table.translation.ravel()[k], rel=1e-8)
        assert float(rows[k]["rotation_rad"]) == pytest.approx(table.rotation.ravel()[k], rel=1e-8)


def test_an_empty_map_can_be_drawn() -> None:
    table = empty_map(load_robot("puma560"), GRID)
    assert table.largest_translation is None
    assert drawn(deflection_plot(table)).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("grid", "complaint"),
    [
        (lambda: OrientationGrid(0.0, 10, 10), "largest tilt"),
        (lambda: OrientationGrid(float("nan"), 10, 10), "largest tilt"),
        (lambda: OrientationGrid(4.0, 10, 10), "largest tilt"),
        (lambda: OrientationGrid(1.0, 2, 10), "at least 3 azimuths"),
        (lambda: OrientationGrid(1.0, 10, 10, float("inf")), "torsion"),
        (lambda: OrientationGrid(1.0, 10, 10), "puma560 has no inverse kinematics"),
        (lambda: JointGrid(("joint1", "joint1"), (3, 3), AT), "two different joints"),
        (lambda: JointGrid(("joint1", "elbow"), (3, 3), AT), "no joint 'elbow'; it has joint1"),
        (lambda: JointGrid(("joint1", "joint2"), (1, 3), AT), "at least 2 positions"),
        (lambda: JointGrid(("joint1", "joint2"), (3, 3), AT[:5]), "needs 6 finite joint positions"),
        (lambda: JointGrid(("joint1", "joint2"), (3, 3), AT, (0.0, 1.0), (1.0, 1.0)), "range"),
    ],
)
def test_what_cannot_be_mapped_is_refused_in_a_sentence(grid: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        empty_map(load_robot("puma560"), grid())


def test_wrenches_and_frames_are_checked() -> None:
    robot = load_robot("puma560")
    for wrenches in (np.zeros((3, 5)), np.full((1, 6), np.nan), np.zeros((0, 6))):
        with pytest.raises(InputError, match="rows of six finite numbers"):
            empty_map(robot, GRID, wrenches)
    with pytest.raises(InputError, match="no frame 'nose'"):
        empty_map(robot, GRID, frame="nose")
