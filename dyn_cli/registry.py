"""The commands: ``dyn NAME`` is the file ``dyn_cli/commands/<group>/<NAME>.py``.

Its docstring is its help, the first line its line in the help of `dyn`. It has NEEDS (a tier of the environment),
OFFLINE (the tier that it needs with --offline), EXAMPLES, ``options(parser)``, ``run(args)``, which does the work and
returns the exit status, and HANDS_ON, if its arguments belong to another program and are not parsed here. At its top it
imports the standard library and what does so; what takes longer, or comes with an environment, its functions import.
"""

import importlib
from typing import Any

GROUPS = {
    "running": ("demo", "up", "move", "state", "stop", "clear", "stiffness", "map"),
    "modelling": ("sim", "robots", "convert", "parts", "excite", "identify", "generate"),
    "hardware": ("dac", "security"),
    "endurance": ("faults", "soak"),
    "developer": ("test", "setup", "bench", "profile", "reproduce"),
}
"""Names of commands by the folders that they are in, in the order of the help."""
NAMES = {name: group for group, names in GROUPS.items() for name in names}
"""The group of each command."""
NAME_WIDTH, CELL = 10, 35
"""Characters of a name in the help, and of a command with a short summary: two such stand in one line."""


def find(name: str) -> Any:
    """The file of the command of a name in NAMES."""
    return importlib.import_module(f"dyn_cli.commands.{NAMES[name]}.{name}")


def help_of(name: str) -> tuple[str, str]:
    """A command's summary, a line without a full stop, and details."""
    summary, _, details = str(find(name).__doc__).strip().partition("\n\n")
    return summary.removesuffix("."), details


def overview() -> str:
    """The help of `dyn`: a line per command, for short ones half a line."""
    lines = [
        "usage: ./dyn COMMAND [OPTIONS]        ./dyn COMMAND --help shows its options",
        "Robot arms under computed torque over ROS 2; the first command sets all up.",
    ]
    for group, names in GROUPS.items():
        cells: list[str] = []
        for name in names:
            cell = f"{name:{NAME_WIDTH}} {help_of(name)[0]}"
            if cells and len(cells[-1]) < CELL and len(cell) <= CELL:
                cells[-1] = f"{cells[-1]:{CELL}}{cell}"
            else:
                cells.append(cell)
        lines += [f"{title:9} {cell}" for title, cell in zip([group, *[""] * len(cells)], cells, strict=False)]
    return "\n".join(lines) + "\n"
