"""All benchmarks beside their reference figures, and two plots."""

from __future__ import annotations

from typing import Any

from dyn_cli.figures.figure import Plot
from dyn_core import simulate

from ..report import Report, curves, finish
from .bricard import bricard_rows
from .figures import described, moved
from .four_bars import four_bar_rows
from .governor import governor_rows
from .slider_crank import slider_crank_rows
from .squeezer import END, TORQUE, squeezer_rows

TITLE = "Published benchmarks of closed chains"
NOTES = (
    "squeezer: Test Set for IVP Solvers, Andrews' squeezing mechanism; Hairer and Wanner II, section VII.7. The figures"
    " printed there are good to about 5e-8.",
    "slider-crank: IFToMM library, spatial rigid slider-crank; Haug (1989), section 12.2. Exudyn's sliderCrank3Dtest"
    " prints the sum of the sizes of 14 coordinates at 0.2 s.",
    "Bricard: IFToMM library, A04. Energy should stay; the time of a swing is an integral over the closed form of its"
    " closure, sin b = sin a / (1 + sin a).",
    "governor: IFToMM library, A05. The library plots the slider; the figures here are those of its reduced equations,"
    " integrated by an implicit method.",
    "N four-bars: IFToMM library, A02; exact by the equivalent pendulum, an elliptic function. The motion passes, its"
    " loops closed, where the rods lie in line and the mechanism has N + 1 freedoms.",
    "Times are processor seconds of one thread, kernels being compiled, the set-up of the simulation included.",
)


def compute() -> Report:
    """Every benchmark."""
    rows = (*squeezer_rows(), *slider_crank_rows(), *bricard_rows(), *governor_rows(), *four_bar_rows())
    plots = (Plot("squeezer", (7.0, 4.0), _draw_squeezer), Plot("bricard", (7.0, 4.0), _draw_bricard))
    return Report("benchmarks", TITLE, rows, plots, NOTES)


def _draw_squeezer(figure: Any) -> None:
    motion = simulate(described("andrews_squeezer"), duration=END, torques=[TORQUE], h=1e-5, method="rk4")
    axes = figure.subplots()
    axes.plot(motion.t, motion.q)
    finish(axes, "beta (rad)", "Andrews' squeezing mechanism")


def _draw_bricard(figure: Any) -> None:
    motion = moved(described("bricard"), [0.0], 10.0, 1e-3, 501)
    points = motion.robot.tree.forward_kinematics(motion.q, "tool")[:, :3, 3]
    curves(figure.subplots(), motion.t, points, "xyz", "P3 (m)", "Bricard's mechanism")
