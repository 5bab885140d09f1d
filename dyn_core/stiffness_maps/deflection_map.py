"""Maps: the largest deflection of a robot's tool or platform under a set of wrenches, over a grid of poses.

At each pose the deflections C w under all wrenches w are computed, and the largest translation and the largest rotation
among them are kept (they may belong to different wrenches).

    table = empty_map(robot, grid, wrenches)
    for done in fill(table, robot, grid):       # leave this loop at any time: the table keeps what it has
        print(f"{done} of {table.size}")
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import ClosureError, InputError, SingularityError, WorkspaceError
from dyn_core.spatial.poses import azimuth_tilt_torsion
from dyn_core.stiffness.cartesian import Stiffness

from .pose_grids import Axis, Grid, JointGrid, OrientationGrid

if TYPE_CHECKING:
    from dyn_core.robots.robot import Robot

COMPUTED, NOT_COMPUTED, UNREACHABLE, NO_EQUILIBRIUM = range(4)
STATUS = ("computed", "not computed", "unreachable", "no equilibrium")
"""What is known of a pose, by the number of its status."""

MOMENT = (0.0, 0.0, 0.0, 10.0, 10.0, 10.0)
"""Force (N) and moment (N m) whose eight combinations of signs are the default wrenches (those of Wu, Bai, Kepler)."""

LINEAR = float(np.radians(20.0))
"""rad, above which a deflection of the linear theory says only that there is a singularity near."""

FIRST_PART, LARGEST_PART = 64, 65536
SECONDS_PER_PART = 0.05
"""After about this time the table is handed out, so that it can be shown or given up."""

Found = tuple[Floats, Any]
"""Deflections (m, w, 6) and status (m,) of m poses."""


@dataclass(frozen=True)
class Peak:
    """The largest value of a map and where it is."""

    value: float
    """m or rad."""
    column: float
    row: float


@dataclass(frozen=True)
class StiffnessMap:
    """Largest deflections over a grid; arrays are (rows, columns)."""

    robot: str
    frame: str
    columns: Axis
    rows: Axis
    fixed: dict[str, float]
    """What the whole map shares: the torsion (rad)."""
    wrenches: Floats
    """(w, 6) force (N) and moment (N m), base axes, at the frame."""
    translation: Floats
    """m, the largest over the wrenches; nan where there is none."""
    rotation: Floats
    """rad."""
    status: Any
    """(rows, columns) uint8, index of STATUS."""
    notes: list[str] = field(default_factory=list)
    """Why poses have no value, the first of each kind."""

    @property
    def size(self) -> int:
        """How many poses."""
        return int(self.status.size)

    @property
    def done(self) -> int:
        """How many poses have been looked at."""
        return int((self.status != NOT_COMPUTED).sum())

    @property
    def counts(self) -> dict[str, int]:
        """How many poses are in each state, by its word."""
        found = np.bincount(self.status.ravel(), minlength=len(STATUS))
        return {word: int(count) for word, count in zip(STATUS, found, strict=True)}

    @property
    def beyond_linear(self) -> int:
        """At how many poses the rotation is beyond the linear theory, as it is beside a singular one."""
        return int((self.rotation > LINEAR).sum())

    @property
    def largest_translation(self) -> Peak | None:
        """m; None where nothing has a value."""
        return self._peak(self.translation)

    @property
    def largest_rotation(self) -> Peak | None:
        """rad; None where nothing has a value."""
        return self._peak(self.rotation)

    def _peak(self, values: Floats) -> Peak | None:
        if np.isnan(values).all():
            return None
        row, column = np.unravel_index(int(np.nanargmax(values)), values.shape)
        return Peak(float(values[row, column]), float(self.columns.values[column]), float(self.rows.values[row]))

    def csv(self) -> str:
        """A line per pose, with the units in the header; empty fields where there is no value."""
        fixed = [f"{name}_rad" for name in self.fixed]
        axes = [f"{axis.name}_{axis.unit}" for axis in (self.columns, self.rows)]
        constants = "".join(f"{value:.9g}," for value in self.fixed.values())
        lines = [",".join([*axes, *fixed, "translation_m", "rotation_rad", "status"])]
        names = [f"{x:.9g}" for x in self.columns.values.tolist()]
        for i, row in enumerate(self.rows.values.tolist()):
            cells = zip(
                names, self.translation[i].tolist(), self.rotation[i].tolist(), self.status[i].tolist(), strict=True
            )
            lines += [f"{x},{row:.9g},{constants}{_cell(t)},{_cell(r)},{STATUS[s]}" for x, t, r, s in cells]
        return "\n".join(lines) + "\n"


def _cell(value: float) -> str:
    return "" if value != value else f"{value:.9g}"


def sign_combinations(wrench: Any) -> Floats:
    """(2^k, 6) a wrench (6,) with every combination of signs of its k components that are not zero."""
    w = np.asarray(wrench, float)
    if w.shape != (6,) or not np.isfinite(w).all() or not w.any():
        raise InputError(f"the wrench must be six finite numbers (force, moment), not all zero, found {w}")
    return np.array(list(itertools.product(*((x, -x) if x else (0.0,) for x in np.abs(w)))))


def empty_map(robot: Robot, grid: Grid, wrenches: Any = None, frame: str = "tool") -> StiffnessMap:
    """A map in which nothing is computed yet; InputError where the robot cannot be mapped like that.

    wrenches: (w, 6) force (N) and moment (N m) in base axes at the frame; None: the eight combinations of +-10 N m.
    """
    w = sign_combinations(MOMENT) if wrenches is None else np.atleast_2d(np.asarray(wrenches, float))
    if w.ndim != 2 or w.shape[1] != 6 or len(w) == 0 or not np.isfinite(w).all():
        raise InputError(f"the wrenches must be rows of six finite numbers (force, moment), found shape {w.shape}")
    columns, rows = grid.axes(robot)
    shape = (len(rows.values), len(columns.values))
    fixed = {"torsion": float(grid.torsion)} if isinstance(grid, OrientationGrid) else {}
    _evaluator(robot, grid, w, frame)
    return StiffnessMap(
        robot.name, frame, columns, rows, fixed, w,
        np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, NOT_COMPUTED, np.uint8),
    )  # fmt: skip


def fill(table: StiffnessMap, robot: Robot, grid: Grid) -> Iterator[int]:
    """Compute what is missing in the map, row by row; yields how many poses are done after each part."""
    evaluate = _evaluator(robot, grid, table.wrenches, table.frame)
    translation, rotation, status = (a.reshape(-1) for a in (table.translation, table.rotation, table.status))
    width = len(table.columns.values)
    at, length = table.done, FIRST_PART
    while at < table.size:
        started = time.perf_counter()
        k = np.arange(at, min(at + length, table.size))
        moved, status[k] = evaluate(table.columns.values[k % width], table.rows.values[k // width], table.notes)
        largest = np.linalg.norm(moved.reshape(len(k), -1, 2, 3), axis=3).max(axis=1)
        translation[k], rotation[k] = np.where(status[k] == COMPUTED, largest.T, np.nan)
        at += len(k)
        yield at
        elapsed = time.perf_counter() - started
        if elapsed < 0.5 * SECONDS_PER_PART:
            length = min(2 * length, LARGEST_PART)
        elif elapsed > 2.0 * SECONDS_PER_PART:
            length = max(length // 2, 1)


def stiffness_map(robot: Robot, grid: Grid, wrenches: Any = None, frame: str = "tool") -> StiffnessMap:
    """The whole map; `fill` computes it in parts."""
    table = empty_map(robot, grid, wrenches, frame)
    for _ in fill(table, robot, grid):
        pass
    return table


def _evaluator(robot: Robot, grid: Grid, wrenches: Floats, frame: str) -> Callable[[Floats, Floats, list[str]], Found]:
    """What computes the deflections at columns (m,) and rows (m,), and notes why poses have none."""
    robot.mechanism.frame(frame)
    if isinstance(grid, JointGrid):

        def at_joints(columns: Floats, rows: Floats, notes: list[str]) -> Found:
            q = grid.configurations(robot, columns, rows)
            C = robot.compliances(q, frame)
            if C is not None:
                return (wrenches @ C, np.zeros(len(q), np.uint8))
            return _one_by_one(q, lambda each: robot.stiffness(each, frame), wrenches, notes)

        return at_joints
    platform = robot.platform
    if platform is None:
        raise InputError(
            f"{robot.name} has no inverse kinematics, so it cannot be mapped over orientations; name two of its joints"
        )
    if platform.turns_only and grid.position is not None:
        raise InputError(f"{robot.name} only turns about its centre: it cannot be mapped at another position")

    def turned(columns: Floats, rows: Floats, notes: list[str]) -> Found:
        rotations = azimuth_tilt_torsion(columns, rows, grid.torsion)
        quick = platform.deflections(rotations, wrenches, frame)
        if quick is not None:
            found, reached = quick
            resting = np.isfinite(found).all(axis=(1, 2))
            return (found, np.select([reached == 1, ~resting], [UNREACHABLE, NO_EQUILIBRIUM], COMPUTED))
        poses = np.tile(platform.home, (len(columns), 1, 1))
        poses[:, :3, :3] = rotations
        if grid.position is not None:
            poses[:, :3, 3] = grid.position
        return _one_by_one(poses, lambda pose: platform.stiffness_at(pose, frame), wrenches, notes)

    return turned


def _one_by_one(poses: Floats, stiffness: Callable[[Floats], Stiffness], wrenches: Floats, notes: list[str]) -> Found:
    deflections = np.zeros((len(poses), len(wrenches), 6))
    status = np.zeros(len(poses), np.uint8)
    for k, pose in enumerate(poses):
        try:
            found = stiffness(pose)
        except (ClosureError, SingularityError, WorkspaceError) as error:
            status[k] = UNREACHABLE
            if not notes:
                notes.append(str(error))
            continue
        deflections[k] = wrenches @ found.C
        if found.singular and not all(found.deflected(w).equilibrium for w in wrenches):
            status[k] = NO_EQUILIBRIUM
    return (deflections, status)
