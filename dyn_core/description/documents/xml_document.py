"""An XML file whose every element knows its line, read with care: bounded, without entities, duplicates refused.

Prefixes of namespaces stay in the names as they stand in the file, so that `xacro:macro` is seen as what it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError
from dyn_core.files import LARGEST

from .bounded_file import read_bounded

MAX_BYTES = 10_000_000
MAX_DEPTH = 50
MAX_ELEMENTS = 200_000


@dataclass
class Element:
    """One element with its attributes and children; problems name its file and line."""

    path: Path
    line: int
    tag: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    content: str = ""
    """The text between its tags, without that of its children."""

    def error(self, sentence: str) -> DescriptionError:
        """A DescriptionError about this element."""
        name = self.attributes.get("name")
        label = f"<{self.tag}>" if name is None else f'<{self.tag} name="{name:.60}">'
        return DescriptionError(f"{self.path}:{self.line}: {label}: {sentence}")

    def all(self, tag: str) -> list[Element]:
        """The children of that tag."""
        return [child for child in self.children if child.tag == tag]

    def one(self, tag: str) -> Element | None:
        """The only child of that tag, None if there is none."""
        found = self.all(tag)
        if len(found) > 1:
            raise found[1].error(f"is the second <{tag}> of this <{self.tag}>, which has at most one")
        return found[0] if found else None

    def need(self, tag: str) -> Element:
        """The only child of that tag, which must be there."""
        found = self.one(tag)
        if found is None:
            raise self.error(f"has no <{tag}>, which it needs")
        return found

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the file's order."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack += reversed(element.children)

    def text(self, attribute: str) -> str:
        """A non-empty attribute, which must be there."""
        value = self.attributes.get(attribute, "").strip()
        if not value:
            raise self.error(f"has no attribute '{attribute}', which it needs")
        return value

    def words(self, tag: str, default: str = "") -> str:
        """The text of the only child of that tag; the default where there is none, "": it must be there."""
        child = self.one(tag) if default else self.need(tag)
        if child is None:
            return default
        if not child.content.strip():
            raise child.error("is empty")
        return child.content.strip()

    def value(self, tag: str, default: float | None = None) -> float:
        """The finite number in the only child of that tag; default None: it must be there."""
        child = self.need(tag) if default is None else self.one(tag)
        return default if child is None and default is not None else self.need(tag).values(1)[0]

    def values(self, count: int) -> list[float]:
        """The finite numbers between its tags."""
        return self._numbers("its text", self.content, count)

    def number(self, attribute: str, default: float | None = None) -> float:
        """A finite number; default None: it must be there."""
        if attribute not in self.attributes and default is not None:
            return default
        return self._numbers(attribute, self.text(attribute), 1)[0]

    def vector(self, attribute: str, default: tuple[float, float, float]) -> Floats:
        """Three finite numbers."""
        text = self.attributes.get(attribute)
        return np.array(default if text is None else self._numbers(attribute, text, 3))

    def direction(self, attribute: str) -> Floats:
        """Three finite numbers as a unit vector; x where there is no such attribute."""
        vector = self.vector(attribute, (1.0, 0.0, 0.0))
        length = float(np.linalg.norm(vector))
        if length < 1e-9:
            raise self.error(f"{attribute} is zero, it must be a direction")
        return vector / length

    def _numbers(self, attribute: str, text: str, count: int) -> list[float]:
        try:
            values = [float(word) for word in text.split()]
        except ValueError:
            values = []
        if len(values) != count or "_" in text or not all(math.isfinite(v) and abs(v) <= LARGEST for v in values):
            wanted = "a finite number" if count == 1 else f"{count} finite numbers"
            raise self.error(f"{attribute} is '{text:.60}', it must be {wanted}")
        return values


def read_xml(path: Path) -> Element:
    """The root element; a DescriptionError where the file cannot be read, is no XML, or is beyond the bounds."""
    raw = read_bounded(path, MAX_BYTES)
    parser = expat.ParserCreate()
    parser.buffer_text = True
    roots: list[Element] = []
    open_elements: list[Element] = []
    count = 0

    def refuse(sentence: str) -> DescriptionError:
        return DescriptionError(f"{path}:{parser.CurrentLineNumber}: {sentence}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_ELEMENTS:
            raise refuse(f"has more than {MAX_ELEMENTS} elements, which is allowed at most")
        if len(open_elements) == MAX_DEPTH:
            raise refuse(f"<{tag}> is nested deeper than {MAX_DEPTH}")
        element = Element(path, parser.CurrentLineNumber, tag, attributes)
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def text(data: str) -> None:
        open_elements[-1].content += data

    def declared(*_: object) -> None:
        raise refuse("declares an XML entity, which is not allowed; write the text itself in its place")

    parser.StartElementHandler = start
    parser.CharacterDataHandler = text
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.EntityDeclHandler = declared
    try:
        parser.Parse(raw, True)
    except expat.ExpatError as error:
        raise DescriptionError(f"{path}:{error.lineno}: is not valid XML: {expat.ErrorString(error.code)}") from error
    except (LookupError, ValueError) as error:
        raise DescriptionError(f"{path}: cannot be decoded: {error}") from error
    return roots[0]
