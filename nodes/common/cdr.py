"""Messages of the loop as bytes: their numbers are read and written in place, and no message object is made.

rclpy turns every message into a Python object and back, which takes longer than the control law. In the loop all
messages of a topic are alike but for their numbers: joint names and sizes stay. A ``CdrLayout`` says where the numbers
lie in the bytes that travel (OMG's CDR, version 1, little-endian, as ROS 2 sends them); whatever does not match it is
read and sent as a message object.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from dyn_robot.msg import MotorCommand
from rclpy.publisher import Publisher
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from dyn_core.errors import InputError, RefusedError

from .message_checks import JointOrder, joint_state, motor_codes
from .stamps import NANOSECONDS, nanoseconds, set_stamp

ENCAPSULATION = b"\x00\x01\x00\x00"
"""The first four bytes: little-endian CDR without options; alignment counts from behind them."""
NUMBERS = {"boolean": "?", "uint8": "u1", "int32": "<i4", "uint32": "<u4", "float": "<f4", "double": "<f8"}
STAMP = struct.Struct("<iI")
"""A header's stamp, which comes first: seconds and nanoseconds."""


class CdrLayout:
    """Where each number lies in the bytes of messages that differ from ``pattern`` in numbers alone."""

    def __init__(self, pattern: Any) -> None:
        self.numbers: dict[str, tuple[int, np.dtype[Any], int]] = {}
        """Offset, type and count by field, with dots: ``header.stamp.sec``, ``position``."""
        self._fixed: list[tuple[int, bytes]] = [(0, ENCAPSULATION)]
        self.size = len(ENCAPSULATION)
        self._walk(pattern, "")
        mask, value = bytearray(self.size), bytearray(self.size)
        for start, text in self._fixed:
            mask[start : start + len(text)] = b"\xff" * len(text)
            value[start : start + len(text)] = text
        self.blank = bytes(value)
        """Such a message with all numbers 0."""
        self._mask, self._value = int.from_bytes(mask, "little"), int.from_bytes(value, "little")

    def matches(self, data: bytes) -> bool:
        """Whether data is a message with the pattern's texts and sizes.

        Gaps, and what may follow the end, are not looked at: rclpy leaves in them what was in memory before.
        """
        return len(data) >= self.size and int.from_bytes(data, "little") & self._mask == self._value

    def read(self, data: bytes | np.ndarray, field: str) -> np.ndarray:
        """A view of a field's numbers; it can be written to if data can."""
        offset, kind, count = self.numbers[field]
        return np.frombuffer(data, kind, count, offset)

    def _walk(self, message: Any, path: str) -> None:
        for name, kind in message.get_fields_and_field_types().items():
            value, at = getattr(message, name), f"{path}{name}"
            if kind.startswith("sequence<"):
                self._sequence(value, kind[len("sequence<") : -1].split(",")[0], at)
            elif kind == "string":
                self._text(value)
            elif kind in NUMBERS:
                self._number(kind, 1, at)
            elif hasattr(value, "get_fields_and_field_types"):
                self._walk(value, f"{at}.")
            else:
                raise InputError(f"{at}: messages with {kind} are not read from their bytes")

    def _sequence(self, values: Any, kind: str, at: str) -> None:
        self._fix(struct.pack("<I", len(values)), 4)
        if kind == "string":
            for text in values:
                self._text(text)
        elif kind in NUMBERS:
            self._number(kind, len(values), at)
        else:
            for k, value in enumerate(values):
                self._walk(value, f"{at}.{k}.")

    def _text(self, text: str) -> None:
        encoded = text.encode() + b"\0"
        self._fix(struct.pack("<I", len(encoded)) + encoded, 4)

    def _number(self, kind: str, count: int, at: str) -> None:
        dtype = np.dtype(NUMBERS[kind])
        offset = self._aligned(dtype.itemsize) if count else self.size
        self.numbers[at] = (offset, dtype, count)
        self.size = offset + count * dtype.itemsize

    def _fix(self, text: bytes, alignment: int) -> None:
        start = self._aligned(alignment)
        self._fixed.append((start, text))
        self.size = start + len(text)

    def _aligned(self, alignment: int) -> int:
        return self.size + (len(ENCAPSULATION) - self.size) % alignment


class CdrPublisher:
    """Publishes a message again and again with other numbers.

    Where this ROS does not send the message as the layout says, the message itself is filled and published.
    """

    def __init__(self, publisher: Publisher, pattern: Any) -> None:
        self._publisher, self._message = publisher, pattern
        self._filled: dict[str, np.ndarray] = {}
        """Numbers that are copied into the message, by field; empty where its bytes are written in place."""
        self._layout = _sent_layout(pattern)
        if self._layout is None:
            return
        room = np.empty(self._layout.size + 8, np.uint8)
        start = -(room.ctypes.data + len(ENCAPSULATION)) % 8  # numbers lie in memory as kernels want them
        self._bytes = room[start : start + self._layout.size]
        self._bytes[:] = np.frombuffer(self._layout.blank, np.uint8)
        data = serialize_message(pattern)
        for field in self._layout.numbers:
            self.view(field)[:] = self._layout.read(data, field)

    def view(self, field: str) -> np.ndarray:
        """A field's numbers, to be written to; fields as ``CdrLayout`` names them."""
        if self._layout is not None:
            return self._layout.read(self._bytes, field)
        owner, name = self._place(field)
        return self._filled.setdefault(field, np.atleast_1d(getattr(owner, name)))

    def publish(self, stamp: int | None = None) -> None:
        """Publish it with the header's stamp (ns); without one, the stamp of the last time stays."""
        if self._layout is not None:
            if stamp is not None:
                STAMP.pack_into(self._bytes.data, len(ENCAPSULATION), *divmod(stamp, NANOSECONDS))
            self._publisher.publish(self._bytes.tobytes())
            return
        if stamp is not None:
            set_stamp(self._message.header.stamp, stamp)
        for field, numbers in self._filled.items():
            owner, name = self._place(field)
            single = np.ndim(getattr(owner, name)) == 0
            setattr(owner, name, numbers[0].item() if single else numbers.tolist())
        self._publisher.publish(self._message)

    def _place(self, field: str) -> tuple[Any, str]:
        """The message that has a field, and the field's name in it."""
        *way, name = field.split(".")
        owner = self._message
        for step in way:
            owner = owner[int(step)] if step.isdigit() else getattr(owner, step)
        return owner, name


def _sent_layout(pattern: Any) -> CdrLayout | None:
    """The layout of a message as this ROS sends it; None where it is sent in another way."""
    try:
        layout = CdrLayout(pattern)
    except InputError:
        return None
    return layout if layout.matches(serialize_message(pattern)) else None


class _Incoming:
    """Messages of one type; the layout of the last one that was read whole is kept."""

    def __init__(self, message_type: type, joints: JointOrder) -> None:
        self.joints = joints
        self.order: np.ndarray | None = None
        self.layout: CdrLayout | None = None
        self._type = message_type

    def known(self, data: bytes) -> CdrLayout | None:
        """The layout, if data has it."""
        layout = self.layout
        return layout if layout is not None and layout.matches(data) else None

    def message(self, data: bytes) -> Any:
        """The whole message."""
        try:
            return deserialize_message(data, self._type)
        except Exception as error:
            raise RefusedError("not readable", f"{len(data)} bytes") from error

    def keep(self, message: Any, data: bytes, order: np.ndarray | None) -> None:
        """Read the like of an accepted message by its layout from now on."""
        layout = CdrLayout(message)
        if layout.matches(data):
            self.layout, self.order = layout, order


class JointStateReader:
    """Reads sensor_msgs/JointState."""

    def __init__(self, joints: JointOrder) -> None:
        self._incoming = _Incoming(JointState, joints)

    def read(self, data: bytes) -> tuple[int, np.ndarray, np.ndarray]:
        """Stamp (ns), positions and velocities (n,), as ``joint_state`` checks them; RefusedError if wrong."""
        incoming = self._incoming
        if (layout := incoming.known(data)) is not None:
            q, qd = layout.read(data, "position").copy(), layout.read(data, "velocity").copy()
            if incoming.order is not None:
                q, qd = q[incoming.order], qd[incoming.order]
            if np.isfinite(q).all() and np.isfinite(qd).all():
                return stamp_of(data), q, qd
        message = incoming.message(data)
        q, qd = joint_state(message, incoming.joints)
        incoming.keep(message, data, incoming.joints.selection(message.name))
        return nanoseconds(message.header.stamp), q, qd


class MotorCommandReader:
    """Reads dyn_robot/MotorCommand; lowest, highest: DAC codes (n,)."""

    def __init__(self, joints: JointOrder, lowest: np.ndarray, highest: np.ndarray) -> None:
        self._incoming = _Incoming(MotorCommand, joints)
        self._lowest, self._highest = lowest, highest

    def read(self, data: bytes) -> tuple[int, np.ndarray]:
        """Stamp (ns) and DAC codes (n,), as ``motor_codes`` checks them; RefusedError if wrong."""
        incoming = self._incoming
        if (layout := incoming.known(data)) is not None:
            codes = layout.read(data, "dac_code").astype(float)
            if incoming.order is not None:
                codes = codes[incoming.order]
            inside = (codes >= self._lowest).all() and (codes <= self._highest).all()
            if inside and all(np.isfinite(layout.read(data, field)).all() for field in ("torque", "voltage")):
                return stamp_of(data), codes
        message = incoming.message(data)
        codes = motor_codes(message, incoming.joints, self._lowest, self._highest)
        incoming.keep(message, data, incoming.joints.permutation(message.name))
        return nanoseconds(message.header.stamp), codes


class MotorCommandPublisher:
    """Publishes torque, voltage and DAC code of every motor. zero_code (n,): the codes of 0 V."""

    def __init__(self, publisher: Publisher, names: Sequence[str], zero_code: np.ndarray) -> None:
        n = len(names)
        zeros = [0.0] * n
        pattern = MotorCommand(name=list(names), torque=zeros, voltage=zeros, dac_code=[0] * n, saturated=[False] * n)
        self._message = message = CdrPublisher(publisher, pattern)
        self._torque, self._voltage = message.view("torque"), message.view("voltage")
        self._code, self._saturated = message.view("dac_code"), message.view("saturated")
        self._zero_code = zero_code

    def publish(self, command: tuple[np.ndarray, ...], stamp: int) -> None:
        """Torque, voltage, DAC code and what was cut, (n,) each, with their stamp (ns)."""
        self._torque[:], self._voltage[:], self._code[:], self._saturated[:] = command
        self._message.publish(stamp)

    def publish_zero(self, stamp: int | None = None) -> None:
        """0 V; without a stamp, that of the last command stays."""
        self._torque[:], self._voltage[:], self._code[:], self._saturated[:] = 0.0, 0.0, self._zero_code, False
        self._message.publish(stamp)


def stamp_of(data: bytes) -> int:
    """The stamp (ns) of a message that has a known layout and begins with a header."""
    sec, nanosec = STAMP.unpack_from(data, len(ENCAPSULATION))
    return int(sec * NANOSECONDS + nanosec)
