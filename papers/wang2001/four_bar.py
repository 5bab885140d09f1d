"""Wang, Gosselin and Cheng: the four-bar mechanism, rigid and with a flexible coupler, by virtual springs.

Their Figs 6-8 and 10-13; the Gough-Stewart platform, Fig. 14, is in `platform`. Initial state, torque and k as
in section 3.1.
"""

from dataclasses import dataclass
from math import log10
from typing import Any

import numpy as np

from dyn_cli.figures.figure import Plot
from dyn_core import load_robot
from dyn_core.arrays import Floats
from dyn_core.robots import FlexibleMechanism, FlexibleResult, LoopRobot, dominant_frequency
from dyn_core.simulation import SimulationResult, SpringResult, simulate, simulate_with_springs

from ..report import Report, Row, checked, curves, finish, numbers, shown, unmet
from .platform import platform_results

TITLE = (
    "Wang, Gosselin and Cheng, Modeling and Simulation of Robotic Systems with Closed Kinematic Chains Using the"
    " Virtual Spring Approach (2001)"
)
THETA, ALPHA, PHI = np.pi / 2, 0.353281, 1.26486  # rad, printed
TORQUE = 6.0  # N m
K = 1e6  # N/m
INSTANT = 0.1  # s, of Fig. 6
STIFFNESSES = np.logspace(3.0, 7.0, 17)  # N/m
H = 1e-3  # s, between rows
COUPLER = "coupler_link"
NAMES = (r"$\theta$", r"$\alpha$", r"$\phi$")
DEFLECTION, RELATIVE = "deflection of the mid-point (m)", "difference over the largest deflection (%)"


@dataclass(frozen=True)
class ErrorCurve:
    """Fig. 6: the position error at one instant against the springs' stiffness."""

    k: Floats
    """(s,) N/m."""
    damped: Floats
    """(s,) m, |Delta| with the dampers chosen by `simulate_with_springs`, started at Delta = F / k."""
    undamped: Floats
    """(s,) m, without dampers and with slack springs: the swing is caught at a phase that changes with k."""
    expected: Floats
    """(s,) m, F / k with the reaction F of the closed mechanism at that instant."""


def error_against_stiffness(
    robot: LoopRobot, q0: Any, torques: Any, instant: float = INSTANT, stiffnesses: Any = STIFFNESSES, h: float = H
) -> ErrorCurve:
    """What Fig. 6 plots, for any robot with closed chains: a way to choose k."""
    k = np.asarray(stiffnesses, float)
    runs = {
        b: [
            simulate_with_springs(robot, q0, duration=instant, torques=torques, h=h, k=each, b=b, preloaded=b is None)
            for each in k
        ]
        for b in (None, 0.0)
    }
    damped, undamped = (np.array([run.position_error[-1] for run in runs[b]]) for b in (None, 0.0))
    exact = simulate(robot, q0, duration=instant, torques=torques, h=h, method="rk4")
    force = np.concatenate(list(robot.reactions(exact.q[-1], exact.qd[-1], exact.tau[-1]).values()))
    return ErrorCurve(k, damped, undamped, np.linalg.norm(force) / k)


def compute(duration: float = 2.0, stiffnesses: Floats = STIFFNESSES) -> Report:
    """Every result of the four-bar mechanisms and of the platform, over `duration` (the paper: 2 s)."""
    rigid = load_robot("four_bar_wang")
    assert isinstance(rigid, LoopRobot)
    flexible = FlexibleMechanism(load_robot("four_bar_wang_flexible").mechanism)
    start = np.array([THETA])
    common: dict[str, Any] = {"duration": duration, "torques": [TORQUE], "h": H}
    curve = error_against_stiffness(rigid, start, [TORQUE], stiffnesses=stiffnesses)
    springs = simulate_with_springs(rigid, start, k=K, b=0.0, preloaded=False, **common)
    stiffer = simulate_with_springs(rigid, start, k=10 * K, b=0.0, preloaded=False, **common)
    printed_start = simulate_with_springs(
        rigid, [THETA, ALPHA - THETA, PHI], k=K, b=0.0, duration=INSTANT, torques=[TORQUE], h=H
    )
    closed = simulate(rigid, start, method="rk4", **common)
    dae = simulate(rigid.using("multipliers"), start, method="rk4", **common)
    bent = flexible.simulate(start, closing="multipliers", **common)
    bent_springs = flexible.simulate(start, closing="virtual_spring", k=K, b=0.0, **common)
    bent_stiffer = flexible.simulate(start, closing="virtual_spring", k=10 * K, b=0.0, **common)
    exact = _all_joints(rigid, closed)
    v, w = (flexible.deflection(each.modes, COUPLER) for each in (bent, bent_springs))
    m = min(len(v), len(w))
    relative = 100.0 * (w[:m] - v[:m]) / np.abs(v).max()
    platform_rows, platform_plots = platform_results(duration)
    rows = (
        *_equation_20(rigid),
        *_initial_angles(rigid),
        *_figure_6(curve, printed_start),
        *_figure_7_and_8(closed, dae, springs, stiffer, exact),
        *_flexible_rows(flexible, bent, bent_springs, bent_stiffer),
        *platform_rows,
    )
    return Report(
        "wang2001",
        TITLE,
        rows,
        (
            Plot("fig06", (6.0, 4.5), lambda figure: _draw_figure_6(figure, curve)),
            Plot("fig07", (6.0, 8.0), lambda figure: _draw_motion(figure, springs.t, springs.all_q, springs.all_qd)),
            Plot("fig08", (9.0, 9.0), lambda figure: _draw_errors(figure, springs.t, *_less(springs, exact))),
            Plot("fig10", (6.0, 8.0), lambda figure: _draw_motion(figure, bent.t, bent_springs.q, bent_springs.qd)),
            Plot("fig11", (6.0, 4.5), lambda figure: _draw_line(figure, bent_springs.t, w, DEFLECTION)),
            Plot(
                "fig12",
                (9.0, 9.0),
                lambda figure: _draw_errors(figure, bent.t, bent_springs.q - bent.q, bent_springs.qd - bent.qd),
            ),
            Plot("fig13", (6.0, 4.5), lambda figure: _draw_line(figure, bent.t, relative, RELATIVE)),
            *platform_plots,
        ),
        NOTES,
    )


NOTES = (
    "Integrators: the paper's are Maple's with default tolerances; here steps of fourth order, short enough that"
    " halving them changes nothing that is shown.",
    "The paper gives no damper for the four-bar: k = 1e6 N/m and b = 0 are used wherever it says nothing, with springs"
    " that start slack at exactly closed angles (the printed ones leave them open by 5e-6 m).",
    "The misprints of (3), (4), (8), (20), (45), (47) and (49) are corrected: centres of mass lie on the links, T_3 has"
    " its m_3, the first half wave is sin(pi x / l_2), the curvature is squared.",
    "The platform's legs do not spin, its lower links have the upper ones' inertia, and the forces are along the legs:"
    " none of it is printed. Rates of the Euler angles beyond 50 rad/s are cut in the drawing.",
    "Only the product E_2 I_2 matters; the coupler starts straight and at rest.",
    "Figures of the paper are curves without printed values: they are drawn here in the same arrangement, and what the"
    " text says about them is what is compared.",
)


def _all_joints(robot: LoopRobot, result: SimulationResult) -> tuple[Floats, Floats]:
    """q and qd (m, n of the tree) of all joints."""
    at = [robot.closed(q, qd) for q, qd in zip(result.q, result.qd, strict=True)]
    return np.array([each.q for each in at]), np.array([each.qd for each in at])


def _less(springs: SpringResult, exact: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    m = min(len(springs.t), len(exact[0]))
    return springs.all_q[:m] - exact[0][:m], springs.all_qd[:m] - exact[1][:m]


def _angles(q: Floats) -> Floats:
    """theta, alpha, phi (or their rates or errors) from the joints input, coupler, output."""
    return np.stack([q[:, 0], q[:, 0] + q[:, 1], q[:, 2]], axis=1)


def _initial_angles(robot: LoopRobot) -> list[Row]:
    _, relative, phi = robot.all_positions([THETA])
    alpha = THETA + relative
    good = abs(alpha - ALPHA) < 1e-5 and abs(phi - PHI) < 1e-5
    printed, computed = f"{ALPHA}, {PHI} rad", f"{alpha:.7f}, {phi:.7f} rad"
    return [checked("Sec. 3.1", "alpha, phi at theta = pi/2", printed, computed, good)]


def torque_by_equation_20(angles: Floats, rates: Floats, accelerations: Floats, corrected: bool) -> float:
    """tau (N m) of (20) from theta, alpha, phi (3,) and their rates; as printed, or with both misprints corrected."""
    l1, l2, l3, g = 1.0, 4.0, 2.5, 9.8
    m1 = m2 = m3 = 1.0
    r1, r2, r3 = l1 / 2, l2 / 2, l3 / 2
    I1, I2, I3 = m1 * l1**2 / 12, m2 * l2**2 / 12, m3 * l3**2 / 12
    th, al, ph = angles
    thd, ald, _ = rates
    thdd, aldd, phdd = accelerations
    coupler = m2 * r2 * l1 * (np.cos(th - al) * thdd + np.sin(al - th) * thd**2) + (I2 + m2 * r2**2) * aldd
    coupler += m2 * g * r2 * np.cos(al)
    output, weight = (I3 + m3 * r3**2) * phdd, m3 * g * r3 * np.cos(ph)
    f_x = l3 * np.cos(ph) * coupler + l2 * np.cos(al) * (output + (weight if corrected else 0.0))
    f_y = l3 * np.sin(ph) * coupler + l2 * np.sin(al) * (output + weight)
    f_x, f_y = np.array([f_x, f_y]) / (l2 * l3 * np.sin(al - ph))
    tau = (I1 + m1 * r1**2 + m2 * l1**2) * thdd + m2 * l1 * r2 * np.cos(th - al) * aldd
    tau += m2 * l1 * r2 * np.sin(th - al) * ald**2 + (m1 * r1 + m2 * l1) * g * np.cos(th)
    return float(tau - l1 * np.sin(th) * f_x + (1.0 if corrected else -1.0) * l1 * np.cos(th) * f_y)


def _equation_20(robot: LoopRobot) -> list[Row]:
    q, qd, qdd = np.array([1.2]), np.array([0.7]), np.array([-0.4])
    at = robot.closed(q, qd)
    angles, rates, accelerations = (_angles(x[None])[0] for x in (at.q, at.qd, at.G @ qdd + at.g))
    wanted = robot.inverse_dynamics(q, qd, qdd)[0]
    printed, corrected = (torque_by_equation_20(angles, rates, accelerations, each) for each in (False, True))
    good = abs(corrected - wanted) < 1e-9 * abs(wanted)
    what = "torque at theta = 1.2, its rates 0.7, -0.4"
    why = "the last term is + l1 cos(theta) f_By, and the numerator of f_Bx lacks + m3 g r3 l2 cos(alpha) cos(phi)."
    computed = f"{wanted:.6f} N m"
    return [
        Row("(20)", what, f"{printed:.6f} N m", computed, "does not come out", why),
        checked("(20)", "the same, corrected", f"{corrected:.6f} N m", computed, good),
    ]


def _figure_6(curve: ErrorCurve, printed_start: SpringResult) -> list[Row]:
    slope = float(np.polyfit(np.log10(curve.k), np.log10(curve.damped), 1)[0])
    at = int(np.argmin(np.abs(np.log10(curve.k / K))))
    k = curve.k[at]
    settled = abs(curve.damped[at] / curve.expected[at] - 1.0) < 0.05
    start, swing = printed_start.position_error[0], printed_start.position_error.max()
    falls = "e is F / k: it falls by ten where k grows by ten."
    swings = (
        f"the reaction at B over k, F / k, is {curve.expected[at]:.2g} m, which the springs settle at if they are"
        " damped. Without dampers e at one instant is a matter of phase, anywhere from 0 to 2 F / k. The printed"
        f" initial angles, rounded to six digits, open the loop by {start:.2g} m before anything moves, and the"
        f" springs then swing up to {swing:.2g} m."
    )
    found = f"{curve.damped[at]:.2g} m with dampers, {curve.undamped[at]:.2g} m without"
    good, with_dampers = abs(slope + 1.0) < 0.05, f"{slope:.3f} with dampers"
    at_k = f"e at k = 1e{log10(k):.3g}, t = 0.1 s"
    return [
        checked("Fig. 6", "slope of log e over log k", "decreasing", with_dampers, good, falls),
        Row("Fig. 6", at_k, "10^-5.5 = 3.2e-6 m", found, unmet(explained=settled), swings),
    ]


def _figure_7_and_8(
    closed: SimulationResult,
    dae: SimulationResult,
    springs: SpringResult,
    stiffer: SpringResult,
    exact: tuple[Floats, Floats],
) -> list[Row]:
    apart = float(np.abs(closed.q - dae.q).max()) if len(closed.q) == len(dae.q) else float("inf")
    error, error_stiffer = (_angles(_less(each, exact)[0]) for each in (springs, stiffer))
    largest, largest_stiffer = np.abs(error).max(axis=0), np.abs(error_stiffer).max(axis=0)
    speed = np.abs(_angles(_less(springs, exact)[1])).max(axis=0)
    ratio = float(largest[0] / largest_stiffer[0])
    end, rate = _angles(springs.all_q)[-1], _angles(springs.all_qd)[-1]
    whole = len(springs.t) == len(closed.t) == len(exact[0])
    at_end, identical = f"at {springs.t[-1]:.3g} s", whole and apart < 1e-6
    small, rates = whole and bool(largest.max() < 1e-2), f"{numbers(speed)} rad/s"
    falls, as_k = f"{ratio:.3g}: as 1 / k", 8.0 < ratio < 12.0
    why = "it grows along the motion, since F / k makes the mechanism another one by as much."
    return [
        shown("Fig. 7", f"theta, alpha, phi {at_end}", f"{numbers(end)} rad"),
        shown("Fig. 7", f"their rates {at_end}", f"{numbers(rate)} rad/s"),
        checked("Sec. 3.1.2", "closed form and DAE", "almost identical", f"{apart:.1e} rad apart", identical),
        checked("Fig. 8", "largest error of theta, alpha, phi", "very small", f"{numbers(largest)} rad", small, why),
        Row("Fig. 8", "largest error of their rates", "very small", rates, "shown"),
        checked("Sec. 2.1", "error at 1e6 over error at 1e7", "exact as k grows", falls, as_k),
    ]


def _flexible_rows(
    mechanism: FlexibleMechanism, exact: FlexibleResult, springs: FlexibleResult, stiffer: FlexibleResult
) -> list[Row]:
    whole = len(exact.t) == len(springs.t) == len(stiffer.t)
    v, w, u = (mechanism.deflection(each.modes, COUPLER) for each in (exact, springs, stiffer))
    fundamental = float(mechanism.natural_frequencies(COUPLER)[0])
    half = len(w) // 2
    found = np.array([dominant_frequency(springs.t[:half], w[:half]), dominant_frequency(springs.t, w)])
    end = _angles(springs.q)[-1]
    relative = 100.0 * float(np.abs(w - v).max() / np.abs(v).max())
    relative_stiffer = 100.0 * float(np.abs(u - v).max() / np.abs(v).max())
    worst = np.abs(_angles(springs.q - exact.q)).max(axis=0)
    printed = f"close to the fundamental {fundamental:.2f} Hz"
    frequencies = f"{found[0]:.2f} Hz in the first half, {found[1]:.2f} Hz in all"
    close, small = bool((np.abs(found / fundamental - 1.0) < 0.2).all()), whole and bool(worst.max() < 2e-2)
    drifts = (
        "the fundamental one is that of a bar between fixed pins; here the links at the pins take part, and the"
        " frequency drifts as they move."
    )
    two = whole and 1.5 < relative < 2.5
    largest = (
        "the largest difference over the largest deflection; taken instant by instant it has no bound, because the"
        f" deflection passes through zero. With k = 1e7 it is {relative_stiffer:.2g} %."
    )
    return [
        shown("Fig. 10", f"theta, alpha, phi at {springs.t[-1]:.3g} s", f"{numbers(end)} rad"),
        shown("Fig. 11", "largest deflection in the middle", f"{np.abs(w).max():.3g} m"),
        checked("Fig. 11", "dominant frequency", printed, frequencies, close, drifts),
        checked("Fig. 12", "largest error of theta, alpha, phi", "a curve", f"{numbers(worst)} rad", small),
        checked("Fig. 13", "largest relative error", "about 2 %", f"{relative:.2g} %", two, largest),
    ]


def _draw_figure_6(figure: Any, curve: ErrorCurve) -> None:
    axes = figure.subplots()
    x = np.log10(curve.k)
    axes.plot(x, np.log10(curve.damped), "k-", label="with dampers")
    axes.plot(x, np.log10(curve.undamped), "x", color="0.5", label="without, springs slack at first")
    axes.plot(x, np.log10(curve.expected), ":", label="F / k")
    axes.plot([6.0], [-5.5], "o", fillstyle="none", label="printed")
    axes.set(xlabel="log(k)", ylabel="log(e)", title="Fig. 6: position error at t = 0.1 s")
    axes.grid(True)
    axes.legend()


def _draw_motion(figure: Any, t: Floats, q: Floats, qd: Floats) -> None:
    above, below = figure.subplots(2, 1)
    curves(above, t, _angles(q), NAMES, "(a) angles (rad)")
    curves(below, t, _angles(qd), NAMES, "(b) rates (rad/s)")


def _draw_errors(figure: Any, t: Floats, q: Floats, qd: Floats) -> None:
    grid = figure.subplots(3, 2)
    for column, values, unit in ((0, _angles(q), "(rad)"), (1, _angles(qd), "rate (rad/s)")):
        for row in range(3):
            grid[row, column].plot(t[: len(values)], values[:, row])
            finish(grid[row, column], f"error of {NAMES[row]} {unit}")


def _draw_line(figure: Any, t: Floats, values: Floats, unit: str) -> None:
    axes = figure.subplots()
    axes.plot(t[: len(values)], values)
    finish(axes, unit)
