"""Maps of the deflection as messages of the action ``map_stiffness``, and back."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np
from dyn_robot.action import MapStiffness
from geometry_msgs.msg import Point

from dyn_core.errors import InputError
from dyn_core.stiffness_maps import Axis, Grid, JointGrid, OrientationGrid, StiffnessMap
from dyn_nodes.common.geometry_messages import set_vector, wrench_array, wrench_message


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
        goal.position = [Point()]
        set_vector(goal.position[0], grid.position)
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
