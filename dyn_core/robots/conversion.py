"""One description into another: the same robot by another notation, checked before anything is written."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

import numpy as np

from dyn_core.actuation.motor_sizing import with_assumed_motors
from dyn_core.arrays import Floats
from dyn_core.description import XML_SUFFIXES, load_mechanism, read_xml_robot, robot_files
from dyn_core.description.mjcf.writer import beyond_mjcf, to_mjcf
from dyn_core.description.robot_yaml.reader import sources
from dyn_core.description.robot_yaml.writer import WRITERS, is_base_frame, write_yaml
from dyn_core.description.urdf.extension import extended_urdf
from dyn_core.description.urdf.writer import beyond_urdf
from dyn_core.errors import DescriptionError, DescriptionWarning, InputError, UnknownRobotError
from dyn_core.files import open_file, write_whole
from dyn_core.mechanism import BASE, WORLD, Compliance, Frame, Mechanism

from .load import robot_of
from .robot import Robot

XML = {"urdf": ".urdf", "mjcf": ".xml"}
NOTATIONS = (*WRITERS, *XML)
TOLERANCE = 1e-9
"""Of forces (relative) and poses (m, 1) that two descriptions of one robot may differ by."""
STATES = 5


@dataclass(frozen=True)
class Conversion:
    """A robot in another notation."""

    text: str
    notes: list[str]
    """What there is to say about it, one sentence each."""


def convert(
    source: str | Path,
    target: Path,
    notation: str,
    floating: bool = False,
    force: bool = False,
    add_motors: bool = False,
) -> Conversion:
    """Write the robot `source` (a name or a file) to `target` in a notation, whole or not at all.

    The text is read back and must be the same robot: joints, limits, motors, forces, and the places of all frames.
    floating: the base of a URDF moves freely. force: the target may exist. add_motors: driven joints without a motor
    get one with assumed figures, which the robot YAML says under `sources`.
    """
    if notation not in NOTATIONS:
        raise InputError(f"no notation '{notation}'; there are {', '.join(NOTATIONS)}")
    target = Path(target)
    if target.exists() and not force:
        raise InputError(f"{target} exists already; --force writes over it")
    path = _file(source)
    mechanism = read(path, floating)
    assumed = ""
    if add_motors:
        mechanism, joints = with_assumed_motors(mechanism)
        if not joints:
            raise InputError(f"{source}: every driven joint has a motor already")
        assumed = f"assumed, sized by effort and speed limits, edit them: the motors of {', '.join(joints)}"
    names: dict[str, str] = {}
    if notation == "mjcf":
        unseen = beyond_mjcf(mechanism)
        text = to_mjcf(mechanism)
        notes = [f"MJCF has no place for {', '.join(unseen)}; they are left out"] if unseen else []
    elif notation == "urdf":
        if mechanism.spherical is not None:
            raise DescriptionError(f"{source} is a spherical robot, which URDF cannot say; a robot YAML or MJCF can")
        unseen = beyond_urdf(mechanism)
        text = extended_urdf(mechanism)
        notes = [f"URDF has no place for {', '.join(unseen)}; the element <dyn_robot> keeps them"] if unseen else []
    else:
        known = [] if _is_xml(path) else sources(path)
        text, notes, names = write_yaml(mechanism, notation, [*known, assumed] if assumed else known)
    if assumed:
        notes = [*notes, assumed]
    try:
        with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
            draft = Path(folder) / (target.stem + XML.get(notation, ".yaml"))
            draft.write_text(text, encoding="utf-8")
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DescriptionWarning)  # which the source has given
                    found = read(draft)
                    difference = (
                        motion_differs(mechanism, found) if notation == "mjcf" else differences(mechanism, found, names)
                    )
            except DescriptionError as error:
                what = str(error).removeprefix(f"{draft}:")
                raise DescriptionError(f"{source} cannot be written by {notation}, at line {what}") from error
            if difference:
                raise DescriptionError(f"{source} cannot be written by {notation} without a change: {difference}")
        write_whole(target, text)
    except OSError as error:
        raise InputError(f"{target} cannot be written ({error.strerror or error})") from error
    return Conversion(text, notes)


def read(path: Path, floating: bool = False) -> Mechanism:
    """The mechanism of a robot YAML, URDF, MJCF or SDF file."""
    if _is_xml(path):
        return read_xml_robot(path, floating)
    if floating:
        raise InputError(
            f"{path} is a robot YAML, which says itself whether its base floats: `base: {{type: floating}}`"
        )
    return load_mechanism(path)


def differences(a: Mechanism, b: Mechanism, names: Mapping[str, str] | None = None) -> str:
    """In what two descriptions are not the same robot, in words; empty where they are.

    names: frames of a that have other names in b.
    """
    if difference := _part(a, b, "mimic") or _closed_chains(a, b) or _spring_dampers(a, b):
        return difference
    if a.beams != b.beams:
        return "other links are flexible"
    if difference := _compliances(a, b):
        return difference
    if a.platform != b.platform:
        return "another link is the platform"
    if a.n != b.n:
        return f"{a.n} joints became {b.n}"
    wanted = {(names or {}).get(frame.name, frame.name): frame for frame in a.frames if not is_base_frame(a, frame)}
    wanted["tool"] = a.frame("tool")
    found = {frame.name: frame for frame in b.frames}
    if lost := wanted.keys() - found.keys():
        return f"frames lost: {', '.join(sorted(lost))}"
    if new := {name for name in found.keys() - wanted.keys() if not is_base_frame(b, found[name])}:
        return f"frames new: {', '.join(sorted(new))}"
    for what in ("parent", "joint_type", "Ia", "Fv", "Fs", "stiffness", "gravity"):
        if not np.allclose(getattr(a, what), getattr(b, what), rtol=1e-12, atol=0.0):
            return f"{what} differs"
    for what in ("position_limits", "velocity_limits", "effort_limits"):
        if not np.allclose(getattr(a, what), getattr(b, what), rtol=1e-12, atol=1e-15):
            return f"{what.replace('_', ' ')} differ"
    if not (np.array_equal(a.elastic, b.elastic) and np.array_equal(a.active & ~a.elastic, b.active & ~b.elastic)):
        return "other joints are driven"
    for part in ("motors", "springs", "base"):
        if difference := _part(a, b, part):
            return difference
    return _behaviour(
        robot_of(_open(a, [replace(wanted[name], name=name) for name in wanted])),
        robot_of(_open(b, [found[name] for name in wanted])),
    )


def motion_differs(a: Mechanism, b: Mechanism) -> str:
    """In what two descriptions with joints of the same names do not move alike, in words; empty where they do.

    The bodies between, and which cut joints close the loops, may differ.
    """
    if set(a.joint_names) != set(b.joint_names):
        return "other joints"
    plain = replace(a, platform=None, spherical=None, beams=(), compliances=(), motors=None)
    one, other = robot_of(plain), robot_of(b)
    if one.joint_names != other.joint_names and set(one.joint_names) != set(other.joint_names):
        return "other joints are driven"
    order = [one.joint_names.index(name) for name in other.joint_names]
    first = one.nv - one.n
    rng = np.random.default_rng(0)
    q = np.array(one.neutral())
    for _ in range(STATES):
        moved, (qd, qdd) = q.copy(), rng.normal(size=(2, one.nv))
        moved[one.nq - one.n :] += 0.02 * rng.normal(size=one.n)
        positions = np.concatenate([moved[: one.nq - one.n], moved[one.nq - one.n :][order]])
        rates, rates2 = (np.concatenate([x[:first], x[first:][order]]) for x in (qd, qdd))
        expected = one.inverse_dynamics(moved, qd, qdd)
        expected = np.concatenate([expected[:first], expected[first:][order]])
        error = _relative(expected, other.inverse_dynamics(positions, rates, rates2))
        if error > TOLERANCE:
            return f"forces differ by {error:.2g} of the largest"
    return ""


def _open(m: Mechanism, frames: list[Frame]) -> Mechanism:
    """All joints independent, chains open, with these frames."""
    return replace(
        m, frames=tuple(frames), mimic=None, loops=(), assembly=None, beams=(), compliances=(), spherical=None,
        platform=None,
    )  # fmt: skip


def _part(a: Mechanism, b: Mechanism, part: str) -> str:
    """Compares the numbers of motors, springs, base or mimic."""
    one, other = getattr(a, part), getattr(b, part)
    if (one is None) != (other is None):
        return f"{part}: {'lost' if other is None else 'new'}"
    for field in () if one is None else fields(one):
        x, y = getattr(one, field.name), getattr(other, field.name)
        if field.name == "name":
            continue
        scale = float(np.max(np.abs(x), initial=0.0, where=np.isfinite(x)))
        if not np.allclose(x, y, rtol=1e-9, atol=1e-12 * scale, equal_nan=True):
            return f"{field.name} of {part} differs"
    return ""


def _closed_chains(a: Mechanism, b: Mechanism) -> str:
    """Compares cut joints, their frames (up to 1e-9 m, 1), and the assembly."""
    if [loop.kind for loop in a.loops] != [loop.kind for loop in b.loops]:
        return "other chains are closed"
    for one, other in zip(a.loops, b.loops, strict=True):
        for x, y in ((one.first, other.first), (one.second, other.second)):
            if x.body != y.body or np.abs(_on_link(a, x) - _on_link(b, y)).max() > TOLERANCE:
                return f"a frame of loop {one.name} differs"
        acts = [(loop.turning, loop.sliding) for loop in (one, other)]
        for each, its in zip(*acts, strict=True):
            mine, theirs = (() if forces is None else astuple(forces) for forces in (each, its))
            if len(mine) != len(theirs) or not np.allclose(mine, theirs, rtol=1e-12, atol=1e-15):
                return f"what acts in loop {one.name} differs"
    start, end = (np.zeros(m.n) if m.assembly is None else m.assembly for m in (a, b))
    return "" if np.allclose(start, end, rtol=1e-12, atol=1e-15) else "assembly differs"


def _spring_dampers(a: Mechanism, b: Mechanism) -> str:
    """Compares springs and dampers between links, the places of their ends up to 1e-9 m."""
    if len(a.spring_dampers) != len(b.spring_dampers):
        return "springs between links are lost"
    for one, other in zip(a.spring_dampers, b.spring_dampers, strict=True):
        for x, y in ((one.first, other.first), (one.second, other.second)):
            if x.body != y.body or np.abs(_on_link(a, x) - _on_link(b, y))[:, 3].max() > TOLERANCE:
                return f"an end of the spring {one.name} differs"
        acts = [(each.stiffness, each.rest, each.damping) for each in (one, other)]
        if not np.allclose(acts[0], acts[1], rtol=1e-12, atol=0.0):
            return f"the spring {one.name} differs"
    return ""


def _compliances(a: Mechanism, b: Mechanism) -> str:
    """Compares how links give way: the tips' frames on their links, and the matrices."""
    ones, others = (sorted(m.compliances, key=_link_key) for m in (a, b))
    if [_link_key(each) for each in ones] != [_link_key(each) for each in others]:
        return "other links give way"
    for one, other in zip(ones, others, strict=True):
        tips = np.abs(_on_link(a, one) - _on_link(b, other)).max()
        if tips > TOLERANCE or not np.allclose(one.C, other.C, rtol=1e-9, atol=1e-12 * np.abs(one.C).max()):
            return f"the compliance of {'base' if one.body == BASE else a.body_names[one.body]} differs"
        if (one.bar is None) != (other.bar is None):
            return f"the beam of {'base' if one.body == BASE else a.body_names[one.body]} is lost"
    return ""


def _link_key(link: Compliance) -> tuple[int, bool]:
    return link.body, link.on is not None


def _on_link(m: Mechanism, frame: Frame | Compliance) -> Floats:
    """(3, 4) a frame on a body, in the body's described frame, which is the same in every notation."""
    if frame.body in (BASE, WORLD):
        return np.column_stack([frame.R, frame.p])
    link = m.frames[frame.body]
    return np.column_stack([link.R.T @ frame.R, link.R.T @ (frame.p - link.p)])


def _behaviour(a: Robot, b: Robot) -> str:
    """Compares forces and poses in a few states."""
    rng = np.random.default_rng(0)
    q, (qd, qdd) = np.tile(a.neutral(), (STATES, 1)), rng.normal(size=(2, STATES, a.nv))
    q[:, a.nq - a.n :] += rng.normal(size=(STATES, a.n))
    if a.nq != a.n:
        q[:, :7] = rng.normal(size=(STATES, 7))
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    error = _relative(a.inverse_dynamics(q, qd, qdd), b.inverse_dynamics(q, qd, qdd))
    if error > TOLERANCE:
        return f"forces differ by {error:.2g} of the largest"
    error = _relative(a.link_poses(q), b.link_poses(q))
    return f"frames differ by {error:.2g}" if error > TOLERANCE else ""


def _relative(x: Floats, y: Floats) -> float:
    return float(np.abs(x - y).max() / max(1.0, np.abs(x).max()))


def _file(source: str | Path) -> Path:
    files = robot_files()
    if str(source) in files:
        return files[str(source)]
    if not Path(source).is_file():
        raise UnknownRobotError(f"no robot '{source}': it is neither a file nor one of {', '.join(files)}")
    return Path(source)


def _is_xml(path: Path) -> bool:
    """XML by its ending or by its first character."""
    if path.suffix in XML_SUFFIXES:
        return True
    try:
        with open_file(path) as file:
            return file.read(200).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<")
    except OSError as error:
        raise DescriptionError(f"{path}: cannot be read ({error.strerror or error})") from error
