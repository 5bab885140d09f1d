"""Python packages of the environment: installed by uv, at the versions and with the hashes of `requirements.lock`."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from .errors import PYTHON, SetupError

Run = Callable[[str, list[str | Path], Mapping[str, str]], None]
"""Runs a command, with a label and its environment variables; SetupError where it fails."""

UV = "uv==0.13.8"

EXTRAS = ("generate", "mjcf", "parts", "reproduce", "sim")
"""Extras of the package; the other names, apart from `core`, are dependency groups in pyproject.toml."""

_UV_NAMES = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "no-index": "UV_NO_INDEX",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "client-cert": "SSL_CLIENT_CERT",
    "proxy": "ALL_PROXY",
}
"""Settings of pip that say where packages come from, and the variables by which uv takes them."""


def check_modules() -> None:
    """SetupError where this Python cannot make a venv, or has no pip to begin with."""
    for module, other in (("venv", "venv"), ("ensurepip", "pip")):
        if importlib.util.find_spec(module) is None and importlib.util.find_spec(other) is None:
            raise SetupError(
                f"this Python has no `{module}` module: install it"
                f" (Debian, Ubuntu: sudo apt install python{PYTHON}-venv)."
            )


def make_venv(run: Run, venv: Path, base: str, *, see_system: bool) -> None:
    """A venv with uv and pip in it, by the pip of this Python or else by the one that every Python carries along."""
    env = _pip_env()
    options = ["--system-site-packages"] if see_system else []
    run("making a Python environment", [base, "-m", "venv", "--without-pip", *options, venv], env)
    python = venv / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python]
    if importlib.util.find_spec("pip") is None:
        run("adding pip", [python, "-m", "ensurepip"], env)
        pip = [python, "-m", "pip"]
    run("fetching uv", [*pip, "install", "--no-compile", "--retries", "2", UV, "pip"], env)


def install(
    run: Run, venv: Path, root: Path, names: Iterable[str], *, present: Iterable[str] = (), again: bool = False
) -> None:
    """Install `core`, extras and groups by name, without the packages in `present`; `again` replaces what is there."""
    names = list(names)
    python = venv / "bin" / "python"
    command: list[str | Path] = [venv / "bin" / "uv", "pip", "install", "--python", python]
    command += ["--constraints", root / "requirements.lock", *(["--reinstall"] if again else [])]
    if "core" in names or any(name in EXTRAS for name in names):
        command += ["-r", root / "pyproject.toml"]
    for name in names:
        if name != "core":
            command += ["--extra", name] if name in EXTRAS else ["--group", f"{root / 'pyproject.toml'}:{name}"]
    excludes = venv / "dyn" / "present.txt"
    excludes.write_text("".join(f"{name}\n" for name in present))
    run(f"installing {', '.join(names)}", [*command, "--excludes", excludes], _index_settings(python) | _pip_env())


def output(python: str | Path, program: str) -> str:
    """What a program prints, without the last line end; empty where it fails."""
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def distributions(python: str) -> list[str]:
    """Names of the packages that an interpreter sees."""
    return output(python, "import importlib.metadata as m; print(*{d.name for d in m.distributions()})").split()


def _pip_env() -> dict[str, str]:
    """This process's variables, without those that would lead an installation elsewhere."""
    ignored = ("PYTHONHOME", "PYTHONPATH", "PIP_TARGET", "PIP_PREFIX", "UV_TARGET", "UV_PREFIX")
    env = {name: value for name, value in os.environ.items() if name not in ignored}
    env |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
    return env | {"UV_PYTHON_DOWNLOADS": "never"}


def _index_settings(python: Path) -> dict[str, str]:
    """uv's variables for the package indexes that pip is configured with: uv does not read pip's files."""
    command = [str(python), "-m", "pip", "config", "list"]
    listed = subprocess.run(command, env=_pip_env(), capture_output=True, text=True, check=False)
    settings: dict[str, str] = {}
    for section in ("global", "install", ":env:"):
        settings |= dict(re.findall(rf"^{section}\.([\w-]+)=(.+)$", listed.stdout, re.M))
    env = {"UV_INDEX_STRATEGY": "unsafe-best-match"}  # like pip: the hashes say which file is right
    for name, variable in _UV_NAMES.items():
        if name in settings:
            separator = "," if name == "find-links" else " "
            env[variable] = separator.join(ast.literal_eval(settings[name]).split())
    return env
