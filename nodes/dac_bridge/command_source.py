"""Motor commands of the one publisher that is obeyed."""

from dyn_robot.msg import MotorCommand
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription

from dyn_core.errors import RefusedError
from dyn_nodes.common.message_checks import DropCounter
from dyn_nodes.common.message_sender import SenderReader, senders

TOPIC = "motor_commands"


class CommandSource:
    """Takes the newest command of one publisher: of the node ``publisher``, or, if that is empty, of the first."""

    def __init__(self, node: Node, subscription: Subscription, publisher: str, drops: DropCounter) -> None:
        if publisher and not publisher.startswith("/"):
            publisher = f"{node.get_namespace().rstrip('/')}/{publisher}"
        self._node, self._publisher, self._drops = node, publisher, drops
        self._topic = node.resolve_topic_name(TOPIC)
        self._reader = SenderReader(subscription)
        self._sender = b""
        self._refused: set[bytes] = set()
        self.obeyed = ""
        """Full name of the node that is obeyed."""
        self.others: set[str] = set()
        """Names of nodes that publish motor commands too."""
        self.passed_over = self.foreign = 0

    def close(self) -> None:
        """Give the memory of messages back."""
        self._reader.close()

    def forget(self) -> None:
        """Obey whoever comes next."""
        self._sender, self.obeyed = b"", ""

    def empty(self) -> None:
        """Take all pending commands, and use none."""
        while self._reader.take() is not None:
            pass

    def newest(self) -> MotorCommand | None:
        """The newest pending command of the obeyed publisher."""
        newest = None
        while (taken := self._reader.take()) is not None:
            data, gid = taken
            if gid != self._sender and not self._adopt(gid):
                self.foreign += 1
                continue
            try:
                message = deserialize_message(data, MotorCommand)
            except Exception as error:
                self._drops.add(TOPIC, RefusedError("not readable", str(error)))
                continue
            self.passed_over += newest is not None
            newest = message
        return newest

    def _adopt(self, gid: bytes) -> bool:
        """Obey this publisher if none is obeyed yet, it is known to the graph, and its node may speak."""
        if self._sender or gid in self._refused:
            return False
        for sender in senders(self._node, self._topic):
            if sender.gid == gid:
                if self._publisher in ("", sender.node):
                    self._sender, self.obeyed = gid, sender.node
                    self._node.get_logger().info(f"obeying {sender.node}")
                    return True
                self._refused.add(gid)
        return False

    def look_for_others(self) -> None:
        """Report who else publishes motor commands."""
        self._refused.clear()  # the name of a node may become known later than its publisher
        allowed = self.obeyed or self._publisher
        known = senders(self._node, self._topic) if allowed else []
        own = [sender for sender in known if sender.gid == self._sender or sender.node == allowed]
        others = {sender.node for sender in known if sender not in own}
        if len(own) > 1:
            others.add(f"{len(own) - 1} more called {allowed}")
        for name in others - self.others:
            self._node.get_logger().warning(f"{name} publishes {TOPIC} too, and is not obeyed; obeyed is {allowed}")
        self.others = others
