"""The spatial rigid slider-crank of the IFToMM library: its start, a figure of another program, and its energy."""

from __future__ import annotations

import numpy as np

from dyn_core.robots import LoopRobot
from dyn_core.spatial import quaternion_from_rotation

from ..report import Row
from .figures import Motion, described, largest, measured, moved, timed

SPEED = 6.0  # rad/s, of the crank at first
SLIDER = 0.24  # m/s, of the slider then: B goes at 0.48 m/s along -y, and the rod points along (2, -1, -2) / 3
EXUDYN = 3.36427617809219  # of its sliderCrank3Dtest: `coordinate_sum` at 0.2 s, good to some 2e-8


def coordinate_sum(motion: Motion) -> float:
    """What Exudyn prints of the last row: the sum of the sizes of positions and Euler parameters of crank and rod."""
    robot = motion.robot
    crank, _, _, rod = (T for T in robot.tree.link_poses(motion.q[-1])[:4])
    x = np.array([2.0, -1.0, -2.0]) / 3.0
    a = np.array([0.0, 0.1, 0.12])
    z = a - (a @ x) * x
    z /= np.linalg.norm(z)
    axes = np.stack([x, np.cross(z, x), z], axis=1)  # of the rod's body there, at the start
    middle = (rod @ [-0.1, 0.05, 0.1, 1.0])[:3]
    turns = [quaternion_from_rotation(crank[:3, :3]), quaternion_from_rotation(rod[:3, :3] @ axes)]
    return float(np.abs(np.concatenate([a, middle, *turns])).sum())


def slider_crank_rows() -> list[Row]:
    """Speeds at the start, Exudyn's figure, and the energy over 5 s."""
    robot = described("spatial_slider_crank")
    assert isinstance(robot, LoopRobot)
    at = robot.closed([0.0], [SPEED])
    short, _ = timed(lambda: moved(robot, [SPEED], 0.2, 2e-4, 2))
    motion, seconds = timed(lambda: moved(robot, [SPEED], 5.0, 5e-4, 501))
    place = "slider-crank"
    return [
        measured(place, "slider at first, m/s", SLIDER, float(at.qd[1]), 1e-12),
        measured(place, "Exudyn's sum at 0.2 s", EXUDYN, coordinate_sum(short), 5e-8),
        largest(place, "energy over 5 s, J", motion.drift, 1e-6, seconds),
    ]
