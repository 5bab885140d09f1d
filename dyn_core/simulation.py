"""Forward simulation of a robot with its motors.

Over a DAC period the voltage (or, for a robot without motors, the joint torque) is held, while the motors' back EMF
follows the speed at every stage of the integrator. Fixed-step integrators are compiled; scipy's adaptive ones serve
for reference. Swartz's third-order Runge-Kutta, F being the joint acceleration:

    c1 = qd              k1 = F(q, c1)
    c2 = qd + h/2 k1     k2 = F(q + h/2 c1, c2)
    c3 = qd - h k1 + 2h k2     k3 = F(q - h c1 + 2h c2, c3)
    q += h/6 (c1 + 4 c2 + c3)      qd += h/6 (k1 + 4 k2 + k3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from .actuation import motor_torque
from .errors import InputError, SimulationError, SingularityError
from .jit import compiled_call, entry, kernel
from .mechanism import Floats
from .robot import Robot
from .tree.aba import articulated_bodies
from .tree.record import FS, OK, VS, start_fixed

FIXED_STEP = {"rk3": 3, "rk4": 4}
ADAPTIVE = ("RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA")
NO_MOTORS = np.zeros((0, 10))
NO_WRENCHES = np.zeros((0, 6))

Q, QD, QDD, TAU = range(4)  # rows of a state


@kernel
def acceleration(record, motors, q, qd, drive, wrenches, tau, qdd):
    """qdd at q, qd with the motors driven; drive: volts, or joint torques where motors is empty."""
    for j in range(q.shape[0]):
        if motors.shape[0] > 0:
            tau[j], _ = motor_torque(motors[j], drive[j], qd[j])
        else:
            tau[j] = drive[j]
    start_fixed(record, 1.0)
    return articulated_bodies(record, q, qd, q[:0], wrenches, tau, qdd)


@kernel
def rk3_step(record, motors, state, drive, wrenches, h, work):
    """One step of Swartz's third-order Runge-Kutta; state (4, n): q, qd, and qdd, tau at the start of the step."""
    n = drive.shape[0]
    q, c1, k1, tau = state[Q], state[QD], state[QDD], state[TAU]
    c2, k2, c3, k3, x, t = work[0], work[1], work[2], work[3], work[4], work[5]
    status = acceleration(record, motors, q, c1, drive, wrenches, tau, k1)
    for j in range(n):
        x[j] = q[j] + 0.5 * h * c1[j]
        c2[j] = c1[j] + 0.5 * h * k1[j]
    status = max(status, acceleration(record, motors, x, c2, drive, wrenches, t, k2))
    for j in range(n):
        x[j] = q[j] - h * c1[j] + 2.0 * h * c2[j]
        c3[j] = c1[j] - h * k1[j] + 2.0 * h * k2[j]
    status = max(status, acceleration(record, motors, x, c3, drive, wrenches, t, k3))
    for j in range(n):
        q[j] += h / 6.0 * (c1[j] + 4.0 * c2[j] + c3[j])
        c1[j] += h / 6.0 * (k1[j] + 4.0 * k2[j] + k3[j])
    return status


@kernel
def rk4_step(record, motors, state, drive, wrenches, h, work):
    """One step of the classical fourth-order Runge-Kutta."""
    n = drive.shape[0]
    q, c1, k1, tau = state[Q], state[QD], state[QDD], state[TAU]
    c2, k2, c3, k3, x, t, c4, k4 = work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7]
    status = acceleration(record, motors, q, c1, drive, wrenches, tau, k1)
    for j in range(n):
        x[j] = q[j] + 0.5 * h * c1[j]
        c2[j] = c1[j] + 0.5 * h * k1[j]
    status = max(status, acceleration(record, motors, x, c2, drive, wrenches, t, k2))
    for j in range(n):
        x[j] = q[j] + 0.5 * h * c2[j]
        c3[j] = c1[j] + 0.5 * h * k2[j]
    status = max(status, acceleration(record, motors, x, c3, drive, wrenches, t, k3))
    for j in range(n):
        x[j] = q[j] + h * c3[j]
        c4[j] = c1[j] + h * k3[j]
    status = max(status, acceleration(record, motors, x, c4, drive, wrenches, t, k4))
    for j in range(n):
        q[j] += h / 6.0 * (c1[j] + 2.0 * (c2[j] + c3[j]) + c4[j])
        c1[j] += h / 6.0 * (k1[j] + 2.0 * (k2[j] + k3[j]) + k4[j])
    return status


@kernel
def advance(record, motors, state, drive, wrenches, h, steps, order, work):
    """Take `steps` steps of size h with the drive held; returns how many succeeded.

    The state stays where the last good step left it, with qdd and tau there.
    """
    n = drive.shape[0]
    q, qd, before = state[Q], state[QD], work[8:10]
    done = 0
    while done < steps:
        for j in range(n):
            before[0, j] = q[j]
            before[1, j] = qd[j]
        if order == 3:
            status = rk3_step(record, motors, state, drive, wrenches, h, work)
        else:
            status = rk4_step(record, motors, state, drive, wrenches, h, work)
        nothing = 0.0
        for j in range(n):
            nothing += 0.0 * (q[j] + qd[j])
        if status != OK or nothing != 0.0:
            for j in range(n):
                q[j] = before[0, j]
                qd[j] = before[1, j]
            break
        done += 1
    acceleration(record, motors, q, qd, drive, wrenches, state[TAU], state[QDD])
    return done


@entry
def _advance(record, motors, state, drive, wrenches, h, steps, order, work):
    return advance(record, motors, state, drive, wrenches, h, steps, order, work)


@entry
def _run(record, motors, state, drives, hold, no_wrenches, h, order, work, rows):
    """Fill rows (m, 5, n) step by step, one row of drives per `hold` steps; returns how many rows were filled."""
    m = rows.shape[0]
    for k in range(m):
        steps = min(k, 1)
        held = drives[min((k - steps) // hold, drives.shape[0] - 1)]
        if advance(record, motors, state, held, no_wrenches, h, steps, order, work) < steps:
            return k
        rows[k, :4] = state
        rows[k, 4] = held
    return m


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
        self.t = 0.0
        self.method = method
        driven = robot.mechanism.motors is None if torque_driven is None else torque_driven
        self.torque_driven = driven
        self._motors = NO_MOTORS if driven else robot.actuation.motors
        self._record = robot._record.copy()
        self._work = np.zeros((10, robot.n))
        self._state = np.zeros((4, robot.n))
        self._drive = np.zeros(robot.n)
        self._steps_done = 0
        self.reset(q0, qd0)
        self._record[1:, VS] = self._record[1:, FS] * self.h * self._mobility()

    def _mobility(self) -> Floats:
        """(n,) acceleration of each joint under a unit torque of its own."""
        try:
            return np.diag(np.linalg.inv(self.robot.mass_matrix(self.q)))
        except np.linalg.LinAlgError:
            raise SingularityError(f"{self.robot.name} cannot be simulated: its mass matrix is singular") from None

    def reset(self, q0: Any = None, qd0: Any = None) -> None:
        """Start again at t = 0 from q0, qd0 (n,), zero where not given."""
        zero = np.zeros(self.robot.n)
        values = {"q0": zero if q0 is None else q0, "qd0": zero if qd0 is None else qd0}
        lead, (q, qd) = self.robot._arrays(values)
        if lead != ():
            raise InputError(f"q0 and qd0 must have shape ({self.robot.n},)")
        self._state[:] = 0.0
        self._state[Q], self._state[QD] = q, qd
        self._steps_done = 0
        self.t = 0.0

    @property
    def q(self) -> Floats:
        """(n,) positions."""
        return self._state[Q]

    @property
    def qd(self) -> Floats:
        """(n,) speeds."""
        return self._state[QD]

    @property
    def qdd(self) -> Floats:
        """(n,) accelerations at the present state under the last drive."""
        return self._state[QDD]

    @property
    def tau(self) -> Floats:
        """(n,) joint torques of the motors at the present state under the last drive."""
        return self._state[TAU]

    @property
    def drive(self) -> Floats:
        """(n,) the last volts (or torques) given."""
        return self._drive

    def step(self, drive: Any, steps: int = 1, wrenches: Any = None) -> None:
        """Advance by `steps` steps of h with the drive (n,) held; wrenches (n, 6) as in `Robot.inverse_dynamics`."""
        if np.shape(drive) != self._drive.shape:
            raise InputError(f"the drive has shape {np.shape(drive)}, expected {self._drive.shape}")
        self._drive[:] = drive
        on_bodies = NO_WRENCHES if wrenches is None else self.robot._body_wrenches(wrenches, ())
        if self.method in FIXED_STEP:
            done = compiled_call(
                _advance, self._record, self._motors, self._state, self._drive, on_bodies,
                self.h, steps, FIXED_STEP[self.method], self._work,
            )  # fmt: skip
        else:
            done = self._adaptive(steps, on_bodies)
        self._steps_done += done
        self.t = self._steps_done * self.h
        if done < steps:
            raise SimulationError(self.failure(self.t))

    def failure(self, t: float) -> str:
        """The sentence for a motion that cannot go on after t."""
        return f"{self.robot.name}: the motion is not finite after t = {t:.6g} s; the state before it is kept"

    def _adaptive(self, steps: int, on_bodies: Floats) -> int:
        n = self.robot.n

        def slope(_: float, x: Floats) -> Floats:
            rates = np.empty(2 * n)
            x = np.ascontiguousarray(x)
            rates[:n] = x[n:]
            self._accelerate(x[:n], x[n:], on_bodies, self._work[0], rates[n:])
            return rates

        start = self._state[:2].ravel().copy()
        with np.errstate(all="ignore"):
            answer = solve_ivp(slope, (0.0, steps * self.h), start, self.method, rtol=1e-10, atol=1e-12)
        end = answer.y[:, -1]
        if not answer.success or not np.isfinite(end).all():
            return 0
        self._state[Q], self._state[QD] = end[:n], end[n:]
        self._accelerate(self.q, self.qd, on_bodies, self.tau, self.qdd)
        return steps

    def _accelerate(self, q: Floats, qd: Floats, on_bodies: Floats, tau: Floats, qdd: Floats) -> None:
        compiled_call(_acceleration, self._record, self._motors, q, qd, self._drive, on_bodies, tau, qdd)


@entry
def _acceleration(record, motors, q, qd, drive, wrenches, tau, qdd):
    return acceleration(record, motors, q, qd, drive, wrenches, tau, qdd)


@dataclass(frozen=True)
class Result:
    """A simulated motion: one row per step of h, from t = 0."""

    t: Floats
    """(m,) s."""
    q: Floats
    """(m, n)."""
    qd: Floats
    qdd: Floats
    tau: Floats
    """(m, n) joint torques of the motors."""
    drive: Floats
    """(m, n) volts (or torques) held up to this row."""
    failure: str = ""
    """Why the simulation ended early; empty if it did not."""


Drive = Callable[[float, Floats, Floats], Any]


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
) -> Result:
    """Simulate a robot driven by volts (or by joint torques), held over each DAC period.

    volts or torques: (n,) held throughout; (k, n), one row per DAC period (the last is held on); or a function
    f(t, q, qd) called at the start of each DAC period. Neither: zero volts, or zero torque for a robot without motors.
    dac_period: s, a whole number of steps h; h if not given. A motion that cannot go on ends early with `failure`, and
    what was computed is kept.
    """
    if volts is not None and torques is not None:
        raise InputError("give either volts or torques, not both")
    if not (np.isfinite(duration) and duration >= 0.0):
        raise InputError(f"the duration must be a number of seconds not below zero, found {duration}")
    driven = True if torques is not None else False if volts is not None else None
    stepper = Stepper(robot, q0, qd0, h, method, torque_driven=driven)
    hold = 1 if dac_period is None else round(dac_period / h)
    if hold < 1 or (dac_period is not None and abs(hold * h - dac_period) > 1e-9 * dac_period):
        raise InputError(f"the DAC period {dac_period} s is not a whole number of steps of {h} s")
    drive = torques if torques is not None else volts
    m = round(duration / h) + 1
    t = np.arange(m) * h
    rows = np.zeros((m, 5, robot.n))
    run = _run_function if callable(drive) else _run_table
    filled = run(stepper, drive, hold, rows)
    failure = "" if filled == m else stepper.failure(t[filled - 1])
    t, rows = t[:filled], rows[:filled]
    q, qd, qdd, tau, held = (np.ascontiguousarray(rows[:, i]) for i in range(5))
    return Result(t, q, qd, qdd, tau, held, failure)


def _run_function(stepper: Stepper, drive: Drive, hold: int, rows: Floats) -> int:
    held = np.zeros(stepper.robot.n)
    for k in range(len(rows)):
        try:
            stepper.step(held, steps=min(k, 1))
        except SimulationError:
            return k
        if k % hold == 0:
            held = np.asarray(drive(stepper.t, stepper.q, stepper.qd), float)
        if k == 0:
            stepper.step(held, steps=0)
        rows[k, :4] = stepper._state
        rows[k, 4] = stepper.drive
    return len(rows)


def _run_table(stepper: Stepper, drive: Any, hold: int, rows: Floats) -> int:
    n = stepper.robot.n
    table = np.zeros(n) if drive is None else np.asarray(drive, float)
    if table.ndim not in (1, 2) or table.shape[-1] != n or len(table) == 0 or not np.isfinite(table).all():
        raise InputError(f"the drive has shape {table.shape}, expected ({n},) or (k, {n}) finite numbers")
    table = np.array(np.atleast_2d(table), order="C")
    if stepper.method in ADAPTIVE:
        periods = iter(table)
        return _run_function(stepper, lambda *_: next(periods, table[-1]), hold, rows)
    return compiled_call(
        _run, stepper._record, stepper._motors, stepper._state, table, hold, NO_WRENCHES,
        stepper.h, FIXED_STEP[stepper.method], stepper._work, rows,
    )  # fmt: skip
