"""Answers about stiffness and deflection as responses of the services, and back."""

from dataclasses import fields
from typing import Any

import numpy as np
from dyn_robot.srv import GetDeflection, GetStiffness

from dyn_core.stiffness_maps import Answer, DeflectionAnswer, StiffnessAnswer
from dyn_nodes.common.geometry_messages import set_vector, vector_array


def fill_response(response: Any, answer: Answer) -> Any:
    """Write an answer into the response of a service; what is None stays as the response has it."""
    for each in fields(answer):
        value = getattr(answer, each.name)
        if each.name in ("point", "translation", "rotation") and value is not None:
            set_vector(getattr(response, each.name), value)
        elif value is not None:
            setattr(response, each.name, value.ravel() if isinstance(value, np.ndarray) else value)
    return response


def stiffness_of(response: GetStiffness.Response) -> StiffnessAnswer:
    """The answer in a response."""
    matrices = (np.reshape(matrix, (6, 6)) for matrix in (response.stiffness, response.compliance))
    # A zero compliance is that of a rigid frame: none to speak of.
    stiffness, compliance = (matrix if matrix.any() else None for matrix in matrices)
    return StiffnessAnswer(
        **_common(response),
        point=vector_array(response.point),
        stiffness=stiffness,
        compliance=compliance,
        eigenvalues=None if stiffness is None else np.array(response.eigenvalues),
        condition=float(response.condition),
    )


def deflection_of(response: GetDeflection.Response) -> DeflectionAnswer:
    """The answer in a response."""
    found = len(response.joint_positions) > 0
    return DeflectionAnswer(
        **_common(response),
        translation=vector_array(response.translation) if found else None,
        rotation=vector_array(response.rotation) if found else None,
        equilibrium=bool(response.equilibrium),
    )


def _common(response: Any) -> dict[str, Any]:
    return {
        "success": bool(response.success),
        "message": response.message,
        "frame": response.frame,
        "frame_id": response.frame_id,
        "joint_positions": np.array(response.joint_positions),
        "null_directions": np.reshape(response.null_directions, (-1, 6)),
    }
