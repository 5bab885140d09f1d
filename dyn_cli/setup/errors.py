"""Why a set-up failed, in one sentence that says what to do."""

import re
import sys
import sysconfig
from pathlib import Path
from typing import NoReturn

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"

_REASONS = {
    r"No space left on device": "{what} failed because the disk is full: make room (about 2 GB) and run it again.",
    r"Permission denied|Read-only file system|Operation not permitted": (
        "{what} failed because {venv} cannot be written: make {venv.parent} writable for you, or use a copy that is."
    ),
    r"Failed to fetch|error sending request|NewConnectionError|ConnectTimeout|ReadTimeout|[Nn]ame resolution|dns error|"
    r"Network is unreachable|Connection re(?:fused|set)|Max retries exceeded|ProxyError|SSLError|Retrying \(Retry": (
        "{what} failed because the Python package index cannot be reached: connect to the network"
        " (or set PIP_INDEX_URL or a proxy) and run the command again."
    ),
    r"Because (\S+) has no (?:usable )?wheels|No matching distribution found for (\S+)": (
        f"there is no ready-made package {{package}} for Python {PYTHON} on {sysconfig.get_platform()}:"
        " use Python 3.11 to 3.14 on x86-64 Linux, or install ROS 2 Jazzy and source it."
    ),
}
_ERROR = re.compile(r"(?i)(error|cause|CMake Error|fatal error)\b|.*\berror:")


class SetupError(Exception):
    """The environment cannot be made; the message is one sentence that says what to do."""


def explain(what: str, output: str, venv: Path) -> NoReturn:
    """SetupError from the output of a command, or the text of an error, that ended `what`."""
    for pattern, sentence in _REASONS.items():
        if match := re.search(pattern, output):
            package = next(filter(None, match.groups()), "")
            raise SetupError(sentence.format(what=what, venv=venv, package=package))
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    last = ([line for line in lines if _ERROR.match(line)] or lines or ["no output"])[-1]
    raise SetupError(f"{what} failed ({last[:160]}): the whole output is in {venv / 'dyn' / 'setup.log'}.")
