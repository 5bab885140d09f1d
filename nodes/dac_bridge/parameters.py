"""Parameters of ``dac_bridge``."""

from dyn_nodes.common.parameter_spec import AUTOSTART, REALTIME_PRIORITY, ROBOT, ParameterSpec, tunable

_TUNABLE = (
    ROBOT,
    ParameterSpec("dac", "", "Path of the DAC file: which channel drives which motor (docs/dac.md)."),
    ParameterSpec(
        "command_timeout",
        0.05,
        "Without a fresh motor command for this long the safe codes are written (s).",
        0.001,
        10.0,
    ),
    ParameterSpec(
        "guardian_timeout",
        0.1,
        "When this process has been silent for this long its guardian writes the safe codes (s); "
        "not less than command_timeout.",
        0.001,
        10.0,
    ),
    ParameterSpec(
        "publisher",
        "computed_torque_controller",
        "Name of the node whose motor commands are obeyed, in this node's namespace if it has no leading slash; "
        "empty: the first that speaks.",
    ),
    ParameterSpec("iio_root", "/sys/bus/iio/devices", "Folder of the Industrial I/O devices."),
    REALTIME_PRIORITY,
)

PARAMETERS = (*tunable(*_TUNABLE), AUTOSTART)
