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

from dyn_core.errors import InputError


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


def user_path(text: str | Path) -> Path:
    """A path as a person writes it, with ~ for a home folder."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise InputError(f"{text}: there is no user of that name, or no home folder") from error


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all."""
    with whole_file(path) as file:
        file.write(content.encode(errors="replace") if isinstance(content, str) else content)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write bytes to, which takes its place at the end, whole; if anything fails before, it never does.

    A link stays one, and the file that it names is written. What is no file, such as a device or a pipe, is refused.
    """
    draft = None
    try:
        if "\0" in str(path):
            raise OSError(errno.EINVAL, "no file can have this name")
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is a folder" if path.is_dir() else "it is not a file")
        target = Path(os.path.realpath(path))
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name[:50]}.", delete=False) as file:
            draft = file.name
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o644 if not target.exists() else target.stat().st_mode & 0o777)
        os.replace(draft, target)
        draft = None
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror or error})") from error
    finally:
        if draft is not None:
            os.unlink(draft)
