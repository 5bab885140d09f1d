"""Stiffness of spherical parallel manipulators: one matrix from an orientation, and maps of many orientations."""

from __future__ import annotations

import os
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from bench.compare import Comparison, compare, require_same
from dyn_core import load_robot
from dyn_core.arrays import Floats
from dyn_core.jit.kernel import compiled_call
from dyn_core.robots import SphericalRobot
from dyn_core.stiffness import Leg
from dyn_core.stiffness.spherical_kernels import deflections_batch

ROBOT = "spm_coaxial"
ORIENTATIONS = 100_000
ROUNDS = 7
BUDGET = 50e-6
"""s, for one matrix."""


def by_equation_15(robot: SphericalRobot, Q: Floats) -> Floats:
    """K as the paper has it: the 8 x 8 system (13) of every leg inverted (15), the blocks added (16), with NumPy."""
    u, v, w = robot.platform.leg_axes(Q)
    g, m = robot.platform.geometry, robot.mechanism
    C = {each.body: each.C for each in m.compliances}
    K = np.zeros((6, 6))
    for i, joint in enumerate(robot.joints):
        leg = Leg(np.zeros(3)).turning_spring(u[i], np.zeros(3), float(m.stiffness[joint]))
        for a, t, body in ((u[i], v[i], joint), (v[i], w[i], joint + 1)):
            if body in C:
                n = np.cross(a, t)
                n /= np.linalg.norm(n)
                leg.link(C[body], np.stack([np.cross(t, n), t, n], axis=1), g.R * t)
        leg.turning_joint(v[i], np.zeros(3)).turning_joint(w[i], np.zeros(3))
        S = leg.J_theta @ leg.C_theta @ leg.J_theta.T
        K += np.linalg.inv(np.block([[S, leg.J_q], [leg.J_q.T, np.zeros((2, 2))]]))[:6, :6]
    return K


def run(orientations: int = ORIENTATIONS) -> dict[str, Any]:
    """One matrix against the paper's equations in NumPy and against its budget; a map on one core and on all."""
    robot = load_robot(ROBOT)
    assert isinstance(robot, SphericalRobot)
    platform = robot.platform
    Q = platform.orientation(0.3, 0.4, 0.1)
    single = compare(
        "K of a spherical manipulator from an orientation", lambda: platform.stiffness_matrix(Q), "(13)-(16) in NumPy",
        lambda: by_equation_15(robot, Q), 0.05, (platform.stiffness_matrix(Q), by_equation_15(robot, Q)),
    )  # fmt: skip
    ratio = single.ours / BUDGET
    budget = Comparison(single.work, "a budget of 50 us", single.ours, BUDGET, ratio, ratio, ratio, 1.0)
    return {"matrix": [asdict(single), asdict(budget)], "map": _map(robot, orientations)}


def _map(robot: SphericalRobot, orientations: int) -> dict[str, Any]:
    """Seconds of a map by eight moments, one core and all in turn."""
    rng = np.random.default_rng(0)
    Q = robot.platform.orientation(rng.uniform(-np.pi, np.pi, orientations), rng.uniform(0.0, 0.9, orientations), 0.0)
    moments = np.array([[0, 0, 0, a, b, c] for a in (10.0, -10.0) for b in (10.0, -10.0) for c in (10.0, -10.0)])
    flat = np.ascontiguousarray(Q.reshape(-1, 9))
    out, status = np.empty((orientations, 8, 6)), np.empty(orientations, np.int64)

    def one() -> None:
        compiled_call(deflections_batch, robot.spherical_legs.packed, flat, moments, out, status)

    def everything() -> Floats:
        return robot.platform.deflections(Q, moments)[0]

    one()
    require_same("map", "one core", (everything(), out))
    times = np.empty((ROUNDS, 2))
    for round_times in times:
        for k, side in enumerate((one, everything)):
            began = time.perf_counter()
            side()
            round_times[k] = time.perf_counter() - began
    ratios = times[:, 1] / times[:, 0]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {
        "orientations": orientations,
        "wrenches": len(moments),
        "cores": cores,
        "work": f"map of {orientations} orientations by {len(moments)}",
        "peer": "one core",
        "one_core": float(np.median(times[:, 0])),
        "all_cores": float(np.median(times[:, 1])),
        "ratio": float(np.median(ratios)),
        "low": float(ratios.min()),
        "high": float(ratios.max()),
        "goal": 1.3 / cores,
        "needed": "cores that are idle: the times are those of the clock",
    }


def table(figures: dict[str, Any]) -> list[str]:
    """The figures as lines."""
    found = figures["map"]
    rate = found["orientations"] * found["wrenches"] / found["all_cores"]
    return [
        Comparison.HEAD,
        *(Comparison(**row).row() for row in figures["matrix"]),
        "",
        f"map of {found['orientations']} orientations by {found['wrenches']} wrenches: {found['one_core']:.2f} s on one"
        f" core, {found['all_cores']:.2f} s on {found['cores']}: {1.0 / found['ratio']:.2f} times as fast"
        f" [{1.0 / found['high']:.2f} - {1.0 / found['low']:.2f}], {rate:.3g} deflections a second",
    ]
