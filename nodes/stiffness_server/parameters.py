"""Parameters of ``stiffness_server``."""

from dyn_nodes.common.parameter_spec import ROBOT, ParameterSpec

PARAMETERS = (
    ROBOT,
    ParameterSpec("frame", "tool", "Frame at whose origin stiffness and deflection are given."),
    ParameterSpec("max_map_poses", 200_000, "Most poses of one map; larger ones are refused.", 1, 1_000_000),
    ParameterSpec("threads", 1, "Threads that answer requests; one has the shortest latency.", 1, 16),
)
