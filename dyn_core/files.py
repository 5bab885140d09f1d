"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import InputError


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    with whole_file(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which takes its place at the end, whole; if anything fails before, it never does."""
    draft = None
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            draft = file.name
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o644 if not path.exists() else path.stat().st_mode & 0o777)
        os.replace(draft, path)
        draft = None
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if draft is not None:
            os.unlink(draft)
