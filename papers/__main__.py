"""`./dyn reproduce`, or `python -m papers`: the results of a paper, printed against computed, and its figures."""

import argparse
import dataclasses
import json
import sys
import textwrap
from pathlib import Path

from dyn_cli.main import build_parser
from dyn_cli.table import table
from dyn_core import DynError

from . import reproduce
from .report import Report, images, write_images


def main(args: argparse.Namespace) -> int:
    """Compute, draw, write, and print the table; status 1 if something that should come out does not."""
    report = reproduce(args.paper)
    files = write_images(images(report), Path(args.output or f"{report.name}_figures"))
    if args.json:
        answer = {
            "paper": report.name,
            "title": report.title,
            "rows": [dataclasses.asdict(row) for row in report.rows],
            "notes": report.notes,
            "figures": [str(file) for file in files],
            "failed": report.failed,
        }
        print(json.dumps(answer, indent=2))
    else:
        print_table(report)
        print(f"{len(files)} figures in {files[0].parent}: {', '.join(file.name for file in files)}")
    return 1 if report.failed else 0


def print_table(report: Report) -> None:
    """Printed against computed, then the reasons, then what was chosen."""
    print(f"{report.title}\n")
    columns = [
        column
        for column in ("place", "what", "printed", "computed", "error", "time", "verdict")
        if any(getattr(row, column) for row in report.rows)
    ]
    cells = [columns, *(tuple(getattr(row, column) for column in columns) for row in report.rows)]
    print("\n".join(table(cells)))
    reasons = [f"{row.place}, {row.what}: {row.why}" for row in report.rows if row.why]
    for heading, texts in (
        ("\nRemarks on what differs or needs a word:", reasons),
        ("\nWhat the paper leaves open:", report.notes),
    ):
        if texts:
            print(heading)
        for text in texts:
            print(textwrap.fill(text, 110, initial_indent="- ", subsequent_indent="  "))
    print()


if __name__ == "__main__":
    try:
        sys.exit(main(build_parser("reproduce").parse_args()))
    except DynError as error:
        print(f"dyn: {error}", file=sys.stderr)
        sys.exit(2)
