"""Only what no living process holds is removed from shared memory."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from dyn_cli.supervision.shared_memory import clean


def segment(folder: Path, name: str, age: float) -> Path:
    for file in (folder / name, folder / f"{name}_el"):
        file.write_bytes(b"")
        os.utime(file, (time.time() - age, time.time() - age))
    return folder / f"{name}_el"


def test_leftovers_go_and_the_rest_stays(tmp_path: Path) -> None:
    held = segment(tmp_path, "fastrtps_held", 100.0)
    segment(tmp_path, "fastrtps_left", 100.0)
    segment(tmp_path, "fastrtps_young", 1.0)
    segment(tmp_path, "of_another_program", 100.0)
    with held.open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        assert clean(tmp_path) == ["fastrtps_left"]
    left = {file.name.removesuffix("_el") for file in tmp_path.iterdir()}
    assert left == {"fastrtps_held", "fastrtps_young", "of_another_program"}


def test_a_missing_folder_is_no_error(tmp_path: Path) -> None:
    assert clean(tmp_path / "nowhere") == []
