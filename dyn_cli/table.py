"""Tables for a terminal."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], sides: str = "<") -> list[str]:
    """Rows of cells as lines, every column as wide as its widest cell.

    sides: to which side the text of each column goes, "<" or ">"; the last holds for all further columns.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = sides.ljust(len(widths), sides[-1])
    return [
        "  ".join(f"{cell:{side}{width}}" for cell, side, width in zip(row, aligned, widths, strict=True)).rstrip()
        for row in rows
    ]
