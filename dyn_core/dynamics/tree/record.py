"""The record: the one array that a tree kernel reads, and its scratch space.

Row 0 is the base, row j + 1 is body j; behind the bodies come the force elements, if any. A body's row holds its
constants and, behind them, what the recursions leave there: everything that one step of a recursion touches lies
together, and a kernel needs a single model argument. A thread that runs kernels needs a record of its own
(`record.copy()`).
"""

from __future__ import annotations

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import kernel
from dyn_core.mechanism import BASE, PRISMATIC, Loop, Mechanism, SpringDamper
from dyn_core.spatial.tuples import load3, load9, scale, store3, store9, turned_about_z

# constants of a body
PARENT = 0  # row of the parent
SIGMA = 1  # 0 revolute, 1 prismatic, FREE for a platform that no joint carries
T = 2  # placement: rotation (9) ...
P = 11  # ... and origin (3) in the parent's frame at q = 0
M = 14
MS = 15  # 3
J = 18  # 6, symmetric
IA = 24
FV = 25
FS = 26
VS = 27  # speed below which Coulomb friction fades linearly to zero; 0: the exact sign function
KS = 28  # stiffness of an elastic joint; 0: rigid
Q0 = 29  # its rest position

# what the joints' positions give
A = 30  # rotation (9) of the body in its parent's frame
L = 39  # origin (3) in its parent's frame
RW = 42  # rotation (9) of the body in the base frame
PW = 51  # origin (3) in the base frame

# what the recursions leave
W = 54  # angular velocity (3)
WD = 57  # angular acceleration (3)
VD = 60  # acceleration of the origin (3), less gravity
F = 63  # force (3)
N = 66  # moment (3)
IM = 69  # composite or articulated inertia: linear block (6, symmetric; composite bodies use one) ...
IB = 75  # ... linear-angular block (9; composite bodies: first moments, 3)
IJ = 84  # ... angular block (6, symmetric)
GF = 90  # velocity-dependent acceleration: linear (3) ...
GM = 93  # ... and angular (3)
UF = 96  # articulated inertia times joint axis: force (3) ...
UM = 99  # ... and moment (3)
D = 102  # its joint component, with rotor inertia
U = 103  # joint force left after the bias
WIDTH = 104

# what other passes keep there, none of which runs between two recursions
V = GF  # velocity of the body's origin, in its own axes
SPEED = U  # rate of the joint, for force elements

# the base row keeps gravity where a body keeps its placement's origin, and whether it floats where a body keeps sigma
GRAVITY = P
FLOATING = SIGMA
ELEMENTS = PARENT  # and how many rows of force elements end the record where a body keeps its parent's row
FREE = 2  # sigma

# constants of a force element; FV, FS, VS, KS and Q0 are those of its coordinate, as of a joint's
FIRST, KIND, SECOND = 0, 1, 2  # rows of its two bodies, WORLD beyond a floating base; what its coordinate is
LENGTH, TURN, SLIDE = 0, 1, 2  # kinds: distance of the frames' origins, angle about z, displacement along z
FLOOR = 3  # m^2, added to the square of a length: what has no rest length may be without length
FRAMES = 30  # two frames: rotation (9) and origin (3) in their bodies
WORLD_ROW = -1
SMALLEST_SQUARE = 1e-300


def pack(mechanism: Mechanism) -> Floats:
    """The record (n + 1 + e, WIDTH) of a mechanism with e force elements."""
    n = mechanism.n
    elements = packed_elements(mechanism)
    record = np.zeros((n + 1 + len(elements), WIDTH))
    record[n + 1 :] = elements
    record[0, ELEMENTS] = len(elements)
    record[0, GRAVITY : GRAVITY + 3] = mechanism.gravity
    record[0, RW : RW + 9] = np.eye(3).ravel()
    rows, columns = np.triu_indices(3)
    if mechanism.base is not None:
        record[0, FLOATING] = 1.0
        record[0, M] = mechanism.base.M
        record[0, MS : MS + 3] = mechanism.base.MS
        record[0, J : J + 6] = mechanism.base.J[rows, columns]
    body = record[1 : n + 1]
    body[:, PARENT] = mechanism.parent + 1
    body[:, SIGMA] = mechanism.joint_type
    body[:, T : T + 9] = mechanism.R.reshape(n, 9)
    body[:, P : P + 3] = mechanism.p
    body[:, M] = mechanism.M
    body[:, MS : MS + 3] = mechanism.MS
    body[:, J : J + 6] = mechanism.J[:, rows, columns]
    body[:, IA] = mechanism.Ia
    body[:, FV] = mechanism.Fv
    body[:, FS] = mechanism.Fs
    if mechanism.springs is not None:
        body[:, KS] = mechanism.springs.K
        body[:, Q0] = mechanism.springs.rest
    return record


def packed_elements(m: Mechanism) -> Floats:
    """Rows (e, WIDTH) of the force elements: springs and dampers between links, and what acts in the cut joints."""
    found: list[tuple[int, SpringDamper | Loop, tuple[float, ...]]] = []
    for each in m.spring_dampers:
        found.append((LENGTH, each, (each.damping, 0.0, 0.0, each.stiffness, each.rest)))
    for loop in m.loops:
        for kind, forces in ((TURN, loop.turning), (SLIDE, loop.sliding)):
            if forces is not None:
                found.append((kind, loop, (forces.Fv, forces.Fs, 0.0, forces.K, forces.rest)))
    lowest = BASE + 1 if m.base is None else WORLD_ROW
    rows = np.zeros((len(found), WIDTH))
    for row, (kind, between, acts) in zip(rows, found, strict=True):
        ends = between.first, between.second
        row[FIRST], row[SECOND] = (max(end.body + 1, lowest) for end in ends)
        row[KIND], row[FV : Q0 + 1] = kind, acts
        row[FLOOR] = SMALLEST_SQUARE if row[Q0] == 0.0 else 0.0
        row[FRAMES : FRAMES + 24] = np.concatenate([np.append(end.R, end.p) for end in ends])
    return rows


@kernel
def place(row, q):
    """Rotation and origin of a body in its parent's frame at joint position q, kept in its row."""
    t = load9(row, T)
    if row[SIGMA] == PRISMATIC:
        a = t
        x, y, z = load3(row, P)
        p = (x + q * t[2], y + q * t[5], z + q * t[8])
    else:
        a = turned_about_z(t, q)
        p = load3(row, P)
    store9(row, A, a)
    store3(row, L, p)
    return a, p


@kernel
def friction(row, qd):
    """Fv q' + Fs sign(q'), the sign fading linearly to zero below the speed VS."""
    fs = row[FS]
    if fs != 0.0:
        if row[VS] > 0.0:
            fs *= max(-1.0, min(1.0, qd / row[VS]))
        else:
            fs *= 1.0 * (qd > 0.0) - 1.0 * (qd < 0.0)
    return row[FV] * qd + fs


@kernel
def passive_force(row, q, qd):
    """What a joint's driving force must overcome besides the bodies: friction and the spring."""
    return friction(row, qd) + row[KS] * (q - row[Q0])


@kernel
def start_fixed(record, gravity_factor):
    """A base at rest, with the acceleration that stands for gravity."""
    store3(record[0], VD, scale(-gravity_factor, load3(record[0], GRAVITY)))


@kernel
def wrench_on(wrenches, n, j):
    """Force and moment on body j (-1: the base) from wrenches of shape (n, 6), or (n + 1, 6) with the base first."""
    k = j + wrenches.shape[0] - n
    return (wrenches[k, 0], wrenches[k, 1], wrenches[k, 2]), (wrenches[k, 3], wrenches[k, 4], wrenches[k, 5])
