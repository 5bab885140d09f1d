"""The package's files agree with each other, and dyn_core installs and runs with no ROS."""

import configparser
import os
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dyn_cli.setup import environment, interfaces, packages
from dyn_nodes.executables import NODES

REPO = Path(__file__).resolve().parent.parent
MANIFEST = ElementTree.parse(REPO / "package.xml").getroot()
CMAKE = (REPO / "CMakeLists.txt").read_text()
ROS_MODULES = (
    "rclpy",
    "launch",
    "ament_index_python",
    "std_msgs",
    "sensor_msgs",
    "geometry_msgs",
    "dyn_robot",
    "dyn_nodes",
)


def scripts() -> dict[str, str]:
    """The commands that setup.cfg installs: name -> module:function."""
    config = configparser.ConfigParser()
    config.read(REPO / "setup.cfg")
    lines = config["options.entry_points"]["console_scripts"].strip().splitlines()
    return dict(re.split(r"\s*=\s*", line.strip()) for line in lines)


def test_the_package_is_one_ament_package_with_interfaces() -> None:
    assert MANIFEST.findtext("name") == "dyn_robot"
    assert MANIFEST.findtext("license") == "Apache-2.0"
    assert "Apache License" in (REPO / "LICENSE").read_text()
    assert MANIFEST.findtext("export/build_type") == "ament_cmake"
    assert MANIFEST.findtext("member_of_group") == "rosidl_interface_packages"
    assert "project(dyn_robot " in CMAKE


def test_every_interface_is_built() -> None:
    files = {path.relative_to(REPO).as_posix() for kind in ("msg", "srv", "action") for path in REPO.glob(f"{kind}/*")}
    assert set(re.findall(r'"((?:msg|srv|action)/[^"]+)"', CMAKE)) == files


def test_every_package_that_cmake_finds_is_declared() -> None:
    declared = {element.text for element in MANIFEST if element.tag.endswith("depend")}
    assert set(re.findall(r"find_package\((\w+)", CMAKE)) <= declared


def test_every_ros_package_that_the_code_imports_is_declared() -> None:
    declared = {element.text for element in MANIFEST if element.tag.endswith("depend")}
    code = "\n".join(path.read_text() for folder in ("nodes", "launch") for path in (REPO / folder).rglob("*.py"))
    imported = set(re.findall(r"^\s*(?:from|import) (\w+_msgs|\w+_srvs|rclpy|launch\w*|\w+_interfaces)\b", code, re.M))
    assert imported - declared == set()


def test_interfaces_say_unit_and_meaning_of_every_field() -> None:
    for path in (path for kind in interfaces.KINDS for path in REPO.glob(f"{kind}/*.{kind}")):
        for line in path.read_text().splitlines():
            assert not line.strip() or line == "---" or "#" in line, f"{path.name}: {line}"


@pytest.mark.parametrize("name", sorted(scripts()))
def test_every_installed_command_can_be_imported(name: str) -> None:
    module, function = scripts()[name].split(":")
    assert callable(getattr(import_module(module), function))
    if name != "dyn":
        pytest.importorskip("rclpy", reason="the nodes need ROS 2")
        assert callable(getattr(import_module(f"dyn_nodes.{name}.node"), NODES[name]))


def test_every_node_module_is_an_installed_command() -> None:
    runnable = {path.parent.name for path in (REPO / "nodes").glob("*/node.py")}
    assert runnable == scripts().keys() - {"dyn"}
    assert all(scripts()[name] == f"dyn_nodes.executables:{name}" for name in runnable)


def test_the_lock_pins_every_requirement_to_one_version_with_hashes_and_names_no_host() -> None:
    lock = (REPO / "requirements.lock").read_text()
    entries = re.findall(r"^([a-z0-9-]+)==[0-9a-z.]+(?: ;[^\\\n]+)? \\\n    --hash=sha256:", lock, re.M)
    assert entries == re.findall(r"^([^\s#=]+)", lock, re.M)
    assert len(set(entries)) == len(entries)
    assert "://" not in lock
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    lists = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    lists += project["dependency-groups"].values()
    assert {re.split(r"[^a-z0-9-]", requirement)[0] for listed in lists for requirement in listed} <= set(entries)


def test_every_tier_is_made_of_extras_and_groups() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text())
    assert set(packages.EXTRAS) == project["project"]["optional-dependencies"].keys()
    names = {name for tier in environment.TIERS.values() for name in tier}
    assert names | {"cmake", "ninja", "compiler"} == {"core", *packages.EXTRAS, *project["dependency-groups"]}


def _blocked(names: tuple[str, ...]) -> str:
    return f"""
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Blocked())
"""


def _clean_env(**more: str) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "AMENT_PREFIX_PATH")}
    return env | more


def test_dyn_core_imports_no_ros_module() -> None:
    program = _blocked(ROS_MODULES) + (
        "import pkgutil, importlib, dyn_core\n"
        "for module in pkgutil.walk_packages(dyn_core.__path__, 'dyn_core.'):\n"
        "    importlib.import_module(module.name)\n"
        "robot = dyn_core.load_robot('planar_2r')\n"
        "print(robot.n)\n"
    )
    env = _clean_env(PYTHONPATH=str(REPO))
    done = subprocess.run(
        [sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "2", done.stderr


def test_pip_installs_from_a_source_archive_what_finds_its_robots(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    for name in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "LICENSE", "README.md", "CMakeLists.txt"):
        (source / name).write_bytes((REPO / name).read_bytes())
    for name in ("dyn_core", "dyn_cli", "papers", "nodes", "dyn_nodes", "config", "launch"):
        (source / name).symlink_to(REPO / name)
    archive = "from setuptools.build_meta import build_sdist; build_sdist('..')"
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", target]
    for arguments in (["-c", archive], [*install, tmp_path / f"dyn_robot-{MANIFEST.findtext('version')}.tar.gz"]):
        command = [sys.executable, *map(str, arguments)]
        done = subprocess.run(
            command, cwd=source, env=_clean_env(), capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    packaged = {path.parent.name for path in target.glob("*/__init__.py")}
    assert packaged == {"dyn_core", "dyn_cli", "dyn_nodes", "papers"}, (
        "a package called nodes would collide with others"
    )
    installed = {
        path.relative_to(target / "share" / "dyn_robot").as_posix()
        for path in (target / "share" / "dyn_robot").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    shared = {
        path.relative_to(REPO).as_posix()
        for folder in ("config", "launch")
        for path in (REPO / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert installed == shared | {"package.xml"}
    assert (target / "dyn_cli" / "figures" / "animation.html").is_file()
    sources, modules = (
        {path.relative_to(folder) for path in folder.rglob("*.py")} for folder in (REPO / "nodes", target / "dyn_nodes")
    )
    assert modules == sources
    program = _blocked(tuple(name for name in ROS_MODULES if name != "dyn_nodes")) + (
        "import dyn_core, dyn_cli.main, dyn_nodes.bringup.systems\n"
        "print(dyn_core.__file__)\nprint(*dyn_core.robot_names())\n"
        "print(dyn_core.load_robot('puma560').n)\nsys.exit(dyn_cli.main.main(['state']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=_clean_env(PYTHONPATH=str(target)),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    where, names, joints = done.stdout.splitlines()
    assert Path(where).is_relative_to(target)
    assert "puma560" in names.split()
    assert joints == "6"
    command = [sys.executable, "-P", str(target / "bin" / "dyn"), "robots"]
    env = _clean_env(PYTHONPATH=str(target))
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert "puma560" in done.stdout, done.stderr


def test_the_manifest_and_pip_say_the_same_version() -> None:
    command = [sys.executable, "setup.py", "--version", "--name"]
    done = subprocess.run(command, cwd=REPO, env=_clean_env(), capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split()[-2:] == [MANIFEST.findtext("version"), "dyn_robot"] or done.stdout.split()[-2:] == [
        "dyn_robot",
        MANIFEST.findtext("version"),
    ]


def test_cmake_installs_what_pip_installs() -> None:
    packages = re.findall(r"ament_python_install_package\((\w+)", CMAKE)
    assert sorted(packages) == ["dyn_cli", "dyn_core", "dyn_nodes", "papers"]
    assert "ament_python_install_package(dyn_nodes PACKAGE_DIR nodes)" in CMAKE
    match = re.search(r"install\(DIRECTORY ([\w ]+) DESTINATION share", CMAKE)
    assert match is not None
    assert match[1].split() == ["config", "launch"]
    assert 'SHARED = ("config", "launch")' in (REPO / "setup.py").read_text()


def test_continuous_integration_runs_dyn_test() -> None:
    run = REPO / ".ci" / "run"
    assert os.access(run, os.X_OK)
    assert "./dyn test" in run.read_text()
