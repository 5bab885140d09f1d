"""A group of keys in a YAML document: every value is read by the kind that is wanted, and refused with its line."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import inf

import numpy as np
import yaml

from dyn_core.arrays import Floats
from dyn_core.files import LARGEST

from .problems import Problems, suggestion
from .yaml_nodes import NUMBER, describe

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
ANGLE = re.compile(rf"({NUMBER.pattern})\s*(deg|rad)")
ANGLES = "an angle: a finite number in rad, or one with a unit such as '90 deg'"


class YamlSection:
    """A mapping with known keys. Getters note what is wrong as a problem and return a harmless value."""

    def __init__(self, document: Problems, node: yaml.Node | None, field: str, keys: Sequence[str]) -> None:
        self.document, self.node, self.field = document, node, field
        self.values: dict[str, yaml.Node] = {}
        if not isinstance(node, yaml.MappingNode):
            document.problem(node, field, f"found {describe(node)}", f"keys {', '.join(keys)}")
            return
        for key_node, value in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else describe(key_node)
            if key not in keys:
                key = key if len(key) <= 60 else f"{key[:57]}..."
                allowed = suggestion(key, keys) + ", ".join(keys)
                document.problem(key_node, self.path(key), "unknown key", allowed)
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

    def refuse(self, keys: Iterable[str], found: str, allowed: str) -> None:
        """Note each of these keys that is given as a problem."""
        for key in keys:
            if key in self.values:
                self.problem(key, found, allowed)

    def refuse_others(self, keys: Sequence[str], found: str, allowed: str) -> None:
        """Note every key that is not among these as a problem."""
        self.refuse([key for key in self.values if key not in keys], found, allowed)

    def check_known(self, key: str, what: str, name: str, known: Iterable[str]) -> None:
        """Note a name of which there is none; an empty one was noted before."""
        known = list(known)
        if name and name not in known:
            self.problem(key, f"no {what} is called '{name}'", suggestion(name, known) + ", ".join(known))

    def is_group(self, key: str) -> bool:
        return isinstance(self.values.get(key), yaml.MappingNode)

    def is_list(self, key: str) -> bool:
        return isinstance(self.values.get(key), yaml.SequenceNode)

    def _value(self, key: str, allowed: str, required: bool) -> yaml.Node | None:
        if key not in self.values and required:
            self.problem(key, "missing", allowed)
        return self.values.get(key)

    # groups

    def section(self, key: str, keys: Sequence[str]) -> YamlSection:
        """A group below this one; an absent one reads as empty."""
        return YamlSection(self.document, self.values.get(key, self._empty()), self.path(key), keys)

    def _empty(self) -> yaml.Node:
        return yaml.MappingNode("", [], self.node.start_mark if self.node else None)

    def sections(self, key: str, keys: Sequence[str]) -> Iterator[YamlSection]:
        """The groups of a list, one by one."""
        nodes = self._list(key, 1, inf, "a list with at least one entry", required=True)
        for index, child in enumerate(nodes or ()):
            yield YamlSection(self.document, child, f"{self.path(key)}[{index}]", keys)

    def rows(self, key: str, keys: Sequence[str]) -> list[YamlSection]:
        """One group, or a list of at least one; an absent one reads as one empty group."""
        if not self.is_list(key):
            return [self.section(key, keys)]
        return list(self.sections(key, keys)) or [YamlSection(self.document, self._empty(), self.path(key), keys)]

    # numbers

    def number(
        self, key: str, *, unit: str = "", default: float | None = None, above: float = -inf, least: float = -inf
    ) -> float:
        """A finite number, > above and >= least; without a default the key is required."""
        allowed = f"a finite number{_bounds(above, least)}{_in(unit)}"
        node = self._value(key, allowed, required=default is None)
        if node is None:
            return math.nan if default is None else default
        return self._number(node, self.path(key), allowed, above, least)

    def _number(self, node: yaml.Node, field: str, allowed: str, above: float = -inf, least: float = -inf) -> float:
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

        def whole(text: str) -> bool:
            return re.fullmatch(r"[-+]?\d{1,9}", text) is not None and least <= int(text) <= most

        return int(self.word(key, f"a whole number from {least} to {most}", whole) or least)

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
        value = self._number(node, field, ANGLES)
        return 0.0 if math.isnan(value) else value

    def position(self, key: str, *, turns: bool, default: float) -> float:
        """Where a joint is: an angle if it turns, else a length in m."""
        return self.angle(key, default=default) if turns else self.number(key, unit="m", default=default)

    # lists of numbers

    def vector(
        self, key: str, size: int, *, unit: str = "", default: Sequence[float] | None = None, above: float = -inf
    ) -> Floats:
        """A list of finite numbers, each > above."""
        bounds = _bounds(above)
        allowed = f"a list of {size} finite numbers{bounds}{_in(unit)}"
        nodes = self._list(key, size, size, allowed, required=default is None)
        if nodes is None:
            return np.zeros(size) if default is None else np.array(default, dtype=float)
        return np.array([
            self._number(node, f"{self.path(key)}[{i}]", f"a finite number{bounds}", above)
            for i, node in enumerate(nodes)
        ])  # fmt: skip

    def angles(self, key: str, size: int, *, default: Sequence[float]) -> Floats:
        """A list of angles in rad."""
        nodes = self._list(key, size, size, f"a list of {size} angles, each {ANGLES}", required=False)
        if nodes is None:
            return np.array(default, dtype=float)
        return np.array([self._angle(node, f"{self.path(key)}[{i}]") for i, node in enumerate(nodes)])

    def points(self, key: str, least: int, most: int, *, unit: str = "") -> Floats | None:
        """A required list of least to most points in the plane; None where it is wrong."""
        allowed = f"a list of {least} to {most} points [x, y]{_in(unit)}"
        return self._table(key, least, most, 2, allowed, "a point [x, y]")

    def matrix(self, key: str, size: int, *, meaning: str = "") -> Floats | None:
        """A required square matrix given by its rows; None where it is wrong."""
        allowed = f"{size} rows of {size} finite numbers{meaning}"
        return self._table(key, size, size, size, allowed, f"a row of {size} finite numbers")

    def _table(self, key: str, least: int, most: int, width: int, allowed: str, row: str) -> Floats | None:
        """Rows of `width` finite numbers each."""
        rows = self._list(key, least, most, allowed, required=True)
        if rows is None:
            return None
        table = np.full((len(rows), width), math.nan)
        for i, child in enumerate(rows):
            field = f"{self.path(key)}[{i}]"
            if not isinstance(child, yaml.SequenceNode) or len(child.value) != width:
                self.document.problem(child, field, f"found {describe(child)}", row)
                continue
            table[i] = [self._number(node, f"{field}[{j}]", "a finite number") for j, node in enumerate(child.value)]
        return table if np.isfinite(table).all() else None

    def _list(self, key: str, least: int, most: float, allowed: str, required: bool) -> list[yaml.Node] | None:
        node = self._value(key, allowed, required)
        if node is None:
            return None
        if not isinstance(node, yaml.SequenceNode) or not least <= len(node.value) <= most:
            self.problem(key, f"found {describe(node)}", allowed)
            return None
        return list(node.value)

    # words

    def word(self, key: str, allowed: str, accept: Callable[[str], object], required: bool = True) -> str | None:
        """A scalar's text where it is accepted; None where it is absent or, which is noted, wrong."""
        node = self._value(key, allowed, required)
        if node is None:
            return None
        if isinstance(node, yaml.ScalarNode) and accept(node.value):
            return str(node.value)
        self.problem(key, f"found {describe(node)}", allowed)
        return None

    def boolean(self, key: str, default: bool) -> bool:
        """true or false."""
        word = self.word(key, "true or false", ("true", "false").__contains__, required=False)
        return default if word is None else word == "true"

    def text(self, key: str, default: str = "") -> str:
        """Text on one line."""
        text = self.word(key, "text on one line", lambda text: "\n" not in text.strip(), required=False)
        return default if text is None else text.strip()

    def texts(self, key: str) -> list[str]:
        """A list of texts; an absent one reads as empty."""
        children = self._list(key, 0, inf, "a list of texts", required=False) or []
        if not all(isinstance(child, yaml.ScalarNode) for child in children):
            self.problem(key, f"found {describe(self.values[key])}", "a list of texts")
            return []
        return [" ".join(child.value.split()) for child in children]

    def name(self, key: str, default: str | None = None) -> str:
        """A name: a letter, then letters, digits and underscores."""
        if key not in self and default is not None:
            return default
        allowed = "a name (a letter, then letters, digits and underscores)"
        return self.word(key, allowed, lambda text: NAME.fullmatch(text) and len(text) <= 100) or ""

    def choice(self, key: str, allowed: Sequence[str]) -> str:
        """One of the given words."""
        node = self.values.get(key)
        near = "" if node is None or node.value in allowed else suggestion(str(node.value), allowed)
        return self.word(key, near + ", ".join(allowed), allowed.__contains__) or ""


def _bounds(above: float, least: float = -inf) -> str:
    if above > -inf:
        return f" > {above:g}"
    return f" >= {least:g}" if least > -inf else ""


def _in(unit: str) -> str:
    return f" in {unit}" if unit else ""
