"""A running arm, for tests that look at it or bring it back to where it was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from std_srvs.srv import SetBool, Trigger

from dyn_cli.client.recorder import Recorder
from dyn_cli.client.robot_client import CONTROLLER, SIMULATION, RobotClient
from dyn_cli.supervision.supervisor import Supervisor
from dyn_core import Robot


@dataclass
class Arm:
    """The running puma560, a client of it, and the same robot computed here."""

    supervisor: Supervisor
    client: RobotClient
    robot: Robot
    recorders: list[Recorder] = field(default_factory=list)
    publishers: dict[str, Any] = field(default_factory=dict)

    def publish(self, message: Any, topic: str, times: int = 1) -> None:
        """Publish a message every 50 ms, after the publisher is known to whoever listens."""
        publisher = self.publishers.get(topic)
        if publisher is None:
            publisher = self.publishers[topic] = self.client.node.create_publisher(type(message), topic, 10)
            assert self.client.wait(lambda: publisher.get_subscription_count() > 0, 5.0), f"nobody listens on {topic}"
            self.client.spin(0.5)
        for _ in range(times):
            publisher.publish(message)
            self.client.spin(0.05)

    def fall_silent(self) -> None:
        """Take back the publishers of `publish`."""
        while self.publishers:
            self.client.node.destroy_publisher(self.publishers.popitem()[1])

    def record(self, message_type: type, topic: str) -> Recorder:
        """A recorder that is closed at the end of the test."""
        self.recorders.append(self.client.record(message_type, topic))
        return self.recorders[-1]

    def positions(self) -> np.ndarray:
        return np.array(self.client.joint_state().position)

    def counted(self, node: str, key: str) -> int:
        """A counter of the node's next diagnostics; 0 if it is not there."""
        return int(self.client.diagnostics(node).get(key, "0"))

    def restore(self) -> None:
        """Active and without a fault, holding the initial position, whatever a test that failed has left."""
        self.client.call(SetBool, f"{CONTROLLER}/emergency_stop", SetBool.Request(data=False))
        if self.client.lifecycle_state() == "active":
            self.client.deactivate()
        assert self.client.call(Trigger, f"{SIMULATION}/reset", Trigger.Request()).success
        assert self.client.wait(lambda: bool(np.abs(self.positions()).max() < 1e-12), 2.0)
        self.client.activate(CONTROLLER, 60.0)
        self.client.controller_state()
