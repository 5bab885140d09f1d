"""What reproducing a paper gives: a table of printed against computed, and figures."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import InputError
from ..files import write_whole
from ..plots import Plot, png

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
    return {f"{report.name}_{plot.name}.png": png(plot) for plot in report.plots}


def write_images(drawn: dict[str, bytes], folder: Path) -> list[Path]:
    """Write all figures into a folder, which is made if need be: each file whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}") from error
    for name, content in drawn.items():
        write_whole(folder / name, content)
    return [folder / name for name in drawn]
