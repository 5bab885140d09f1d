"""The nodes as executables of the package: what ``ros2 run`` and ``ros2 launch`` start.

Importing a node takes a second or two. Until it is imported, and can end by itself (``common.process``), Ctrl-C would
show where in numba or scipy it came; there is nothing to make safe yet, so the process just ends.
"""

from __future__ import annotations

import importlib
import os
import signal
from functools import partial
from types import FrameType


def _run(node: str) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    status: int = importlib.import_module(f"dyn_nodes.{node}.node").main()
    return status


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)


simulated_robot = partial(_run, "simulated_robot")
computed_torque_controller = partial(_run, "computed_torque_controller")
dac_bridge = partial(_run, "dac_bridge")
stiffness_server = partial(_run, "stiffness_server")
