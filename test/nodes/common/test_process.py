"""Life of a node's process."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.running

CODE = """
import os, signal, sys
from rclpy.node import Node
from dyn_nodes.common.process import run

class Idle(Node):
    failure = None
    def close(self):
        pass

def make():
    os.kill(os.getpid(), signal.SIGINT)
    return Idle("idle")

class SignalledWhileEnding:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

late = SignalledWhileEnding()
status = run("idle", make)
os.kill(os.getpid(), signal.SIGTERM)
sys.exit(status)
"""


def test_a_second_signal_does_not_spoil_a_clean_end() -> None:
    """A launch sends its own signal besides the terminal's; the second may come while the interpreter ends."""
    ended = subprocess.run([sys.executable, "-c", CODE], timeout=120, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
