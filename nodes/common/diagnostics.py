"""``/diagnostics`` of a node: one status per second with rates, missed deadlines and dropped messages."""

import gc
from collections.abc import Callable

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node

from .message_checks import DropCounter

OK = DiagnosticStatus.OK
WARN = DiagnosticStatus.WARN
ERROR = DiagnosticStatus.ERROR

Report = tuple[bytes, str, dict[str, object]]
"""Level, one sentence, and named values."""


class Diagnostics:
    """Publishes what ``report`` says, and the drop counts, once per second from the node's executor."""

    def __init__(self, node: Node, report: Callable[[], Report], drops: DropCounter, period: float = 1.0) -> None:
        self._node = node
        self._report = report
        self._drops = drops
        self._publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._timer = node.create_timer(period, self.publish)

    def publish(self) -> None:
        """Publish one status now."""
        level, sentence, values = self._report()
        status = DiagnosticStatus(
            level=level,
            name=self._node.get_fully_qualified_name().lstrip("/"),
            message=sentence,
            hardware_id=str(values.get("robot", "")),
        )
        items: dict[str, object] = {**values, "dropped messages": self._drops.total}
        items.update({f"dropped {reason}": count for reason, count in sorted(self._drops.counts.items())})
        if self._drops.last:
            items["last dropped"] = self._drops.last
        status.values = [KeyValue(key=key, value=_text(value)) for key, value in items.items()]
        message = DiagnosticArray(status=[status])
        message.header.stamp = self._node.get_clock().now().to_msg()
        self._publisher.publish(message)
        # The automatic collector is off in nodes with a loop; what the executor leaves behind is small and young.
        gc.collect(0)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
