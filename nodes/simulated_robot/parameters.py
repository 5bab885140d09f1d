"""Parameters of ``simulated_robot``."""

from dyn_nodes.common.parameter_spec import REALTIME_PRIORITY, ROBOT, ParameterSpec

PARAMETERS = (
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
