"""Messages are taken with the identity of their publisher."""

from __future__ import annotations

import pytest
from rclpy.serialization import deserialize_message

from dyn_cli.client.robot_client import RobotClient
from dyn_nodes.common.direct_subscription import subscribe
from dyn_nodes.common.message_sender import SenderReader, senders

pytestmark = pytest.mark.running


def test_every_message_has_its_publisher(domain: int) -> None:
    from std_msgs.msg import String

    with RobotClient("ears") as ears, RobotClient("mouth") as mouth:
        subscription = subscribe(ears.node, String, "/said")
        reader = SenderReader(subscription)
        assert reader.take() is None
        publishers = [client.node.create_publisher(String, "/said", 50) for client in (ears, mouth)]
        both = {"/ears/dyn_client", "/mouth/dyn_client"}
        assert ears.wait(lambda: {sender.node for sender in senders(ears.node, "/said")} == both, 20.0)
        assert mouth.wait(lambda: publishers[1].get_subscription_count() == 1, 20.0)
        identity = {sender.node: sender.gid for sender in senders(ears.node, "/said")}
        assert len(set(identity.values())) == 2
        taken: list[tuple[str, bytes]] = []

        def heard_all() -> bool:
            for publisher, text in zip(publishers, ("a", "b" * 20_000), strict=True):
                publisher.publish(String(data=text))
            while (found := reader.take()) is not None:
                taken.append((deserialize_message(found[0], String).data[0], found[1]))
            return {letter for letter, _ in taken} == {"a", "b"}

        assert ears.wait(heard_all, 20.0)
        assert dict(taken) == {
            "a": identity["/ears/dyn_client"],
            "b": identity["/mouth/dyn_client"],
        }
        reader.close()
