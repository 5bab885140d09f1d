"""URDF to Mechanism (docs/urdf.md).

The XML is read by the standard library's expat and not by a URDF package: of those on PyPI, urdf_parser_py was last
released in 2021 and prints or asserts its complaints without a line, yourdfpy and urchin bring a mesh stack (trimesh).

Joints come in the file's order, except that a parent comes before its children. Links behind fixed joints are merged
into the body that carries them and remain as frames.
"""

from __future__ import annotations

import difflib
import math
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import DescriptionError, DescriptionWarning
from ..mechanism import BASE, PRISMATIC, REVOLUTE, FloatingBase, Floats, Frame, Ints, Mechanism, Mimic
from .pose import inertia_about_origin, pose, rotation_from_rpy, rotation_to_axis
from .xml_document import Element, read_xml

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
NO_LIMIT = 1e9  # from here on a limit is none: URDF demands a number
KINDS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
INERTIA_TOLERANCE = 1e-6
ZERO = (0.0, 0.0, 0.0)
X = np.array([1.0, 0.0, 0.0])


@dataclass
class _Joint:
    """One <joint>, or one of the three single joints of a planar one."""

    element: Element
    name: str
    kind: str
    parent: str
    child: str
    origin: Floats
    axis: Floats
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    Fv: float = 0.0
    Fs: float = 0.0

    @property
    def moves(self) -> bool:
        return self.kind != "fixed"


@dataclass
class _Body:
    """Links that are fixed to each other; M, MS, J in the frame of the body."""

    M: float
    MS: Floats
    J: Floats
    weighed: bool = False
    """Whether any of the links says its inertia."""

    def add(self, link: Element, T: Floats) -> None:
        """Add what <inertial> says of a link whose frame is at T."""
        inertial = link.one("inertial")
        if inertial is None:
            return
        mass = inertial.need("mass").number("value")
        if mass < 0.0:
            raise inertial.need("mass").error(f"value is {mass:g}, a mass is not below zero")
        values = inertial.need("inertia")
        xx, xy, xz, yy, yz, zz = (values.number(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        at = T @ _origin(inertial)
        R, com = at[:3, :3], at[:3, 3]
        inertia = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
        self.M += mass
        self.MS += mass * com
        self.J += inertia_about_origin(inertia, mass, com)
        self.weighed = True


def _no_body() -> _Body:
    return _Body(0.0, np.zeros(3), np.zeros((3, 3)))


def read_urdf(path: str | Path, floating: bool = False) -> Mechanism:
    """Read a URDF file; a DescriptionError names file, line and element of what cannot be used.

    floating: the root link moves freely, with its inertia, instead of being fixed to the world. A root joint of type
    "floating" says the same in the file.
    """
    root = read_xml(Path(path))
    _check_root(root)
    name = root.text("name")
    links = _by_name(root.all("link"), "link")
    joints = [_read_joint(element) for element in _by_name(root.all("joint"), "joint").values()]
    base = _check_tree(root, links, joints)
    joints, base, floating = _floating_root(joints, base, floating)
    ordered = _planar_as_three(_parents_first(joints, base), links)
    moving = [joint for joint in ordered if joint.moves]
    if not moving:
        raise root.error("no joint moves; a robot has at least one revolute, continuous, prismatic or planar joint")
    return _assemble(root, name, links, ordered, moving, base, floating)


def _check_root(root: Element) -> None:
    """Refuse what is no URDF, or not yet."""
    for element in root.walk():
        expression = any("${" in value or "$(" in value for value in element.attributes.values())
        if element.tag.startswith("xacro:") or (expression and element.tag in ("robot", "link", "joint", "origin")):
            raise DescriptionError(
                f"{root.path}:{element.line}: is a xacro file, not a URDF;"
                f" turn it into one with: xacro {root.path.name} > {root.path.stem.split('.')[0]}.urdf"
            )
    if root.tag != "robot":
        raise root.error("is not a URDF, whose outermost element is <robot>")
    for element in root.children:
        near = difflib.get_close_matches(element.tag, ("link", "joint"), 1, 0.75)
        if near and element.tag not in ("link", "joint"):
            raise element.error(f"is not known, did you mean <{near[0]}>?")


def _by_name(elements: list[Element], what: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in elements:
        first = found.setdefault(element.text("name"), element)
        if first is not element:
            raise element.error(f"there is already a {what} of that name in line {first.line}")
    return found


def _read_joint(element: Element) -> _Joint:
    kind = element.text("type")
    if kind not in KINDS:
        raise element.error(f"type is '{kind}', it must be one of {', '.join(KINDS)}")
    joint = _Joint(
        element=element,
        name=element.text("name"),
        kind=kind,
        parent=element.need("parent").text("link"),
        child=element.need("child").text("link"),
        origin=_origin(element),
        axis=X,
    )
    mimic = element.one("mimic")
    if mimic is not None and kind in ("floating", "planar"):
        raise mimic.error(f"a {kind} joint cannot follow another")
    if kind in ("fixed", "floating"):
        return joint
    axis = element.one("axis")
    if axis is not None:
        direction = axis.vector("xyz", (1.0, 0.0, 0.0))
        length = float(np.linalg.norm(direction))
        if length < 1e-9:
            raise axis.error("xyz is zero, it must be a direction")
        joint.axis = direction / length
    if kind != "planar":
        _read_limit(joint)
        dynamics = element.one("dynamics")
        if dynamics is not None:
            joint.Fv, joint.Fs = dynamics.number("damping", 0.0), dynamics.number("friction", 0.0)
            if min(joint.Fv, joint.Fs) < 0.0:
                raise dynamics.error("damping and friction are not below zero")
    return joint


def _read_limit(joint: _Joint) -> None:
    limit = joint.element.one("limit")
    if limit is None:
        if joint.kind != "continuous":
            instead = ', or type="continuous"' if joint.kind == "revolute" else ""
            wanted = f"a <limit> with lower, upper, effort and velocity{instead}"
            raise joint.element.error(f"a {joint.kind} joint needs {wanted}")
        return
    joint.effort, joint.velocity = (_limit(abs(limit.number(key))) for key in ("effort", "velocity"))
    if joint.kind != "continuous":
        joint.lower, joint.upper = _limit(limit.number("lower", 0.0)), _limit(limit.number("upper", 0.0))
        if joint.lower > joint.upper:
            raise limit.error(f"lower {joint.lower:g} is above upper {joint.upper:g}")


def _limit(value: float) -> float:
    return math.copysign(math.inf, value) if abs(value) >= NO_LIMIT else value


def _origin(element: Element) -> Floats:
    """The pose that <origin> gives; none: the identity."""
    origin = element.one("origin")
    if origin is None:
        return pose()
    roll, pitch, yaw = origin.vector("rpy", ZERO)
    return pose(rotation_from_rpy(roll, pitch, yaw), origin.vector("xyz", ZERO))


def _check_tree(root: Element, links: dict[str, Element], joints: list[_Joint]) -> str:
    """The name of the only root link; every link hangs from it by exactly one joint."""
    if not links:
        raise root.error("has no <link>")
    carried: dict[str, _Joint] = {}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link not in links:
                near = difflib.get_close_matches(link, links, 1)
                hint = f", did you mean '{near[0]}'?" if near else ""
                raise joint.element.need(end).error(f"no link is called '{link}'{hint}")
        if joint.child in carried:
            other = carried[joint.child].element
            raise joint.element.error(
                f"link '{joint.child}' is already the child of joint '{carried[joint.child].name}' (line {other.line});"
                " a URDF is a tree, loops cannot be said in it"
            )
        carried[joint.child] = joint
    roots = [link for link in links if link not in carried]
    if len(roots) > 1:
        raise root.error(f"several links have no parent: {', '.join(roots)}; a robot has one root, join them by joints")
    reached = {link for link in links if _reaches(link, carried)}
    if not roots or len(reached) < len(links):
        circle = next(joint for joint in joints if joint.child not in reached)
        raise circle.element.error(f"goes in a circle: '{circle.child}' hangs, in the end, from itself")
    return roots[0]


def _reaches(link: str, carried: dict[str, _Joint]) -> bool:
    """Whether the way up from a link ends."""
    for _ in range(len(carried) + 1):
        if link not in carried:
            return True
        link = carried[link].parent
    return False


def _floating_root(joints: list[_Joint], base: str, floating: bool) -> tuple[list[_Joint], str, bool]:
    """Without the world and the floating joint that hangs the robot's base in it, if the file says so."""
    loose = [joint for joint in joints if joint.kind == "floating"]
    if not loose:
        return joints, base, floating
    first = loose[0]
    at_root = [joint for joint in joints if joint.parent == base]
    if len(loose) > 1 or at_root != [first]:
        raise loose[-1].element.error(
            "a floating joint must be the only one on the root link, between the world and the base"
        )
    if not np.allclose(first.origin, np.eye(4), rtol=0.0, atol=1e-12):
        raise first.element.error("a floating joint's <origin> must be zero: where the base is, its position q says")
    return [joint for joint in joints if joint is not first], first.child, True


def _parents_first(joints: list[_Joint], base: str) -> list[_Joint]:
    """The joints in the file's order, except that a parent comes before its children."""
    by_child = {joint.child: joint for joint in joints}
    placed = {base}
    ordered: list[_Joint] = []
    for joint in joints:
        chain: list[_Joint] = []
        at = joint
        while at.child not in placed:
            chain.append(at)
            placed.add(at.child)
            if at.parent == base:
                break
            at = by_child[at.parent]
        ordered += reversed(chain)
    return ordered


def _planar_as_three(joints: list[_Joint], links: dict[str, Element]) -> list[_Joint]:
    """A planar joint as joints NAME_x, NAME_y, NAME_yaw with massless links between; x, y: Q x, Q y for Q z = axis."""
    names = {joint.name for joint in joints}
    out: list[_Joint] = []
    for joint in joints:
        if joint.kind != "planar":
            out.append(joint)
            continue
        between = [f"{joint.child}_x", f"{joint.child}_y"]
        new = [f"{joint.name}_{part}" for part in ("x", "y", "yaw")]
        for taken in [*(link for link in between if link in links), *(part for part in new if part in names)]:
            raise joint.element.error(f"becomes three joints, for which the name '{taken}' is needed but already taken")
        Q = rotation_to_axis(joint.axis)
        element = joint.element
        out += [
            _Joint(element, new[0], "prismatic", joint.parent, between[0], joint.origin, Q[:, 0]),
            _Joint(element, new[1], "prismatic", between[0], between[1], pose(), Q[:, 1]),
            _Joint(element, new[2], "continuous", between[1], joint.child, pose(), joint.axis),
        ]
    return out


def _assemble(
    root: Element,
    name: str,
    links: dict[str, Element],
    ordered: list[_Joint],
    moving: list[_Joint],
    base: str,
    floating: bool,
) -> Mechanism:
    """Number the bodies, place them, and move all inertias to their body frames."""
    n = len(moving)
    parent = np.full(n, BASE, dtype=np.int64)
    placements = np.empty((n, 4, 4))
    bodies = [_no_body() for _ in range(n)]
    trunk = _no_body()
    trunk.add(links[base], pose())
    at: dict[str, tuple[int, Floats]] = {base: (BASE, pose())}
    body = 0
    for joint in ordered:
        carrier, T = at[joint.parent]
        front = T @ joint.origin
        if joint.moves:
            Q = pose(rotation_to_axis(joint.axis))
            parent[body], placements[body] = carrier, front @ Q
            at[joint.child] = body, Q.T
            body += 1
        else:
            at[joint.child] = carrier, front
        if joint.child in links:
            carrier, T = at[joint.child]
            (trunk if carrier == BASE else bodies[carrier]).add(links[joint.child], T)

    def of_joints(attribute: str) -> Floats:
        return np.array([getattr(joint, attribute) for joint in moving], dtype=np.float64)

    mechanism = Mechanism(
        name=name,
        description=f"from {root.path.name}",
        joint_names=tuple(joint.name for joint in moving),
        body_names=tuple(joint.child for joint in moving),
        parent=parent,
        joint_type=np.array([PRISMATIC if joint.kind == "prismatic" else REVOLUTE for joint in moving], dtype=np.int64),
        R=placements[:, :3, :3].copy(),
        p=placements[:, :3, 3].copy(),
        M=np.array([body.M for body in bodies]),
        MS=np.array([body.MS for body in bodies]),
        J=np.array([body.J for body in bodies]),
        Ia=_rotor_inertias(root, moving),
        Fv=of_joints("Fv"),
        Fs=of_joints("Fs"),
        stiffness=np.full(n, np.inf),
        position_limits=np.stack([of_joints("lower"), of_joints("upper")], axis=1),
        velocity_limits=of_joints("velocity"),
        effort_limits=of_joints("effort"),
        active=np.ones(n, dtype=np.bool_),
        gravity=np.array(STANDARD_GRAVITY),
        frames=_frames(at, moving, parent),
        base=FloatingBase(base, trunk.M, trunk.MS, trunk.J) if floating else None,
        mimic=_mimic(moving, {joint.name for joint in ordered}),
    )
    _check_inertia(mechanism, root, links, moving, bodies)
    return mechanism


def _rotor_inertias(root: Element, moving: list[_Joint]) -> Floats:
    """(n,) those that <dyn_robot> gives (see urdf_extension), which a joint without other inertia needs."""
    extension = root.one("dyn_robot")
    joints = [] if extension is None else extension.all("joint")
    given = {joint.text("name"): joint.number("rotor_inertia", 0.0) for joint in joints}
    return np.array([given.get(joint.name, 0.0) for joint in moving])


def _frames(at: dict[str, tuple[int, Floats]], moving: list[_Joint], parent: Ints) -> tuple[Frame, ...]:
    """Frames of the moving links in joint order, of all others, and "tool".

    The tool is the link of that name, or else the link behind the most joints (of several the last in the file).
    """
    carried = [joint.child for joint in moving]
    depth = {BASE: 0}
    for j in range(len(moving)):
        depth[j] = depth[int(parent[j])] + 1
    links = [*carried, *(link for link in at if link not in carried)]
    last = "tool" if "tool" in at else max(reversed(list(at)), key=lambda link: depth[at[link][0]])
    named = [(link, link) for link in links if link != "tool" or link in carried]
    if "tool" not in carried:
        named.append(("tool", last))
    return tuple(Frame(name, body, T[:3, :3].copy(), T[:3, 3].copy()) for name, link in named for body, T in [at[link]])


def _mimic(moving: list[_Joint], names: set[str]) -> Mimic | None:
    """The followers, each with the independent joint that it follows in the end; None: there are none."""
    n = len(moving)
    index = {joint.name: j for j, joint in enumerate(moving)}
    tags = [joint.element.one("mimic") for joint in moving]
    leader, multiplier, offset = np.arange(n), np.ones(n), np.zeros(n)
    for j, tag in enumerate(tags):
        if tag is None:
            continue
        followed = tag.text("joint")
        if followed not in index:
            found = "is fixed" if followed in names else "does not exist"
            near = difflib.get_close_matches(followed, index, 1)
            hint = f", did you mean '{near[0]}'?" if near and followed not in names else ""
            raise tag.error(f"joint '{moving[j].name}' follows '{followed}', which {found}{hint}")
        leader[j] = index[followed]
        multiplier[j], offset[j] = tag.number("multiplier", 1.0), tag.number("offset", 0.0)
    own_multiplier, own_offset, step = multiplier.copy(), offset.copy(), leader.copy()
    for j in range(n):
        seen = {j}
        while tags[leader[j]] is not None:
            k = leader[j]
            if k in seen:
                tag = tags[j]
                assert tag is not None
                raise tag.error(f"joint '{moving[j].name}' follows, in the end, itself")
            seen.add(int(k))
            offset[j] += multiplier[j] * own_offset[k]
            multiplier[j] *= own_multiplier[k]
            leader[j] = step[k]
    return Mimic(leader, multiplier, offset) if any(tag is not None for tag in tags) else None


def _check_inertia(
    mechanism: Mechanism, root: Element, links: dict[str, Element], moving: list[_Joint], bodies: list[_Body]
) -> None:
    """Refuse missing inertia; warn of what no real body has."""
    for joint, body in zip(moving, bodies, strict=True):
        link = links.get(joint.child)
        if link is not None and not body.weighed and (link.all("visual") or link.all("collision")):
            raise link.error(
                "moves and has a shape but no <inertial>; give its mass and inertia (a mass of 0 if it has none)"
            )
    idle = _idle_joints(mechanism)
    if idle:
        joint = moving[idle[0]]
        raise joint.element.error(
            f"has nothing to move: link '{joint.child}' and what hangs on it have no mass or inertia; give <inertial>"
        )
    if mechanism.base is not None and mechanism.base.M == 0.0:
        raise links[mechanism.base.name].error("floats but has no mass; give <inertial>, or load it with a fixed base")
    odd = [joint.child for joint, body in zip(moving, bodies, strict=True) if not _is_physical(body)]
    if odd:
        warnings.warn(
            f"{root.path}: no real body has the inertia of {', '.join(odd)} (a principal moment is negative or exceeds"
            " the sum of the others); it is used as it stands",
            DescriptionWarning,
            stacklevel=4,
        )


def _is_physical(body: _Body) -> bool:
    com = body.MS / body.M if body.M > 0.0 else np.zeros(3)
    about_com = body.J - inertia_about_origin(np.zeros((3, 3)), body.M, com)
    small, middle, large = np.linalg.eigvalsh(about_com)
    slack = INERTIA_TOLERANCE * max(float(np.abs(body.J).max()), 1e-12)
    return bool(small >= -slack and small + middle >= large - slack)


def _idle_joints(m: Mechanism) -> list[int]:
    """Joints that, with all that follow the same leader, move nothing, so that the mass matrix is always singular."""
    heavy = (m.M > 0.0) | (np.abs(m.J).max(axis=(1, 2)) > 0.0)
    leaf = np.ones(m.n, dtype=bool)
    idle = np.zeros(m.n, dtype=bool)
    for j in reversed(range(m.n)):
        alone = m.M[j] if m.joint_type[j] == PRISMATIC else m.J[j, 2, 2]
        idle[j] = (not heavy[j] or (leaf[j] and alone <= 0.0)) and m.Ia[j] == 0.0
        if m.parent[j] != BASE:
            leaf[m.parent[j]] = False
            heavy[m.parent[j]] |= heavy[j]
    leader = np.arange(m.n) if m.mimic is None else m.mimic.leader
    turns = np.ones(m.n) if m.mimic is None else m.mimic.multiplier
    busy = {int(leader[j]) for j in range(m.n) if not idle[j] and turns[j] != 0.0}
    return [j for j in range(m.n) if int(leader[j]) not in busy]
