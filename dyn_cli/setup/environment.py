"""Everything that `dyn` needs to run, made on first use and checked in milliseconds afterwards.

Two ways, chosen by what is there:

- *wheels*: `.venv` in the repo holds ROS 2 and all else at the versions in `requirements.lock`;
- *sourced*: a ROS 2 environment is sourced and this Python imports its `rclpy`: `.venv-ros2` sees that
  environment and holds only what is missing beside it.

The messages, services and actions are built into the folder `dyn_robot` of the venv. A step is noted in
`dyn/state.json` of the venv, atomically and only once it is complete, with a digest of what it was made from: an
interrupted set-up continues where it stopped, and a changed file redoes what depends on it. Standard library only.
"""

import contextlib
import fcntl
import glob
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import interfaces, packages, sourced_ros
from .errors import SetupError, explain
from .progress import Progress

ROOT = Path(__file__).resolve().parents[2]

TIERS: dict[str, tuple[str, ...]] = {
    "core": ("core",),
    "generate": ("core", "generate"),
    "mjcf": ("core", "mjcf"),
    "parts": ("core", "parts"),
    "reproduce": ("core", "reproduce"),
    "sim": ("core", "sim"),
    "ros": ("core", "ros"),
    "map": ("core", "ros", "reproduce"),
    "test": ("core", "ros", "generate", "mjcf", "parts", "sim", "test"),
    "bench": ("core", "ros", "generate", "reproduce", "bench"),
}
"""Which extras and dependency groups of pyproject.toml each tier installs; those with `ros` have the interfaces too."""


def in_checkout() -> bool:
    """Whether this code runs from a checkout of the repo, rather than installed by pip or colcon."""
    return (ROOT / "requirements.lock").is_file() and (ROOT / "CMakeLists.txt").is_file()


def enter(needs: str, arguments: Sequence[str]) -> None:
    """Make sure of the tier `needs`, and run `dyn_cli.main` with `arguments` inside it.

    Returns where this process is inside already, or where the code is installed and the environment is the
    user's own; otherwise this process becomes the other.
    """
    if needs == "nothing" or not in_checkout():
        return
    environment = Environment.choose()
    if environment.is_complete(needs) and environment.is_entered():
        return
    environment.ensure(needs)
    sys.stdout.flush()
    sys.stderr.flush()
    python = str(environment.python)
    os.execve(python, [python, "-m", "dyn_cli.main", *arguments], environment.variables())


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
        if sourced_ros.prefixes(ROOT) and (
            beside._state().get("sourced") == sourced_ros.digest(ROOT) or sourced_ros.imports("rclpy")
        ):
            return beside
        return cls(ROOT / ".venv", sourced=False)

    @property
    def python(self) -> Path:
        """The interpreter of the venv."""
        return self.venv / "bin" / "python"

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
        return self._has_venv() and not self._missing(tier)

    def ensure(self, tier: str) -> None:
        """Do the steps of the tier that are missing; SetupError where one cannot be done."""
        if self.is_complete(tier):
            return
        try:
            with self._lock():
                if not self.is_complete(tier):
                    self._make(tier)
        except KeyboardInterrupt:
            self.progress.say("Interrupted: run the command again to continue")
            raise
        except OSError as error:
            explain("the set-up", str(error), self.venv)

    def variables(self) -> dict[str, str]:
        """The environment variables of every process that runs inside."""
        env = dict(os.environ)
        site = next(self.venv.glob("lib/python3.*/site-packages"), None)
        if site is None:
            raise SetupError(f"{self.venv} is damaged: remove that folder and run the command again.")
        first: dict[str, list[str]] = {"PYTHONPATH": [str(ROOT)], "AMENT_PREFIX_PATH": [], "LD_LIBRARY_PATH": []}
        if (self.prefix / "share").is_dir():
            first["PYTHONPATH"].append(str(self.prefix / "lib" / site.parent.name / "site-packages"))
            first["AMENT_PREFIX_PATH"].append(str(self.prefix))
            first["LD_LIBRARY_PATH"].append(str(self.prefix / "lib"))
        if not self.sourced:
            first["AMENT_PREFIX_PATH"].append(str(self.venv))
            first["LD_LIBRARY_PATH"] += [str(self.venv / "lib"), *sorted(glob.glob(str(site / "ros_*.libs")))]
            sourced_ros.remove(env, ROOT)
            env["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
        first["PATH"] = [str(self.venv / "bin")]
        for name, parts in first.items():
            env[name] = os.pathsep.join(dict.fromkeys([*parts, *filter(None, env.get(name, "").split(os.pathsep))]))
        env.pop("PYTHONHOME", None)
        env["VIRTUAL_ENV"] = env["DYN_ROBOT_ENVIRONMENT"] = str(self.venv)
        env["PYTHONSAFEPATH"] = "1"
        if env.pop("PYTHONDONTWRITEBYTECODE", ""):
            # Without compiled modules every start takes seconds; who wants none beside sources gets them here.
            env.setdefault("PYTHONPYCACHEPREFIX", str(self.folder / "pycache"))
        env.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
        if env["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST" and "FASTDDS_BUILTIN_TRANSPORTS" not in env:
            # Fast DDS would look for others on this machine only, but listen on every interface.
            for name in ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"):
                env.setdefault(name, str(ROOT / "config" / "security" / "this_machine.xml"))
        env.setdefault("FASTDDS_BUILTIN_TRANSPORTS", "UDPv4")
        return env

    def _missing(self, tier: str) -> list[str]:
        """The steps of the tier that are still to be done."""
        state = self._state()
        steps = [*TIERS[tier], *(["interfaces"] if "ros" in TIERS[tier] else [])]
        return [step for step in steps if state.get(step) != self._digest(step)]

    def _digest(self, step: str) -> str:
        """A digest of what a step is made from."""
        lock = (ROOT / "requirements.lock").read_bytes()
        sources = [ROOT / "pyproject.toml"]
        if step == "interfaces":
            lock = b"".join(line for line in lock.splitlines() if line.startswith(b"ros-"))
            sources = interfaces.interface_files(ROOT)
        digest = hashlib.sha256(lock + (sourced_ros.digest(ROOT).encode() if self.sourced else b""))
        for source in sources:
            digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
        return digest.hexdigest()

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
        draft.write_text(json.dumps(state, indent=1))
        draft.replace(self.folder / "state.json")

    def _has_venv(self) -> bool:
        """Whether the venv is whole, still at its place, and its Python still the one that it was made with."""
        state = self._state()
        made = {"venv": str(self.venv), "python": str(self.python.resolve())}
        return made.items() <= state.items() and self.python.exists()

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        """Only one process sets up at a time; the others wait, and then find the work done."""
        with Path(f"{self.venv}.lock").open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.progress.say("Another dyn is setting up: waiting for it ...")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _make(self, tier: str) -> None:
        started = time.monotonic()
        (self.folder / "setup.log").unlink(missing_ok=True)
        missing = self._missing(tier)
        if "interfaces" in missing:
            shutil.rmtree(self.prefix, ignore_errors=True)
        builds = "interfaces" in missing and not (self.sourced and interfaces.are_there(sourced_ros.PYTHON, ROOT))
        if not self._has_venv():
            packages.check_modules()
        if builds:
            interfaces.check_headers()
        beside = ", beside the ROS 2 that is sourced" if self.sourced else ""
        self.progress.say(f"Setting up in {self.venv}{beside} (once; about a minute, and 1 GB at most)")
        if sourced_ros.prefixes(ROOT) and not self.sourced:
            self.progress.say(f"The ROS 2 that is sourced has no rclpy for {sourced_ros.PYTHON}: using wheels instead")
        if not self._has_venv():
            self._make_venv()
        tools = interfaces.missing_tools() if builds else []
        if "compiler" in tools:
            self.progress.say("No C and C++ compiler here: using zig from its wheel (400 MB, and minutes to build)")
        self._install([step for step in missing if step != "interfaces"], tools)
        if builds:
            interfaces.build(self._run, ROOT, self.venv, self.prefix, self.variables(), for_all=self.sourced)
        if "interfaces" in missing:
            self._note(interfaces=self._digest("interfaces"))
        if self.sourced:
            self._note(sourced=sourced_ros.digest(ROOT))
        self.progress.say(f"Ready after {time.monotonic() - started:.0f} s")

    def _make_venv(self) -> None:
        if self.venv.exists():
            if not self.folder.is_dir():
                raise SetupError(f"{self.venv} was not made by dyn: move that folder away and run the command again.")
            shutil.rmtree(self.venv)
        self.folder.mkdir(parents=True)
        packages.make_venv(self._run, self.venv, sourced_ros.PYTHON, see_system=self.sourced)
        self._note(venv=str(self.venv), python=str(self.python.resolve()))

    def _install(self, steps: list[str], tools: list[str]) -> None:
        names, present = [*steps, *tools], []
        if self.sourced and "ros" in steps:
            sourced_ros.check(ROOT)
            names.remove("ros")
        if self.sourced:
            present = packages.distributions(sourced_ros.PYTHON)
        if names:
            again = bool(self._state().get("unfinished"))
            self._note(unfinished="yes")
            packages.install(self._run, self.venv, ROOT, names, present=present, again=again)
        self._note(unfinished="", **{step: self._digest(step) for step in steps})

    def _run(self, label: str, command: Sequence[str | Path], env: Mapping[str, str]) -> None:
        status, output = self.progress.run(label, command, log=self.folder / "setup.log", env=env, folder=ROOT)
        if status != 0:
            explain(label, output, self.venv)
