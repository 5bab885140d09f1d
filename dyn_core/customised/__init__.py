"""Customised models: straight-line code of one robot's dynamics, after Khalil and Kleinfinger (1987)."""

from .operations import Operations, general_operations
from .robot import CustomisedRobot
from .source import MODELS, Model, customised_source

__all__ = ["MODELS", "CustomisedRobot", "Model", "Operations", "customised_source", "general_operations"]
