"""`loops` and `assembly` of the robot YAML: where closed chains were cut, and how the mechanism is put together."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..mechanism import CUT_JOINTS, PRISMATIC, Floats, Frame, Ints, Loop
from .document import Section
from .notation import origin

LOOP_KEYS = ("name", "kind", "first", "second")
END_KEYS = ("link", "xyz", "rpy")


class End(NamedTuple):
    """One side of a cut joint."""

    section: Section
    link: str
    pose: Floats
    """The cut joint's frame in the link's described frame."""


class Cut(NamedTuple):
    """One entry of `loops`, read but not yet placed on its bodies."""

    section: Section
    name: str
    kind: str
    first: End
    second: End


def read_loops(root: Section, links: Sequence[str]) -> list[Cut]:
    """The entries of `loops`, none where there is no such key; links: the names that they may use."""
    cuts: list[Cut] = []
    if "loops" not in root:
        if "assembly" in root:
            root.problem("assembly", "given for a robot without loops", "loops, or no assembly")
        return cuts
    for section in root.sections("loops", LOOP_KEYS):
        name = section.name("name")
        kind = section.choice("kind", tuple(CUT_JOINTS))
        first, second = (_read_end(section, key, links) for key in ("first", "second"))
        if name and any(cut.name == name for cut in cuts):
            section.problem("name", f"'{name}' is already the name of a loop", "a name of its own")
        if first.link and first.link == second.link:
            section.problem("second", f"is on '{first.link}', as the first frame is", "another link")
        cuts.append(Cut(section, name, kind, first, second))
    return cuts


def _read_end(section: Section, key: str, links: Sequence[str]) -> End:
    if key not in section:
        section.problem(key, "missing", f"keys {', '.join(END_KEYS)}")
        return End(section, "", np.eye(4))
    end = section.section(key, END_KEYS)
    link = end.name("link")
    if link and link not in links:
        near = difflib.get_close_matches(link, links, 1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        end.problem("link", f"no link is called '{link}'", hint + ", ".join(links))
    return End(end, link, origin(end))


def placed_loops(cuts: Sequence[Cut], described: Mapping[str, tuple[int, Floats]]) -> tuple[Loop, ...]:
    """The loops on their bodies; described: body of each link, and the link's described frame in that body's."""
    loops = []
    for cut in cuts:
        ends = []
        for end in (cut.first, cut.second):
            body, frame = described[end.link]
            T = frame @ end.pose
            ends.append(Frame(cut.name, body, T[:3, :3].copy(), T[:3, 3].copy()))
        if ends[0].body == ends[1].body:
            found = f"'{cut.first.link}' and '{cut.second.link}' do not move against each other"
            cut.section.problem("second", found, "a link on another body")
        loops.append(Loop(cut.name, cut.kind, ends[0], ends[1]))
    return tuple(loops)


def read_assembly(root: Section, joint_names: Sequence[str], joint_type: Ints) -> Floats | None:
    """(n,) the configuration of `assembly`, zero where a joint is not named; None where there is no such key."""
    if "assembly" not in root:
        return None
    section = root.section("assembly", joint_names)
    return np.array([
        section.number(name, unit="m", default=0.0) if kind == PRISMATIC else section.angle(name, default=0.0)
        for name, kind in zip(joint_names, joint_type, strict=True)
    ])  # fmt: skip
