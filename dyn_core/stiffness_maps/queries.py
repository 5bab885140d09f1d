"""What is answered to a question about stiffness, over ROS or without it: plain values, and never an exception."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, fields
from typing import Any, Self

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import DynError, InputError, SingularityError
from dyn_core.files import LARGEST
from dyn_core.robots.robot import Robot
from dyn_core.stiffness import Stiffness

from .deflection_map import stiffness_map
from .pose_grids import Grid, JointGrid, OrientationGrid

AXES = "base"
"""The frame whose axes all matrices and vectors are expressed in."""


@dataclass(frozen=True)
class Answer:
    """What every answer says; fields that have no value are None."""

    success: bool
    message: str
    """One sentence."""
    frame: str = ""
    """At whose origin the answer holds."""
    frame_id: str = AXES
    """In whose axes it is expressed."""
    joint_positions: Floats | None = None
    """(n,) rad or m, the configuration that was looked at."""
    null_directions: Floats = field(default_factory=lambda: np.zeros((0, 6)))
    """(k, 6) unit motions (m, rad) that no elastic force resists."""

    @classmethod
    def refused(cls, why: object) -> Self:
        """An answer without success."""
        return cls(False, " ".join(str(why).split()))


@dataclass(frozen=True)
class StiffnessAnswer(Answer):
    """Stiffness and compliance of a frame."""

    point: Floats | None = None
    """(3,) m, the frame's origin."""
    stiffness: Floats | None = None
    """(6, 6) N/m, N/rad; N m/m, N m/rad."""
    compliance: Floats | None = None
    """(6, 6) m/N, m/(N m); rad/N, rad/(N m)."""
    eigenvalues: Floats | None = None
    """(6,) of the stiffness, ascending."""
    condition: float | None = None
    """Largest over smallest singular value of the stiffness."""


@dataclass(frozen=True)
class DeflectionAnswer(Answer):
    """Deflection of a frame under a wrench."""

    translation: Floats | None = None
    """(3,) m."""
    rotation: Floats | None = None
    """(3,) rad."""
    equilibrium: bool = False


def stiffness_answer(robot: Robot, at: Floats, frame: str) -> StiffnessAnswer:
    """Stiffness of a frame. at: joint positions (n,), or a platform's rotation (3, 3) or pose (4, 4)."""
    try:
        q, result = _stiffness(robot, at, frame)
    except DynError as error:
        return StiffnessAnswer.refused(error)
    regular = not result.statement
    return StiffnessAnswer(
        regular,
        f"stiffness of {robot.name} at the frame {frame!r}" if regular else result.statement,
        frame,
        joint_positions=q,
        null_directions=result.null_directions.T,
        point=result.point,
        stiffness=result.K,
        compliance=result.C,
        eigenvalues=None if result.K is None else result.eigenvalues,
        condition=result.condition,
    )


def deflection_answer(robot: Robot, at: Floats, wrench: Floats, frame: str) -> DeflectionAnswer:
    """Deflection of a frame under a wrench (6,) in N, N m; at: as above."""
    try:
        if not (np.abs(wrench) <= LARGEST).all():
            raise InputError(f"wrench: not finite, or larger than {LARGEST:g}")
        q, result = _stiffness(robot, at, frame)
    except DynError as error:
        return DeflectionAnswer.refused(error)
    found = result.deflected(wrench)
    return DeflectionAnswer(
        found.equilibrium,
        found.statement or f"deflection of {robot.name} at the frame {frame!r}",
        frame,
        joint_positions=q,
        null_directions=found.null_directions.T,
        translation=found.motion[:3],
        rotation=found.motion[3:],
        equilibrium=found.equilibrium,
    )


def first_queries(robot: Robot, frame: str) -> None:
    """Ask everything once, small, so that no answer has to wait for the compiler; an error for an unknown frame."""
    q = robot.neutral()
    robot.stiffness(q, frame)
    stiffness_answer(robot, robot.forward_kinematics(q), frame)
    grids: list[Grid] = [OrientationGrid(0.1, 3, 2)]
    if robot.n > 1:
        first, second = robot.joint_names[:2]
        grids.append(JointGrid((first, second), (2, 2), tuple(q)))
    for grid in grids:
        with contextlib.suppress(DynError):
            stiffness_map(robot, grid, frame=frame)


def _stiffness(robot: Robot, at: Floats, frame: str) -> tuple[Floats, Stiffness]:
    """Joint positions (n,) and the stiffness there."""
    if at.ndim == 1:
        return at, robot.stiffness(at, frame)
    if robot.platform is None:
        raise InputError(f"{robot.name} has no inverse kinematics: give joint positions instead of a pose")
    pose = robot.platform.pose_at(at)
    found = robot.platform.stiffness_at(pose, frame)
    try:
        return robot.platform.inverse_kinematics(pose).q, found
    except SingularityError:  # at a singular pose, which has a stiffness
        return robot.platform.inverse_kinematics(pose, check=False).q, found


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as JSON can hold it: lists, and null for what is not finite."""
    return {each.name: _plain(getattr(answer, each.name)) for each in fields(answer)}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
