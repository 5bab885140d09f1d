"""Qualities of service of the loops' topics."""

from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy


def _last(depth: int, reliability: ReliabilityPolicy, durability: DurabilityPolicy) -> QoSProfile:
    return QoSProfile(history=HistoryPolicy.KEEP_LAST, depth=depth, reliability=reliability, durability=durability)


FRESH = _last(8, ReliabilityPolicy.BEST_EFFORT, DurabilityPolicy.VOLATILE)
"""Subscriptions of the loop: only the newest counts, nothing is sent again."""
STREAM = _last(8, ReliabilityPolicy.RELIABLE, DurabilityPolicy.VOLATILE)
"""Publishers of the loop: a reliable writer serves both kinds of subscribers."""
LATCHED = _last(1, ReliabilityPolicy.RELIABLE, DurabilityPolicy.TRANSIENT_LOCAL)
"""Whoever subscribes later still gets the last message."""
