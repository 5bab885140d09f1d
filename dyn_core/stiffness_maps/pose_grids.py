"""Grids of poses: over azimuth and tilt of a platform at a fixed torsion, or over two joints of any robot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.mechanism import PRISMATIC

if TYPE_CHECKING:
    from dyn_core.robots.robot import Robot


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
