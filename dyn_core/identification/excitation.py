"""Exciting trajectories: motions that show a robot's base parameters well.

Each joint follows a finite Fourier series (Swevers), which is periodic and, here, at rest at its start and end:

    q_j(t) = c_j + sum_l a_jl / (w l) sin(w l t) - b_jl / (w l) cos(w l t),   sum_l a_jl = 0,   sum_l l b_jl = 0

Its coefficients are chosen so that the condition number of the weighted base regressor is small, within the limits of
position, speed and effort.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.mechanism import PRISMATIC
from dyn_core.robots.robot import Robot
from dyn_core.robots.tree_robot import TreeRobot, require_tree
from dyn_core.trajectory.joint_trajectory import Sample

SHARE = 0.9
"""The share of each limit that is used."""
FREE_TURN, FREE_SLIDE = np.pi / 2.0, 0.25
"""Half the range of a joint without position limits: revolute (rad), prismatic (m)."""
MOST_HARMONICS = 20
MOST_EVALUATIONS = 100_000
DURATIONS = (4.0, 6.0, 9.0, 13.0, 20.0, 30.0)
"""s, that are tried."""
FIRST_TRIES = 6
"""Motions of each duration that are tried to choose one."""
POINTS = 120
"""Times at which the regressor is evaluated during the search."""


class FourierSeries:
    """A periodic motion of n joints; a and b have shape (n, harmonics), c (n,)."""

    def __init__(self, c: Floats, a: Floats, b: Floats, duration: float) -> None:
        self.n, self.duration = len(c), duration
        self.c, self.a, self.b = c, a, b

    def sample(self, t: Any) -> Sample:
        """q, qd, qdd at time t: (n,) each, or (m, n) for m times; at rest before the start and after the end."""
        times = np.asarray(t, float)
        inside = ((times >= 0.0) & (times <= self.duration))[..., None]
        order = 2.0 * np.pi / self.duration * np.arange(1, self.a.shape[1] + 1)
        angle = np.where(inside, times[..., None], 0.0) * order
        sine, cosine = np.sin(angle), np.cos(angle)
        q = self.c + sine @ (self.a / order).T - cosine @ (self.b / order).T
        qd = cosine @ self.a.T + sine @ self.b.T
        qdd = cosine @ (self.b * order).T - sine @ (self.a * order).T
        return q, np.where(inside, qd, 0.0), np.where(inside, qdd, 0.0)


@dataclass(frozen=True)
class Excitation:
    """An exciting trajectory and how good it is."""

    trajectory: FourierSeries
    condition: float
    """Condition number of the weighted base regressor along it."""
    start_condition: float
    """That of the first trajectory tried."""
    notes: tuple[str, ...]
    """What was assumed."""


def excite(
    robot: Robot, duration: float | None = None, harmonics: int = 5, evaluations: int = 300, seed: int = 0
) -> Excitation:
    """Search an exciting trajectory of one period `duration` (s); the same seed gives the same motion.

    Where no duration is given, the one of DURATIONS is taken whose motions tell most of the parameters per second.
    """
    if duration is not None and not (np.isfinite(duration) and duration > 0.0):
        raise InputError(f"the duration must be a positive number of seconds, found {duration}")
    if not 3 <= harmonics <= MOST_HARMONICS:
        raise InputError(f"3 to {MOST_HARMONICS} harmonics can be had, found {harmonics}")
    if not 1 <= evaluations <= MOST_EVALUATIONS:
        raise InputError(f"1 to {MOST_EVALUATIONS} motions can be tried, found {evaluations}")
    robot = require_tree(robot, "base parameters")
    if not robot.mechanism.active.all():
        still = [name for name, active in zip(robot.joint_names, robot.mechanism.active, strict=True) if not active]
        raise InputError(f"{robot.name}: {', '.join(still)} cannot be driven, so no motion can be planned for it")
    search = _Search(robot, _best_duration(robot, harmonics, seed) if duration is None else duration, harmonics)
    rng = np.random.default_rng(seed)
    best = np.zeros((robot.n, 2, harmonics))
    best_condition = first = np.inf
    step = 0.5
    for k in range(evaluations):
        exploring = best_condition == np.inf or k < evaluations // 5
        change = rng.normal(size=best.shape)
        candidate = change if exploring else best + step * change
        condition = search.condition(candidate)
        first = condition if k == 0 else first
        better = condition < best_condition
        if better:
            best, best_condition = candidate, condition
        if not exploring:
            step = max(step * (1.5 if better else 0.96), 0.01)  # one success in ten keeps the step
    if best_condition == np.inf:
        raise InputError(
            f"{robot.name}: no motion found within the limits of effort, current and voltage;"
            " can the joints hold the robot's own weight?"
        )
    return Excitation(search.trajectory(best), best_condition, first, search.notes)


def _best_duration(robot: TreeRobot, harmonics: int, seed: int) -> float:
    """The duration whose first motions leave the least known sum of parameters least unknown, per second."""
    scale = _Search(robot, DURATIONS[len(DURATIONS) // 2], harmonics).norms
    best, found = -1.0, DURATIONS[-1]
    for duration in DURATIONS:
        search = _Search(robot, duration, harmonics)
        rng = np.random.default_rng(seed)
        told = [search.information(rng.normal(size=(robot.n, 2, harmonics)), scale) for _ in range(FIRST_TRIES)]
        if max(told) > best:
            best, found = max(told), duration
    return found


class _Search:
    """Candidates (n, 2, harmonics) of any size, made into motions within the limits."""

    def __init__(self, robot: TreeRobot, duration: float, harmonics: int) -> None:
        m = robot.mechanism
        self.robot, self.duration = robot, duration
        self.base = robot.base_parameters()
        free = np.where(m.joint_type == PRISMATIC, FREE_SLIDE, FREE_TURN)
        low, high = m.position_limits.T
        self.low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 2.0 * free, -free))
        self.high = np.where(np.isfinite(high), high, self.low + 2.0 * free)
        self.notes = tuple(
            f"{name} has no full position limits: {lo:.4g} to {hi:.4g} is used"
            for name, lo, hi, limits in zip(m.joint_names, self.low, self.high, m.position_limits, strict=True)
            if not np.isfinite(limits).all()
        )
        self.order = np.arange(1.0, harmonics + 1)
        self.times = np.linspace(0.0, duration, POINTS, endpoint=False)
        self.efforts = m.effort_limits
        rng = np.random.default_rng(0)
        q = rng.uniform(self.low, self.high, (POINTS, robot.n))
        speed = (self.high - self.low) * np.pi / duration * harmonics
        qd, qdd = (rng.normal(size=(POINTS, robot.n)) * speed * (harmonics / duration) ** k for k in (0, 1))
        tau = robot.inverse_dynamics(q, qd, qdd)
        self.weights = np.where(np.isfinite(self.efforts), self.efforts, np.abs(tau).max(axis=0) + 1e-12)
        self.norms = np.linalg.norm(self._weighted(q, qd, qdd), axis=0)

    def _weighted(self, q: Floats, qd: Floats, qdd: Floats) -> Floats:
        W = self.robot.regressor(q, qd, qdd)[..., self.base.columns] / self.weights[:, None]
        return np.asarray(W.reshape(-1, W.shape[-1]))

    def trajectory(self, candidate: Floats) -> FourierSeries:
        """As large as position and speed limits let it be, then smaller until the effort limits hold."""
        a = candidate[:, 0] - candidate[:, 0].mean(axis=1, keepdims=True)
        b = candidate[:, 1] - np.outer(candidate[:, 1] @ self.order / (self.order @ self.order), self.order)
        fine = np.linspace(0.0, self.duration, 8 * POINTS)
        q, qd, _ = FourierSeries(np.zeros(len(a)), a, b, self.duration).sample(fine)
        top, bottom = q.max(axis=0), q.min(axis=0)
        size = SHARE * np.minimum(
            (self.high - self.low) / (top - bottom), self.robot.mechanism.velocity_limits / np.abs(qd).max(axis=0)
        )
        middle = (self.high + self.low) / 2.0
        for _ in range(12):
            c = middle - size * (top + bottom) / 2.0
            series = FourierSeries(c, a * size[:, None], b * size[:, None], self.duration)
            if (self._load(series) <= SHARE).all():
                return series
            size = size * 0.8
        raise InputError(f"{self.robot.name}: the limits of effort, current and voltage leave no room for a motion")

    def _load(self, series: FourierSeries) -> Floats:
        """(n,) the largest part of its limits of effort, current and voltage that each joint needs."""
        q, qd, qdd = series.sample(self.times)
        tau = self.robot.inverse_dynamics(q, qd, qdd)
        load = np.abs(tau) / self.efforts
        if (motors := self.robot.mechanism.motors) is not None:
            current = tau / (motors.gear * motors.Kt)
            volts = motors.resistance * current + motors.gear * motors.Kt * qd
            for share in (current / motors.current_limit, volts / motors.voltage_limit):
                load = np.fmax(load, np.abs(share))  # not a number where a joint has no motor
        return np.asarray(load.max(axis=0))

    def information(self, candidate: Floats, scale: Floats) -> float:
        """The smallest eigenvalue of the mean information in columns of the given scale; -1 without a motion."""
        try:
            series = self.trajectory(candidate)
        except InputError:
            return -1.0
        W = self._weighted(*series.sample(self.times)) / scale
        return float(np.linalg.eigvalsh(W.T @ W)[0])

    def condition(self, candidate: Floats) -> float:
        try:
            series = self.trajectory(candidate)
        except InputError:
            return float("inf")
        W = self._weighted(*series.sample(self.times)) / self.norms
        squares = np.linalg.eigvalsh(W.T @ W)
        return float(np.sqrt(squares[-1] / squares[0])) if squares[0] > 0.0 else float("inf")
