"""Trajectories join the motion before them without a jump."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core.control.motion_plan import Line, Plan, Waypoints, joined
from dyn_core.errors import RefusedError

REST = (np.array([0.1, -0.1]), np.zeros(2), np.zeros(2))
MOVING = (np.array([0.1, -0.1]), np.array([0.5, -0.4]), np.array([1.0, 2.0]))


def checked(*rows: tuple[int, list[float]], velocities: bool = False) -> Waypoints:
    times, positions = zip(*rows, strict=True)
    speeds = np.zeros((len(rows), 2)) if velocities else None
    return Waypoints(np.array(times, float), np.array(positions), speeds)


@pytest.mark.parametrize("present", [REST, MOVING])
@pytest.mark.parametrize("velocities", [False, True])
def test_the_motion_begins_in_the_present_state(present: tuple[np.ndarray, ...], velocities: bool) -> None:
    motion = joined(checked((1, [1.0, 2.0]), (2, [0.0, 1.0]), velocities=velocities), present, 0.01)
    q, qd, qdd = motion.sample(0.0)
    np.testing.assert_allclose(q, present[0], atol=1e-12)
    np.testing.assert_allclose(qd, present[1], atol=1e-12)
    if not velocities:
        np.testing.assert_allclose(qdd, present[2], atol=1e-9)
    np.testing.assert_allclose(motion.sample(1.0)[0], [1.0, 2.0], atol=1e-9)
    q, qd, _ = motion.sample(5.0)
    np.testing.assert_allclose(q, [0.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(qd, 0.0, atol=1e-9)


def test_a_first_point_at_zero_must_agree_with_the_present() -> None:
    near = joined(checked((0, [0.1001, -0.1]), (1, [1.0, 1.0])), REST, 0.01)
    np.testing.assert_allclose(near.sample(0.0)[0], REST[0], atol=1e-12)
    with pytest.raises(RefusedError, match="start not continuous"):
        joined(checked((0, [0.2, -0.1]), (1, [1.0, 1.0])), REST, 0.01)


def test_a_single_point_at_zero_is_no_motion() -> None:
    with pytest.raises(RefusedError, match="no duration"):
        joined(checked((0, [0.1, -0.1])), REST, 0.01)


def test_plans_are_sampled_by_stamps() -> None:
    motion = joined(checked((2, [1.0, 1.0])), REST, 0.01)
    plan = Plan(10**9, motion)
    np.testing.assert_allclose(plan.sample(10**9)[0], REST[0])
    np.testing.assert_allclose(plan.sample(3 * 10**9)[0], [1.0, 1.0])
    held = Line(REST[0])
    np.testing.assert_array_equal(held.sample(100.0)[0], REST[0])
    assert not held.sample(0.0)[1].any()
