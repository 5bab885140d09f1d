"""Compute a robot's masses and inertias from its parts.

Of every section, part and link; the robot YAML is written.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dyn_cli.options import json_option
from dyn_cli.table import table

if TYPE_CHECKING:
    from dyn_core.description import Built, Inertial

NEEDS = "parts"
EXAMPLES = ("./dyn parts build arm.parts.yaml", "./dyn parts build arm.parts.yaml --output robots/arm.yaml --json")

COLUMNS = ("mass", "x", "y", "z", "xx", "yy", "zz", "xy", "xz", "yz")


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=("build",), help="compute, check, print the table, write the robot YAML")
    parser.add_argument("file", metavar="PARTS", help="a parts database, <name>.parts.yaml")
    parser.add_argument("--output", metavar="YAML", help="default: <name>.yaml beside PARTS")
    parser.add_argument("--force", action="store_true", help="write over a file that was not made from parts")
    json_option(parser)


def run(args: argparse.Namespace) -> int:
    """Compute, check, write, print; status 2 with every mistake of the file, a line each."""
    from dyn_core.description import build_parts
    from dyn_core.errors import DescriptionError
    from dyn_core.files import write_whole

    path = Path(args.file)
    try:
        built = build_parts(path)
    except DescriptionError as error:
        print("\n".join([f"dyn: {error}", *getattr(error, "__notes__", ())]), file=sys.stderr)
        return 2
    for warning in built.warnings:
        print(f"dyn parts: {warning}", file=sys.stderr)
    output = _output(path, args.output, args.force)
    write_whole(output, built.text)
    if args.json:
        print(json.dumps({"robot": built.mechanism.name, "output": str(output)} | as_dict(built), indent=2))
    else:
        print("\n".join(report(built)))
        print(f"written: {output}")
    return 0


def _output(path: Path, wanted: str | None, force: bool) -> Path:
    """Where the robot goes; InputError where that would lose what the user wrote."""
    from dyn_core.description import MADE_BY, PARTS
    from dyn_core.errors import InputError
    from dyn_core.files import open_file

    name = path.name.removesuffix(PARTS)
    output = Path(wanted) if wanted else path.with_name(f"{name}.yaml")
    if not wanted and name == path.name:
        raise InputError(f"{path}: its name does not end in {PARTS}: say with --output where the robot goes")
    if not output.exists():
        return output
    if output.samefile(path):
        raise InputError(f"{output} is the parts database itself: say with --output where the robot goes")
    if not force:
        try:
            with open_file(output) as file:
                mine = file.read(len(MADE_BY)) == MADE_BY.encode()
        except OSError as error:
            raise InputError(f"{output}: cannot be read ({error.strerror or error})") from error
        if not mine:
            raise InputError(f"{output} exists already and was not made from parts; --force writes over it")
    return output


def report(built: Built) -> list[str]:
    """Sections in their parts' coordinates, parts in their links' working frames, links in their joints' frames."""
    rows: list[tuple[str, ...]] = [("", *COLUMNS)]
    for link in built.links:
        rows.append((link.name, *_cells(link.body)))
        for part in link.parts:
            rows.append((f"  {part.number} {part.name}".rstrip(), *_cells(part.body)))
            for section in part.sections:
                kind = f"{section.shape} (hole)" if section.hole else section.shape
                rows.append((f"    {kind} {section.name}".rstrip(), *_cells(section.body)))
    return [
        f"{built.mechanism.name}: mass (kg), centre of mass x y z (m), and inertia about it (kg m^2)",
        "  of each link in the frame of its joint's notation, of its parts in its working frame,",
        "  of their sections in the coordinates of the part",
        "",
        *table(rows, "<>"),
    ]


def _cells(body: Inertial) -> list[str]:
    """In the order of COLUMNS."""
    mass, com, J = body.without_rounding()
    return [f"{x:.4g}" for x in (mass, *com, J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])]


def as_dict(built: Built) -> dict[str, object]:
    """Everything computed, for JSON."""
    return {"links": _plain(built.links), "warnings": list(built.warnings)}


def _plain(value: Any) -> Any:
    """Records as dictionaries, with the entries of their bodies among their own."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if not hasattr(value, "body"):
        return value if not isinstance(value, float) or math.isfinite(value) else None
    found = {item.name: _plain(getattr(value, item.name)) for item in fields(value) if item.name != "body"}
    mass, com, inertia = value.body
    return found | {"mass": mass, "com": com.tolist(), "inertia": inertia.tolist()}
