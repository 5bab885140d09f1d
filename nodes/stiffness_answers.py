"""What is answered to a question about stiffness, over ROS or without it: plain values, and never an exception."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core import Robot
from dyn_core.description.pose import pose
from dyn_core.errors import DynError, InputError
from dyn_core.stiffness import Stiffness
from dyn_core.time_table import LARGEST

AXES = "base"
"""The frame whose axes all matrices and vectors are expressed in."""

Answer = dict[str, Any]


def refusal(why: object) -> Answer:
    """An answer without success."""
    return {"success": False, "message": " ".join(str(why).split()), "frame_id": AXES}


def stiffness_answer(robot: Robot, at: np.ndarray, frame: str) -> Answer:
    """Stiffness and compliance (6, 6) or None, their eigenvalues and condition, the point, the null directions.

    at: joint positions (n,), or a platform's rotation (3, 3) or pose (4, 4).
    """
    try:
        q, result = _stiffness(robot, at, frame)
    except DynError as error:
        return refusal(error)
    regular = not result.statement
    return {
        "success": regular,
        "message": f"stiffness of {robot.name} at the frame {frame!r}" if regular else result.statement,
        "frame_id": AXES,
        "frame": frame,
        "point": result.point,
        "joint_positions": q,
        "stiffness": result.K,
        "compliance": result.C,
        "eigenvalues": None if result.K is None else result.eigenvalues,
        "condition": result.condition,
        "null_directions": result.null_directions.T,
    }


def deflection_answer(robot: Robot, at: np.ndarray, wrench: np.ndarray, frame: str) -> Answer:
    """Translation (3,) and rotation (3,) under a wrench (6,), and whether there is equilibrium; at: as above."""
    try:
        if not (np.abs(wrench) <= LARGEST).all():
            raise InputError(f"wrench: not finite, or larger than {LARGEST:g}")
        q, result = _stiffness(robot, at, frame)
    except DynError as error:
        return refusal(error)
    found = result.deflected(wrench)
    return {
        "success": found.equilibrium,
        "message": found.statement or f"deflection of {robot.name} at the frame {frame!r}",
        "frame_id": AXES,
        "frame": frame,
        "joint_positions": q,
        "translation": found.motion[:3],
        "rotation": found.motion[3:],
        "equilibrium": found.equilibrium,
        "null_directions": found.null_directions.T,
    }


def _stiffness(robot: Robot, at: np.ndarray, frame: str) -> tuple[np.ndarray, Stiffness]:
    """Joint positions (n,) and the stiffness there."""
    if at.ndim == 1:
        return at, robot.stiffness(at, frame)
    if not hasattr(robot, "inverse_kinematics"):
        raise InputError(f"{robot.name} has no inverse kinematics: give joint positions instead of a pose")
    if hasattr(robot, "stiffness_at"):
        return robot.inverse_kinematics(at), robot.stiffness_at(at, frame)
    if at.shape == (3, 3):
        at = pose(at, robot.forward_kinematics(robot.neutral())[:3, 3])
    q = robot.inverse_kinematics(at)
    return q, robot.stiffness(q, frame)


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as JSON can hold it: lists, and null for what is not finite."""
    return {key: _plain(value) for key, value in answer.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
