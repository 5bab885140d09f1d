"""Closed chains in URDF files: <loop> and <coupling> of URDF+, and the `robot.yaml` beside a URDF of LAAS.

URDF+ (arXiv 2411.19753): <joint independent="true|false">, <loop type> with <predecessor link>, <successor link> and
<axis>, <coupling> with a <ratio>: ratio q_predecessor = q_successor.

LAAS (example-parallel-robots): `closed_loop` lists pairs of frames, `type` says '3d' or '6d' of each, `name_mot` lists
the motors; `joint_name` and `joint_type` turn joints of the URDF into balls or freeze them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import yaml

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError, DescriptionWarning
from dyn_core.mechanism import BASE, CutForces, Mechanism
from dyn_core.spatial.poses import inverse, pose, rotation_to_axis

from ..cut_joint import Cut
from ..documents.bounded_file import read_bounded
from ..documents.problems import suggestion
from ..documents.xml_document import Element
from .joint_tree import BALLS, UrdfJoint, origin_of
from .writer import numbers, root_name, write_origin

KINDS = {
    "revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic", "spherical": "spherical",
    "ball": "spherical", "universal": "universal", "fixed": "fixed", "cylindrical": "cylindrical",
    "planar_revolute": "planar_revolute",
}  # fmt: skip
"""Kinds of <loop> by their names in files."""
FORCES = ("turning", "sliding")
FORCE_KEYS = ("damping", "friction", "stiffness", "rest")
LAAS_KINDS = {"3d": "spherical", "6d": "fixed"}
LAAS_BYTES = 1_000_000


def read_loops(root: Element, links: Mapping[str, Element]) -> list[Cut]:
    """The <loop> elements of URDF+."""
    cuts = []
    for element in root.all("loop"):
        kind = element.text("type")
        if kind not in KINDS:
            raise element.error(f"type is '{kind}', it must be one of {', '.join(KINDS)}")
        axis = element.one("axis")
        direction = np.array([1.0, 0.0, 0.0]) if axis is None else axis.direction("xyz")
        turn = pose(rotation_to_axis(direction))
        ends = [_end(element.need(tag), links) for tag in ("predecessor", "successor")]
        first, second = ((link, T @ turn) for link, T in ends)
        acting = [_forces(element.one(tag)) for tag in FORCES]
        cuts.append(Cut(element.text("name"), KINDS[kind], (first, second), *acting))
    return cuts


def loop_elements(m: Mechanism) -> list[ElementTree.Element]:
    """The <loop> elements of a mechanism, their axes along z of their frames."""
    found = []
    for loop in m.loops:
        element = ElementTree.Element("loop", name=loop.name, type=loop.kind)
        for tag, end in (("predecessor", loop.first), ("successor", loop.second)):
            D = np.eye(4) if end.body == BASE else m.frames[end.body].T
            link = root_name(m) if end.body == BASE else m.frames[end.body].name
            T = inverse(D) @ end.T
            write_origin(ElementTree.SubElement(element, tag, link=link), T[:3, :3], T[:3, 3])
        ElementTree.SubElement(element, "axis", xyz="0 0 1")
        for tag, forces in zip(FORCES, (loop.turning, loop.sliding), strict=True):
            if forces is not None:
                values = dict(zip(FORCE_KEYS, (forces.Fv, forces.Fs, forces.K, forces.rest), strict=True))
                ElementTree.SubElement(element, tag, {key: numbers([value]) for key, value in values.items()})
        found.append(element)
    return found


def _forces(element: Element | None) -> CutForces | None:
    """What acts in a cut joint, in an element that only this project writes."""
    return None if element is None else CutForces(*(element.number(key, 0.0) for key in FORCE_KEYS))


def _end(element: Element, links: Mapping[str, Element]) -> tuple[str, Floats]:
    link = element.text("link")
    if link not in links:
        raise element.error(f"no link is called '{link}'{suggestion(link, links, ', did you mean {!r}?')}")
    return link, origin_of(element)


def couple(root: Element, joints: Sequence[UrdfJoint]) -> None:
    """Let joints follow others as the <coupling> elements say."""
    by_link = {joint.link: joint for joint in joints}

    def chain(link: str) -> list[UrdfJoint]:
        found = []
        while link in by_link:
            found.append(by_link[link])
            link = by_link[link].parent
        return [joint for joint in found if joint.moves]

    for element in root.all("coupling"):
        first, second = (chain(element.need(tag).text("link")) for tag in ("predecessor", "successor"))
        ratio = element.need("ratio").number("value")
        leaders, followers = ([j for j in one if j not in other] for one, other in ((first, second), (second, first)))
        if len(leaders) != 1 or len(followers) != 1 or ratio == 0.0:
            raise element.error(
                "couples other than one joint with one by a ratio that is not zero, which cannot be said here"
            )
        leader, follower = leaders[0], followers[0]
        if not is_independent(leader) and is_independent(follower):
            leader, follower, ratio = follower, leader, 1.0 / ratio
        follower.leader, follower.multiplier = leader.name, ratio


def is_independent(joint: UrdfJoint) -> bool:
    """Whether the file does not say otherwise."""
    return joint.element.attributes.get("independent", "true") != "false"


def drive(joints: Sequence[UrdfJoint]) -> None:
    """Joints that are not independent are passive."""
    for joint in joints:
        joint.active = joint.active and is_independent(joint)


class Laas(NamedTuple):
    """The file beside a URDF that closes its chains."""

    path: Path
    content: dict[str, Any]

    def refuse(self, sentence: str) -> DescriptionError:
        return DescriptionError(f"{self.path}: {sentence}")

    def cuts(self, joints: Sequence[UrdfJoint], links: Mapping[str, Element]) -> list[Cut]:
        """`closed_loop`: pairs of frames, which are names of links or of joints."""
        by_name = {joint.name: joint for joint in joints}
        pairs, kinds = self.content["closed_loop"], self.content.get("type", [])
        kinds = [*kinds, *["6d"] * (len(pairs) - len(kinds))]
        cuts = []
        for k, (pair, kind) in enumerate(zip(pairs, kinds, strict=False), 1):
            if str(kind).lower() not in LAAS_KINDS or not isinstance(pair, list) or len(pair) != 2:
                raise self.refuse(f"loop {k} is {pair!r:.60} of type {kind!r:.20}; two frames and 3d or 6d are needed")
            ends = []
            for frame in pair:
                if frame not in by_name and frame not in links:
                    hint = suggestion(str(frame), [*by_name, *links], ", did you mean {!r}?")
                    raise self.refuse(f"no joint or link of the URDF is called {frame!r:.60}{hint}")
                ends.append((by_name[frame].link if frame in by_name else frame, pose()))
            cuts.append(Cut(f"loop_{k}", LAAS_KINDS[str(kind).lower()], (ends[0], ends[1])))
        return cuts

    def change(self, joints: Sequence[UrdfJoint]) -> None:
        """Freeze joints, turn them into balls, and say which are driven."""
        by_name = {joint.name: joint for joint in joints}
        kinds = {"FIXED": "fixed", "SPHERICAL": "ball"}
        kinds |= {f"UJOINT_{kind[-2:].upper()}": kind for kind in BALLS if kind != "ball"}
        changes = zip(self.content.get("joint_name") or [], self.content.get("joint_type") or [], strict=False)
        missing = []
        for name, kind in changes:
            if kind not in kinds:
                raise self.refuse(f"joint {name!r:.60} cannot become {kind!r:.20}; allowed: {', '.join(kinds)}")
            if name in by_name:
                by_name[name].kind = kinds[kind]
            else:
                missing.append(str(name))
        if missing:
            text = f"{self.path}: joint_name lists {', '.join(missing)}, which the URDF has not; left out"
            warnings.warn(text, DescriptionWarning, stacklevel=6)
        motors = self.content.get("name_mot")
        if motors is None:
            warnings.warn(f"{self.path}: name_mot is missing, every joint is driven", DescriptionWarning, stacklevel=6)
            return
        for name in motors:
            if name not in by_name:
                raise self.refuse(
                    f"name_mot: no joint is called {name!r:.60}{suggestion(str(name), by_name, ', did you mean {!r}?')}"
                )
        for joint in joints:
            joint.active = joint.name in motors


def laas_beside(urdf: Path) -> Laas | None:
    """The YAML file of the URDF's name (or `robot.yaml`) beside it, where it lists closed loops."""
    for path in (urdf.with_suffix(".yaml"), urdf.with_name("robot.yaml")):
        if not path.is_file():
            continue
        try:
            content = yaml.safe_load(read_bounded(path, LAAS_BYTES))
        except (yaml.YAMLError, RecursionError):
            continue  # not ours: a robot that has another description beside it
        if isinstance(content, dict) and isinstance(content.get("closed_loop"), list):
            return Laas(path, content)
    return None
