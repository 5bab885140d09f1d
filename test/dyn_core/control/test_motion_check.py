"""Motions that a robot cannot make are refused with joint and place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.control.limits import Limits, Margins
from dyn_core.control.motion_check import check_motion, check_torques
from dyn_core.control.motion_plan import Waypoints, joined
from dyn_core.errors import RefusedError

ROBOT = load_robot("planar_2r")
STANDING = (np.zeros(2), np.zeros(2), np.zeros(2))


def motion_of(*rows: tuple[float, list[float]], velocities: list[list[float]] | None = None) -> tuple[Any, Any]:
    times, positions = zip(*rows, strict=True)
    points = Waypoints(np.array(times), np.array(positions), None if velocities is None else np.array(velocities))
    return joined(points, STANDING, 0.01, ROBOT.joint_names), points


@pytest.mark.parametrize(
    ("rows", "velocities", "words"),
    [
        ([(1.0, [0.5, 0.5]), (3.0, [0.5, 2.9])], None, "outside position limits: elbow .* point 1 "),
        (
            [(2.0, [3.1, 0.0]), (3.0, [3.1, 0.0]), (5.0, [0.0, 0.0])],
            [[0.5, 0.0], [-0.5, 0.0], [0.0, 0.0]],
            "outside position limits: shoulder before point 1 ",
        ),
        ([(1.0, [0.1, 0.1]), (1.5, [2.0, 0.1])], None, "above the velocity limit: shoulder at point 0 "),
        ([(1.0, [0.1, 0.1])], None, ""),
    ],
)
def test_a_motion_beyond_limits_is_refused_with_joint_and_point(
    rows: list[tuple[float, list[float]]], velocities: list[list[float]] | None, words: str
) -> None:
    motion, points = motion_of(*rows, velocities=velocities)
    if not words:
        check_motion(motion, points, Limits(ROBOT))
        check_torques(motion, points, ROBOT, Limits(ROBOT))
        return
    with pytest.raises(RefusedError, match=words):
        check_motion(motion, points, Limits(ROBOT))


def test_soft_limits_bound_trajectories() -> None:
    motion, points = motion_of((2.0, [3.0, 0.0]))
    check_motion(motion, points, Limits(ROBOT))
    with pytest.raises(RefusedError, match=r"shoulder .* is not in"):
        check_motion(motion, points, Limits(ROBOT, Margins(soft=0.2)))


def test_a_motion_that_the_motors_cannot_give_is_refused() -> None:
    motion, points = motion_of((0.2, [0.3, 0.0]), (0.4, [0.0, 0.0]))
    check_motion(motion, points, Limits(ROBOT))
    with pytest.raises(RefusedError, match=r"above the torque limit: shoulder before point 0 .* give it more time"):
        check_torques(motion, points, ROBOT, Limits(ROBOT))
