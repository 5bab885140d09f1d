"""Files to mechanisms and back: robot YAML and URDF in and out, parts databases in."""

from .inertial import Inertial
from .parts.database import MADE_BY, Built, build_parts
from .robot_library import PARTS, robot_files
from .robot_yaml.reader import load_mechanism
from .robot_yaml.update_parameters import RobotText
from .robot_yaml.writer import to_yaml
from .urdf.extension import read_urdf
from .urdf.writer import to_urdf
from .xml_formats import XML_SUFFIXES, read_xml_robot

__all__ = [
    "MADE_BY",
    "PARTS",
    "XML_SUFFIXES",
    "Built",
    "Inertial",
    "RobotText",
    "build_parts",
    "load_mechanism",
    "read_urdf",
    "read_xml_robot",
    "robot_files",
    "to_urdf",
    "to_yaml",
]
