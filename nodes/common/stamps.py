"""Times of messages as whole numbers of nanoseconds."""

from typing import Any

NANOSECONDS = 1_000_000_000
"""Per second."""


def nanoseconds(time: Any) -> int:
    """A builtin_interfaces/Time or Duration as a whole number of ns."""
    return int(time.sec * NANOSECONDS + time.nanosec)


def set_stamp(time: Any, stamp: int) -> None:
    """Write a stamp (ns) into a builtin_interfaces/Time or Duration."""
    time.sec, time.nanosec = divmod(stamp, NANOSECONDS)
