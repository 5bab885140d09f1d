"""Who sent a message: a subscription read together with the identity of each message's publisher.

rclpy hands over a message without its publisher, so the message is taken through the C library that rclpy itself uses
(``rcl_take_serialized_message`` of librcl, with the structures of ROS 2 Jazzy).
"""

import ctypes
from dataclasses import dataclass

from rclpy.node import Node
from rclpy.subscription import Subscription

GID = 16
"""Bytes of a publisher's identity (RMW_GID_STORAGE_SIZE)."""
TAKE_FAILED = 401
"""RCL_RET_SUBSCRIPTION_TAKE_FAILED: there was nothing to take."""


class _Allocator(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("allocate", "deallocate", "reallocate", "zeroed", "state")]


class _Bytes(ctypes.Structure):
    """rcutils_uint8_array_t."""

    _fields_ = [
        ("buffer", ctypes.c_void_p),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("allocator", _Allocator),
    ]


class _Info(ctypes.Structure):
    """rmw_message_info_t, with room to spare."""

    _fields_ = [
        ("source_timestamp", ctypes.c_int64),
        ("received_timestamp", ctypes.c_int64),
        ("publication_sequence_number", ctypes.c_uint64),
        ("reception_sequence_number", ctypes.c_uint64),
        ("implementation", ctypes.c_void_p),
        ("publisher_gid", ctypes.c_uint8 * GID),
        ("spare", ctypes.c_uint8 * 64),
    ]


class SenderReader:
    """Takes the messages of a subscription one by one, each with its publisher's identity; never blocks."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription
        utilities, self._rcl = ctypes.CDLL("librcutils.so"), ctypes.CDLL("librcl.so")
        self._utilities = utilities
        utilities.rcutils_get_default_allocator.restype = _Allocator
        utilities.rcutils_uint8_array_init.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
        utilities.rcutils_uint8_array_fini.argtypes = (ctypes.c_void_p,)
        self._rcl.rcl_take_serialized_message.argtypes = (ctypes.c_void_p,) * 4
        allocator = utilities.rcutils_get_default_allocator()
        self._bytes, self._info = _Bytes(), _Info()
        if utilities.rcutils_uint8_array_init(ctypes.byref(self._bytes), 4096, ctypes.byref(allocator)) != 0:
            raise MemoryError("no memory for a message")

    def take(self) -> tuple[bytes, bytes] | None:
        """The bytes of the oldest pending message and its publisher's identity; None if there is none."""
        handle = self._subscription.handle
        with handle:
            status = self._rcl.rcl_take_serialized_message(
                handle.pointer, ctypes.byref(self._bytes), ctypes.byref(self._info), None
            )
        if status == TAKE_FAILED:
            return None
        if status != 0:
            self._utilities.rcutils_reset_error()
            return None
        return ctypes.string_at(self._bytes.buffer, self._bytes.length), bytes(self._info.publisher_gid)

    def close(self) -> None:
        """Give the memory back."""
        self._utilities.rcutils_uint8_array_fini(ctypes.byref(self._bytes))


@dataclass(frozen=True)
class Sender:
    """A publisher of a topic: its node's full name and its identity."""

    node: str
    gid: bytes


def senders(node: Node, topic: str) -> list[Sender]:
    """The publishers of a topic that are known now."""
    return [
        Sender(f"{info.node_namespace.rstrip('/')}/{info.node_name}", bytes(info.endpoint_gid[:GID]))
        for info in node.get_publishers_info_by_topic(topic)
    ]
