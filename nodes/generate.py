"""`dyn generate`: a customised model as a file of plain Python."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dyn_core import load_robot
from dyn_core.customised import customised_source, general_operations
from dyn_core.files import write_whole


def run(args: argparse.Namespace) -> int:
    """Write the source; print its operations beside those of the general algorithm."""
    mechanism = load_robot(args.robot).mechanism
    source = customised_source(mechanism, args.model, grouped=not args.described)
    if args.output is None:
        sys.stdout.write(source.text)
    else:
        write_whole(Path(args.output), source.text)
    counts = sys.stderr if args.output is None else sys.stdout
    print(f"{mechanism.name}, {args.model} model", file=counts)
    print(f"  customised: {source.operations}", file=counts)
    print(f"  general:    {general_operations(mechanism, args.model)}", file=counts)
    return 0
