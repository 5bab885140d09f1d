"""Rehearsals with the noise of real recorders: parameters lie within their intervals, residuals at the noise's floor.

The campaign of 100 seeds and three robots that docs/identification.md reports, in small.
"""

from __future__ import annotations

import numpy as np
import pytest
from recorded_motion import believed

from dyn_core import load_robot
from dyn_core.identification import MotionLog, excite, identify, rehearsed
from dyn_core.robots import TreeRobot

NOISE = 0.03
WRIST = np.diag([62.6, 107.8, 53.7, 76.0, 71.9, 76.7])
WRIST[4, 3], WRIST[5, 4] = 15.0, 20.0
"""Motors 5 and 6 move with the joint before theirs too."""


@pytest.mark.parametrize("coupling", [None, WRIST], ids=["puma560", "coupled wrist"])
def test_parameters_lie_within_three_standard_deviations(coupling: np.ndarray | None) -> None:
    robot = load_robot("puma560")
    motion = excite(robot, 10.0, evaluations=30, seed=1).trajectory
    deviations, floors = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rate = (100.0, 250.0, 500.0)[seed % 3]
        t = np.arange(0.0, 20.0, 1.0 / rate)
        q, qd, qdd = motion.sample(t % 10.0)
        tau = robot.inverse_dynamics(q, qd, qdd)
        T = np.eye(robot.n) if coupling is None else coupling
        step = 5e-5 if coupling is None else 2.0 * np.pi / 4096
        seen = rehearsed(q @ T.T, tau @ np.linalg.inv(T), step, NOISE, seed)
        log = MotionLog("x", t, seen["q"] @ np.linalg.inv(T).T, tau=seen["tau"] @ T, coupling=coupling)
        found = identify(TreeRobot(believed(robot.mechanism, rng)), log)
        assert not found.failures
        assert not [term for term in found.drive if "motor" not in term.name and "stribeck" not in term.name]
        deviations.append((found.beta - found.base.values(robot.standard_parameters)) / found.std)
        noise = (seen["tau"] @ T - tau).std(axis=0) * np.sqrt(2.0 * found.samples.cutoff / rate)
        floors.append(found.rms["base"] / noise)
    off = np.array(deviations)
    assert (np.abs(off) < 3.0).mean() > 0.98
    assert 0.8 < np.sqrt((off**2).mean()) < 1.25
    assert 0.7 < np.mean(floors) < 1.3
