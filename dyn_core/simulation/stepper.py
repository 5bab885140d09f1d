"""Forward simulation of a robot with its motors.

Over a DAC period the voltage (or, for a robot without motors, the joint torque) is held, while the motors' back EMF
follows the speed at every stage of the integrator. Fixed-step integrators are compiled; scipy's adaptive ones serve
for reference. Swartz's third-order Runge-Kutta, F being the joint acceleration:

    c1 = qd              k1 = F(q, c1)
    c2 = qd + h/2 k1     k2 = F(q + h/2 c1, c2)
    c3 = qd - h k1 + 2h k2     k3 = F(q - h c1 + 2h c2, c3)
    q += h/6 (c1 + 4 c2 + c3)      qd += h/6 (k1 + 4 k2 + k3)

Semi-implicit Euler, with one evaluation per step, takes viscous friction at the end of the step (and nothing else, as
MuJoCo's Euler does). With the bias at the start, which includes friction:

    (H + h diag(Fv)) k = tau - bias      qd += h k      q += h qd

where k is had from the same recursion, with the rotor inertias Ia + h Fv.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.tree.integrators import DRIVE, FIXED_STEP, QD, QDD, RUNGE_KUTTA, TAU
from dyn_core.errors import InputError, SimulationError, StepSizeWarning
from dyn_core.jit.native_call import never
from dyn_core.robots.configuration import Configuration
from dyn_core.robots.engine import Singularity, State
from dyn_core.robots.robot import Robot

from .drive import check_times, drive_table, half_step_table, motors_of, of_time, prepared, steps_per_period
from .engines import engine_of, moved, singularity_at
from .result import SimulationResult
from .singularity_watch import Motion, watched
from .step_error import StepErrors
from .step_error import warning as step_warning

ADAPTIVE = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
MOST_EVALUATIONS = 100_000
"""Of the accelerations, that an adaptive method may take for a step, on average."""
GoOn = Callable[[float], bool]
"""Asked now and then whether a motion shall go on from t (s)."""


class _TooMuchWork(Exception):
    """An adaptive method took more evaluations than it may."""


class Stepper:
    """A robot that moves step by step; the state stays at its last finite value when it cannot go on.

    drive is the motors' voltages, or the joint torques for a robot described without motors (or if torque is asked
    for). Coulomb friction is made continuous over the speed that it could reverse within one step, which keeps a robot
    at rest from chattering; a joint held by friction creeps at a small part of that speed. near: a configuration that
    says on which branch of closed chains q0 is.
    """

    def __init__(
        self,
        robot: Robot,
        q0: Any = None,
        qd0: Any = None,
        h: float = 1e-3,
        method: str = "rk3",
        torque_driven: bool | None = None,
        near: Configuration | None = None,
    ) -> None:
        check_times(h)
        if method not in FIXED_STEP and method not in ADAPTIVE:
            raise InputError(f"no method '{method}'; there are {', '.join((*FIXED_STEP, *ADAPTIVE))}")
        self.robot = robot if near is None else robot.starting_at(near)
        self.h = float(h)
        self.method = method
        self._motors = motors_of(robot, torque_driven)
        self.torque_driven = len(self._motors) == 0
        self._q, self._qd = robot.neutral(), np.zeros(robot.nv)
        self._qdd, self._tau = np.zeros(robot.nv), np.zeros(robot.nv)
        self._drive = np.zeros(robot.n)
        self._follows: Any = None
        self._all: list[Floats] | None = None
        self._smooth: Robot | None = None
        self._native_step: Any = never
        self._native_evaluation: Any = never
        self.reset(q0, qd0)

    def reset(self, q0: Any = None, qd0: Any = None) -> None:
        """Start again at t = 0 from q0 (nq,) and qd0 (nv,): the neutral position, and rest, where not given."""
        start = self.robot.neutral() if q0 is None else q0
        speed = np.zeros(self.robot.nv) if qd0 is None else qd0
        lead, (q, qd) = self.robot.checked_state({"q0": start, "qd0": speed})
        if lead != ():
            raise InputError(f"q0 and qd0 must have shape ({self.robot.nq},) and ({self.robot.nv},)")
        self._q[:], self._qd[:] = q, qd
        self._qdd[:] = self._tau[:] = 0.0
        self._stale = self._too_much_work = False
        self._steps_done = 0
        self._since = 0.0
        start = self.robot.configuration(self._q)
        if self._smooth is None:
            self._smooth = self.robot.starting_at(start).with_continuous_friction(self._q, self.h)
        self._engine = engine_of(self._smooth.starting_at(start), self._motors, self.method, self.h)
        self._tracker = self.robot.tracker(start)
        if self.method in FIXED_STEP:
            calls = self._engine.native_calls(self._state, self._drive, self.h, self.method)
            self._native_step, self._native_evaluation = calls

    def all_joints(self) -> tuple[Floats, Floats]:
        """Positions and speeds (n of the mechanism,) of all joints now."""
        known = self._engine.all_joints()
        return self._tracker.all_joints(self._q, self._qd) if known is None else known

    def start_at(self, steps: int) -> None:
        """Count time as if this many steps had been taken before."""
        self._steps_done = steps
        self._since = self.t

    @property
    def t(self) -> float:
        """s since the start."""
        return self._steps_done * self.h

    @property
    def q(self) -> Floats:
        """(nq,) positions."""
        return self._q

    @property
    def qd(self) -> Floats:
        """(nv,) speeds."""
        return self._qd

    @property
    def qdd(self) -> Floats:
        """(nv,) accelerations at the present state under the last drive; by "euler" they last for a step."""
        self._evaluate()
        return self._qdd

    @property
    def tau(self) -> Floats:
        """(n,) joint torques of the motors at the present state under the last drive."""
        self._evaluate()
        return self._tau[-self.robot.n :]

    @property
    def drive(self) -> Floats:
        """(n,) the last volts (or torques) given."""
        return self._drive

    def step(self, drive: Any, steps: int = 1, wrenches: Any = None) -> None:
        """Advance by `steps` steps of h with the drive (n,) held; wrenches (n, 6) as in `Robot.inverse_dynamics`."""
        if steps == 1 and wrenches is None and self._follows is None and self._native_step(drive) is not None:
            self._steps_done += 1
            self._stale = True
            return
        if np.shape(drive) != self._drive.shape:
            raise InputError(f"the drive has shape {np.shape(drive)}, expected {self._drive.shape}")
        self._drive[:] = drive
        self._stale = False
        pushed = self._engine.pushed(wrenches)
        self._since = self.t
        if self.method in FIXED_STEP and self._follows is not None:
            done = self._follow(steps, pushed)
        elif self.method in FIXED_STEP:
            done = max(0, self._engine.advance(self._state, self._drive, pushed, self.h, steps, self.method))
        else:
            done = self._adaptive(steps, pushed)
        self._steps_done += done
        if done < steps:
            raise SimulationError(self.failure(self.t))

    def record(
        self,
        drive: Any,
        steps: int,
        hold: int = 1,
        wrenches: Any = None,
        go_on: GoOn | None = None,
        all_joints: bool = False,
    ) -> SimulationResult:
        """Advance by `steps` steps with a row of the drive held for `hold` of them, and keep every step.

        drive: (n,), (k, n), a function f(t, q, qd), or with hold = 0 a function f(t) that is followed within steps;
        wrenches too may be a function, as in `simulate`. go_on(t) is asked now and then whether to go on from t. The
        first row is the present state. all_joints: the result has `all_q`.
        """
        self._follows = drive if hold == 0 else None
        before, m = self._steps_done, steps + 1
        t = (before + np.arange(m)) * self.h
        rows_q, rows = np.zeros((m, self.robot.nq)), np.zeros((m, 4, self.robot.nv))
        ask = (lambda _: True) if go_on is None else go_on
        by_steps = (callable(drive) and hold > 0) or callable(wrenches) or all_joints or self.method in ADAPTIVE
        run = self._run_steps if by_steps else self._run_rows
        self._all = [] if all_joints else None
        fed_back = callable(drive) and hold > 0  # such a motion forgets errors, so that they do not add up
        errors = StepErrors(self.method, 0 if fed_back else steps)
        with np.errstate(all="ignore"):  # of kernels that are not compiled: a motion that is not finite is told below
            filled, asked_to_stop = run(drive, hold, wrenches, ask, rows_q, rows, errors)
        self._follows = None
        self._steps_done = before + max(0, filled - 1)
        failure = "" if filled == m else self.stopped() if asked_to_stop else self.failure(self.t)
        qd, qdd, tau, held = (np.ascontiguousarray(rows[:filled, i]) for i in range(4))
        n = self.robot.n
        found = None if asked_to_stop else self.singularity
        error = errors.estimate(filled - 1, self.h)
        warning = step_warning(self.robot, rows_q[:filled], error, self.h, self.method)
        motion = t[:filled], rows_q[:filled], qd, qdd, tau[:, -n:], held[:, -n:]
        return SimulationResult(*motion, failure, found, self._kept(), error, warning)

    def _kept(self) -> Floats | None:
        """(m, n of the mechanism) all joints of a recorded motion, if they were asked for."""
        kept, self._all = self._all, None
        return None if kept is None else np.array(kept)

    def stopped(self) -> str:
        """The sentence for a motion that was ended from outside."""
        return f"{self.robot.name}: stopped at t = {self.t:.6g} s, as asked"

    def failure(self, t: float) -> str:
        """The sentence for a motion that cannot go on after t."""
        if (found := self.singularity) is not None:
            at = ", ".join(f"{x:.6g}" for x in found.q)
            return (
                f"{self.robot.name}: loop '{found.loop}' comes to a singular configuration at"
                f" t = {found.t:.6g} s, near q = [{at}]; the state before it is kept"
            )
        if self._too_much_work:
            return (
                f"{self.robot.name}: {self.method} needs more than {MOST_EVALUATIONS} evaluations for a step of"
                f" {self.h:g} s after t = {t:.6g} s; the state before it is kept"
            )
        return f"{self.robot.name}: the motion is not finite after t = {t:.6g} s; the state before it is kept"

    @property
    def singularity(self) -> Singularity | None:
        """What ended the motion of closed chains, if it was that."""
        found = self._engine.singularity
        return None if found is None else replace(found, t=self._since + found.t)

    def _evaluate(self) -> None:
        """Accelerations and torques of the present state, which a native step leaves to whoever asks for them."""
        if self._stale:
            self._stale = False
            self._native_evaluation(self._drive)

    @property
    def _state(self) -> State:
        return self._q, self._qd, self._qdd, self._tau

    def _follow(self, steps: int, pushed: Any) -> int:
        """Steps with the drive followed within each; how many succeeded."""
        table = half_step_table(self._follows, self.robot.n, self.t, self.h, steps)
        rows_q, rows = np.empty((steps + 1, self.robot.nq)), np.empty((steps + 1, 4, self.robot.nv))
        filled = self._engine.rows(self._state, (table, 0), pushed, self.h, self.method, 0, rows_q, rows)
        self._drive[:] = table[2 * max(filled - 1, 0)]
        return max(0, filled - 1)

    def _adaptive(self, steps: int, pushed: Any) -> int:
        from scipy.integrate import solve_ivp

        nv = self.robot.nv
        start, begin = self._q.copy(), self.t
        calls = itertools.count(1)

        def slope(t: float, state: Floats) -> Floats:
            if next(calls) > MOST_EVALUATIONS * steps:
                raise _TooMuchWork
            state = np.ascontiguousarray(state)
            if self._follows is not None:
                self._drive[:] = self._follows(begin + t)
            return self._engine.slope(start, state[:nv], state[nv:], self._drive, pushed)

        def take(at: Motion, first: float, last: float) -> Motion:
            nonlocal start
            start = at[0].copy()
            span = first * steps * self.h, last * steps * self.h
            answer = solve_ivp(slope, span, np.append(np.zeros(nv), at[1]), self.method, rtol=1e-10, atol=1e-12)
            end = np.ascontiguousarray(answer.y[:, -1])
            if not answer.success or not np.isfinite(end).all():
                raise InputError("not finite")
            return moved(start, end[:nv]), end[nv:]

        before = self._q.copy(), self._qd.copy()
        with np.errstate(all="ignore"):
            try:
                end, passed = watched(take, self._tracker, before, steps * self.h)
            except InputError:
                return 0
            except _TooMuchWork:
                self._too_much_work = True
                return 0
        self._q[:], self._qd[:] = end
        if self._follows is not None:
            self._drive[:] = self._follows(begin + passed * steps * self.h)
        if passed == 1.0 and self._engine.advance(self._state, self._drive, pushed, self.h, 0, "rk4") == 0:
            return steps
        self._engine.singularity = singularity_at(self.robot, self._tracker, end[0], passed * steps * self.h)
        self._q[:], self._qd[:] = before
        return 0

    def _run_steps(
        self, drive: Any, hold: int, wrenches: Any, go_on: GoOn, rows_q: Floats, rows: Floats, errors: StepErrors
    ) -> tuple[int, bool]:
        """How many rows were filled, and whether it was asked to stop then."""
        table = iter([] if callable(drive) else drive_table(drive, self.robot.n))
        held = np.zeros(self.robot.n)
        follows = self._follows
        read = (lambda t, *_: follows(t)) if follows else drive if callable(drive) else lambda *_: next(table, held)
        push = wrenches if callable(wrenches) else lambda *_: wrenches
        pushed = None
        for k in range(len(rows)):
            sampled = k - 1 in errors.rows
            refined = self._refined(follows, self.t, held, self._engine.pushed(pushed)) if sampled else None
            try:
                self.step(held, steps=min(k, 1), wrenches=pushed)
            except SimulationError:
                return k, False
            if sampled:
                errors.add((self._q, self._qd), refined)
            pushed = push(self.t, self.q, self.qd)
            if k % max(hold, 1) == 0:
                held = np.asarray(read(self.t, self.q, self.qd), float)
            if k == 0:
                self.step(held, steps=0, wrenches=pushed)
            rows_q[k] = self.q
            if self._all is not None:
                self._all.append(self.all_joints()[0].copy())
            self._evaluate()
            rows[k, QD], rows[k, QDD], rows[k, TAU] = self._qd, self._qdd, self._tau
            rows[k, DRIVE, -self.robot.n :] = self.drive
            if k + 1 < len(rows) and not go_on(self.t):
                return k + 1, True
        return len(rows), False

    def _refined(self, follows: Any, t: float, drive: Floats, pushed: Any) -> tuple[Floats, Floats] | None:
        """q and v a step after t, more exactly, with the drive held, or followed if it is a function of time."""
        halves = (half_step_table(follows, self.robot.n, t, 0.5 * self.h, 2), 0) if follows else (drive[None], 1)
        return self._engine.refined(self._state, halves, pushed, self.h, self.method)

    def _run_rows(
        self, drive: Any, hold: int, wrenches: Any, go_on: GoOn, rows_q: Floats, rows: Floats, errors: StepErrors
    ) -> tuple[int, bool]:
        if hold == 0:
            table = half_step_table(drive, self.robot.n, self.t, self.h, len(rows) - 1)
        else:
            table = drive_table(drive, self.robot.n)
        engine = self._engine
        pushed = engine.pushed(wrenches)
        self._stale = False
        start, h, m, first, asked = self.t, self.h, len(rows), 0, 0
        follows = drive if hold == 0 else None
        sampled, refined = [*errors.rows, m], None
        while True:
            if first == sampled[0]:
                now = table[0 if follows else min(first // hold, len(table) - 1)]
                refined = self._refined(follows, start + first * h, now, pushed)
            last = next(k for k in sampled if k > first)
            end = min(asked + engine.at_once, m - 1, last) + 1
            self._since = start + first * h
            part_q, part = rows_q[first:end], rows[first:end]
            done = engine.rows(self._state, (table, hold), pushed, h, self.method, first, part_q, part)
            if done > 0:
                self._drive[:] = part[done - 1, DRIVE, -self.robot.n :]
            if first == sampled[0]:
                if done > 1:
                    errors.add((part_q[1], part[1, QD]), refined)
                del sampled[0]
            if first + done < end or end == m:
                return first + done, False
            first = end - 1
            if first == asked + engine.at_once:
                asked = first
                if not go_on(start + first * h):
                    return end, True


def simulate(
    robot: Robot,
    q0: Any = None,
    qd0: Any = None,
    duration: float = 1.0,
    volts: Any = None,
    torques: Any = None,
    h: float = 1e-3,
    method: str = "rk3",
    dac_period: float | None = None,
    wrenches: Any = None,
    go_on: GoOn | None = None,
    near: Configuration | None = None,
    through_singularities: bool = False,
) -> SimulationResult:
    """Simulate a robot driven by volts (or by joint torques), held over each DAC period, or followed within steps.

    volts or torques: (n,) held throughout; (k, n), one row per DAC period (the last is held on); a function f(t, q, qd)
    called at the start of each DAC period; or a function f(t) of time alone, which the integrator follows within its
    steps (unless a DAC period is given): fixed steps take it at their start, middle and end. Neither: zero volts, or
    zero torque for a robot without motors.
    method: "rk3", "rk4", "euler" (trees only), or one of scipy's adaptive ones, see ADAPTIVE of `dyn_core.simulation`.
    dac_period: s, a whole number of steps h; h if not given. wrenches: as in `Robot.inverse_dynamics`, held throughout,
    or a function f(t, q, qd) called at every step, for what the environment does to the links. go_on(t): asked now and
    then, as the motion reaches t, whether to go on. A motion that cannot go on, or shall not, ends early with
    `failure`, and what was computed is kept. Fixed steps that are too coarse for the motion bring a StepSizeWarning,
    which names better ones; the estimate is in `step_error`. near: of closed chains, a configuration on whose branch
    q0 is. through_singularities: closed chains move, by multipliers, on through dead points and other singularities,
    carried by their speed, with their loops closed; `all_q` of the result says where all joints are.
    """
    if through_singularities:
        robot = robot.through_singularities()
        if method not in RUNGE_KUTTA:
            raise InputError(f"singularities are passed with steps of {' or '.join(RUNGE_KUTTA)}, found {method!r}")
    drive, motors, rows = prepared(robot, volts, torques, h, duration)
    stepper = Stepper(robot, q0, qd0, h, method, len(motors) == 0, near)
    hold = steps_per_period(h if dac_period is None else dac_period, h)
    if of_time(drive):
        hold, drive = (0, drive) if dac_period is None else (hold, lambda t, q, qd, f=drive: f(t))
    result = stepper.record(drive, rows - 1, hold, wrenches, go_on, through_singularities)
    if result.warning:
        warnings.warn(result.warning, StepSizeWarning, stacklevel=2)
    return result
