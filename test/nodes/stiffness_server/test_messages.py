"""Whatever a request about stiffness says: an answer, or a refusal in one sentence, without a running server."""

from __future__ import annotations

import numpy as np
import pytest
from dyn_robot.action import MapStiffness
from dyn_robot.srv import GetDeflection, GetStiffness
from geometry_msgs.msg import Point, Pose, Quaternion
from hypothesis import given, settings
from hypothesis import strategies as st

from dyn_core import Robot, load_robot
from dyn_core.errors import DynError, InputError
from dyn_core.stiffness_maps import Answer, deflection_answer, empty_map, stiffness_answer
from dyn_nodes.common.geometry_messages import pose_array, rotation_array, wrench_array, wrench_message
from dyn_nodes.stiffness_server.map_messages import grid_of
from dyn_nodes.stiffness_server.messages import fill_response

NUMBERS = st.floats() | st.floats(-2.0, 2.0) | st.sampled_from((0.0, 1.0, 1e308, 1e160, 5e-324))
QUATERNIONS = st.lists(NUMBERS, min_size=4, max_size=4) | st.just([0.0, 0.0, 0.0, 1.0])
POINTS = st.lists(NUMBERS, min_size=3, max_size=3)
FRAMES = st.sampled_from(("tool", "base", "", "nowhere", "x" * 1000, "\n"))
ROBOTS = {name: load_robot(name) for name in ("planar_2r", "spm_coaxial", "puma560")}
randomly = settings(max_examples=120, deadline=None, derandomize=True, database=None)


def where(robot: Robot, kind: str, values: list[float], point: list[float]) -> np.ndarray:
    x, y, z, w = values[:4]
    if kind == "orientation":
        return rotation_array(Quaternion(x=x, y=y, z=z, w=w))
    if kind == "pose":
        place = Point(x=point[0], y=point[1], z=point[2])
        return pose_array(Pose(position=place, orientation=Quaternion(x=x, y=y, z=z, w=w)))
    return np.nan_to_num(np.resize(values, robot.n))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", list(ROBOTS))
@randomly
@given(
    kind=st.sampled_from(("positions", "orientation", "pose")),
    values=QUATERNIONS,
    point=POINTS,
    wrench=st.lists(NUMBERS, min_size=6, max_size=6),
    frame=FRAMES,
)
def test_any_question_is_answered(
    name: str, kind: str, values: list[float], point: list[float], wrench: list[float], frame: str
) -> None:
    robot = ROBOTS[name]
    load = wrench_array(wrench_message(np.array(wrench)))
    try:
        at = where(robot, kind, values, point)
        answers: list[Answer] = [stiffness_answer(robot, at, frame), deflection_answer(robot, at, load, frame)]
    except DynError as error:
        answers = [Answer.refused(error)] * 2
    for response, answer in zip((GetStiffness.Response(), GetDeflection.Response()), answers, strict=True):
        filled = fill_response(response, answer)
        assert filled.success or filled.message
        assert filled.message.isprintable()


@randomly
@given(
    joints=st.lists(st.sampled_from(("shoulder", "elbow", "", "x")), max_size=3) | st.just(["shoulder", "elbow"]),
    counts=st.tuples(*[st.integers(0, 30) | st.integers(0, 2**32 - 1)] * 2),
    ends=st.tuples(*[st.lists(NUMBERS, max_size=3)] * 2),
    positions=st.lists(NUMBERS, max_size=3),
    angles=st.tuples(NUMBERS, NUMBERS),
    place=POINTS,
)
def test_any_map_is_bounded_or_refused(
    joints: list[str],
    counts: tuple[int, int],
    ends: tuple[list[float], list[float]],
    positions: list[float],
    angles: tuple[float, float],
    place: list[float],
) -> None:
    goal = MapStiffness.Goal(joints=joints, lower=ends[0], upper=ends[1], positions=positions)
    goal.columns, goal.rows = counts
    goal.tilt_max, goal.torsion = angles
    goal.position = [Point(x=place[0], y=place[1], z=place[2])]
    robot = ROBOTS["planar_2r" if joints else "spm_coaxial"]
    said = ""
    try:
        grid = grid_of(goal, np.array)
        if grid.size <= 900:
            assert empty_map(robot, grid, None, "tool").size == grid.size
    except DynError as error:
        said = str(error)
    assert said.isprintable()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("huge", [1e200, -1e308, float("nan"), float("inf")])
def test_numbers_beyond_all_bounds_are_refused_without_a_warning(huge: float) -> None:
    with pytest.raises(InputError, match="is not a unit quaternion"):
        rotation_array(Quaternion(x=huge, w=1.0))
    robot = load_robot("planar_2r")
    answer = deflection_answer(robot, np.array([0.1, 0.2]), np.array([huge, 0, 0, 0, 0, 0]), "tool")
    assert not answer.success
    assert answer.message.startswith("wrench: not finite, or larger than 1e+50")
