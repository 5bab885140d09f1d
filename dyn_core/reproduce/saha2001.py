"""Saha and Schiehlen: the four-bar linkage and the five-bar manipulator of section VI, by `denoc`.

The figures are not in the text of the paper: mass distribution, direction of gravity and assembly mode are those of the
shipped robots four_bar_saha and five_bar_saha, and every result is computed in the other assembly mode too. Closed-form
geometry of the linkages (circles that meet, rods' centres) checks angles, static torques and work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import DOP853, LSODA, RK45, simpson

from ..errors import ClosureError, SingularityError
from ..loop_robot import LoopRobot
from ..mechanism import Floats
from ..robot import load_robot
from .report import Plot, Report, Row, agrees

T = 20.0  # s, (36) and (39)
SAMPLE = 0.02  # s, (36) and (39)
GRAVITY = 9.81
DEGREE = np.pi / 180.0
LAMBDA = 1.0  # of (37)
STOPS = 1e-9  # s: a step that must be shorter than this cannot be taken
FREE_TIME = 10.0  # s of the four-bar's free simulation; the paper's time axis is not known
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


class Motion(NamedTuple):
    """A simulated motion and, if it ended early, why."""

    t: Floats
    q: Floats
    qd: Floats
    end: str


class Linkage:
    """One mechanism in one assembly mode, with the paper's trajectory (35) of its active joints."""

    def __init__(self, name: str, mode: str, start: Floats, end: Floats, rods: list[list[tuple[float, float]]]) -> None:
        described = load_robot(name)
        assert isinstance(described, LoopRobot)
        self.name, self.mode = name, mode
        robot = described
        if mode == "above":
            robot = LoopRobot(dataclasses.replace(described.mechanism, assembly=mirrored(name, described.reference)))
        self.robot = robot.using("denoc")
        self.checks = robot
        """The same robot by the projection method."""
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
            _, speeds, accelerations = self.robot.denoc.joint_motion(self.robot.tree._record, full, qd, qdd)
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
        h = 1e-5
        return np.array(
            [
                (self.potential(closed_form(self, q + h * e)) - self.potential(closed_form(self, q - h * e))) / (2 * h)
                for e in np.eye(len(q))
            ]
        )

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
    ) -> Motion:  # fmt: skip
        """Integrate θ'' of FDA-1 to FDA-3; a step into a singularity is shortened until it is shorter than STOPS.

        The simulation ends too where an angle is further than `within` (rad) from the trajectory.
        """
        robot, a = self.robot.using("denoc"), self.robot.n

        def slope(t: float, state: Floats) -> Floats:
            x, v = state[:a].copy(), state[a:].copy()
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
        return Motion(np.array(times), path[:, :a], path[:, a:], end)

    @cached_property
    def forced(self) -> dict[str, Motion]:
        """The forced simulation by several integrators."""
        found = {}
        for name, (solver, tolerance, hold) in INTEGRATORS.items():

            def torque(t: float, *_: Floats, hold: float = hold) -> Floats:
                return self.needed(min(int(t / hold + 1e-9) * hold if hold else t, T))

            found[name] = self.simulate(self.start, T, torque, solver, tolerance, FAR)
        return found

    def growth(self, t: float) -> float:
        """Largest eigenvalue, 1/s^2, of dθ''/dθ under the torques of the trajectory: above 0 small errors grow."""
        (q, qd, _), tau, h = self.trajectory(t), self.needed(t), 1e-5
        columns = [
            (self.robot.forward_dynamics(q + h * e, qd, tau) - self.robot.forward_dynamics(q - h * e, qd, tau))
            / (2 * h)
            for e in np.eye(len(q))
        ]
        return float(np.linalg.eigvals(np.array(columns).T).real.max())

    def departs(self, motion: Motion) -> str:
        """When a simulated motion leaves the trajectory by more than APART."""
        wanted = np.array([self.trajectory(t)[0] for t in motion.t])
        away = np.flatnonzero(np.abs(motion.q - wanted).max(axis=1) > APART)
        parts = [f"apart at {motion.t[away[0]]:.1f} s" if len(away) else "follows"]
        return ", ".join([*parts, motion.end] if motion.end.startswith("singular") else parts)


def mirrored(name: str, q: Floats) -> Floats:
    """A configuration near the other assembly mode: the two passive rods of the loop on the other side."""
    if name == "four_bar_saha":
        B, D = 0.3 * np.array([np.cos(q[0]), np.sin(q[0])]), np.array([1.0, 0.0])
        C = reflected(B + np.array([np.cos(q[:2].sum()), np.sin(q[:2].sum())]), B, D)
        second = direction(C - B)
        return np.array([q[0], second - q[0], direction(D - C) - second])
    B = 0.6 * np.array([np.cos(q[0]), np.sin(q[0])])
    D = np.array([1.2, 0.0]) + 0.7 * np.array([np.cos(q[2]), np.sin(q[2])])
    P = reflected(B + 1.1 * np.array([np.cos(q[0] + q[1]), np.sin(q[0] + q[1])]), B, D)
    return np.array([q[0], direction(P - B) - q[0], q[2], direction(P - D) - q[2]])


def reflected(C: Floats, B: Floats, D: Floats) -> Floats:
    """C on the other side of the line through B and D."""
    along = (D - B) / np.linalg.norm(D - B)
    return np.asarray(2 * (B + along * (along @ (C - B))) - C)


def direction(v: Floats) -> float:
    return float(np.arctan2(v[1], v[0]))


def closed_form(linkage: Linkage, q: Floats) -> Floats:
    """Angles of all joints at active angles q: the point where two circles meet, in the linkage's mode."""
    four = linkage.name == "four_bar_saha"
    first, (l1, l2) = (0.3, (1.0, 0.6)) if four else (0.6, (1.1, 0.8))
    B = first * np.array([np.cos(q[0]), np.sin(q[0])])
    D = np.array([1.0, 0.0]) if four else np.array([1.2 + 0.7 * np.cos(q[1]), 0.7 * np.sin(q[1])])
    d = float(np.linalg.norm(D - B))
    along = (D - B) / d
    x = (l1**2 - l2**2 + d**2) / (2 * d)
    across = np.array([-along[1], along[0]]) * (1.0 if linkage.mode == "above" else -1.0)
    C = B + x * along + np.sqrt(l1**2 - x**2) * across
    second = direction(C - B)
    if four:
        return np.array([q[0], second - q[0], direction(D - C) - second])
    return np.array([q[0], second - q[0], q[1], direction(C - D) - q[1]])


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


def inverse_rows(figures: tuple[str, str, str], linkage: Linkage) -> list[Row]:
    """Angles, rates and torques along the trajectory (Figs 5, 6 and 10, 11)."""
    angles, rates, torques = figures
    mode, active = linkage.mode, linkage.robot.joints
    q, qd, qdd = linkage.joints.transpose(1, 0, 2)
    names = linkage.robot.mechanism.joint_names
    exact = np.array([closed_form(linkage, row) for row in q[:, active]])
    gap = np.abs(turns(q - exact)).max()
    rows = [
        Row(angles, f"{name} ({mode})", "a curve", f"{a / DEGREE:.2f} to {b / DEGREE:.2f} deg", "shown")
        for name, a, b in zip(names, q[0], q[-1], strict=True)
    ]
    rows.append(
        Row(
            angles, f"angles against circles that meet ({mode})", "the same", f"{gap:.0e} rad apart", agrees(gap < 1e-9)
        )
    )
    at_ends = max(np.abs(qd[[0, -1]]).max(), np.abs(qdd[[0, -1]]).max())
    rows.append(
        Row(rates, f"rates and accelerations at both ends ({mode})", "vanish", f"{at_ends:.0e}", agrees(at_ends < 1e-9))
    )
    slope = np.gradient(q, SAMPLE, axis=0, edge_order=2), np.gradient(qd, SAMPLE, axis=0, edge_order=2)
    away = max(np.abs(slope[0] - qd)[2:-2].max(), np.abs(slope[1] - qdd)[2:-2].max())
    rows.append(
        Row(rates, f"rates (11b) against differences ({mode})", "the same", f"{away:.0e} apart", agrees(away < 1e-5))
    )
    tau = linkage.torques
    for k, joint in enumerate(active):
        span = f"{tau[0, k]:.3f} to {tau[-1, k]:.3f}, largest {np.abs(tau[:, k]).max():.3f} N m"
        rows.append(Row(torques, f"torque of {names[joint]} ({mode})", "a curve", span, "shown"))
    for t, row in ((0.0, tau[0]), (T, tau[-1])):
        static = np.abs(row - linkage.static_torques(linkage.trajectory(t)[0])).max()
        rows.append(
            Row(
                torques,
                f"torque at {t:g} s is static ({mode})",
                "dV/dθ",
                f"{static:.0e} N m apart",
                agrees(static < 1e-6),
            )
        )
    work = float(simpson((tau * qd[:, active]).sum(axis=1), dx=SAMPLE))
    gained = linkage.potential(q[-1]) - linkage.potential(q[0])
    rows.append(
        Row(
            torques,
            f"work of the torques ({mode})",
            f"{gained:.6f} J gained",
            f"{work:.6f} J",
            agrees(abs(work - gained) < 1e-5),
        )
    )
    return rows


def forced_rows(figure: str, linkages_: dict[str, Linkage], printed: str, why: str) -> list[Row]:
    """The forced simulations, which are no results, and the law (37)."""
    rows = [
        Row(
            figure,
            f"forced simulation, {name} ({mode})",
            printed,
            linkage.departs(motion),
            "does not come out",
            why if not k else "",
        )
        for mode, linkage in linkages_.items()
        for k, (name, motion) in enumerate(linkage.forced.items())
    ]
    for mode, linkage in linkages_.items():
        growing = ", ".join(f"{linkage.growth(t):.1f} at {t:g} s" for t in (0.0, 2.25, 5.0, 10.0))
        rows.append(Row(figure, f"growth of errors, dθ''/dθ in 1/s² ({mode})", "unstable", growing, "shown"))
        follows = linkage.simulate(linkage.start, T, linkage.feedback(True))
        wanted = np.array([linkage.trajectory(t)[0] for t in follows.t])
        error = np.abs(follows.q - wanted).max()
        good = not follows.end and error < 1e-7
        rows.append(
            Row("(37)", f"followed with λ = 1 and gravity ({mode})", "exactly", f"to {error:.0e} rad", agrees(good))
        )
        off = linkage.simulate(linkage.start + 0.05, T / 2, linkage.feedback(True))
        wanted = np.array([linkage.trajectory(t)[0] for t in off.t])
        decay = (0.05 * (1 + off.t) * np.exp(-off.t))[:, None]
        error = np.abs(off.q - wanted - decay).max()
        rows.append(
            Row(
                "(37)",
                f"a start 0.05 rad off ({mode})",
                "0.05 (1 + t) exp(-t)",
                f"to {error:.0e} rad",
                agrees(not off.end and error < 1e-7),
            )
        )
        bare = linkage.simulate(linkage.start, T, linkage.feedback(False), tolerance=1e-8, within=FAR)
        rows.append(
            Row(
                "(37)", f"the law as printed, without gravity ({mode})", "followed exactly", linkage.departs(bare),
                "does not come out",
                "(25) and (37) leave out gravity, γ(θ), which the vertical linkage needs: τ = I τ_e + C θ' + γ."
                if mode == "below" else "",
            )
        )  # fmt: skip
    return rows


def compute() -> Report:
    """All results of section VI."""
    four, five = linkages("four_bar_saha"), linkages("five_bar_saha")
    rows: list[Row] = []
    for mode, linkage in four.items():
        rows += inverse_rows(("Fig. 5(a)", "Fig. 5(b,c)", "Fig. 6"), linkage)
        q = linkage.joints[:, 0]
        last = np.arctan2(0.0, 1.0) + np.pi - q.sum(axis=1)
        whole = np.abs(last).max() < np.pi
        why = (
            "here θ_4 needs a multiple of 2π: the paper's linkage is therefore taken to have its joint below."
            if not whole
            else ""
        )
        rows.append(
            Row("VI A 1", f"θ_4 = π - Σ without turns ({mode})", "holds", "holds" if whole else "does not hold",
                "agrees" if whole else "does not come out", why)
        )  # fmt: skip
    free_four, free_five = {}, {}
    for mode, linkage in four.items():
        start = np.array([90.0]) * DEGREE
        free_four[mode] = free = linkage.simulate(start, FREE_TIME, lambda *_: np.zeros(1))
        drift = max(
            abs(linkage.energy(a, b) - linkage.energy(start, np.zeros(1))) for a, b in zip(free.q, free.qd, strict=True)
        )
        span = f"{free.q.min() / DEGREE:.1f} to {free.q.max() / DEGREE:.1f} deg in {FREE_TIME:g} s"
        rows.append(Row("Fig. 7", f"free simulation from 90 deg ({mode})", "a curve", span, "shown"))
        rows.append(
            Row(
                "Fig. 7",
                f"energy in it ({mode})",
                "constant",
                f"to {drift:.0e} J",
                agrees(not free.end and drift < 1e-6),
            )
        )
    rows += forced_rows(
        "Fig. 8", four, "diverges at 2.25 s",
        "small errors grow where dθ''/dθ is above 0, so that the time depends on the integrator, its tolerance and how"
        " the torques are sampled. None of those tried here diverges as early as 2.25 s, where the motion is not yet"
        " unstable in either mode: why the paper's does is not known (its masses' distribution, mode"
        " and torque tables are not printed).",
    )  # fmt: skip
    for linkage in five.values():
        rows += inverse_rows(("Fig. 10", "VI B 2", "Fig. 11"), linkage)
    for mode, linkage in five.items():
        start = np.array([80.0, 70.0]) * DEGREE
        free_five[mode] = free = linkage.simulate(start, 2.0, lambda *_: np.zeros(2))
        near = bool(free.end) and abs(free.t[-1] - 1.4) < 0.1
        why = (
            "within 0.1 s of the printed 'about 1.4 sec' in this mode only, which is therefore taken as the paper's."
            if mode == "below"
            else "the other assembly mode; the paper does not say which one it has."
        )
        verdict = agrees(near) if mode == "below" else "does not come out"
        rows.append(
            Row(
                "Fig. 12",
                f"free fall from 80/70 deg ({mode})",
                "singular after about 1.4 s",
                free.end or "no stop",
                verdict,
                why,
            )
        )
        inside = free.t < free.t[-1] - 0.05
        drift = max(
            abs(linkage.energy(a, b) - linkage.energy(start, np.zeros(2)))
            for a, b in zip(free.q[inside], free.qd[inside], strict=True)
        )
        rows.append(Row("Fig. 12", f"energy in it ({mode})", "constant", f"to {drift:.0e} J", agrees(drift < 1e-5)))
    rows += forced_rows(
        "Fig. 13", five, "singular at 3.2 s",
        "the motion is unstable from the start, so that the time depends on the integrator, its tolerance and how the"
        " torques are sampled; times around the printed one occur, but it is no result. The simulations end 1 rad"
        " from the trajectory, before a singularity.",
    )  # fmt: skip
    plots = [
        plot
        for mode in ("below", "above")
        for plot in figures(four[mode], five[mode], free_four[mode], free_five[mode])
    ]
    notes = (
        "The figures are not in the paper's text. Uniform thin rods, gravity along -y; both crank angles of the"
        " five-bar are measured from the same +x axis.",
        "The assembly mode is not printed: 'below' (the described robots) and 'above' are both computed, and each has"
        " its figures.",
        "T = 20 s is nearly static: these torques hardly test inertia terms; the tests of denoc use fast motions.",
    )
    title = "Saha and Schiehlen, Recursive Kinematics and Dynamics for Closed Loop Multibody Systems, section VI"
    return Report("saha2001", title, tuple(rows), tuple(plots), notes)


def figures(four: Linkage, five: Linkage, free_four: Motion, free_five: Motion) -> list[Plot]:
    """Figs 5 to 8 and 10 to 13 in one assembly mode."""
    suffix = "" if four.mode == "below" else "_above"
    units = ("rad", "rad/s", "rad/s²")

    def joints(linkage: Linkage, panels: list[tuple[str, int, list[tuple[int, str]]]]) -> Callable[[Any], None]:
        def draw(figure: Any) -> None:
            for ax, (title, order, lines) in zip(np.ravel(figure.subplots(1, len(panels))), panels, strict=True):
                for joint, label in lines:
                    ax.plot(linkage.t, linkage.joints[:, order, joint], label=label)
                finish(ax, title, units[order])

        return draw

    def torques(linkage: Linkage, labels: list[str]) -> Callable[[Any], None]:
        def draw(figure: Any) -> None:
            ax = figure.subplots()
            for k, label in enumerate(labels):
                ax.plot(linkage.t, linkage.torques[:, k], label=label)
            finish(ax, "", "N m")

        return draw

    def free(motion: Motion, labels: list[str]) -> Callable[[Any], None]:
        def draw(figure: Any) -> None:
            ax = figure.subplots()
            for k, label in enumerate(labels):
                ax.plot(motion.t, motion.q[:, k], label=label)
            finish(ax, motion.end, "rad")

        return draw

    def forced(linkage: Linkage, titles: list[str]) -> Callable[[Any], None]:
        def draw(figure: Any) -> None:
            wanted = np.array([linkage.trajectory(t)[0] for t in linkage.t])
            for k, ax in enumerate(np.ravel(figure.subplots(1, len(titles)))):
                ax.plot(linkage.t, wanted[:, k], label="org")
                for name, motion in linkage.forced.items():
                    ax.plot(motion.t, motion.q[:, k], "--", label=f"sim, {name}")
                ax.set_ylim(min(0.0, wanted[:, k].min() - 1), wanted[:, k].max() + 1)
                finish(ax, titles[k], "rad")

        return draw

    three = [(0, "θ_1"), (1, "θ_2"), (2, "θ_3")]
    parts = ["(a) joint angles", "(b) joint rates", "(c) joint accelerations"]
    legs = [("(a) leg 1", 0, [(0, "θ_1"), (1, "θ_2")]), ("(b) leg 2", 0, [(2, "θ_1"), (3, "θ_2")])]
    wide, narrow, double = (12.0, 3.6), (5.0, 3.6), (9.0, 3.6)
    drawings = [
        ("fig05", wide, joints(four, [(part, order, three) for order, part in enumerate(parts)])),
        ("fig06", narrow, torques(four, ["τ_1"])),
        ("fig07", narrow, free(free_four, ["θ_1"])),
        ("fig08", narrow, forced(four, ["θ_1"])),
        ("fig10", double, joints(five, legs)),
        ("fig11", narrow, torques(five, ["τ_1 - 1", "τ_1 - 2"])),
        ("fig12", narrow, free(free_five, ["θ_1 - 1", "θ_1 - 2"])),
        ("fig13", double, forced(five, ["(a) leg 1", "(b) leg 2"])),
    ]
    return [Plot(name + suffix, size, draw) for name, size, draw in drawings]


def finish(ax: Any, title: str, unit: str) -> None:
    """Labels of one panel."""
    ax.set_xlabel("t, s")
    ax.set_ylabel(unit)
    ax.set_title(title)
    ax.grid(True, alpha=0.3)
    ax.legend(fontsize="small")
