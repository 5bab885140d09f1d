"""The legs of a parallel mechanism: serial chains of one-degree joints from the base to one end effector.

Saha and Schiehlen, Fig. 3, with fewer restrictions: legs may differ in length, hold any number of active joints, and
run through a tree joint against its direction. A cut joint with several freedoms stands for as many joints of one
degree with massless bodies between them; the end effector is the last body of every leg, and its mass is counted once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import StructureError
from dyn_core.mechanism import BASE, PRISMATIC, REVOLUTE, Frame, Mechanism

RIGID = 2  # a step that moves nothing: a cut joint without freedoms

SIGMA, AXIS_ROW, AXIS, ORIGIN_ROW, ORIGIN, BODY, JOINT, ACTUATOR, STEP_WIDTH = 0, 1, 2, 5, 6, 9, 10, 11, 12
"""Columns of a step: kind of joint; record row and vector (3) of its axis e_i, against the joint's direction where the
leg runs so; record row and point (3) of the origin O_i; record row of the body behind it (-1: massless); joint of the
tree (-1: of a cut joint); place among the active joints (-1: passive)."""

FREEDOMS = {
    "planar_revolute": ((PRISMATIC, 0, 2), (REVOLUTE, 0, 0), (REVOLUTE, 0, 1), (REVOLUTE, 0, 2)),
    "revolute": ((REVOLUTE, 0, 2),),
    "spherical": ((REVOLUTE, 0, 0), (REVOLUTE, 0, 1), (REVOLUTE, 0, 2)),
    "universal": ((REVOLUTE, 0, 0), (REVOLUTE, 1, 1)),
    "cylindrical": ((PRISMATIC, 0, 2), (REVOLUTE, 0, 2)),
    "prismatic": ((PRISMATIC, 0, 2),),
    "fixed": (),
}
"""What CUT_JOINTS leave free, from the first frame to the second: kind, whose axis (0: the first's), which axis."""


class SerialLegs(NamedTuple):
    """All legs, one after the other."""

    steps: Floats
    """(s, STEP_WIDTH) from the base outwards."""
    starts: Floats
    """(legs + 1,) where each leg begins in steps."""
    end_effector: int
    """Its body."""


class Edge(NamedTuple):
    """A joint of the tree (loop = -1) or a cut joint, between two bodies."""

    first: int
    second: int
    joint: int
    loop: int


def find_legs(m: Mechanism) -> SerialLegs:
    """The legs of a mechanism; StructureError where it is not legs that meet in one end effector."""
    if m.mimic is not None:
        raise StructureError(_not_legs(m, "joints follow others"))
    edges = [Edge(int(parent), j, j, -1) for j, parent in enumerate(m.parent)]
    edges += [Edge(loop.first.body, loop.second.body, -1, k) for k, loop in enumerate(m.loops)]
    at: dict[int, list[Edge]] = {body: [] for body in range(BASE, m.n)}
    for edge in edges:
        at[edge.first].append(edge)
        at[edge.second].append(edge)
    for body in range(m.n):
        if len(at[body]) == 1:
            raise StructureError(_not_legs(m, f"body '{m.body_names[body]}' is tied to one other body only"))
    meeting = [body for body in range(m.n) if len(at[body]) > 2]
    if len(meeting) > 1:
        names = ", ".join(m.body_names[body] for body in meeting)
        raise StructureError(_not_legs(m, f"more than one body has three joints or more ({names})"))
    if meeting:
        end = meeting[0]
    else:
        around = _walk(at, at[BASE][0], BASE)
        end = around[(len(around) - 2) // 2][1] if len(around) > 1 else BASE
        if end == BASE:
            raise StructureError(_not_legs(m, "a loop holds no body that could be the end effector"))
    ways = [_walk(at, edge, end) for edge in at[BASE]]
    for way in ways:
        if way[-1][1] != end:
            raise StructureError(_not_legs(m, f"a loop does not pass through '{m.body_names[end]}'"))
    if sum(map(len, ways)) != len(edges):
        raise StructureError(_not_legs(m, f"not every body lies between the base and '{m.body_names[end]}'"))
    actuators = np.full(m.n, -1)
    actuators[m.active] = np.arange(int(m.active.sum()))
    steps: list[Floats] = []
    starts = [0]
    for way in ways:
        for edge, body in way:
            steps += _steps(m, edge, body, actuators)
        if starts[-1] > 0:
            steps[-1][BODY] = -1.0  # the end effector's mass belongs to the first leg
        starts.append(len(steps))
    return SerialLegs(np.array(steps), np.array(starts, float), end)


def _walk(at: dict[int, list[Edge]], edge: Edge, end: int) -> list[tuple[Edge, int]]:
    """Joints and the bodies behind them from the base over a first joint, up to `end` or back to the base."""
    way: list[tuple[Edge, int]] = []
    body = BASE
    while True:
        body = edge.second if edge.first == body else edge.first
        way.append((edge, body))
        if body in (BASE, end):
            return way
        edge = next(each for each in at[body] if each is not edge)


def _steps(m: Mechanism, edge: Edge, body: int, actuators: Floats) -> list[Floats]:
    """The joints of one degree that an edge stands for, towards the given body."""
    outwards = edge.second == body
    sign = 1.0 if outwards else -1.0
    z = np.array([0.0, 0.0, 1.0])
    if edge.loop < 0:
        j = edge.joint
        return [_step(m.joint_type[j], j, sign * z, Frame("", j, np.eye(3), np.zeros(3)), body, j, actuators[j])]
    loop = m.loops[edge.loop]
    frames = (loop.first, loop.second)
    freedoms = FREEDOMS[loop.kind]
    found = [
        _step(kind, frames[side].body, sign * frames[side].R[:, axis], loop.second, BASE - 1, -1, -1)
        for kind, side, axis in (freedoms if outwards else freedoms[::-1])
    ] or [_step(RIGID, BASE, 0.0 * z, loop.second, BASE - 1, -1, -1)]
    found[-1][BODY] = body + 1
    return found


def _step(kind: int, axis_of: int, axis: Floats, origin: Frame, body: int, joint: int, actuator: int) -> Floats:
    return np.array([kind, axis_of + 1, *axis, origin.body + 1, *origin.p, body + 1, joint, actuator], float)


def _not_legs(m: Mechanism, why: str) -> str:
    return f"{m.name}: denoc needs legs that meet in one end effector, but {why}; use another formulation"
