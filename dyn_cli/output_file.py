"""Where a command writes its file."""

from pathlib import Path


def output_file(given: str | None, default: str) -> Path:
    """Where to write; a file that was not named is never overwritten."""
    from dyn_core.errors import InputError

    output = Path(given or default)
    if given is None and output.exists():
        raise InputError(f"{output} exists; name it with --output to overwrite it")
    if output.is_dir() or not output.parent.is_dir():
        raise InputError(f"{output}: cannot be written ({'is a folder' if output.is_dir() else 'no such folder'})")
    return output
