"""Parameters of the nodes: each is said once, in its node's table, with type, default, bounds and description.

This module and the tables need only the standard library, so that the command line, the bring-up and the documentation
can read them; ``declare`` imports rclpy when a node calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rclpy.node import Node

Value = bool | int | float | str | list[float]


@dataclass(frozen=True)
class ParameterSpec:
    """One parameter: its name, default (which gives the type), allowed values, and what it means."""

    name: str
    default: Value
    description: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = field(default=())
    read_only: bool = True

    @property
    def type_name(self) -> str:
        """Name of the ROS parameter type."""
        names = {bool: "bool", int: "integer", float: "double", str: "string", list: "double_array"}
        return names[type(self.default)]

    @property
    def allowed(self) -> str:
        """The allowed values in words, as the documentation prints them."""
        if self.choices:
            return ", ".join(self.choices)
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        return "any"

    def check(self, value: Value) -> None:
        """Raise InputError if ``value`` is not allowed."""
        from dyn_core.errors import InputError

        outside = self.choices and value not in self.choices
        if isinstance(value, int | float) and self.low is not None and self.high is not None:
            outside = not self.low <= value <= self.high
        if outside:
            raise InputError(f"parameter {self.name}: found {value!r}, allowed: {self.allowed}")

    def parse(self, text: object) -> bool | int | float | str:
        """The value that a text on a command line says; InputError if it says none that is allowed."""
        from dyn_core.errors import InputError

        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        wanted = {bool: "true, false", int: "a whole number", float: "a number"}
        kind: Any = type(self.default)
        try:
            value = words[str(text).lower()] if kind is bool else kind(str(text))
        except (KeyError, ValueError):
            raise InputError(f"{self.name}: found {text!r}, allowed: {wanted[kind]}") from None
        self.check(value)
        return value


ROBOT = ParameterSpec("robot", "puma560", "Name of a robot in config/robots, or the path of a robot file.")
REALTIME_PRIORITY = ParameterSpec(
    "realtime_priority",
    0,
    "SCHED_FIFO priority of the loop's thread and of the DDS threads (one above); 0 keeps the ordinary scheduler. "
    "Where the system does not permit it, /diagnostics says so and the node goes on without.",
    0,
    90,
)
AUTOSTART = ParameterSpec("autostart", False, "Configure and activate by itself, as under systemd or ros2 launch.")


def tunable(*specs: ParameterSpec) -> tuple[ParameterSpec, ...]:
    """Parameters of a lifecycle node, which may be changed before the next configure."""
    return tuple(replace(spec, read_only=False) for spec in specs)


def declare(node: Node, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """Declare the table's parameters on the node and refuse values that it does not allow; returns their values."""
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
    from rclpy.exceptions import ParameterException
    from rclpy.parameter import Parameter

    from dyn_core.errors import InputError

    for spec in table:
        kind = Parameter.Type[spec.type_name.upper()]
        descriptor = ParameterDescriptor(
            name=spec.name,
            type=kind.value,
            description=spec.description,
            read_only=spec.read_only,
            additional_constraints=spec.allowed if spec.choices else "",
        )
        if spec.low is not None and spec.high is not None:
            if isinstance(spec.default, float):
                limits = FloatingPointRange(from_value=float(spec.low), to_value=float(spec.high), step=0.0)
                descriptor.floating_point_range = [limits]
            else:
                descriptor.integer_range = [IntegerRange(from_value=int(spec.low), to_value=int(spec.high), step=1)]
        # An empty list has no element type that rclpy could infer: declare the type alone.
        default = kind if spec.default == [] else spec.default
        try:
            value = node.declare_parameter(spec.name, default, descriptor).value
        except ParameterException as error:
            raise InputError(f"parameter {spec.name} ({spec.type_name}, {spec.allowed}): {error}") from error
        if value is not None:
            spec.check(value)

    known = {spec.name: spec for spec in table}

    def refuse(changes: list[Any]) -> SetParametersResult:
        for change in changes:
            if change.name in known:
                try:
                    known[change.name].check(change.value)
                except InputError as error:
                    return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(refuse)
    return parameter_values(node, table)


def parameter_values(node: Node, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """The present values of the table's parameters, by name."""
    given = ((spec, node.get_parameter_or(spec.name).value) for spec in table)
    return {spec.name: spec.default if value is None else value for spec, value in given}
