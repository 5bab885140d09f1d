"""Installs the packages with pip, `nodes` as `dyn_nodes`; colcon builds the same through CMakeLists.txt."""

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
                folders.setdefault(f"share/dyn_robot/{relative.parent.as_posix()}", []).append(relative.as_posix())
    return list(folders.items())


def text(tag: str) -> str:
    return " ".join((MANIFEST.findtext(tag) or "").split())


setup(
    version=text("version"),
    description=text("description"),
    license=text("license"),
    packages=[
        *find_packages(include=["dyn_core", "dyn_core.*", "dyn_cli", "dyn_cli.*", "papers", "papers.*"]),
        "dyn_nodes",
        *(f"dyn_nodes.{name}" for name in find_packages("nodes")),
    ],
    package_dir={"dyn_nodes": "nodes"},
    package_data={"dyn_core": ["py.typed"], "dyn_cli.figures": ["animation.html"], "papers.benchmarks": ["*.yaml"]},
    data_files=shared_files(),
)
