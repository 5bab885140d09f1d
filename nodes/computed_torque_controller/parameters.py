"""Parameters of ``computed_torque_controller``."""

from dyn_nodes.common.parameter_spec import AUTOSTART, REALTIME_PRIORITY, ROBOT, ParameterSpec, tunable

FORMULATIONS = ("projection", "multipliers", "virtual_spring", "denoc")
REACTIONS = ("warn", "slow_down", "safe_stop")
"""As dyn_core has them, which is not imported here."""


def _reaction(kind: str, default: str, what: str) -> ParameterSpec:
    return ParameterSpec(f"{kind}_reaction", default, f"Reaction to {what}.", choices=REACTIONS)


_TUNABLE = (
    ROBOT,
    ParameterSpec(
        "rate",
        1000.0,
        "Rate at which joint states are expected (Hz); a gap above 1.5 periods is a missed deadline.",
        1.0,
        5000.0,
    ),
    ParameterSpec("bandwidth", 50.0, "Bandwidth lambda of the error dynamics of every joint (rad/s).", 0.1, 1000.0),
    ParameterSpec(
        "mode",
        "computed_torque",
        "Control law: computed torque, or feed-forward of the desired motion alone.",
        choices=("computed_torque", "feed_forward"),
    ),
    ParameterSpec(
        "friction",
        "desired",
        "Friction is compensated at the desired or at the measured speed; at standstill the latter chatters.",
        choices=("desired", "measured"),
    ),
    ParameterSpec(
        "formulation",
        "projection",
        "How the dynamics of closed chains is computed; of no meaning for robots without them.",
        choices=FORMULATIONS,
    ),
    ParameterSpec(
        "start_tolerance",
        0.01,
        "A trajectory whose first point is at time 0 must start within this distance of the present desired "
        "position (rad or m).",
        0.0,
        10.0,
    ),
    ParameterSpec("state_every", 20, "Publish ~/state (desired and measured) every N cycles.", 1, 10000),
    ParameterSpec(
        "state_timeout",
        0.1,
        "Without a valid joint state for this long: 0 V and a latched fault (s). Time in which this process itself "
        "did not run does not count.",
        0.001,
        10.0,
    ),
    ParameterSpec(
        "clock_jump", 0.5, "A step of the joint states' stamps above this: 0 V and a latched fault (s).", 0.01, 3600.0
    ),
    ParameterSpec(
        "max_missed_deadlines",
        500,
        "Safe stop when more deadlines than this are missed in a row; 0: never.",
        0,
        1000000,
    ),
    ParameterSpec(
        "peer_timeout",
        1.0,
        "Safe stop when nobody has taken the motor commands for this long, after somebody did (s); 0: never.",
        0.0,
        3600.0,
    ),
    ParameterSpec(
        "emergency_stop_timeout",
        0.0,
        "Without a message on emergency_stop for this long it counts as pressed (s); 0: it need not be sent again.",
        0.0,
        3600.0,
    ),
    ParameterSpec(
        "soft_limit_margin",
        0.0,
        "Soft position limits lie this far inside the robot's position limits (rad or m); trajectories keep to them.",
        0.0,
        10.0,
    ),
    ParameterSpec(
        "hard_limit_margin",
        0.05,
        "Hard position limits lie this far outside the robot's position limits (rad or m).",
        0.0,
        10.0,
    ),
    ParameterSpec(
        "velocity_margin",
        0.1,
        "The measured speed may exceed the robot's velocity limits by this part of them.",
        0.0,
        10.0,
    ),
    ParameterSpec(
        "tracking_error_limit",
        0.2,
        "Largest distance of a revolute joint from its desired position (rad).",
        1e-6,
        1000.0,
    ),
    ParameterSpec(
        "tracking_error_limit_linear",
        0.05,
        "Largest distance of a prismatic joint from its desired position (m).",
        1e-6,
        1000.0,
    ),
    ParameterSpec(
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
    ParameterSpec("slow_pace", 0.25, "Part of the planned speed at which a robot that slows down goes on.", 0.01, 1.0),
    ParameterSpec(
        "slow_time", 0.5, "A robot that slowed down goes faster again this long after the cause is gone (s).", 0.0, 60.0
    ),
    ParameterSpec(
        "brake_time", 0.1, "Shortest time of a stop by braking from full speed (s); bounds the jolt.", 0.001, 10.0
    ),
    ParameterSpec(
        "stop_timeout", 1.0, "A robot that has not come to rest this long after a stop began gets 0 V (s).", 0.01, 60.0
    ),
    ParameterSpec(
        "after_stop",
        "hold",
        "After a safe stop by braking: hold the position under control, or 0 V (for arms with brakes).",
        choices=("hold", "zero_volts"),
    ),
    ParameterSpec(
        "emergency_stop_reaction",
        "brake",
        "An emergency stop brakes, then gives 0 V (stop category 1), or gives 0 V at once (category 0).",
        choices=("brake", "zero_volts"),
    ),
    REALTIME_PRIORITY,
)

PARAMETERS = (*tunable(*_TUNABLE), AUTOSTART)
