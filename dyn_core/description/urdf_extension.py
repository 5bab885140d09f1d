"""What URDF has no place for, kept in an element of its own that other programs pass over.

<dyn_robot> holds JSON: gravity, the floating base, which links carry the bodies' names, and per joint rotor inertia,
stiffness, spring, whether it is driven, and its motor. A robot written as URDF and read back is the same robot.
"""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..errors import DescriptionError
from ..mechanism import BASE, FloatingBase, Floats, Frame, Mechanism, Motors, Springs
from .urdf import to_urdf

TAG = "dyn_robot"


def extended_urdf(mechanism: Mechanism) -> str:
    """URDF text with all of the mechanism, what URDF itself cannot say in <dyn_robot>."""
    closing = "</robot>"
    body, _, _ = to_urdf(mechanism).rpartition(closing)
    element = ElementTree.Element(TAG)
    element.text = json.dumps(_extras(mechanism), indent=1, allow_nan=False)
    return f"{body}  {ElementTree.tostring(element, encoding='unicode')}\n{closing}\n"


def with_extras(mechanism: Mechanism, path: Path) -> Mechanism:
    """A mechanism read from URDF, with what the file's <dyn_robot> adds to it, if there is one."""
    element = ElementTree.parse(path).getroot().find(TAG)
    if element is None:
        return mechanism
    try:
        return _applied(mechanism, json.loads(element.text or ""))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DescriptionError(
            f"{path}: <{TAG}> is not as dyn convert writes it ({error!r}); remove it to do without what it holds"
        ) from error


def _extras(m: Mechanism) -> dict[str, Any]:
    joints: dict[str, Any] = {}
    for j, name in enumerate(m.joint_names):
        joint: dict[str, Any] = {"link": m.body_names[j], "Ia": float(m.Ia[j]), "active": bool(m.active[j])}
        if math.isfinite(m.stiffness[j]):
            joint["stiffness"] = float(m.stiffness[j])
        if m.springs is not None and m.springs.K[j] > 0.0:
            joint["spring"] = {"K": float(m.springs.K[j]), "rest": float(m.springs.rest[j])}
        if m.motors is not None and not math.isnan(m.motors.gear[j]):
            motor = {field.name: float(getattr(m.motors, field.name)[j]) for field in dataclasses.fields(Motors)}
            joint["motor"] = {key: value for key, value in motor.items() if math.isfinite(value)}
        joints[name] = joint
    extras: dict[str, Any] = {"description": m.description, "gravity": m.gravity.tolist(), "joints": joints}
    if m.base is not None:
        extras["base"] = {"name": m.base.name, "M": m.base.M, "MS": m.base.MS.tolist(), "J": m.base.J.tolist()}
    return extras


def _applied(m: Mechanism, extras: dict[str, Any]) -> Mechanism:
    joints = [extras["joints"].get(name, {}) for name in m.joint_names]

    def of_joints(values: list[Any]) -> Floats:
        return np.array(values, dtype=np.float64)

    base = m.base
    if "base" in extras:
        given = extras["base"]
        MS, J = of_joints(given["MS"]), of_joints(given["J"])
        base = FloatingBase(str(given["name"]), float(given["M"]), MS.reshape(3), J.reshape(3, 3))
    springs = [joint.get("spring", {"K": 0.0, "rest": 0.0}) for joint in joints]
    bodies = tuple(str(joint.get("link", link)) for joint, link in zip(joints, m.body_names, strict=True))
    return dataclasses.replace(
        m,
        description=str(extras["description"]),
        gravity=of_joints(extras["gravity"]).reshape(3),
        Ia=of_joints([joint.get("Ia", 0.0) for joint in joints]),
        stiffness=of_joints([joint.get("stiffness", math.inf) for joint in joints]),
        active=np.array([joint.get("active", True) is True for joint in joints]),
        springs=Springs(*(of_joints([s[key] for s in springs]) for key in ("K", "rest")))
        if any(spring["K"] for spring in springs)
        else None,
        motors=_motors([joint.get("motor") for joint in joints]),
        base=base,
        body_names=bodies,
        frames=_frames(m, bodies),
    )


def _motors(given: list[dict[str, float] | None]) -> Motors | None:
    if not any(given):
        return None
    none = {"current_limit": math.inf, "voltage_limit": math.inf}

    def column(key: str) -> Any:
        if key == "dac_bits":
            return np.array([0 if motor is None else int(motor[key]) for motor in given], dtype=np.int64)
        values = [math.nan if motor is None else motor[key] if key in motor else none[key] for motor in given]
        return np.array(values, dtype=np.float64)

    return Motors(**{field.name: column(field.name) for field in dataclasses.fields(Motors)})


def _frames(m: Mechanism, bodies: tuple[str, ...]) -> tuple[Frame, ...]:
    """The described frames in joint order, without the links <link>_body and the base that only URDF needs."""
    other = [
        frame
        for frame in m.frames[m.n : -1]
        if frame.name not in bodies and not (frame.name == "base" and frame.body == BASE)
    ]
    return (*(m.frame(link) for link in bodies), *other, m.frames[-1])
