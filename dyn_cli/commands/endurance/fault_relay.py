"""Stands between the simulated robot and the controller in a fault campaign, and spoils joint states as it is told.

It takes ``joint_states_true`` and gives ``joint_states``; what it does to them is the last text on ``~/mode``: one of
MODES, with a number after it where it needs one.
"""

import sys
import time
from collections import deque
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dyn_nodes.common.direct_subscription import SubscriptionWaiter, subscribe, take_all
from dyn_nodes.common.process import StopSignal
from dyn_nodes.common.qos import LATCHED, STREAM
from dyn_nodes.common.stamps import NANOSECONDS, nanoseconds, set_stamp

MODES = ("pass", "late", "duplicated", "out_of_order", "nan", "truncated", "renamed", "clock_step", "silent")
BLOCK = 4
"""Messages that come in reverse order where they come out of order."""


class FaultRelay(Node):
    """Passes joint states on, or spoils them."""

    def __init__(self) -> None:
        super().__init__("fault_relay")
        self._mode, self._number = "pass", 0.0
        self._waiting: deque[tuple[float, JointState]] = deque()
        self._block: list[JointState] = []
        self._states = subscribe(self, JointState, "joint_states_true")
        self._modes = subscribe(self, String, "~/mode", LATCHED)
        self._publisher = self.create_publisher(JointState, "joint_states", STREAM)
        self._waiter = SubscriptionWaiter(self, self._states, self._modes)

    def wake(self) -> None:
        """End the present wait."""
        self._waiter.wake()

    def cycle(self) -> None:
        """Wait for messages and pass them on."""
        self._waiter.wait(0.002 if self._waiting else 0.1)
        for message in take_all(self._modes):
            mode, _, number = message.data.partition(" ")
            self._mode, self._number = mode, float(number or 0.0)
            self._block.clear()
        for message in take_all(self._states):
            self._spoil(message)
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            self._publisher.publish(self._waiting.popleft()[1])

    def _spoil(self, message: JointState) -> None:
        mode = self._mode
        if mode == "late":
            self._waiting.append((time.monotonic() + self._number, message))
            return
        if mode == "silent":
            return
        if mode == "out_of_order":
            self._block.append(message)
            if len(self._block) == BLOCK:
                for held in reversed(self._block):
                    self._publisher.publish(held)
                self._block.clear()
            return
        if mode == "nan":
            message.velocity = [float("nan")] * len(message.name)
        elif mode == "truncated":
            message.position = message.position[:-1]
        elif mode == "renamed":
            message.name = [f"{name}_old" for name in message.name]
        elif mode == "clock_step":
            stamp = message.header.stamp
            set_stamp(stamp, nanoseconds(stamp) + round(self._number * NANOSECONDS))
        for _ in range(3 if mode == "duplicated" else 1):
            self._publisher.publish(message)


def relay(args: Any = None) -> int:
    """Run until SIGTERM."""
    stop = StopSignal()
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    node = FaultRelay()
    stop.on_stop(node.wake)
    while not stop.received:
        node.cycle()
    node.destroy_node()
    rclpy.try_shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(relay())
