"""What a robot's platform can do: the interface of `Robot.platform`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

from dyn_core.arrays import Floats, Ints
from dyn_core.errors import InputError
from dyn_core.stiffness import Stiffness

from .configuration import Configuration


@dataclass(frozen=True)
class Reached:
    """How the robot stands at poses of the platform; all arrays have the poses' leading axes."""

    q: Floats
    """(..., n) positions of the active joints."""
    find_configuration: Callable[[], Configuration] = field(repr=False)
    """Finds `configuration`."""
    beyond: Any = field(default=False, kw_only=True)
    """(...,) whether a singularity lies between home and the pose, which only `check=False` allows: q alone then leads
    to another pose, and `near=` the configuration to this one."""

    @cached_property
    def configuration(self) -> Configuration:
        """The configuration that belongs to them: q alone may leave several; `near=` it names this one."""
        return self.find_configuration()


@dataclass(frozen=True)
class Legs(Reached):
    """What the legs do at poses of the platform; all arrays have the poses' leading axes."""

    qd: Floats
    """(..., n)."""
    qdd: Floats
    """(..., n)."""
    inverse_jacobian: Floats
    """(..., n, 6) rates of the active joints per twist of the frame."""


class Workspace(NamedTuple):
    """Sampled poses, and what the robot makes of them."""

    poses: Floats
    """(m, 4, 4)."""
    q: Floats
    """(m, n) positions of the active joints, NaN where a leg does not reach."""
    reachable: Any
    """(m,) whether all legs reach, within their limits and on this side of singularities."""
    distance: Floats
    """(m,) from a singularity, see `Platform.singularity_distance`; NaN where a leg does not reach."""


class Platform(ABC):
    """A platform that legs carry. Poses (..., 4, 4) and twists (..., 6), linear first, are those of a frame of the
    platform in the base frame; the frame is the tool if no other is named."""

    @property
    @abstractmethod
    def freedoms(self) -> Floats:
        """(6, n) unit twists, linear first, in base axes, that the platform can make."""

    @property
    def turns_only(self) -> bool:
        """Whether the platform turns about a fixed centre and does nothing else."""
        return not self.freedoms[:3].any()

    @property
    @abstractmethod
    def size(self) -> float:
        """The mechanism's characteristic length, m."""

    @abstractmethod
    def home_of(self, frame: str) -> Floats:
        """(4, 4) the described pose of a frame."""

    @property
    def home(self) -> Floats:
        """(4, 4) the described pose of the tool."""
        return self.home_of("tool")

    @abstractmethod
    def legs(
        self, pose: Any, twist: Any = None, acceleration: Any = None, frame: str = "tool", check: bool = True
    ) -> Legs:
        """Positions, speeds and accelerations of the active joints at a motion (..., 6) of a frame of the platform.

        check: WorkspaceError where a leg would be beyond its limits, SingularityError beyond a singularity; a leg that
        does not reach is always a WorkspaceError.
        """

    def inverse_kinematics(self, pose: Any, frame: str = "tool", check: bool = True) -> Reached:
        """Active positions (..., n), and the configuration, at poses (..., 4, 4) of a frame; check: as in `legs`."""
        return self.legs(pose, frame=frame, check=check)

    def inverse_jacobian(self, pose: Any, frame: str = "tool") -> Floats:
        """Rates of the active joints (..., n, 6) per twist of a frame, of those that the platform can make."""
        return self.legs(pose, frame=frame, check=False).inverse_jacobian

    @abstractmethod
    def singularity_distance(self, pose: Any, frame: str = "tool") -> Floats:
        """(...,) without units: 0 where the legs do not hold the platform."""

    @abstractmethod
    def check(self, q: Any) -> None:
        """Raise where a joint of a leg is beyond its limits, or the robot at or near a singularity, at q (..., n)."""

    @abstractmethod
    def frame_motion(self, q: Floats, qd: Floats, frame: str = "tool") -> tuple[Floats, Floats]:
        """Pose (4, 4) and twist (6,) of a frame in the base frame, from q, qd of all joints of the mechanism."""

    @abstractmethod
    def pose_at(self, orientation: Any) -> Floats:
        """(4, 4) a pose of the tool: as given, or where the platform stands at home with a rotation (3, 3)."""

    @abstractmethod
    def stiffness_at(self, pose: Any, frame: str = "tool") -> Stiffness:
        """Cartesian stiffness of a frame at a pose (4, 4) of the tool."""

    def deflections(self, rotations: Any, wrenches: Any, frame: str = "") -> tuple[Floats, Ints] | None:
        """Deflections (m, w, 6) at rotations (m, 3, 3) of the platform, by a kernel; None where there is none."""
        return None

    @abstractmethod
    def reach(self, poses: Floats, frame: str) -> tuple[Floats, Any, Floats]:
        """q (m, n), whether reachable (m,) and the distance (m,) of a `Workspace` at poses (m, 4, 4)."""

    def workspace(self, span: Any, samples: int = 1000, seed: int = 0, frame: str = "tool") -> Workspace:
        """Random poses about home: x, y, z (m) and roll, pitch, yaw (rad) each up to +-span (6,), uniformly."""
        try:
            reach = np.asarray(span, float)
        except (TypeError, ValueError):
            raise InputError(f"these must be numbers, found {span!r:.80}") from None
        if reach.shape != (6,) or not (np.isfinite(reach).all() and (reach >= 0.0).all()):
            raise InputError("the span must be six finite numbers not below zero: x y z (m), roll pitch yaw (rad)")
        if not isinstance(samples, int | np.integer) or samples < 0:
            raise InputError(f"the number of samples must be a whole number not below zero, found {samples!r:.80}")
        x = np.random.default_rng(seed).uniform(-reach, reach, (samples, 6))
        poses = np.tile(self.home_of(frame), (samples, 1, 1))
        poses[:, :3, 3] += x[:, :3]
        if samples:
            poses[:, :3, :3] = Rotation.from_euler("ZYX", x[:, :2:-1]).as_matrix() @ poses[:, :3, :3]
        return Workspace(poses, *self.reach(poses, frame))
