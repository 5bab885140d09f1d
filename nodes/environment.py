"""Everything that `dyn` needs to run, made on first use and checked in milliseconds afterwards.

Two ways, chosen by what is there:

- *wheels*: `.venv` in the repo holds ROS 2 and all else at the versions pinned in `requirements/`;
- *sourced*: a ROS 2 environment is sourced and this Python imports its `rclpy`: `.venv-ros2` sees that
  environment and holds only what is missing beside it.

The messages, services and actions are built by CMake into the folder `dyn_robot` of the venv. A step is noted in
`dyn/state.json` of the venv, atomically and only once it is complete, with a digest of what it was made from: an
interrupted set-up continues where it stopped, and a changed file redoes what depends on it. Standard library only.
"""

import contextlib
import errno
import fcntl
import glob
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from nodes.progress import Progress

ROOT = Path(__file__).resolve().parent.parent

TIERS: dict[str, tuple[str, ...]] = {
    "core": ("core",),
    "generate": ("core", "generate"),
    "parts": ("core", "parts"),
    "reproduce": ("core", "reproduce"),
    "sim": ("core", "reproduce", "sim"),
    "ros": ("core", "ros"),
    "map": ("core", "reproduce", "ros"),
    "test": ("core", "ros", "test"),
    "bench": ("core", "ros", "bench"),
}
"""Which requirement files each tier installs; every tier with ROS 2 also has the interfaces."""

MODULES: dict[str, dict[str, str]] = {
    "core": {"numpy": "numpy", "scipy": "scipy", "numba": "numba", "yaml": "pyyaml"},
    "generate": {"casadi": "casadi"},
    "parts": {"trimesh": "trimesh"},
    "reproduce": {"matplotlib": "matplotlib"},
    "sim": {"mcap_ros2": "mcap-ros2-support"},
    "ros": {},
    "test": {
        "casadi": "casadi",
        "matplotlib": "matplotlib",
        "mcap_ros2": "mcap-ros2-support",
        "pytest": "pytest",
        "hypothesis": "hypothesis",
        "xdist": "pytest-xdist",
        "ruff": "ruff",
        "mypy": "mypy",
        "pinocchio": "pin",
        "setuptools": "setuptools",
        "trimesh": "trimesh",
    },
    "bench": {
        "casadi": "casadi",
        "pinocchio": "pin",
        "mujoco": "mujoco",
        "roboticstoolbox": "roboticstoolbox-python",
    },
}
"""Beside a sourced ROS 2: the modules wanted of each requirement file, and the packages that bring them."""

KINDS = ("msg", "srv", "action")
"""Folders of the interfaces, and how their files end."""

ROS_MODULES = (
    "action_msgs",
    "builtin_interfaces",
    "diagnostic_msgs",
    "geometry_msgs",
    "lifecycle_msgs",
    "rclpy",
    "rosgraph_msgs",
    "sensor_msgs",
    "std_msgs",
    "std_srvs",
    "trajectory_msgs",
)
"""What a sourced ROS 2 must bring itself; pip never adds to it."""

_BUILDER_NUMPY = re.compile(r"/opt/python/[^;\"\s]*?/site-packages/numpy/_?core/include")
_BUILDER_PYTHON = re.compile(r"/opt/python/[^;\"\s/]*/include/python[0-9.]+")

_UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectionError|ConnectTimeout|ReadTimeout|NameResolutionError|name resolution|"
    r"Network is unreachable|Connection refused|Connection reset|Max retries exceeded|ProxyError|SSLError|"
    r"Retrying \(Retry",
)


class SetupError(Exception):
    """The environment cannot be made; the message is one sentence that says what to do."""


def in_checkout() -> bool:
    """Whether this code runs from a checkout of the repo, rather than installed by pip or colcon."""
    return (ROOT / "requirements" / "core.txt").is_file() and (ROOT / "CMakeLists.txt").is_file()


def enter(needs: str, arguments: Sequence[str]) -> None:
    """Make sure of the tier `needs`, and run `nodes.cli` with `arguments` inside it.

    Returns where this process is inside already, or where the code is installed and the environment is the
    user's own; otherwise this process becomes the other.
    """
    if needs == "nothing" or not in_checkout():
        return
    environment = Environment.choose()
    if environment.is_complete(needs) and environment.is_entered():
        return
    environment.ensure(needs)
    python = environment.venv / "bin" / "python"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(python, [str(python), "-m", "nodes.cli", *arguments], environment.variables())


@dataclass
class Environment:
    """One venv of the repo and the way it gets ROS 2."""

    venv: Path
    sourced: bool
    progress: Progress = field(default_factory=Progress)

    @classmethod
    def choose(cls) -> "Environment":
        """The sourced way where a foreign ROS 2 is sourced and usable, else the way of wheels."""
        beside = cls(ROOT / ".venv-ros2", sourced=True)
        own = cls(ROOT / ".venv", sourced=False)
        if not _foreign_prefixes():
            return own
        if beside._state().get("sourced") == _sourced_digest():
            return beside
        if _imports(_base_python(), "rclpy", os.environ):
            return beside
        return own

    @property
    def prefix(self) -> Path:
        """Where the interfaces are installed."""
        return self.venv / "dyn_robot"

    @property
    def folder(self) -> Path:
        """Where the set-up keeps its notes, its log and its build."""
        return self.venv / "dyn"

    def is_entered(self) -> bool:
        """Whether this process runs with this venv's Python and `variables`."""
        return Path(sys.prefix) == self.venv and os.environ.get("DYN_ROBOT_ENVIRONMENT") == str(self.venv)

    def is_complete(self, tier: str) -> bool:
        """Whether every step of the tier is done, for the files as they are now."""
        state = self._state()
        return self._has_venv(state) and all(state.get(step) == self._digest(step) for step in self._steps(tier))

    def ensure(self, tier: str) -> None:
        """Do the steps of the tier that are missing; SetupError where one cannot be done."""
        if self.is_complete(tier):
            return
        try:
            with self._lock():
                self._make(tier)
        except KeyboardInterrupt:
            self.progress.say("Interrupted: run the command again to continue")
            raise
        except OSError as error:
            raise SetupError(_explain_os_error(error, self.venv)) from error

    def variables(self) -> dict[str, str]:
        """The environment variables of every process that runs inside."""
        env = dict(os.environ)
        site = self._site_packages()
        interfaces = self.prefix / "lib" / site.parent.name / "site-packages"
        paths = [str(ROOT)]
        prefixes: list[str] = []
        libraries: list[str] = []
        if (self.prefix / "share").is_dir():
            paths.append(str(interfaces))
            prefixes.append(str(self.prefix))
            libraries.append(str(self.prefix / "lib"))
        if not self.sourced:
            prefixes.append(str(self.venv))
            libraries += [str(self.venv / "lib"), *sorted(glob.glob(str(site / "ros_*.libs")))]
            foreign = tuple(_foreign_prefixes())
            for name in ("PYTHONPATH", "LD_LIBRARY_PATH"):
                kept = [part for part in _parts(env, name) if not part.startswith(foreign)] if foreign else []
                if foreign:
                    env[name] = os.pathsep.join(kept)
            env.pop("AMENT_PREFIX_PATH", None)
            env["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
        env.pop("PYTHONHOME", None)
        env["PYTHONPATH"] = _joined(paths, _parts(env, "PYTHONPATH"))
        env["AMENT_PREFIX_PATH"] = _joined(prefixes, _parts(env, "AMENT_PREFIX_PATH"))
        env["LD_LIBRARY_PATH"] = _joined(libraries, _parts(env, "LD_LIBRARY_PATH"))
        env["PATH"] = _joined([str(self.venv / "bin")], _parts(env, "PATH"))
        env["VIRTUAL_ENV"] = str(self.venv)
        env["PYTHONSAFEPATH"] = "1"
        if env.pop("PYTHONDONTWRITEBYTECODE", ""):
            # Without compiled modules every start takes seconds; who wants none beside sources gets them here.
            env.setdefault("PYTHONPYCACHEPREFIX", str(self.folder / "pycache"))
        env["DYN_ROBOT_ENVIRONMENT"] = str(self.venv)
        env.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        if env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST" and "FASTDDS_BUILTIN_TRANSPORTS" not in env:
            # Fast DDS would look for others on this machine only, but listen on every interface.
            for name in ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"):
                env.setdefault(name, str(ROOT / "config" / "security" / "this_machine.xml"))
        env.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
        return env

    def _steps(self, tier: str) -> list[str]:
        steps = list(TIERS[tier])
        if "ros" in TIERS[tier]:
            steps.append("interfaces")
        return steps

    def _digest(self, step: str) -> str:
        """A digest of what a step is made from."""
        sources = [ROOT / "requirements" / f"{'ros' if step == 'interfaces' else step}.txt"]
        if step == "interfaces":
            sources += self._interface_files()
        digest = hashlib.sha256(_sourced_digest().encode() if self.sourced else b"")
        for source in sources:
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
        return digest.hexdigest()

    def _interface_files(self) -> list[Path]:
        """What the interfaces are built from."""
        files = [ROOT / "CMakeLists.txt", ROOT / "package.xml", ROOT / "LICENSE"]
        for kind in KINDS:
            files += sorted((ROOT / kind).glob(f"*.{kind}"))
        return files

    def _state(self) -> dict[str, str]:
        try:
            state = json.loads((self.folder / "state.json").read_text())
        except (OSError, ValueError):
            return {}
        return state if isinstance(state, dict) else {}

    def _note(self, **steps: str) -> None:
        """Add finished steps to the state, atomically."""
        state = self._state() | steps
        draft = self.folder / "state.json.new"
        with draft.open("w") as file:
            json.dump(state, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / "state.json")

    def _has_venv(self, state: Mapping[str, str]) -> bool:
        """Whether the venv is whole, still at its place, and its Python still the one that it was made with."""
        python = self.venv / "bin" / "python"
        return state.get("venv") == str(self.venv) and state.get("python") == str(python.resolve()) and python.exists()

    def _site_packages(self) -> Path:
        found = sorted(self.venv.glob("lib/python3.*/site-packages"))
        if not found:
            raise SetupError(f"{self.venv} is damaged: remove that folder and run the command again.")
        return found[0]

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Only one process sets up at a time; the others wait, and then find the work done."""
        with Path(f"{self.venv}.lock").open("w") as file:
            started = time.monotonic()
            waiting = False
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    label = "another dyn is setting up; waiting for it"
                    if not waiting and not self.progress.live:
                        self.progress.say(f"{label} ...")
                    waiting = True
                    self.progress.wait(label, started)
                    time.sleep(0.2)
            if waiting:
                self.progress.say(f"the other dyn is done after {time.monotonic() - started:.0f} s")
            yield

    def _make(self, tier: str) -> None:
        if self.is_complete(tier):
            return
        started = time.monotonic()
        (self.folder / "setup.log").unlink(missing_ok=True)
        builds = "interfaces" in self._steps(tier) and self._state().get("interfaces") != self._digest("interfaces")
        if not self._has_venv(self._state()):
            check_venv_module()
        if builds and not (self.sourced and self._has_interfaces(_base_python())):
            check_build_tools()
        self.progress.say(
            f"Setting up in {self.venv} (once; a few minutes and 1 GB at most)"
            if not self.sourced
            else f"Setting up in {self.venv}, beside the ROS 2 that is sourced (once)"
        )
        if _foreign_prefixes() and not self.sourced:
            self.progress.say(f"A ROS 2 is sourced, but {_base_python()} cannot import its rclpy: using wheels instead")
        if not self._has_venv(self._state()):
            self._make_venv()
        for step in TIERS[tier]:
            wanted = self._digest(step)
            if self._state().get(step) != wanted:
                self._install_missing(step) if self.sourced else self._install_pinned(step)
                self._note(**{step: wanted})
        wanted = self._digest("interfaces")
        if "interfaces" in self._steps(tier) and self._state().get("interfaces") != wanted:
            self._build_interfaces()
            self._note(interfaces=wanted)
        if self.sourced:
            self._note(sourced=_sourced_digest())
        self.progress.say(f"Ready after {time.monotonic() - started:.0f} s")

    def _make_venv(self) -> None:
        if self.venv.exists():
            if not self.folder.is_dir():
                raise SetupError(f"{self.venv} was not made by dyn: move that folder away and run the command again.")
            shutil.rmtree(self.venv)
        self.folder.mkdir(parents=True)
        options = ["--system-site-packages"] if self.sourced else []
        self._run("making a Python environment", [_base_python(), "-m", "venv", *options, self.venv])
        self._note(venv=str(self.venv), python=str((self.venv / "bin" / "python").resolve()))

    def _install_pinned(self, step: str) -> None:
        requirements = ROOT / "requirements" / f"{step}.txt"
        pins = _pins(requirements)
        _remove_unfinished_packages(self._site_packages())
        self._pip(f"installing {len(pins)} packages of {step}", ["--no-deps", "-r", requirements], total=len(pins))

    def _install_missing(self, step: str) -> None:
        pins = _pins(ROOT / "requirements" / f"{step}.txt")
        python = self.venv / "bin" / "python"
        if step == "ros":
            check_sourced_ros(python)
        missing = [package for module, package in MODULES[step].items() if not _imports(python, module, os.environ)]
        if not missing:
            return
        kept = self.folder / "constraints.txt"
        version = _output(python, "import numpy; print(numpy.__version__)")
        kept.write_text(f"numpy=={version}\n" if version else "")
        wanted = [f"{package}=={pins[package]}" for package in missing]
        self._pip(f"installing {', '.join(missing)}", ["-c", kept, *wanted], total=None)

    def _pip(self, label: str, options: Sequence[str | Path], total: int | None) -> None:
        env = {name: value for name, value in os.environ.items() if name not in ("PYTHONHOME", "PIP_TARGET")}
        if not self.sourced:
            env.pop("PYTHONPATH", None)
        env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0"}
        env |= {"PIP_PROGRESS_BAR": "off", "PIP_REQUIRE_VIRTUALENV": "0"}
        command = [self.venv / "bin" / "python", "-m", "pip", "install", "--no-compile", "--retries", "2", *options]
        self._run(label, command, env=env, total=total)

    def _build_interfaces(self) -> None:
        python = self.venv / "bin" / "python"
        shutil.rmtree(self.prefix, ignore_errors=True)
        if self.sourced and self._has_interfaces(python):
            return
        if not self.sourced:
            numpy_include = _output(python, "import numpy; print(numpy.get_include())")
            patch_exports(self.venv, _output(python, _PRINT_INCLUDE), numpy_include)
        work = self.folder / "build"
        shutil.rmtree(work, ignore_errors=True)
        source, build = work / "source", work / "out"
        # CMake refuses include folders below the source folder, and the venv is below the repo: build from a copy.
        for path in self._interface_files():
            copy = source / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
        env = self.variables()
        env["CMAKE_PREFIX_PATH"] = _joined(_parts(env, "AMENT_PREFIX_PATH"), _parts(env, "CMAKE_PREFIX_PATH"))
        configure: list[str | Path] = ["cmake", "-S", source, "-B", build, "-DDYN_ROBOT_INTERFACES_ONLY=ON"]
        configure += [f"-DPython3_EXECUTABLE={python}", f"-DCMAKE_INSTALL_PREFIX={self.prefix}"]
        configure += ["-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"]
        jobs = str(os.cpu_count() or 1)
        self._run("preparing the build of the messages", configure, env=env)
        self._run("building the messages", ["cmake", "--build", build, "--parallel", jobs], env=env)
        self._run("installing the messages", ["cmake", "--install", build], env=env)
        shutil.rmtree(work, ignore_errors=True)

    def _has_interfaces(self, python: str | Path) -> bool:
        """Whether the sourced environment brings these very interfaces."""
        program = "".join(
            f"from dyn_robot.{kind} import {path.stem}\n"
            for kind in KINDS
            for path in sorted((ROOT / kind).glob(f"*.{kind}"))
        )
        return bool(_output(python, f"{program}print('yes')"))

    def _run(
        self,
        label: str,
        command: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
        total: int | None = None,
    ) -> None:
        log = self.folder / "setup.log"
        status, output = self.progress.run(label, command, log=log, env=env, total=total)
        if status != 0:
            _explain_failure(label, output, log)


_PRINT_INCLUDE = "import sysconfig; print(sysconfig.get_path('include'))"


def check_venv_module() -> None:
    """SetupError where this Python cannot make a venv with pip in it."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise SetupError(
                f"this Python has no `{module}` module: install it"
                f" (Debian, Ubuntu: sudo apt install python{version}-venv)."
            )


def check_build_tools() -> None:
    """SetupError where the interfaces cannot be built: no compiler, no CMake, no headers of Python."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    for variable, names in (("CC", ("cc", "gcc", "clang")), ("CXX", ("c++", "g++", "clang++"))):
        chosen = os.environ.get(variable, "").split()
        if not any(shutil.which(name) for name in (chosen[:1] or names)):
            language = "C" if variable == "CC" else "C++"
            raise SetupError(
                f"there is no {language} compiler: install one (Debian, Ubuntu: sudo apt install build-essential)."
            )
    if shutil.which("cmake") is None:
        raise SetupError("there is no CMake: install it (Debian, Ubuntu: sudo apt install cmake).")
    if not any(shutil.which(name) for name in ("make", "gmake", "ninja")):
        raise SetupError("there is no `make`: install it (Debian, Ubuntu: sudo apt install build-essential).")
    if not (Path(sysconfig.get_path("include")) / "Python.h").is_file():
        raise SetupError(
            f"the headers of Python are missing (Python.h): install them"
            f" (Debian, Ubuntu: sudo apt install python{version}-dev)."
        )


def check_sourced_ros(python: str | Path) -> None:
    """SetupError where the ROS 2 that is sourced lacks a package that the nodes import."""
    for module in ROS_MODULES:
        if not _imports(python, module, os.environ):
            package = f"ros-{os.environ.get('ROS_DISTRO', 'jazzy')}-{module.replace('_', '-')}"
            raise SetupError(
                f"the ROS 2 that is sourced has no {module}: install it (Ubuntu: sudo apt install {package}),"
                " or run this in a terminal where no ROS 2 is sourced."
            )


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
            draft.replace(path)
            changed += 1
    return changed


def _explain_failure(label: str, output: str, log: Path) -> NoReturn:
    """One sentence from a failed command's output."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"(?i)(ERROR|CMake Error|fatal error)\b|.*\berror:", line)]
    if "No space left on device" in output:
        raise SetupError(f"{label} failed because the disk is full: make room (about 2 GB) and run the command again.")
    if re.search(r"Permission denied|Read-only file system", output):
        raise SetupError(f"{label} failed because {log.parent.parent} cannot be written: see {log}.")
    if _UNREACHABLE.search(output):
        raise SetupError(
            f"{label} failed because the Python package index cannot be reached: connect to the network"
            " (or set PIP_INDEX_URL or a proxy) and run the command again."
        )
    if match := re.search(r"No matching distribution found for (\S+)", output):
        raise SetupError(
            f"there is no ready-made package {match[1]} for Python {sys.version_info.major}.{sys.version_info.minor}"
            f" on {sysconfig.get_platform()}: use Python 3.11 to 3.14 on x86-64 Linux,"
            " or install ROS 2 Jazzy and source it."
        )
    if "ensurepip" in output and "venv" in output:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise SetupError(
            f"this Python cannot make a venv: install what it needs"
            f" (Debian, Ubuntu: sudo apt install python{version}-venv)."
        )
    last = (errors or lines or ["no output"])[-1]
    raise SetupError(f"{label} failed ({last[:160]}): the whole output is in {log}.")


def _explain_os_error(error: OSError, venv: Path) -> str:
    if error.errno == errno.ENOSPC:
        return "the disk is full: make room (about 2 GB) and run the command again."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return (
            f"{error.filename or venv} cannot be written: make {venv.parent} writable for you, or use a copy that is."
        )
    return f"{error.filename or venv}: {error.strerror}."


def _base_python() -> str:
    """The interpreter below any venv that this process runs in."""
    return str(getattr(sys, "_base_executable", sys.executable))


def _foreign_prefixes() -> list[str]:
    """The entries of AMENT_PREFIX_PATH that are not this repo's own."""
    own = (str(ROOT / ".venv"), str(ROOT / ".venv-ros2"))
    return [
        part for part in _parts(os.environ, "AMENT_PREFIX_PATH") if not any(Path(part).is_relative_to(o) for o in own)
    ]


def _sourced_digest() -> str:
    """Stands for the ROS 2 environment that is sourced and for the Python that uses it."""
    sourced = [_base_python(), *_foreign_prefixes()]
    return hashlib.sha256("\0".join(sourced).encode()).hexdigest()


def _imports(python: str | Path, module: str, env: Mapping[str, str]) -> bool:
    command = [str(python), "-c", f"import {module}"]
    return subprocess.run(command, env=dict(env), capture_output=True, check=False).returncode == 0


def _output(python: str | Path, program: str) -> str:
    """What a program prints, without the last line end; empty where it fails."""
    done = subprocess.run([str(python), "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _pins(requirements: Path) -> dict[str, str]:
    lines = [line.split("#")[0].strip() for line in requirements.read_text().splitlines()]
    return dict(line.split("==", 1) for line in lines if line)


def _remove_unfinished_packages(site: Path) -> None:
    """Forget packages whose installation was cut off: pip writes RECORD last."""
    for info in site.glob("*.dist-info"):
        if not (info / "RECORD").is_file():
            shutil.rmtree(info)


def _parts(env: Mapping[str, str], name: str) -> list[str]:
    return [part for part in env.get(name, "").split(os.pathsep) if part]


def _joined(first: Sequence[str], rest: Sequence[str]) -> str:
    return os.pathsep.join(dict.fromkeys([*first, *rest]))
