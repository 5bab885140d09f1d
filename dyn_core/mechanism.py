"""The mechanism: a plain record of arrays, the only thing that kernels and descriptions share.

Frames follow Khalil: joint j moves about or along the z axis of its own frame j, which is fixed in body j. At q_j = 0
that frame stands in its parent's frame at the constant placement (R, p).
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from dyn_core.arrays import Bools, Floats, Ints
from dyn_core.beams import Bar
from dyn_core.errors import InputError

REVOLUTE, PRISMATIC = 0, 1  # Khalil's sigma; fixed joints are merged into their parent by the description
BASE = -1
WORLD = -2  # where a floating base moves; a fixed base is the world
OWN_LINK = -1
"""In place of the number of a compliance: the link that a body's joint carries, at the tip of its own compliance."""
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""m/s^2, where a description says nothing else."""


@dataclass(frozen=True)
class Frame:
    """A named frame at a constant pose (R, p) in the frame of a body (BASE: in the base)."""

    name: str
    body: int
    R: Floats
    p: Floats
    tip: int = OWN_LINK
    """The compliance of a link on a fixed joint at whose tip the frame is."""

    @classmethod
    def at(cls, name: str, body: int, T: Floats, tip: int = OWN_LINK) -> Frame:
        """By its homogeneous matrix T (4, 4) in the frame of the body."""
        return cls(name, body, T[:3, :3].copy(), T[:3, 3].copy(), tip)

    @property
    def T(self) -> Floats:
        """(4, 4) homogeneous matrix in the frame of the body."""
        T = np.eye(4)
        T[:3, :3], T[:3, 3] = self.R, self.p
        return T

    @property
    def is_base(self) -> bool:
        """Whether it is where the base's own frame is."""
        return self.body == BASE and np.array_equal(self.R, np.eye(3)) and not self.p.any()


@dataclass(frozen=True)
class Motors:
    """One motor, amplifier and DAC channel per joint; every array has shape (n,), NaN where a joint has no motor."""

    gear: Floats
    """Motor turns per joint turn (rad/rad, or rad/m for a prismatic joint)."""
    Kt: Floats
    """Torque constant = back-EMF constant, N m/A = V s/rad, at the motor."""
    resistance: Floats
    """Armature resistance, ohm."""
    current_limit: Floats
    """A, inf where there is none."""
    voltage_limit: Floats
    """V at the motor, inf where there is none."""
    dac_bits: Ints
    dac_low: Floats
    """V at the DAC's output for code 0."""
    dac_high: Floats
    """V at the DAC's output one step above the top code: a step is (high - low) / 2^bits."""
    dac_gain: Floats
    """Motor volts per DAC volt (the amplifier)."""
    dac_sign: Floats
    """+1, or -1 for an inverting channel."""
    dac_offset: Floats
    """V at the DAC's output that makes zero volts at the motor."""


@dataclass(frozen=True)
class FloatingBase:
    """A base that moves freely: its inertial parameters in its own frame, as those of a body."""

    name: str
    M: float
    """kg."""
    MS: Floats
    """(3,) kg m."""
    J: Floats
    """(3, 3) about the frame's origin, kg m^2."""


@dataclass(frozen=True)
class Springs:
    """Elastic joints: the force -K (q - rest) acts at every joint whose K is above zero (Khalil 69, 70)."""

    K: Floats
    """(n,) N m/rad or N/m, 0 at a rigid joint."""
    rest: Floats
    """(n,) rad or m."""


@dataclass(frozen=True)
class SpringDamper:
    """A spring and a damper between the origins of two frames: they pull with stiffness (l - rest) + damping l'."""

    name: str
    first: Frame
    second: Frame
    stiffness: float
    """N/m."""
    rest: float
    """m, the length at which the spring does not pull."""
    damping: float
    """N s/m."""


@dataclass(frozen=True)
class CutForces:
    """What acts in a cut joint: friction Fv x' + Fs sign(x') and a spring K (x - rest), x its angle or displacement."""

    Fv: float
    """N m s/rad or N s/m."""
    Fs: float
    """N m or N."""
    K: float
    """N m/rad or N/m."""
    rest: float
    """rad or m."""


@dataclass(frozen=True)
class Mimic:
    """Joints that follow others: q_j = multiplier_j q_leader(j) + offset_j; an independent joint leads itself.

    A leader is independent: followers of followers are resolved by the description.
    """

    leader: Ints
    """(n,) index of the joint that is followed, j itself where joint j is independent."""
    multiplier: Floats
    """(n,) 1 where joint j is independent."""
    offset: Floats
    """(n,) rad or m, 0 where joint j is independent."""


CUT_JOINTS = {
    "planar_revolute": ((0, 0, 0), (0, 1, 0)),
    "revolute": ((0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 2), (1, 1, 2)),
    "spherical": ((0, 0, 0), (0, 1, 0), (0, 2, 0)),
    "universal": ((0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 1)),
    "cylindrical": ((0, 0, 0), (0, 1, 0), (1, 0, 2), (1, 1, 2)),
    "prismatic": ((0, 0, 0), (0, 1, 0), (1, 0, 2), (1, 1, 2), (1, 0, 1)),
    "fixed": ((0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 2), (1, 1, 2), (1, 0, 1)),
}
"""What a cut joint of each kind forbids, row by row.

(0, a, 0): the second frame's origin moves along axis a of the first; (1, a, b): axis a of the first frame and axis b of
the second leave their right angle. Revolute joints turn about z, prismatic ones slide along z, cylindrical ones do
both; a universal joint turns about x of the first frame and y of the second; a planar revolute joint leaves everything
out of the xy plane free.
"""


@dataclass(frozen=True)
class Loop:
    """A joint at which a closed chain was cut: two frames on two bodies (BASE: the base), kept together."""

    name: str
    kind: str
    """One of CUT_JOINTS."""
    first: Frame
    second: Frame
    turning: CutForces | None = None
    """What acts about z, x being the angle from x of the first frame to x of the second, within half a turn of rest."""
    sliding: CutForces | None = None
    """What acts along z, x being the displacement of the second frame."""


@dataclass(frozen=True)
class Beam:
    """What makes a link flexible: a uniform bar, pinned at both ends, that bends in the mechanism's plane."""

    body: int
    E: float
    """Young's modulus, N/m^2."""
    I: float
    """Second moment of area, m^4; only E I matters."""
    modes: int
    """How many half waves sin(i pi x / l) are assumed."""


@dataclass(frozen=True)
class Compliance:
    """Compliance of a link: motion of its tip frame, which carries what hangs on the link, relative to its joint."""

    body: int
    R: Floats
    """(3, 3) axes of the tip in the body's frame."""
    p: Floats
    """(3,) the tip in the body's frame, m."""
    C: Floats
    """(6, 6) motion of the tip per wrench there, in its axes, linear first: m/N, m/(N m), rad/N, rad/(N m)."""
    bar: Bar | None = None
    """What the link is made of; None: a matrix from elsewhere."""
    on: int | None = None
    """Of a link on a fixed joint: the compliance at whose tip it begins. None: it is the body's own link."""


@dataclass(frozen=True)
class Spherical:
    """A spherical parallel manipulator of three legs u, v, w about the centre O, the base frame's origin."""

    arcs: Floats
    """(3, 2) of each leg's proximal and distal link: the angles alpha1 between u and v, alpha2 between v and w, rad."""
    radii: Floats
    """(3, 2) of the midlines of each leg's proximal and distal link, m."""
    beta: float
    """Angle of the platform's pyramid: between its axis and each w, rad."""
    gamma: float
    """Angle of the base's pyramid: between its axis and each u, rad."""
    modes: tuple[int, int, int]
    """Working mode of each leg: the sign of (u x v) . w."""

    @property
    def alpha1(self) -> float:
        """The arc of all proximal links, rad; InputError where they differ."""
        return self._common(self.arcs[:, 0], "arcs of the proximal links")

    @property
    def alpha2(self) -> float:
        """The arc of all distal links, rad; InputError where they differ."""
        return self._common(self.arcs[:, 1], "arcs of the distal links")

    @property
    def R(self) -> float:
        """The radius of all links, m; InputError where they differ."""
        return self._common(self.radii, "radii of the links")

    @staticmethod
    def _common(values: Floats, what: str) -> float:
        if np.ptp(values) > 0.0:
            raise InputError(f"the {what} differ from leg to leg; look at `arcs` and `radii`")
        return float(values.flat[0])


@dataclass(frozen=True)
class Mechanism:
    """A tree of n bodies, each carried by one joint; parents come before their children."""

    name: str
    description: str
    joint_names: tuple[str, ...]
    body_names: tuple[str, ...]
    parent: Ints
    """(n,) index of the parent body, BASE for the base."""
    joint_type: Ints
    """(n,) REVOLUTE or PRISMATIC."""
    R: Floats
    """(n, 3, 3) rotation of joint frame j in its parent's frame at q_j = 0."""
    p: Floats
    """(n, 3) origin of joint frame j in its parent's frame at q_j = 0, m."""
    M: Floats
    """(n,) masses, kg."""
    MS: Floats
    """(n, 3) first moments (mass times centre of mass) in body frame, kg m."""
    J: Floats
    """(n, 3, 3) inertia about the body frame's origin, kg m^2."""
    Ia: Floats
    """(n,) rotor inertia reflected to the joint, kg m^2 or kg."""
    Fv: Floats
    """(n,) viscous friction at the joint, N m s/rad or N s/m."""
    Fs: Floats
    """(n,) Coulomb friction at the joint, N m or N."""
    stiffness: Floats
    """(n,) joint stiffness K_theta for Cartesian stiffness, N m/rad or N/m, inf where rigid."""
    position_limits: Floats
    """(n, 2), inf where there is none."""
    velocity_limits: Floats
    effort_limits: Floats
    active: Bools
    """(n,) whether a joint is driven."""
    gravity: Floats
    """(3,) acceleration of gravity in the base frame, m/s^2."""
    frames: tuple[Frame, ...]
    """The links' described frames in joint order, further named frames, and "tool" last."""
    motors: Motors | None = None
    base: FloatingBase | None = None
    """A floating base; None: the base is fixed. gravity is then in the axes of the world."""
    springs: Springs | None = None
    spring_dampers: tuple[SpringDamper, ...] = ()
    """Springs and dampers between links."""
    loops: tuple[Loop, ...] = ()
    """Cut joints that close chains."""
    assembly: Floats | None = None
    """(n,) a configuration near which the loops are closed: it says which of several assembly modes is meant."""
    beams: tuple[Beam, ...] = ()
    """Links that bend, in a FlexibleMechanism; robots take all links as rigid."""
    mimic: Mimic | None = None
    """Joints that follow others, in a MimicRobot; other robots take all joints as independent."""
    compliances: tuple[Compliance, ...] = ()
    """Compliant links, for the Cartesian stiffness; everything else takes links as rigid."""
    joint_tips: Ints | None = None
    """(n,) the compliance of a link on a fixed joint that carries each joint, OWN_LINK elsewhere; None: everywhere."""
    spherical: Spherical | None = None
    """The angles of a spherical parallel manipulator, whose tree and loops this mechanism is."""
    platform: int | None = None
    """The body that the legs of a parallel robot carry; the other branches of the base are its legs."""

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joint_names)

    @property
    def elastic(self) -> Bools:
        """(n,) which joints are elastic."""
        return np.zeros(self.n, np.bool_) if self.springs is None else self.springs.K > 0.0

    def __post_init__(self) -> None:
        n = self.n
        shapes = {
            "parent": (n,), "joint_type": (n,), "R": (n, 3, 3), "p": (n, 3), "M": (n,), "MS": (n, 3),
            "J": (n, 3, 3), "Ia": (n,), "Fv": (n,), "Fs": (n,), "stiffness": (n,), "position_limits": (n, 2),
            "velocity_limits": (n,), "effort_limits": (n,), "active": (n,), "gravity": (3,),
        }  # fmt: skip
        for field, shape in shapes.items():
            found = np.shape(getattr(self, field))
            if found != shape:
                raise InputError(f"{self.name}: {field} has shape {found}, expected {shape}")
        if len(self.body_names) != n:
            raise InputError(f"{self.name}: {len(self.body_names)} body names for {n} joints")
        if not all(BASE <= parent < j for j, parent in enumerate(self.parent)):
            raise InputError(f"{self.name}: a body's parent must come before it (parent = {list(self.parent)})")
        for part in ("motors", "springs", "mimic"):
            arrays = getattr(self, part)
            for array in () if arrays is None else fields(arrays):
                found = np.shape(getattr(arrays, array.name))
                if found != (n,):
                    raise InputError(f"{self.name}: {part}.{array.name} has shape {found}, expected {(n,)}")
        leader = np.arange(n) if self.mimic is None else self.mimic.leader
        if (leader[leader] != leader).any():
            raise InputError(f"{self.name}: a joint follows one that follows another (leader = {list(leader)})")

    def frame(self, name: str) -> Frame:
        """The frame of that name."""
        for frame in self.frames:
            if frame.name == name:
                return frame
        raise InputError(f"{self.name} has no frame '{name}'; it has {', '.join(f.name for f in self.frames)}")
