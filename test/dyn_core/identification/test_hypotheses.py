"""A log that identifies nothing is refused, and what is wrong with it is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_motion import believed, recorded, series

from dyn_core import load_robot
from dyn_core.identification import MotionLog, explanations, identify
from dyn_core.robots import TreeRobot


def sound(name: str) -> tuple[TreeRobot, MotionLog]:
    """A believed model, and a log of the real arm."""
    robot, rng = load_robot(name), np.random.default_rng(1)
    log = replace(recorded(robot, series(robot, 1), rng, 0.02, 100.0), qd=None, qdd=None)
    return TreeRobot(believed(robot.mechanism, rng)), log


def spoilt(log: MotionLog, how: str) -> MotionLog:
    q, tau = log.q, log.tau
    assert tau is not None
    n = q.shape[1]
    if how == "deg":
        return replace(log, q=np.degrees(q))
    if how == "rad":
        return replace(log, q=np.radians(q))
    if how == "sign":
        return replace(log, tau=-tau)
    if how == "exchanged":
        order = [1, 0, *range(2, n)]
        return replace(log, q=q[:, order], tau=tau[:, order])
    if how == "zero":
        return replace(log, q=q - np.pi / 2.0 * np.eye(n)[0])
    if how == "coupled":
        T = np.eye(n)
        T[-1, -2] = 1.0
        return replace(log, q=q @ T.T, tau=tau @ np.linalg.inv(T))
    return replace(log, tau=tau * np.where(np.arange(n) == 1, 0.1, 1.0))


@pytest.mark.parametrize(
    ("robot", "how", "named"),
    [
        ("planar_2r", "deg", "units of deg"),
        ("planar_2r", "rad", "in rad and read as deg"),
        ("planar_2r", "sign", "all forces seem to have the wrong sign"),
        ("planar_2r", "exchanged", "reverse order"),
        ("puma560", "exchanged", "joint1 and joint2 seem to be exchanged"),
        ("planar_2r", "coupled", "motor 2 seems to move with shoulder too"),
        ("puma560", "deg", "units of deg"),
        ("planar_2r", "zero", "the zero of shoulder seems to be off by 90 deg"),
    ],
)
def test_what_is_wrong_is_named(robot: str, how: str, named: str) -> None:
    model, log = sound(robot)
    wrong = spoilt(log, how)
    found = identify(model, wrong)
    assert found.doubtful
    assert named in explanations(model, wrong, found)[0]


def test_a_sound_log_has_no_failures_and_noise_no_explanation() -> None:
    model, log = sound("planar_2r")
    assert not identify(model, log).doubtful
    assert log.tau is not None
    noise = replace(log, tau=np.random.default_rng(3).normal(size=log.tau.shape))
    found = identify(model, noise)
    assert len(found.failures) == 2
    assert explanations(model, noise, found) == ()


def test_a_fit_that_its_drive_terms_explain_is_not_doubted_away() -> None:
    """Friction of a motor that moves both joints looks like a coupling to a trial without it."""
    model, log = sound("planar_2r")
    assert log.tau is not None
    through = np.array([1.0, 1.0])
    speed = np.gradient(log.q, log.t, axis=0) @ through
    size = log.tau.std(axis=0).mean()
    tau = (
        log.tau + (0.5 * size * np.sign(speed) + 0.1 * size * np.random.default_rng(0).normal(size=len(speed)))[:, None]
    )
    coupled = replace(log, tau=tau, coupling=np.array([[1.0, 0.0], [1.0, 1.0]]))
    found = identify(model, coupled)
    assert "Fs_motor2" in [term.name for term in found.drive]
    assert explanations(model, coupled, found) == ()
