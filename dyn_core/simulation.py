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
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .errors import ClosureError, InputError, SimulationError, SingularityError
from .fastcall import never
from .integration import (
    DRIVE,
    FIXED_STEP,
    GENERAL,
    QD,
    QDD,
    RUNGE_KUTTA,
    TAU,
    WORK,
    Integrator,
    both_rates,
    move,
    tree_slope,
)
from .jit import compiled_call
from .loop_robot import LoopRobot
from .loops.motion import REASON, TIME, closed_rows
from .mechanism import Floats
from .robot import Robot
from .tree.record import FV, IA, NOT_FINITE

ADAPTIVE = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
MOST_EVALUATIONS = 100_000
"""Of the accelerations, that an adaptive method may take for a step, on average."""
NO_MOTORS = np.zeros((0, 10))
NO_WRENCHES = np.zeros((0, 6))

AT_ONCE = 1000  # rows computed without looking up

State = tuple[Floats, Floats, Floats, Floats]  # q, v, vd, tau
Held = tuple[Floats, int]  # rows of the drive, and for how many steps each is held


@dataclass(frozen=True)
class Singularity:
    """Where closed chains came to a configuration in which the active joints do not determine the passive ones."""

    t: float
    """s."""
    q: Floats
    """(n of the tree,) positions of all joints, just before."""
    loop: str


class _Kernels:
    """Integration by the tree's compiled kernels. motors: as packed by Actuation, NO_MOTORS for joint forces."""

    singularity: Singularity | None = None

    def __init__(self, robot: Robot, motors: Floats, method: str, h: float) -> None:
        self.robot, self.record, self.motors = robot, robot._record.copy(), motors
        if method == "euler":
            self.record[1:, IA] += h * self.record[1:, FV]
        self.own = GENERAL if method in ADAPTIVE else robot.integrator(self.record[1:, IA])
        self.work = np.zeros((WORK, robot.nq))

    def fast_step(self, state: State, drive: Floats, h: float, method: str) -> Any:
        """A fast call f(drive) that moves the state's q and v (and drive) on by a step; f() follows with vd and tau.

        The answer is None where a step fails; where the call cannot be had, always.
        """
        if self.robot.nq != self.robot.n:
            return never
        further = self.motors, *state, drive, self.work, FIXED_STEP[method], np.array([h])
        return self.own.step.bind(self.record, (self.robot.n,), *further)

    def pushed(self, wrenches: Any) -> Any:
        """The wrenches as `advance` and `slope` take them."""
        return NO_WRENCHES if wrenches is None else self.robot._body_wrenches(wrenches, ())

    def advance(self, state: State, drive: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        """Move the state (q, v, vd, tau) on by steps of h with the drive held; returns how many succeeded."""
        call, table = self._integrator(pushed).steps, FIXED_STEP[method]
        return compiled_call(call, self.record, self.motors, *state, drive, pushed, h, steps, table, self.work)

    def slope(self, start: Floats, x: Floats, v: Floats, drive: Floats, pushed: Any) -> Floats:
        """(2 nv,) rates of the displacement x from start and of the velocity v."""
        out = np.empty(2 * len(v))
        compiled_call(
            tree_slope, self.record, self.motors, start, x, v, drive, pushed, self.work, out[: len(v)], out[len(v) :]
        )
        return out

    def rows(
        self, state: State, held: Held, pushed: Any, h: float, method: str, first: int, rows_q: Floats, rows: Floats
    ) -> int:
        """Fill rows of a Result, the first with the state as it stands after `first` steps; returns how many."""
        call, table = self._integrator(pushed).rows, FIXED_STEP[method]
        return compiled_call(
            call, self.record, self.motors, *state, *held, pushed, h, table, self.work, first, rows_q, rows
        )

    def _integrator(self, pushed: Floats) -> Integrator:
        """The robot's own; with wrenches, which only the general kernels know, theirs."""
        return GENERAL if len(pushed) else self.own


class _Closed:
    """The same for closed chains, by projection (the state is that of the active joints) or by multipliers (of all)."""

    def __init__(self, robot: LoopRobot, motors: Floats) -> None:
        self.robot, self.record, self.motors = robot, robot.tree._record.copy(), motors
        self.loops = robot.motion()
        self.singularity: Singularity | None = None
        self._no_rows = np.empty((0, robot.n)), np.empty((0, 4, robot.n))

    def pushed(self, wrenches: Any) -> Any:
        return NO_WRENCHES if wrenches is None else self.robot.tree._body_wrenches(wrenches, ())

    def advance(self, state: State, drive: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        return self._run(state, (drive[None], 1), pushed, h, 0, steps, method, *self._no_rows)

    def rows(
        self, state: State, held: Held, pushed: Any, h: float, method: str, first: int, rows_q: Floats, rows: Floats
    ) -> int:
        return self._run(state, held, pushed, h, first, len(rows) - 1, method, rows_q, rows) + 1

    def _run(
        self, state: State, held: Held, pushed: Any, h: float, first: int, steps: int, method: str, *rows: Floats
    ) -> int:
        table = RUNGE_KUTTA[method]
        done = -1
        while True:
            past = max(done, 0)
            ahead = (first + past, steps - past, table, *(each[past:] for each in rows))
            more = compiled_call(closed_rows, self.record, self.loops, self.motors, *state, *held, pushed, h, *ahead)
            done = past + more if more >= 0 else done
            if done == steps or self.loops.watch[REASON] == NOT_FINITE:
                break
            if not self.robot.rechart(self.record, self.loops, state[0]):
                break
        self.singularity = None
        if done < steps and self.loops.watch[REASON] != NOT_FINITE:
            q = self.robot.in_chart(self.record, self.loops.kept[2])
            t = max(done, 0) * h + float(self.loops.watch[TIME])
            self.singularity = Singularity(t, q, self.robot.weakest_loop(q))
        return done

    def slope(self, start: Floats, x: Floats, v: Floats, drive: Floats, pushed: Any) -> Floats:
        vd = np.empty(len(v))
        done = self.advance((start + x, v.copy(), vd, np.empty(len(v))), drive, pushed, 1.0, 0, "rk4")
        if done < 0:
            raise SingularityError(f"{self.robot.name}: the loops cannot be closed")
        return np.append(v, vd)


class _Public:
    """The same through a robot's own `forward_dynamics`, for robots whose dynamics are not those of the tree alone."""

    def __init__(self, robot: Robot, motors: Floats) -> None:
        self.robot, self.driven_by_motors = robot, len(motors) > 0
        self.singularity: Singularity | None = None

    def pushed(self, wrenches: Any) -> Any:
        return wrenches

    def acceleration(self, q: Floats, v: Floats, drive: Floats, pushed: Any) -> tuple[Floats, Floats]:
        """Forces (nv,) and accelerations (nv,)."""
        tau = np.zeros(len(v))
        speeds = v[-len(drive) :]
        tau[-len(drive) :] = self.robot.actuation.torques(drive, speeds)[0] if self.driven_by_motors else drive
        return tau, self.robot.forward_dynamics(q, v, tau, pushed)

    def advance(self, state: State, drive: Floats, pushed: Any, h: float, steps: int, method: str) -> int:
        q, v, vd, tau = state
        start = self.acceleration(q, v, drive, pushed)  # bad arguments show here, before anything moves
        for done in range(steps):
            try:
                with np.errstate(all="ignore"):
                    end = self._step(q, v, start[1], drive, pushed, h, RUNGE_KUTTA[method])
                    start = self.acceleration(*end, drive, pushed)
            except InputError:
                steps = done
                break
            except (SingularityError, ClosureError):
                self.singularity = _singularity(self.robot, q, done * h)
                steps = done
                break
            q[:], v[:] = end
        tau[:], vd[:] = start
        return steps

    def _step(
        self, q: Floats, v: Floats, vd: Floats, drive: Floats, pushed: Any, h: float, table: Floats
    ) -> tuple[Floats, Floats]:
        stages = table.shape[1]
        slopes = np.empty((stages, 2 * len(v)))
        x, u, configuration = np.zeros(len(v)), v, q
        for i in range(stages):
            if i > 0:
                _, vd = self.acceleration(configuration, u, drive, pushed)
            slopes[i] = _both_rates(configuration, x, u, vd)
            change = h * table[i + 1, : i + 1] @ slopes[: i + 1]
            x, u = change[: len(v)], v + change[len(v) :]
            configuration = _moved(q, x)
        return configuration, u

    def slope(self, start: Floats, x: Floats, v: Floats, drive: Floats, pushed: Any) -> Floats:
        q = _moved(start, x)
        return _both_rates(q, x, v, self.acceleration(q, v, drive, pushed)[1])


def _singularity(robot: Robot, q: Floats, t: float) -> Singularity | None:
    """Where a robot's motion ended after q, if its chains are closed."""
    if not isinstance(robot, LoopRobot):
        return None
    at = robot.all_positions(q)
    return Singularity(t, at, robot.weakest_loop(at))


def _moved(q: Floats, x: Floats) -> Floats:
    out = np.empty(len(q))
    compiled_call(move, q, x, out)
    return out


def _both_rates(q: Floats, x: Floats, v: Floats, vd: Floats) -> Floats:
    out = np.empty(2 * len(v))
    compiled_call(both_rates, q, x, v, vd, out[: len(v)], out[len(v) :])
    return out


def _engine(robot: Robot, motors: Floats, method: str, h: float) -> _Kernels | _Closed | _Public:
    if robot.compiled:
        return _Kernels(robot, motors, method, h)
    if method == "euler":
        raise InputError(f"{robot.name} is not a tree of independent joints, which 'euler' is for; use rk3 or rk4")
    if isinstance(robot, LoopRobot) and (
        robot.formulation == "projection" or (robot.formulation == "multipliers" and method not in ADAPTIVE)
    ):
        return _Closed(robot, motors)
    return _Public(robot, motors)


class _TooMuchWork(Exception):
    """An adaptive method took more evaluations than it may."""


class Stepper:
    """A robot that moves step by step; the state stays at its last finite value when it cannot go on.

    drive is the motors' voltages, or the joint torques for a robot described without motors (or if torque is asked
    for). Coulomb friction is made continuous over the speed that it could reverse within one step, which keeps a robot
    at rest from chattering; a joint held by friction creeps at a small part of that speed.
    """

    def __init__(
        self,
        robot: Robot,
        q0: Any = None,
        qd0: Any = None,
        h: float = 1e-3,
        method: str = "rk3",
        torque_driven: bool | None = None,
    ) -> None:
        if not (np.isfinite(h) and h > 0.0):
            raise InputError(f"the step h must be a positive number of seconds, found {h}")
        if method not in FIXED_STEP and method not in ADAPTIVE:
            raise InputError(f"no method '{method}'; there are {', '.join((*FIXED_STEP, *ADAPTIVE))}")
        self.robot = robot
        self.h = float(h)
        self.method = method
        driven = robot.mechanism.motors is None if torque_driven is None else torque_driven
        self.torque_driven = driven
        self._motors = NO_MOTORS if driven else robot.actuation.motors
        self._q, self._qd = robot.neutral(), np.zeros(robot.nv)
        self._qdd, self._tau = np.zeros(robot.nv), np.zeros(robot.nv)
        self._drive = np.zeros(robot.n)
        self.reset(q0, qd0)
        smooth = robot.with_continuous_friction(self.q, self.h)
        self._engine = _engine(smooth, self._motors, method, self.h)
        self._fast_step = never
        if isinstance(self._engine, _Kernels) and method in FIXED_STEP:
            self._fast_step = self._engine.fast_step(self._state, self._drive, self.h, method)

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
        if steps == 1 and wrenches is None and self._fast_step(drive) is not None:
            self._steps_done += 1
            self._stale = True
            return
        if np.shape(drive) != self._drive.shape:
            raise InputError(f"the drive has shape {np.shape(drive)}, expected {self._drive.shape}")
        self._drive[:] = drive
        self._stale = False
        pushed = self._engine.pushed(wrenches)
        self._since = self.t
        if self.method in FIXED_STEP:
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
        go_on: Callable[[float], bool] | None = None,
    ) -> Result:
        """Advance by `steps` steps with a row of the drive held for `hold` of them, and keep every step.

        drive: (n,), (k, n), or a function f(t, q, qd); wrenches too may be a function, as in `simulate`. go_on(t) is
        asked now and then whether to go on from t. The first row is the present state.
        """
        before, m = self._steps_done, steps + 1
        t = (before + np.arange(m)) * self.h
        rows_q, rows = np.zeros((m, self.robot.nq)), np.zeros((m, 4, self.robot.nv))
        ask = (lambda _: True) if go_on is None else go_on
        run = _run_function if callable(drive) or callable(wrenches) else _run_table
        with np.errstate(all="ignore"):  # of kernels that are not compiled: a motion that is not finite is told below
            filled, asked_to_stop = run(self, drive, hold, wrenches, ask, rows_q, rows)
        self._steps_done = before + max(0, filled - 1)
        failure = "" if filled == m else self.stopped() if asked_to_stop else self.failure(self.t)
        qd, qdd, tau, held = (np.ascontiguousarray(rows[:filled, i]) for i in range(4))
        n = self.robot.n
        found = None if asked_to_stop else self.singularity
        return Result(t[:filled], rows_q[:filled], qd, qdd, tau[:, -n:], held[:, -n:], failure, found)

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
        """Accelerations and torques of the present state, which a fast step leaves to whoever asks for them."""
        if self._stale:
            self._stale = False
            self._fast_step()

    @property
    def _state(self) -> State:
        return self._q, self._qd, self._qdd, self._tau

    def _adaptive(self, steps: int, pushed: Any) -> int:
        from scipy.integrate import solve_ivp

        nv = self.robot.nv
        start = self._q.copy()
        calls = itertools.count(1)

        def slope(_: float, state: Floats) -> Floats:
            if next(calls) > MOST_EVALUATIONS * steps:
                raise _TooMuchWork
            state = np.ascontiguousarray(state)
            return self._engine.slope(start, state[:nv], state[nv:], self._drive, pushed)

        with np.errstate(all="ignore"):
            try:
                answer = solve_ivp(
                    slope, (0.0, steps * self.h), np.append(np.zeros(nv), self._qd), self.method, rtol=1e-10, atol=1e-12
                )
            except (SingularityError, ClosureError):
                self._engine.singularity = _singularity(self.robot, start, 0.0)
                return 0
            except _TooMuchWork:
                self._too_much_work = True
                return 0
        end = np.ascontiguousarray(answer.y[:, -1])
        if not answer.success or not np.isfinite(end).all():
            return 0
        self._q[:], self._qd[:] = _moved(start, end[:nv]), end[nv:]
        self._engine.advance(self._state, self._drive, pushed, self.h, 0, "rk4")
        return steps


@dataclass(frozen=True)
class Result:
    """A simulated motion: one row per step of h, from t = 0."""

    t: Floats
    """(m,) s."""
    q: Floats
    """(m, n); (m, 7 + n) on a floating base."""
    qd: Floats
    """(m, n); (m, 6 + n) on a floating base."""
    qdd: Floats
    """As qd."""
    tau: Floats
    """(m, n) joint torques of the motors."""
    drive: Floats
    """(m, n) volts (or torques) held up to this row."""
    failure: str = ""
    """Why the simulation ended early; empty if it did not."""
    singularity: Singularity | None = None
    """Where closed chains became singular, if that ended it."""


Drive = Callable[[float, Floats, Floats], Any]
GoOn = Callable[[float], bool]


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
) -> Result:
    """Simulate a robot driven by volts (or by joint torques), held over each DAC period.

    volts or torques: (n,) held throughout; (k, n), one row per DAC period (the last is held on); or a function
    f(t, q, qd) called at the start of each DAC period. Neither: zero volts, or zero torque for a robot without motors.
    method: "rk3", "rk4", "euler" (trees only), or one of scipy's adaptive ones, see ADAPTIVE.
    dac_period: s, a whole number of steps h; h if not given. wrenches: as in `Robot.inverse_dynamics`, held throughout,
    or a function f(t, q, qd) called at every step, for what the environment does to the links. go_on(t): asked now and
    then, as the motion reaches t, whether to go on. A motion that cannot go on, or shall not, ends early with
    `failure`, and what was computed is kept.
    """
    if volts is not None and torques is not None:
        raise InputError("give either volts or torques, not both")
    if not (np.isfinite(duration) and duration >= 0.0):
        raise InputError(f"the duration must be a number of seconds not below zero, found {duration}")
    driven = True if torques is not None else False if volts is not None else None
    stepper = Stepper(robot, q0, qd0, h, method, torque_driven=driven)
    hold = steps_per_period(h if dac_period is None else dac_period, h)
    drive = torques if torques is not None else volts
    return stepper.record(drive, round(duration / h), hold, wrenches, go_on)


def steps_per_period(dac_period: float, h: float) -> int:
    """How many steps of h (s) a DAC period (s) is; InputError where it is not a whole number of them."""
    ratio = dac_period / h
    hold = round(ratio) if np.isfinite(ratio) else 0
    if hold < 1 or abs(hold * h - dac_period) > 1e-9 * dac_period:
        raise InputError(f"the DAC period {dac_period:g} s is not a whole number of steps of {h:g} s")
    return hold


def _run_function(
    stepper: Stepper, drive: Any, hold: int, wrenches: Any, go_on: GoOn, rows_q: Floats, rows: Floats
) -> tuple[int, bool]:
    """How many rows were filled, and whether it was asked to stop then."""
    read = drive if callable(drive) else _reader(_table(stepper, drive))
    push = wrenches if callable(wrenches) else lambda *_: wrenches
    held = np.zeros(stepper.robot.n)
    pushed = None
    for k in range(len(rows)):
        try:
            stepper.step(held, steps=min(k, 1), wrenches=pushed)
        except SimulationError:
            return k, False
        pushed = push(stepper.t, stepper.q, stepper.qd)
        if k % hold == 0:
            held = np.asarray(read(stepper.t, stepper.q, stepper.qd), float)
        if k == 0:
            stepper.step(held, steps=0, wrenches=pushed)
        rows_q[k] = stepper.q
        stepper._evaluate()
        rows[k, QD], rows[k, QDD], rows[k, TAU] = stepper._qd, stepper._qdd, stepper._tau
        rows[k, DRIVE, -stepper.robot.n :] = stepper.drive
        if k + 1 < len(rows) and not go_on(stepper.t):
            return k + 1, True
    return len(rows), False


def _run_table(
    stepper: Stepper, drive: Any, hold: int, wrenches: Any, go_on: GoOn, rows_q: Floats, rows: Floats
) -> tuple[int, bool]:
    table = _table(stepper, drive)
    engine = stepper._engine
    if stepper.method in ADAPTIVE or isinstance(engine, _Public):
        return _run_function(stepper, _reader(table), hold, wrenches, go_on, rows_q, rows)
    pushed = engine.pushed(wrenches)
    stepper._stale = False
    start, h, m, first = stepper.t, stepper.h, len(rows), 0
    while True:
        end = min(first + AT_ONCE, m - 1) + 1
        stepper._since = start + first * h
        part_q, part = rows_q[first:end], rows[first:end]
        done = engine.rows(stepper._state, (table, hold), pushed, h, stepper.method, first, part_q, part)
        if done > 0:
            stepper._drive[:] = part[done - 1, DRIVE, -stepper.robot.n :]
        if first + done < end or end == m:
            return first + done, False
        first = end - 1
        if not go_on(start + first * h):
            return end, True


def _table(stepper: Stepper, drive: Any) -> Floats:
    n = stepper.robot.n
    table = np.zeros(n) if drive is None else np.asarray(drive, float)
    if table.ndim not in (1, 2) or table.shape[-1] != n or len(table) == 0 or not np.isfinite(table).all():
        raise InputError(f"the drive has shape {table.shape}, expected ({n},) or (k, {n}) finite numbers")
    return np.array(np.atleast_2d(table), order="C")


def _reader(table: Floats) -> Drive:
    rows = iter(table)
    last = table[-1]
    return lambda *_: next(rows, last)
