"""The record: the one array that a tree kernel reads, and its scratch space.

Row 0 is the base, row j + 1 is body j. A row holds the body's constants and, behind them, what the recursions leave
there: everything that one step of a recursion touches lies together, and a kernel needs a single model argument. A
thread that runs kernels needs a record of its own (`record.copy()`).
"""

from __future__ import annotations

import numpy as np

from ..jit import kernel
from ..mechanism import PRISMATIC, Floats, Mechanism
from ..spatial import load3, load9, scale, store3, store9, turned_about_z

# constants of a body
PARENT = 0  # row of the parent
SIGMA = 1  # 0 revolute, 1 prismatic
T = 2  # placement: rotation (9) ...
P = 11  # ... and origin (3) in the parent's frame at q = 0
M = 14
MS = 15  # 3
J = 18  # 6, symmetric
IA = 24
FV = 25
FS = 26
VS = 27  # speed below which Coulomb friction fades linearly to zero; 0: the exact sign function

# what the joints' positions give
A = 28  # rotation (9) of the body in its parent's frame
L = 37  # origin (3) in its parent's frame
RW = 40  # rotation (9) of the body in the base frame
PW = 49  # origin (3) in the base frame

# what the recursions leave
W = 52  # angular velocity (3)
WD = 55  # angular acceleration (3)
VD = 58  # acceleration of the origin (3), less gravity
F = 61  # force (3)
N = 64  # moment (3)
IM = 67  # composite or articulated inertia: linear block (6, symmetric; composite bodies use one) ...
IB = 73  # ... linear-angular block (9; composite bodies: first moments, 3)
IJ = 82  # ... angular block (6, symmetric)
GF = 88  # velocity-dependent acceleration: linear (3) ...
GM = 91  # ... and angular (3)
UF = 94  # articulated inertia times joint axis: force (3) ...
UM = 97  # ... and moment (3)
D = 100  # its joint component, with rotor inertia
U = 101  # joint force left after the bias
WIDTH = 102

# the base row keeps gravity where a body keeps its placement's origin
GRAVITY = P


def pack(mechanism: Mechanism) -> Floats:
    """The record (n + 1, WIDTH) of a mechanism."""
    n = mechanism.n
    record = np.zeros((n + 1, WIDTH))
    record[0, GRAVITY : GRAVITY + 3] = mechanism.gravity
    record[0, RW : RW + 9] = np.eye(3).ravel()
    body = record[1:]
    body[:, PARENT] = mechanism.parent + 1
    body[:, SIGMA] = mechanism.joint_type
    body[:, T : T + 9] = mechanism.R.reshape(n, 9)
    body[:, P : P + 3] = mechanism.p
    body[:, M] = mechanism.M
    body[:, MS : MS + 3] = mechanism.MS
    rows, columns = np.triu_indices(3)
    body[:, J : J + 6] = mechanism.J[:, rows, columns]
    body[:, IA] = mechanism.Ia
    body[:, FV] = mechanism.Fv
    body[:, FS] = mechanism.Fs
    return record


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
        if abs(qd) < row[VS]:
            fs *= qd / row[VS]
        elif qd < 0.0:
            fs = -fs
        elif qd == 0.0:
            fs = 0.0
    return row[FV] * qd + fs


@kernel
def start_base(record, gravity_factor):
    """Rest, and the acceleration that stands for gravity, at the base."""
    base = record[0]
    store3(base, VD, scale(-gravity_factor, load3(base, GRAVITY)))


OK = 0
WRONG_SHAPE = 1
NOT_FINITE = 2
SINGULAR = 3
