"""A payload from two logs: the same robot without and with it.

Base parameters and drives are the same in both; in the second, the payload's ten inertial parameters act on the body of
the tool. Both logs are fitted at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from dyn_core.arrays import Floats
from dyn_core.dynamics.parameters.regressor import INERTIAL, KINDS, WIDTH
from dyn_core.errors import IdentificationError, InputError
from dyn_core.mechanism import BASE
from dyn_core.robots.robot import Robot
from dyn_core.spatial.poses import skew

from .fit import independent_tree
from .friction import drive_terms
from .identification import FAILED, Identification, json_number
from .linear_system import LinearSystem
from .motion_log import MotionLog
from .physical_parameters import from_log_cholesky, inertial_parameters
from .regression import Regression
from .signals import prepare


@dataclass(frozen=True)
class Payload:
    """What hangs on the tool."""

    parameters: Floats
    """(10,) [XX XY XZ YY YZ ZZ MX MY MZ M] in the frame of the tool's body, as the data have them."""
    std: Floats
    """(10,) their standard deviations."""
    mass: float
    """kg, of the nearest body that can be."""
    com: Floats
    """(3,) m, in the tool frame."""
    inertia: Floats
    """(3, 3) kg m^2, about the centre of mass, in the axes of the tool frame."""
    residual: Floats
    """(n,) the part of the torques' variation that is left in the second log."""

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        stds = [json_number(std) for std in self.std]
        rows = zip(KINDS, self.parameters.tolist(), stds, strict=False)
        return {
            "mass": self.mass, "mass_std": stds[-1], "com": self.com.tolist(),
            "inertia": self.inertia.tolist(), "residual": self.residual.tolist(),
            "parameters": [{"name": name, "value": value, "std": std} for name, value, std in rows],
        }  # fmt: skip


def identify_payload(robot: Robot, empty: MotionLog, loaded: MotionLog, found: Identification) -> Payload:
    """The payload on the tool in the second log; `found`: what the first says of the robot."""
    tree = independent_tree(robot)
    tool = tree.mechanism.frame("tool")
    if tool.body == BASE:
        raise InputError(f"{robot.name}: its tool does not move, so no payload shows")
    base = tree.base_parameters()
    b, held = len(base.columns), WIDTH * tool.body + np.arange(INERTIAL)
    speeds = np.abs(found.samples.qd).max(axis=0)
    names = [term.name for term in found.drive]
    columns = np.concatenate([base.columns, held])
    W, tau, use = [], [], []
    for log, carries in ((empty, 0.0), (loaded, 1.0)):
        samples = prepare(tree, log, found.samples.cutoff)
        system = LinearSystem(tree, samples, columns, log.known)
        inertial = np.flatnonzero(base.columns % WIDTH < INERTIAL + 1)
        load = system.whole[..., inertial] @ found.beta[inertial]
        terms = drive_terms(tree.mechanism, samples, load, log.coupling, speeds)
        drive = system.kept(terms.columns[..., [terms.names.index(name) for name in names]])
        W.append(np.concatenate([system.W[..., :b], drive, carries * system.W[..., b:]], axis=-1))
        tau.append(system.delayed(found.delay) if found.delay else system.tau)
        use.append(system.use)
    regression = Regression(np.concatenate(W), np.concatenate(tau), np.concatenate(use))
    prior = np.concatenate([found.prior, np.zeros(len(names) + INERTIAL)])
    solution = regression.solve(np.arange(len(prior)), prior)
    error = (tau[1] - W[1] @ solution.x) * use[1]
    variation = np.sqrt(((tau[1] - tau[1].mean(axis=0)) ** 2 * use[1]).sum(axis=0))
    residual = np.sqrt((error**2).sum(axis=0)) / np.maximum(variation, 1e-9 * variation.max())
    if (residual > FAILED).any():
        joint = tree.joint_names[int(residual.argmax())]
        raise IdentificationError(
            f"{loaded.source}: {100 * residual.max():.0f} % of the torque's variation of {joint} is left;"
            " is it the same robot, recorded in the same way?"
        )
    R = np.asarray(np.linalg.qr(solution.information, mode="r"))[-INERTIAL:, -INERTIAL:]
    parameters = solution.x[-INERTIAL:]
    M, MS, J = _possible(parameters, R)
    com = MS / M
    about_com = J + M * skew(com) @ skew(com)
    return Payload(
        parameters,
        system.spread * solution.std[-INERTIAL:],
        M,
        tool.R.T @ (com - tool.p),
        tool.R.T @ about_com @ tool.R,
        residual,
    )


def _possible(parameters: Floats, R: Floats) -> tuple[float, Floats, Floats]:
    """M, MS and J of the body that can be and comes nearest by |R (x - parameters)|."""
    size = 0.1
    start = np.zeros(INERTIAL)
    start[[0, 2, 5]] = np.log(size)
    mass = max(float(parameters[9]), 1e-3)

    def body(x: Floats) -> Floats:
        return mass * inertial_parameters(from_log_cholesky(x)[0])

    found = least_squares(lambda x: R @ (body(x) - parameters), start, max_nfev=500)
    x = body(found.x)
    J = np.zeros((3, 3))
    rows, columns = np.triu_indices(3)
    J[rows, columns] = J[columns, rows] = x[:6]
    return float(x[9]), x[6:9], J
