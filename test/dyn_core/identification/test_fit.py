"""Identification: from a simulated, noisy motion back to the parameters that made it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from recorded_motion import believed, recorded, series, torque_error

from dyn_core import load_robot
from dyn_core.identification import (
    MotionLog,
    identify,
    prepare,
    with_parameters,
)
from dyn_core.robots import TreeRobot


@pytest.mark.parametrize("name", ["planar_2r", "puma560"])
def test_parameters_come_back_within_their_confidence(name: str) -> None:
    rng = np.random.default_rng(1)
    robot = load_robot(name)
    model = TreeRobot(believed(robot.mechanism, rng))
    found = identify(model, recorded(robot, series(robot, 1), rng, 0.02, 200.0))
    off = (found.beta - found.base.values(robot.standard_parameters)) / found.std
    assert np.sqrt((off**2).mean()) < 1.5
    assert np.sqrt((off**2).mean()) > 0.5
    assert np.abs(off).max() < 4.0
    fitted = with_parameters(robot.mechanism, found.chi)
    other = series(robot, 7, 6.0)
    assert torque_error(robot.mechanism, fitted, other) < 0.005
    assert torque_error(robot.mechanism, model.mechanism, other) > 0.03
    assert found.rms["physical"] == pytest.approx(found.rms["base"], rel=0.02)


def test_positions_alone_are_enough() -> None:
    """Noisy positions and torques, no speeds: filtered, differentiated, and still within the confidence."""
    rng = np.random.default_rng(2)
    robot = load_robot("planar_2r")
    log = recorded(robot, series(robot, 1), rng, 0.02, 500.0)
    log = replace(log, q=log.q + 2e-5 * rng.normal(size=log.q.shape), qd=None, qdd=None)
    found = identify(TreeRobot(believed(robot.mechanism, rng)), log)
    assert 1.0 < found.samples.cutoff < 20.0
    off = (found.beta - found.base.values(robot.standard_parameters)) / found.std
    assert np.abs(off).max() < 4.5
    assert torque_error(robot.mechanism, with_parameters(robot.mechanism, found.chi), series(robot, 7)) < 0.01


def test_filter_gives_the_derivatives_of_a_smooth_motion() -> None:
    robot = load_robot("planar_2r")
    motion = series(robot, 3)
    t = np.arange(0.0, 20.0, 0.005)
    q, qd, qdd = motion.sample(t % 10.0)
    samples = prepare(robot, MotionLog("x", t, q, tau=q), cutoff=20.0)
    middle = slice(200, -200)
    assert np.abs(samples.qd - qd)[middle].max() < 1e-3 * np.abs(qd).max()
    assert np.abs(samples.qdd - qdd)[middle].max() < 1e-2 * np.abs(qdd).max()
    jitter = t + np.random.default_rng(0).uniform(-0.001, 0.001, len(t))
    uneven = prepare(robot, MotionLog("x", jitter, motion.sample(jitter % 10.0)[0], tau=q), cutoff=20.0)
    assert "not evenly spaced" in uneven.notes[0]
    inner = slice(200, -200)
    expected = motion.sample(uneven.t % 10.0)[1]
    assert np.abs(uneven.qd - expected)[inner].max() < 1e-2 * np.abs(qd).max()


def test_voltages_serve_as_well_as_torques() -> None:
    rng = np.random.default_rng(3)
    robot = load_robot("planar_2r")
    log = recorded(robot, series(robot, 1), rng, 0.0, 100.0)
    volts = robot.actuation.voltages(log.tau, log.qd)[0]
    by_volts = identify(robot, replace(log, tau=None, v=volts))
    assert by_volts.beta == pytest.approx(identify(robot, log).beta, abs=1e-6)


def test_what_a_motion_does_not_show_keeps_the_prior() -> None:
    """Only the elbow moves: nothing of the shoulder's inertia or friction shows."""
    robot = load_robot("planar_2r")
    t = np.linspace(0.0, 10.0, 500)
    q = np.column_stack([np.full_like(t, 0.3), np.sin(t)])
    qd = np.column_stack([np.zeros_like(t), np.cos(t)])
    qdd = np.column_stack([np.zeros_like(t), -np.sin(t)])
    found = identify(robot, MotionLog("x", t, q, qd, qdd, robot.inverse_dynamics(q, qd, qdd)))
    verdict = dict(zip(found.base.names, found.verdicts, strict=True))
    assert {verdict[name] for name in ("ZZ_upper_arm", "Fv_shoulder", "Fs_shoulder")} == {"not excited"}
    assert verdict["Fv_elbow"] == "ok"
    assert found.beta == pytest.approx(found.prior, abs=1e-6)
    assert json.dumps(found.as_dict(), allow_nan=False)
