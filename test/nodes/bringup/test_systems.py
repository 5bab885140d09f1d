"""The systems of the bring-up, and that the launch files are made of them."""

from __future__ import annotations

import ast
import configparser
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from dyn_core.errors import InputError
from dyn_nodes.bringup.systems import ARGUMENTS, SYSTEMS, TABLES, absolute, arguments, system
from dyn_nodes.common.parameter_spec import ParameterSpec

ROOT = Path(__file__).resolve().parents[3]
NO_LAUNCH = "launch_ros is not installed: it comes with a ROS 2 installation, not with pip"
LAUNCH_FILES = sorted((ROOT / "launch").glob("*.launch.py"))


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_node_is_an_executable_with_these_parameters(name: str) -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    scripts = config["options.entry_points"]["console_scripts"]
    for node in system(name).nodes:
        assert importlib.util.find_spec(f"dyn_nodes.{node.name}.node") is not None
        assert f"{node.name} = dyn_nodes.executables:{node.name}" in scripts
        table = {spec.name: spec for spec in TABLES[node.name]}
        for key, value in node.parameters.items():
            if key != "use_sim_time":
                assert type(table[key].default) is type(value), key


def test_defaults_agree_with_the_parameter_tables() -> None:
    for argument in ARGUMENTS:
        for table in TABLES.values():
            for spec in table:
                if spec.name == argument.name:
                    assert spec.default == argument.default


def test_control_is_sim_without_the_simulated_robot() -> None:
    names = [node.name for node in system("sim").nodes]
    assert [node.name for node in system("control").nodes] == names[1:]
    assert names[0] == "simulated_robot"


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_dac_file_adds_the_bridge_before_the_controller(name: str) -> None:
    dac = str(ROOT / "config" / "dac" / "dry_run.yaml")
    names = [node.name for node in system(name, {"robot": "planar_2r", "dac": dac}).nodes]
    assert names.index("dac_bridge") == names.index("computed_torque_controller") - 1
    assert [node for node in names if node != "dac_bridge"] == [node.name for node in system(name).nodes]


def test_every_node_has_an_enclave_of_its_own() -> None:
    planned = system("sim", {"enclaves": "dyn_robot/"})
    for node in planned.nodes:
        words = planned.ros_arguments(node)
        assert words[words.index("--enclave") + 1] == f"/dyn_robot/{node.name}"


def test_ros_arguments_keep_types() -> None:
    planned = system("sim", {"rate": "500", "namespace": "left/", "use_sim_time": "true", "robot": "it's"})
    words = planned.ros_arguments(planned.nodes[0])
    assert words[0] == "--ros-args"
    assert "__ns:=/left" in words
    assert "rate:=500.0" in words
    assert "publish_clock:=true" in words
    assert 'robot:="it\'s"' in words


@pytest.mark.parametrize(
    "given",
    [
        {"rate": "fast"},
        {"use_sim_time": "maybe"},
        {"speed": 1},
        {"params_file": "no/such/file"},
        {"dac": "no/such/file"},
        {"rate": -3},
        {"realtime_priority": 91},
        {"mode": "odd"},
        {"formulation": "magic"},
        {"log_level": "loud"},
        {"namespace": "1st"},
        {"namespace": "left-arm"},
        {"namespace": "a//b"},
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(given: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(given))):
        system("sim", given)


def test_lifecycle_nodes_can_start_by_themselves() -> None:
    """As the launch files ask them to."""
    dac = str(ROOT / "config" / "dac" / "dry_run.yaml")
    for node in system("sim", {"robot": "planar_2r", "dac": dac}).nodes:
        assert node.lifecycle == ("autostart" in {spec.name for spec in TABLES[node.name]})


def test_an_unknown_system_is_refused() -> None:
    with pytest.raises(InputError, match="sim, control"):
        system("lunch")


def test_argument_parsing() -> None:
    assert ParameterSpec("x", 1, "").parse("3") == 3
    assert ParameterSpec("x", False, "").parse("Yes") is True
    assert arguments({})["robot"] == "puma560"
    assert absolute("a/b/") == "/a/b"
    assert absolute("/") == ""


def test_importing_the_bringup_needs_only_the_standard_library() -> None:
    code = (
        "import sys, dyn_nodes.bringup.systems\n"
        "sys.exit(any(m.split('.')[0] in ('numpy', 'rclpy', 'launch', 'dyn_core') for m in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.parametrize("path", LAUNCH_FILES, ids=lambda path: path.name)
def test_launch_files_describe_a_system_of_the_bringup(path: Path) -> None:
    tree = ast.parse(path.read_text())
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert [function.name for function in functions] == ["generate_launch_description"]
    calls = [node for node in ast.walk(functions[0]) if isinstance(node, ast.Call)]
    described = [call.args[0] for call in calls if isinstance(call.func, ast.Name) and call.func.id == "describe"]
    assert [ast.literal_eval(argument) for argument in described] == [path.name.removesuffix(".launch.py")]
    assert path.name.removesuffix(".launch.py") in SYSTEMS


def test_there_is_a_launch_file_for_every_system() -> None:
    assert [path.name.removesuffix(".launch.py") for path in LAUNCH_FILES] == sorted(SYSTEMS)


def test_what_the_launch_actions_take_from_the_package_exists() -> None:
    tree = ast.parse((ROOT / "nodes" / "bringup" / "launch_description.py").read_text())
    imported = [
        ("dyn_nodes.bringup." * node.level + node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module
        if node.level or node.module.startswith(("dyn_nodes", "dyn_core"))
        for alias in node.names
    ]
    assert ("dyn_nodes.bringup.systems", "system") in imported
    assert not [pair for pair in imported if not hasattr(importlib.import_module(pair[0]), pair[1])]


@pytest.mark.parametrize("path", LAUNCH_FILES, ids=lambda path: path.name)
def test_launch_files_load_in_launch(path: Path) -> None:
    pytest.importorskip("launch_ros", reason=NO_LAUNCH)
    from launch.actions import DeclareLaunchArgument
    from launch.launch_description_sources import get_launch_description_from_python_launch_file

    description = get_launch_description_from_python_launch_file(str(path))
    declared = {action.name for action in description.entities if isinstance(action, DeclareLaunchArgument)}
    assert declared == {argument.name for argument in ARGUMENTS}


@pytest.mark.parametrize("path", LAUNCH_FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("given", [("robot", "no_such_robot"), ("rate", "-3"), ("params_file", "no/such/file")])
def test_a_launch_with_a_wrong_value_starts_nothing_and_fails(path: Path, given: tuple[str, str]) -> None:
    pytest.importorskip("launch_ros", reason=NO_LAUNCH)
    from launch import LaunchDescription, LaunchService
    from launch.actions import IncludeLaunchDescription, RegisterEventHandler
    from launch.event_handlers import OnProcessStart
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    started: list[object] = []
    watch = RegisterEventHandler(OnProcessStart(on_start=lambda event, context: started.append(event)))
    file = IncludeLaunchDescription(PythonLaunchDescriptionSource(str(path)), launch_arguments=[given])
    service = LaunchService()
    service.include_launch_description(LaunchDescription([watch, file]))
    assert service.run() == 1
    assert not started
