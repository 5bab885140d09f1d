"""Removes what killed processes left of Fast DDS in shared memory.

Fast DDS keeps a file lock beside each segment (``fastrtps_*_el``, ``_sl``) for as long as its process lives; a lock
that can be taken belongs to nobody. Left behind, the files fill memory and make later starts print errors.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

FOLDER = Path("/dev/shm")
AGE = 60.0
"""Younger files are left alone (s): their process may be about to lock them."""


def clean(folder: Path = FOLDER, age: float = AGE) -> list[str]:
    """Remove segments that no living process holds; returns their names."""
    removed = []
    for suffix in ("_el", "_sl"):
        for lock in folder.glob(f"fastrtps_*{suffix}"):
            with contextlib.suppress(OSError):
                if time.time() - lock.stat().st_mtime > age and _free(lock):
                    segment = lock.with_name(lock.name.removesuffix(suffix))
                    segment.unlink(missing_ok=True)
                    lock.unlink(missing_ok=True)
                    removed.append(segment.name)
    return removed


def _free(lock: Path) -> bool:
    descriptor = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
