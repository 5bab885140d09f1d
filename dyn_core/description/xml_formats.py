"""Robots in XML: URDF, MJCF or SDF, told apart by the outermost element."""

from __future__ import annotations

from pathlib import Path

from dyn_core.errors import InputError
from dyn_core.mechanism import Mechanism

from .documents.xml_document import read_xml
from .urdf.extension import read_urdf

XML_SUFFIXES = (".urdf", ".xacro", ".xml", ".mjcf", ".sdf")


def read_xml_robot(path: Path, floating: bool = False) -> Mechanism:
    """The mechanism of a URDF, MJCF or SDF file; floating: as of `read_urdf`, the others say so themselves."""
    tag = "robot" if path.suffix in (".urdf", ".xacro") else read_xml(path).tag
    if tag not in ("mujoco", "sdf"):
        return read_urdf(path, floating)
    if floating:
        raise InputError(f"{path} says itself whether its base floats; only a URDF can be loaded with a floating one")
    if tag == "mujoco":
        from .mjcf.reader import read_mjcf  # here: few programs need it

        return read_mjcf(path)
    from .sdf.reader import read_sdf

    return read_sdf(path)
