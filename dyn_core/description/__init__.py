"""Files to mechanisms and back: robot YAML in, URDF out."""

from .library import robot_files
from .robot_file import load_mechanism
from .urdf import to_urdf

__all__ = ["load_mechanism", "robot_files", "to_urdf"]
