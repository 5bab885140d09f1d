"""Every message of a topic, kept."""

from __future__ import annotations

from typing import Any

from rclpy.qos import HistoryPolicy, QoSProfile, ReliabilityPolicy

from dyn_nodes.common.direct_subscription import subscribe, take_all

EVERYTHING = QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=8000, reliability=ReliabilityPolicy.BEST_EFFORT)
"""A recorder's queue: 8 s of a loop at 1 kHz."""


class Recorder:
    """Keeps every message of a topic; the queue is emptied by ``drain``, not by callbacks, so that it costs little.

    Use it as a context manager, or call ``close``: while it is open every message is delivered to it.
    """

    def __init__(self, node: Any, message_type: type, topic: str, quality: QoSProfile = EVERYTHING) -> None:
        self.messages: list[Any] = []
        self._node = node
        self._subscription = subscribe(node, message_type, topic, quality)

    def drain(self) -> None:
        """Take what has arrived."""
        self.messages += take_all(self._subscription)

    def clear(self) -> None:
        """Forget what has arrived."""
        self.drain()
        self.messages.clear()

    def close(self) -> None:
        """Stop listening; the messages stay."""
        self._node.destroy_subscription(self._subscription)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
