"""Plots: files of the right kind, and text whose dots lie on the curve."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dyn_cli.figures.terminal_plot import terminal_plot
from dyn_cli.figures.time_plots import Panel, write_figures

T = np.linspace(0.0, 2.0, 2001)


def test_png_and_pdf_are_written(tmp_path: Path) -> None:
    panel = Panel("theta, rad", ("a", "b"), T, np.stack([np.sin(T), np.cos(T)], axis=1))
    png, pdf = write_figures([panel, panel], "arm", tmp_path / "run.1")
    assert (png.name, pdf.name) == ("run.1.png", "run.1.pdf")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert pdf.read_bytes().startswith(b"%PDF")


def test_a_line_goes_from_corner_to_corner() -> None:
    text = terminal_plot(Panel("theta, rad", ("a",), T, 3.0 * T[:, None]), width=40, height=5).splitlines()
    title, *rows, axis = text
    assert title == "theta, rad: a"
    assert len(rows) == 5
    assert rows[0].split("|")[0].strip() == "6"
    assert rows[-1].split("|")[0].strip() == "0"
    assert rows[0].split("|")[1].startswith("\u2800")  # nothing in the upper left
    assert rows[-1].split("|")[1][0] != "\u2800"
    assert len(rows[0]) == 40
    assert axis.split() == ["0", "s", "2", "s"]


def test_a_constant_is_a_level_line() -> None:
    rows = terminal_plot(Panel("x", ("a",), T, np.ones((len(T), 1))), width=30, height=5).splitlines()[1:-1]
    drawn = [row for row in rows if row.split("|")[1].strip("\u2800")]
    assert len(drawn) == 1
