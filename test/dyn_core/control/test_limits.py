"""Each limit is exceeded alone, and says where."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.control.limits import ERROR, HARD, SOFT, TORQUE, VELOCITY, VOLTAGE, Limits, Margins

ROBOT = load_robot("puma560")
LIMITS = Limits(ROBOT)
STILL = np.zeros(6)


def one(joint: int, value: float) -> np.ndarray:
    out = np.zeros(6)
    out[joint] = value
    return out


def test_nothing_is_exceeded_at_rest_and_at_the_described_limits() -> None:
    assert not LIMITS.exceeded(STILL, STILL, STILL, STILL)
    assert LIMITS.excesses(STILL, STILL, STILL, STILL) == []
    for q in ROBOT.mechanism.position_limits.T:
        assert not LIMITS.exceeded(q, STILL, q, STILL)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("joint", range(6))
def test_each_limit_alone(joint: int, side: float) -> None:
    m = ROBOT.mechanism
    end = m.position_limits[joint][int(side > 0)]
    effort, speed = m.effort_limits[joint], m.velocity_limits[joint]
    cases = {
        (SOFT,): (one(joint, end + side * 0.01), STILL, one(joint, end), STILL),
        (SOFT, HARD): (one(joint, end + side * 0.06), STILL, one(joint, end), STILL),
        (VELOCITY,): (STILL, one(joint, side * 1.101 * speed), STILL, STILL),
        (TORQUE,): (STILL, STILL, STILL, one(joint, side * 1.001 * effort)),
        (ERROR,): (STILL, STILL, one(joint, side * 0.201), STILL),
    }
    for kinds, state in cases.items():
        found = LIMITS.excesses(*state)
        if kinds == (VELOCITY,):  # which may need more voltage than there is
            found = [excess for excess in found if excess.kind != VOLTAGE]
        assert tuple(excess.kind for excess in found) == kinds
        assert all(excess.joint == joint and ROBOT.joint_names[joint] in excess.sentence for excess in found)
        assert LIMITS.exceeded(*state)


def test_a_torque_that_is_allowed_may_need_too_much_voltage_at_speed() -> None:
    qd = one(1, 1.5)
    tau = one(1, 180.0)
    volts, cut = ROBOT.actuation.voltages(tau, qd)
    found = LIMITS.excesses(STILL, qd, STILL, tau)
    assert [excess.kind for excess in found] == ([VOLTAGE] if cut[1] else [])
    low, high = LIMITS.torque_range(qd)
    for bound in (low, high):
        volts = LIMITS.needed_voltage(bound, qd)
        assert (np.abs(volts) <= LIMITS.voltage * (1 + 1e-12)).all()
        assert (np.abs(bound) <= LIMITS.torque * (1 + 1e-12)).all()
        assert (np.isclose(np.abs(volts), LIMITS.voltage) | np.isclose(np.abs(bound), LIMITS.torque)).all()


def test_margins_move_the_limits() -> None:
    limits = Limits(ROBOT, Margins(soft=0.1, hard=0.0, velocity=0.0, error=0.01))
    np.testing.assert_allclose(limits.soft, ROBOT.mechanism.position_limits + np.array([0.1, -0.1]))
    assert [excess.kind for excess in limits.excesses(STILL, STILL, one(2, 0.02), STILL)] == [ERROR]
    everything = Limits(ROBOT, Margins(soft=100.0))
    np.testing.assert_allclose(everything.soft[:, 0], everything.soft[:, 1])


def test_joints_without_motors_have_no_torque_and_no_tracking_error() -> None:
    robot = load_robot("elastic_2r")
    limits = Limits(robot)
    springs = np.where(limits.driven, 0.0, 0.1)
    assert not limits.exceeded(springs, np.zeros(4), 10.0 * springs, 1e6 * springs)
