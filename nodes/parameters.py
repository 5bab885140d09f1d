"""Parameters of the nodes: each is said once, here, with type, default, bounds and description.

This module needs only the standard library, so that the command line, the bring-up and the documentation can read the
tables; ``declare`` imports rclpy when a node calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
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


ROBOT = ParameterSpec("robot", "puma560", "Name of a robot in config/robots, or the path of a robot file.")
FORMULATIONS = ("projection", "multipliers", "virtual_spring", "denoc")
"""As dyn_core.loop_robot has them, which is not imported here."""
REALTIME_PRIORITY = ParameterSpec(
    "realtime_priority",
    0,
    "SCHED_FIFO priority of the loop's thread and of the DDS threads (one above); 0 keeps the ordinary scheduler. "
    "Where the system does not permit it, /diagnostics says so and the node goes on without.",
    0,
    90,
)
AUTOSTART = ParameterSpec("autostart", False, "Configure and activate by itself, as under systemd or ros2 launch.")

SIMULATED_ROBOT: tuple[ParameterSpec, ...] = (
    ROBOT,
    ParameterSpec("rate", 1000.0, "Cycles per second: DAC period, and rate of joint_states (Hz).", 1.0, 5000.0),
    ParameterSpec("method", "rk3", "Integration method over a DAC period.", choices=("rk3", "rk4")),
    ParameterSpec("substeps", 1, "Integration steps per DAC period.", 1, 100),
    ParameterSpec(
        "initial_positions",
        [],
        "Joint positions at the start and after a reset (rad or m, in the robot's joint order); "
        "empty: zero (the described configuration, where chains are closed), moved into the position limits.",
    ),
    ParameterSpec(
        "brakes",
        True,
        "Hold the initial position, as brakes do, until the first motor command comes "
        "(false: the joints are free from the start).",
    ),
    ParameterSpec(
        "command_timeout", 0.05, "Without a motor command for this long the motors see 0 V (s).", 0.001, 10.0
    ),
    ParameterSpec("wrench_timeout", 0.1, "An external wrench acts for this long after its message (s).", 0.001, 10.0),
    ParameterSpec(
        "max_catch_up",
        0.02,
        "Real time that is made up for at once after a stall (s); beyond that simulated time stands still, and what "
        "was lost is counted.",
        0.001,
        1.0,
    ),
    ParameterSpec("publish_clock", False, "Publish simulated time on /clock, from zero, at 100 Hz."),
    REALTIME_PRIORITY,
)


def _tunable(
    name: str,
    default: Value,
    description: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> ParameterSpec:
    """A parameter of a lifecycle node, which may be changed before the next configure."""
    return ParameterSpec(name, default, description, low, high, choices, read_only=False)


def _reaction(kind: str, default: str, what: str) -> ParameterSpec:
    return _tunable(f"{kind}_reaction", default, f"Reaction to {what}.", choices=REACTIONS)


REACTIONS = ("warn", "slow_down", "safe_stop")
"""As nodes.watchdogs has them, which is not imported here."""

COMPUTED_TORQUE_CONTROLLER: tuple[ParameterSpec, ...] = (
    _tunable(ROBOT.name, ROBOT.default, ROBOT.description),
    _tunable(
        "rate",
        1000.0,
        "Rate at which joint states are expected (Hz); a gap above 1.5 periods is a missed deadline.",
        1.0,
        5000.0,
    ),
    _tunable("bandwidth", 50.0, "Bandwidth lambda of the error dynamics of every joint (rad/s).", 0.1, 1000.0),
    _tunable(
        "mode",
        "computed_torque",
        "Control law: computed torque, or feed-forward of the desired motion alone.",
        choices=("computed_torque", "feed_forward"),
    ),
    _tunable(
        "friction",
        "desired",
        "Friction is compensated at the desired or at the measured speed; at standstill the latter chatters.",
        choices=("desired", "measured"),
    ),
    _tunable(
        "formulation",
        "projection",
        "How the dynamics of closed chains is computed; of no meaning for robots without them.",
        choices=FORMULATIONS,
    ),
    _tunable(
        "start_tolerance",
        0.01,
        "A trajectory whose first point is at time 0 must start within this distance of the present desired "
        "position (rad or m).",
        0.0,
        10.0,
    ),
    _tunable("state_every", 20, "Publish ~/state (desired and measured) on every so many-th cycle.", 1, 10000),
    _tunable(
        "state_timeout",
        0.1,
        "Without a valid joint state for this long: 0 V and a latched fault (s). Time in which this process itself "
        "did not run does not count.",
        0.001,
        10.0,
    ),
    _tunable(
        "clock_jump", 0.5, "A step of the joint states' stamps above this: 0 V and a latched fault (s).", 0.01, 3600.0
    ),
    _tunable(
        "max_missed_deadlines",
        500,
        "Safe stop when more deadlines than this are missed in a row; 0: never.",
        0,
        1000000,
    ),
    _tunable(
        "peer_timeout",
        1.0,
        "Safe stop when nobody has taken the motor commands for this long, after somebody did (s); 0: never.",
        0.0,
        3600.0,
    ),
    _tunable(
        "emergency_stop_timeout",
        0.0,
        "Without a message on emergency_stop for this long it counts as pressed (s); 0: it need not be sent again.",
        0.0,
        3600.0,
    ),
    _tunable(
        "soft_limit_margin",
        0.0,
        "Soft position limits lie this far inside the robot's position limits (rad or m); trajectories keep to them.",
        0.0,
        10.0,
    ),
    _tunable(
        "hard_limit_margin",
        0.05,
        "Hard position limits lie this far outside the robot's position limits (rad or m).",
        0.0,
        10.0,
    ),
    _tunable(
        "velocity_margin",
        0.1,
        "The measured speed may exceed the robot's velocity limits by this part of them.",
        0.0,
        10.0,
    ),
    _tunable(
        "tracking_error_limit",
        0.2,
        "Largest distance of a revolute joint from its desired position (rad).",
        1e-6,
        1000.0,
    ),
    _tunable(
        "tracking_error_limit_linear",
        0.05,
        "Largest distance of a prismatic joint from its desired position (m).",
        1e-6,
        1000.0,
    ),
    _tunable(
        "saturation_time",
        0.1,
        "Torque and voltage limits may be exceeded by the control law for this long before it counts (s).",
        0.0,
        10.0,
    ),
    _reaction("soft_limit", "slow_down", "a measured position beyond a soft limit"),
    _reaction("hard_limit", "safe_stop", "a measured position beyond a hard limit"),
    _reaction("velocity", "safe_stop", "a measured speed beyond the limit"),
    _reaction("torque", "slow_down", "a wanted torque beyond what joint and motor may give"),
    _reaction("voltage", "slow_down", "a wanted voltage beyond what the amplifier gives"),
    _reaction("tracking_error", "safe_stop", "a tracking error beyond the limit"),
    _tunable("slow_pace", 0.25, "Part of the planned speed at which a robot that slows down goes on.", 0.01, 1.0),
    _tunable(
        "slow_time", 0.5, "A robot that slowed down goes faster again this long after the cause is gone (s).", 0.0, 60.0
    ),
    _tunable(
        "brake_time", 0.1, "Shortest time of a stop by braking from full speed (s); bounds the jolt.", 0.001, 10.0
    ),
    _tunable(
        "stop_timeout", 1.0, "A robot that has not come to rest this long after a stop began gets 0 V (s).", 0.01, 60.0
    ),
    _tunable(
        "after_stop",
        "hold",
        "After a safe stop by braking: hold the position under control, or 0 V (for arms with brakes).",
        choices=("hold", "zero_volts"),
    ),
    _tunable(
        "emergency_stop_reaction",
        "brake",
        "An emergency stop brakes, then gives 0 V (stop category 1), or gives 0 V at once (category 0).",
        choices=("brake", "zero_volts"),
    ),
    AUTOSTART,
    _tunable(
        REALTIME_PRIORITY.name,
        REALTIME_PRIORITY.default,
        REALTIME_PRIORITY.description,
        REALTIME_PRIORITY.low,
        REALTIME_PRIORITY.high,
    ),
)

STIFFNESS_SERVER: tuple[ParameterSpec, ...] = (
    ROBOT,
    ParameterSpec("frame", "tool", "Frame at whose origin stiffness and deflection are given."),
    ParameterSpec("max_map_poses", 200_000, "Most poses of one map; larger ones are refused.", 1, 1_000_000),
)

DAC_BRIDGE: tuple[ParameterSpec, ...] = (
    ParameterSpec(ROBOT.name, ROBOT.default, ROBOT.description, read_only=False),
    ParameterSpec("dac", "", "Path of the DAC file: which channel drives which motor (docs/dac.md).", read_only=False),
    ParameterSpec(
        "command_timeout",
        0.05,
        "Without a fresh motor command for this long the safe codes are written (s).",
        0.001,
        10.0,
        read_only=False,
    ),
    ParameterSpec(
        "guardian_timeout",
        0.1,
        "When this process has been silent for this long its guardian writes the safe codes (s); "
        "not less than command_timeout.",
        0.001,
        10.0,
        read_only=False,
    ),
    ParameterSpec(
        "publisher",
        "computed_torque_controller",
        "Name of the node whose motor commands are obeyed, in this node's namespace if it has no leading slash; "
        "empty: the first that speaks.",
        read_only=False,
    ),
    ParameterSpec("iio_root", "/sys/bus/iio/devices", "Folder of the Industrial I/O devices.", read_only=False),
    AUTOSTART,
    ParameterSpec(
        REALTIME_PRIORITY.name,
        REALTIME_PRIORITY.default,
        REALTIME_PRIORITY.description,
        REALTIME_PRIORITY.low,
        REALTIME_PRIORITY.high,
        read_only=False,
    ),
)

TABLES: dict[str, tuple[ParameterSpec, ...]] = {
    "simulated_robot": SIMULATED_ROBOT,
    "computed_torque_controller": COMPUTED_TORQUE_CONTROLLER,
    "dac_bridge": DAC_BRIDGE,
    "stiffness_server": STIFFNESS_SERVER,
}


def declare(node: Node, table: Sequence[ParameterSpec]) -> None:
    """Declare the table's parameters on the node and refuse values that it does not allow."""
    from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
    from rclpy.exceptions import ParameterException
    from rclpy.parameter import Parameter

    from dyn_core.errors import InputError

    types = {
        "bool": Parameter.Type.BOOL,
        "integer": Parameter.Type.INTEGER,
        "double": Parameter.Type.DOUBLE,
        "string": Parameter.Type.STRING,
        "double_array": Parameter.Type.DOUBLE_ARRAY,
    }
    for spec in table:
        descriptor = ParameterDescriptor(
            name=spec.name,
            type=types[spec.type_name].value,
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
        default = types[spec.type_name] if spec.default == [] else spec.default
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


def values(node: Node, table: Sequence[ParameterSpec]) -> dict[str, Any]:
    """The present values of the table's parameters, by name."""
    from rclpy.exceptions import ParameterUninitializedException

    found: dict[str, Any] = {}
    for spec in table:
        try:
            found[spec.name] = node.get_parameter(spec.name).value
        except ParameterUninitializedException:
            found[spec.name] = spec.default
    return found
