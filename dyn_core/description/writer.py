"""Mechanism to robot YAML in a chosen notation: standard or modified Denavit-Hartenberg rows, or origin and axis.

A notation gives each link a frame N_j of its own, in which its inertial parameters and the joints that it carries are
written; where that is not the link's described frame, the key `frame` of the link says where the described one is. So
every frame keeps its name and its place, and every joint its zero position, whatever the notation can express.

A line in space has four parameters: the common normal from z to it (Rz, Tz, then Tx, Rx) is a row of standard
parameters, and the first four of a modified row. Where z and the line are all but parallel the common normal is far
away and uncertain; a quarter turn as a row of its own goes before.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import DescriptionError, InputError
from ..mechanism import BASE, PRISMATIC, Floats, Frame, Mechanism
from .document import NAME
from .notation import modified_transform, standard_transform
from .pose import inertia_about_origin, pose, rpy_from_rotation
from .robot_file import PRODUCTS, ROUNDING, Inertial

PARALLEL = 1e-12  # sine of an angle below which two axes count as parallel
CERTAIN = 1e-4  # and above which their common normal is certain enough
NEAR = 0.05  # and above which it is near enough to carry a link's frame
TIDY = 1e-13  # m or rad: below this a figure is rounding
SMALL_INERTIA = 1e-6  # part of J below which the inertia about the centre of mass is written as J

Row = dict[str, float]
ANGLES = ("theta", "alpha", "gamma")


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
    place = WRITERS[notation]
    lines = [f"# {note}" for note in notes]
    lines.append(f"name: {m.name}")
    if m.description:
        lines.append(f"description: {_text(m.description)}")
    if sources:
        lines.append("sources:")
        lines += [f"  - {_text(source)}" for source in sources]
    lines.append(f"gravity: {_list(m.gravity)}")
    if m.base is not None:
        body = _inertial(m.base.M, m.base.MS, m.base.J, pose(), notation)
        lines.append(f"base: {_flow({'type': 'floating', 'name': m.base.name} | body)}")
    notated = _frames_of_notation(m, notation)
    tool = m.frames[-1]
    on = pose() if tool.body == BASE else _pose(m.frames[tool.body])
    lines.append(f"tool: {_flow({'link': _link(m, tool.body)} | _origin(_inverse(on) @ _pose(tool)))}")
    lines.append("joints:")
    for j in range(m.n):
        before = pose() if m.parent[j] == BASE else notated[m.parent[j]]
        axis = _inverse(before) @ pose(m.R[j], m.p[j])
        kind = "prismatic" if m.joint_type[j] == PRISMATIC else "revolute"
        lines += _entry(m.joint_names[j], kind, _link(m, int(m.parent[j])), place(axis, notated[j]))
        lines += [f"    {key}: {value}" for key, value in _motion(m, j, notation).items()]
        lines += _motor(m, j)
        frame = _inverse(notated[j]) @ _pose(m.frames[j])
        link: dict[str, object] = {"name": m.body_names[j]}
        link |= _inertial(float(m.M[j]), m.MS[j], m.J[j], notated[j], notation)
        if shift := _origin(frame):
            link["frame"] = _flow(shift)
        for beam in m.beams:
            if beam.body == j:
                link["flexible"] = _flow({"E": beam.E, "I": beam.I, "modes": beam.modes})
        on = _inverse(_pose(m.frames[j]))
        for each in m.compliances:
            if each.body == j:
                rows = f"[{', '.join(_list(row) for row in each.C)}]"
                link["compliance"] = _flow(_origin(on @ pose(each.R, each.p)) | {"matrix": rows})
        lines += ["    link:", *(f"      {key}: {value}" for key, value in link.items())]
    joints = set(m.joint_names)
    for extra in m.frames[m.n : -1]:
        before = pose() if extra.body == BASE else notated[extra.body]
        name = _unused(f"{extra.name}_fixed", joints)
        there = _inverse(before) @ _pose(extra)
        lines += _entry(name, "fixed", _link(m, extra.body), place(there, pose()))
        lines.append(f"    link: {_flow({'name': extra.name})}")
    lines += _closed_chains(m)
    return Written("\n".join(lines) + "\n", notes, names)


# frames and rows


def _frames_of_notation(m: Mechanism, notation: str) -> list[Floats]:
    """N_j in body frame j. The described frame where the notation can have it there, for it needs no `frame` then."""
    frames = []
    for j in range(m.n):
        described = _pose(m.frames[j])
        children = [pose(m.R[k], m.p[k]) for k in range(m.n) if m.parent[k] == j]
        if notation == "origin":
            on_axis = m.joint_type[j] == PRISMATIC or np.abs(described[:2, 3]).max() < TIDY
            frames.append(described if on_axis else pose())
        elif notation == "mdh":
            frames.append(described if _same_line(described) else _towards_child(children)[0])
        else:
            reaches_child = not children or any(_same_line(_inverse(described) @ child) for child in children)
            frames.append(described if reaches_child and _is_row(described) else _towards_child(children)[1])
    return frames


def _towards_child(children: list[Floats]) -> tuple[Floats, Floats]:
    """Two frames by the common normal from a body's z to its first child's axis: x along it, on either axis."""
    row = _common_normal(children[0], NEAR) if children else None
    if row is None:
        return pose(), pose()
    gamma, b, alpha, d = row
    return modified_transform(gamma, b, 0.0, 0.0, 0.0, 0.0), standard_transform(gamma, b, d, alpha)


def _common_normal(T: Floats, certain: float = CERTAIN) -> tuple[float, float, float, float] | None:
    """gamma, b, alpha, d of the frame Rz(gamma) Tz(b) Rx(alpha) Tx(d) whose z is that of T; None where uncertain."""
    (ux, uy, uz), (px, py, pz) = T[:3, 2], T[:3, 3]
    sine = math.hypot(ux, uy)
    if sine < PARALLEL:
        d = math.hypot(px, py)
        gamma = math.atan2(py, px) if d > TIDY else 0.0
        return gamma, 0.0, 0.0 if uz > 0.0 else math.pi, d
    if sine < certain:
        return None
    # x along z cross u; the point of the line nearest to z is r before T's origin
    d = (ux * py - uy * px) / sine
    r = (px * ux + py * uy) / sine**2
    gamma, alpha, b = math.atan2(ux, -uy), math.atan2(sine, uz), pz - r * uz
    turned_back = abs(d) <= TIDY and not -math.pi / 2 - TIDY < gamma < math.pi / 2 + TIDY
    if d < -TIDY or turned_back:
        gamma, alpha, d = gamma - math.copysign(math.pi, gamma), -alpha, -d
    return gamma, b, alpha, d


def _same_line(T: Floats) -> bool:
    """Whether T has its z on that of the frame in which it stands, in the same direction."""
    return bool(np.abs(T[:2, 2]).max() < PARALLEL and T[2, 2] > 0.0 and np.abs(T[:2, 3]).max() < TIDY)


def _is_row(T: Floats) -> bool:
    """Whether T is Rz Tz Tx Rx: its x crosses z at a right angle."""
    across = T[0, 0] * T[1, 3] - T[1, 0] * T[0, 3]
    return bool(abs(T[2, 0]) < PARALLEL and abs(across) < TIDY)


def _standard(axis: Floats, N: Floats) -> str:
    """Rows of standard parameters; the last one moves about or along z of the axis' frame and ends in N."""
    rows: list[Row] = []
    if not _same_line(axis):
        rows, axis = _to_line(axis, _standard_row)
    T = axis @ N
    theta, alpha = math.atan2(T[1, 0], T[0, 0]), math.atan2(T[2, 1], T[2, 2])
    a = T[0, 3] * math.cos(theta) + T[1, 3] * math.sin(theta)
    rows.append({"theta": theta, "d": float(T[2, 3]), "a": a, "alpha": alpha})
    return f"dh: {_rows(rows)}"


def _modified(axis: Floats, N: Floats) -> str:
    """Rows of modified parameters, the last of which ends in N on the joint's axis."""
    rows, T = _to_line(axis @ N, _modified_row)
    rows[-1] |= {"theta": math.atan2(T[1, 0], T[0, 0]), "r": float(T[2, 3])}
    return f"mdh: {_rows(rows)}"


def _to_line(T: Floats, row: Callable[..., tuple[Row, Floats]]) -> tuple[list[Row], Floats]:
    """Rows from a frame to one with its z on that of T, and T in the latter frame."""
    normal = _common_normal(T)
    if normal is None:
        quarter, turn = row(0.0, 0.0, math.pi / 2, 0.0)
        rows, rest = _to_line(_inverse(turn) @ T, row)
        return [quarter, *rows], rest
    one, reached = row(*normal)
    return [one], _inverse(reached) @ T


def _standard_row(gamma: float, b: float, alpha: float, d: float) -> tuple[Row, Floats]:
    return {"theta": gamma, "d": b, "a": d, "alpha": alpha}, standard_transform(gamma, b, d, alpha)


def _modified_row(gamma: float, b: float, alpha: float, d: float) -> tuple[Row, Floats]:
    return {"gamma": gamma, "b": b, "alpha": alpha, "d": d}, modified_transform(gamma, b, alpha, d, 0.0, 0.0)


def _origin_and_axis(axis: Floats, N: Floats) -> str:
    """origin, and the joint's axis in N where it is not z."""
    text = f"origin: {_flow(_origin(axis @ N))}"
    if np.abs(N[2, :2]).max() < PARALLEL and N[2, 2] > 0.0:
        return text
    return f"{text}\n    axis: {_list(_tidy(x) for x in N[2, :3])}"


WRITERS: dict[str, Callable[[Floats, Floats], str]] = {
    "dh": _standard,
    "mdh": _modified,
    "origin": _origin_and_axis,
}


# what moves, what weighs


def _motion(m: Mechanism, j: int, notation: str) -> dict[str, str]:
    """Limits, friction, stiffness, spring and motor of joint j."""
    out: dict[str, str] = {}
    angle = _number if m.joint_type[j] == PRISMATIC else _angle
    limits: dict[str, object] = {}
    if np.isfinite(m.position_limits[j]).all():
        limits["position"] = "[{}, {}]".format(*(angle(x) for x in m.position_limits[j]))
    for key, value in {"velocity": m.velocity_limits[j], "effort": m.effort_limits[j]}.items():
        if math.isfinite(value):
            limits[key] = value
    if limits:
        out["limits"] = _flow(limits)
    Ia, Fv, Fs = float(m.Ia[j]), float(m.Fv[j]), float(m.Fs[j])
    if notation == "mdh":
        out |= {key: _number(value) for key, value in {"Ia": Ia, "Fv": Fv, "Fs": Fs}.items() if value}
    else:
        friction = {key: value for key, value in {"viscous": Fv, "coulomb": Fs}.items() if value}
        out |= {"friction": _flow(friction)} if friction else {}
        out |= {"rotor_inertia": _number(Ia)} if Ia else {}
    spring = 0.0 if m.springs is None else float(m.springs.K[j])
    if math.isfinite(m.stiffness[j]) and m.stiffness[j] != spring:
        out["stiffness"] = _number(m.stiffness[j])
    if m.springs is not None and spring > 0.0:
        rest = {"rest": angle(m.springs.rest[j])} if m.springs.rest[j] else {}
        out["spring"] = _flow({"stiffness": _number(spring)} | rest)
    if m.mimic is not None and m.mimic.leader[j] != j:
        follow = {"joint": m.joint_names[m.mimic.leader[j]], "multiplier": _number(m.mimic.multiplier[j])}
        out["mimic"] = _flow(follow | ({"offset": angle(m.mimic.offset[j])} if m.mimic.offset[j] else {}))
    if not (m.active[j] or m.elastic[j]):
        out["active"] = "false"
    return out


def _motor(m: Mechanism, j: int) -> list[str]:
    """The drive of joint j, if any; its rotor's inertia and friction are among the joint's."""
    motors = m.motors
    if motors is None or math.isnan(motors.gear[j]):
        return []
    motor = {
        "gear_ratio": motors.gear[j],
        "torque_constant": motors.Kt[j],
        "resistance": motors.resistance[j],
        "current_limit": motors.current_limit[j],
        "voltage_limit": motors.voltage_limit[j],
    }
    dac: dict[str, object] = {
        "bits": motors.dac_bits[j],
        "range": f"[{_number(motors.dac_low[j])}, {_number(motors.dac_high[j])}]",
    }
    channel = {"gain": motors.dac_gain[j], "sign": motors.dac_sign[j], "offset": motors.dac_offset[j]}
    dac |= {key: value for key, value in channel.items() if value != (0.0 if key == "offset" else 1.0)}
    lines = [f"{key}: {_number(value)}" for key, value in motor.items() if math.isfinite(value)]
    return ["    motor:", *(f"      {line}" for line in lines), f"      dac: {_flow(dac)}"]


def _inertial(M: float, MS: Floats, J: Floats, N: Floats, notation: str) -> dict[str, object]:
    """Inertial parameters in the frame N of a body, whose own frame they are given in."""
    if M == 0.0:
        return {}
    com = MS / M
    about_com = J - inertia_about_origin(np.zeros((3, 3)), M, com)
    about_com[np.abs(about_com) < ROUNDING * np.abs(J).max()] = 0.0
    R, p = N[:3, :3], N[:3, 3]
    if not np.array_equal(N, pose()):
        com, about_com = R.T @ (com - p), R.T @ about_com @ R
    body = Inertial(M, com, about_com)
    about_origin = inertia_about_origin(body.inertia, M, com)
    if notation == "mdh" or 0.0 < np.abs(about_com).max() < SMALL_INERTIA * np.abs(about_origin).max():
        return {"M": _number(M)} | _unless_zero("MS", M * com) | _tensor("J", about_origin)
    return {"mass": _number(M)} | _unless_zero("com", com) | _tensor("inertia", about_com)


def _unless_zero(key: str, values: Floats) -> dict[str, object]:
    return {key: _list(values)} if values.any() else {}


def _tensor(key: str, tensor: Floats) -> dict[str, object]:
    """xx, yy, zz and the products that are not zero."""
    if not tensor.any():
        return {}
    largest = np.abs(tensor).max()
    entries: dict[str, object] = {}
    for name in PRODUCTS:
        a, b = ("xyz".index(letter) for letter in name)
        value = 0.5 * float(tensor[a, b] + tensor[b, a])
        if a == b or abs(value) > 1e-16 * largest:
            entries[name] = value
    return {key: _flow(entries)}


# closed chains


def _closed_chains(m: Mechanism) -> list[str]:
    """The entries `loops`, `assembly` and `platform`, none where no chain is closed."""
    if not m.loops:
        return []
    lines = ["loops:"]
    for loop in m.loops:
        lines += [f"  - name: {loop.name}", f"    kind: {loop.kind}"]
        for key, frame in {"first": loop.first, "second": loop.second}.items():
            on = pose() if frame.body == BASE else _pose(m.frames[frame.body])
            there = _origin(_inverse(on) @ _pose(frame))
            lines.append(f"    {key}: {_flow({'link': _link(m, frame.body)} | there)}")
    if m.assembly is not None:
        texts = {
            name: _number(q) if kind == PRISMATIC else _angle(q)
            for name, kind, q in zip(m.joint_names, m.joint_type, m.assembly, strict=True)
        }
        lines.append(f"assembly: {_flow(texts)}")
    if m.platform is not None:
        lines.append(f"platform: {_link(m, m.platform)}")
    return lines


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
    frames = [
        dataclasses.replace(frame, name=rename(frame.name, links, "frame"))
        for frame in others
        if not is_base_frame(m, frame)
    ]
    kept = (frame.name for frame in others if not is_base_frame(m, frame))
    names = {old: frame.name for old, frame in zip(kept, frames, strict=True) if old != frame.name}
    bodies = tuple(frame.name for frame in frames[: m.n])
    frames.append(dataclasses.replace(m.frame("tool"), name="tool"))
    loops: set[str] = set()
    cuts = tuple(dataclasses.replace(loop, name=rename(loop.name, loops, "loop")) for loop in m.loops)
    new = dataclasses.replace(
        m, name=name, joint_names=joint_names, body_names=bodies, frames=tuple(frames), base=base, loops=cuts
    )
    return new, names


def is_base_frame(m: Mechanism, frame: Frame) -> bool:
    """Whether a frame is the base's own, which the YAML has without saying."""
    own = frame.name == "base" or (m.base is not None and frame.name == m.base.name)
    return own and frame.body == BASE and bool(np.array_equal(_pose(frame), pose()))


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken; it is taken from then on."""
    new, count = name, 1
    while new in taken:
        count += 1
        new = f"{name}_{count}"
    taken.add(new)
    return new


def _link(m: Mechanism, body: int) -> str:
    return m.body_names[body] if body != BASE else "base" if m.base is None else m.base.name


# text


def _entry(name: str, kind: str, parent: str, placement: str) -> list[str]:
    return [f"  - name: {name}", f"    type: {kind}", f"    parent: {parent}", f"    {placement}"]


def _rows(rows: list[Row]) -> str:
    """One row, or a list of rows; what is zero is left out."""
    texts = []
    for row in rows:
        tidy = {key: _tidy_angle(value) if key in ANGLES else _tidy(value) for key, value in row.items()}
        texts.append(_flow({key: _angle(x) if key in ANGLES else x for key, x in tidy.items() if x}))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _origin(T: Floats) -> dict[str, object]:
    """xyz and rpy, what is zero left out."""
    xyz = [_tidy(x) for x in T[:3, 3]]
    rpy = [_tidy_angle(x) for x in rpy_from_rotation(T[:3, :3])]
    out: dict[str, object] = {}
    if any(xyz):
        out["xyz"] = _list(xyz)
    if any(rpy):
        out["rpy"] = f"[{', '.join(_angle(x) for x in rpy)}]"
    return out


def _tidy(x: float) -> float:
    """A length without its rounding: 0 for next to nothing, 0.4 for 0.39999999999999997."""
    return float(near) if abs((near := round(float(x), 12)) - x) < 2e-16 * max(1.0, abs(x)) else float(x)


def _tidy_angle(x: float) -> float:
    return math.radians(near) if abs(math.radians(near := round(math.degrees(x), 9)) - x) < 4e-16 else float(x)


def _angle(x: float) -> str:
    """Degrees where they are round and give the same number, else rad."""
    degrees = round(math.degrees(x), 9)
    return f"{_number(degrees)} deg" if x and math.radians(degrees) == x else _number(x)


def _number(x: object) -> str:
    """The shortest text that reads back as the same number."""
    return repr(float(str(x)) + 0.0).removesuffix(".0")


def _value(x: object) -> str:
    return x if isinstance(x, str) else _number(x)


def _list(values: Iterable[float]) -> str:
    return f"[{', '.join(_number(x) for x in values)}]"


def _flow(values: Mapping[str, object]) -> str:
    return "{" + ", ".join(f"{key}: {_value(value)}" for key, value in values.items()) + "}"


def _text(text: str) -> str:
    return json.dumps(" ".join(text.split()), ensure_ascii=False)


def _pose(frame: Frame) -> Floats:
    return pose(frame.R, frame.p)


def _inverse(T: Floats) -> Floats:
    R = T[:3, :3]
    return pose(R.T, -R.T @ T[:3, 3])
