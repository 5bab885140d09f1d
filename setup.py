"""Installs `dyn_core` and `nodes` with pip; colcon builds the same package through CMakeLists.txt."""

from pathlib import Path
from xml.etree import ElementTree

from setuptools import find_packages, setup

HERE = Path(__file__).resolve().parent
MANIFEST = ElementTree.parse(HERE / "package.xml").getroot()
SHARED = ("config", "launch")


def shared_files() -> list[tuple[str, list[str]]]:
    """(folder under the prefix, files) for everything that a running system reads beside its code."""
    folders: dict[str, list[str]] = {"share/dyn_robot": ["package.xml"]}
    for top in SHARED:
        for path in sorted((HERE / top).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                relative = path.relative_to(HERE)
                folders.setdefault(f"share/dyn_robot/{relative.parent.as_posix()}", []).append(
                    relative.as_posix()
                )
    return list(folders.items())


def text(tag: str) -> str:
    return " ".join((MANIFEST.findtext(tag) or "").split())


setup(
    name=text("name"),
    version=text("version"),
    description=text("description"),
    license=text("license"),
    python_requires=">=3.11",
    packages=find_packages(include=["dyn_core", "dyn_core.*", "nodes", "nodes.*"]),
    package_data={"dyn_core": ["py.typed", "animation.html"]},
    data_files=shared_files(),
    install_requires=["numba>=0.60", "numpy>=1.26", "pyyaml>=6.0", "scipy>=1.11"],
    extras_require={
        "generate": ["casadi>=3.6"],
        "parts": ["trimesh>=5.0"],
        "reproduce": ["matplotlib>=3.8"],
        "sim": ["matplotlib>=3.8", "mcap-ros2-support>=0.5"],
    },
)
