"""Motions of a robot as a log would have them, and wrong models of it."""

from __future__ import annotations

import numpy as np

from dyn_core import Robot
from dyn_core.dynamics.parameters.regressor import WIDTH, standard_parameters
from dyn_core.identification import (
    FourierSeries,
    MotionLog,
    excite,
    with_parameters,
)
from dyn_core.mechanism import Mechanism
from dyn_core.robots import TreeRobot


def believed(m: Mechanism, rng: np.random.Generator) -> Mechanism:
    """A wrong but physical model of a robot: masses scaled, rotors and friction off."""
    chi = standard_parameters(m).reshape(m.n, WIDTH).copy()
    chi[:, :10] *= rng.uniform(0.7, 1.3, (m.n, 1))
    chi[:, 10:] *= rng.uniform(0.5, 1.5, (m.n, 3))
    return with_parameters(m, chi.ravel())


def series(robot: Robot, seed: int, duration: float = 10.0) -> FourierSeries:
    return excite(robot, duration, evaluations=8, seed=seed).trajectory


def recorded(robot: Robot, motion: FourierSeries, rng: np.random.Generator, noise: float, rate: float) -> MotionLog:
    """Two periods with noise on the torques, a given part of their size."""
    t = np.arange(0.0, 2.0 * motion.duration, 1.0 / rate)
    q, qd, qdd = motion.sample(t % motion.duration)
    tau = robot.inverse_dynamics(q, qd, qdd)
    tau = tau + noise * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
    return MotionLog("simulation", t, q, qd, qdd, tau)


def torque_error(a: Mechanism, b: Mechanism, motion: FourierSeries) -> float:
    """Relative error of b's torques in a motion."""
    state = motion.sample(np.linspace(0.0, motion.duration, 300))
    tau = TreeRobot(a).inverse_dynamics(*state)
    return float(np.linalg.norm(TreeRobot(b).inverse_dynamics(*state) - tau) / np.linalg.norm(tau))
