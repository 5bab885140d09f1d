"""Curves over time as text: braille characters, two dots wide and four high, with nothing to install."""

import numpy as np

from .time_plots import Panel

DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])


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
