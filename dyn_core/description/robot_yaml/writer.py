"""Mechanism to robot YAML in a chosen notation: standard or modified Denavit-Hartenberg rows, or origin and axis.

A notation gives each link a frame N_j of its own, in which its inertial parameters and the joints that it carries are
written; where that is not the link's described frame, the key `frame` of the link says where the described one is. So
every frame keeps its name and its place, and every joint its zero position, whatever the notation can express.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import DescriptionError, InputError
from dyn_core.mechanism import (
    BASE,
    OWN_LINK,
    PRISMATIC,
    WORLD,
    Compliance,
    Frame,
    Loop,
    Mechanism,
    Motors,
    SpringDamper,
)  # fmt: skip
from dyn_core.spatial.poses import inverse, pose, rpy_from_rotation

from ..documents.yaml_section import NAME
from ..documents.yaml_text import angle_value, document_text, rounded, rounded_angle
from ..inertial import ROUNDING, Inertial
from .dh_frames import PARALLEL, Row, frames_of_notation, modified_rows, standard_rows
from .inertia import ABOUT_COM, KHALIL, PRODUCTS
from .joint import MOTOR_FIGURES

SMALL_INERTIA = 1e-6  # part of J below which the inertia about the centre of mass is written as J
ANGLES = ("theta", "alpha", "gamma")

Group = dict[str, object]


class Written(NamedTuple):
    """A robot as YAML text, and sentences about what had to be called or written otherwise."""

    text: str
    notes: list[str]
    names: dict[str, str]
    """New names of frames by their old ones, where they had to change."""


def to_yaml(mechanism: Mechanism, notation: str) -> str:
    """The mechanism as robot YAML with its joints by notation `dh`, `mdh` or `origin`."""
    return write_yaml(mechanism, notation).text


def write_yaml(mechanism: Mechanism, notation: str, sources: Sequence[str] = ()) -> Written:
    """As `to_yaml`, with the texts of `sources` and what there is to say about the result."""
    if notation not in WRITERS:
        raise InputError(f"no notation '{notation}' for the robot YAML; there are {', '.join(WRITERS)}")
    _check(mechanism)
    notes: list[str] = []
    m, names = _renamed(mechanism, notes)
    if m.spherical is not None:
        notes.append("a spherical parallel manipulator, written by its joints and loops")
    robot: dict[str, object] = {"name": m.name}
    if m.description:
        robot["description"] = " ".join(m.description.split())
    if sources:
        robot["sources"] = list(sources)
    robot["gravity"] = m.gravity.tolist()
    if m.base is not None:
        body = _inertial(m.base.M, m.base.MS, m.base.J, pose(), notation)
        robot["base"] = {"type": "floating", "name": m.base.name} | body
    robot["tool"] = _on_link(m, m.frames[-1])
    robot["joints"] = _joints(m, notation)
    comment = "".join(f"# {note}\n" for note in notes)
    return Written(comment + document_text(robot | _spring_dampers(m) | _closed_chains(m)), notes, names)


def _joints(m: Mechanism, notation: str) -> list[Group]:
    """The joints that move, then fixed ones for the other frames."""
    place = WRITERS[notation]
    notated = {BASE: pose()} | dict(enumerate(frames_of_notation(m, notation)))
    entries = []
    for j, name in enumerate(m.joint_names):
        on = int(m.parent[j])
        tip = OWN_LINK if m.joint_tips is None else int(m.joint_tips[j])
        before = notated[on] if tip == OWN_LINK else _fixed_link(m, tip).T
        axis = inverse(before) @ pose(m.R[j], m.p[j])
        kind = "prismatic" if m.joint_type[j] == PRISMATIC else "revolute"
        link = {"name": m.body_names[j]} | _inertial(float(m.M[j]), m.MS[j], m.J[j], notated[j], notation)
        if shift := _origin(inverse(notated[j]) @ m.frames[j].T):
            link["frame"] = shift
        for beam in m.beams:
            if beam.body == j:
                link["flexible"] = {"E": beam.E, "I": beam.I, "modes": beam.modes}
        for each in m.compliances:
            if each.body == j and each.on is None:
                link |= _compliance(m.frames[j].T, each)
        parent: Group = {"name": name, "type": kind, "parent": _link(m, on, tip)}
        entries.append(parent | place(axis, notated[j]) | _motion(m, j, notation) | {"link": link})
    joints = set(m.joint_names)
    for extra in m.frames[m.n : -1]:
        name, link, tip = _unused(f"{extra.name}_fixed", joints), {"name": extra.name}, extra.tip
        if tip != OWN_LINK and _fixed_link(m, tip) is extra:
            link |= _compliance(extra.T, m.compliances[tip])
            stands = m.compliances[tip].on
            tip = OWN_LINK if stands is None else stands
        before = notated[extra.body] if tip == OWN_LINK else _fixed_link(m, tip).T
        there = place(inverse(before) @ extra.T, pose())
        fixed: Group = {"name": name, "type": "fixed", "parent": _link(m, extra.body, tip)}
        entries.append(fixed | there | {"link": link})
    return entries


def _origin_and_axis(axis: Floats, N: Floats) -> Group:
    """origin, and the joint's axis in N where it is not z."""
    along_z = np.abs(N[2, :2]).max() < PARALLEL and N[2, 2] > 0.0
    return {"origin": _origin(axis @ N)} | ({} if along_z else {"axis": [rounded(x) for x in N[2, :3]]})


WRITERS: dict[str, Callable[[Floats, Floats], Group]] = {
    "dh": lambda axis, N: {"dh": _rows(standard_rows(axis, N))},
    "mdh": lambda axis, N: {"mdh": _rows(modified_rows(axis, N))},
    "origin": _origin_and_axis,
}


# what moves, what weighs


def _motion(m: Mechanism, j: int, notation: str) -> Group:
    """Limits, friction, stiffness, spring and motor of joint j."""
    out: Group = {}
    angle = float if m.joint_type[j] == PRISMATIC else angle_value
    limits: Group = {}
    if np.isfinite(m.position_limits[j]).all():
        limits["position"] = [angle(x) for x in m.position_limits[j]]
    bounds = {"velocity": m.velocity_limits[j], "effort": m.effort_limits[j]}
    limits |= {key: bound for key, bound in bounds.items() if math.isfinite(bound)}
    if limits:
        out["limits"] = limits
    Ia, Fv, Fs = m.Ia[j], m.Fv[j], m.Fs[j]
    if notation == "mdh":
        out |= _unless_zero(Ia=Ia, Fv=Fv, Fs=Fs)
    else:
        friction = _unless_zero(viscous=Fv, coulomb=Fs)
        out |= ({"friction": friction} if friction else {}) | _unless_zero(rotor_inertia=Ia)
    spring = 0.0 if m.springs is None else m.springs.K[j]
    if math.isfinite(m.stiffness[j]) and m.stiffness[j] != spring:
        out["stiffness"] = m.stiffness[j]
    if m.springs is not None and spring > 0.0:
        out["spring"] = {"stiffness": spring} | _unless_zero(rest=angle(m.springs.rest[j]))
    if m.mimic is not None and m.mimic.leader[j] != j:
        follow = {"joint": m.joint_names[m.mimic.leader[j]], "multiplier": m.mimic.multiplier[j]}
        out["mimic"] = follow | _unless_zero(offset=angle(m.mimic.offset[j]))
    if not (m.active[j] or m.elastic[j]):
        out["active"] = False
    if m.motors is not None and not math.isnan(m.motors.gear[j]):
        out["motor"] = _motor(m.motors, j)
    return out


def _motor(motors: Motors, j: int) -> Group:
    """The drive of joint j; its rotor's inertia and friction are among the joint's."""
    dac: Group = {"bits": motors.dac_bits[j], "range": [motors.dac_low[j], motors.dac_high[j]]}
    channel = {"gain": motors.dac_gain[j], "sign": motors.dac_sign[j], "offset": motors.dac_offset[j]}
    dac |= {key: value for key, value in channel.items() if value != (0.0 if key == "offset" else 1.0)}
    figures = {key: getattr(motors, field)[j] for key, (field, _, _) in MOTOR_FIGURES.items()}
    figures = {key: value for key, value in figures.items() if math.isfinite(value)}
    return {"gear_ratio": motors.gear[j]} | figures | {"dac": dac}


def _unless_zero(**values: object) -> Group:
    return {key: value for key, value in values.items() if value}


def _inertial(M: float, MS: Floats, J: Floats, N: Floats, notation: str) -> Group:
    """Inertial parameters in the frame N of a body, whose own frame they are given in."""
    if M == 0.0:
        return {}
    body = Inertial.from_standard_parameters(M, MS, J)
    body.inertia[np.abs(body.inertia) < ROUNDING * np.abs(J).max()] = 0.0
    if not np.array_equal(N, pose()):
        body = body.moved(inverse(N))
    about_origin = body.standard_parameters()
    largest = np.abs(body.inertia).max()
    khalil = notation == "mdh" or 0.0 < largest < SMALL_INERTIA * np.abs(about_origin[2]).max()
    mass_key, moment_key, inertia_key = KHALIL if khalil else ABOUT_COM
    _, moment, tensor = about_origin if khalil else body
    out: Group = {mass_key: M}
    if moment.any():
        out[moment_key] = moment.tolist()
    if tensor.any():
        entries = {name: 0.5 * float(tensor[a, b] + tensor[b, a]) for name, (a, b) in PRODUCTS.items()}
        least = 1e-16 * np.abs(tensor).max()
        out[inertia_key] = {name: x for name, x in entries.items() if name[0] == name[1] or abs(x) > least}
    return out


def _compliance(T: Floats, link: Compliance) -> Group:
    """`beam` of a link, or `compliance` where no beam makes it, in its described frame T (4, 4)."""
    tip, bar = inverse(T) @ pose(link.R, link.p), link.bar
    if bar is None or not math.isfinite(bar.section.shear_y + bar.section.shear_z):
        return {"compliance": _origin(tip) | {"matrix": link.C.tolist()}}
    R, p, s = tip[:3, :3], tip[:3, 3], bar.section
    out: Group = {"root": (R @ bar.at(np.zeros(1))[1][0] + p).tolist()}
    if bar.radius > 0.0:
        out |= {"centre": (p - bar.radius * R[:, 1]).tolist(), "axis": R[:, 2].tolist(), "arc": angle_value(bar.size)}
    else:
        out |= {"tip": p.tolist(), "up": R[:, 1].tolist()}
    section = {"A": s.A, "Ix": s.Ix, "Iy": s.Iy, "Iz": s.Iz, "shear": [s.shear_y, s.shear_z]}
    return {"beam": out | {"section": section, "E": bar.material.E, "G": bar.material.G}}


# springs between links, closed chains


def _spring_dampers(m: Mechanism) -> Group:
    def entry(each: SpringDamper) -> Group:
        ends = {"first": _on_link(m, each.first), "second": _on_link(m, each.second)}
        for end in ends.values():
            end.pop("rpy", None)
        acts = _unless_zero(stiffness=each.stiffness, rest_length=each.rest, damping=each.damping)
        return {"name": each.name} | ends | acts

    return {"spring_dampers": [entry(each) for each in m.spring_dampers]} if m.spring_dampers else {}


def _loop(m: Mechanism, loop: Loop) -> Group:
    out: Group = {"name": loop.name, "kind": loop.kind}
    out |= {"first": _on_link(m, loop.first), "second": _on_link(m, loop.second)}
    for key, acts in {"turning": loop.turning, "sliding": loop.sliding}.items():
        if acts is not None:
            rest = angle_value(acts.rest) if key == "turning" else acts.rest
            out[key] = _unless_zero(viscous=acts.Fv, coulomb=acts.Fs, stiffness=acts.K, rest=rest)
    return out


def _closed_chains(m: Mechanism) -> Group:
    """The entries `loops`, `assembly` and `platform`, none where no chain is closed."""
    if not m.loops:
        return {}
    out: Group = {"loops": [_loop(m, loop) for loop in m.loops]}
    if m.assembly is not None:
        out["assembly"] = {
            name: float(q) if kind == PRISMATIC else angle_value(q)
            for name, kind, q in zip(m.joint_names, m.joint_type, m.assembly, strict=True)
        }
    if m.platform is not None:
        out["platform"] = _link(m, m.platform)
    return out


# refusals and names


def _check(m: Mechanism) -> None:
    """Refuse what the YAML has no words for."""
    for j, name in enumerate(m.joint_names):
        low, high = m.position_limits[j]
        if np.isfinite([low, high]).any() and not (np.isfinite([low, high]).all() and low < high):
            raise DescriptionError(
                f"{m.name}: the position limits of joint '{name}' are {low:g} to {high:g}, but a robot YAML has either"
                " both with the lower below the upper, or none; correct them where they come from"
            )
        for what, limit in {"velocity": m.velocity_limits[j], "effort": m.effort_limits[j]}.items():
            if not limit > 0.0:
                raise DescriptionError(
                    f"{m.name}: the {what} limit of joint '{name}' is {limit:g}, but in a robot YAML it is above"
                    " 0, or not given; correct it where it comes from"
                )
        if m.elastic[j] and math.isinf(m.stiffness[j]):
            raise DescriptionError(
                f"{m.name}: joint '{name}' has a spring, but an infinite stiffness, which a robot YAML cannot say;"
                " give it the spring's"
            )


def _renamed(m: Mechanism, notes: list[str]) -> tuple[Mechanism, dict[str, str]]:
    """The mechanism with names that the YAML can have, and those of frames that are new; a note says which."""

    def rename(old: str, taken: set[str], what: str) -> str:
        new = re.sub(r"[^A-Za-z0-9_]", "_", old)[:90]
        new = new if NAME.fullmatch(new) else f"n{new}"
        new = _unused(new, taken)
        if new != old:
            notes.append(f"the {what} '{old}' is called '{new}' here")
        return new

    name = rename(m.name, set(), "robot")
    joints: set[str] = set()
    joint_names = tuple(rename(joint, joints, "joint") for joint in m.joint_names)
    links = {"tool", "base"}
    base = m.base
    if base is not None and base.name != "base":
        base = dataclasses.replace(base, name=rename(base.name, links, "base"))
    others = m.frames[:-1] if m.frames[-1].name == "tool" else m.frames
    described = [frame for frame in others if not is_base_frame(m, frame)]
    frames = [dataclasses.replace(frame, name=rename(frame.name, links, "frame")) for frame in described]
    names = {old.name: new.name for old, new in zip(described, frames, strict=True) if old.name != new.name}
    bodies = tuple(frame.name for frame in frames[: m.n])
    frames.append(dataclasses.replace(m.frame("tool"), name="tool"))
    loops: set[str] = set()
    cuts = tuple(dataclasses.replace(loop, name=rename(loop.name, loops, "loop")) for loop in m.loops)
    springs: set[str] = set()
    between = tuple(dataclasses.replace(each, name=rename(each.name, springs, "spring")) for each in m.spring_dampers)
    new = dataclasses.replace(
        m, name=name, joint_names=joint_names, body_names=bodies, frames=tuple(frames), base=base, loops=cuts,
        spring_dampers=between,
    )  # fmt: skip
    return new, names


def is_base_frame(m: Mechanism, frame: Frame) -> bool:
    """Whether a frame is the base's own, which the YAML has without saying."""
    own = frame.name == "base" or (m.base is not None and frame.name == m.base.name)
    return own and frame.is_base


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken; it is taken from then on."""
    new, count = name, 1
    while new in taken:
        count += 1
        new = f"{name}_{count}"
    taken.add(new)
    return new


def _link(m: Mechanism, body: int, tip: int = OWN_LINK) -> str:
    if tip != OWN_LINK:
        return _fixed_link(m, tip).name
    if body == WORLD:
        return "base" if m.base is None else "world"
    return m.body_names[body] if body != BASE else "base" if m.base is None else m.base.name


def _fixed_link(m: Mechanism, tip: int) -> Frame:
    """The described frame of the link on a fixed joint that has this compliance."""
    for frame in m.frames[m.n : -1]:
        if frame.tip == tip:
            return frame
    raise DescriptionError(f"{m.name}: a link on a fixed joint has a compliance, but no name: it cannot be written")


def _on_link(m: Mechanism, frame: Frame) -> Group:
    """link, xyz and rpy of a frame in the described frame of the link that carries it."""
    on = pose() if frame.body in (BASE, WORLD) else m.frames[frame.body].T
    if frame.tip != OWN_LINK:
        on = _fixed_link(m, frame.tip).T
    return {"link": _link(m, frame.body, frame.tip)} | _origin(inverse(on) @ frame.T)


# frames


def _rows(rows: list[Row]) -> Group | list[Group]:
    """One row, or a list of rows; what is zero is left out."""
    groups: list[Group] = [
        {key: angle_value(rounded_angle(x)) if key in ANGLES else rounded(x) for key, x in row.items()} for row in rows
    ]
    groups = [_unless_zero(**group) for group in groups]
    return groups[0] if len(groups) == 1 else groups


def _origin(T: Floats) -> Group:
    """xyz and rpy, what is zero left out."""
    xyz = [rounded(x) for x in T[:3, 3]]
    rpy = [angle_value(rounded_angle(x)) for x in rpy_from_rotation(T[:3, :3])]
    return ({"xyz": xyz} if any(xyz) else {}) | ({"rpy": rpy} if any(rpy) else {})
