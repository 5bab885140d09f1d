"""Files to mechanisms and back: robot YAML and URDF in, URDF out."""

from .library import robot_files
from .robot_file import load_mechanism
from .urdf import to_urdf
from .urdf_reader import read_urdf

__all__ = ["load_mechanism", "read_urdf", "robot_files", "to_urdf"]
