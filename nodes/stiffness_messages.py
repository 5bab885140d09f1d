"""Stiffness, deflections and maps as messages, and back."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from dyn_robot.action import MapStiffness
from dyn_robot.srv import GetDeflection, GetStiffness
from geometry_msgs.msg import Point, Pose, Quaternion, Wrench

from dyn_core.description.pose import pose as pose_of
from dyn_core.errors import InputError
from dyn_core.stiffness.maps import Axis, Grid, JointGrid, OrientationGrid, StiffnessMap
from nodes.stiffness_answers import Answer


def wrench_array(message: Wrench) -> np.ndarray:
    """(6,) force and moment."""
    force, torque = message.force, message.torque
    return np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def wrench_message(wrench: np.ndarray) -> Wrench:
    """Force and moment (6,) as a message."""
    message = Wrench()
    force, torque = message.force, message.torque
    force.x, force.y, force.z, torque.x, torque.y, torque.z = (float(x) for x in wrench)
    return message


def rotation_array(message: Quaternion) -> np.ndarray:
    """(3, 3) rotation; InputError where the quaternion has no direction."""
    u = np.array([message.x, message.y, message.z, message.w])
    if not (np.abs(u) <= 2.0).all() or abs(float(np.linalg.norm(u)) - 1.0) > 1e-3:  # whose square would overflow
        raise InputError(f"orientation: [{', '.join(f'{x:g}' for x in u)}] is not a unit quaternion (x, y, z, w)")
    from scipy.spatial.transform import Rotation

    return Rotation.from_quat(u).as_matrix()


def quaternion_message(R: np.ndarray) -> Quaternion:
    """A rotation (3, 3) as a message."""
    from scipy.spatial.transform import Rotation

    x, y, z, w = (float(u) for u in Rotation.from_matrix(R).as_quat())
    return Quaternion(x=x, y=y, z=z, w=w)


def pose_array(message: Pose) -> np.ndarray:
    """(4, 4) pose."""
    p = np.array([message.position.x, message.position.y, message.position.z])
    if not np.isfinite(p).all():
        raise InputError("pose: the position is not finite")
    return pose_of(rotation_array(message.orientation), p)


def pose_message(T: np.ndarray) -> Pose:
    """A pose (4, 4) as a message."""
    message = Pose(orientation=quaternion_message(T[:3, :3]))
    message.position.x, message.position.y, message.position.z = (float(x) for x in T[:3, 3])
    return message


def fill_response(response: Any, answer: Answer) -> Any:
    """Write an answer into the response of a service; what is None stays as the response has it."""
    for key, value in answer.items():
        if value is None:
            continue
        if key in ("point", "translation", "rotation"):
            vector = getattr(response, key)
            vector.x, vector.y, vector.z = (float(x) for x in value)
        elif isinstance(value, np.ndarray):
            setattr(response, key, value.ravel())
        elif hasattr(response, key):
            setattr(response, key, value)
    return response


def stiffness_dict(response: GetStiffness.Response) -> Answer:
    """The answer in a response."""
    answer = _common(response)
    answer["point"] = np.array([response.point.x, response.point.y, response.point.z])
    for key in ("stiffness", "compliance"):
        matrix = np.reshape(getattr(response, key), (6, 6))
        answer[key] = matrix if matrix.any() else None  # a zero compliance is that of a rigid frame: none to speak of
    answer["eigenvalues"] = None if answer["stiffness"] is None else np.array(response.eigenvalues)
    answer["condition"] = float(response.condition)
    return answer


def deflection_dict(response: GetDeflection.Response) -> Answer:
    """The answer in a response."""
    answer = _common(response)
    found = len(response.joint_positions) > 0
    for key in ("translation", "rotation"):
        vector = getattr(response, key)
        answer[key] = np.array([vector.x, vector.y, vector.z]) if found else None
    answer["equilibrium"] = bool(response.equilibrium)
    return answer


def _common(response: Any) -> Answer:
    return {
        "success": bool(response.success),
        "message": response.message,
        "frame_id": response.frame_id,
        "frame": response.frame,
        "joint_positions": np.array(response.joint_positions),
        "null_directions": np.reshape(response.null_directions, (-1, 6)),
    }


def map_goal(grid: Grid, wrenches: np.ndarray, frame: str = "") -> MapStiffness.Goal:
    """What to ask for a map."""
    goal = MapStiffness.Goal(wrenches=[wrench_message(w) for w in wrenches], frame=frame)
    if isinstance(grid, JointGrid):
        goal.joints, (goal.columns, goal.rows) = list(grid.joints), grid.counts
        goal.positions = [float(x) for x in grid.positions]
        goal.lower, goal.upper = ([] if ends is None else [float(x) for x in ends] for ends in (grid.lower, grid.upper))
        return goal
    goal.columns, goal.rows = grid.azimuths, grid.tilts
    goal.tilt_max, goal.torsion = float(grid.tilt_max), float(grid.torsion)
    if grid.position is not None:
        point = Point()
        point.x, point.y, point.z = (float(x) for x in grid.position)
        goal.position = [point]
    return goal


def grid_of(goal: MapStiffness.Goal, positions: Callable[[Sequence[float]], np.ndarray]) -> Grid:
    """The grid that a goal asks for; positions: checks joint positions, and supplies them where there are none."""
    if not goal.joints:
        place = None
        if goal.position:
            place = (goal.position[0].x, goal.position[0].y, goal.position[0].z)
            if not np.isfinite(place).all():
                raise InputError("position: not finite")
        return OrientationGrid(goal.tilt_max, goal.columns, goal.rows, goal.torsion, place)
    ends = {}
    for name in ("lower", "upper"):
        values = [float(x) for x in getattr(goal, name)]
        if len(values) not in (0, 2):
            raise InputError(f"{name}: {len(values)} numbers given, expected one for each of the two joints, or none")
        ends[name] = (values[0], values[1]) if values else None
    if len(goal.joints) != 2:
        raise InputError(f"joints: {len(goal.joints)} names given, expected two, or none for azimuth and tilt")
    return JointGrid(
        (goal.joints[0], goal.joints[1]), (goal.columns, goal.rows), tuple(positions(goal.positions)), **ends
    )


def map_result(table: StiffnessMap) -> MapStiffness.Result:
    """A map, or what there is of it, as the result of the action."""
    result = MapStiffness.Result(
        success=True,
        complete=table.done == table.size,
        robot=table.robot,
        frame=table.frame,
        axes=[table.columns.name, table.rows.name],
        units=[table.columns.unit, table.rows.unit],
        wrenches=[wrench_message(w) for w in table.wrenches],
    )
    result.column_values, result.row_values = _doubles(table.columns.values), _doubles(table.rows.values)
    result.translation, result.rotation = _doubles(table.translation), _doubles(table.rotation)
    result.status = array("B", table.status.tobytes())
    words = ", ".join(f"{count} {word}" for word, count in table.counts.items() if count)
    result.message = f"map of {table.robot} at the frame {table.frame!r}: {words}"
    if table.notes:
        result.message += f" ({table.notes[0]})"
    return result


def map_of(result: MapStiffness.Result, goal: MapStiffness.Goal) -> StiffnessMap:
    """The map in an action's result."""
    columns, rows = (
        Axis(name, unit, np.array(values))
        for name, unit, values in zip(result.axes, result.units, (result.column_values, result.row_values), strict=True)
    )
    shape = (len(rows.values), len(columns.values))
    return StiffnessMap(
        result.robot,
        result.frame,
        columns,
        rows,
        {} if goal.joints else {"torsion": float(goal.torsion)},
        np.array([wrench_array(w) for w in result.wrenches]),
        np.reshape(result.translation, shape),
        np.reshape(result.rotation, shape),
        np.reshape(np.array(result.status, np.uint8), shape),
    )


def map_feedback(table: StiffnessMap, done: int) -> MapStiffness.Feedback:
    """How far a map is, and the largest deflections so far."""
    feedback = MapStiffness.Feedback(done=done, total=table.size)
    shift, turn = table.largest_translation, table.largest_rotation
    if shift is not None and turn is not None:
        feedback.largest_translation, feedback.at_translation = shift.value, [shift.column, shift.row]
        feedback.largest_rotation, feedback.at_rotation = turn.value, [turn.column, turn.row]
    return feedback


def _doubles(values: np.ndarray) -> array[float]:
    return array("d", np.ascontiguousarray(values, float).tobytes())
