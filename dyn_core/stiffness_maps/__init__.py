"""Stiffness and deflection over many poses."""

from .deflection_map import COMPUTED, STATUS, Peak, StiffnessMap, empty_map, fill, sign_combinations, stiffness_map
from .pose_grids import Axis, Grid, JointGrid, OrientationGrid
from .queries import (
    AXES,
    Answer,
    DeflectionAnswer,
    StiffnessAnswer,
    as_json,
    deflection_answer,
    first_queries,
    stiffness_answer,
)

__all__ = [
    "AXES",
    "COMPUTED",
    "STATUS",
    "Answer",
    "Axis",
    "DeflectionAnswer",
    "Grid",
    "JointGrid",
    "OrientationGrid",
    "Peak",
    "StiffnessAnswer",
    "StiffnessMap",
    "as_json",
    "deflection_answer",
    "empty_map",
    "fill",
    "first_queries",
    "sign_combinations",
    "stiffness_answer",
    "stiffness_map",
]
