"""A robot remembers nothing: answers depend neither on what was asked before, nor on threads, nor on copies.

Every public method of every kind of robot is asked, see `robot_questions`; one without questions fails here.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import robot_questions as ask
from random_parallel import MAKERS, load
from random_robots import coupled, random_mechanism

from dyn_core import Robot, load_robot
from dyn_core.errors import InputError
from dyn_core.mechanism import FloatingBase, Mechanism
from dyn_core.robots import FORMULATIONS, Configuration, FlexibleMechanism, customise, robot_of

pytestmark = pytest.mark.filterwarnings("ignore::dyn_core.errors.SaturationWarning")

Kind = tuple[Callable[[], Mechanism], Callable[[Mechanism], Any]]
ROUNDING = 1e-12  # of what iterates


def shipped(name: str) -> Callable[[], Mechanism]:
    return lambda: load_robot(name).mechanism


def made(name: str) -> Callable[[], Mechanism]:
    """A parallel robot of random legs."""

    def make() -> Mechanism:
        with TemporaryDirectory() as folder:
            return load(Path(folder), MAKERS[name](np.random.default_rng(5))).mechanism

    return make


def afloat() -> Mechanism:
    """A four-bar on a base that floats."""
    base = FloatingBase("bus", 8.0, np.array([0.8, 0.0, 0.4]), np.diag([0.6, 0.7, 0.8]))
    return dataclasses.replace(shipped("four_bar_wang")(), base=base)


def by(formulation: Any) -> Callable[[Mechanism], Robot]:
    return lambda mechanism: robot_of(mechanism).using(formulation)


KINDS: dict[str, Kind] = {
    "serial": (shipped("puma560"), robot_of),
    "tree": (lambda: random_mechanism(np.random.default_rng(2), 7), robot_of),
    "elastic": (shipped("elastic_2r"), robot_of),
    "floating": (shipped("eel"), robot_of),
    "mobile manipulator": (shipped("mobile_manipulator"), robot_of),
    "mimic": (lambda: coupled(np.random.default_rng(1)), robot_of),
    "floating mimic": (lambda: coupled(np.random.default_rng(1), floating=True), robot_of),
    **{f"five-bar, {each}": (shipped("five_bar_saha"), by(each)) for each in FORMULATIONS},
    "four-bar": (shipped("four_bar_wang"), robot_of),
    "loops on a floating base": (afloat, robot_of),
    "Gough-Stewart": (shipped("gough_stewart"), robot_of),
    **{f"Gough-Stewart, {each}": (shipped("gough_stewart"), by(each)) for each in FORMULATIONS[1:]},
    **{f"legs {name}": (made(name), robot_of) for name in ("ups", "rss", "3-rrr", "chains", "delta")},
    "spherical": (shipped("agile_wrist"), robot_of),
    "customised": (shipped("planar_2r"), lambda mechanism: customise(robot_of(mechanism))),
    "flexible": (shipped("four_bar_wang_flexible"), FlexibleMechanism),
}


class Asked:
    """Questions to one kind of robot, and what fresh robots answer."""

    def __init__(self, kind: str) -> None:
        if kind == "customised":
            pytest.importorskip("casadi", reason="customised models need CasADi")
        read, self.make = KINDS[kind]
        self.mechanism = read()
        self.within = ROUNDING if self.mechanism.loops else 0.0
        robot = self.make(self.mechanism)
        self.case = None if kind == "flexible" else ask.Case(robot)
        if self.case is None:
            self.by_name = ask.flexible_questions(robot)
            self.names = ask.public_names(type(robot))
        else:
            self.by_name = ask.robot_questions(self.case)
            self.names = ask.public_names(type(robot))
            if robot.platform is not None:
                own = ask.platform_questions(self.case)
                self.by_name |= {f"platform.{name}": each for name, each in own.items()}
                self.names |= {f"platform.{name}" for name in ask.public_names(type(robot.platform))}
        self.questions = [(f"{name}: {label}", q) for name, each in self.by_name.items() for label, q in each]
        self.fresh = [ask.answer_of(q, self.make(self.mechanism), self.case) for _, q in self.questions]

    def assert_as_fresh(self, robot: Any, order: Any) -> None:
        for k in order:
            what, question = self.questions[k]
            ask.assert_same(ask.answer_of(question, robot, self.case), self.fresh[k], what, self.within)

    @property
    def refused(self) -> set[str]:
        """Names to which every answer is an error."""
        answers = zip(self.questions, self.fresh, strict=True)
        found = {what.partition(": ")[0] for (what, _), answer in answers if not str(answer).startswith(ask.REFUSED)}
        return set(self.by_name) - found


asked = cache(Asked)


def may_refuse(m: Mechanism) -> set[str]:
    """What a mechanism has nothing for."""
    motors = {"described_motors", "voltages", "torques", "dac_codes", "dac_volts"} if m.motors is None else set()
    held = {"stiffness", "deflection", "deflected", "compliances", "virtual_joints", "regressor"}
    floating = set() if m.base is None else held
    platform = set() if m.platform is not None or m.spherical is not None else {"require_platform"}
    platform |= set() if m.platform is None else {"through_singularities"}
    return motors | floating | platform | (set() if m.mimic is None or m.base is not None else {"base_motion"})


@pytest.mark.parametrize("kind", KINDS)
def test_every_public_method_is_asked(kind: str) -> None:
    """And answers, but for what this kind does not have."""
    found = asked(kind)
    assert found.names - set(ask.NOT_ASKED) == set(found.by_name)
    assert found.refused <= may_refuse(found.mechanism)


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_a_fresh_robot(kind: str) -> None:
    """In any order, from copies, and from several threads at once."""
    found = asked(kind)
    robot = found.make(found.mechanism)
    rng = np.random.default_rng(8)
    orders = [rng.permutation(len(found.questions)) for _ in range(6)]
    found.assert_as_fresh(robot, orders[0])
    for k, other in enumerate((pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot), copy.copy(robot))):
        found.assert_as_fresh(other, orders[1][k::3])
        found.assert_as_fresh(robot, orders[1][k::3])
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda order: found.assert_as_fresh(robot, order), orders[2:]))
    found.assert_as_fresh(robot, orders[1])


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
        m = other.mechanism
        for array in (m.M, m.R, m.gravity, m.frames[0].p, m.motors.gear, other.model.mechanism.J):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0.0


def test_a_robot_does_not_share_its_mechanism_with_who_described_it() -> None:
    mechanism = random_mechanism(np.random.default_rng(2), 7)
    robot = robot_of(mechanism)
    q, qd, qdd = np.random.default_rng(3).normal(size=(3, 7))
    before = robot.inverse_dynamics(q, qd, qdd)
    text = robot.urdf()
    mechanism.M[:] *= 2.0
    np.testing.assert_array_equal(robot_of(robot.mechanism).inverse_dynamics(q, qd, qdd), before)
    assert robot.urdf() == text


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


@pytest.mark.parametrize("name", ["five_bar_saha", "gough_stewart", "agile_wrist"])
def test_what_is_no_configuration_of_the_robot_is_refused(name: str) -> None:
    robot = load_robot(name)
    q = robot.neutral()
    at, rest = robot.configuration(q), np.zeros(robot.n)
    pose = None if at.pose is None else at.pose.copy()
    bad: dict[str, Any] = {
        "must be a Configuration": [at.q, q],
        "must be one configuration": [
            load_robot("four_bar_wang").configuration([1.2]), Configuration(np.stack([at.q, at.q]), pose),
            Configuration(at.q * np.nan, pose),
        ],
        "no closed configuration": [Configuration(at.q + 0.1, pose)],
    }  # fmt: skip
    if pose is not None:
        bad["must be one configuration"] += [
            Configuration(at.q),
            Configuration(at.q, np.append(pose[:3], 2 * pose[3:])),
        ]
        bad["no closed configuration"].append(Configuration(at.q, pose + 0.1 * np.eye(7)[0]))
    for sentence, each in bad.items():
        for near in each:
            with pytest.raises(InputError, match=sentence):
                robot.inverse_dynamics(q, rest, rest, near=near)
            with pytest.raises(InputError, match=sentence):
                robot.tracker(near)
    expected = robot.inverse_dynamics(q, rest, rest)
    np.testing.assert_allclose(robot.inverse_dynamics(q, rest, rest, near=at), expected, rtol=1e-9, atol=1e-9)


def test_the_other_branch_of_the_five_bar_by_every_formulation() -> None:
    """The end point above the line between the elbows, as a robot described so finds it."""
    robot = load_robot("five_bar_saha")
    q, rest = np.radians([80.0, 70.0]), np.zeros(2)
    other = robot_of(dataclasses.replace(robot.mechanism, assembly=np.radians([80.0, 50.0, 70.0, 40.0])))
    above, expected = other.configuration(q), other.inverse_dynamics(q, rest, rest)
    assert np.abs(expected - robot.inverse_dynamics(q, rest, rest)).max() > 1.0
    for formulation in FORMULATIONS:
        each = robot.using(formulation)
        for tau in (
            each.inverse_dynamics(q, rest, rest, near=above),
            each.tracker(above).inverse_dynamics(q, rest, rest),
        ):
            np.testing.assert_allclose(tau, expected, rtol=1e-8, err_msg=formulation)
