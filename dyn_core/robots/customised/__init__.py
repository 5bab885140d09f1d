"""Customised models: straight-line code of one robot's dynamics, after Khalil and Kleinfinger (1987)."""

from .code_generator import MODELS, Model, customised_source
from .customised_robot import CustomisedRobot, customise
from .operation_count import Operations, general_operations

__all__ = ["MODELS", "CustomisedRobot", "Model", "Operations", "customise", "customised_source", "general_operations"]
