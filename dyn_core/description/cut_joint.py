"""A joint at which a closed chain was cut, as a file describes it, whatever its format."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError
from dyn_core.mechanism import CUT_JOINTS, CutForces, Frame, Loop, Mechanism


class Cut(NamedTuple):
    """A cut joint, its ends in frames of links."""

    name: str
    kind: str
    """One of CUT_JOINTS, or what cannot be said here."""
    ends: tuple[tuple[str, Floats], tuple[str, Floats]]
    """Of each side the link, and the cut joint's frame in the link's described frame."""
    turning: CutForces | None = None
    sliding: CutForces | None = None
    """Friction and spring about and along its axis."""


def with_loops(
    mechanism: Mechanism,
    cuts: Sequence[Cut],
    at: Mapping[str, tuple[int, Floats, int]],
    path: Path,
    assembly: Floats | None = None,
) -> Mechanism:
    """The mechanism with its chains closed; at: as of `described_frames`.

    A DescriptionError names the file, at `path`, and the cut joint that cannot be used.
    """
    loops = []
    for cut in cuts:
        if cut.kind not in CUT_JOINTS:
            raise DescriptionError(f"{path}: loop '{cut.name}' is {cut.kind}; allowed: {', '.join(CUT_JOINTS)}")
        first, second = (Frame.at(cut.name, at[link][0], at[link][1] @ T) for link, T in cut.ends)
        if first.body == second.body:
            links = " and ".join(f"'{link}'" for link, _ in cut.ends)
            raise DescriptionError(f"{path}: loop '{cut.name}' joins {links}, which do not move against each other")
        loops.append(Loop(cut.name, cut.kind, first, second, cut.turning, cut.sliding))
    return dataclasses.replace(mechanism, loops=tuple(loops), assembly=assembly) if loops else mechanism
