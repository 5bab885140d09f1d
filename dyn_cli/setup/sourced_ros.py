"""The ROS 2 environment that is sourced in the terminal, if any."""

import hashlib
import os
import re
import sys
from pathlib import Path

from .errors import SetupError
from .packages import output

PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
"""The interpreter below any venv that this process runs in: the same path inside and outside."""


def prefixes(root: Path) -> list[str]:
    """The entries of AMENT_PREFIX_PATH that are not of the environments in `root`."""
    own = (root / ".venv", root / ".venv-ros2")
    parts = filter(None, os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep))
    return [part for part in parts if not any(Path(part).is_relative_to(folder) for folder in own)]


def digest(root: Path) -> str:
    """Stands for what is sourced and for the Python that uses it."""
    return hashlib.sha256("\0".join([PYTHON, *prefixes(root)]).encode()).hexdigest()


def imports(module: str) -> bool:
    """Whether the sourced environment has a module for this Python."""
    return output(PYTHON, f"import {module}; print(1)") != ""


def remove(env: dict[str, str], root: Path) -> None:
    """Take what is sourced out of these variables."""
    foreign = tuple(prefixes(root))
    env.pop("AMENT_PREFIX_PATH", None)
    for name in ("PYTHONPATH", "LD_LIBRARY_PATH"):
        kept = [part for part in env.get(name, "").split(os.pathsep) if not (foreign and part.startswith(foreign))]
        env[name] = os.pathsep.join(kept)


def check(root: Path) -> None:
    """SetupError where what is sourced lacks a package of package.xml that the nodes import."""
    manifest = (root / "package.xml").read_text()
    for module in re.findall(r"<(?:exec_)?depend>(rclpy|\w+_(?:msgs|srvs))<", manifest):
        if not imports(module):
            package = f"ros-{os.environ.get('ROS_DISTRO', 'jazzy')}-{module.replace('_', '-')}"
            raise SetupError(
                f"the ROS 2 that is sourced has no {module}: install it (Ubuntu: sudo apt install {package}),"
                " or run this in a terminal where no ROS 2 is sourced."
            )
