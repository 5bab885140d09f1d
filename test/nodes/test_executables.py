"""The nodes as executables of the package."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.running

CODE = """
import importlib, os, signal, sys
from dyn_nodes import executables

def import_module(name):
    assert name == "dyn_nodes.stiffness_server.node"
    os.kill(os.getpid(), {number})

importlib.import_module = import_module
executables.stiffness_server()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_node_that_is_told_to_end_while_it_is_imported_ends_without_a_word(number: signal.Signals) -> None:
    code = CODE.format(number=int(number))
    ended = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
