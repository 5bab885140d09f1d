"""The joints of an SDF model: a tree of them that reaches every link, and those at which loops are cut."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import CutForces
from dyn_core.spatial.poses import inverse, pose, rotation_to_axis

from ..cut_joint import Cut
from ..documents.xml_document import Element
from ..joint_entry import JointEntry, Placement
from .poses import MODEL, Poses

AXES = {"revolute": 1, "continuous": 1, "prismatic": 1, "universal": 2, "revolute2": 2, "ball": 0, "fixed": 0}
"""How many axes the joints of each kind have in the file."""
SUFFIXES = {1: ("",), 2: ("_1", "_2"), 3: ("_x", "_y", "_z")}
NO_LIMIT = 1e9


@dataclasses.dataclass(eq=False)
class SdfJoint:
    """One <joint>, where it stands in the model's frame while all joints are at zero."""

    element: Element
    name: str
    kind: str
    parent: str
    child: str
    at: Floats
    axes: list[tuple[Floats, Element | None]]
    """Unit vectors in the model's frame, and what the file says of each; the first is fixed in the parent."""

    @property
    def driven(self) -> bool:
        """Whether the file gives it an effort, as it does for a joint with a motor."""
        return any(0.0 < _effort(axis) < math.inf for _, axis in self.axes)

    @property
    def to_keep(self) -> int:
        """The lower, the worse to cut."""
        ranks = {"fixed": 0, "prismatic": 2, "revolute": 3, "universal": 4, "ball": 5}
        return 1 if self.driven else ranks[self.kind]

    def entries(self, forwards: bool, poses: Poses) -> Iterator[JointEntry]:
        """Single joints from the parent to the child; not forwards: the other way, by the same angles."""
        links = [self.parent, self.child] if forwards else [self.child, self.parent]
        above, below = (poses.of(link, self.element) for link in links)
        if not self.axes:
            placed = Placement(inverse(above) @ below, np.eye(4))
            yield JointEntry(name=self.name, kind="fixed", link=links[1], parent=links[0], placement=placed)
            return
        names = [self.name + suffix for suffix in SUFFIXES[len(self.axes)]]
        parts = list(zip(names, self.axes, strict=True))
        parent, frame = links[0], above
        for k, (name, (axis, told)) in enumerate(parts if forwards else reversed(parts), 1):
            last = k == len(parts)
            here = pose(rotation_to_axis(axis if forwards else -axis), self.at[:3, 3])
            entry = JointEntry(
                name=name,
                kind="prismatic" if self.kind == "prismatic" else "revolute",
                link=links[1] if last else f"{links[1]}_{name}",
                parent=parent,
                placement=Placement(inverse(frame) @ here, inverse(here) @ below if last else np.eye(4)),
            )
            if told is not None:
                _tell(entry, told, self.kind == "continuous")
            parent, frame = entry.link, here
            yield entry

    def cut(self, poses: Poses) -> Cut:
        """The same as a cut joint."""
        frame = self.at
        if self.kind == "universal":
            x, y = self.axes[0][0], self.axes[1][0]
            if abs(float(x @ y)) > 1e-9:
                raise self.element.error("closes a loop, and its axes are not at a right angle, which cannot be said")
            frame = pose(np.column_stack([x, y, np.cross(x, y)]), self.at[:3, 3])
        elif self.axes and self.kind != "ball":
            frame = pose(rotation_to_axis(self.axes[0][0]), self.at[:3, 3])
        first, second = ((link, inverse(poses.of(link, self.element)) @ frame) for link in (self.parent, self.child))
        kind = "spherical" if self.kind == "ball" else self.kind
        forces = self._forces()
        turning, sliding = (None, forces) if kind == "prismatic" else (forces, None)
        return Cut(self.name, kind, (first, second), turning, sliding)

    def _forces(self) -> CutForces | None:
        told = self.axes[0][1] if len(self.axes) == 1 else None
        if told is None:
            return None
        probe = JointEntry(name="", kind="", link="", parent="")
        _tell(probe, told, True)
        forces = CutForces(probe.Fv, probe.Fs, probe.spring, probe.rest)
        return forces if forces.Fv or forces.Fs or forces.K else None


def read_joint(element: Element, poses: Poses, old_axes: bool) -> SdfJoint:
    """A <joint>; old_axes: axes are in the model's frame, as they were before SDF 1.5."""
    kind = element.text("type")
    if kind not in AXES:
        raise element.error(f"type is '{kind}', which cannot be said here; allowed: {', '.join(AXES)}")
    name = element.text("name")
    at = poses.of_element(element)
    joint = SdfJoint(element, name, kind, element.words("parent"), element.words("child"), at, [])
    for k in range(AXES[kind]):
        told = element.need("axis2" if k else "axis")
        xyz = told.one("xyz")
        vector = np.array([0.0, 0.0, 1.0] if xyz is None else xyz.values(3))
        if np.linalg.norm(vector) < 1e-9:
            raise told.error("xyz is zero, it must be a direction")
        where = "" if xyz is None else xyz.attributes.get("expressed_in", "")
        flag = told.one("use_parent_model_frame")
        in_model = old_axes or (flag is not None and flag.content.strip() in ("1", "true"))
        R = np.eye(3) if in_model or where == MODEL else poses.of(where, told)[:3, :3] if where else at[:3, :3]
        joint.axes.append((R @ vector / np.linalg.norm(vector), told))
    if kind == "ball":
        joint.axes = [(axis, None) for axis in at[:3, :3].T]
    joint.kind = {"continuous": "revolute", "revolute2": "universal"}.get(kind, kind)
    return joint


def spanning_tree(joints: Sequence[SdfJoint], root: str) -> tuple[list[tuple[SdfJoint, bool]], list[SdfJoint]]:
    """Joints that reach every link once, from the root on, and whether forwards; and those that close loops.

    Loops are cut where the tree stays well conditioned: at balls, else at universal joints, else at passive revolute
    ones, of these at the one that is farthest from the root.
    """
    hops = {root: 0}
    while True:
        reached = [(j.parent, j.child) for j in joints] + [(j.child, j.parent) for j in joints]
        new = {b: hops[a] + 1 for a, b in reached if a in hops and b not in hops}
        if not new:
            break
        hops |= new
    far = len(hops)
    group: dict[str, str] = {}

    def leader(link: str) -> str:
        while group.get(link, link) != link:
            link = group[link]
        return link

    kept: list[SdfJoint] = []
    for joint in sorted(joints, key=lambda j: (j.to_keep, min(hops.get(j.parent, far), hops.get(j.child, far)))):
        one, other = leader(joint.parent), leader(joint.child)
        if one != other:
            group[one] = other
            kept.append(joint)
    ordered: list[tuple[SdfJoint, bool]] = []
    reached_links = {root}
    waiting = [joint for joint in joints if joint in kept]
    while waiting:
        reachable = [j for j in waiting if reached_links & {j.parent, j.child}]
        if not reachable:
            break
        joint = reachable[0]
        waiting.remove(joint)
        ordered.append((joint, joint.parent in reached_links))
        reached_links |= {joint.parent, joint.child}
    return ordered, [joint for joint in joints if joint not in kept]


def _effort(axis: Element | None) -> float:
    """The largest effort of an axis; inf where the file gives none."""
    limit = None if axis is None else axis.one("limit")
    effort = -1.0 if limit is None or limit.one("effort") is None else _number(limit, "effort", -1.0)
    return effort if 0.0 <= effort < NO_LIMIT else math.inf


def _number(element: Element, tag: str, default: float) -> float:
    """A number that may be inf, as SDF writes a limit that there is not."""
    if element.words(tag, "none").lower().strip("+-") in ("inf", "infinity"):
        return math.copysign(math.inf, -1.0 if element.words(tag).startswith("-") else 1.0)
    return element.value(tag, default)


def _tell(entry: JointEntry, axis: Element, turns_on: bool) -> None:
    """Limits, friction and spring of one axis; turns_on: whatever limits it has."""
    limit, dynamics = axis.one("limit"), axis.one("dynamics")
    if limit is not None and not turns_on:
        low, high = _number(limit, "lower", -math.inf) if limit.one("lower") else -math.inf, math.inf
        if limit.one("upper"):
            high = _number(limit, "upper", math.inf)
        if low > high:
            raise limit.error(f"lower {low:g} is above upper {high:g}")
        entry.limits = (low if low > -NO_LIMIT else -math.inf, high if high < NO_LIMIT else math.inf)
    if limit is not None and limit.one("velocity"):
        velocity = _number(limit, "velocity", -1.0)
        entry.velocity = velocity if 0.0 <= velocity < NO_LIMIT else math.inf
    entry.effort = _effort(axis)
    if dynamics is not None:
        entry.Fv, entry.Fs = dynamics.value("damping", 0.0), dynamics.value("friction", 0.0)
        entry.spring, entry.rest = dynamics.value("spring_stiffness", 0.0), dynamics.value("spring_reference", 0.0)
        if min(entry.Fv, entry.Fs, entry.spring) < 0.0:
            raise dynamics.error("damping, friction and spring_stiffness are not below zero")
    mimic = axis.one("mimic")
    if mimic is not None:
        entry.leader = mimic.text("joint")
        entry.multiplier = mimic.value("multiplier", 1.0)
        entry.offset = mimic.value("offset", 0.0) - entry.multiplier * mimic.value("reference", 0.0)
