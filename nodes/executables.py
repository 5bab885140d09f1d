"""The nodes as executables of the package: what ``ros2 run`` and ``ros2 launch`` start.

Importing a node takes a second or two. Until it is imported, and can end by itself (``common.process``), Ctrl-C would
show where in numba or scipy it came; there is nothing to make safe yet, so the process just ends.
"""

import importlib
import os
import signal
import sys
from collections.abc import Sequence
from functools import partial
from types import FrameType

NODES = {
    "simulated_robot": "SimulatedRobot",
    "computed_torque_controller": "ComputedTorqueController",
    "dac_bridge": "DacBridge",
    "stiffness_server": "StiffnessServer",
}
"""The nodes, and their classes in ``<node>/node.py``."""


def main(node: str, args: Sequence[str] | None = None) -> int:
    """Run a node until it is told to end; returns the exit status. args: those of ROS, if not this process's."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    make = getattr(importlib.import_module(f"dyn_nodes.{node}.node"), NODES[node])
    from dyn_nodes.common.process import run

    return run(node, make, args)


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)


simulated_robot, computed_torque_controller, dac_bridge, stiffness_server = (partial(main, node) for node in NODES)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
