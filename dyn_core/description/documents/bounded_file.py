"""Description files are read whole, up to a bound."""

from __future__ import annotations

from pathlib import Path

from dyn_core.errors import DescriptionError
from dyn_core.files import open_file


def read_bounded(path: Path, most: int, text: str | None = None) -> bytes:
    """The bytes of a file, or of a text that stands for it; a DescriptionError where there are more than `most`."""
    try:
        if text is not None:
            raw = text.encode()
        else:
            with open_file(path) as file:
                raw = file.read(most + 1)
    except OSError as error:
        raise DescriptionError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(raw) > most:
        raise DescriptionError(f"{path}: is larger than {most} bytes, which is allowed at most")
    return raw
