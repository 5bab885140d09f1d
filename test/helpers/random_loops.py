"""Random mechanisms with closed chains, closed by construction at a random configuration."""

from __future__ import annotations

import dataclasses

import numpy as np
from random_robots import random_mechanism, random_rotation

from dyn_core.mechanism import BASE, Frame, Loop, Mechanism
from dyn_core.robots import TreeRobot

SPATIAL = {  # kind of the cut joint: joints of the loop's chain with one active among them
    "fixed": 7,
    "revolute": 6,
    "prismatic": 6,
    "cylindrical": 5,
    "universal": 5,
    "spherical": 4,
}


def random_loop(rng: np.random.Generator, kind: str, friction: bool = True) -> Mechanism:
    """A chain whose last body is tied to the base by a cut joint, and which has one freedom."""
    n = SPATIAL[kind]
    chain = random_mechanism(rng, n, chain=True, friction=friction)
    chain.joint_type[:] = 0
    return tied(rng, chain, kind, n - 1, BASE, np.eye(1, n, 0, dtype=bool)[0])


def planar(rng: np.random.Generator, n: int, friction: bool = True) -> Mechanism:
    """A chain of n parallel axes."""
    m = random_mechanism(rng, n, chain=True, friction=friction)
    m.joint_type[:] = 0
    for j in range(n):
        angle = rng.uniform(-np.pi, np.pi)
        c, s = np.cos(angle), np.sin(angle)
        m.R[j] = [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]
        m.p[j] = [*rng.normal(size=2) * 0.4, 0.0]
    return m


def random_planar_loop(rng: np.random.Generator, n: int, friction: bool = True) -> Mechanism:
    """A planar chain of n bodies whose end turns on the base: n - 2 freedoms."""
    active = np.arange(n) < n - 2
    return tied(rng, planar(rng, n, friction), "planar_revolute", n - 1, BASE, active, turned=False)


def tied(
    rng: np.random.Generator, m: Mechanism, kind: str, first: int, second: int, active: np.ndarray, turned: bool = True
) -> Mechanism:
    """The mechanism with two of its bodies tied together as they stand at a random configuration."""
    q = rng.uniform(-1.5, 1.5, m.n)
    R, p = random_rotation(rng) if turned else np.eye(3), rng.normal(size=3) * 0.2
    probe = Frame("cut", first, R, p)
    robot = TreeRobot(dataclasses.replace(m, frames=(*m.frames, probe)))
    pose = robot.forward_kinematics(q, "cut")
    if second != BASE:
        body = Frame("body", second, np.eye(3), np.zeros(3))
        stands = TreeRobot(dataclasses.replace(m, frames=(*m.frames, body))).forward_kinematics(q, "body")
        pose = np.linalg.inv(stands) @ pose
    loop = Loop("loop", kind, probe, Frame("cut", second, pose[:3, :3], pose[:3, 3]))
    return dataclasses.replace(m, active=active, loops=(loop,), assembly=q)
