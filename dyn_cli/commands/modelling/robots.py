"""List the robots.

DYN_ROBOT_PATH names further folders.
"""

import argparse
import json

from dyn_cli.options import json_option
from dyn_cli.table import table

NEEDS = "core"
EXAMPLES = ("./dyn robots", "./dyn robots --json")
options = json_option


def run(args: argparse.Namespace) -> int:
    """Print a line per robot; one that cannot be loaded, with its error."""
    from dyn_core import DynError, load_robot, robot_names
    from dyn_core.errors import printable

    rows: list[dict[str, object]] = []
    for name in robot_names():
        try:
            m = load_robot(name).mechanism
        except DynError as error:
            rows.append({"name": name, "joints": None, "kind": None, "description": None, "error": str(error)})
        else:
            kind = "floating base" if m.base is not None else "fixed base"
            kind += ", elastic" if m.elastic.any() else ""
            kind += ", parallel" if m.platform is not None else ", closed chains" if m.loops else ""
            rows.append({"name": name, "joints": m.n, "kind": kind, "description": m.description, "error": None})
    if args.json:
        print(json.dumps({"robots": rows}, indent=2))
        return 0
    cells = [["name", "joints", "kind", "description"]]
    for row in rows:
        shown = [row["joints"], row["kind"], row["description"]]
        if row["error"] is not None:
            shown = ["-", "", f"cannot be loaded: {str(row['error']).splitlines()[0]}"]
        cells.append([printable(str(row["name"])), *map(str, shown)])
    print("\n".join(table(cells, "<><<")))
    return 0
