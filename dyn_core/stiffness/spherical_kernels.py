"""Stiffness of spherical parallel manipulators, after Wu, Bai and Kepler: kernels.

A leg passes on a force at O and a moment along n = v x w (what its passive joints let through), four numbers l. They
cost the energy l^T c l / 2, the sum over actuator and links, and so K_i = W c^-1 W^T with W = [1 0; 0 n]: the first
block of (15) without a 6 x 6 inverse. K = sum K_i (16) has a null direction exactly where the three n lie in a plane:
there a turn about that plane's normal loads no leg.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.linear_solvers import backwards, cholesky, forwards
from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import OK
from dyn_core.mechanism import Spherical
from dyn_core.spatial.spherical_linkage import GEOMETRY_WIDTH, W0, U, leg_angle, leg_geometry
from dyn_core.spatial.tuples import cross, dot, load3, load9, rotate, scale, store3

# one row per leg, behind its geometry
RADIUS = GEOMETRY_WIDTH
C_ACT = RADIUS + 1  # 1 / K_act
C1 = C_ACT + 1  # compliance of the proximal link, 36
C2 = C1 + 36  # of the distal link, 36
RIGID = C2 + 36  # 1: both links are rigid
LEG_WIDTH = RIGID + 1

REACHED, UNREACHABLE, SINGULAR, NOT_A_ROTATION = 0, 1, 2, 3
"""What a kernel found: no position of a leg exists; the legs leave the platform loose; the input is no rotation."""
TURNED = 1e-6  # by which a given rotation may differ from an orthogonal matrix
FLAT = 1e-6  # |det(n1, n2, n3)| below which the platform is loose


def pack_legs(s: Spherical, K_act: Floats, proximal: Floats, distal: Floats) -> Floats:
    """The record (3, LEG_WIDTH): geometry, actuator stiffnesses (3,), compliances (6, 6) of the links at their tips."""
    legs = np.zeros((3, LEG_WIDTH))
    legs[:, :GEOMETRY_WIDTH] = leg_geometry(s.alpha1, s.alpha2, s.beta, s.gamma, s.modes)
    legs[:, RADIUS], legs[:, C_ACT] = s.R, 1.0 / K_act
    legs[:, C1:C2], legs[:, C2:RIGID] = proximal.ravel(), distal.ravel()
    legs[:, RIGID] = float(not proximal.any() and not distal.any())
    return legs


@kernel
def unit_normal(a, b):
    """a x b, scaled to length 1."""
    n = cross(a, b)
    return scale(1.0 / sqrt(dot(n, n)), n)


@kernel
def beam_loads(leg, a, t, n_leg, B):
    """B (6, 4): wrench at the tip of a beam from a to t, in its tip axes, per force at O (three) and moment n_leg."""
    n = unit_normal(a, t)
    r = cross(t, n)
    R = leg[RADIUS]
    for k in range(3):
        f = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        m = scale(-R, cross(t, f))
        B[0, k], B[1, k], B[2, k] = r[k], t[k], n[k]
        B[3, k], B[4, k], B[5, k] = dot(r, m), dot(t, m), dot(n, m)
        B[k, 3] = 0.0
    B[3, 3], B[4, 3], B[5, 3] = dot(r, n_leg), dot(t, n_leg), dot(n, n_leg)


@kernel
def add_energy(leg, first, B, c):
    """Lower triangle of c (4, 4) += B^T C B with the compliance C that begins at `first` in the leg's row."""
    for j in range(4):
        for k in range(6):
            s = 0.0
            for l in range(6):
                s += leg[first + 6 * k + l] * B[l, j]
            for i in range(j + 1):
                c[j, i] += B[k, i] * s


@kernel
def add_leg(leg, v, w, n, c, B, K):
    """K (6, 6) += K_i of a leg with n = v x w, of length 1."""
    u = load3(leg, U)
    for i in range(4):
        for j in range(4):
            c[i, j] = 0.0
    along = dot(n, u)
    c[3, 3] = leg[C_ACT] * along * along
    beam_loads(leg, u, v, n, B)
    add_energy(leg, C1, B, c)
    beam_loads(leg, v, w, n, B)
    add_energy(leg, C2, B, c)
    # with c = L L^T, the rows of B become those of W L^-T, and K_i = B B^T
    if cholesky(c) != OK:
        c[3, 3] = np.nan  # and so K
    for row in range(6):
        for i in range(3):
            B[row, i] = 1.0 if row == i else 0.0
        B[row, 3] = n[row - 3] if row >= 3 else 0.0
        forwards(c, B[row])
    for i in range(6):
        for j in range(6):
            K[i, j] += B[i, 0] * B[j, 0] + B[i, 1] * B[j, 1] + B[i, 2] * B[j, 2] + B[i, 3] * B[j, 3]


@kernel
def stiffness_at(legs, Q, q, V, c, B, K):
    """K (6, 6) at O, joint angles q (3,), and V (3, 6) with v and n of each leg; the status.

    Where both links are rigid only the rotational block is finite and filled: J^T K_act J with (5).
    """
    for i in range(6):
        for j in range(6):
            K[i, j] = 0.0
    for i in range(3):
        leg = legs[i]
        w = rotate(Q, load3(leg, W0))
        theta, v, reached = leg_angle(leg, w)
        if not reached:
            return UNREACHABLE
        q[i] = theta
        n = unit_normal(v, w)
        store3(V[i], 0, v)
        store3(V[i], 3, n)
        if leg[RIGID] == 0.0:
            add_leg(leg, v, w, n, c, B, K)
        else:
            along = dot(n, load3(leg, U))
            k = 1.0 / (leg[C_ACT] * along * along)
            for a in range(3):
                for b in range(3):
                    K[3 + a, 3 + b] += k * n[a] * n[b]
    flat = dot(load3(V[0], 3), cross(load3(V[1], 3), load3(V[2], 3)))
    return SINGULAR if abs(flat) < FLAT else REACHED


@kernel
def is_rotation(Q):
    """Whether the rows of Q (9 numbers) are unit vectors at right angles, and right-handed."""
    x, y, z = (Q[0], Q[1], Q[2]), (Q[3], Q[4], Q[5]), (Q[6], Q[7], Q[8])
    off = abs(dot(x, y)) + abs(dot(y, z)) + abs(dot(z, x))
    off += abs(dot(x, x) - 1.0) + abs(dot(y, y) - 1.0) + abs(dot(z, z) - 1.0)
    return off < 10.0 * TURNED and dot(x, cross(y, z)) > 0.0


@entry
def stiffness_single(legs, Q, work, K):
    """As `stiffness_at`, with the rotation Q (3, 3); work (14, 6) is scratch space whose rows 10 to 12 are then V."""
    if Q.shape[0] != 3 or Q.shape[1] != 3:
        return NOT_A_ROTATION
    turn = (Q[0, 0], Q[0, 1], Q[0, 2], Q[1, 0], Q[1, 1], Q[1, 2], Q[2, 0], Q[2, 1], Q[2, 2])
    if not is_rotation(turn):
        return NOT_A_ROTATION
    return stiffness_at(legs, turn, work[13], work[10:13], work[:4], work[4:10], K)


@entry
def deflections_batch(legs, Q, wrenches, out, status):
    """out (m, w, 6): deflections at O under wrenches (w, 6) at orientations Q (m, 9); NaN where there is none."""
    q, V = np.empty(3), np.empty((3, 6))
    c, B, K = np.empty((4, 4)), np.empty((6, 4)), np.empty((6, 6))
    first = 3 if legs[0, RIGID] != 0.0 else 0  # rows before it are rigid
    held = K[first:, first:]
    for m in range(Q.shape[0]):
        status[m] = stiffness_at(legs, load9(Q[m], 0), q, V, c, B, K)
        solved = status[m] == REACHED and cholesky(held) == OK
        for k in range(wrenches.shape[0]):
            x = out[m, k]
            for i in range(6):
                x[i] = (wrenches[k, i] if i >= first else 0.0) if solved else np.nan
            if solved:
                forwards(held, x[first:])
                backwards(held, x[first:])
    return 0


@entry
def stiffness_batch(legs, Q, q, K, status):
    """K (m, 6, 6) at O and joint angles q (m, 3) at orientations Q (m, 9); NaN where there are none."""
    V, c, B = np.empty((3, 6)), np.empty((4, 4)), np.empty((6, 4))
    for m in range(Q.shape[0]):
        status[m] = stiffness_at(legs, load9(Q[m], 0), q[m], V, c, B, K[m])
        if status[m] == UNREACHABLE:
            for i in range(6):
                for j in range(6):
                    K[m, i, j] = np.nan
            for i in range(3):
                q[m, i] = np.nan
    return 0
