"""Which nodes, parameters and remappings make a system: said once, here.

``launch/*.launch.py`` hand this to ``launch_ros``; ``./dyn up`` hands it to ``dyn_cli.supervision``. Only the standard
library is imported.
"""

import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from dyn_nodes.common.parameter_spec import ROBOT, ParameterSpec
from dyn_nodes.computed_torque_controller.parameters import PARAMETERS as CONTROLLER
from dyn_nodes.dac_bridge.parameters import PARAMETERS as DAC_BRIDGE
from dyn_nodes.simulated_robot.parameters import PARAMETERS as SIMULATED_ROBOT
from dyn_nodes.stiffness_server.parameters import PARAMETERS as STIFFNESS_SERVER

PACKAGE = "dyn_robot"

TABLES: dict[str, tuple[ParameterSpec, ...]] = {
    "simulated_robot": SIMULATED_ROBOT,
    "computed_torque_controller": CONTROLLER,
    "dac_bridge": DAC_BRIDGE,
    "stiffness_server": STIFFNESS_SERVER,
}
"""The parameters of every node."""

Value = bool | int | float | str


LOG_LEVELS = ("debug", "info", "warn", "error", "fatal")

ARGUMENTS = (
    ROBOT,
    ParameterSpec("namespace", "", "Namespace of all nodes and topics, so that several robots run side by side."),
    ParameterSpec("rate", 1000.0, "Cycles of the control loop per second (Hz)."),
    ParameterSpec("bandwidth", 50.0, "Bandwidth of the controller's error dynamics (rad/s)."),
    ParameterSpec("mode", "computed_torque", "Control law: computed_torque or feed_forward."),
    ParameterSpec("formulation", "projection", "How the controller computes closed chains (docs/closed_loops.md)."),
    ParameterSpec(
        "dac", "", "A DAC file: adds dac_bridge, which drives its converters (docs/dac.md); empty: no bridge."
    ),
    ParameterSpec("use_sim_time", False, "Simulated time: the simulation publishes /clock, the other nodes follow it."),
    ParameterSpec("realtime_priority", 0, "SCHED_FIFO priority of the loops; 0 keeps the ordinary scheduler."),
    ParameterSpec("params_file", "", "A ROS 2 parameter file that overrides the nodes' parameters."),
    ParameterSpec(
        "enclaves", "", "Path of the nodes' SROS 2 enclaves, such as /dyn_robot (docs/security.md); empty: none."
    ),
    ParameterSpec(
        "log_level", "info", f"Least severity that the nodes print: {', '.join(LOG_LEVELS)}.", choices=LOG_LEVELS
    ),
)
"""Of a system, as ``ros2 launch ... name:=value`` or an option of ``./dyn up`` gives them."""


@dataclass(frozen=True)
class NodeSpec:
    """One process: the node's name, which is that of its executable too, and its parameters."""

    name: str
    parameters: Mapping[str, Value]
    lifecycle: bool = False
    remappings: tuple[tuple[str, str], ...] = field(default=())
    prefix: tuple[str, ...] = ()
    """Words before its command line where `dyn up` starts it, which waits for all nodes before it activates any."""

    module: str = ""
    """What `dyn up` runs, if it is not the node of this package."""


@dataclass(frozen=True)
class System:
    """The nodes of a system and what they share."""

    name: str
    nodes: tuple[NodeSpec, ...]
    namespace: str = ""
    params_file: str = ""
    log_level: str = "info"
    enclaves: str = ""

    def ros_arguments(self, node: NodeSpec) -> list[str]:
        """The ``--ros-args`` part of a node's command line; JSON keeps a value's type for YAML too."""
        words = ["--ros-args", "--log-level", self.log_level]
        if self.enclaves:
            words += ["--enclave", self.enclave(node)]
        if self.namespace:
            words += ["-r", f"__ns:={absolute(self.namespace)}"]
        for source, target in node.remappings:
            words += ["-r", f"{source}:={target}"]
        for key, value in node.parameters.items():
            words += ["-p", f"{key}:={json.dumps(value, ensure_ascii=False)}"]
        if self.params_file:
            words += ["--params-file", self.params_file]
        return words

    def enclave(self, node: NodeSpec) -> str:
        """Path of a node's enclave, where the node finds its keys and permissions."""
        return f"{absolute(self.enclaves)}/{node.name}"


SYSTEMS = ("sim", "control")


def system(name: str, given: Mapping[str, object] | None = None) -> System:
    """The system ``sim`` (simulated robot, controller, stiffness) or ``control`` (the same for a real arm, without the
    simulated robot), with ``given`` values for any of ARGUMENTS; a DAC file adds the bridge to either."""
    if name not in SYSTEMS:
        raise _wrong(f"no system {name!r}, allowed: {', '.join(SYSTEMS)}")
    values = arguments(given or {})
    simulated_time = bool(values["use_sim_time"])
    robot = {"robot": values["robot"]}
    loop = {"rate": values["rate"], "realtime_priority": values["realtime_priority"]}
    # The simulated robot makes the time, so it does not follow it.
    simulated_robot = NodeSpec("simulated_robot", {**robot, **loop, "publish_clock": simulated_time})
    controller = NodeSpec(
        "computed_torque_controller",
        {
            **robot,
            **loop,
            "bandwidth": values["bandwidth"],
            "mode": values["mode"],
            "formulation": values["formulation"],
            "use_sim_time": simulated_time,
        },
        lifecycle=True,
    )
    # Its answers may wait for the loop's; at the start, the first joint state does not wait for it either.
    stiffness = NodeSpec("stiffness_server", {**robot, "use_sim_time": simulated_time}, prefix=("nice", "-n", "5"))
    nodes: list[NodeSpec] = [controller, stiffness]
    if values["dac"]:
        if not os.path.isfile(str(values["dac"])):
            raise _wrong(f"dac: there is no file {values['dac']!r}")
        settings = {**robot, "dac": values["dac"], "realtime_priority": values["realtime_priority"]}
        nodes.insert(0, NodeSpec("dac_bridge", settings, lifecycle=True))
    if name == "sim":
        nodes.insert(0, simulated_robot)
    for node in nodes:
        for spec in TABLES[node.name]:
            if spec.name in node.parameters:
                spec.check(node.parameters[spec.name])
    namespace, params_file = str(values["namespace"]), str(values["params_file"])
    if not re.fullmatch(r"/?([A-Za-z_]\w*(/[A-Za-z_]\w*)*/?)?", namespace, re.ASCII):
        raise _wrong(f"namespace: found {namespace!r}, allowed: letters, digits and _, as in left or cell_2/left")
    if params_file and not os.path.isfile(params_file):
        raise _wrong(f"params_file: there is no file {params_file!r}")
    return System(name, tuple(nodes), namespace, params_file, str(values["log_level"]), str(values["enclaves"]))


def arguments(given: Mapping[str, object]) -> dict[str, Value]:
    """Every argument's value: the given one, or its default."""
    known = {argument.name: argument for argument in ARGUMENTS}
    for name in given:
        if name not in known:
            raise _wrong(f"no argument {name!r}, allowed: {', '.join(known)}")
    return {name: argument.parse(given.get(name, argument.default)) for name, argument in known.items()}


def _wrong(sentence: str) -> ValueError:
    """An InputError, whose module is not imported until there is one: it brings numpy and more with it."""
    from dyn_core.errors import InputError

    return InputError(sentence)


def check(planned: System) -> None:
    """The named error of a robot that cannot be run, and a word where the first start takes long."""
    from dyn_core.simulation import kernels_compiled
    from dyn_nodes.common.robot import load_fixed_robot

    if assumption := load_fixed_robot(str(planned.nodes[0].parameters["robot"])).actuation.assumption:
        print(assumption, file=sys.stderr, flush=True)
    if not kernels_compiled():
        print("compiling the kernels, once: this start takes a minute or two", file=sys.stderr, flush=True)


def in_words(status: int) -> str:
    """An exit status as a person says it."""
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended with status {status}"


def absolute(namespace: str) -> str:
    """A namespace with its leading slash; the root is the empty string."""
    name = namespace.strip("/")
    return f"/{name}" if name else ""
