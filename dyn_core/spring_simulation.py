"""Simulation of closed chains whose cut joints are held by virtual springs and dampers, in all joints of the tree."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from .errors import InputError, SingularityError
from .jit import compiled_call
from .loop_robot import LoopRobot
from .loops.constraints import TYPE
from .loops.virtual_spring import (
    LARGEST_RADIUS,
    QD,
    RADIUS,
    Q,
    branch_acceleration,
    branches,
    default_damping,
    default_stiffness,
    fastest_rate,
    preload,
    spring_forces_on,
    sprung_run,
)
from .mechanism import Floats
from .simulation import NO_MOTORS, NO_WRENCHES, RUNGE_KUTTA, Result
from .tree.record import OK, PARENT

SUBSTEPS = 10  # within h, where neither they nor k are given


@dataclass(frozen=True)
class SpringResult(Result):
    """A motion with virtual springs. q, qd, qdd, tau and drive are those of the active joints, as in `simulate`."""

    all_q: Floats = None  # type: ignore[assignment]
    """(m, n of the tree) positions of all joints: the springs leave the passive ones free."""
    all_qd: Floats = None  # type: ignore[assignment]
    """(m, n of the tree)."""
    gap: Floats = None  # type: ignore[assignment]
    """(m, r) phi, what each spring gives way by: m, or rad for the rows that hold an orientation."""
    k: Floats = None  # type: ignore[assignment]
    """(r,) N/m or N m/rad."""
    b: Floats = None  # type: ignore[assignment]
    """(r,) N s/m or N m s/rad."""
    step: float = 0.0
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
    are. volts or torques, h and wrenches: as in `simulate`; the drive is held over h. k: N/m (N m/rad for rows that
    hold an orientation), one number or one per constraint row; if not given, as stiff as the step allows, k ~ 1/step^2.
    b: N s/m, likewise; if not given, critical for the fastest spring; 0 for none. substeps: steps of the integrator
    within h; if not given, ten, or as many as a given k needs. preloaded: a closed start is eased open to
    Delta = F / k, which keeps the springs from ringing; a start of all joints never is.
    """
    springs, q, v, steps = _prepared(robot, q0, qd0, volts, torques, h, k, b, substeps, preloaded)
    if volts is not None and torques is not None:
        raise InputError("give either volts or torques, not both")
    if not (np.isfinite(duration) and duration >= 0.0):
        raise InputError(f"the duration must be a number of seconds not below zero, found {duration}")
    if method not in RUNGE_KUTTA:
        raise InputError(f"springs are simulated by {' or '.join(RUNGE_KUTTA)}, found {method!r}")
    by_torque = torques is not None or (volts is None and robot.mechanism.motors is None)
    motors = NO_MOTORS if by_torque else robot.actuation.motors
    drive = torques if torques is not None else volts
    m, n, r = round(duration / h) + 1, robot.mechanism.n, len(robot._all_rows)
    out, gaps, forces, held = np.zeros((m, 3, n)), np.zeros((m, r)), np.zeros((m, robot.n)), np.zeros((m, robot.n))
    pushed = NO_WRENCHES if wrenches is None else robot.tree._body_wrenches(wrenches, ())
    smooth = robot.with_continuous_friction(q[robot.joints], h / steps)
    work, J = np.zeros((5 + 2 * 4, max(n, r))), np.zeros((r, n))
    fixed = (smooth.tree._record, robot._all_rows, springs, motors, robot._active, q, v)

    def run(drives: Floats, part: slice) -> int:
        return int(
            compiled_call(
                sprung_run, *fixed, drives, pushed, h / steps, steps, RUNGE_KUTTA[method], work, J, out[part],
                gaps[part], forces[part],
            )
        )  # fmt: skip

    if callable(drive):
        filled = _by_function(robot, drive, run, out, forces, held, h)
    else:
        table = _table(robot, drive)
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
        now = _table(robot, drive(first * h, out[first, Q, a], out[first, QD, a]))[:1]
        kept = out[first].copy(), forces[first].copy()
        if run(now, slice(first, i + 1)) < i + 1 - first:
            return i
        if first > 0:
            out[first], forces[first] = kept  # under the drive that led there, not under the next one
        held[i] = now
    return len(out)


def _table(robot: LoopRobot, drive: Any) -> Floats:
    table = np.zeros(robot.n) if drive is None else np.asarray(drive, float)
    if table.ndim not in (1, 2) or table.shape[-1] != robot.n or len(table) == 0 or not np.isfinite(table).all():
        raise InputError(f"the drive has shape {table.shape}, expected ({robot.n},) or (k, {robot.n}) finite numbers")
    return np.array(np.atleast_2d(table), order="C")


def _prepared(
    robot: LoopRobot,
    q0: Any,
    qd0: Any,
    volts: Any,
    torques: Any,
    h: float,
    k: Any,
    b: Any,
    substeps: int | None,
    preloaded: bool,
) -> tuple[Floats, Floats, Floats, int]:
    """Springs (2, r), the state (n,), (n,) of all joints at the start, and the steps within h."""
    if not (np.isfinite(h) and h > 0.0):
        raise InputError(f"the step h must be a positive number of seconds, found {h}")
    if substeps is not None and substeps < 1:
        raise InputError(f"substeps must be at least one, found {substeps}")
    q, v, closed = _start(robot, q0, qd0)
    J = robot._terms(robot._all_rows, q, v)[1]
    M = robot.tree.mass_matrix(q)
    r = len(J)
    if k is None:
        substeps = substeps or SUBSTEPS
        groups = 2 * np.array(robot._owners) + robot._all_rows[:, TYPE].astype(int)
        stiffness = default_stiffness(M, J, groups, h / substeps)
    else:
        stiffness = _per_row("k", k, r, allow_zero=False)
    damping = default_damping(M, J, stiffness) if b is None else _per_row("b", b, r, allow_zero=True)
    rate = fastest_rate(M, J, stiffness, damping)
    steps = substeps or max(1, ceil(h * rate / RADIUS * (1.0 - 1e-6)))
    if rate * h / steps > LARGEST_RADIUS:
        raise InputError(
            f"{robot.name}: springs with rates of {rate:.3g}/s need steps below {LARGEST_RADIUS / rate:.3g} s,"
            f" found {h / steps:.3g} s"
        )
    if closed and preloaded:
        drive = torques if torques is not None else volts
        first = np.zeros(robot.n) if callable(drive) else _table(robot, drive)[0]
        if torques is None and robot.mechanism.motors is not None:
            first = robot.actuation.torques(first, v[robot.joints])[0]
        reactions = np.concatenate(list(robot.reactions(q[robot.joints], v[robot.joints], first).values()))
        q += preload(J, stiffness, reactions, np.flatnonzero(~robot.mechanism.active))
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


def _per_row(name: str, value: Any, r: int, allow_zero: bool) -> Floats:
    try:
        array = np.broadcast_to(np.asarray(value, float), (r,)).copy()
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number or one per constraint row ({r},), found {value!r:.80}") from None
    if not np.isfinite(array).all() or (array < 0.0).any() or not (allow_zero or (array > 0.0).all()):
        allowed = "not negative" if allow_zero else "positive"
        raise InputError(f"{name} must be finite and {allowed}, found {value!r:.80}")
    return array


class ParallelBranches:
    """The accelerations of (41) with every branch of the base solved in a thread of its own.

    The branches meet in the springs' forces only, which are computed first. Handing a branch over costs more than
    solving it unless it is long: see docs/virtual_springs.md for where it pays.
    """

    def __init__(self, robot: LoopRobot, k: Any, b: Any = 0.0, threads: int | None = None) -> None:
        r = len(robot._all_rows)
        self.robot = robot
        self.k, self.b = _per_row("k", k, r, False), _per_row("b", b, r, True)
        self.blocks = branches(robot.mechanism)
        self._pool = None if threads == 1 else ThreadPoolExecutor(threads or len(self.blocks))
        self._records = [_branch_record(robot.tree._record, block) for block in self.blocks]
        self._phi, self._J = np.empty(r), np.empty((r, robot.mechanism.n))

    def accelerations(self, q: Floats, qd: Floats, tau: Floats) -> Floats:
        """qdd (n,) of all joints under forces tau (n,) of the tree's joints."""
        total, qdd = tau.copy(), np.empty(len(q))
        compiled_call(
            spring_forces_on, self.robot.tree._record, self.robot._all_rows, self.k, self.b, q, qd, self._phi,
            self._J, total,
        )  # fmt: skip

        def solve(i: int) -> int:
            block = self.blocks[i]
            out = np.empty(len(block))
            status = compiled_call(branch_acceleration, self._records[i], q[block], qd[block], total[block], out)
            qdd[block] = out
            return int(status)

        each = range(len(self.blocks))
        answers = map(solve, each) if self._pool is None else self._pool.map(solve, each)
        if max(answers) != OK:
            raise SingularityError(f"{self.robot.name}: a joint moves no inertia at all, or the state is not finite")
        return qdd


def _branch_record(record: Floats, block: Any) -> Floats:
    """The record of one branch alone."""
    own = record[np.append(0, block + 1)].copy()
    rows = np.zeros(len(record))
    rows[block + 1] = np.arange(1, len(block) + 1)
    own[1:, PARENT] = rows[own[1:, PARENT].astype(int)]
    return own
