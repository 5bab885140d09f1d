"""What reproducing a paper gives: a table of printed against computed, and figures."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dyn_cli.figures.figure import Plot, drawn
from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.files import write_whole

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
    error: str = ""
    """Of the computed one, where that is worth a column."""
    time: str = ""
    """That computing took, likewise."""


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


def checked(place: str, what: str, printed: str, computed: str, holds: bool, why: str = "") -> Row:
    """A result that should come out, and whether it does."""
    return Row(place, what, printed, computed, agrees(holds), why)


def unmet(explained: bool) -> Verdict:
    """The verdict on a result that does not come out, for a reason that can be checked."""
    return "does not come out" if explained else "FAILS"


def shown(place: str, what: str, computed: str) -> Row:
    """A curve of the paper, with a value of it that the paper does not print."""
    return Row(place, what, "a curve", computed, "shown")


def numbers(values: Iterable[float], digits: int = 3) -> str:
    """Values rounded to a number of significant digits."""
    return ", ".join(f"{x:.{digits}g}" for x in values)


def curves(axes: Any, t: Floats, values: Floats, names: Iterable[str], unit: str, title: str = "") -> None:
    """Draw columns (m, k) of values over the time (s) with their names, each in a line style of its own."""
    for name, column, style in zip(names, values.T, ("-", "--", ":", "-."), strict=False):
        axes.plot(t, column, style, label=name)
    finish(axes, unit, title)
    axes.legend(fontsize="small")


def finish(axes: Any, unit: str, title: str = "") -> None:
    """Labels and grid of a panel over the time."""
    axes.set(xlabel="t (s)", ylabel=unit, title=title)
    axes.grid(True, alpha=0.3)


def images(report: Report) -> dict[str, bytes]:
    """The figures as PNG, by file name."""
    return {f"{report.name}_{plot.name}.png": drawn(plot) for plot in report.plots}


def write_images(pages: dict[str, bytes], folder: Path) -> list[Path]:
    """Write all figures into a folder, which is made if need be: each file whole or not at all."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}") from error
    for name, content in pages.items():
        write_whole(folder / name, content)
    return [folder / name for name in pages]
