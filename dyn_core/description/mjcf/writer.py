"""Mechanism to MJCF text, for MuJoCo.

Bodies stand in their described frames. MuJoCo wants inertia in every body that moves: a body without any becomes
one more joint of the body that it carries. Cut joints are equalities between sites: a spherical one is a connect, a
revolute one two connects on its axis, a fixed one a weld.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from xml.etree import ElementTree

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError
from dyn_core.mechanism import BASE, PRISMATIC, REVOLUTE, Frame, Mechanism
from dyn_core.spatial.poses import inverse, pose, quaternion_from_rotation

from ..inertial import Inertial

APART = 0.1  # m between the two points on the axis of a revolute cut joint
LEAST = 1e-12  # of the largest moment, that a moment of zero becomes
CUTS = {"spherical": 1, "planar_revolute": 1, "revolute": 2, "fixed": 1}
"""How many equalities a cut joint becomes; kinds that are not here cannot be written."""


def to_mjcf(mechanism: Mechanism) -> str:
    """The mechanism as MJCF text; a DescriptionError where MJCF has no place for a part of it."""
    return _Writer(mechanism).text()


def beyond_mjcf(mechanism: Mechanism) -> list[str]:
    """What MuJoCo will not see of a mechanism, in words."""
    m = mechanism
    words = {
        "velocity limits": bool(np.isfinite(m.velocity_limits).any()),
        "motors": m.motors is not None,
        "joint stiffnesses": bool(np.isfinite(m.stiffness).any()),
        "flexible links": bool(m.beams or m.compliances),
        "what is a platform": m.platform is not None or m.spherical is not None,
    }
    return [word for word, there in words.items() if there]


class _Writer:
    def __init__(self, mechanism: Mechanism) -> None:
        self.m = m = mechanism
        self._check()
        self.root = ElementTree.Element("mujoco", model=m.name)
        ElementTree.SubElement(self.root, "compiler", angle="radian", autolimits="true")
        ElementTree.SubElement(self.root, "option", gravity=_numbers(m.gravity))
        self.world = ElementTree.SubElement(self.root, "worldbody")
        self.planar = bool((m.joint_type == REVOLUTE).all()) and m.base is None and _parallel(m)
        self.order: list[int] = []
        """The joints as MuJoCo numbers them."""
        base = self.world
        if m.base is not None:
            base = ElementTree.SubElement(self.world, "body", name=m.base.name)
            ElementTree.SubElement(base, "freejoint")
            _inertial(base, Inertial.from_standard_parameters(m.base.M, m.base.MS, m.base.J))
        self.places: dict[int, ElementTree.Element] = {BASE: base}
        self._sites(BASE)
        self._children(BASE, base)
        self._loops()
        self._drives()

    def text(self) -> str:
        ElementTree.indent(self.root)
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"

    def _check(self) -> None:
        m = self.m
        for loop in m.loops:
            if loop.kind not in CUTS or loop.turning or loop.sliding:
                what = f"{loop.kind} cut joint" if loop.kind not in CUTS else "friction or spring of cut joint"
                raise DescriptionError(f"{m.name}: MJCF has no place for the {what} '{loop.name}'")
        if m.spring_dampers:
            raise DescriptionError(f"{m.name}: springs between links cannot be written as MJCF here")

    def _described(self, body: int) -> Floats:
        return np.eye(4) if body == BASE else self.m.frames[body].T

    def _massless(self, j: int) -> bool:
        """Whether a body is one more joint of the only body that it carries."""
        m = self.m
        used = [*(f.body for f in m.frames[m.n :]), *(e.body for loop in m.loops for e in (loop.first, loop.second))]
        light = m.M[j] == 0.0 and not m.J[j].any()
        return light and j not in used and int((m.parent == j).sum()) == 1

    def _children(self, above: int, element: ElementTree.Element) -> None:
        for first in np.flatnonzero(self.m.parent == above):
            self._body(element, above, int(first))

    def _body(self, element: ElementTree.Element, above: int, first: int) -> None:
        m = self.m
        chain = [first]
        while self._massless(chain[-1]):
            chain.append(int(np.flatnonzero(m.parent == chain[-1])[0]))
        last = chain[-1]
        frames = [np.eye(4)]
        for j in chain:
            frames.append(frames[-1] @ pose(m.R[j], m.p[j]))
        stands = frames[-1] @ self._described(last)
        body = ElementTree.SubElement(element, "body", name=m.frames[last].name)
        _place(body, inverse(self._described(above)) @ stands)
        for j, frame in zip(chain, frames[1:], strict=True):
            self._joint(body, j, inverse(stands) @ frame)
            self.order.append(j)
        D = self._described(last)
        axis = D[2, :3] if self.planar else None
        _inertial(body, Inertial.from_standard_parameters(m.M[last], m.MS[last], m.J[last]).moved(inverse(D)), axis)
        self.places[last] = body
        self._sites(last)
        self._children(last, body)

    def _joint(self, body: ElementTree.Element, j: int, at: Floats) -> None:
        m = self.m
        values = {
            "name": m.joint_names[j],
            "type": "slide" if m.joint_type[j] == PRISMATIC else "hinge",
            "pos": _numbers(at[:3, 3]),
            "axis": _numbers(at[:3, 2]),
        }
        friction = {"damping": m.Fv[j], "frictionloss": m.Fs[j], "armature": m.Ia[j]}
        values |= {key: _numbers([value]) for key, value in friction.items() if value}
        low, high = m.position_limits[j]
        if np.isfinite([low, high]).any():
            values["range"] = _numbers([max(low, -1e9), min(high, 1e9)])
        if m.springs is not None and m.springs.K[j] > 0.0:
            values |= {"stiffness": _numbers([m.springs.K[j]]), "springref": _numbers([m.springs.rest[j]])}
        ElementTree.SubElement(body, "joint", values)

    def _sites(self, body: int) -> None:
        """The frames of a body that are not its own."""
        m = self.m
        for k, frame in enumerate(m.frames):
            if frame.body == body and k != body and not (body == BASE and frame.is_base and frame.name != "tool"):
                self._site(frame.name, frame)

    def _site(self, name: str, frame: Frame, along: float = 0.0) -> None:
        T = inverse(self._described(frame.body)) @ frame.T @ pose(p=np.array([0.0, 0.0, along]))
        _place(ElementTree.SubElement(self.places[frame.body], "site", name=name), T)

    def _loops(self) -> None:
        m = self.m
        followers = [] if m.mimic is None else [j for j in range(m.n) if m.mimic.leader[j] != j]
        if not m.loops and not followers:
            return
        equality = ElementTree.SubElement(self.root, "equality")
        for loop in m.loops:
            for k in range(CUTS[loop.kind]):
                ends = [f"{loop.name}_{side}{k + 1}" for side in ("first", "second")]
                for end, frame in zip(ends, (loop.first, loop.second), strict=True):
                    self._site(end, frame, k * APART)
                kind = "weld" if loop.kind == "fixed" else "connect"
                name = loop.name if CUTS[loop.kind] == 1 else f"{loop.name}{k + 1}"
                ElementTree.SubElement(equality, kind, name=name, site1=ends[0], site2=ends[1])
        for j in followers:
            assert m.mimic is not None
            line = _numbers([m.mimic.offset[j], m.mimic.multiplier[j], 0.0, 0.0, 0.0])
            names = {"joint1": m.joint_names[j], "joint2": m.joint_names[m.mimic.leader[j]]}
            ElementTree.SubElement(equality, "joint", names, polycoef=line)
        if m.loops:
            start = np.zeros(m.n) if m.assembly is None else m.assembly
            floating = [] if m.base is None else [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
            keys = ElementTree.SubElement(self.root, "keyframe")
            ElementTree.SubElement(keys, "key", name="assembly", qpos=_numbers([*floating, *start[self.order]]))

    def _drives(self) -> None:
        m = self.m
        leads = np.ones(m.n, bool) if m.mimic is None else m.mimic.leader == np.arange(m.n)
        actuator = ElementTree.SubElement(self.root, "actuator")
        for j in np.flatnonzero(m.active & leads & ~m.elastic):
            most = float(m.effort_limits[j])
            limit = {"ctrlrange": _numbers([-most, most])} if 0.0 < most < math.inf else {}
            ElementTree.SubElement(actuator, "motor", {"joint": m.joint_names[j]} | limit)


def _inertial(element: ElementTree.Element, body: Inertial, axis: Floats | None = None) -> None:
    """Mass and inertia, where there are any; axis: the only direction about which the body turns.

    MuJoCo takes no moment of zero, as a rod's or a plate's: LEAST of the largest is added there. Of a body that turns
    about one direction only the other moments do not matter.
    """
    if body.mass == 0.0 and not body.inertia.any():
        return
    J = body.inertia if axis is None else float(axis @ body.inertia @ axis) * np.eye(3)
    moments, axes = np.linalg.eigh(J)
    least = max(LEAST * (moments[2] + body.mass * float(body.com @ body.com)), 1e-14)
    lacking = moments[2] - moments[0] - moments[1]
    moments = np.maximum(moments, least) + (least + lacking if 0.0 < lacking < 1e3 * least else 0.0)
    J = axes @ np.diag(moments) @ axes.T if moments[0] < 2.0 * least or lacking > 0.0 else J
    values = _numbers([J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]])
    ElementTree.SubElement(element, "inertial", pos=_numbers(body.com), mass=_numbers([body.mass]), fullinertia=values)


def _parallel(m: Mechanism) -> bool:
    """Whether all axes are parallel to z of the base, in every configuration."""
    return all(np.abs(R[2] - [0.0, 0.0, R[2, 2]]).max() < 1e-12 for R in m.R)


def _place(element: ElementTree.Element, T: Floats) -> None:
    x, y, z, w = quaternion_from_rotation(T[:3, :3])
    element.set("pos", _numbers(T[:3, 3]))
    element.set("quat", _numbers([w, x, y, z]))


def _numbers(values: Iterable[float]) -> str:
    """Each by the shortest text that reads back as the same number."""
    return " ".join(repr(float(value) + 0.0) for value in values)
