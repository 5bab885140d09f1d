"""``dyn convert``: a robot's description in another notation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dyn_core.conversion import convert


def run(args: argparse.Namespace) -> int:
    """Write the file and say what it is; status 0."""
    target = Path(args.target)
    notation = args.to or ("urdf" if target.suffix == ".urdf" else "mdh")
    done = convert(args.source, target, notation, args.floating, args.force)
    for note in done.notes:
        print(f"dyn convert: {note}", file=sys.stderr)
    print(f"{target}: {args.source} by {notation}, read back and found to be the same robot")
    return 0
