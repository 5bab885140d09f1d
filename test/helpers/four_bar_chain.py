"""Rods hinged on the base, one after the other, and couplers between their tips."""

from __future__ import annotations

import numpy as np

from dyn_core.mechanism import BASE, Frame, Loop, Mechanism
from dyn_core.robots import LoopRobot


def four_bar_chain(count: int, lean: float = 1.27, kind: str = "planar_revolute") -> LoopRobot:
    """`count` four-bars: uniform rods and couplers of 1 m and 1 kg in a vertical plane, the first rod active."""
    n = 2 * count + 1
    rods, couplers = np.arange(count + 1), count + 1 + np.arange(count)
    p = np.zeros((n, 3))
    p[rods, 0], p[couplers, 0] = rods, 1.0
    tip = np.array([1.0, 0.0, 0.0])
    names = tuple(f"rod{k}" for k in rods) + tuple(f"coupler{k}" for k in range(count))
    loops = tuple(
        Loop(f"loop{k}", kind, Frame("a", int(couplers[k]), np.eye(3), tip), Frame("b", int(k + 1), np.eye(3), tip))
        for k in range(count)
    )
    zeros = np.zeros(n)
    mechanism = Mechanism(
        name="chain",
        description="",
        joint_names=tuple(f"of_{name}" for name in names),
        body_names=names,
        parent=np.concatenate([np.full(count + 1, BASE), rods[:-1]]),
        joint_type=np.zeros(n, int),
        R=np.tile(np.eye(3), (n, 1, 1)),
        p=p,
        M=np.ones(n),
        MS=np.tile([0.5, 0.0, 0.0], (n, 1)),
        J=np.tile(np.diag([1e-3, 1.0 / 3.0, 1.0 / 3.0]), (n, 1, 1)),
        Ia=zeros,
        Fv=zeros,
        Fs=zeros,
        stiffness=np.full(n, 1e5),
        position_limits=np.tile([-np.inf, np.inf], (n, 1)),
        velocity_limits=np.full(n, np.inf),
        effort_limits=np.full(n, np.inf),
        gravity=np.array([0.0, -9.81, 0.0]),
        frames=(
            *(Frame(name, j, np.eye(3), np.zeros(3)) for j, name in enumerate(names)),
            Frame("tool", 0, np.eye(3), tip),
        ),
        active=np.arange(n) == 0,
        loops=loops,
        assembly=np.concatenate([np.full(count + 1, lean), np.full(count, -lean)]),
    )
    return LoopRobot(mechanism)
