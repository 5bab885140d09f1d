"""Processes that a benchmark needs beside its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def running_module(module: str, *arguments: str) -> Iterator[None]:
    """A module that runs in a process of its own; it has ended when the block has."""
    process = subprocess.Popen([sys.executable, "-m", module, *arguments])
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
