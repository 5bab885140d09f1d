"""The messages, services and actions: built by CMake and Ninja into a prefix of the environment."""

import os
import re
import shlex
import shutil
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from .errors import PYTHON, SetupError
from .packages import Run, output

KINDS = ("msg", "srv", "action")
"""Folders of the interfaces, and how their files end."""

_BUILDER_NUMPY = re.compile(r"/opt/python/[^;\"\s]*?/site-packages/numpy/_?core/include")
_BUILDER_PYTHON = re.compile(r"/opt/python/[^;\"\s/]*/include/python[0-9.]+")
_COMPILERS = {"CC": ("cc", "gcc", "clang"), "CXX": ("c++", "g++", "clang++")}


def interface_files(root: Path) -> list[Path]:
    """What the interfaces are built from."""
    files = [root / "CMakeLists.txt", root / "package.xml", root / "LICENSE"]
    return files + [path for kind in KINDS for path in sorted((root / kind).glob(f"*.{kind}"))]


def are_there(python: str | Path, root: Path) -> bool:
    """Whether the environment of this process brings these very interfaces."""
    files = [path for path in interface_files(root) if path.parent.name in KINDS]
    program = "".join(f"from dyn_robot.{path.parent.name} import {path.stem}\n" for path in files)
    return bool(output(python, f"{program}print('yes')"))


def check_headers() -> None:
    """SetupError where the headers of Python are missing."""
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        raise SetupError(
            f"the headers of Python are missing (Python.h): install them"
            f" (Debian, Ubuntu: sudo apt install python{PYTHON}-dev)."
        )


def missing_tools() -> list[str]:
    """The groups of packages that bring the build tools that this machine lacks."""
    groups = [tool for tool in ("cmake", "ninja") if shutil.which(tool) is None]
    for variable, names in _COMPILERS.items():
        chosen = shlex.split(os.environ.get(variable, ""))[:1]
        if not any(shutil.which(name) for name in chosen or names):
            return [*groups, "compiler"]
    return groups


def build(run: Run, root: Path, venv: Path, prefix: Path, variables: Mapping[str, str], *, for_all: bool) -> None:
    """Build and install the interfaces into `prefix`: for Python and Fast DDS, or for all there are."""
    python = venv / "bin" / "python"
    work = venv / "dyn" / "build"
    shutil.rmtree(work, ignore_errors=True)
    if not for_all:
        include = output(python, "import sysconfig; print(sysconfig.get_path('include'))")
        patch_exports(venv, include, output(python, "import numpy; print(numpy.get_include())"))
    # CMake refuses include folders below the source folder, and the venv is below the repo: build from a copy.
    for path in interface_files(root):
        copy = work / "source" / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    prefixes = [variables["AMENT_PREFIX_PATH"], variables.get("CMAKE_PREFIX_PATH", "")]
    env = dict(variables) | {"CMAKE_PREFIX_PATH": os.pathsep.join(filter(None, prefixes))}
    if "compiler" in missing_tools():
        env |= _zig(python, work)
    configure: list[str | Path] = ["cmake", "-G", "Ninja", "-S", work / "source", "-B", work / "out"]
    configure += ["-DDYN_ROBOT_INTERFACES_ONLY=ON", f"-DDYN_ROBOT_PYTHON_ONLY={'OFF' if for_all else 'ON'}"]
    configure += [f"-DPython3_EXECUTABLE={python}", f"-DCMAKE_INSTALL_PREFIX={prefix}"]
    run("preparing the build of the messages", [*configure, "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"], env)
    run("building the messages", ["ninja", "-C", work / "out", "install"], env)
    shutil.rmtree(work, ignore_errors=True)


def _zig(python: Path, work: Path) -> dict[str, str]:
    """Variables for a build with the compiler of the package ziglang, by scripts of one word as CMake likes them."""
    env = {"ZIG_GLOBAL_CACHE_DIR": str(work / "zig")}
    for variable, command in (("CC", "cc"), ("CXX", "c++")):
        script = work / f"zig-{command}"
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(str(python))} -m ziglang {command} "$@"\n')
        script.chmod(0o755)
        env[variable] = str(script)
    return env


def patch_exports(prefix: Path, python_include: str, numpy_include: str) -> int:
    """Rewrite the include folders of the machine that built the ROS 2 wheels to those of this one.

    They stand in the CMake files that the wheels export. Returns how many files were changed: 0 the second time.
    """
    changed = 0
    for path in sorted(prefix.glob("share/*/cmake/*.cmake")):
        text = path.read_text()
        new = _BUILDER_NUMPY.sub(lambda _: numpy_include, text)
        new = _BUILDER_PYTHON.sub(lambda _: python_include, new)
        if new != text:
            draft = path.with_suffix(".new")
            draft.write_text(new)
            draft.replace(path)  # never in place: the file may be one with the copy in uv's cache
            changed += 1
    return changed
