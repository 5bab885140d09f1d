"""Files to mechanisms and back: robot YAML and URDF in and out, parts databases in."""

from .library import robot_files
from .parts import build_parts
from .robot_file import load_mechanism
from .urdf import to_urdf
from .urdf_extension import read_urdf
from .writer import to_yaml

__all__ = ["build_parts", "load_mechanism", "read_urdf", "robot_files", "to_urdf", "to_yaml"]
