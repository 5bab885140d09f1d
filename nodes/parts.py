"""`dyn parts build`: a robot's masses and inertias from its parts, as a table and as a robot YAML."""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

from dyn_core.description import build_parts
from dyn_core.description.library import PARTS
from dyn_core.description.parts import MADE_BY, Built, without_rounding
from dyn_core.description.robot_file import Inertial
from dyn_core.errors import DescriptionError, InputError
from dyn_core.files import open_file, write_whole

COLUMNS = ("mass", "x", "y", "z", "xx", "yy", "zz", "xy", "xz", "yz")


def run(args: argparse.Namespace) -> int:
    """Compute, check, write, print; status 2 with every mistake of the file, a line each."""
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
        print(table(built))
        print(f"written: {output}")
    return 0


def _output(path: Path, wanted: str | None, force: bool) -> Path:
    """Where the robot goes; InputError where that would lose what the user wrote."""
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


def table(built: Built) -> str:
    """Sections in their parts' coordinates, parts in their links' working frames, links in their joints' frames."""
    rows: list[tuple[str, ...]] = [("", *COLUMNS)]
    for link in built.links:
        rows.append((link.name, *_cells(link.body)))
        for part in link.parts:
            rows.append((f"  {part.number} {part.name}".rstrip(), *_cells(part.body)))
            for section in part.sections:
                kind = f"{section.shape} (hole)" if section.hole else section.shape
                rows.append((f"    {kind} {section.name}".rstrip(), *_cells(section.body)))
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        f"{built.mechanism.name}: mass (kg), centre of mass x y z (m), and inertia about it (kg m^2)",
        "  of each link in the frame of its joint's notation, of its parts in its working frame,",
        "  of their sections in the coordinates of the part",
        "",
    ]
    for first, *rest in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:{widths[0]}}", *cells]).rstrip())
    return "\n".join(lines)


def _cells(body: Inertial) -> list[str]:
    """In the order of COLUMNS."""
    mass, com, J = without_rounding(body)
    return [f"{x:.4g}" for x in (mass, *com, J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2])]


def as_dict(built: Built) -> dict[str, object]:
    """Everything computed, for JSON."""

    def body(inertial: Inertial) -> dict[str, object]:
        return {"mass": inertial.mass, "com": inertial.com.tolist(), "inertia": inertial.inertia.tolist()}

    links = [
        {"name": link.name}
        | body(link.body)
        | {
            "parts": [
                {"number": part.number, "name": part.name}
                | body(part.body)
                | {
                    "sections": [
                        {"shape": section.shape, "name": section.name, "hole": section.hole}
                        | {"volume": section.volume}
                        | {"density": section.density if math.isfinite(section.density) else None}
                        | body(section.body)
                        for section in part.sections
                    ]
                }
                for part in link.parts
            ]
        }
        for link in built.links
    ]
    return {"links": links, "warnings": list(built.warnings)}
