"""A YAML document whose every value knows its line, read with care: safe, bounded, duplicates refused.

Values are read from the scalars' own text, so that YAML 1.1's surprises do not happen: `1e6` is a number,
`no` is a name where a name is wanted, `1:30` is neither. Problems are collected and raised together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from dyn_core.errors import DescriptionError

from .bounded_file import read_bounded
from .problems import Problems
from .yaml_nodes import describe, get
from .yaml_section import YamlSection

MAX_BYTES = 1_000_000
MAX_DEPTH = 20
MAX_VALUES = 100_000
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff]")


class Document(Problems):
    """One YAML file and the problems found in it; with a text, the file as it would be with that text in it."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        super().__init__(path)
        raw = read_bounded(path, MAX_BYTES, text)
        try:
            self.text = text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            found = f"{path}:{line}: found a byte that is not UTF-8"
            raise DescriptionError(f"{found}; allowed: UTF-8 text") from error
        loader = None
        try:
            loader = yaml.SafeLoader(text)
            self.node = loader.get_single_node()  # nodes only: no Python objects are built
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise self._invalid(mark.line if mark else 0, error.problem or error.context) from error
        except yaml.reader.ReaderError as error:
            raise self._invalid(text.count("\n", 0, error.position), error.reason) from error
        except RecursionError as error:
            raise self._invalid(loader.line if loader else 0, f"nested deeper than {MAX_DEPTH}") from error
        except (ValueError, OverflowError) as error:  # PyYAML's own, of escapes and versions beyond all bounds
            raise self._invalid(loader.line if loader else 0, "no such character or version") from error
        self._bound()

    def _invalid(self, line: int, problem: str) -> DescriptionError:
        return DescriptionError(f"{self.path}:{line + 1}: is not valid YAML: {problem}")

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

    def kind(self) -> str:
        """The text of the key `kind` at the top level, which says what keys there may be; empty where it is not."""
        kind = get(self.node, "kind") if isinstance(self.node, yaml.MappingNode) else None
        return str(kind.value) if isinstance(kind, yaml.ScalarNode) else ""

    def root(self, keys: Sequence[str]) -> YamlSection:
        """The document's top level, which must be a group of these keys."""
        return YamlSection(self, self.node, "", keys)
