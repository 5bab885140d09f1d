"""Dynamics from Python, as a user calls it, beside Pinocchio and others: arms, batches, chains, floating bases."""

from __future__ import annotations

import warnings
from dataclasses import asdict, replace
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from bench.compare import Comparison, compare
from bench.peers import kdl, toolbox_puma
from bench.suites.chains import chain
from bench.suites.chains import peer_of as chain_in_pinocchio
from dyn_core import Robot, load_robot
from dyn_core.errors import DescriptionWarning
from dyn_core.robots import TreeRobot, customise

BATCH = 10_000
ONE_CALL, MATRICES, THROUGHPUT = 0.5, 0.7, 0.05
"""Goals: times of one call over the peer's, and of a batch."""
NEEDED = "more cores, or wider vector registers: each core computes eight states at a time"
CHAINS = {50: 1.0, 500: 1.5}
"""Goals of chains of so many bodies."""
FLOATING = {"talos": "talos_reduced.urdf", "anymal": "anymal_b_simple_description/robots/anymal.urdf"}
"""Legged robots, and how their files in example-robot-data end."""


def without_friction(robot: Robot, qd: np.ndarray) -> np.ndarray:
    """Joint forces of friction, which Pinocchio's rnea and aba leave out."""
    return robot.mechanism.Fv * qd + robot.mechanism.Fs * np.sign(qd)


def peer_of(robot: Robot) -> pin.Model:
    """The same robot in Pinocchio, through the URDF that it publishes, with its rotors' inertia."""
    model = pin.buildModelFromXML(robot.urdf())
    model.gravity.linear = robot.mechanism.gravity
    model.armature = robot.mechanism.Ia
    return model


def arm(label: str, robot: Robot, model: pin.Model) -> list[Comparison]:
    """One call of each kind."""
    data = model.createData()
    q, qd, qdd = (x.copy() for x in np.random.default_rng(0).uniform(-1.0, 1.0, (3, robot.n)))
    friction = without_friction(robot, qd)
    tau = robot.inverse_dynamics(q, qd, qdd)
    tool = model.getFrameId("tool")
    in_frame = partial(pin.computeFrameJacobian, model, data, q, tool, pin.LOCAL_WORLD_ALIGNED)
    rows = [
        compare(
            f"{label}: inverse dynamics",
            lambda: robot.inverse_dynamics(q, qd, qdd),
            "pinocchio rnea",
            lambda: pin.rnea(model, data, q, qd, qdd),
            ONE_CALL,
            (tau - friction, pin.rnea(model, data, q, qd, qdd).copy()),
        ),
        compare(
            f"{label}: forward dynamics",
            lambda: robot.forward_dynamics(q, qd, tau),
            "pinocchio aba",
            lambda: pin.aba(model, data, q, qd, tau),
            ONE_CALL,
            (robot.forward_dynamics(q, qd, tau), pin.aba(model, data, q, qd, tau - friction).copy()),
        ),
        compare(
            f"{label}: mass matrix",
            lambda: robot.mass_matrix(q),
            "pinocchio crba",
            lambda: pin.crba(model, data, q),
            MATRICES,
            (np.triu(robot.mass_matrix(q)), np.triu(pin.crba(model, data, q))),
        ),
    ]
    if type(robot) is Robot:  # of a customised robot it is the same kernel
        rows += [
            compare(
                f"{label}: Jacobian",
                lambda: robot.jacobian(q),
                f"pinocchio {name}",
                theirs,
                MATRICES,
                (robot.jacobian(q), in_frame()),
            )
            for name, theirs in (
                ("computeJointJacobians", lambda: pin.computeJointJacobians(model, data, q)),
                ("computeFrameJacobian", in_frame),
            )
        ]
    return rows


def others(robot: Robot) -> list[Comparison]:
    """Inverse dynamics beside libraries that are slower."""
    q, qd, qdd = (x.copy() for x in np.random.default_rng(0).uniform(-1.0, 1.0, (3, robot.n)))
    answer = robot.inverse_dynamics(q, qd, qdd) - without_friction(robot, qd)
    peers = {"robotics toolbox rne": toolbox_puma(), "PyKDL ChainIdSolver_RNE": kdl(robot)}
    return [
        compare(
            f"{robot.name}: inverse dynamics",
            lambda: robot.inverse_dynamics(q, qd, qdd),
            name,
            partial(theirs, q, qd, qdd),
            ONE_CALL,
            (answer, theirs(q, qd, qdd)),
        )
        for name, theirs in peers.items()
        if theirs is not None
    ]


def batches(label: str, robot: Robot, model: pin.Model) -> list[Comparison]:
    """Many states at once, on all cores, against a Python loop."""
    data = model.createData()
    Q, QD, X = np.random.default_rng(1).uniform(-1.0, 1.0, (3, BATCH, robot.n))
    F = without_friction(robot, QD)

    def loop(function: Any, last: np.ndarray) -> list[np.ndarray]:
        return [function(model, data, *x) for x in zip(Q, QD, last, strict=True)]

    def answers(function: Any, last: np.ndarray) -> list[np.ndarray]:
        return [function(model, data, *x).copy() for x in zip(Q, QD, last, strict=True)]

    rows = [
        compare(
            f"{label}: inverse dynamics, batch of {BATCH}",
            lambda: robot.inverse_dynamics(Q, QD, X),
            "Python loop over rnea",
            lambda: loop(pin.rnea, X),
            THROUGHPUT,
            (robot.inverse_dynamics(Q, QD, X) - F, answers(pin.rnea, X)),
            all_cores=True,
        ),
        compare(
            f"{label}: forward dynamics, batch of {BATCH}",
            lambda: robot.forward_dynamics(Q, QD, X),
            "Python loop over aba",
            lambda: loop(pin.aba, X),
            THROUGHPUT,
            (robot.forward_dynamics(Q, QD, X), answers(pin.aba, X - F)),
            all_cores=True,
        ),
    ]
    return [replace(row, needed=NEEDED) for row in rows]


def long_chain(n: int, goal: float) -> list[Comparison]:
    """One call for a chain of n bodies."""
    robot, model = TreeRobot(chain(n)), chain_in_pinocchio(chain(n))
    data = model.createData()
    q, qd, x = (y.copy() for y in np.random.default_rng(2).uniform(-0.1, 0.1, (3, n)))
    calls = {"inverse": (robot.inverse_dynamics, pin.rnea, "rnea"), "forward": (robot.forward_dynamics, pin.aba, "aba")}
    return [
        compare(
            f"chain of {n} bodies: {what} dynamics",
            partial(mine, q, qd, x),
            f"pinocchio {name}",
            partial(theirs, model, data, q, qd, x),
            goal,
            (mine(q, qd, x), theirs(model, data, q, qd, x).copy()),
        )
        for what, (mine, theirs, name) in calls.items()
    ]


def floating(name: str) -> list[Comparison]:
    """One call for a legged robot of example-robot-data."""
    files = metadata.files("example-robot-data") or []
    path = next(Path(str(file.locate())).resolve() for file in files if str(file).endswith(FLOATING[name]))
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = model.createData()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        robot = load_robot(path, floating=True)
    order = [model.idx_vs[model.getJointId(joint)] for joint in robot.joint_names]
    rng = np.random.default_rng(3)
    q = np.concatenate([rng.uniform(-1.0, 1.0, 7), rng.uniform(-0.5, 0.5, robot.n)])
    q[3:7] /= np.linalg.norm(q[3:7])
    v, vd = (x.copy() for x in rng.uniform(-1.0, 1.0, (2, robot.nv)))
    places = np.concatenate([np.arange(6), order])
    qp, vp = q.copy(), np.empty(model.nv)
    qp[np.array(order) + 1] = q[7:]
    vp[places] = v
    # Pinocchio's acceleration of a free-flyer is spatial: that of the origin less omega x v.
    spatial = vd.copy()
    spatial[:3] -= np.cross(v[3:6], v[:3])
    ap = np.empty(model.nv)
    ap[places] = spatial
    friction = np.concatenate([np.zeros(6), without_friction(robot, v[6:])])
    tau = robot.inverse_dynamics(q, v, vd)
    tp = np.empty(model.nv)
    tp[places] = tau - friction
    model.armature[:] = 0.0
    back = pin.aba(model, data, qp, vp, tp)[places].copy()
    back[:3] += np.cross(v[3:6], v[:3])
    return [
        compare(
            f"{name}: inverse dynamics, floating base",
            lambda: robot.inverse_dynamics(q, v, vd),
            "pinocchio rnea",
            lambda: pin.rnea(model, data, qp, vp, ap),
            1.0,
            (tau - friction, pin.rnea(model, data, qp, vp, ap)[places].copy()),
        ),
        compare(
            f"{name}: forward dynamics, floating base",
            lambda: robot.forward_dynamics(q, v, tau),
            "pinocchio aba",
            lambda: pin.aba(model, data, qp, vp, tp),
            1.0,
            (robot.forward_dynamics(q, v, tau), back),
        ),
    ]


def run() -> list[dict[str, Any]]:
    """All comparisons."""
    robot = load_robot("puma560")
    model = peer_of(robot)
    own = customise(robot)
    rows = [
        *arm("puma560", robot, model),
        *others(robot),
        *arm("puma560, customised", own, model),
        *batches("puma560", robot, model),
        *batches("puma560, customised", own, model),
        *(row for n, goal in CHAINS.items() for row in long_chain(n, goal)),
        *(row for name in FLOATING for row in floating(name)),
    ]
    return [asdict(row) for row in rows]


def table(figures: list[dict[str, Any]]) -> list[str]:
    """The lines to print."""
    return [Comparison.HEAD, *(Comparison(**row).row() for row in figures)]
