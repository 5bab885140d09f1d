"""A robot remembers nothing: answers depend neither on what was asked before, nor on threads, nor on copies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_parallel import MAKERS, load

from dyn_core import Robot, load_robot
from dyn_core.errors import InputError
from dyn_core.robots import FORMULATIONS, customise, robot_of

CLOSED = [f"five_bar_saha {formulation}" for formulation in FORMULATIONS]
SHIPPED = [
    "puma560",
    "elastic_2r",
    "eel",
    "mobile_manipulator",
    *CLOSED,
    "four_bar_wang",
    "gough_stewart",
    "agile_wrist",
]
ROWS = 300  # fewer than are shared out among threads
REACH = 0.05  # rad, m, of random positions about the neutral one

Call = tuple[str, Callable[[Robot], Any]]


def shipped(name: str) -> Robot:
    name, _, formulation = name.partition(" ")
    robot = load_robot(name)
    return robot.using(formulation) if formulation else robot  # type: ignore[arg-type]


def states(
    robot: Robot, rng: np.random.Generator, rows: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    lead = () if rows is None else (rows,)
    q = np.tile(robot.neutral(), (*lead, 1))
    q[..., robot.nq - robot.n :] += rng.uniform(-REACH, REACH, (*lead, robot.n))
    qd, x = rng.normal(size=(2, *lead, robot.nv))
    return (q if lead else q.reshape(-1)), qd, x


def calls(robot: Robot) -> list[Call]:
    """Every kind of question, each with arguments of its own."""
    rng = np.random.default_rng(3)
    few = ROWS if not robot.mechanism.loops else 8
    found: list[Call] = []
    for rows in (None, None, few):
        q, qd, x = states(robot, rng, rows)
        w = rng.normal(size=(robot.mechanism.n + (robot.nv - robot.n > 0), 6))
        found += [
            ("inverse", lambda r, q=q, qd=qd, x=x: r.inverse_dynamics(q, qd, x)),
            ("inverse with wrenches", lambda r, q=q, qd=qd, x=x, w=w: r.inverse_dynamics(q, qd, x, w)),
            ("forward", lambda r, q=q, qd=qd, x=x: r.forward_dynamics(q, qd, x)),
            ("mass matrix", lambda r, q=q: r.mass_matrix(q)),
            ("bias", lambda r, q=q, qd=qd: r.bias_forces(q, qd)),
            ("gravity", lambda r, q=q: r.gravity_forces(q)),
            ("pose", lambda r, q=q: r.forward_kinematics(q)),
            ("Jacobian", lambda r, q=q: r.jacobian(q)),
            ("links", lambda r, q=q: r.link_poses(q)),
        ]
        if rows is None:
            found.append(("all joints", lambda r, q=q, qd=qd: r.all_joints(q, qd)))
            found.append(("configuration", lambda r, q=q: r.configuration(q).q))
            if robot.mechanism.base is None and np.isfinite(robot.mechanism.stiffness).any():
                found.append(("stiffness", lambda r, q=q: r.stiffness(q).K))
    if robot.platform is not None:
        pose = robot.platform.home
        found += [
            ("legs", lambda r: r.platform.legs(pose).inverse_jacobian),
            ("inverse kinematics", lambda r: r.platform.inverse_kinematics(pose).configuration.q),
            ("distance", lambda r: r.platform.singularity_distance(pose)),
        ]
    return found


def answers(robot: Robot, asked: list[Call], order: Any) -> dict[int, Any]:
    return {int(k): asked[k][1](robot) for k in order}


def assert_as_fresh(found: dict[int, Any], fresh: list[Any], asked: list[Call]) -> None:
    for k, answer in found.items():
        np.testing.assert_array_equal(answer, fresh[k], err_msg=asked[k][0])


def assert_remembers_nothing(robot: Robot, fresh_robot: Callable[[], Robot]) -> None:
    asked = calls(robot)
    fresh = [call(fresh_robot()) for _, call in asked]
    rng = np.random.default_rng(8)
    orders = [rng.permutation(len(asked)) for _ in range(6)]
    for order in orders[:2]:
        assert_as_fresh(answers(robot, asked, order), fresh, asked)
    for other in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot), copy.copy(robot)):
        assert_as_fresh(answers(other, asked, orders[0]), fresh, asked)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda order: answers(robot, asked, order), orders[2:]):
            assert_as_fresh(found, fresh, asked)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_robots(name: str) -> None:
    robot = shipped(name)
    formulation = name.partition(" ")[2]

    def fresh() -> Robot:
        other = robot_of(robot.mechanism)
        return other.using(formulation) if formulation else other  # type: ignore[arg-type]

    assert_remembers_nothing(robot, fresh)


@pytest.mark.parametrize("kind", ["ups", "rss", "3-rrr", "chains", "delta"])
def test_platforms_on_all_kinds_of_legs(kind: str, tmp_path: Path) -> None:
    robot = load(tmp_path, MAKERS[kind](np.random.default_rng(5)))
    assert_remembers_nothing(robot, lambda: robot_of(robot.mechanism))


def test_a_customised_robot() -> None:
    pytest.importorskip("casadi", reason="customised models need CasADi")
    robot = customise(load_robot("planar_2r"))
    assert_remembers_nothing(robot, lambda: customise(load_robot("planar_2r")))


def test_threads_share_a_robot_in_batches() -> None:
    """400 rows are one share: kernels that have released the GIL must not work on the same memory."""
    robot = load_robot("puma560")
    rng = np.random.default_rng(1)
    q, qd, qdd = rng.normal(size=(3, 4, 400, 6))
    expected = [load_robot("puma560").inverse_dynamics(*rows) for rows in zip(q, qd, qdd, strict=True)]

    def ask(k: int) -> int:
        rows = q[k], qd[k], qdd[k]
        return sum(not np.array_equal(robot.inverse_dynamics(*rows), expected[k]) for _ in range(100))

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(ask, range(4))) == 0


def test_the_model_cannot_be_written_to() -> None:
    robot = load_robot("puma560")
    for other in (robot, pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        with pytest.raises(ValueError, match="read-only"):
            other.model.record[0, 0] = 1.0


def test_a_pose_in_another_branch_is_named_by_its_configuration() -> None:
    """The positions of this pose lead elsewhere from the described assembly; near its configuration all agree."""
    robot = load_robot("gough_stewart_wang")
    w, x, y, z = np.array([-0.27, -0.28, -0.85, -0.34]) / np.linalg.norm([-0.27, -0.28, -0.85, -0.34])
    pose = np.eye(4)
    pose[:3, :3] = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    pose[:3, 3] = -2.11, 1.86, 1.54
    reached = robot.platform.inverse_kinematics(pose)
    near, rest = reached.configuration, np.zeros(6)
    np.testing.assert_allclose(robot.forward_kinematics(reached.q, near=near), pose, atol=1e-10)
    expected = robot.platform.inverse_dynamics(pose)
    for formulation in ("projection", "multipliers", "denoc"):
        tau = robot.using(formulation).inverse_dynamics(reached.q, rest, rest, near=near)
        np.testing.assert_allclose(tau, expected, rtol=1e-8, err_msg=formulation)


def test_a_tracker_follows_and_says_what_lies_between() -> None:
    robot = load_robot("five_bar_saha")
    tracker = robot.tracker()
    q = robot.neutral()
    for step in np.linspace(0.0, 0.3, 20):
        at = q + np.array([step, -step])
        np.testing.assert_allclose(tracker.inverse_dynamics(at, q * 0, q * 0), robot.inverse_dynamics(at, q * 0, q * 0))
    with pytest.raises(InputError, match="no closed configuration"):
        robot.inverse_dynamics(q, q * 0, q * 0, near=robot.tree.configuration(np.zeros(robot.mechanism.n)))
