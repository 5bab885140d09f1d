"""`loops` and `assembly` of the robot YAML: where closed chains were cut, and how the mechanism is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import CUT_JOINTS, REVOLUTE, CutForces, Frame, Loop, Mechanism

from ..documents.yaml_section import YamlSection
from .joint_notation import origin

LOOP_KEYS = ("name", "kind", "first", "second", "turning", "sliding")
FORCE_KEYS = ("viscous", "coulomb", "stiffness", "rest")
TURNS = ("planar_revolute", "revolute", "cylindrical")
SLIDES = ("prismatic", "cylindrical")
"""Kinds whose joint has an angle about z, or a displacement along it."""
END_KEYS = ("link", "xyz", "rpy")


class End(NamedTuple):
    """One side of a cut joint, or of a spring."""

    link: str
    pose: Floats
    """Its frame in the link's described frame."""


class Cut(NamedTuple):
    """One entry of `loops`, read but not yet placed on its bodies."""

    section: YamlSection
    name: str
    kind: str
    first: End
    second: End
    turning: CutForces | None = None
    sliding: CutForces | None = None


def read_loops(root: YamlSection, links: Sequence[str]) -> list[Cut]:
    """The entries of `loops`, none where there is no such key; links: the names that they may use."""
    cuts: list[Cut] = []
    if "loops" not in root:
        root.refuse(("assembly",), "given for a robot without loops", "loops, or no assembly")
        return cuts
    for section in root.sections("loops", LOOP_KEYS):
        name = section.name("name")
        kind = section.choice("kind", tuple(CUT_JOINTS))
        first, second = (read_end(section, key, links) for key in ("first", "second"))
        acts = (_read_forces(section, "turning", kind, TURNS), _read_forces(section, "sliding", kind, SLIDES))
        if name and any(cut.name == name for cut in cuts):
            section.problem("name", f"'{name}' is already the name of a loop", "a name of its own")
        if first.link and first.link == second.link:
            section.problem("second", f"is on '{first.link}', as the first frame is", "another link")
        cuts.append(Cut(section, name, kind, first, second, *acts))
    return cuts


def _read_forces(section: YamlSection, key: str, kind: str, kinds: Sequence[str]) -> CutForces | None:
    """Friction and spring of a freedom that some kinds of cut joints have."""
    if key not in section:
        return None
    if kind and kind not in kinds:
        section.problem(key, f"given for a cut joint of kind {kind}", f"kind {' or '.join(kinds)}")
    turns = key == "turning"
    per, unit = ("N m s/rad", "N m") if turns else ("N s/m", "N")
    acts = section.section(key, FORCE_KEYS)
    return CutForces(
        acts.number("viscous", unit=per, default=0.0, least=0.0),
        acts.number("coulomb", unit=unit, default=0.0, least=0.0),
        acts.number("stiffness", unit="N m/rad" if turns else "N/m", default=0.0, least=0.0),
        acts.position("rest", turns=turns, default=0.0),
    )


def read_end(section: YamlSection, key: str, links: Sequence[str], keys: Sequence[str] = END_KEYS) -> End:
    """One side of what ties two links together."""
    if key not in section:
        section.problem(key, "missing", f"keys {', '.join(keys)}")
        return End("", np.eye(4))
    end = section.section(key, keys)
    link = end.name("link")
    end.check_known("link", "link", link, links)
    return End(link, origin(end))


def placed_loops(cuts: Sequence[Cut], described: Mapping[str, tuple[int, Floats, int]]) -> tuple[Loop, ...]:
    """The loops on their bodies; described: as of `described_frames`."""
    loops = []
    for cut in cuts:
        ends = []
        for end in (cut.first, cut.second):
            body, frame, tip = described[end.link]
            ends.append(Frame.at(cut.name, body, frame @ end.pose, tip))
        if ends[0].body == ends[1].body:
            found = f"'{cut.first.link}' and '{cut.second.link}' do not move against each other"
            cut.section.problem("second", found, "a link on another body")
        loops.append(Loop(cut.name, cut.kind, ends[0], ends[1], cut.turning, cut.sliding))
    return tuple(loops)


def read_assembly(root: YamlSection, mechanism: Mechanism, start: Mapping[str, float] | None = None) -> Floats:
    """(n,) the configuration of `assembly`; a joint that is not named is where `start` has it, or at zero."""
    section = root.section("assembly", mechanism.joint_names)
    return np.array([
        section.position(name, turns=kind == REVOLUTE, default=(start or {}).get(name, 0.0))
        for name, kind in zip(mechanism.joint_names, mechanism.joint_type, strict=True)
    ])  # fmt: skip
