"""Large batches: SIMD is loaded when it is needed, and its absence changes no answer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dyn_core import load_robot

ROOT = Path(__file__).parents[4]
COUNT = 1100

PROGRAM = f"""
import sys
{{first}}
import numpy as np
from dyn_core import load_robot
from dyn_core.robots import customise
robot = load_robot('planar_2r')
q, qd, x = np.random.default_rng(11).uniform(-1.0, 1.0, (3, {COUNT}, 2))
print(robot.inverse_dynamics(q, qd, x).tobytes().hex(), robot.forward_dynamics(q, qd, x).tobytes().hex())
print(robot.mass_matrix(q).tobytes().hex(), customise(robot, 'inverse').inverse_dynamics(q, qd, x).tobytes().hex())
print('dyn_core.jit.simd' in sys.modules)
"""


def in_another_process(program: str, **variables: str) -> list[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120, check=True
    )
    return done.stdout.split()


def test_simd_is_imported_for_large_batches_only():
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from dyn_core import load_robot\n"
        "robot = load_robot('planar_2r')\n"
        "for count in (1, 1023, 1024):\n"
        "    robot.inverse_dynamics(*np.zeros((3, count, 2)))\n"
        "    print('dyn_core.jit.simd' in sys.modules)\n"
    )
    assert in_another_process(program, DYN_SIMD="1") == ["False", "False", "True"]
    assert in_another_process(program, DYN_SIMD="0") == ["False", "False", "False"]


@pytest.mark.parametrize(
    ("variables", "first"), [({"DYN_SIMD": "0"}, ""), ({}, "sys.modules['numba'] = None")], ids=["switch", "numba"]
)
def test_without_simd_a_batch_is_the_same(variables, first):
    *said, imported = in_another_process(PROGRAM.format(first=first), **variables)
    assert imported == "False"
    robot = load_robot("planar_2r")
    q, qd, x = np.random.default_rng(11).uniform(-1.0, 1.0, (3, COUNT, 2))
    tau = robot.inverse_dynamics(q, qd, x)
    expected = tau, robot.forward_dynamics(q, qd, x), robot.mass_matrix(q), tau
    for text, values in zip(said, expected, strict=True):
        found = np.frombuffer(bytes.fromhex(text)).reshape(values.shape)
        np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-12)
