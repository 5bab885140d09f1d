"""What is compiled ahead is what a running robot calls."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dyn_core import load_robot
from dyn_core.control import PARTS, compile_kernels
from dyn_core.jit.kernel import COMPILED

PROGRAM = """
import sys
from dyn_core import load_robot
from dyn_core.control import compile_kernels
compile_kernels(load_robot("planar_2r"), "control", lambda ready, needed: print(ready, needed))
"""


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ["puma560", "elastic_2r", "four_bar_saha", "gough_stewart", "agile_wrist"])
def test_every_kind_of_robot_can_be_compiled_ahead(name: str, part: str) -> None:
    compile_kernels(load_robot(name), part, lambda ready, needed: None)  # type: ignore[arg-type]


@pytest.mark.skipif(not COMPILED, reason="needs numba")
def test_progress_rises_to_all_that_is_needed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PROGRAM]
    env = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first = subprocess.run(words, env=env, capture_output=True, text=True, timeout=600, check=True).stdout.splitlines()
    counts = [tuple(map(int, line.split())) for line in first]
    assert all(0 < ready <= needed for ready, needed in counts)
    assert counts == sorted(counts)
    assert counts[-1][0] > 0.9 * counts[-1][1] > 30
    again = subprocess.run(words, env=env, capture_output=True, text=True, timeout=600, check=True).stdout
    assert again == ""
