"""What reproducing a paper gives: a table of printed against computed, and figures."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import InputError, MissingLibraryError

Verdict = Literal["agrees", "shown", "does not come out", "FAILS"]
"""agrees: as printed. shown: no number is printed. does not come out: and `why` says why not. FAILS: it should."""


@dataclass(frozen=True)
class Row:
    """One result of a paper."""

    place: str
    """Where the paper has it, as "Fig. 6"."""
    what: str
    printed: str
    computed: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Plot:
    """One figure of a paper; draw(figure) fills an empty matplotlib figure of the given size."""

    name: str
    """Of the file, without its suffix."""
    size: tuple[float, float]
    """Inches."""
    draw: Callable[[Any], None]


@dataclass(frozen=True)
class Report:
    """All of a paper."""

    name: str
    title: str
    rows: tuple[Row, ...]
    plots: tuple[Plot, ...]
    notes: tuple[str, ...] = ()
    """What the paper leaves open and was chosen here."""

    @property
    def failed(self) -> bool:
        """Whether something that should come out does not."""
        return any(row.verdict == "FAILS" for row in self.rows)


def agrees(holds: bool) -> Verdict:
    """The verdict on a result that should come out."""
    return "agrees" if holds else "FAILS"


def images(report: Report) -> dict[str, bytes]:
    """The figures as PNG, by file name."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingLibraryError(
            "drawing the figures needs Matplotlib, which is not installed: pip install matplotlib"
        ) from None
    drawn = {}
    for plot in report.plots:
        figure = Figure(figsize=plot.size, layout="constrained")
        plot.draw(figure)
        page = io.BytesIO()
        figure.savefig(page, format="png", dpi=150)
        drawn[f"{report.name}_{plot.name}.png"] = page.getvalue()
    return drawn


def write_images(drawn: dict[str, bytes], folder: Path) -> list[Path]:
    """Write all figures into a folder, which is made if need be: each file whole or not at all."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in drawn.items():
            target = folder / name
            draft = folder / f".{name}.{os.getpid()}"
            try:
                draft.write_bytes(content)
                os.replace(draft, target)
            finally:
                draft.unlink(missing_ok=True)
            written.append(target)
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}") from error
    return written
