"""Faults that recorders leave in a log."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_motion import series

from dyn_core import load_robot
from dyn_core.identification import MotionLog
from dyn_core.identification.repair import encoder_steps, repaired

STEP = 2.0 * np.pi / 8192


def moving(rate: float = 500.0) -> MotionLog:
    robot = load_robot("planar_2r")
    t = np.arange(0.0, 10.0, 1.0 / rate)
    q, qd, qdd = series(robot, 1).sample(t)
    return MotionLog("x", t, q, tau=robot.inverse_dynamics(q, qd, qdd))


def test_a_clean_log_is_left_alone() -> None:
    log = moving()
    (piece,), notes = repaired(log)
    assert notes == []
    assert np.array_equal(piece.q, log.q)
    assert np.array_equal(piece.tau, log.tau)


def test_encoder_steps_are_found_and_not_invented() -> None:
    q = moving().q
    rounded = np.round(q / [STEP, 1e-3]) * [STEP, 1e-3]
    assert encoder_steps(rounded) == pytest.approx([STEP, 1e-3], rel=1e-6)
    assert not encoder_steps(q).any()
    assert not encoder_steps(q + 1e-5 * np.random.default_rng(0).normal(size=q.shape)).any()


def test_repeated_times_and_stale_positions_are_mended() -> None:
    log = moving()
    rows = np.sort(np.r_[np.arange(len(log.t)), 100, 200, 200])
    (piece,), notes = repaired(MotionLog("x", log.t[rows], log.q[rows], tau=log.tau[rows]))
    assert np.array_equal(piece.t, log.t)
    assert "3 samples bear the time" in notes[0]
    held = np.round(log.q / STEP)[np.arange(len(log.t)) // 4 * 4] * STEP  # fresh every fourth sample
    (piece,), notes = repaired(replace(log, q=held))
    assert "repeat the one before" in notes[0]
    assert np.abs(piece.q - log.q)[:-4].max() < 3.0 * STEP
    assert np.abs(held - log.q).max() > 10.0 * STEP


def test_spikes_go_and_coulomb_steps_stay() -> None:
    log = moving()
    q, tau = log.q.copy(), log.tau.copy()
    q[300, 0] += 0.5
    q[700:702, 1] -= 0.4
    tau[900, 0] += 1000.0
    (piece,), notes = repaired(replace(log, q=q, tau=tau))
    assert "4 values stand out" in notes[0]
    assert np.abs(piece.q - log.q).max() < 1e-3
    assert np.array_equal(np.delete(piece.tau, 900, 0), np.delete(log.tau, 900, 0))


def test_gaps_cut_the_log() -> None:
    log = moving()
    keep = np.r_[0:2000, 2400:2405, 2600:5000]
    pieces, notes = repaired(MotionLog("x", log.t[keep], log.q[keep], tau=log.tau[keep]))
    assert [len(piece.t) for piece in pieces] == [2000, 2400]
    assert "2 gaps, the longest 0.802 s: the log is taken in 2 pieces" in notes[0]
