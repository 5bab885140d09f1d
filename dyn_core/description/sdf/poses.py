"""Where the links, joints and frames of an SDF model stand: poses relative to one another, resolved."""

from __future__ import annotations

import math

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.spatial.poses import from_seven, inverse, pose, rotation_from_rpy

from ..documents.problems import suggestion
from ..documents.xml_document import Element

MODEL = "__model__"
WORLD = "world"
TAGS = ("link", "frame", "joint")


class Poses:
    """The pose of every link, joint and frame in the model's frame, where all joints are at zero."""

    def __init__(self, model: Element) -> None:
        self._elements: dict[str, Element] = {}
        for tag in TAGS:
            seen: set[str] = set()
            for element in model.all(tag):
                name = element.text("name")
                if name in seen or name in (MODEL, WORLD):
                    raise element.error(f"there is already a {tag} of that name")
                seen.add(name)
                self._elements.setdefault(name, element)  # before SDF 1.7 a link and a joint may share a name
        stands = model.one("pose")
        world = pose() if stands is None else inverse(matrix(stands))
        self._known: dict[str, Floats] = {MODEL: pose(), "": pose(), WORLD: world}

    def of(self, name: str, asking: Element) -> Floats:
        """The pose of the link, frame or joint of that name; asking: the element that names it."""
        return self._named(name, asking, ())

    def of_element(self, element: Element, way: tuple[str, ...] = ()) -> Floats:
        """The pose of a <link>, <joint> or <frame>."""
        placed = element.one("pose")
        # a joint stands in the frame of its child, a frame in the one that it is attached to
        relative = element.words("child") if element.tag == "joint" else element.attributes.get("attached_to", "")
        if placed is not None:
            relative = placed.attributes.get("relative_to", placed.attributes.get("frame", "")) or relative
        above = self._named(relative, element, way)
        return above if placed is None else above @ matrix(placed)

    def _named(self, name: str, asking: Element, way: tuple[str, ...]) -> Floats:
        if name in way:
            raise asking.error(f"the poses of {', '.join(way)} are relative to each other, in a circle")
        if name not in self._known:
            if name not in self._elements:
                hint = suggestion(name, self._elements, ", did you mean '{}'?")
                raise asking.error(f"no link, joint or frame is called '{name}'{hint}")
            self._known[name] = self.of_element(self._elements[name], (*way, name))
        return self._known[name]


def matrix(element: Element) -> Floats:
    """The pose that <pose> has: x y z and roll pitch yaw, or x y z and a quaternion."""
    if element.attributes.get("rotation_format", "euler_rpy") == "quat_xyzw":
        return np.asarray(from_seven(np.array([element.values(7)]))[0])
    values = element.values(6) if element.content.strip() else [0.0] * 6
    angles = values[3:]
    if element.attributes.get("degrees", "false") in ("true", "1"):
        angles = [math.radians(angle) for angle in angles]
    return pose(rotation_from_rpy(*angles), np.array(values[:3]))
