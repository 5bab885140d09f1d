"""Dynamics of puma560 from Python, as a user calls it, beside Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from bench.compare import Comparison, compare
from dyn_core import Robot, load_robot

BATCH = 10_000


def without_friction(robot: Robot, qd: np.ndarray) -> np.ndarray:
    """Joint forces of friction, which Pinocchio's rnea and aba leave out."""
    return robot.mechanism.Fv * qd + robot.mechanism.Fs * np.sign(qd)


def peer_of(robot: Robot) -> pin.Model:
    """The same robot in Pinocchio, through the URDF that it publishes, with its rotors' inertia."""
    model = pin.buildModelFromXML(robot.urdf())
    model.gravity.linear = robot.mechanism.gravity
    model.armature = robot.mechanism.Ia
    return model


def run() -> list[Comparison]:
    """One call, and a batch of 10,000."""
    robot = load_robot("puma560")
    model = peer_of(robot)
    data = model.createData()
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-1.0, 1.0, (3, robot.n))
    friction = without_friction(robot, qd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    pin.computeJointJacobians(model, data, q)
    tool = model.getFrameId("tool")
    rows = [
        compare(
            "inverse dynamics, one call",
            lambda: robot.inverse_dynamics(q, qd, qdd),
            "pinocchio rnea",
            lambda: pin.rnea(model, data, q, qd, qdd),
            1.0,
            (tau - friction, pin.rnea(model, data, q, qd, qdd).copy()),
        ),
        compare(
            "forward dynamics, one call",
            lambda: robot.forward_dynamics(q, qd, tau),
            "pinocchio aba",
            lambda: pin.aba(model, data, q, qd, tau),
            1.0,
            (robot.forward_dynamics(q, qd, tau), pin.aba(model, data, q, qd, tau - friction).copy()),
        ),
        compare(
            "mass matrix, one call",
            lambda: robot.mass_matrix(q),
            "pinocchio crba",
            lambda: pin.crba(model, data, q),
            1.0,
            (np.triu(robot.mass_matrix(q)), np.triu(pin.crba(model, data, q))),
        ),
        compare(
            "Jacobian of the tool, one call",
            lambda: robot.jacobian(q),
            "pinocchio computeFrameJacobian",
            lambda: pin.computeFrameJacobian(model, data, q, tool, pin.LOCAL_WORLD_ALIGNED),
            1.0,
            (robot.jacobian(q), pin.computeFrameJacobian(model, data, q, tool, pin.LOCAL_WORLD_ALIGNED)),
        ),
    ]
    Q, QD, QDD = rng.uniform(-1.0, 1.0, (3, BATCH, robot.n))
    F = without_friction(robot, QD)
    rows += [
        compare(
            f"inverse dynamics, batch of {BATCH}",
            lambda: robot.inverse_dynamics(Q, QD, QDD),
            "python loop over rnea",
            lambda: [pin.rnea(model, data, *x) for x in zip(Q, QD, QDD, strict=True)],
            0.05,
            (
                robot.inverse_dynamics(Q, QD, QDD) - F,
                [pin.rnea(model, data, *x).copy() for x in zip(Q, QD, QDD, strict=True)],
            ),
        ),
        compare(
            f"forward dynamics, batch of {BATCH}",
            lambda: robot.forward_dynamics(Q, QD, QDD),
            "python loop over aba",
            lambda: [pin.aba(model, data, *x) for x in zip(Q, QD, QDD, strict=True)],
            0.05,
            (
                robot.forward_dynamics(Q, QD, QDD),
                [pin.aba(model, data, *x).copy() for x in zip(Q, QD, QDD - F, strict=True)],
            ),
        ),
    ]
    return rows
