"""A payload from two logs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from recorded_motion import believed, series

from dyn_core import load_robot
from dyn_core.errors import IdentificationError
from dyn_core.identification import MotionLog, identify, identify_payload
from dyn_core.mechanism import Mechanism
from dyn_core.robots import TreeRobot
from dyn_core.spatial.poses import skew

MASS, COM, INERTIA = 2.0, np.array([0.02, -0.03, 0.08]), np.diag([0.004, 0.005, 0.003])


def carrying(m: Mechanism) -> Mechanism:
    """With a body of MASS, COM and INERTIA in the tool frame."""
    tool = m.frame("tool")
    com = tool.R @ COM + tool.p
    J = tool.R @ INERTIA @ tool.R.T - MASS * skew(com) @ skew(com)
    M, MS, inertia = m.M.copy(), m.MS.copy(), m.J.copy()
    M[tool.body] += MASS
    MS[tool.body] += MASS * com
    inertia[tool.body] += J
    return replace(m, M=M, MS=MS, J=inertia)


def log_of(m: Mechanism, seed: int) -> MotionLog:
    robot, rng = TreeRobot(m), np.random.default_rng(seed)
    t = np.arange(0.0, 20.0, 0.005)
    q, qd, qdd = series(robot, seed).sample(t % 10.0)
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau = tau + 0.02 * tau.std(axis=0) * rng.normal(size=tau.shape) + np.array([0.5, -1.0, 0.3, 0.0, 0.0, 0.1])
    return MotionLog(f"log {seed}", t, np.round(q / 5e-5) * 5e-5, tau=tau)


def test_a_payload_comes_back_with_mass_centre_and_inertia() -> None:
    m = load_robot("puma560").mechanism
    model = TreeRobot(believed(m, np.random.default_rng(1)))
    empty, loaded = log_of(m, 1), log_of(carrying(m), 2)
    found = identify(model, empty)
    payload = identify_payload(model, empty, loaded, found)
    assert abs(payload.parameters[9] - MASS) < 4.0 * payload.std[9] < 0.1
    assert payload.mass == pytest.approx(MASS, abs=0.05)
    assert payload.com == pytest.approx(COM, abs=0.005)
    assert payload.inertia == pytest.approx(INERTIA, abs=0.004)
    nothing = identify_payload(model, empty, log_of(m, 3), found)
    assert abs(nothing.parameters[9]) < 4.0 * nothing.std[9]
    with pytest.raises(IdentificationError, match="is it the same robot"):
        identify_payload(model, empty, replace(loaded, tau=loaded.tau[:, ::-1]), found)
