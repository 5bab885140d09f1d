"""One open output, and every way in which it can refuse, by name.

Every output is locked (flock) while it is open, so that two programs cannot drive it.
"""

import errno
import fcntl
import os
import stat
from pathlib import Path

from dyn_core.errors import DynError

from .guardian_process import put, stamped


class OutputError(DynError):
    """An output cannot be used: says which, why, and what to do."""


class OutputNotFoundError(OutputError):
    """There is no such device, channel or file."""


class OutputBusyError(OutputError):
    """Another program drives the output."""


class OutputGoneError(OutputError):
    """An output that was there has disappeared."""


class Output:
    """One open file: an attribute that holds a number, or a file or pipe that takes lines."""

    def __init__(self, path: Path, attribute: bool, lock: bool = True) -> None:
        self.path, self.attribute = path, attribute
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if attribute else os.O_APPEND)
        try:
            if not attribute and not path.exists():
                flags |= os.O_CREAT
            self.descriptor = os.open(path, flags, 0o644)
        except OSError as error:
            raise _named(path, error) from error
        try:
            if stat.S_ISDIR(os.fstat(self.descriptor).st_mode):
                raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
            if lock:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self.descriptor)
            if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK):
                raise OutputBusyError(f"{path}: another program drives it; end that first") from error
            raise _named(path, error) from error

    def write(self, text: str) -> None:
        """Write a number, or a line of numbers; OutputError if it is not taken."""
        try:
            put(self.descriptor, f"{text}\n".encode() if self.attribute else stamped(text), self.attribute)
        except OSError as error:
            raise _named(self.path, error) from error

    def close(self) -> None:
        os.close(self.descriptor)


def _named(path: Path, error: OSError) -> OutputError:
    """The same error by name, with the remedy."""
    if error.errno in (errno.ENOENT, errno.ENODEV):
        return OutputGoneError(f"{path}: the output is not there any more or never was; connect it and configure again")
    if error.errno in (errno.EACCES, errno.EPERM):
        return OutputError(f"{path}: may not be written; install the udev rule (docs/dac.md) and join its group")
    if error.errno == errno.ENXIO:
        return OutputError(f"{path}: nobody reads the pipe; start its reader first")
    if error.errno == errno.EPIPE:
        return OutputGoneError(f"{path}: the pipe's reader has ended; start it and clear the fault")
    if error.errno == errno.EAGAIN:
        return OutputError(f"{path}: the pipe is full, its reader does not keep up")
    if error.errno == errno.ENOSPC:
        return OutputError(f"{path}: the disk is full; make room and clear the fault")
    return OutputError(f"{path}: the write failed ({error.strerror or error})")
