"""Maps: the largest deflection of a robot's tool or platform under a set of wrenches, over a grid of poses.

At each pose the deflections C w under all wrenches w are computed, and the largest translation and the largest rotation
among them are kept (they may belong to different wrenches). A grid is over azimuth and tilt of a platform at a fixed
torsion, Q = Rz(azimuth) Ry(tilt) Rz(torsion - azimuth), or over two joints of any robot.

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

from ..errors import ClosureError, InputError, SingularityError, WorkspaceError
from ..mechanism import PRISMATIC, Floats
from ..plots import Plot
from ..spatial import azimuth_tilt_torsion
from .cartesian import Stiffness

if TYPE_CHECKING:
    from ..robot import Robot

COMPUTED, NOT_COMPUTED, UNREACHABLE, NO_EQUILIBRIUM = range(4)
STATUS = ("computed", "not computed", "unreachable", "no equilibrium")
"""What is known of a pose, by the number of its status."""

MOMENT = (0.0, 0.0, 0.0, 10.0, 10.0, 10.0)
"""Force (N) and moment (N m) whose eight combinations of signs are the default wrenches (those of Wu, Bai, Kepler)."""

FIRST_PART, LARGEST_PART = 64, 65536
SECONDS_PER_PART = 0.05
"""After about this time the table is handed out, so that it can be shown or given up."""


@dataclass(frozen=True)
class Axis:
    """One direction of a grid."""

    name: str
    unit: str
    """rad or m."""
    values: Floats
    """Increasing."""


@dataclass(frozen=True)
class OrientationGrid:
    """Orientations of a platform: columns round the circle of azimuths, rows from the upright to the largest tilt."""

    tilt_max: float
    """rad, at most pi."""
    azimuths: int
    """How many, from 0 to short of a whole turn."""
    tilts: int
    """How many, from 0 to tilt_max."""
    torsion: float = 0.0
    """rad."""
    position: tuple[float, float, float] | None = None
    """m, of a platform that also translates; None: where it is described."""

    def __post_init__(self) -> None:
        if not 0.0 < self.tilt_max <= np.pi:
            raise InputError(f"the largest tilt must be above 0 and at most pi (180 degrees), found {self.tilt_max:g}")
        if not np.isfinite(self.torsion):
            raise InputError(f"the torsion must be finite, found {self.torsion:g}")
        if self.azimuths < 3 or self.tilts < 2:
            raise InputError(f"a map needs at least 3 azimuths and 2 tilts, found {self.azimuths} and {self.tilts}")

    @property
    def size(self) -> int:
        """How many poses."""
        return self.azimuths * self.tilts

    def axes(self, robot: Robot) -> tuple[Axis, Axis]:
        """Columns and rows."""
        azimuths = np.linspace(0.0, 2.0 * np.pi, self.azimuths, endpoint=False)
        return Axis("azimuth", "rad", azimuths), Axis("tilt", "rad", np.linspace(0.0, self.tilt_max, self.tilts))

    def rotations(self, azimuth: Floats, tilt: Floats) -> Floats:
        """(m, 3, 3) platform orientations of angles (m,)."""
        return azimuth_tilt_torsion(azimuth, tilt, self.torsion)


@dataclass(frozen=True)
class JointGrid:
    """Configurations in which two joints vary and the others stay."""

    joints: tuple[str, str]
    """Names: of the columns, of the rows."""
    counts: tuple[int, int]
    positions: tuple[float, ...]
    """All joints' positions (rad, m); those of the two do not matter."""
    lower: tuple[float, float] | None = None
    upper: tuple[float, float] | None = None
    """rad or m; None: the joints' limits, and half a turn to each side where there are none."""

    def __post_init__(self) -> None:
        if len(self.joints) != 2 or self.joints[0] == self.joints[1]:
            raise InputError(f"a map is over two different joints, found {', '.join(self.joints) or 'none'}")
        if len(self.counts) != 2 or min(self.counts) < 2:
            raise InputError(f"a map needs at least 2 positions of each joint, found {self.counts}")

    @property
    def size(self) -> int:
        """How many poses."""
        return self.counts[0] * self.counts[1]

    def axes(self, robot: Robot) -> tuple[Axis, Axis]:
        """Columns and rows; InputError where the robot has no such joints."""
        if len(self.positions) != robot.n or not np.isfinite(self.positions).all():
            raise InputError(
                f"{robot.name} needs {robot.n} finite joint positions for the joints that stay,"
                f" found {len(self.positions)}"
            )
        columns, rows = (self._axis(robot, k) for k in range(2))
        return columns, rows

    def _axis(self, robot: Robot, k: int) -> Axis:
        name = self.joints[k]
        if name not in robot.joint_names:
            raise InputError(f"{robot.name} has no joint '{name}'; it has {', '.join(robot.joint_names)}")
        j = robot.joints[robot.joint_names.index(name)]
        prismatic = robot.mechanism.joint_type[j] == PRISMATIC
        low, high = (float(limit) for limit in robot.mechanism.position_limits[j])
        if not np.isfinite(high - low):
            low, high = (-1.0, 1.0) if prismatic else (-np.pi, np.pi)
        low = low if self.lower is None else float(self.lower[k])
        high = high if self.upper is None else float(self.upper[k])
        if not (np.isfinite([low, high]).all() and low < high):
            raise InputError(f"{name}: the range [{low:g}, {high:g}] is empty or not finite")
        return Axis(name, "m" if prismatic else "rad", np.linspace(low, high, self.counts[k]))

    def configurations(self, robot: Robot, columns: Floats, rows: Floats) -> Floats:
        """(m, n) joint positions."""
        q = np.tile(np.asarray(self.positions, float), (len(columns), 1))
        q[:, robot.joint_names.index(self.joints[0])] = columns
        q[:, robot.joint_names.index(self.joints[1])] = rows
        return q


Grid = OrientationGrid | JointGrid


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

    def plot(self) -> Plot:
        """Isocontours of the translation (mm) and of the rotation (degrees), side by side."""
        return Plot("map", (11.0, 5.2), lambda figure: draw_map(figure, self))


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
    """Compute what is missing in the map, row by row, and tell every now and then how many poses are done."""
    evaluate = _evaluator(robot, grid, table.wrenches, table.frame)
    translation, rotation, status = (a.reshape(-1) for a in (table.translation, table.rotation, table.status))
    width = len(table.columns.values)
    at, length = table.done, FIRST_PART
    while at < table.size:
        started = time.perf_counter()
        k = np.arange(at, min(at + length, table.size))
        found = evaluate(table.columns.values[k % width], table.rows.values[k // width], table.notes)
        largest = np.linalg.norm(found.deflections.reshape(len(k), -1, 2, 3), axis=3).max(axis=1)
        good = found.status == COMPUTED
        translation[k] = np.where(good, largest[:, 0], np.nan)
        rotation[k] = np.where(good, largest[:, 1], np.nan)
        status[k] = found.status
        at += len(k)
        yield at
        elapsed = time.perf_counter() - started
        if elapsed < 0.5 * SECONDS_PER_PART:
            length = min(2 * length, LARGEST_PART)
        elif elapsed > 2.0 * SECONDS_PER_PART:
            length = max(length // 2, 1)


def stiffness_map(
    robot: Robot,
    grid: Grid,
    wrenches: Any = None,
    frame: str = "tool",
    progress: Callable[[int, int], None] | None = None,
) -> StiffnessMap:
    """The whole map; progress(done, size) is called every now and then."""
    table = empty_map(robot, grid, wrenches, frame)
    for done in fill(table, robot, grid):
        if progress is not None:
            progress(done, table.size)
    return table


@dataclass(frozen=True)
class _Found:
    deflections: Floats
    """(m, w, 6)."""
    status: Any
    """(m,)"""


def _evaluator(robot: Robot, grid: Grid, wrenches: Floats, frame: str) -> Callable[[Floats, Floats, list[str]], _Found]:
    """What computes the deflections at columns (m,) and rows (m,), and notes why poses have none."""
    robot.mechanism.frame(frame)
    if isinstance(grid, JointGrid):

        def at_joints(columns: Floats, rows: Floats, notes: list[str]) -> _Found:
            q = grid.configurations(robot, columns, rows)
            C = robot.compliances(q, frame)
            if C is not None:
                return _Found(wrenches @ C, np.zeros(len(q), np.uint8))
            return _one_by_one(q, lambda each: robot.stiffness(each, frame), wrenches, notes)

        return at_joints
    if not hasattr(robot, "inverse_kinematics"):
        raise InputError(
            f"{robot.name} has no inverse kinematics, so it cannot be mapped over orientations; name two of its joints"
        )
    deflections: Any = getattr(robot, "deflections", None)
    if deflections is not None:
        if grid.position is not None:
            raise InputError(f"{robot.name} only turns about its centre: it cannot be mapped at another position")

        def turned(columns: Floats, rows: Floats, notes: list[str]) -> _Found:
            found, reached = deflections(grid.rotations(columns, rows), wrenches, frame)
            resting = np.isfinite(found).all(axis=(1, 2))
            return _Found(found, np.select([reached == 1, ~resting], [UNREACHABLE, NO_EQUILIBRIUM], COMPUTED))

        return turned

    def posed(columns: Floats, rows: Floats, notes: list[str]) -> _Found:
        poses = np.tile(np.eye(4), (len(columns), 1, 1))
        poses[:, :3, :3] = grid.rotations(columns, rows)
        poses[:, :3, 3] = home if grid.position is None else grid.position
        return _one_by_one(poses, lambda pose: robot.stiffness(robot.inverse_kinematics(pose), frame), wrenches, notes)

    home = robot.forward_kinematics(robot.neutral())[:3, 3]
    return posed


def _one_by_one(poses: Floats, stiffness: Callable[[Floats], Stiffness], wrenches: Floats, notes: list[str]) -> _Found:
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
    return _Found(deflections, status)


def draw_map(figure: Any, table: StiffnessMap) -> None:
    """Fill a Matplotlib figure: isocontours, polar over azimuth and tilt (degrees), else over the two joints."""
    polar = "torsion" in table.fixed
    panels = (
        ("shift of the point", 1e3 * table.translation, table.largest_translation, 1e3, "mm"),
        ("orientation error", np.degrees(table.rotation), table.largest_rotation, np.degrees(1.0), "°"),
    )
    x, y = (np.degrees(a.values) if a.unit == "rad" else a.values for a in (table.columns, table.rows))
    for k, (title, values, peak, scale, unit) in enumerate(panels):
        axes = figure.add_subplot(1, 2, k + 1, projection="polar" if polar else None)
        heading = f"{title} ({unit})"
        if peak is not None:
            across, along = (
                f"{np.degrees(v):.3g}°" if a.unit == "rad" else f"{v:.3g} m"
                for v, a in ((peak.column, table.columns), (peak.row, table.rows))
            )
            heading += (
                f"\nlargest {scale * peak.value:#.3g}{' ' if unit == 'mm' else ''}{unit}"
                f" at {table.columns.name} {across}, {table.rows.name} {along}"
            )
            _contours(figure, axes, x, y, values, polar)
        axes.set_title(heading, fontsize=10)
        if polar:
            axes.set_rlim(0.0, y[-1])
            axes.set_rlabel_position(112.5)
            axes.tick_params(axis="y", labelsize=7, labelcolor="white")
            axes.grid(linewidth=0.4)
        else:
            for name, axis in (("x", table.columns), ("y", table.rows)):
                getattr(axes, f"set_{name}label")(f"{axis.name} ({'°' if axis.unit == 'rad' else 'm'})")
    names = [f"{name} {np.degrees(value):.4g}°" for name, value in table.fixed.items()]
    missing = [f"{count} {word}" for word, count in table.counts.items() if count and word != STATUS[COMPUTED]]
    heading = f"{table.robot}: largest deflection under {len(table.wrenches)} wrenches"
    figure.suptitle("; ".join([", ".join([heading, *names]), *missing]), fontsize=11)


def _contours(figure: Any, axes: Any, x: Floats, y: Floats, values: Floats, polar: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    if polar:
        x, values = np.radians(np.append(x, 360.0)), np.column_stack([values, values[:, 0]])
    shown = np.ma.masked_invalid(values)
    # Beside a singular pose values have no bound: the scale is that of the rest.
    low, top = float(shown.min()), float(shown.max())
    usual = 2.0 * float(np.percentile(shown.compressed(), 98.0))
    levels = MaxNLocator(12).tick_values(low, min(top, usual) if top > low else low + 1.0)
    axes.set_facecolor("0.85")
    filled = axes.contourf(x, y, shown, levels=levels, extend="max" if top > levels[-1] else "neither", cmap="viridis")
    lines = axes.contour(x, y, shown, levels=levels, colors="black", linewidths=0.5)
    axes.clabel(lines, fontsize=7)
    figure.colorbar(filled, ax=axes, shrink=0.8, pad=0.1 if polar else 0.02)
