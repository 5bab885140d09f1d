"""Curves over time: as PNG and PDF by Matplotlib, and as text for a terminal.

Text is drawn in braille characters, two dots wide and four high, with nothing to install.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .files import write_whole
from .mechanism import Floats
from .plots import Plot, drawn

DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
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
        shown = _thinned(len(panel.t))
        for label, curve in zip(panel.labels, panel.values.T, strict=True):
            axis.plot(panel.t[shown], curve[shown], linewidth=1.2, label=label)
        axis.set_ylabel(panel.title)
        axis.grid(True, linewidth=0.3)
    axes[0].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize="small")
    axes[-1].set_xlabel("time, s")


def _thinned(m: int) -> slice:
    return slice(None, None, max(1, -(-m // MOST_POINTS)))


def terminal_plot(panel: Panel, width: int = 78, height: int = 10) -> str:
    """One panel as lines of text, each curve in turn drawn over the others, with the axes' ends written beside."""
    low, high = float(panel.values.min()), float(panel.values.max())
    if high == low:
        low, high = low - 0.5, high + 0.5
    ends = (f"{high:.4g}", f"{low:.4g}")
    margin = max(map(len, ends)) + 1
    columns = max(10, width - margin - 1)
    cells = np.zeros((height, columns), int)
    across = np.linspace(panel.t[0], panel.t[-1], 2 * columns)
    for curve in panel.values.T:
        y = np.interp(across, panel.t, curve)
        level = np.clip(np.rint((high - y) / (high - low) * (4 * height - 1)), 0, 4 * height - 1).astype(int)
        for x, at in enumerate(level):
            before = level[max(x - 1, 0)]
            for dot in range(min(at, before + (at > before)), max(at, before - (at < before)) + 1):
                cells[dot // 4, x // 2] |= DOTS[dot % 4, x % 2]
    lines = [f"{panel.title}: {', '.join(panel.labels)}"]
    for k, row in enumerate(cells):
        label = ends[0] if k == 0 else ends[1] if k == height - 1 else ""
        lines.append(f"{label:>{margin}}|" + "".join(chr(0x2800 + int(cell)) for cell in row).rstrip("\u2800"))
    start, end = f"{panel.t[0]:.4g} s", f"{panel.t[-1]:.4g} s"
    lines.append(" " * (margin + 1) + start + end.rjust(columns - len(start)))
    return "\n".join(lines)
