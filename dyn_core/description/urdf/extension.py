"""What URDF has no place for, kept in an element <dyn_robot> of its own, which other programs pass over.

It holds gravity, whether the base floats, springs and dampers between links, and per joint which link carries the
body's name, rotor inertia, stiffness, spring, whether it is driven, and its motor. A robot that is written as URDF and
read back is the same robot; of what URDF itself says nothing is repeated.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import BASE, STANDARD_GRAVITY, WORLD, Frame, Mechanism, Motors, SpringDamper, Springs

from ..assembly import motors_of
from ..documents.xml_document import Element, read_xml
from .closed_chains import loop_elements
from .reader import urdf_mechanism
from .writer import numbers, to_urdf

TAG = "dyn_robot"
MOTOR = tuple(field.name for field in dataclasses.fields(Motors))
UNLIMITED = ("current_limit", "voltage_limit")  # left out where there is none


def extended_urdf(mechanism: Mechanism) -> str:
    """URDF text with all of the mechanism, what URDF itself cannot say in <dyn_robot>."""
    body, _, _ = to_urdf(mechanism).rpartition("</robot>")
    body = body.replace("They are left out here.", f"The element {TAG} keeps them.")
    for element in [*loop_elements(mechanism), _element(mechanism)]:
        ElementTree.indent(element, level=1)
        body += f"  {ElementTree.tostring(element, encoding='unicode')}\n"
    return f"{body}</robot>\n"


def read_urdf(path: str | Path, floating: bool = False) -> Mechanism:
    """Read a URDF file, with what its <dyn_robot> adds, if there is one.

    A DescriptionError names file, line and element of what cannot be used. floating: the root link moves freely, with
    its inertia, instead of being fixed to the world. A root joint of type "floating" says the same in the file.
    """
    root = read_xml(Path(path))
    element = root.one(TAG)
    if element is None:
        return urdf_mechanism(root, floating)
    floats = element.attributes.get("base", "fixed") == "floating"
    return _extended(urdf_mechanism(root, floating or floats), element)


def _element(m: Mechanism) -> ElementTree.Element:
    attributes = {"description": m.description, "gravity": numbers(m.gravity)}
    attributes |= {"base": "floating"} if m.base is not None else {}
    attributes |= {"platform": m.body_names[m.platform]} if m.platform is not None else {}
    root = ElementTree.Element(TAG, attributes)
    for j, name in enumerate(m.joint_names):
        joint = ElementTree.SubElement(root, "joint", name=name, link=m.body_names[j])
        if m.Ia[j]:
            joint.set("rotor_inertia", numbers([m.Ia[j]]))
        if math.isfinite(m.stiffness[j]):
            joint.set("stiffness", numbers([m.stiffness[j]]))
        if not m.active[j]:
            joint.set("active", "false")
        if m.assembly is not None:
            joint.set("assembly", numbers([m.assembly[j]]))
        if m.springs is not None and m.springs.K[j] > 0.0:
            K, rest = (numbers([values[j]]) for values in (m.springs.K, m.springs.rest))
            ElementTree.SubElement(joint, "spring", stiffness=K, rest=rest)
        if m.motors is not None and not math.isnan(m.motors.gear[j]):
            values = {key: getattr(m.motors, key)[j] for key in MOTOR}
            finite = {key: numbers([value]) for key, value in values.items() if math.isfinite(value)}
            ElementTree.SubElement(joint, "motor", finite)
    for each in m.spring_dampers:
        acts = {"stiffness": each.stiffness, "rest_length": each.rest, "damping": each.damping}
        texts = {key: numbers([value]) for key, value in acts.items()}
        element = ElementTree.SubElement(root, "spring_damper", {"name": each.name} | texts)
        for key, end in {"first": each.first, "second": each.second}.items():
            frame = Frame("", BASE, np.eye(3), np.zeros(3)) if end.body < 0 else m.frames[end.body]
            link = {} if end.body == BASE else {"link": "world" if end.body == WORLD else m.body_names[end.body]}
            ElementTree.SubElement(element, key, link | {"xyz": numbers(frame.R.T @ (end.p - frame.p))})
    return root


def _extended(m: Mechanism, root: Element) -> Mechanism:
    given: dict[str, Element] = {}
    for element in root.all("joint"):
        name = element.text("name")
        if name not in m.joint_names:
            raise element.error(f"no joint that moves is called '{name}'")
        if name in given:
            raise element.error(f"is the second of that name in <{TAG}>")
        given[name] = element
    joints = [given.get(name) for name in m.joint_names]
    springs = [None if joint is None else joint.one("spring") for joint in joints]
    motors = [None if joint is None else joint.one("motor") for joint in joints]
    bodies = tuple(
        link if joint is None else joint.attributes.get("link", link)
        for joint, link in zip(joints, m.body_names, strict=True)
    )
    frames = _frames(m, bodies, given)
    assembly = None
    if m.loops and any(joint is not None and "assembly" in joint.attributes for joint in joints):
        assembly = np.array([0.0 if joint is None else joint.number("assembly", 0.0) for joint in joints])
    platform = root.attributes.get("platform", "")
    if platform and platform not in bodies:
        raise root.error(f"platform is '{platform}', which no moving link is called")
    return dataclasses.replace(
        m,
        description=root.attributes.get("description", m.description),
        gravity=root.vector("gravity", STANDARD_GRAVITY),
        Ia=_column(joints, "rotor_inertia", 0.0),
        stiffness=_column(joints, "stiffness", math.inf),
        active=np.array([joint is None or joint.attributes.get("active") != "false" for joint in joints]),
        springs=Springs(_column(springs, "stiffness", 0.0), _column(springs, "rest", 0.0)) if any(springs) else None,
        motors=motors_of([_motor(element) for element in motors]),
        body_names=bodies,
        assembly=assembly,
        platform=bodies.index(platform) if platform else None,
        frames=frames,
        spring_dampers=tuple(_spring_damper(element, m, frames) for element in root.all("spring_damper")),
    )


def _spring_damper(element: Element, m: Mechanism, frames: Sequence[Frame]) -> SpringDamper:
    """What acts between two links; an end without a link is on the base."""
    name = element.text("name")
    ends = []
    for key in ("first", "second"):
        end = element.one(key)
        if end is None:
            raise element.error(f"has no <{key}>")
        link, at = end.attributes.get("link"), end.vector("xyz", (0.0, 0.0, 0.0))
        found = next((frame for frame in frames[: m.n] if frame.name == link), None)
        if found is not None:
            ends.append(Frame(name, found.body, np.eye(3), found.R @ at + found.p))
        elif link is None or (link == "world" and m.base is not None):
            ends.append(Frame(name, BASE if link is None else WORLD, np.eye(3), at))
        else:
            raise end.error(f"no joint moves a link called {link!r}")
    stiffness, rest, damping = (
        float(_column([element], key, 0.0)[0]) for key in ("stiffness", "rest_length", "damping")
    )
    return SpringDamper(name, ends[0], ends[1], stiffness, rest, damping)


def _column(elements: Iterable[Element | None], key: str, default: float) -> Floats:
    """(n,) of one attribute, not negative; rest positions apart."""
    values = []
    for element in elements:
        value = default if element is None else element.number(key, default)
        if element is not None and value < 0.0 and key != "rest":
            raise element.error(f"{key} is {value:g}, it is not below zero")
        values.append(value)
    return np.array(values)


def _motor(element: Element | None) -> Mapping[str, float] | None:
    if element is None:
        return None
    return {key: element.number(key, math.inf if key in UNLIMITED else None) for key in MOTOR}


def _frames(m: Mechanism, bodies: tuple[str, ...], given: dict[str, Element]) -> tuple[Frame, ...]:
    """The described frames in joint order, without the links <link>_body that only URDF needs."""
    at = {frame.name: frame for frame in m.frames}
    for j, link in enumerate(bodies):
        if link not in at or at[link].body != j:
            raise given[m.joint_names[j]].error(f"its joint moves no link called {link!r}")
    others = [frame for frame in m.frames[m.n : -1] if frame.name not in bodies]
    others = [frame for frame in others if not (frame.name == "base" and frame.is_base)]
    return (*(at[link] for link in bodies), *others, m.frames[-1])
