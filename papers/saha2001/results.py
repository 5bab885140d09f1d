"""Saha and Schiehlen: what section VI says and plots of both linkages, computed by `denoc`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import simpson

from dyn_cli.figures.figure import Plot
from dyn_core.arrays import Floats

from ..report import Report, Row, checked, curves, finish, shown
from .linkages import DEGREE, FAR, SAMPLE, Linkage, LinkageMotion, T, linkages, turns

TITLE = "Saha and Schiehlen, Recursive Kinematics and Dynamics for Closed Loop Multibody Systems, section VI"
FREE_TIME = 10.0  # s of the four-bar's free simulation; the paper's time axis is not known
UNITS = ("rad", "rad/s", "rad/s²")
NOTES = (
    "The figures are not in the paper's text. Uniform thin rods, gravity along -y; both crank angles of the five-bar"
    " are measured from the same +x axis.",
    "The assembly mode is not printed: 'below' (the described robots) and 'above' are both computed, and each has its"
    " figures.",
    "T = 20 s is nearly static: these torques hardly test inertia terms; the tests of denoc use fast motions.",
)
EARLY = (
    "small errors grow where dθ''/dθ is above 0, so that the time depends on the integrator, its tolerance and how the"
    " torques are sampled. None of those tried here diverges as early as 2.25 s, where the motion is not yet unstable"
    " in either mode: why the paper's does is not known (its masses' distribution, mode and torque tables are not"
    " printed)."
)
UNSTABLE = (
    "the motion is unstable from the start, so that the time depends on the integrator, its tolerance and how the"
    " torques are sampled; times around the printed one occur, but it is no result. The simulations end 1 rad from the"
    " trajectory, before a singularity."
)
NO_GRAVITY = "(25) and (37) leave out gravity, γ(θ), which the vertical linkage needs: τ = I τ_e + C θ' + γ."
THE_MODE = "within 0.1 s of the printed 'about 1.4 sec' in this mode only, which is therefore taken as the paper's."
OTHER_MODE = "the other assembly mode; the paper does not say which one it has."


def compute() -> Report:
    """All results of section VI."""
    four, five = linkages("four_bar_saha"), linkages("five_bar_saha")
    free_four = {mode: free_motion(each, [90.0], FREE_TIME) for mode, each in four.items()}
    free_five = {mode: free_motion(each, [80.0, 70.0], 2.0) for mode, each in five.items()}
    rows: list[Row] = []
    for linkage in four.values():
        rows += [*inverse_rows(("Fig. 5(a)", "Fig. 5(b,c)", "Fig. 6"), linkage), last_angle(linkage)]
    for mode, linkage in four.items():
        rows += swinging_rows(linkage, free_four[mode])
    rows += forced_rows("Fig. 8", four, "diverges at 2.25 s", EARLY)
    for linkage in five.values():
        rows += inverse_rows(("Fig. 10", "VI B 2", "Fig. 11"), linkage)
    for mode, linkage in five.items():
        rows += falling_rows(linkage, free_five[mode])
    rows += forced_rows("Fig. 13", five, "singular at 3.2 s", UNSTABLE)
    plots = [plot for mode in four for plot in figures(four[mode], five[mode], free_four[mode], free_five[mode])]
    return Report("saha2001", TITLE, tuple(rows), tuple(plots), NOTES)


def free_motion(linkage: Linkage, degrees: list[float], duration: float) -> LinkageMotion:
    """The linkage released from rest."""
    return linkage.simulate(np.array(degrees) * DEGREE, duration, lambda *_: np.zeros(len(degrees)))


def inverse_rows(places: tuple[str, str, str], linkage: Linkage) -> list[Row]:
    """Angles, rates and torques along the trajectory (Figs 5, 6 and 10, 11)."""
    angles, rates, torques = places
    mode, active = linkage.mode, linkage.robot.joints
    q, qd, qdd = linkage.joints.transpose(1, 0, 2)
    names = linkage.robot.mechanism.joint_names
    gap = np.abs(turns(q - np.array([linkage.closed_form(row) for row in q[:, active]]))).max()
    at_ends = max(np.abs(qd[[0, -1]]).max(), np.abs(qdd[[0, -1]]).max())
    slope = np.gradient(q, SAMPLE, axis=0, edge_order=2), np.gradient(qd, SAMPLE, axis=0, edge_order=2)
    away = max(np.abs(slope[0] - qd)[2:-2].max(), np.abs(slope[1] - qdd)[2:-2].max())
    tau = linkage.torques
    rows = [
        shown(angles, f"{name} ({mode})", f"{a / DEGREE:.2f} to {b / DEGREE:.2f} deg")
        for name, a, b in zip(names, q[0], q[-1], strict=True)
    ]
    what = f"angles against circles that meet ({mode})"
    rows.append(checked(angles, what, "the same", f"{gap:.0e} rad apart", gap < 1e-9))
    what = f"rates and accelerations at both ends ({mode})"
    rows.append(checked(rates, what, "vanish", f"{at_ends:.0e}", at_ends < 1e-9))
    what = f"rates (11b) against differences ({mode})"
    rows.append(checked(rates, what, "the same", f"{away:.0e} apart", away < 1e-5))
    for k, joint in enumerate(active):
        span = f"{tau[0, k]:.3f} to {tau[-1, k]:.3f}, largest {np.abs(tau[:, k]).max():.3f} N m"
        rows.append(shown(torques, f"torque of {names[joint]} ({mode})", span))
    for t, row in ((0.0, tau[0]), (T, tau[-1])):
        static = np.abs(row - linkage.static_torques(linkage.trajectory(t)[0])).max()
        what = f"torque at {t:g} s is static ({mode})"
        rows.append(checked(torques, what, "dV/dθ", f"{static:.0e} N m apart", static < 1e-6))
    work = float(simpson((tau * qd[:, active]).sum(axis=1), dx=SAMPLE))
    gained = linkage.potential(q[-1]) - linkage.potential(q[0])
    what = f"work of the torques ({mode})"
    rows.append(checked(torques, what, f"{gained:.6f} J gained", f"{work:.6f} J", abs(work - gained) < 1e-5))
    return rows


def last_angle(linkage: Linkage) -> Row:
    """θ_4 from the sum of the others, which holds in one mode only."""
    what = f"θ_4 = π - Σ without turns ({linkage.mode})"
    if np.abs(np.pi - linkage.joints[:, 0].sum(axis=1)).max() < np.pi:
        return Row("VI A 1", what, "holds", "holds", "agrees")
    why = "here θ_4 needs a multiple of 2π: the paper's linkage is therefore taken to have its joint below."
    return Row("VI A 1", what, "holds", "does not hold", "does not come out", why)


def drift(linkage: Linkage, motion: LinkageMotion, until: float) -> float:
    """J, the largest change of energy up to a time (s)."""
    energies = [linkage.energy(q, qd) for t, q, qd in zip(motion.t, motion.q, motion.qd, strict=True) if t < until]
    return float(np.abs(np.array(energies) - energies[0]).max())


def swinging_rows(linkage: Linkage, free: LinkageMotion) -> list[Row]:
    """Fig. 7: the four-bar linkage swings freely."""
    lost = drift(linkage, free, np.inf)
    span = f"{free.q.min() / DEGREE:.1f} to {free.q.max() / DEGREE:.1f} deg in {FREE_TIME:g} s"
    good = not free.end and lost < 1e-6
    return [
        shown("Fig. 7", f"free simulation from 90 deg ({linkage.mode})", span),
        checked("Fig. 7", f"energy in it ({linkage.mode})", "constant", f"to {lost:.0e} J", good),
    ]


def falling_rows(linkage: Linkage, free: LinkageMotion) -> list[Row]:
    """Fig. 12: the five-bar manipulator falls into a singularity."""
    what, printed = f"free fall from 80/70 deg ({linkage.mode})", "singular after about 1.4 s"
    found = free.end or "no stop"
    if linkage.mode == "below":
        near = bool(free.end) and abs(free.t[-1] - 1.4) < 0.1
        stops = checked("Fig. 12", what, printed, found, near, THE_MODE)
    else:
        stops = Row("Fig. 12", what, printed, found, "does not come out", OTHER_MODE)
    lost = drift(linkage, free, free.t[-1] - 0.05)
    return [stops, checked("Fig. 12", f"energy in it ({linkage.mode})", "constant", f"to {lost:.0e} J", lost < 1e-5)]


def forced_rows(place: str, modes: dict[str, Linkage], printed: str, why: str) -> list[Row]:
    """The forced simulations, which are no results, and the law (37)."""
    rows = []
    for mode, linkage in modes.items():
        for k, (name, motion) in enumerate(linkage.forced.items()):
            what, found = f"forced simulation, {name} ({mode})", linkage.departs(motion)
            rows.append(Row(place, what, printed, found, "does not come out", "" if k else why))
    for mode, linkage in modes.items():
        growing = ", ".join(f"{linkage.growth(t):.1f} at {t:g} s" for t in (0.0, 2.25, 5.0, 10.0))
        rows.append(Row(place, f"growth of errors, dθ''/dθ in 1/s² ({mode})", "unstable", growing, "shown"))
        follows = linkage.simulate(linkage.start, T, linkage.feedback(True))
        error = np.abs(linkage.error(follows)).max()
        good, what = not follows.end and error < 1e-7, f"followed with λ = 1 and gravity ({mode})"
        rows.append(checked("(37)", what, "exactly", f"to {error:.0e} rad", good))
        off = linkage.simulate(linkage.start + 0.05, T / 2, linkage.feedback(True))
        error = np.abs(linkage.error(off) - (0.05 * (1 + off.t) * np.exp(-off.t))[:, None]).max()
        good, what = not off.end and error < 1e-7, f"a start 0.05 rad off ({mode})"
        rows.append(checked("(37)", what, "0.05 (1 + t) exp(-t)", f"to {error:.0e} rad", good))
        bare = linkage.simulate(linkage.start, T, linkage.feedback(False), tolerance=1e-8, within=FAR)
        what, found = f"the law as printed, without gravity ({mode})", linkage.departs(bare)
        reason = NO_GRAVITY if mode == "below" else ""
        rows.append(Row("(37)", what, "followed exactly", found, "does not come out", reason))
    return rows


def figures(four: Linkage, five: Linkage, free_four: LinkageMotion, free_five: LinkageMotion) -> list[Plot]:
    """Figs 5 to 8 and 10 to 13 in one assembly mode."""

    def joints(linkage: Linkage, panels: list[tuple[str, int, slice, list[str]]]) -> Callable[[Any], None]:
        def draw(figure: Any) -> None:
            row = np.ravel(figure.subplots(1, len(panels)))
            for axes, (title, order, which, labels) in zip(row, panels, strict=True):
                curves(axes, linkage.t, linkage.joints[:, order, which], labels, UNITS[order], title)

        return draw

    def lines(t: Floats, values: Floats, labels: list[str], unit: str, title: str = "") -> Callable[[Any], None]:
        return lambda figure: curves(figure.subplots(), t, values, labels, unit, title)

    def forced(linkage: Linkage, titles: list[str]) -> Callable[[Any], None]:
        def draw(figure: Any) -> None:
            wanted = np.array([linkage.trajectory(t)[0] for t in linkage.t])
            for k, axes in enumerate(np.ravel(figure.subplots(1, len(titles)))):
                axes.plot(linkage.t, wanted[:, k], label="org")
                for name, motion in linkage.forced.items():
                    axes.plot(motion.t, motion.q[:, k], "--", label=f"sim, {name}")
                axes.set_ylim(min(0.0, wanted[:, k].min() - 1), wanted[:, k].max() + 1)
                finish(axes, "rad", titles[k])
                axes.legend(fontsize="small")

        return draw

    parts = ("(a) joint angles", "(b) joint rates", "(c) joint accelerations")
    three = [(part, order, slice(3), ["θ_1", "θ_2", "θ_3"]) for order, part in enumerate(parts)]
    legs = [(f"({part}) leg {k + 1}", 0, slice(2 * k, 2 * k + 2), ["θ_1", "θ_2"]) for k, part in enumerate("ab")]
    wide, narrow, double = (12.0, 3.6), (5.0, 3.6), (9.0, 3.6)
    drawings = [
        ("fig05", wide, joints(four, three)),
        ("fig06", narrow, lines(four.t, four.torques, ["τ_1"], "N m")),
        ("fig07", narrow, lines(free_four.t, free_four.q, ["θ_1"], "rad", free_four.end)),
        ("fig08", narrow, forced(four, ["θ_1"])),
        ("fig10", double, joints(five, legs)),
        ("fig11", narrow, lines(five.t, five.torques, ["τ_1 - 1", "τ_1 - 2"], "N m")),
        ("fig12", narrow, lines(free_five.t, free_five.q, ["θ_1 - 1", "θ_1 - 2"], "rad", free_five.end)),
        ("fig13", double, forced(five, ["(a) leg 1", "(b) leg 2"])),
    ]
    suffix = "" if four.mode == "below" else "_above"
    return [Plot(name + suffix, size, draw) for name, size, draw in drawings]
