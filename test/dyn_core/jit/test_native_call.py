"""Native calls: the same answers as the batches, and nothing but plain float64 vectors is taken straight."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

from dyn_core import Robot, load_robot
from dyn_core.errors import InputError
from dyn_core.jit.native_call import NATIVE_CALLS, never

ROOT = Path(__file__).parents[3]
CALLS = {
    "inverse_dynamics": 3,
    "forward_dynamics": 3,
    "mass_matrix": 1,
    "forward_kinematics": 1,
    "jacobian": 1,
}


def state(robot: Robot, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.0, 1.0, robot.nq)
    if robot.nq != robot.nv:
        q[3:7] /= np.linalg.norm(q[3:7])
    v, a = rng.uniform(-1.0, 1.0, (2, robot.nv))
    return q, v.copy(), a.copy()


@pytest.mark.parametrize("name", ["puma560", "planar_2r", "mobile_manipulator", "eel"])
@pytest.mark.parametrize("call", CALLS)
def test_one_state_is_a_batch_of_one(name: str, call: str) -> None:
    robot = load_robot(name)
    arguments = state(robot)[: CALLS[call]]
    expected = getattr(robot, call)(*(x[None] for x in arguments))[0]
    for _ in range(2):  # the first use binds, the second is the fast one
        found = getattr(robot, call)(*arguments)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-13)


@pytest.fixture
def robot() -> Robot:
    if not NATIVE_CALLS:
        pytest.skip("DYN_NATIVE_CALLS=0")
    robot = load_robot("puma560")
    robot.inverse_dynamics(*state(robot))
    assert robot._inverse is not never
    return robot


class Marked(np.ndarray):
    """An array of another type."""


def others(x: np.ndarray) -> list[object]:
    strided = np.zeros(2 * len(x))[::2]
    strided[:] = x
    unaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view(float)
    return [x.tolist(), tuple(x), strided, x.astype(np.longdouble), x.astype(">f8"), x.view(Marked), unaligned]


def test_other_arrays_and_sequences_are_converted(robot: Robot) -> None:
    q, v, a = state(robot)
    expected = robot.inverse_dynamics(q, v, a)
    for other in others(q):
        assert robot._inverse(other, v, a) is None
        np.testing.assert_allclose(robot.inverse_dynamics(other, v, a), expected, rtol=1e-12)
    frozen = q.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(robot.inverse_dynamics(frozen, v, a), expected)


@pytest.mark.parametrize(
    "q", [None, "text", 3, np.zeros(5), np.zeros(7), np.zeros(0), np.zeros((2, 3)), np.full(6, np.nan), object()]
)
def test_what_is_no_state_is_refused_with_a_sentence(robot: Robot, q: object) -> None:
    _, v, a = state(robot)
    with pytest.raises(InputError):
        robot.inverse_dynamics(q, v, a)
    with pytest.raises(InputError):
        robot.jacobian(q)


def test_the_number_of_arguments_is_looked_at(robot: Robot) -> None:
    q, v, _ = state(robot)
    assert robot._inverse() is None
    assert robot._inverse(q, v) is None
    assert robot._inverse(q, v, q, v) is None


def test_answers_are_new_arrays_that_are_given_back(robot: Robot) -> None:
    q, v, a = state(robot)
    first, second = robot.inverse_dynamics(q, v, a), robot.inverse_dynamics(q, v, a)
    assert first is not second
    assert not np.shares_memory(first, second)
    gone = weakref.ref(first)
    del first
    assert gone() is None
    bad = np.full(6, np.nan)
    before = sys.getrefcount(None), sys.getrefcount(bad)
    for _ in range(1000):
        robot._inverse(bad, v, a)
        robot._inverse(None, v, a)
    assert abs(sys.getrefcount(None) - before[0]) < 100
    assert sys.getrefcount(bad) == before[1]


def test_a_copy_has_a_record_of_its_own(robot: Robot) -> None:
    q, v, a = state(robot)
    expected = robot.inverse_dynamics(q, v, a)
    for other in (copy.copy(robot), copy.deepcopy(robot), pickle.loads(pickle.dumps(robot))):
        assert other._inverse is never
        np.testing.assert_array_equal(other.inverse_dynamics(q, v, a), expected)
    smooth = robot.with_continuous_friction(q, 1e-3)
    slow = np.full(6, 1e-6)
    assert not np.allclose(smooth.inverse_dynamics(q, slow, a), robot.inverse_dynamics(q, slow, a))


@pytest.mark.skipif(not NATIVE_CALLS, reason="DYN_NATIVE_CALLS=0")
def test_a_bound_call_keeps_its_record_alive() -> None:
    robot = load_robot("puma560")
    q, v, a = state(robot)
    expected = robot.inverse_dynamics(q, v, a)
    call = robot._inverse
    del robot
    junk = [np.random.default_rng(k).uniform(size=(7, 104)) for k in range(50)]
    np.testing.assert_array_equal(call(q, v, a), expected)
    del junk


def test_threads_share_a_robot(robot: Robot) -> None:
    states = [state(robot, seed) for seed in range(4)]
    expected = [robot.inverse_dynamics(*each) for each in states]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(3000):
            if not np.array_equal(robot.inverse_dynamics(*states[k]), expected[k]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
    assert not wrong


PROGRAM = """
import numpy as np
from dyn_core import load_robot
from dyn_core.dynamics.tree import state_kernels
robot = load_robot("planar_2r")
q = np.array([0.3, -0.4])
print(robot.inverse_dynamics(q, q, q).tolist(), robot.forward_kinematics(q).tolist())
compiled = state_kernels.inverse_dynamics.compiled
print(None if compiled is None else compiled.cache_hits)
"""


def said(folder: Path, **variables: str) -> list[str]:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder), "PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=300, env=environment, check=True
    )
    return done.stdout.splitlines()


def test_a_second_process_does_not_compile_and_none_is_made_where_it_is_turned_off(tmp_path: Path) -> None:
    first, second = (said(tmp_path, DYN_NATIVE_CALLS="1") for _ in range(2))
    assert (first[1], second[1]) == ("0", "1")
    without = said(tmp_path, DYN_NATIVE_CALLS="0")
    assert first[0] == second[0] == without[0]
    assert without[1] == "None"
