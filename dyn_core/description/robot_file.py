"""The robot YAML (docs/robot_description.md): read, checked, and turned into a Mechanism."""

from __future__ import annotations

import dataclasses
import difflib
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import DescriptionError
from ..mechanism import (
    BASE,
    PRISMATIC,
    REVOLUTE,
    Beam,
    Compliance,
    FloatingBase,
    Floats,
    Frame,
    Mechanism,
    Mimic,
    Motors,
    Springs,
)
from .closed_chains import Cut, placed_loops, read_assembly, read_loops
from .compliance import read_link
from .document import Document, Section, describe
from .library import PARTS
from .notation import NOTATIONS, Placement, origin
from .pose import inertia_about_origin

ROBOT_KEYS = (
    "name", "kind", "description", "sources", "gravity", "base", "tool", "joints", "loops", "assembly", "platform",
    "legs",
)  # fmt: skip
JOINT_KEYS = (
    "name", "type", "parent", *NOTATIONS, "axis", "limits", "friction", "Fv", "Fs", "rotor_inertia", "Ia", "stiffness",
    "spring", "mimic", "active", "link", "motor",
)  # fmt: skip
MOTION_KEYS = (
    "limits", "friction", "Fv", "Fs", "rotor_inertia", "Ia", "stiffness", "spring", "mimic", "active", "motor",
)  # not for fixed joints  # fmt: skip
ABOUT_COM = ("mass", "com", "inertia")
KHALIL = ("M", "MS", "J")  # the same about the frame's origin
LINK_KEYS = ("name", *ABOUT_COM, *KHALIL, "frame", "flexible", "beam", "compliance")
BASE_KEYS = ("type", "name", *ABOUT_COM, *KHALIL)
MOTOR_KEYS = (
    "gear_ratio", "torque_constant", "resistance", "rotor_inertia", "viscous", "coulomb", "current_limit",
    "voltage_limit", "dac",
)  # fmt: skip
PRODUCTS = ("xx", "yy", "zz", "xy", "xz", "yz")
TYPES = {"revolute": REVOLUTE, "prismatic": PRISMATIC}
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
MAX_JOINTS = 1000
MAX_MODES = 20
MAX_DAC_BITS = 31  # a code is an int32 in the messages
INERTIA_TOLERANCE = 1e-6
ROUNDING = 1e-14  # of an inertia that is the difference of two others


class Inertial(NamedTuple):
    """A rigid body's mass, centre of mass, and inertia about it, in some frame."""

    mass: float
    com: Floats
    inertia: Floats


NO_MASS = Inertial(0.0, np.zeros(3), np.zeros((3, 3)))


@dataclass(frozen=True)
class _Motor:
    """One joint's drive, in the units of Motors."""

    gear: float
    Kt: float
    resistance: float
    current_limit: float
    voltage_limit: float
    dac_bits: int
    dac_low: float
    dac_high: float
    dac_gain: float
    dac_sign: float
    dac_offset: float


@dataclass
class _Joint:
    """One entry of `joints`, read but not yet placed in the tree."""

    section: Section
    link_section: Section
    name: str
    kind: str
    link: str
    parent: str
    placement: Placement
    inertial: Inertial
    frame: Floats
    """The link's own frame in the frame that the notation gives."""
    Ia: float = 0.0
    Fv: float = 0.0
    Fs: float = 0.0
    stiffness: float = math.inf
    spring: float = 0.0
    rest: float = 0.0
    leader: str = ""
    multiplier: float = 1.0
    offset: float = 0.0
    limits: tuple[float, float] = (-math.inf, math.inf)
    velocity: float = math.inf
    effort: float = math.inf
    active: bool = True
    motor: _Motor | None = None
    beam: Beam | None = None
    compliance: Compliance | None = None
    body: int = BASE
    notated: Floats = field(default_factory=lambda: np.eye(4))
    """The frame that the notation gives, in the frame of its body."""

    @property
    def described(self) -> Floats:
        """The link's own frame in the frame of its body."""
        return self.notated @ self.frame


def load_mechanism(path: Path) -> Mechanism:
    """Read a robot YAML; a DescriptionError names file, line, field, what was found and what is allowed."""
    if str(path).endswith(PARTS):
        raise DescriptionError(f"{path}: is a parts database: make a robot of it with `dyn parts build {path}`")
    return read_mechanism(Document(Path(path)))


def read_mechanism(document: Document) -> Mechanism:
    """As `load_mechanism`, of a document; what was found wrong in it before is told too."""
    if document.kind() == "spherical":
        from .spherical import read_spherical  # which reads joints and masses as this module does

        return read_spherical(document)
    root = document.root(ROBOT_KEYS)
    name = root.name("name")
    description = root.text("description")
    root.texts("sources")
    gravity = root.vector("gravity", 3, unit="m/s^2", default=STANDARD_GRAVITY)
    if "kind" in root:
        root.choice("kind", ("parallel", "spherical"))
        return _load_parallel(document, root, name, description, gravity)
    if "legs" in root:
        root.problem("legs", "given without kind: parallel", "kind: parallel")
    base = _read_base(root)
    joints: list[_Joint] = []
    for section in root.sections("joints", JOINT_KEYS):
        if len(joints) == MAX_JOINTS:
            document.problem(section.node, section.field, "one joint too many", f"at most {MAX_JOINTS} joints")
            break
        joints.append(_read_joint(section, joints[-1].link if joints else "base"))
    if joints and all(joint.kind == "fixed" for joint in joints):
        root.problem("joints", "no joint moves", "at least one revolute or prismatic joint")
    bases = ("base",) if base is None else tuple(dict.fromkeys(("base", base.name)))
    _check_names(joints, bases)
    _check_parents(joints, bases)
    _check_motors(joints)
    _check_leaders(joints)
    tool_link, tool_pose = _read_tool(root, joints, bases)
    cuts = read_loops(root, [*bases, *(joint.link for joint in joints)])
    if cuts and (base is not None or any(joint.leader for joint in joints)):
        root.problem("loops", "given for a floating base or with mimic joints", "a fixed base and independent joints")
    document.finish()

    ordered = _parents_first(joints)
    moving = [joint for joint in ordered if joint.kind != "fixed"]
    mechanism = _assemble(name, description, gravity, base, ordered, moving, tool_link, tool_pose, cuts)
    if cuts:
        assembly = read_assembly(root, mechanism.joint_names, mechanism.joint_type)
        mechanism = dataclasses.replace(mechanism, assembly=assembly)
    if "platform" in root:
        mechanism = dataclasses.replace(mechanism, platform=_read_platform(root, mechanism))
    _check_mass_matrix(mechanism, moving)
    if mechanism.base is not None and mechanism.base.M + mechanism.M.sum() == 0.0:
        root.problem("base", "floats, but the robot has no mass at all", "a mass > 0 in kg")
    document.finish()
    return mechanism


def _load_parallel(document: Document, root: Section, name: str, description: str, gravity: Floats) -> Mechanism:
    """A parallel robot: its legs and platform as a tree with cut joints."""
    from .parallel import closed_at, read_parallel  # which reads joints as this module does

    file = read_parallel(root)
    _check_names(file.joints, ("base",))
    _check_parents(file.joints, ("base",))
    _check_motors(file.joints)
    for joint in file.joints:
        if joint.leader:
            joint.section.problem("mimic", "given for a joint of a parallel robot", "independent joints")
    tool_link, tool_pose = _read_tool(root, file.joints, ("base",))
    document.finish()
    ordered = _parents_first(file.joints)
    moving = [joint for joint in ordered if joint.kind != "fixed"]
    mechanism = _assemble(name, description, gravity, None, ordered, moving, tool_link, tool_pose, file.cuts)
    mechanism = closed_at(root, mechanism, file)
    document.finish()
    return mechanism


def _read_platform(root: Section, mechanism: Mechanism) -> int | None:
    """The body of the link that `platform` names, where a robot of joints and loops is a parallel one."""
    link = root.name("platform")
    if link in mechanism.body_names and mechanism.loops:
        return mechanism.body_names.index(link)
    if link:
        found = f"no moving link is called '{link}'" if mechanism.loops else "given for a robot without loops"
        root.problem("platform", found, f"the link that the legs carry: {', '.join(mechanism.body_names)}")
    return None


def sources(path: Path) -> list[str]:
    """The texts of `sources`, which are for the reader and not a part of the mechanism."""
    return Document(Path(path)).root(ROBOT_KEYS).texts("sources")


def _read_base(root: Section) -> FloatingBase | None:
    """A floating base; None for a fixed one, which is the default."""
    if not root.is_group("base"):
        if "base" in root and root.text("base") != "fixed":
            found, allowed = f"found {describe(root.values['base'])}", "fixed, or {type: floating, mass: ...}"
            root.problem("base", found, allowed)
        return None
    base = root.section("base", BASE_KEYS)
    base.choice("type", ("floating",))
    name = base.name("name", "base")
    if name == "tool":
        base.problem("name", "'tool' is a frame that every robot has", "another name")
    return FloatingBase(name, *standard_parameters(_read_inertial(base), np.eye(4)))


def _read_joint(section: Section, previous_link: str) -> _Joint:
    name = section.name("name")
    kind = section.choice("type", (*TYPES, "fixed"))
    given = [key for key in NOTATIONS if key in section]
    if len(given) == 1:
        placement = NOTATIONS[given[0]](section, kind)
    else:
        found = f"found {' and '.join(given)}" if given else "no placement"
        section.problem(given[-1] if given else "name", found, f"exactly one of {', '.join(NOTATIONS)}")
        placement = Placement(np.eye(4), np.eye(4))
    link = section.section("link", LINK_KEYS)
    joint = _Joint(
        section=section,
        link_section=link,
        name=name,
        kind=kind,
        link=link.name("name", f"{name}_link"),
        parent=section.name("parent", previous_link),
        placement=placement,
        inertial=_read_inertial(link),
        frame=origin(link.section("frame", ("xyz", "rpy"))),
    )
    if kind == "fixed":
        for key in MOTION_KEYS:
            if key in section:
                section.problem(key, "has no meaning on a fixed joint", "a joint that moves, or no such key")
    else:
        _read_motion(section, joint)
    joint.beam = _read_beam(link, kind)
    joint.compliance = read_link(link)
    if kind == "fixed" and joint.compliance is not None:
        key = "beam" if "beam" in link else "compliance"
        link.problem(key, "given for a link on a fixed joint", "the link that carries it, on a joint that moves")
    return joint


def _read_beam(link: Section, kind: str) -> Beam | None:
    """What makes a link flexible; its body is not known yet."""
    if "flexible" not in link:
        return None
    if kind != "revolute":
        link.problem("flexible", f"given for a link on a {kind} joint", "a link that turns on a revolute joint")
    beam = link.section("flexible", ("E", "I", "modes"))
    E, I = beam.number("E", unit="N/m^2", above=0.0), beam.number("I", unit="m^4", above=0.0)
    return Beam(BASE, E, I, beam.integer("modes", 1, MAX_MODES))


def _read_inertial(link: Section) -> Inertial:
    """Inertial parameters of a link or base in its notation's frame, given about the centre of mass or the origin."""
    khalil = [key for key in KHALIL if key in link]
    if khalil and (others := [key for key in ABOUT_COM if key in link]):
        link.problem(khalil[0], f"given together with {', '.join(others)}", "either mass, com, inertia or M, MS, J")
        return NO_MASS
    mass_key, moment_key, inertia_key = KHALIL if khalil else ABOUT_COM
    weighty = moment_key in link or inertia_key in link
    M = link.number(mass_key, unit="kg", least=0.0, default=None if weighty else 0.0)
    moment = link.vector(moment_key, 3, unit="kg m" if khalil else "m", default=(0.0, 0.0, 0.0))
    tensor = _read_tensor(link, inertia_key)
    if tensor is None or not (math.isfinite(M) and np.isfinite(moment).all() and np.isfinite(tensor).all()):
        return NO_MASS
    if not khalil:
        check_inertia(link, "inertia", M, tensor, rounding=0.0)
        return Inertial(M, moment, tensor)
    if M == 0.0:
        if moment.any() or tensor.any():
            link.problem("M", "is 0 but MS or J is not", "a mass > 0 in kg, or no MS and J")
        return NO_MASS
    rounding = ROUNDING * float(np.abs(tensor).max())
    about_com = tensor - inertia_about_origin(np.zeros((3, 3)), M, moment / M)
    about_com[np.abs(about_com) < rounding] = 0.0
    check_inertia(link, "J", M, about_com, rounding)
    return Inertial(M, moment / M, about_com)


def _read_tensor(link: Section, key: str) -> Floats | None:
    """A symmetric 3 x 3 matrix, by its entries or by its rows; None where it is not symmetric."""
    if link.is_list(key):
        tensor = link.matrix(key)
        if (np.abs(tensor - tensor.T) > 1e-9 * np.abs(tensor).max()).any():
            link.problem(key, "is not symmetric", "a symmetric 3 x 3 matrix")
            return None
        return 0.5 * (tensor + tensor.T)
    parts = link.section(key, PRODUCTS)
    moment_default = None if key in link else 0.0
    xx, yy, zz = (parts.number(name, unit="kg m^2", default=moment_default) for name in PRODUCTS[:3])
    xy, xz, yz = (parts.number(name, unit="kg m^2", default=0.0) for name in PRODUCTS[3:])
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def check_inertia(link: Section, key: str, mass: float, inertia: Floats, rounding: float) -> None:
    """A real body's principal moments are not negative, and none exceeds the sum of the other two.

    inertia: about the centre of mass, known up to the rounding.
    """
    small, middle, large = np.linalg.eigvalsh(inertia)
    slack = INERTIA_TOLERANCE * max(abs(small), abs(large)) + rounding
    where = " about the centre of mass" if key == "J" else ""
    principal = f"principal moments {small:.6g}, {middle:.6g}, {large:.6g} kg m^2{where}"
    if small < -slack:
        link.problem(key, f"not positive definite ({principal})", "moments that are not negative")
    elif small + middle < large - slack:
        found = f"violates the triangle inequality ({principal})"
        link.problem(key, found, "moments of which the two smaller add up to at least the largest")
    elif mass == 0.0 and large > 0.0:
        link.problem("mass", "is 0 but the link has an inertia", "a mass > 0 in kg, or no inertia")


def _read_motion(section: Section, joint: _Joint) -> None:
    """Limits, friction, stiffness and motor of a joint that moves."""
    limits = section.section("limits", ("position", "velocity", "effort"))
    if "position" in limits:
        if joint.kind == "revolute":
            low, high = limits.angles("position", 2, default=(-math.inf, math.inf))
        else:
            low, high = limits.vector("position", 2, unit="m", default=(-math.inf, math.inf))
        if low >= high:
            limits.problem("position", f"the lower {low:g} is not below the upper {high:g}", "[lower, upper]")
        joint.limits = (low, high)
    joint.velocity = limits.number("velocity", unit="rad/s or m/s", above=0.0, default=math.inf)
    joint.effort = limits.number("effort", unit="N m or N", above=0.0, default=math.inf)
    if "spring" in section:
        _read_spring(section, joint)
    stiffness = joint.spring if joint.spring > 0.0 else math.inf
    joint.stiffness = section.number("stiffness", unit="N m/rad or N/m", above=0.0, default=stiffness)
    if "mimic" in section:
        _read_mimic(section, joint)
    joint.active = section.boolean("active", "spring" not in section)
    friction = section.section("friction", ("viscous", "coulomb"))
    joint.Ia = _either(section, "Ia", section, "rotor_inertia", "kg m^2 or kg")
    joint.Fv = _either(section, "Fv", friction, "viscous", "N m s/rad or N s/m")
    joint.Fs = _either(section, "Fs", friction, "coulomb", "N m or N")
    if "motor" in section:
        _read_motor(section, joint)


def _either(section: Section, symbol: str, words: Section, word: str, unit: str) -> float:
    """A figure that has Khalil's symbol and a key in words; at most one of them is given."""
    if symbol in section and word in words:
        section.problem(symbol, f"given together with {words.path(word)}", "one of them: they are the same figure")
    if symbol in section:
        return section.number(symbol, unit=unit, least=0.0, default=0.0)
    return words.number(word, unit=unit, least=0.0, default=0.0)


def _read_spring(section: Section, joint: _Joint) -> None:
    """An elastic joint: -stiffness (q - rest) acts on it, and nothing drives it."""
    spring = section.section("spring", ("stiffness", "rest"))
    joint.spring = spring.number("stiffness", unit="N m/rad or N/m", above=0.0)
    if joint.kind == "revolute":
        joint.rest = spring.angle("rest", default=0.0)
    else:
        joint.rest = spring.number("rest", unit="m", default=0.0)
    if section.boolean("active", False):
        section.problem("active", "true, but the joint has a spring", "false: a spring moves it, not a motor")
    if "motor" in section:
        allowed = "a joint of its own for the motor, which carries the elastic joint"
        section.problem("motor", "given for a joint with a spring", allowed)


def _read_mimic(section: Section, joint: _Joint) -> None:
    """A joint that follows another: q = multiplier q_leader + offset."""
    mimic = section.section("mimic", ("joint", "multiplier", "offset"))
    joint.leader = mimic.name("joint")
    joint.multiplier = mimic.number("multiplier", default=1.0)
    if joint.kind == "revolute":
        joint.offset = mimic.angle("offset", default=0.0)
    else:
        joint.offset = mimic.number("offset", unit="m", default=0.0)
    for key in ("motor", "spring"):
        if key in section:
            section.problem(key, "given for a joint that follows another", "none: its leader moves it")


def _read_motor(section: Section, joint: _Joint) -> None:
    """The drive and what it adds at the joint: G^2 of its inertia and viscous, |G| of its Coulomb friction."""
    motor = section.section("motor", MOTOR_KEYS)
    gear = motor.number("gear_ratio")
    if gear == 0.0:
        motor.problem("gear_ratio", "found 0", "motor turns per joint turn, negative where they turn oppositely")
    if "rotor_inertia" in motor and ("rotor_inertia" in section or "Ia" in section):
        found = "given at the motor and at the joint"
        motor.problem("rotor_inertia", found, "one of them (the joint's is gear_ratio^2 times larger)")
    joint.Ia += gear**2 * motor.number("rotor_inertia", unit="kg m^2", least=0.0, default=0.0)
    joint.Fv += gear**2 * motor.number("viscous", unit="N m s/rad", least=0.0, default=0.0)
    joint.Fs += abs(gear) * motor.number("coulomb", unit="N m", least=0.0, default=0.0)
    dac = motor.section("dac", ("bits", "range", "gain", "sign", "offset"))
    if "dac" not in motor:
        motor.problem("dac", "missing", "bits, range, and where they differ from 1, 1, 0: gain, sign, offset")
        return
    low, high = dac.vector("range", 2, unit="V")
    if "range" in dac and low >= high:
        dac.problem("range", f"the lower end {low:g} is not below the upper {high:g}", "[lower, upper] in V")
    sign = dac.number("sign", default=1.0)
    if math.isfinite(sign) and abs(sign) != 1.0:
        dac.problem("sign", f"found {sign:g}", "1 or -1")
    offset = dac.number("offset", unit="V", default=0.0)
    if low < high and not low <= offset <= high:
        dac.problem("offset", f"found {offset:g}", f"a voltage within the range {low:g} to {high:g} V")
    joint.motor = _Motor(
        gear=gear,
        Kt=motor.number("torque_constant", unit="N m/A", above=0.0),
        resistance=motor.number("resistance", unit="ohm", above=0.0),
        current_limit=motor.number("current_limit", unit="A", above=0.0, default=math.inf),
        voltage_limit=motor.number("voltage_limit", unit="V", above=0.0, default=math.inf),
        dac_bits=dac.integer("bits", 1, MAX_DAC_BITS),
        dac_low=low,
        dac_high=high,
        dac_gain=dac.number("gain", unit="motor volts per DAC volt", above=0.0, default=1.0),
        dac_sign=sign,
        dac_offset=offset,
    )


def _check_names(joints: list[_Joint], bases: tuple[str, ...]) -> None:
    """Joint names are unique; link names are unique and neither the base's nor 'tool'."""
    for what in ("joint", "link"):
        seen: dict[str, str] = {}
        for joint in joints:
            name = joint.name if what == "joint" else joint.link
            section = joint.section if what == "joint" else joint.link_section
            if what == "link" and name in ("base", "tool"):
                section.problem("name", f"'{name}' is a frame that every robot has", "another name")
            elif what == "link" and name in bases:
                section.problem("name", f"'{name}' is the name of the base", "another name")
            elif name and name in seen:
                section.problem("name", f"'{name}' is already the {what} of {seen[name]}", "a name of its own")
            seen.setdefault(name, joint.section.field)


def _check_parents(joints: list[_Joint], bases: tuple[str, ...]) -> None:
    """Every parent exists and every joint hangs, link by link, from the base."""
    by_link = {joint.link: joint for joint in joints}
    for joint in joints:
        if joint.parent not in by_link and joint.parent not in bases and joint.parent:
            near = difflib.get_close_matches(joint.parent, [*bases, *by_link], 1)
            hint = f"did you mean '{near[0]}'? " if near else ""
            allowed = f"{hint}{', '.join([*bases, *by_link])}"
            joint.section.problem("parent", f"no link is called '{joint.parent}'", allowed)
    for joint in joints:
        seen, at = {joint.link}, joint
        while at.parent in by_link:
            if at.parent in seen:
                if at.parent == joint.link:
                    found = f"goes in a circle: '{joint.link}' hangs, in the end, from itself"
                    joint.section.problem("parent", found, "a parent on the way to the base")
                break
            seen.add(at.parent)
            at = by_link[at.parent]


def _check_motors(joints: list[_Joint]) -> None:
    """Either every active joint has a motor, or none has; a passive joint has none."""
    active = [joint for joint in joints if joint.kind != "fixed" and joint.active and not joint.leader]
    some = any("motor" in joint.section for joint in active)
    for joint in joints:
        has_motor = "motor" in joint.section
        if joint.kind != "fixed" and not joint.active and has_motor and "spring" not in joint.section:
            joint.section.problem("motor", "given for a passive joint", "no motor, or active: true")
        elif joint in active and some and not has_motor:
            allowed = "a motor for every active joint, or for none, or active: false"
            joint.section.problem("motor", f"missing for joint '{joint.name}'", allowed)


def _check_leaders(joints: list[_Joint]) -> None:
    """A joint that follows another follows one that moves and that follows none."""
    free = [joint.name for joint in joints if joint.kind != "fixed" and "mimic" not in joint.section]
    for joint in joints:
        if joint.leader and joint.leader not in free:
            mimic = joint.section.section("mimic", ("joint", "multiplier", "offset"))
            mimic.problem("joint", f"no independent joint is called '{joint.leader}'", ", ".join(free))


def _read_tool(root: Section, joints: list[_Joint], bases: tuple[str, ...]) -> tuple[str, Floats]:
    """The link that carries the tool (by default the last) and the tool's pose in its described frame."""
    tool = root.section("tool", ("link", "xyz", "rpy"))
    last = joints[-1].link if joints else "base"
    link = tool.name("link", last)
    links = [*bases, *(joint.link for joint in joints)]
    if link and link not in links:
        near = difflib.get_close_matches(link, links, 1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        tool.problem("link", f"no link is called '{link}'", hint + ", ".join(links))
    return link, origin(tool)


def _parents_first(joints: list[_Joint]) -> list[_Joint]:
    """The joints in the file's order, except that a parent comes before its children."""
    by_link = {joint.link: joint for joint in joints}
    ordered: list[_Joint] = []
    placed: set[str] = set()
    for joint in joints:
        chain = []
        at: _Joint | None = joint
        while at is not None and at.link not in placed:
            chain.append(at)
            placed.add(at.link)
            at = by_link.get(at.parent)
        ordered += reversed(chain)
    return ordered


def _assemble(
    name: str,
    description: str,
    gravity: Floats,
    base: FloatingBase | None,
    ordered: list[_Joint],
    moving: list[_Joint],
    tool_link: str,
    tool: Floats,
    cuts: list[Cut],
) -> Mechanism:
    """Number the bodies, place them, and move all inertias (of fixed links too) to their body frames."""
    n = len(moving)
    parent = np.full(n, BASE, dtype=np.int64)
    placements = np.empty((n, 4, 4))
    M, MS, J = np.zeros(n + 1), np.zeros((n + 1, 3)), np.zeros((n + 1, 3, 3))  # the base's last, at index BASE
    bases = ("base",) if base is None else ("base", base.name)
    if base is not None:
        M[BASE], MS[BASE], J[BASE] = base.M, base.MS, base.J
    notated: dict[str, tuple[int, Floats]] = {link: (BASE, np.eye(4)) for link in bases}
    described = dict(notated)
    body = 0
    for joint in ordered:
        parent_body, parent_frame = notated[joint.parent]
        front = parent_frame @ joint.placement.front
        if joint.kind == "fixed":
            joint.body, joint.notated = parent_body, front @ joint.placement.tail
        else:
            joint.body, joint.notated = body, joint.placement.tail
            parent[body], placements[body] = parent_body, front
            body += 1
        notated[joint.link] = joint.body, joint.notated
        described[joint.link] = joint.body, joint.described
        mass, moments, inertia = standard_parameters(joint.inertial, joint.notated)
        M[joint.body] += mass
        MS[joint.body] += moments
        J[joint.body] += inertia
    frames = [_frame(joint.link, joint.body, joint.described) for joint in moving]
    frames += [_frame(link, BASE, np.eye(4)) for link in bases[1:] if link != "base"]
    frames += [_frame(joint.link, joint.body, joint.described) for joint in ordered if joint.kind == "fixed"]
    tool_body, tool_parent = described[tool_link]
    frames.append(_frame("tool", tool_body, tool_parent @ tool))
    if base is not None:
        base = FloatingBase(base.name, float(M[BASE]), MS[BASE], J[BASE])

    def of_joints(attribute: str) -> Floats:
        return np.array([getattr(joint, attribute) for joint in moving], dtype=np.float64)

    return Mechanism(
        name=name,
        description=description,
        joint_names=tuple(joint.name for joint in moving),
        body_names=tuple(joint.link for joint in moving),
        parent=parent,
        joint_type=np.array([TYPES[joint.kind] for joint in moving], dtype=np.int64),
        R=placements[:, :3, :3].copy(),
        p=placements[:, :3, 3].copy(),
        M=M[:n],
        MS=MS[:n],
        J=J[:n],
        Ia=of_joints("Ia"),
        Fv=of_joints("Fv"),
        Fs=of_joints("Fs"),
        stiffness=of_joints("stiffness"),
        position_limits=of_joints("limits").reshape(n, 2),
        velocity_limits=of_joints("velocity"),
        effort_limits=of_joints("effort"),
        active=np.array([joint.active for joint in moving], dtype=np.bool_),
        gravity=gravity,
        frames=tuple(frames),
        motors=_motors(moving),
        base=base,
        loops=placed_loops(cuts, described),
        beams=tuple(dataclasses.replace(joint.beam, body=joint.body) for joint in moving if joint.beam is not None),
        mimic=_mimic(moving),
        compliances=tuple(_on_body(joint, joint.compliance) for joint in moving if joint.compliance is not None),
        springs=Springs(of_joints("spring"), of_joints("rest")) if any(joint.spring for joint in moving) else None,
    )


def standard_parameters(body: Inertial, T: Floats) -> tuple[float, Floats, Floats]:
    """M, MS and J about the origin, in the frame in which the body's frame stands at T."""
    R, p = T[:3, :3], T[:3, 3]
    com = R @ body.com + p
    return body.mass, body.mass * com, inertia_about_origin(R @ body.inertia @ R.T, body.mass, com)


def _frame(name: str, body: int, T: Floats) -> Frame:
    return Frame(name, body, T[:3, :3].copy(), T[:3, 3].copy())


def _on_body(joint: _Joint, compliance: Compliance) -> Compliance:
    """A compliance that is placed in the link's described frame, in the frame of its body."""
    R, p = joint.described[:3, :3], joint.described[:3, 3]
    return Compliance(joint.body, R @ compliance.R, R @ compliance.p + p, compliance.C)


def _mimic(moving: list[_Joint]) -> Mimic | None:
    """Who follows whom; None where all joints are independent."""
    if not any(joint.leader for joint in moving):
        return None
    index = {joint.name: j for j, joint in enumerate(moving)}
    return Mimic(
        leader=np.array([index[joint.leader or joint.name] for joint in moving], dtype=np.int64),
        multiplier=np.array([joint.multiplier for joint in moving]),
        offset=np.array([joint.offset for joint in moving]),
    )


def _motors(moving: list[_Joint]) -> Motors | None:
    """The motors as arrays; NaN (and 0 DAC bits) for a joint without one."""
    motors = [joint.motor for joint in moving]
    if not any(motors):
        return None

    def of_motors(attribute: str) -> Floats:
        return np.array([math.nan if motor is None else getattr(motor, attribute) for motor in motors])

    return Motors(
        gear=of_motors("gear"),
        Kt=of_motors("Kt"),
        resistance=of_motors("resistance"),
        current_limit=of_motors("current_limit"),
        voltage_limit=of_motors("voltage_limit"),
        dac_bits=np.array([0 if motor is None else motor.dac_bits for motor in motors], dtype=np.int64),
        dac_low=of_motors("dac_low"),
        dac_high=of_motors("dac_high"),
        dac_gain=of_motors("dac_gain"),
        dac_sign=of_motors("dac_sign"),
        dac_offset=of_motors("dac_offset"),
    )


def _check_mass_matrix(mechanism: Mechanism, moving: list[_Joint]) -> None:
    """Every joint has something to accelerate; otherwise the mass matrix is singular in every pose."""
    n = mechanism.n
    heavy = (mechanism.M > 0.0) | (np.abs(mechanism.J).max(axis=(1, 2)) > 0.0)
    leaf = np.ones(n, dtype=bool)
    for j in reversed(range(n)):
        alone = mechanism.M[j] if mechanism.joint_type[j] == PRISMATIC else mechanism.J[j, 2, 2]
        moves_nothing = not heavy[j] or (leaf[j] and alone <= 0.0)
        if moves_nothing and mechanism.Ia[j] == 0.0:
            found = f"joint '{moving[j].name}' has nothing to move"
            moving[j].section.problem("link", found, "a mass or inertia that the joint moves, or a rotor_inertia")
        if mechanism.parent[j] != BASE:
            leaf[mechanism.parent[j]] = False
            heavy[mechanism.parent[j]] |= heavy[j]
