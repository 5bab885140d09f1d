"""Subscriptions that a thread reads by itself, past rclpy's executor.

The executor costs several hundred microseconds per callback in Python, so messages of the control loop do not pass
through it: their subscriptions sit in a callback group that the executor never serves, and the loop's thread takes from
the subscription's handle. Names of rclpy that are not public are used in this file only.
"""

import contextlib
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from .qos import FRESH
from .stamps import NANOSECONDS


class WithheldGroup(MutuallyExclusiveCallbackGroup):
    """A callback group that the executor never serves."""

    def can_execute(self, entity: Any) -> bool:
        return False


def subscribe(node: Node, message_type: type, topic: str, quality: QoSProfile = FRESH) -> Subscription:
    """A subscription that the executor does not serve."""
    return node.create_subscription(message_type, topic, lambda _: None, quality, callback_group=WithheldGroup())


def take_all(subscription: Subscription, raw: bool = False) -> list[Any]:
    """All pending messages, the oldest first, or their bytes if ``raw``; never blocks."""
    taken = []
    handle = subscription.handle
    with handle:
        while (message := handle.take_message(subscription.msg_type, raw)) is not None:
            taken.append(message[0])
    return taken


def take_newest(subscription: Subscription, raw: bool = False) -> tuple[Any | None, int]:
    """The newest pending message (None if there is none), and how many older ones were passed over; never blocks."""
    taken = take_all(subscription, raw)
    return (taken[-1], len(taken) - 1) if taken else (None, 0)


class SubscriptionWaiter:
    """Blocks until a subscription has a message, somebody calls ``wake``, or a time has passed."""

    def __init__(self, node: Node, *subscriptions: Subscription) -> None:
        self._subscriptions = subscriptions
        self.guard = node.create_guard_condition(lambda: None, callback_group=WithheldGroup())
        self._set = _rclpy.WaitSet(len(subscriptions), 1, 0, 0, 0, 0, node.context.handle)

    def wait(self, timeout: float) -> None:
        """Wait at most ``timeout`` seconds."""
        with contextlib.ExitStack() as held:
            held.enter_context(self.guard.handle)
            self._set.clear_entities()
            for subscription in self._subscriptions:
                held.enter_context(subscription.handle)
                self._set.add_subscription(subscription.handle)
            self._set.add_guard_condition(self.guard.handle)
            self._set.wait(int(timeout * NANOSECONDS))

    def wake(self) -> None:
        """End the present wait; may be called from any thread."""
        self.guard.trigger()
