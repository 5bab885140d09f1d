"""The animation's page: its points are where the links are, and it needs nothing from outside."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dyn_cli.figures.animation import MOST_NUMBERS, animation_data, body_poses, write_animation
from dyn_cli.figures.recording import Recording
from dyn_core import load_robot, simulate


def moved(name: str, duration: float = 0.1) -> Recording:
    robot = load_robot(name)
    return Recording(robot, simulate(robot, duration=duration), torque_driven=robot.mechanism.motors is None)


@pytest.mark.parametrize("name", ["puma560", "four_bar_saha"])
def test_links_end_where_the_next_joints_are(name: str) -> None:
    recording = moved(name)
    m = recording.robot.mechanism
    scene = animation_data(recording)
    points = np.array(scene["points"]).reshape(len(scene["t"]), -1, 3)
    atol = 1e-4 * scene["size"]
    for j in range(m.n):
        np.testing.assert_allclose(points[:, m.n + j], points[:, j], atol=atol)  # carried to, and its own origin
    for k in range(len(m.loops)):
        first, second = points[:, 2 * m.n + 2 * k], points[:, 2 * m.n + 2 * k + 1]
        np.testing.assert_allclose(first, second, atol=atol)  # the loop is closed
    tool = recording.robot.forward_kinematics(recording.result.q[-1])[:3, 3]
    np.testing.assert_allclose(points[-1, scene["tool"]], tool, atol=atol)


def test_body_frames_turn_about_their_axes() -> None:
    robot = load_robot("puma560")
    q = np.array([0.3, 0.2, -0.4, 0.5, 0.6, 0.7])
    R, _ = body_poses(robot, q + np.array([[0.0] * 6, [0.0] * 5 + [0.2]]))
    c, s = np.cos(0.2), np.sin(0.2)
    np.testing.assert_allclose(R[0, 5].T @ R[1, 5], [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-12)


def test_the_page_is_one_file_that_loads_nothing(tmp_path: Path) -> None:
    frames = write_animation(moved("planar_2r"), tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert frames == 6
    assert "default-src 'none'" in page
    assert not re.search(r"""(src|href)\s*=|https?:|@import|url\(|fetch\(|import\(""", page)
    data = re.search(r"^const motion = (.*);$", page, re.MULTILINE)
    assert data is not None
    assert json.loads(data[1])["robot"] == "planar_2r"
    assert page.count("<script>") == page.count("</script>") == 1


def test_long_motions_are_thinned() -> None:
    scene = animation_data(moved("planar_2r", duration=30.0))
    assert len(scene["t"]) == 1501
    assert scene["t"][-1] == 30.0
    assert sum(map(len, scene["points"])) < MOST_NUMBERS
