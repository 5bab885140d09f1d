"""More freedoms than drives, springs hold the rest: against the same mechanism with drives that pull as springs do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.errors import DescriptionError
from dyn_core.mechanism import BASE, Frame, SpringDamper, Springs
from dyn_core.robots import LoopRobot
from dyn_core.simulation import simulate

K, REST = 40.0, 0.3


@pytest.fixture(scope="module")
def driven():
    """A five-bar with two drives."""
    return load_robot("five_bar_saha")


def one_drive(driven: LoopRobot, **changes) -> LoopRobot:
    """The same without its second drive."""
    active = driven.mechanism.active.copy()
    active[driven.joints[1]] = False
    return LoopRobot(dataclasses.replace(driven.mechanism, active=active, motors=None, **changes))


def sprung_joint(driven: LoopRobot) -> LoopRobot:
    stiffness, rest = np.zeros((2, driven.mechanism.n))
    stiffness[driven.joints[1]], rest[driven.joints[1]] = K, REST
    return one_drive(driven, springs=Springs(stiffness, rest))


def strut(driven: LoopRobot) -> SpringDamper:
    body = int(driven.joints[1])
    ends = (
        Frame("strut", BASE, np.eye(3), np.array([0.3, 0.4, 0.0])),
        Frame("strut", body, np.eye(3), np.array([0.1, 0.05, 0.0])),
    )
    return SpringDamper("strut", *ends, 200.0, 0.1, 0.0)


@pytest.mark.parametrize("formulation", ["projection", "multipliers", "denoc"])
def test_an_elastic_joint_is_a_coordinate_without_a_drive(driven, formulation):
    robot = sprung_joint(driven).using(formulation)
    np.testing.assert_array_equal(robot.joints, driven.joints)
    np.testing.assert_array_equal(robot.driven, [True, False])
    q, qd = driven.neutral() + np.array([0.05, -0.03]), np.array([0.4, -0.7])
    pull = -K * (q[1] - REST)
    np.testing.assert_allclose(
        robot.forward_dynamics(q, qd, [1.5, 0.0]), driven.forward_dynamics(q, qd, [1.5, pull]), rtol=1e-7
    )
    qdd = np.array([0.8, -1.1])
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(tau, driven.inverse_dynamics(q, qd, qdd) - [0.0, pull], rtol=1e-7, atol=1e-9)


def test_drives_answer_for_their_own_accelerations_only(driven):
    """What computed torque asks of the drive: its joint accelerates as wanted, the sprung one as it must."""
    robot = sprung_joint(driven)
    q, qd = driven.neutral() + np.array([0.05, -0.03]), np.array([0.4, -0.7])
    tau = robot.driven_forces(q, qd, np.array([2.0, 123.0]))
    assert tau[1] == 0.0
    assert robot.forward_dynamics(q, qd, tau)[0] == pytest.approx(2.0)
    np.testing.assert_allclose(robot.tracker().driven_forces(q, qd, np.array([2.0, 0.0])), tau, rtol=1e-9)


def test_a_spring_between_links_holds_a_freedom_too(driven):
    spring = strut(driven)
    robot = one_drive(driven, spring_dampers=(spring,))
    both = LoopRobot(dataclasses.replace(driven.mechanism, spring_dampers=(spring,)))
    assert robot.n == 2
    at = both.reference
    start = at[robot.joints]
    motion = simulate(robot, start, duration=0.2, h=5e-4, method="rk4")
    other = simulate(both, at[both.joints], duration=0.2, torques=np.zeros(2), h=5e-4, method="rk4")
    full = [robot.configuration(motion.q[-1]).q, both.configuration(other.q[-1]).q]
    np.testing.assert_allclose(full[0], full[1], atol=1e-7)
    assert np.abs(motion.q[-1] - start).max() > 1e-3


def test_without_springs_it_is_refused(driven):
    with pytest.raises(DescriptionError, match=r"under-actuated.*held by springs"):
        one_drive(driven)
