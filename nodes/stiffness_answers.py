"""What is answered to a question about stiffness, over ROS or without it: plain values, and never an exception."""

from __future__ import annotations

from typing import Any

import numpy as np

from dyn_core import Robot
from dyn_core.errors import DynError

AXES = "base"
"""The frame whose axes all matrices and vectors are expressed in."""

Answer = dict[str, Any]


def refusal(why: object) -> Answer:
    """An answer without success."""
    return {"success": False, "message": " ".join(str(why).split()), "frame_id": AXES}


def stiffness_answer(robot: Robot, q: np.ndarray, frame: str) -> Answer:
    """Stiffness and compliance (6, 6) or None, their eigenvalues and condition, the point, the null directions."""
    try:
        result = robot.stiffness(q, frame)
    except DynError as error:
        return refusal(error)
    success = result.K is not None
    return {
        "success": success,
        "message": f"stiffness of {robot.name} at the frame {frame!r}" if success else result.statement,
        "frame_id": AXES,
        "frame": frame,
        "point": result.point,
        "joint_positions": q,
        "stiffness": result.K,
        "compliance": result.C,
        "eigenvalues": result.eigenvalues if success else None,
        "condition": result.condition,
        "null_directions": np.empty((0, 6)),
    }


def deflection_answer(robot: Robot, q: np.ndarray, wrench: np.ndarray, frame: str) -> Answer:
    """Translation (3,) and rotation (3,) under a wrench (6,), and whether there is equilibrium."""
    try:
        motion = robot.deflection(q, wrench, frame)
    except DynError as error:
        return refusal(error)
    return {
        "success": True,
        "message": f"deflection of {robot.name} at the frame {frame!r}",
        "frame_id": AXES,
        "frame": frame,
        "joint_positions": q,
        "translation": motion[:3],
        "rotation": motion[3:],
        "equilibrium": True,
        "null_directions": np.empty((0, 6)),
    }


def as_json(answer: Answer) -> dict[str, Any]:
    """The answer as JSON can hold it: lists, and null for what is not finite."""
    return {key: _plain(value) for key, value in answer.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
