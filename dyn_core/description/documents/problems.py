"""What is wrong in a file, collected and raised together."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path

import yaml

from dyn_core.errors import DescriptionError, printable

MAX_PROBLEMS = 100


class Problems:
    """The problems found in one file, each with its line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[tuple[int, str]] = []

    def problem(self, node: yaml.Node | None, field: str, found: str, allowed: str) -> None:
        """Note a problem at a node: what was found in which field, and what is allowed."""
        line = 1 if node is None else node.start_mark.line + 1
        where = f"{field}: " if field else ""
        self.problems.append((line, printable(f"{self.path}:{line}: {where}{found}; allowed: {allowed}")))
        if len(self.problems) == MAX_PROBLEMS:
            self.finish()

    def finish(self) -> None:
        """Raise the problems, if any: the file's first is the message, the others are the error's notes."""
        if not self.problems:
            return
        self.problems.sort(key=lambda problem: problem[0])
        first, *others = [text for _, text in self.problems]
        if others:
            lines = ", ".join(str(line) for line in sorted({line for line, _ in self.problems[1:]})[:10])
            first += f" (and {len(others)} more, see line{'s' if ',' in lines else ''} {lines})"
        error = DescriptionError(first)
        for other in others:
            error.add_note(other)
        raise error


def suggestion(word: str, known: Iterable[str], form: str = "did you mean '{}'? ") -> str:
    """A question after the known word that is nearest to an unknown one; empty where none is near."""
    near = difflib.get_close_matches(word, list(known), 1)
    return form.format(near[0]) if near else ""
