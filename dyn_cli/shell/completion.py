"""What can follow a line of the arm shell up to the cursor."""

from dyn_core.description import robot_files
from dyn_core.errors import InputError
from dyn_core.files import user_path

from .commands import COMMANDS
from .variables import VARIABLES


def completions(line: str) -> list[str]:
    """The words that may stand where the line's last word (empty after a space) stands; folders end in a slash."""
    *before, word = line.split(" ")
    before = [each for each in before if each]
    if not before:
        return sorted(name for name in (*COMMANDS, *VARIABLES) if name.startswith(word))
    command = COMMANDS.get(before[0])
    if command is None:
        return []
    found = [each for each in command.words if each not in before]
    if command.follows == "name":
        found += [*COMMANDS, *VARIABLES]
    if command.follows == "robot":
        found += robot_files()
    found = [each for each in found if each.startswith(word)]
    after_file_word = before[-1] == "schedule" or not command.words or command.name != "simulate"
    if command.follows in ("file", "robot") and after_file_word:
        found += files(word)
    return sorted(set(found))


def files(word: str) -> list[str]:
    """The files and folders whose names begin with a word."""
    folder, _, start = word.rpartition("/")
    try:
        inside = list(user_path(folder or ("/" if word.startswith("/") else ".")).iterdir())
    except (OSError, InputError):
        return []
    prefix = word[: len(word) - len(start)]
    return [
        f"{prefix}{path.name}{'/' if path.is_dir() else ''}"
        for path in inside
        if path.name.startswith(start) and (start.startswith(".") or not path.name.startswith("."))
    ]
