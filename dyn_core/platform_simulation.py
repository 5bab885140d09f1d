"""Simulation of parallel robots in the pose of their platform: no Euler angles, and singularities may be passed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from .errors import InputError
from .jit import compiled_call
from .loops.virtual_spring import RADIUS, fastest_rate
from .mechanism import Floats
from .parallel_robot import ParallelRobot, from_seven
from .platform_motion import platform_rows, state
from .simulation import NO_MOTORS, NO_WRENCHES

Drive = Callable[[float], Any]


@dataclass(frozen=True)
class PlatformResult:
    """A simulated motion of a platform: one row per h, from t = 0."""

    t: Floats
    """(m,) s."""
    pose: Floats
    """(m, 4, 4) of the platform's frame."""
    twist: Floats
    """(m, 6) of it: velocity of its origin, angular velocity, in base axes."""
    q: Floats
    """(m, n) positions of the active joints."""
    qd: Floats
    """(m, n)."""
    tau: Floats
    """(m, n) active forces."""
    gap: Floats
    """(m, r) what each spring gives way by, m or rad; (m, 0) where the legs are closed."""
    gap_rate: Floats
    """(m, r)."""
    step: float
    """s, of the integrator."""
    failure: str = ""
    """Why the motion ended early; empty if it did not."""


def simulate_platform(
    robot: ParallelRobot,
    pose: Any = None,
    twist: Any = None,
    duration: float = 1.0,
    volts: Any = None,
    forces: Any = None,
    h: float = 1e-3,
    substeps: int | None = None,
    k: Any = None,
    b: Any = 0.0,
    through_singularities: bool = False,
    wrench: Any = None,
) -> PlatformResult:
    """Simulate a parallel robot from a pose (4, 4) and twist (6,) of its platform's frame: home and rest if not given.

    volts or forces of the active joints: (n,) held, or a function f(t), which the fourth-order steps follow within each
    step too. k, b: N/m (N m/rad), N s/m of springs that hold the cut joints, one number or one per constraint; without
    k the legs are closed exactly. substeps: steps of the integrator within h; if not given one, or as many as the
    springs need. A motion ends before a singularity unless it may go through; wrench (6,): on the platform, in and at
    its frame.
    """
    if volts is not None and forces is not None:
        raise InputError("give either volts or forces, not both")
    if not (np.isfinite(duration) and duration >= 0.0 and np.isfinite(h) and h > 0.0):
        raise InputError(f"duration and step must be numbers of seconds, found {duration} and {h}")
    name = robot.mechanism.body_names[-1]
    start = robot.platform_home if pose is None else pose
    lead, seven, arm = robot._body_poses(start, name)
    if lead != ():
        raise InputError("give one pose (4, 4)")
    v = robot._at_body(twist, (), arm)
    at, rates, _, _, status = robot._solve_legs(seven, v, np.zeros((1, 6)))
    robot._check_reached(at, status, (), check=False)
    R = from_seven(seven)[0, :3, :3]
    par = robot._fresh()
    par.at[:] = at[0]
    n = len(at[0]) - 7
    springs = np.zeros((2, 0)) if k is None else _springs(k, b, len(par.rows))
    sprung = springs.shape[1] > 0
    now = state(
        par, seven[0], np.concatenate([v[0, :3] @ R, v[0, 3:] @ R]), at[0, : n * sprung], rates[0, : n * sprung]
    )
    if substeps is None:
        substeps = 1 if not sprung else max(1, ceil(h * _fastest(robot, at[0], springs) / RADIUS))
    if substeps < 1:
        raise InputError(f"substeps must be at least one, found {substeps}")
    drive = forces if forces is not None else volts
    by_force = forces is not None or (volts is None and robot.mechanism.motors is None)
    motors = NO_MOTORS if by_force else robot.actuation.motors
    rows = round(duration / h) + 1
    table = _table(robot, drive, rows, h / substeps, substeps)
    out, gaps, tau = np.zeros((rows, 13 + 2 * n)), np.zeros((rows, 2, len(par.rows))), np.zeros((rows, robot.n))
    pushed: Floats = NO_WRENCHES
    if wrench is not None:
        pushed = robot.platform_and_legs(robot.tree._body_wrenches(robot.platform_wrenches(wrench), ()))
    smooth = robot if not robot.mechanism.Fs.any() else robot.with_continuous_friction(robot.neutral(), h / substeps)
    watched = not (through_singularities or sprung)
    filled = compiled_call(
        platform_rows, smooth._record_p.copy(), par, motors, springs, now, table, pushed, h / substeps, substeps,
        watched, out, gaps, tau,
    )  # fmt: skip
    failure = ""
    if filled < rows:
        failure = f"{robot.name}: the motion cannot go on after t = {max(filled - 1, 0) * h:.6g} s: a leg comes to its"
        failure += " end, the legs hold the platform no longer, or it is not finite; what went before is kept"
    out, gaps = out[:filled], gaps[:filled]
    body = robot.mechanism.frame(name)
    T = from_seven(out[:, :7])
    R = T[:, :3, :3]
    w = np.einsum("mij,mj->mi", R, out[:, 10:13])
    velocity = np.einsum("mij,mj->mi", R, out[:, 7:10]) + np.cross(w, R @ body.p)
    T[:, :3, 3] += R @ body.p
    T[:, :3, :3] = R @ body.R
    gap, gap_rate = (np.ascontiguousarray(gaps[:, i, : len(par.rows) * sprung]) for i in range(2))
    return PlatformResult(
        np.arange(filled) * h, T, np.concatenate([velocity, w], axis=1), out[:, 13 + robot.joints],
        out[:, 13 + n + robot.joints], tau[:filled], gap, gap_rate, h / substeps, failure,
    )  # fmt: skip


def _springs(k: Any, b: Any, count: int) -> Floats:
    values = np.empty((2, count))
    for row, name, value in zip(values, ("k", "b"), (k, b), strict=True):
        try:
            row[:] = np.broadcast_to(np.asarray(value, float), (count,))
        except (TypeError, ValueError):
            raise InputError(f"{name} must be a number or one per constraint ({count},), found {value!r:.80}") from None
    if not np.isfinite(values).all() or (values < 0.0).any() or not (values[0] > 0.0).all():
        raise InputError("k must be finite and positive, b finite and not negative")
    return values


def _fastest(robot: ParallelRobot, at: Floats, springs: Floats) -> float:
    """The springs' largest rate, 1/s, at a configuration."""
    q = robot._full_of(at)
    J = robot._terms(robot._all_rows, q, np.zeros(len(q)))[1]
    return fastest_rate(robot.tree.mass_matrix(q), J, springs[0], springs[1])


def _table(robot: ParallelRobot, drive: Any, rows: int, step: float, substeps: int) -> Floats:
    """(1, n) held, or the drive at every half step."""
    if callable(drive):
        table = np.array([drive(0.5 * step * i) for i in range(2 * (rows - 1) * substeps + 1)], float)
    else:
        table = np.zeros((1, robot.n)) if drive is None else np.atleast_2d(np.asarray(drive, float))[:1]
    if table.ndim != 2 or table.shape[1] != robot.n or not np.isfinite(table).all():
        raise InputError(f"the drive has shape {table.shape[1:]}, expected ({robot.n},) finite numbers")
    return np.ascontiguousarray(table)
