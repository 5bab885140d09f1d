"""Curves over time, as PNG and PDF by Matplotlib."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dyn_core.arrays import Floats
from dyn_core.files import write_whole

from .figure import Plot, drawn

MOST_POINTS = 5000  # of a curve in a figure: more cannot be seen
FORMATS = ("png", "pdf")


@dataclass(frozen=True)
class Panel:
    """Curves that share an axis."""

    title: str
    """Quantity and unit."""
    labels: tuple[str, ...]
    t: Floats
    """(m,) s."""
    values: Floats
    """(m, n), a curve per column."""


def write_figures(panels: Sequence[Panel], title: str, stem: Path) -> list[Path]:
    """Draw the panels below each other, and write <stem>.png and <stem>.pdf; returns their paths."""
    plot = Plot(stem.name, (9.0, 1.0 + 2.1 * len(panels)), lambda figure: _draw(figure, panels, title))
    files = [stem.with_name(f"{stem.name}.{kind}") for kind in FORMATS]
    for path, kind in zip(files, FORMATS, strict=True):
        write_whole(path, drawn(plot, kind))
    return files


def _draw(figure: Any, panels: Sequence[Panel], title: str) -> None:
    figure.suptitle(title)
    axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        shown = slice(None, None, max(1, -(-len(panel.t) // MOST_POINTS)))
        for label, curve in zip(panel.labels, panel.values.T, strict=True):
            axis.plot(panel.t[shown], curve[shown], linewidth=1.2, label=label)
        axis.set_ylabel(panel.title)
        axis.grid(True, linewidth=0.3)
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    axes[-1].set_xlabel("time, s")
