"""Saha and Schiehlen: the four-bar linkage and the five-bar manipulator of section VI, with their closed-form geometry.

The figures are not in the text of the paper: mass distribution, direction of gravity and assembly mode are those of the
shipped robots four_bar_saha and five_bar_saha, and every result is computed in the other assembly mode too.
"""

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853, LSODA, RK45

from dyn_core import load_robot
from dyn_core.arrays import Floats
from dyn_core.errors import ClosureError, SingularityError
from dyn_core.robots import LoopRobot

T = 20.0  # s, (36) and (39)
SAMPLE = 0.02  # s, (36) and (39)
GRAVITY = 9.81
DEGREE = np.pi / 180.0
LAMBDA = 1.0  # of (37)
WAY_OFF = 100.0  # rad, of an angle
STOPS = 1e-9  # s: a step that must be shorter than this cannot be taken
APART = 0.05  # rad, at which a simulated angle counts as diverged
FAR = 1.0  # rad, at which a diverged simulation is ended
LEFT = "left the trajectory"
INTEGRATORS = {
    "Adams (LSODA) 1e-6": (LSODA, 1e-6, 0.0),
    "Runge-Kutta 5 1e-6": (RK45, 1e-6, 0.0),
    "the same, torques held 0.2 s": (RK45, 1e-6, 0.2),
    "Runge-Kutta 8 1e-12": (DOP853, 1e-12, 0.0),
}
"""Method, tolerance, and the time (s) over which the torques are held; 0: they follow the time."""

Torque = Callable[[float, Floats, Floats], Floats]


class LinkageMotion(NamedTuple):
    """A simulated motion and, if it ended early, why."""

    t: Floats
    q: Floats
    qd: Floats
    end: str


class Linkage:
    """One mechanism in one assembly mode, with the paper's trajectory (35) of its active joints."""

    def __init__(self, name: str, mode: str, start: Floats, end: Floats, rods: list[list[tuple[float, float]]]) -> None:
        robot = load_robot(name)
        assert isinstance(robot, LoopRobot)
        self.name, self.mode = name, mode
        if mode == "above":
            assembly = closed_form(name, mode, robot.reference[robot.joints])
            robot = LoopRobot(dataclasses.replace(robot.mechanism, assembly=assembly))
        self.robot = robot.using("denoc")
        self.start, self.end = start, end
        self.rods = rods
        """Per leg, mass and length of each rod."""

    def trajectory(self, t: float) -> tuple[Floats, Floats, Floats]:
        """θ, θ' and θ'' of the active joints: the normalised cycloid of (35)."""
        x, span = t / T, self.end - self.start
        s = x - np.sin(2 * np.pi * x) / (2 * np.pi)
        return (
            self.start + span * s,
            span * (1 - np.cos(2 * np.pi * x)) / T,
            span * 2 * np.pi * np.sin(2 * np.pi * x) / T**2,
        )

    @cached_property
    def t(self) -> Floats:
        """(m,) s."""
        return np.arange(round(T / SAMPLE) + 1) * SAMPLE

    @cached_property
    def joints(self) -> Floats:
        """(m, 3, n): angles, rates and accelerations of all joints along the trajectory."""
        rows = []
        for t in self.t:
            q, qd, qdd = self.trajectory(t)
            full = self.robot.all_positions(q)
            _, speeds, accelerations = self.robot.denoc.joint_motion(
                self.robot.tree.model.workspaces.new(), full, qd, qdd
            )
            rows.append([full, speeds, accelerations])
        return np.array(rows)

    @cached_property
    def torques(self) -> Floats:
        """(m, a) N m, by IDA-1 to IDA-3."""
        return np.array([self.needed(t) for t in self.t])

    def needed(self, t: float) -> Floats:
        """(a,) the torques of the trajectory."""
        return self.robot.inverse_dynamics(*self.trajectory(t))

    def heights(self, q: Floats) -> list[list[float]]:
        """Heights of the rods' centres at angles q of all joints, from sines alone."""
        found, first = [], 0
        for leg in self.rods:
            direction, y, ys = 0.0, 0.0, []
            for (_, length), angle in zip(leg, q[first : first + len(leg)], strict=True):
                direction += angle
                ys.append(y + length / 2 * np.sin(direction))
                y += length * np.sin(direction)
            found.append(ys)
            first += len(leg)
        return found

    def potential(self, q: Floats) -> float:
        """J, at angles q of all joints."""
        return sum(
            mass * GRAVITY * y
            for leg, ys in zip(self.rods, self.heights(q), strict=True)
            for (mass, _), y in zip(leg, ys, strict=True)
        )

    def energy(self, q: Floats, qd: Floats) -> float:
        """J, kinetic by the generalised inertia matrix (34)."""
        return 0.5 * float(qd @ self.robot.mass_matrix(q) @ qd) + self.potential(self.robot.all_positions(q))

    def static_torques(self, q: Floats) -> Floats:
        """(a,) dV/dθ of the active joints, by central differences of the closed form."""
        return derivative(lambda x: np.array(self.potential(self.closed_form(x))), q)

    def closed_form(self, q: Floats) -> Floats:
        """Angles of all joints at active angles q, from the linkage's geometry."""
        return closed_form(self.name, self.mode, q)

    def feedback(self, with_gravity: bool) -> Torque:
        """The law (37), τ = I τ_e + C θ', as printed or with the gravity term that (25) leaves out."""

        def law(t: float, q: Floats, qd: Floats) -> Floats:
            q_d, qd_d, qdd_d = self.trajectory(min(t, T))
            wanted = qdd_d - 2 * LAMBDA * (qd - qd_d) - LAMBDA**2 * (q - q_d)
            tau = self.robot.inverse_dynamics(q, qd, wanted)
            return tau if with_gravity else tau - self.robot.inverse_dynamics(q, 0 * q, 0 * q)

        return law

    def simulate(
        self, q: Floats, duration: float, torque: Torque, solver: Any = DOP853, tolerance: float = 1e-10,
        within: float = np.inf,
    ) -> LinkageMotion:  # fmt: skip
        """Integrate θ'' of FDA-1 to FDA-3; a step into a singularity is shortened until it is shorter than STOPS.

        The simulation ends too where an angle is further than `within` (rad) from the trajectory.
        """
        robot, a = self.robot.using("denoc"), self.robot.n

        def slope(t: float, state: Floats) -> Floats:
            x, v = state[:a].copy(), state[a:].copy()
            if not np.abs(x).max() < WAY_OFF:
                raise SingularityError("a stage of the step leaps far away")
            robot.closed(x)  # raises beyond a singularity
            return np.append(v, robot.forward_dynamics(x, v, torque(t, x, v)))

        times, states = [0.0], [np.append(q, np.zeros(a))]
        longest = 0.2  # s: the paper's time step
        run = None
        end = ""
        while times[-1] < duration and not end:
            try:
                if run is None:
                    run = solver(
                        slope, times[-1], states[-1], duration, rtol=tolerance, atol=tolerance, max_step=longest,
                        first_step=min(longest, duration - times[-1]) * 1e-2,
                    )  # fmt: skip
                run.step()
                if run.status == "failed" or not np.isfinite(run.y).all():
                    raise SingularityError("the step vanishes")
                times.append(run.t)
                states.append(run.y.copy())
                if np.abs(run.y[:a] - self.trajectory(run.t)[0]).max() > within:
                    end = LEFT
            except (SingularityError, ClosureError):
                run, longest = None, longest / 4
                if longest < STOPS:
                    end = f"singular at {times[-1]:.3f} s"
        path = np.array(states)
        return LinkageMotion(np.array(times), path[:, :a], path[:, a:], end)

    @cached_property
    def forced(self) -> dict[str, LinkageMotion]:
        """The forced simulation by several integrators."""
        found = {}
        for name, (solver, tolerance, hold) in INTEGRATORS.items():

            def torque(t: float, *_: Floats, hold: float = hold) -> Floats:
                return self.needed(min(int(t / hold + 1e-9) * hold if hold else t, T))

            found[name] = self.simulate(self.start, T, torque, solver, tolerance, FAR)
        return found

    def growth(self, t: float) -> float:
        """Largest eigenvalue, 1/s^2, of dθ''/dθ under the torques of the trajectory: above 0 small errors grow."""
        (q, qd, _), tau = self.trajectory(t), self.needed(t)
        slopes = derivative(lambda x: self.robot.forward_dynamics(x, qd, tau), q)
        return float(np.linalg.eigvals(slopes).real.max())

    def error(self, motion: LinkageMotion) -> Floats:
        """(m, a) rad, how far a simulated motion is from the trajectory."""
        return np.asarray(motion.q - np.array([self.trajectory(t)[0] for t in motion.t]))

    def departs(self, motion: LinkageMotion) -> str:
        """When a simulated motion leaves the trajectory by more than APART."""
        away = np.flatnonzero(np.abs(self.error(motion)).max(axis=1) > APART)
        parts = [f"apart at {motion.t[away[0]]:.1f} s" if len(away) else "follows"]
        return ", ".join([*parts, motion.end] if motion.end.startswith("singular") else parts)


def direction(v: Floats) -> float:
    return float(np.arctan2(v[1], v[0]))


def closed_form(name: str, mode: str, q: Floats) -> Floats:
    """Angles of all joints at active angles q: the point where two circles meet, in an assembly mode."""
    four = name == "four_bar_saha"
    first, (l1, l2) = (0.3, (1.0, 0.6)) if four else (0.6, (1.1, 0.8))
    B = first * np.array([np.cos(q[0]), np.sin(q[0])])
    D = np.array([1.0, 0.0]) if four else np.array([1.2 + 0.7 * np.cos(q[1]), 0.7 * np.sin(q[1])])
    d = float(np.linalg.norm(D - B))
    along = (D - B) / d
    x = (l1**2 - l2**2 + d**2) / (2 * d)
    across = np.array([-along[1], along[0]]) * (1.0 if mode == "above" else -1.0)
    C = B + x * along + np.sqrt(l1**2 - x**2) * across
    second = direction(C - B)
    if four:
        return np.array([q[0], second - q[0], direction(D - C) - second])
    return np.array([q[0], second - q[0], q[1], direction(C - D) - q[1]])


def derivative(f: Callable[[Floats], Floats], q: Floats) -> Floats:
    """df/dq (..., a) by central differences."""
    h = 1e-5
    return np.stack([(f(q + h * e) - f(q - h * e)) / (2 * h) for e in np.eye(len(q))], axis=-1)


def turns(x: Floats) -> Floats:
    """Angles less their whole turns."""
    return np.asarray((x + np.pi) % (2 * np.pi) - np.pi)


def linkages(name: str) -> dict[str, Linkage]:
    """A mechanism in both assembly modes; "below" is the described one."""
    if name == "four_bar_saha":
        ends = np.array([30.0]) * DEGREE, np.array([90.0]) * DEGREE
        rods = [[(1.5, 0.3), (5.0, 1.0), (3.0, 0.6)]]
    else:
        ends = np.array([30.0, 30.0]) * DEGREE, np.array([90.0, 70.3]) * DEGREE
        rods = [[(3.0, 0.6), (1.6, 1.1)], [(2.0, 0.7), (1.1, 0.8)]]
    return {mode: Linkage(name, mode, *ends, rods) for mode in ("below", "above")}
