"""Kinematics and dynamics of parallel robots over platform and legs (Khalil, section 5), in the platform's own pose.

The platform has a pose (position and unit quaternion) and f freedoms nu: its twist is V = S nu, the velocity of its
frame's origin and its angular velocity in base axes; S is the identity, or picks a plane. Leg i has as many joints as
the cut joint that ties it to the platform forbids motions, so that its constraints

    phi_i(q_i, pose) = 0,   C_i qd_i + D_i V = 0,   C_i qdd_i + D_i Vd + bias_i = 0

give qd_i = E_i nu with E_i = -C_i^-1 D_i S, Khalil's J_i^-1 J_vi of (62). The rows of E that belong to active joints
are the inverse of the robot's Jacobian, K: qd_a = K nu. Then

    Gamma = K^-T [S^T F_p + sum_i E_i^T Gamma_i]                                          (66)
    A_x = S^T M_p S + sum_i E_i^T A_i E_i,   A_x nud = K^T Gamma - h,   A_c = K^-T A_x K^-1

F_p being the platform's wrench by Newton and Euler, Gamma_i the leg's inverse model, h the bracket of (66) at nud = 0.
No Euler angle occurs. A leg whose C_i is singular is stretched or folded; where K is singular the active joints hold
the platform no longer.

The record holds the base, the K joints of all legs, the platform, and force elements.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import uncounted
from dyn_core.spatial.tuples import load3, quaternion_rotation, store3, store9

from ..tree.record import PW, RW

JOINT, JOINTS, ROW, AIMED, TURN, TILT, LENGTH, POINT, SIGN, FLIPPED, LEG_WIDTH = 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12
"""Columns of a leg: its first joint and how many, its first row, whether it is a universal joint and a slide that aim
at a point of the platform (then the angles and the length at which its joints are zero, and the point), and the sign
of det C_i; whether it aims the other way round, turned by half a turn and tilted over. SLIDES: a leg that aims, of
which no other joint than the slide is active."""
AIMS, SLIDES = 1.0, 2.0
LARGEST_LEG = 6  # joints
ITERATIONS = 30
QD, QDD, G0, GAMMA, OPENING = range(5)  # rows of vectors


class Parallel(NamedTuple):
    """What kernels read of a parallel robot, and their scratch memory."""

    rows: Floats
    """(r, ROW_WIDTH) all constraints, leg by leg."""
    legs: Floats
    """(m, LEG_WIDTH)."""
    active: Floats
    """(f,) which joints are active."""
    S: Floats
    """(6, f)."""
    numbers: Floats
    """(2,) characteristic length, sign of det K."""
    known: Floats
    """(7,) the pose of the platform that the factors of the inverse Jacobian belong to, NaN where there are none."""
    at: Floats
    """(K + 7,) where it stands: joints of the legs, and position and quaternion of the platform."""
    kept: Floats
    """(K + 7,)."""
    vectors: Floats
    """(5, K) speeds, accelerations, these at nud = 0, forces, and by how much joints miss where their legs close."""
    phi: Floats
    """(r,)."""
    C: Floats
    """(K, LARGEST_LEG) LU factors of the legs' C_i, one below the other."""
    pivots: Floats
    """(K,)."""
    D: Floats
    """(LARGEST_LEG, 6)."""
    line: Floats
    """(K,)."""
    E: Floats
    """(K, f)."""
    K: Floats
    """(f, f) LU factors of the inverse Jacobian."""
    exchange: Floats
    """(f,) its pivots."""
    inverse: Floats
    """(f, f) the inverse Jacobian itself."""
    nu: Floats
    """(4, f) twist, its rate, force on the platform, scratch."""
    A: Floats
    """(K, K)."""
    A_x: Floats
    """(f, f)."""


NU, NUD, FORCE, STEP = range(4)


def parallel(rows: Floats, legs: Floats, active: Floats, S: Floats, numbers: Floats, start: Floats) -> Parallel:
    """A Parallel with scratch of its own, at a configuration start (K + 7,)."""
    n, f, r = len(start) - 7, len(active), len(rows)
    return Parallel(
        rows, legs, active, S, numbers, np.full(7, np.nan), start.copy(), start.copy(),
        np.zeros((5, n)), np.zeros(r),
        np.zeros((n, LARGEST_LEG)), np.zeros(n), np.zeros((LARGEST_LEG, 6)), np.zeros(n), np.zeros((n, f)),
        np.zeros((f, f)), np.zeros(f), np.zeros((f, f)), np.zeros((4, f)), np.zeros((n, n)), np.zeros((f, f)),
    )  # fmt: skip


@uncounted
def copy(source, out):
    """out (k,) = source."""
    for k in range(out.shape[0]):
        out[k] = source[k]


@uncounted
def stand(record, at):
    """Put the platform where `at` has it."""
    n = at.shape[0] - 7
    row = record[n + 1]
    store9(row, RW, quaternion_rotation((at[n + 3], at[n + 4], at[n + 5], at[n + 6])))
    store3(row, PW, load3(at, n))


@uncounted
def twist(par, nu):
    """S nu as two vectors."""
    v0, v1, v2, w0, w1, w2 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for c in range(nu.shape[0]):
        v0 += par.S[0, c] * nu[c]
        v1 += par.S[1, c] * nu[c]
        v2 += par.S[2, c] * nu[c]
        w0 += par.S[3, c] * nu[c]
        w1 += par.S[4, c] * nu[c]
        w2 += par.S[5, c] * nu[c]
    return (v0, v1, v2), (w0, w1, w2)


@uncounted
def along_freedoms(par, force, moment, out):
    """out (f,) = S^T [force, moment]."""
    f = par.active.shape[0]
    if f == 6:
        store3(out, 0, force)
        store3(out, 3, moment)
        return
    for c in range(f):
        out[c] = 0.0
        for k in range(3):
            out[c] += par.S[k, c] * force[k] + par.S[3 + k, c] * moment[k]
