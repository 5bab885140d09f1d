"""Build of the interfaces: which tools it takes from where, and the paths in the ROS 2 wheels."""

from pathlib import Path

import pytest

from dyn_cli.setup import interfaces
from dyn_cli.setup.errors import SetupError


def test_patching_rewrites_the_builders_paths_once(tmp_path: Path) -> None:
    path = tmp_path / "share" / "a_msgs" / "cmake" / "export_a_msgs__rosidl_generator_pyExport.cmake"
    path.parent.mkdir(parents=True)
    path.write_text(
        'INTERFACE_INCLUDE_DIRECTORIES "/opt/python/cp311-cp311/include/python3.11;'
        '/opt/python/cp311-cp311/lib/python3.11/site-packages/numpy/_core/include"\n'
    )
    (tmp_path / "cached").hardlink_to(path)
    assert interfaces.patch_exports(tmp_path, "/inc/python3.11", r"/site\1/numpy") == 1
    assert path.read_text() == 'INTERFACE_INCLUDE_DIRECTORIES "/inc/python3.11;/site\\1/numpy"\n'
    assert "/opt/python/" in (tmp_path / "cached").read_text(), "uv's cache keeps what it had"
    assert interfaces.patch_exports(tmp_path, "/inc/python3.11", r"/site\1/numpy") == 0


@pytest.mark.parametrize(
    ("present", "chosen", "missing"),
    [
        ("", "", ["cmake", "ninja", "compiler"]),
        ("cc cmake ninja", "", ["compiler"]),
        ("gcc g++ ninja", "", ["cmake"]),
        ("clang clang++ cmake ninja", "", []),
        ("gcc g++ cmake ninja", "icx -O1", ["compiler"]),
        ("icx g++ cmake ninja", "icx -O1", []),
    ],
)
def test_a_missing_tool_comes_from_its_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, present: str, chosen: str, missing: list[str]
) -> None:
    for tool in present.split():
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", chosen)
    monkeypatch.delenv("CXX", raising=False)
    assert interfaces.missing_tools() == missing


def test_missing_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    with pytest.raises(SetupError, match=r"headers of Python .* apt install python3\.\d+-dev"):
        interfaces.check_headers()
