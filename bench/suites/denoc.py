"""The decoupled natural orthogonal complement: how its inverse dynamics grows with legs and with bodies per leg."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bench.compare import alternate, require_same
from bench.suites.chains import chain
from dyn_core.mechanism import BASE, Frame, Loop, Mechanism
from dyn_core.robots import LoopRobot, TreeRobot

LEGS = (2, 4, 8, 16, 32)
BODIES = (3, 6, 12, 24, 48)
SMALL = 3
"""Bodies per leg while the legs grow; legs while the bodies grow are two."""


def parallel(legs: int, m: int) -> Mechanism:
    """A planar mechanism: legs of m rods whose last bodies turn on the last body of the first leg."""
    n = legs * m
    tree = chain(n)
    tree.parent[:] = [j - 1 if j % m else BASE for j in range(n)]
    tree.R[:] = np.eye(3)
    angles = 2.0 * np.pi * np.arange(legs) / legs
    tree.p[::m] = 0.3 * np.stack([np.cos(angles), np.sin(angles), np.zeros(legs)], axis=1)
    tree.active[:] = True
    for leg in range(1, legs):
        tree.active[leg * m + m - 2 : leg * m + m] = False
    q = np.random.default_rng(0).uniform(-1.0, 1.0, n)
    tip = np.array([0.1, 0.0, 0.0])
    loops = []
    for leg in range(1, legs):
        here = Frame("cut", leg * m + m - 1, np.eye(3), tip)
        robot = TreeRobot(replace(tree, frames=(*tree.frames, here)))
        pose = np.linalg.inv(robot.forward_kinematics(q, f"link{m - 1}")) @ robot.forward_kinematics(q, "cut")
        there = Frame("cut", m - 1, pose[:3, :3], pose[:3, 3])
        loops.append(Loop(f"leg{leg}", "planar_revolute", there, here))
    return replace(tree, name=f"{legs} legs of {m}", loops=tuple(loops), assembly=q)


def seconds(legs: int, m: int) -> float:
    """Of one inverse dynamics at a closed configuration, its answer checked against projection."""
    robot = LoopRobot(parallel(legs, m))
    other = robot.using("denoc")
    rng = np.random.default_rng(1)
    q = robot.neutral()
    qd, qdd = rng.normal(size=(2, robot.n))
    answers = other.inverse_dynamics(q, qd, qdd), robot.inverse_dynamics(q, qd, qdd)
    require_same(robot.name, "projection", answers)
    at = robot.closed(q, qd)
    tau, none = np.empty(robot.n), np.empty((0, 6))
    record = robot.tree.model.workspaces.new()

    def once() -> int:
        return other.denoc.inverse(record, at.q, qd, qdd, none, tau)

    return float(np.percentile(alternate(once)[:, 0], 10))


def run() -> dict[str, Any]:
    """Seconds over the number of legs and over the bodies per leg, and their growth, fitted on the larger half."""
    legs = {str(count): seconds(count, SMALL) for count in LEGS}
    bodies = {str(count): seconds(2, count) for count in BODIES}
    return {
        "legs": legs,
        "bodies": bodies,
        "exponent_legs": _exponent(LEGS, list(legs.values())),
        "exponent_bodies": _exponent(BODIES, list(bodies.values())),
    }


def _exponent(sizes: tuple[int, ...], times: list[float]) -> float:
    half = len(sizes) // 2
    return float(np.polyfit(np.log(sizes[half:]), np.log(times[half:]), 1)[0])


def table(figures: dict[str, Any]) -> list[str]:
    """The figures as lines."""
    lines = []
    for what, fixed in (("legs", f"of {SMALL} bodies"), ("bodies", "in each of 2 legs")):
        times = "  ".join(f"{count}: {1e6 * t:.1f} us" for count, t in figures[what].items())
        lines.append(f"inverse dynamics by denoc, {what} {fixed}: {times}")
        lines.append(f"  grows with the power {figures[f'exponent_{what}']:.2f} of their number (linear: 1)")
    return lines
