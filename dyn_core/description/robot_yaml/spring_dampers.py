"""`spring_dampers` of the robot YAML: springs and dampers between points of two links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dyn_core.arrays import Floats
from dyn_core.mechanism import Frame, SpringDamper

from ..documents.yaml_section import YamlSection
from .loops import End, read_end

KEYS = ("name", "first", "second", "stiffness", "rest_length", "damping")
END_KEYS = ("link", "xyz")


class YamlSpringDamper(NamedTuple):
    """One entry, read but not yet placed on its bodies."""

    section: YamlSection
    name: str
    first: End
    second: End
    acts: tuple[float, float, float]
    """Stiffness, rest length and damping."""


def read_spring_dampers(root: YamlSection, links: Sequence[str]) -> list[YamlSpringDamper]:
    """The entries, none where there is no such key; links: the names that they may use."""
    found: list[YamlSpringDamper] = []
    for section in root.sections("spring_dampers", KEYS) if "spring_dampers" in root else ():
        name = section.name("name")
        first, second = (read_end(section, key, links, END_KEYS) for key in ("first", "second"))
        acts = (
            section.number("stiffness", unit="N/m", default=0.0, least=0.0),
            section.number("rest_length", unit="m", default=0.0, least=0.0),
            section.number("damping", unit="N s/m", default=0.0, least=0.0),
        )
        if name and any(other.name == name for other in found):
            section.problem("name", f"'{name}' is already the name of one", "a name of its own")
        if not (acts[0] or acts[2]):
            section.problem("stiffness", "neither a stiffness nor a damping", "one of them above 0")
        found.append(YamlSpringDamper(section, name, first, second, acts))
    return found


def placed_spring_dampers(
    entries: Sequence[YamlSpringDamper], described: Mapping[str, tuple[int, Floats, int]]
) -> tuple[SpringDamper, ...]:
    """The entries on their bodies; described: as of `described_frames`."""
    placed = []
    for entry in entries:
        ends = []
        for end in (entry.first, entry.second):
            body, frame, tip = described[end.link]
            ends.append(Frame.at(entry.name, body, frame @ end.pose, tip))
        if ends[0].body == ends[1].body:
            found = f"'{entry.first.link}' and '{entry.second.link}' do not move against each other"
            entry.section.problem("second", found, "a link on another body")
        placed.append(SpringDamper(entry.name, ends[0], ends[1], *entry.acts))
    return tuple(placed)
