"""Simulation of parallel robots in the pose of their platform: no Euler angles, and singularities may be passed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.virtual_springs import fastest_rate
from dyn_core.dynamics.platform.integrators import platform_rows, platform_scratch
from dyn_core.dynamics.tree.integrators import RUNGE_KUTTA
from dyn_core.errors import InputError
from dyn_core.jit.kernel import SIMD, compiled_call
from dyn_core.robots.closed.parallel_robot import ParallelRobot
from dyn_core.spatial.poses import from_seven

from .drive import drive_table, half_step_table, per_row, prepared, require_masses, steps_within


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
    drive, motors, rows = prepared(robot, volts, forces, h, duration, "forces")
    platform, layout = robot.platform, robot.layout
    name = robot.mechanism.body_names[-1]
    start = platform.home_of(name) if pose is None else pose
    lead, _, seven, v, _ = platform.body_motion(start, twist, None, name)
    if lead != ():
        raise InputError("give one pose (4, 4)")
    at, rates, _, _, status = layout.solve_legs(seven, v, np.zeros((1, 6)))
    platform.check_reached(at, status, (), check=False)
    R = from_seven(seven)[0, :3, :3]
    par = layout.workspaces.new().par
    par.at[:] = at[0]
    n = len(at[0]) - 7
    r = len(par.rows)
    springs = np.zeros((2, 0)) if k is None else np.array([per_row("k", k, r, True), per_row("b", b, r)])
    sprung = springs.shape[1] > 0
    q = np.concatenate([seven[0], at[0, : n * sprung]])
    u = np.concatenate([v[0, :3] @ R, v[0, 3:] @ R, rates[0, : n * sprung]])
    substeps = steps_within(h, substeps, _fastest(robot, at[0], springs) if sprung else 0.0)
    table = _table(robot, drive, rows, h / substeps, substeps)
    out, gaps, tau = np.zeros((rows, 13 + 2 * n)), np.zeros((rows, 2, len(par.rows))), np.zeros((rows, robot.n))
    pushed = layout.on_legs(robot.tree.model.wrenches(None if wrench is None else platform.wrenches(wrench)))
    smooth = robot if not robot.mechanism.Fs.any() else robot.with_continuous_friction(robot.neutral(), h / substeps)
    watched = not (through_singularities or sprung)
    filled = _rows(
        smooth.layout.record.copy(), par, motors, springs, platform_scratch(par, q, u), q, u, table, pushed,
        h / substeps, substeps, RUNGE_KUTTA["rk4"], watched, out, gaps, tau,
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


def _rows(record: Floats, par: Any, motors: Floats, springs: Floats, *arguments: Any) -> int:
    """`platform_rows`, with the legs on springs at once where they are alike."""
    if SIMD and springs.shape[1] > 0:
        from dyn_core.dynamics.platform.legs_in_lanes import leg_lanes, platform_rows_in_lanes

        lanes = leg_lanes(record, par)
        if lanes is not None:
            return int(compiled_call(platform_rows_in_lanes, *lanes, record, par, motors, springs, *arguments))
    return int(compiled_call(platform_rows, record, par, motors, springs, *arguments))


def _fastest(robot: ParallelRobot, at: Floats, springs: Floats) -> float:
    """The springs' largest rate, 1/s, at a configuration."""
    q = robot.layout.full_of(at)
    J = robot.assembly.terms(robot.assembly.all_rows, q, np.zeros(len(q)))[1]
    M = robot.tree.mass_matrix(q)
    require_masses(robot, M)
    return fastest_rate(M, J, springs[0], springs[1])


def _table(robot: ParallelRobot, drive: Any, rows: int, step: float, substeps: int) -> Floats:
    """(1, n) held, or the drive at every half step."""
    if not callable(drive):
        return drive_table(drive, robot.n)[:1]
    return half_step_table(drive, robot.n, 0.0, step, (rows - 1) * substeps)
