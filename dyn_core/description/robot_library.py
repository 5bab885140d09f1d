"""Where robot descriptions are found."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PARTS = ".parts.yaml"
"""How the names of parts databases end, which are no robots yet."""
SHIPPED = (Path("config") / "robots", Path("share") / "dyn_robot" / "config" / "robots")


def _folders() -> list[Path]:
    """Folders named in DYN_ROBOT_PATH, then the one that came with this installation."""
    folders = [Path(entry) for entry in os.environ.get("DYN_ROBOT_PATH", "").split(os.pathsep) if entry]
    for above in Path(__file__).resolve().parents:
        shipped = next((above / place for place in SHIPPED if (above / place).is_dir()), None)
        if shipped is not None:
            return [*folders, shipped]
    return folders


def robot_files() -> dict[str, Path]:
    """Every robot that can be loaded by name, sorted; of two of the same name the first folder's wins.

    A folder that is not there or cannot be read has none.
    """
    found: dict[str, Path] = {}
    for folder in _folders():
        with contextlib.suppress(OSError):
            for file in folder.glob("*.yaml"):
                if not file.name.endswith(PARTS):
                    found.setdefault(file.stem, file)
    return dict(sorted(found.items()))
