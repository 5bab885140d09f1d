"""A YAML document whose every value knows its line, read with care: safe, bounded, duplicates refused.

Values are read from the scalars' own text, so that YAML 1.1's surprises do not happen: `1e6` is a number,
`no` is a name where a name is wanted, `1:30` is neither. Problems are collected and raised together.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import yaml

from ..errors import DescriptionError, printable
from ..files import open_file
from ..mechanism import Floats

MAX_BYTES = 1_000_000
MAX_DEPTH = 20
MAX_VALUES = 100_000
MAX_PROBLEMS = 100
LARGEST = 1e50  # so that products of a few figures stay finite
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
NOT_FINITE = re.compile(r"[-+]?\.?(nan|inf(inity)?)", re.IGNORECASE)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")
ANGLE = re.compile(rf"({NUMBER.pattern})\s*(deg|rad)")


class _Loader(yaml.SafeLoader):
    """Composes nodes only (no Python objects are built), refusing deep nesting and exploding aliases."""

    depth = values = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self.depth += 1
        self.values += 1
        if self.values > MAX_VALUES:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem=f"has more than {MAX_VALUES} values", problem_mark=mark)
        if self.depth > MAX_DEPTH:
            mark = self.peek_event().start_mark
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {MAX_DEPTH}", problem_mark=mark)
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


class Document:
    """One YAML file and the problems found in it; with a text, the file as it would be with that text in it."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        self.path = path
        self.problems: list[tuple[int, str]] = []
        raw = self._read() if text is None else text.encode()
        if len(raw) > MAX_BYTES:
            raise DescriptionError(f"{path}: is larger than {MAX_BYTES} bytes, which is allowed at most")
        try:
            self.text = text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            found = f"{path}:{line}: found a byte that is not UTF-8"
            raise DescriptionError(f"{found}; allowed: UTF-8 text") from error
        loader = None
        try:
            loader = _Loader(text)
            self.node = loader.get_single_node()
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            problem = error.problem or error.context
            raise DescriptionError(f"{path}:{line}: is not valid YAML: {problem}") from error
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise DescriptionError(f"{path}:{line}: is not valid YAML: {error.reason}") from error
        except (ValueError, OverflowError) as error:  # PyYAML's own, of escapes and versions beyond all bounds
            line = loader.line + 1 if loader is not None else 1
            raise DescriptionError(f"{path}:{line}: is not valid YAML: no such character or version") from error
        finally:
            if loader is not None:
                loader.dispose()
        self._bound()

    def _read(self) -> bytes:
        try:
            with open_file(self.path) as file:
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise DescriptionError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    def _bound(self) -> None:
        """Refuse documents that unfold without end through their aliases, and characters that no text has."""
        values, stack = 0, [(self.node, 0)]
        while stack:
            node, depth = stack.pop()
            values += 1
            line = 1 if node is None else node.start_mark.line + 1
            if values > MAX_VALUES:
                raise DescriptionError(f"{self.path}:{line}: unfolds to more than {MAX_VALUES} values")
            if depth > MAX_DEPTH:
                raise DescriptionError(f"{self.path}:{line}: is nested deeper than {MAX_DEPTH}")
            if isinstance(node, yaml.SequenceNode):
                stack += [(child, depth + 1) for child in node.value]
            elif isinstance(node, yaml.MappingNode):
                stack += [(child, depth + 1) for pair in node.value for child in pair]
            elif node is not None and CONTROL.search(node.value):
                raise DescriptionError(f"{self.path}:{line}: found {describe(node)}; allowed: no control characters")

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

    def kind(self) -> str:
        """The text of the key `kind` at the top level, which says what keys there may be; empty where it is not."""
        for key, value in self.node.value if isinstance(self.node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and key.value == "kind" and isinstance(value, yaml.ScalarNode):
                return str(value.value)
        return ""

    def root(self, keys: Sequence[str]) -> Section:
        """The document's top level, which must be a group of these keys."""
        return Section(self, self.node, "", keys)


class Section:
    """A mapping with known keys. Getters note what is wrong as a problem and return a harmless value."""

    def __init__(self, document: Document, node: yaml.Node | None, field: str, keys: Sequence[str]) -> None:
        self.document, self.node, self.field = document, node, field
        self.values: dict[str, yaml.Node] = {}
        if not isinstance(node, yaml.MappingNode):
            document.problem(node, field, f"found {describe(node)}", f"keys {', '.join(keys)}")
            return
        for key_node, value in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else describe(key_node)
            if key not in keys:
                key = key if len(key) <= 60 else f"{key[:57]}..."
                near = difflib.get_close_matches(key, keys, 1)
                hint = f"did you mean '{near[0]}'? " if near else ""
                document.problem(key_node, self.path(key), "unknown key", f"{hint}{', '.join(keys)}")
            elif key in self.values:
                document.problem(key_node, self.path(key), "given twice", "once")
            else:
                self.values[key] = value

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def path(self, key: str) -> str:
        """The full name of a key, e.g. joints[2].link.mass."""
        return f"{self.field}.{key}" if self.field else key

    def problem(self, key: str, found: str, allowed: str) -> None:
        """Note a problem at a key (at the section itself where the key is missing)."""
        self.document.problem(self.values.get(key, self.node), self.path(key), found, allowed)

    def _value(self, key: str, allowed: str, required: bool) -> yaml.Node | None:
        if key not in self.values and required:
            self.problem(key, "missing", allowed)
        return self.values.get(key)

    def section(self, key: str, keys: Sequence[str]) -> Section:
        """A group below this one; an absent one reads as empty."""
        return Section(self.document, self.values.get(key, self._empty()), self.path(key), keys)

    def _empty(self) -> yaml.Node:
        return yaml.MappingNode("", [], self.node.start_mark if self.node else None)

    def sections(self, key: str, keys: Sequence[str]) -> Iterator[Section]:
        """The groups of a list, one by one."""
        node = self._value(key, "a list", required=True)
        if node is None:
            return
        if not isinstance(node, yaml.SequenceNode) or not node.value:
            self.problem(key, f"found {describe(node)}", "a list with at least one entry")
            return
        for index, child in enumerate(node.value):
            yield Section(self.document, child, f"{self.path(key)}[{index}]", keys)

    def rows(self, key: str, keys: Sequence[str]) -> list[Section]:
        """One group, or a list of at least one; an absent one reads as one empty group."""
        if not self.is_list(key):
            return [self.section(key, keys)]
        return list(self.sections(key, keys)) or [Section(self.document, self._empty(), self.path(key), keys)]

    def number(
        self,
        key: str,
        *,
        unit: str = "",
        default: float | None = None,
        above: float = -math.inf,
        least: float = -math.inf,
    ) -> float:
        """A finite number, > above and >= least; without a default the key is required."""
        allowed = f"a finite number{_bounds(above, least)}{f' in {unit}' if unit else ''}"
        node = self._value(key, allowed, required=default is None)
        if node is None:
            return math.nan if default is None else default
        return self._number(node, self.path(key), allowed, above, least)

    def _number(self, node: yaml.Node, field: str, allowed: str, above: float, least: float) -> float:
        value = math.nan
        if isinstance(node, yaml.ScalarNode) and node.style is None and NUMBER.fullmatch(node.value):
            value = float(node.value)
        if abs(value) > LARGEST:
            allowed = f"{allowed}, at most {LARGEST:g} in size"
            value = math.nan
        if math.isnan(value) or value <= above or value < least:
            self.document.problem(node, field, f"found {describe(node)}", allowed)
            return math.nan
        return value

    def integer(self, key: str, least: int, most: int) -> int:
        """A required whole number in least..most."""
        allowed = f"a whole number from {least} to {most}"
        node = self._value(key, allowed, required=True)
        if node is None:
            return least
        whole = isinstance(node, yaml.ScalarNode) and re.fullmatch(r"[-+]?\d{1,9}", node.value)
        if whole and least <= int(node.value) <= most:
            return int(node.value)
        self.problem(key, f"found {describe(node)}", allowed)
        return least

    def angle(self, key: str, *, default: float | None = None) -> float:
        """An angle in rad: a number, or text with a unit such as `90 deg`."""
        node = self._value(key, ANGLES, required=default is None)
        if node is None:
            return math.nan if default is None else default
        return self._angle(node, self.path(key))

    def _angle(self, node: yaml.Node, field: str) -> float:
        if isinstance(node, yaml.ScalarNode) and (match := ANGLE.fullmatch(node.value.strip())):
            value = float(match[1])
            if abs(value) <= LARGEST:
                return math.radians(value) if match[4] == "deg" else value
        value = self._number(node, field, ANGLES, -math.inf, -math.inf)
        return 0.0 if math.isnan(value) else value

    def vector(
        self,
        key: str,
        size: int,
        *,
        unit: str = "",
        default: Sequence[float] | None = None,
        above: float = -math.inf,
    ) -> Floats:
        """A list of finite numbers, each > above."""
        bounds = _bounds(above, -math.inf)
        allowed = f"a list of {size} finite numbers{bounds}{f' in {unit}' if unit else ''}"
        nodes = self._list(key, size, allowed, required=default is None)
        if nodes is None:
            return np.zeros(size) if default is None else np.array(default, dtype=float)
        return np.array([
            self._number(node, f"{self.path(key)}[{i}]", f"a finite number{bounds}", above, -math.inf)
            for i, node in enumerate(nodes)
        ])  # fmt: skip

    def points(self, key: str, least: int, most: int, *, unit: str = "") -> Floats | None:
        """A required list of least to most points in the plane; None where it is wrong."""
        allowed = f"a list of {least} to {most} points [x, y]{f' in {unit}' if unit else ''}"
        node = self._value(key, allowed, required=True)
        if node is None:
            return None
        if not isinstance(node, yaml.SequenceNode) or not least <= len(node.value) <= most:
            self.problem(key, f"found {describe(node)}", allowed)
            return None
        points = np.full((len(node.value), 2), math.nan)
        for i, child in enumerate(node.value):
            field = f"{self.path(key)}[{i}]"
            if not isinstance(child, yaml.SequenceNode) or len(child.value) != 2:
                self.document.problem(child, field, f"found {describe(child)}", "a point [x, y]")
                continue
            for j, number in enumerate(child.value):
                points[i, j] = self._number(number, f"{field}[{j}]", "a finite number", -math.inf, -math.inf)
        return points if np.isfinite(points).all() else None

    def angles(self, key: str, size: int, *, default: Sequence[float]) -> Floats:
        """A list of angles in rad."""
        nodes = self._list(key, size, f"a list of {size} angles, each {ANGLES}", required=False)
        if nodes is None:
            return np.array(default, dtype=float)
        return np.array([self._angle(node, f"{self.path(key)}[{i}]") for i, node in enumerate(nodes)])

    def matrix(self, key: str) -> Floats:
        """A 3 x 3 matrix given by its rows."""
        allowed = "3 rows of 3 finite numbers"
        rows = self._list(key, 3, allowed, required=True)
        matrix = np.zeros((3, 3))
        for i, row in enumerate(rows or ()):
            if not isinstance(row, yaml.SequenceNode) or len(row.value) != 3:
                field = f"{self.path(key)}[{i}]"
                self.document.problem(row, field, f"found {describe(row)}", "a row of 3 finite numbers")
                continue
            for j, node in enumerate(row.value):
                matrix[i, j] = self._number(
                    node, f"{self.path(key)}[{i}][{j}]", "a finite number", -math.inf, -math.inf
                )
        return matrix

    def is_group(self, key: str) -> bool:
        return isinstance(self.values.get(key), yaml.MappingNode)

    def is_list(self, key: str) -> bool:
        return isinstance(self.values.get(key), yaml.SequenceNode)

    def _list(self, key: str, size: int, allowed: str, required: bool) -> list[yaml.Node] | None:
        node = self._value(key, allowed, required)
        if node is None:
            return None
        if not isinstance(node, yaml.SequenceNode) or len(node.value) != size:
            self.problem(key, f"found {describe(node)}", allowed)
            return None
        return list(node.value)

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        node = self.values.get(key)
        if node is None:
            return default
        if not isinstance(node, yaml.ScalarNode) or node.value not in ("true", "false"):
            self.problem(key, f"found {describe(node)}", "true or false")
            return default
        return bool(node.value == "true")

    def text(self, key: str, default: str = "") -> str:
        """Text on one line."""
        node = self.values.get(key)
        if node is None:
            return default
        if not isinstance(node, yaml.ScalarNode) or "\n" in node.value.strip():
            self.problem(key, f"found {describe(node)}", "text on one line")
            return default
        return str(node.value.strip())

    def texts(self, key: str) -> list[str]:
        """A list of texts; an absent one reads as empty."""
        node = self.values.get(key)
        if node is None:
            return []
        children = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if node in children or not all(isinstance(child, yaml.ScalarNode) for child in children):
            self.problem(key, f"found {describe(node)}", "a list of texts")
            return []
        return [" ".join(child.value.split()) for child in children]

    def name(self, key: str, default: str | None = None) -> str:
        """A name: a letter, then letters, digits and underscores."""
        allowed = "a name (a letter, then letters, digits and underscores)"
        node = self._value(key, allowed, required=default is None)
        if node is None:
            return default or ""
        if not isinstance(node, yaml.ScalarNode) or not NAME.fullmatch(node.value) or len(node.value) > 100:
            self.problem(key, f"found {describe(node)}", allowed)
            return ""
        return str(node.value)

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        """One of the given words."""
        node = self._value(key, ", ".join(allowed), required=True)
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode) or node.value not in allowed:
            near = difflib.get_close_matches(str(node.value), allowed, 1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            self.problem(key, f"found {describe(node)}", hint + ", ".join(allowed))
            return ""
        return str(node.value)


ANGLES = "an angle: a finite number in rad, or one with a unit such as '90 deg'"


def _bounds(above: float, least: float) -> str:
    if above > -math.inf:
        return f" > {above:g}"
    return f" >= {least:g}" if least > -math.inf else ""


def describe(node: yaml.Node | None) -> str:
    """A node in a few words, for error messages."""
    if node is None:
        return "nothing"
    if isinstance(node, yaml.ScalarNode):
        if node.style is None and node.value in ("", "~", "null"):
            return "nothing"
        text = node.value if len(node.value) <= 60 else node.value[:57] + "..."
        plain = node.style is None and (NUMBER.fullmatch(text) or NOT_FINITE.fullmatch(text))
        return text if plain else repr(text)
    if isinstance(node, yaml.SequenceNode):
        return f"a list of {len(node.value)}"
    return "a group of keys"
