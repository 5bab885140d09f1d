"""Figures as PNG or PDF, by Matplotlib where it is installed."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dyn_core.errors import MissingLibraryError


@dataclass(frozen=True)
class Plot:
    """One figure; draw(figure) fills an empty matplotlib figure of the given size."""

    name: str
    """Of the file, without its suffix."""
    size: tuple[float, float]
    """Inches."""
    draw: Callable[[Any], None]


def drawn(plot: Plot, kind: str = "png") -> bytes:
    """The figure as a file of a kind, "png" or "pdf"; MissingLibraryError without Matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingLibraryError(
            "drawing the figures needs Matplotlib, which is not installed: pip install matplotlib"
        ) from None
    figure = Figure(figsize=plot.size, layout="constrained")
    plot.draw(figure)
    page = io.BytesIO()
    figure.savefig(page, format=kind, dpi=150)
    return page.getvalue()
