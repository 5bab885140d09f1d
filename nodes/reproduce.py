"""`dyn reproduce`: the results of a paper, printed against computed, and its figures."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from pathlib import Path

from dyn_core.reproduce import reproduce
from dyn_core.reproduce.report import Report, images, write_images


def run(args: argparse.Namespace) -> int:
    """Compute, draw, write, and print the table; status 1 if something that should come out does not."""
    report = reproduce(args.paper)
    files = write_images(images(report), Path(args.output or f"{report.name}_figures"))
    if args.json:
        print(
            json.dumps(
                {
                    "paper": report.name,
                    "title": report.title,
                    "rows": [dataclasses.asdict(row) for row in report.rows],
                    "notes": report.notes,
                    "figures": [str(file) for file in files],
                    "failed": report.failed,
                },
                indent=2,
            )
        )
    else:
        print_table(report)
        print(f"{len(files)} figures in {files[0].parent}: {', '.join(file.name for file in files)}")
    return 1 if report.failed else 0


def print_table(report: Report) -> None:
    """Printed against computed, then the reasons, then what was chosen."""
    print(f"{report.title}\n")
    columns = ("place", "what", "printed", "computed", "verdict")
    cells = [columns, *(tuple(getattr(row, column) for column in columns) for row in report.rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(columns))]
    for line in cells:
        print("  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip())
    reasons = [f"{row.place}, {row.what}: {row.why}" for row in report.rows if row.why]
    for heading, texts in (
        ("\nRemarks on what differs or needs a word:", reasons),
        ("\nWhat the paper leaves open:", list(report.notes)),
    ):
        if texts:
            print(heading)
            for text in texts:
                print(textwrap.fill(text, 110, initial_indent="- ", subsequent_indent="  "))
    print()
