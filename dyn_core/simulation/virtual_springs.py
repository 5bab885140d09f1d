"""Simulation of closed chains whose cut joints are held by virtual springs and dampers, in all joints of the tree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.constraints import TYPE
from dyn_core.dynamics.loops.virtual_springs import (
    LARGEST_RADIUS,
    QD,
    WORK,
    Q,
    default_damping,
    default_stiffness,
    fastest_rate,
    preload,
    sprung_run,
)
from dyn_core.dynamics.tree.integrators import RUNGE_KUTTA
from dyn_core.errors import InputError
from dyn_core.jit.kernel import compiled_call
from dyn_core.robots.closed.loop_robot import LoopRobot

from .drive import drive_table, half_step_table, of_time, per_row, prepared, require_masses, steps_within
from .result import SimulationResult

SUBSTEPS = 10  # within h, where neither they nor k are given


@dataclass(frozen=True, kw_only=True)
class SpringResult(SimulationResult):
    """A motion with virtual springs. q, qd, qdd, tau and drive are those of the active joints, as in `simulate`."""

    all_q: Floats
    """(m, n of the tree) positions of all joints: the springs leave the passive ones free."""
    all_qd: Floats
    """(m, n of the tree)."""
    gap: Floats
    """(m, r) phi, what each spring gives way by: m, or rad for the rows that hold an orientation."""
    k: Floats
    """(r,) N/m or N m/rad."""
    b: Floats
    """(r,) N s/m or N m s/rad."""
    step: float
    """s, of the integrator: a whole part of that of the rows."""

    @property
    def position_error(self) -> Floats:
        """(m,) e = |Delta| over all springs, (44)."""
        return np.asarray(np.linalg.norm(self.gap, axis=1))


def simulate_with_springs(
    robot: LoopRobot,
    q0: Any = None,
    qd0: Any = None,
    duration: float = 1.0,
    volts: Any = None,
    torques: Any = None,
    h: float = 1e-3,
    k: Any = None,
    b: Any = None,
    substeps: int | None = None,
    preloaded: bool = True,
    wrenches: Any = None,
    method: str = "rk4",
) -> SpringResult:
    """Simulate a robot with closed chains, its cut joints held by springs k and dampers b.

    q0, qd0: (n,) of the active joints, the loops being closed then; or (n of the tree,) of all joints, taken as they
    are. volts or torques, h and wrenches: as in `simulate`; the drive is held over h, a function
    f(t) followed. k: N/m (N m/rad for rows that
    hold an orientation), one number or one per constraint row; if not given, as stiff as the step allows, k ~ 1/step^2.
    b: N s/m, likewise; if not given, critical for the fastest spring; 0 for none. substeps: steps of the integrator
    within h; if not given, ten, or as many as a given k needs. preloaded: a closed start is eased open to
    Delta = F / k, which keeps the springs from ringing; a start of all joints never is.
    """
    drive, motors, m = prepared(robot, volts, torques, h, duration)
    if method not in RUNGE_KUTTA:
        raise InputError(f"springs are simulated by {' or '.join(RUNGE_KUTTA)}, found {method!r}")
    springs, q, v, steps = _prepared(robot, q0, qd0, drive, len(motors) > 0, h, k, b, substeps, preloaded)
    n, r = robot.mechanism.n, len(robot.assembly.all_rows)
    out, gaps, forces, held = np.zeros((m, 3, n)), np.zeros((m, r)), np.zeros((m, robot.n)), np.zeros((m, robot.n))
    pushed = robot.tree.model.wrenches(wrenches)
    smooth = robot.with_continuous_friction(q[robot.joints], h / steps)
    work, J = np.zeros((WORK, max(n, r))), np.zeros((r, n))
    fixed = (smooth.tree.model.workspaces.new(), robot.assembly.all_rows, springs, motors, robot.assembly.active, q, v)

    def run(drives: Floats, part: slice, hold: int = 1) -> int:
        return int(
            compiled_call(
                sprung_run, *fixed, drives, hold, pushed, h / steps, steps, RUNGE_KUTTA[method], work, J, out[part],
                gaps[part], forces[part],
            )
        )  # fmt: skip

    if of_time(drive):
        table = half_step_table(drive, robot.n, 0.0, h / steps, (m - 1) * steps)
        held[:] = table[:: 2 * steps]
        filled = run(table, slice(0, m), 0)
    elif callable(drive):
        filled = _by_function(robot, drive, run, out, forces, held, h)
    else:
        table = drive_table(drive, robot.n)
        held[:] = table[np.minimum(np.maximum(np.arange(m) - 1, 0), len(table) - 1)]
        filled = run(table, slice(0, m))
    failure = ""
    if filled < m:
        end = max(filled - 1, 0) * h
        failure = f"{robot.name}: the motion is not finite after t = {end:.6g} s; what went before is kept"
    t, a = np.arange(filled) * h, robot.joints
    all_q, all_qd, all_qdd = (np.ascontiguousarray(out[:filled, i]) for i in range(3))
    return SpringResult(
        t, all_q[:, a], all_qd[:, a], all_qdd[:, a], forces[:filled], held[:filled], failure,
        all_q=all_q, all_qd=all_qd, gap=gaps[:filled], k=springs[0], b=springs[1], step=h / steps,
    )  # fmt: skip


def _by_function(
    robot: LoopRobot,
    drive: Callable[..., Any],
    run: Callable[[Floats, slice], int],
    out: Floats,
    forces: Floats,
    held: Floats,
    h: float,
) -> int:
    a = robot.joints
    if run(np.zeros((1, robot.n)), slice(0, 1)) < 1:
        return 0
    for i in range(len(out)):
        first = max(i - 1, 0)
        now = drive_table(drive(first * h, out[first, Q, a], out[first, QD, a]), robot.n)[:1]
        kept = out[first].copy(), forces[first].copy()
        if run(now, slice(first, i + 1)) < i + 1 - first:
            return i
        if first > 0:
            out[first], forces[first] = kept  # under the drive that led there, not under the next one
        held[i] = now
    return len(out)


def _prepared(
    robot: LoopRobot,
    q0: Any,
    qd0: Any,
    drive: Any,
    by_motors: bool,
    h: float,
    k: Any,
    b: Any,
    substeps: int | None,
    preloaded: bool,
) -> tuple[Floats, Floats, Floats, int]:
    """Springs (2, r), the state (n,), (n,) of all joints at the start, and the steps within h."""
    q, v, closed = _start(robot, q0, qd0)
    J = robot.assembly.terms(robot.assembly.all_rows, q, v)[1]
    M = robot.tree.mass_matrix(q)
    require_masses(robot, M)
    r = len(J)
    if k is None:
        substeps = steps_within(h, SUBSTEPS if substeps is None else substeps)
        groups = 2 * np.array(robot.assembly.owners) + robot.assembly.all_rows[:, TYPE].astype(int)
        stiffness = default_stiffness(M, J, groups, h / substeps)
    else:
        stiffness = per_row("k", k, r, True)
    damping = default_damping(M, J, stiffness) if b is None else per_row("b", b, r)
    rate = fastest_rate(M, J, stiffness, damping)
    steps = steps_within(h, substeps, rate)
    if rate * h / steps > LARGEST_RADIUS:
        raise InputError(
            f"{robot.name}: springs with rates of {rate:.3g}/s need steps below {LARGEST_RADIUS / rate:.3g} s,"
            f" found {h / steps:.3g} s"
        )
    if closed and preloaded:
        at_once = drive(0.0) if of_time(drive) else None if callable(drive) else drive
        first = drive_table(at_once, robot.n)[0]
        if by_motors:
            first = robot.actuation.torques(first, v[robot.joints])[0]
        reactions = np.concatenate(list(robot.reactions(q[robot.joints], v[robot.joints], first).values()))
        q += preload(J, stiffness, reactions, robot.assembly.free)
    return np.array([stiffness, damping]), q, v, steps


def _start(robot: LoopRobot, q0: Any, qd0: Any) -> tuple[Floats, Floats, bool]:
    """State of all joints, and whether it was closed for the caller."""
    n = robot.mechanism.n
    q = robot.neutral() if q0 is None else np.asarray(q0, float)
    if q.shape == (n,) and n != robot.n:
        v = np.zeros(n) if qd0 is None else np.asarray(qd0, float)
        if v.shape != (n,) or not (np.isfinite(q).all() and np.isfinite(v).all()):
            raise InputError(f"{robot.name}: q0 of all {n} joints needs qd0 ({n},) too, both finite")
        return q.copy(), v.copy(), False
    at = robot.closed(q, qd0)
    return at.q.copy(), at.qd.copy(), True
