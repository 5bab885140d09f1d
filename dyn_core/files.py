"""Files that are written whole or not at all, and files of others that are opened with care."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

from .errors import InputError


def open_file(path: Path) -> BinaryIO:
    """Open a file to read its bytes; OSError for what is none, such as a pipe, on which one could wait for ever."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:
        raise OSError(errno.EINVAL, "no file can have this name") from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError(errno.EINVAL, "it is a folder" if stat.S_ISDIR(mode) else "it is not a file")


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    with whole_file(path) as file:
        file.write(content.encode(errors="replace") if isinstance(content, str) else content)


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
