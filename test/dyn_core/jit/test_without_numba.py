"""Kernels of every kind answer the same without numba, as the plain Python that they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dyn_core import Robot, load_robot
from dyn_core.jit.kernel import COMPILED

ROOT = Path(__file__).parents[3]
KINDS = {"tree": "puma560", "floating base": "eel", "loops": "four_bar_saha", "platform": "gough_stewart"}

PROGRAM = """
import sys
sys.modules["numba"] = None
sys.path.insert(0, {here!r})
from test_without_numba import COMPILED, answers
assert not COMPILED
print(answers({name!r}).tobytes().hex())
"""


def motion(robot: Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q = robot.neutral()
    q[robot.nq - robot.n :] += 0.01
    return q, np.linspace(0.1, 0.2, robot.nv), np.linspace(-0.3, 0.4, robot.nv)


def answers(name: str) -> np.ndarray:
    """All that a robot computes in one state, one after the other; one as it is, one as a batch."""
    robot = load_robot(name)
    q, qd, qdd = motion(robot)
    tau = robot.inverse_dynamics(q, qd, qdd)
    found = [tau, robot.forward_dynamics(q[None], qd[None], tau[None]), robot.mass_matrix(q)]
    found += [robot.forward_kinematics(q), robot.jacobian(q), robot.link_poses(q[None])]
    return np.concatenate([np.ravel(x) for x in found])


@pytest.mark.skipif(not COMPILED, reason="needs numba to compare with")
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_without_numba(kind: str) -> None:
    program = PROGRAM.format(here=str(Path(__file__).parent), name=KINDS[kind])
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, expected = np.frombuffer(bytes.fromhex(done.stdout.strip())), answers(KINDS[kind])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
