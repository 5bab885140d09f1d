"""Identification of a robot's parameters from a recorded motion.

The samples of tau = Y[:, columns] beta make an overdetermined linear system in the base parameters beta and in further
terms of the drives, which weighted least squares solve. Standard parameters are then found that a real robot can have,
reproduce beta, and stay near the ones known before.
"""

from __future__ import annotations

import numpy as np

from dyn_core.arrays import Bools, Floats, Ints
from dyn_core.dynamics.parameters.regressor import FS, FV, IA, INERTIAL, WIDTH
from dyn_core.errors import InputError
from dyn_core.robots.mimic_robot import MimicRobot
from dyn_core.robots.robot import Robot
from dyn_core.robots.tree_robot import TreeRobot, require_tree

from .friction import drive_terms
from .identification import DriveTerm, Identification
from .linear_system import LinearSystem
from .motion_log import MotionLog
from .physical_parameters import physical_parameters
from .regression import Regression
from .signals import prepare

WORTH = 0.05
"""A term of the drives is taken where it lowers the cross-validated squared error of its joint by about this part."""
DRIFT = 0.1
"""Change of a joint's friction during the log, as a part of it, that is reported."""


def identify(robot: Robot, log: MotionLog, cutoff: float | None = None, fixed: Floats | None = None) -> Identification:
    """Fit a robot's base parameters to a recorded motion, and physical standard parameters to those.

    fixed (n, 10): inertial parameters that each body has for certain (links welded to it); the rest is found.
    """
    tree = independent_tree(robot)
    base = tree.base_parameters()
    samples = prepare(tree, log, cutoff)
    system = LinearSystem(tree, samples, base.columns, log.known)
    b, rows = len(base.columns), int(system.use.sum())
    if rows < 3 * b:
        raise InputError(
            f"{log.source}: {rows} equations of moving joints after the filter are too few for {b} base parameters"
        )
    chi = tree.standard_parameters
    prior = base.values(chi)
    delay = system.delay(prior, float(np.median(np.diff(log.t))))
    tau = system.tau if delay == 0.0 else system.delayed(delay)
    first = Regression(system.W, tau, system.use)
    beta, _ = first.fit(np.arange(b), np.ones(len(first.held), np.bool_), prior)
    inertial = np.flatnonzero(base.columns % WIDTH < INERTIAL + 1)
    load = system.whole[..., inertial] @ beta[inertial]
    terms = drive_terms(tree.mechanism, samples, load, log.coupling)
    regression = Regression(np.concatenate([system.W, system.kept(terms.columns)], axis=-1), tau, system.use)
    start = np.concatenate([prior, np.zeros(len(terms.names))])
    columns = regression.chosen(b + terms.always, terms.groups, start, WORTH)
    held_x, _ = regression.fit(columns, ~regression.held, start[columns])
    found = regression.solve(columns, start[columns])
    beta, extra, std = found.x[:b], columns[b:], system.spread * found.std
    information = np.asarray(np.linalg.qr(found.information[:, :b], mode="r"))
    offsets = np.array([terms.names[c - b].startswith("offset") for c in extra], np.bool_)
    target = _described_drives(base.columns, beta, regression.W, columns, found.x, offsets)
    physical = physical_parameters(tree.mechanism, chi, base, target, information, fixed)

    def error(x: Floats, with_terms: bool = True) -> Floats:
        """(n,) root mean square errors."""
        every = np.ones(len(regression.held), np.bool_)
        used = columns if with_terms else columns[:b]
        counts = np.maximum(regression.counts.sum(axis=0), 1.0)
        return np.asarray(np.sqrt(regression.squares(x, used, every) / counts))

    shift = base.values(physical) - target
    count = np.maximum(system.use.sum(axis=0), 1)
    mean = (tau * system.use).sum(axis=0) / count
    held = regression.counts[regression.held].sum(axis=0)
    rms = {
        "torque": np.sqrt((tau**2 * system.use).sum(axis=0) / count),
        "variation": np.sqrt(((tau - mean) ** 2 * system.use).sum(axis=0) / count),
        "prior": error(prior, False),
        "base": error(found.x),
        "held back": np.sqrt(regression.squares(held_x, columns, regression.held) / np.maximum(held, 1.0)),
        "physical": error(np.concatenate([beta + shift, found.x[b:]])),
        "alone": error(base.values(physical), False),
    }
    drive = tuple(
        DriveTerm(terms.names[c - b], float(value), float(deviation))
        for c, value, deviation in zip(extra, found.x[b:], std[b:], strict=True)
    )
    notes = (*log.notes, *samples.notes, *_drift_notes(tree, system, tau - regression.W[..., columns] @ found.x, rms))
    return Identification(
        base, beta, prior, std[:b], information, found.sigma, found.condition, physical, rms, samples,
        int(system.use.sum(axis=0).max()), drive, delay, tree.mechanism, notes,
    )  # fmt: skip


def independent_tree(robot: Robot) -> TreeRobot:
    """The robot as a tree whose joints are all taken as independent."""
    return require_tree(robot.tree if isinstance(robot, MimicRobot) else robot, "base parameters")


def _described_drives(kept: Ints, beta: Floats, W: Floats, columns: Ints, x: Floats, offsets: Bools) -> Floats:
    """beta with the Ia, Fv and Fs of each joint that come nearest to all that its drive does, offsets apart."""
    b, target = len(kept), beta.copy()
    further = np.arange(b, len(columns))[~offsets]
    for j in range(W.shape[1]):
        force = W[:, j, columns[further]] @ x[further]
        own = np.flatnonzero(np.isin(kept, [WIDTH * j + kind for kind in (IA, FV, FS)]))
        if force.any() and len(own):
            A = np.column_stack([W[:, j, own], np.ones(len(W))])
            target[own] += np.linalg.lstsq(A, force, rcond=None)[0][: len(own)]
    return target


def _drift_notes(robot: TreeRobot, system: LinearSystem, left: Floats, rms: dict[str, Floats]) -> list[str]:
    """Joints whose friction changes in the course of the log, as it does while gears warm up."""
    notes = []
    span = system.t[-1] - system.t[0]
    age = (system.t - system.t[0]) / span - 0.5
    way = np.sign(system.kept(np.sign(system.samples.qd)))
    for j, joint in enumerate(robot.joint_names):
        rows = system.use[:, j]
        count = int(rows.sum())
        friction = float(np.abs(way[rows, j]).mean()) if count > 50 else 0.0
        if friction == 0.0:
            continue
        column = (age * way[:, j])[rows]
        square = float(column @ column)
        change = float(column @ left[rows, j]) / max(square, 1e-300)
        std = float(np.sqrt((left[rows, j] ** 2).mean() / max(square, 1e-300)))
        level = float(rms["variation"][j])
        if abs(change) > 5.0 * std and abs(change) > DRIFT * level:
            notes.append(
                f"the friction of {joint} changes by {change:+.3g} during the log ({100 * abs(change) / level:.0f} %"
                " of the torque's variation): was the gear warming up?"
            )
    return notes
