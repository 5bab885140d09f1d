"""Mechanisms with one loop more closed than counting freedoms allows: they move only by their geometry."""

from __future__ import annotations

import dataclasses

import numpy as np
from random_robots import random_mechanism

from dyn_core.mechanism import BASE, Frame, Loop, Mechanism

Axes = list[tuple[np.ndarray, np.ndarray]]
"""Points and directions of hinges, around a loop, where it is closed."""


def bennett(rng: np.random.Generator) -> Mechanism:
    """Opposite links alike, sin(alpha) / a = sin(beta) / b."""
    a, b, alpha = 0.5, 0.8, 0.6
    beta = np.pi - np.arcsin(b / a * np.sin(alpha)) if rng.random() < 0.5 else np.arcsin(b / a * np.sin(alpha))
    first = rng.uniform(0.5, 1.5)
    ratio = np.sin(0.5 * (beta + alpha)) / np.sin(0.5 * (beta - alpha))
    second = 2.0 * np.arctan2(ratio, np.tan(first / 2.0))
    turns = [first, second, -first, -second]
    T, axes = np.eye(4), []
    for length, twist, turn in zip((b, a, b, a), (beta, alpha, beta, alpha), turns, strict=True):
        T = T @ _modified_dh(length, twist, turn)
        axes.append((T[:3, 3].copy(), T[:3, 2].copy()))
    return hinged(rng, axes)


def spherical_4r(rng: np.random.Generator) -> Mechanism:
    """Axes through one point; the input link is short enough to turn fully."""
    ground, short, coupler, output = np.radians([80.0, 20.0, 75.0, 70.0]) + rng.uniform(-0.1, 0.1, 4)
    z = np.array([0.0, 0.0, 1.0])
    last = np.array([np.sin(ground), 0.0, np.cos(ground)])
    turn = rng.uniform(-2.0, 2.0)
    second = np.array([np.sin(short) * np.cos(turn), np.sin(short) * np.sin(turn), np.cos(short)])
    across = np.cross(second, last)
    c = second @ last
    u, v = np.linalg.solve([[1.0, c], [c, 1.0]], [np.cos(coupler), np.cos(output)])
    w = np.sqrt((1.0 - u * u - v * v - 2.0 * u * v * c) / (across @ across))
    third = u * second + v * last + w * across
    return hinged(rng, [(np.zeros(3), e) for e in (z, second, third, last)])


def sarrus(rng: np.random.Generator) -> Mechanism:
    """Two legs of three parallel hinges, in planes that meet at an angle: the platform moves straight."""
    angle, low, high, rise = rng.uniform(1.0, 2.0), rng.uniform(0.8, 1.0), rng.uniform(0.8, 1.0), rng.uniform(0.6, 1.2)
    axes: Axes = []
    for turn, order in ((0.0, 1), (angle, -1)):
        out, along = (np.array([np.cos(turn + s), np.sin(turn + s), 0.0]) for s in (0.0, np.pi / 2))
        up = np.array([0.0, 0.0, 1.0])
        height = (rise**2 + low**2 - high**2) / (2.0 * rise)
        knee = 0.5 * out + height * up + np.sqrt(low**2 - height**2) * out
        axes += [(0.5 * out, along), (knee, along), (0.5 * out + rise * up, along)][::order]
    return hinged(rng, axes)


def trihedral_bricard(rng: np.random.Generator) -> Mechanism:
    """The rectangular 6R loop: unit links, hinges across both of their links, cos a + cos b + cos a cos b = 0."""
    a = rng.uniform(0.6, 1.3)
    b = np.arccos(-np.cos(a) / (1.0 + np.cos(a)))
    T, axes = np.eye(4), []
    for k in range(6):
        T = T @ _modified_dh(1.0, np.pi / 2 * (-1.0) ** k, (a, b)[k % 2])
        axes.append((T[:3, 3].copy(), T[:3, 2].copy()))
    return hinged(rng, axes)


def line_symmetric_bricard(rng: np.random.Generator) -> Mechanism:
    """Any three hinges, and the same three turned by half a turn about a line."""
    half = np.diag([-1.0, -1.0, 1.0])
    three = [(rng.normal(size=3), _unit(rng.normal(size=3))) for _ in range(3)]
    return hinged(rng, three + [(half @ p, half @ e) for p, e in three])


def three_cranks(rng: np.random.Generator, collinear: bool = False) -> Mechanism:
    """A coupler on three equal cranks; where these stand on one line it has change points."""
    m = random_mechanism(rng, 4, friction=False)
    feet = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [2.2, 0.0 if collinear else 0.9, 0.0]])
    turn = rng.uniform(0.4, 1.2)
    crank = Frame("tip", 1, np.eye(3), np.array([0.5, 0.0, 0.0]))
    m.joint_type[:], m.R[:] = 0, np.eye(3)
    m.p[:] = [feet[0], [0.5, 0.0, 0.0], feet[1], feet[2]]
    loops = tuple(
        Loop(f"crank{k}", "revolute", dataclasses.replace(crank, body=body), Frame("pin", 1, np.eye(3), feet[k]))
        for k, body in ((1, 2), (2, 3))
    )
    return dataclasses.replace(
        m,
        parent=np.array([BASE, 0, BASE, BASE]),
        active=np.arange(4) == 0,
        loops=loops,
        assembly=np.array([turn, -turn, turn, turn]),
    )


def hinged(rng: np.random.Generator, axes: Axes) -> Mechanism:
    """Random bodies one after the other around a loop of hinges, the last one cut, the first one active."""
    n = len(axes) - 1
    stands = [_frame(*axis) for axis in axes]
    m = random_mechanism(rng, n, chain=True, friction=False)
    m.joint_type[:] = 0
    before = np.eye(4)
    for j in range(n):
        T = np.linalg.inv(before) @ stands[j]
        m.R[j], m.p[j] = T[:3, :3], T[:3, 3]
        before = stands[j]
    T, cut = np.linalg.inv(before) @ stands[n], stands[n]
    ends = Frame("cut", BASE, cut[:3, :3], cut[:3, 3]), Frame("cut", n - 1, T[:3, :3], T[:3, 3])
    loop = Loop("cut", "revolute", *ends)
    return dataclasses.replace(m, active=np.arange(n) == 0, loops=(loop,), assembly=np.zeros(n))


def _frame(point: np.ndarray, direction: np.ndarray) -> np.ndarray:
    z = _unit(direction)
    x = _unit(np.cross(z, [0.3, -0.8, 0.5]))
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), point
    return T


def _modified_dh(d: float, alpha: float, theta: float) -> np.ndarray:
    c, s = np.cos(theta), np.sin(theta)
    ca, sa = np.cos(alpha), np.sin(alpha)
    return np.array([[c, -s, 0.0, d], [ca * s, ca * c, -sa, 0.0], [sa * s, sa * c, ca, 0.0], [0.0, 0.0, 0.0, 1.0]])


def _unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)
