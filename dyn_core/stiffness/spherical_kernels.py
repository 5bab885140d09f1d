"""Stiffness of spherical parallel manipulators, after Wu, Bai and Kepler: kernels.

A leg passes on a force at O and a moment along n = v x w (what its passive joints let through), four numbers l. They
cost the energy l^T c l / 2, the sum over actuator and links, and so K_i = W c^-1 W^T with W = [1 0; 0 n]: the first
block of (15) without a 6 x 6 inverse. The factors B_i^T with K_i = B_i B_i^T stand below one another in S (12, 6), so
that K = S^T S (16); what is solved is solved with S, whose condition is the root of K's. The null directions of K are
the turns across all three n: they load no leg.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.linear_solvers import cholesky, forwards
from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import OK
from dyn_core.mechanism import Spherical
from dyn_core.spatial.spherical_linkage import GEOMETRY_WIDTH, W0, U, leg_angle, leg_geometry
from dyn_core.spatial.tuples import cross, dot, load3, load9, rotate, scale, store3

# one row per leg, behind its geometry
RADIUS1 = GEOMETRY_WIDTH  # of the proximal link
RADIUS2 = RADIUS1 + 1  # of the distal link
C_ACT = RADIUS2 + 1  # 1 / K_act
C1 = C_ACT + 1  # compliance of the proximal link, 36
C2 = C1 + 36  # of the distal link, 36
RIGID = C2 + 36  # 1: the links of all legs are rigid
LEG_WIDTH = RIGID + 1

REACHED, UNREACHABLE, SINGULAR, NOT_A_ROTATION = 0, 1, 2, 3
"""What a kernel found: no position of a leg exists; the legs leave the platform loose; the input is no rotation."""
TURNED = 1e-6  # by which a given rotation may differ from an orthogonal matrix
LOOSE = 1e-7  # smallest singular value of (n1, n2, n3) below which it counts as 0: what a folded leg's rounding leaves
NO_ENERGY = 1e-13  # part of a leg's compliance below which it is rigid in a direction


def pack_legs(s: Spherical, K_act: Floats, proximal: Floats, distal: Floats) -> Floats:
    """The record (3, LEG_WIDTH): geometry, actuator stiffnesses (3,), compliances (3, 6, 6) of links at their tips."""
    legs = np.zeros((3, LEG_WIDTH))
    legs[:, :GEOMETRY_WIDTH] = leg_geometry(s.arcs, s.beta, s.gamma, s.modes)
    legs[:, RADIUS1 : RADIUS2 + 1], legs[:, C_ACT] = s.radii, 1.0 / K_act
    legs[:, C1:C2], legs[:, C2:RIGID] = proximal.reshape(3, 36), distal.reshape(3, 36)
    legs[:, RIGID] = float(not proximal.any() and not distal.any())
    return legs


@kernel
def unit_normal(a, b):
    """a x b, scaled to length 1."""
    n = cross(a, b)
    return scale(1.0 / sqrt(dot(n, n)), n)


@kernel
def beam_loads(R, a, t, n_leg, B):
    """B (6, 4): wrench at the tip of a beam from a to t of radius R, in its tip axes, per force at O (three) and moment
    n_leg."""
    n = unit_normal(a, t)
    r = cross(t, n)
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
def leg_factor(leg, v, w, n, c, B):
    """B (6, 4) with K_i = B B^T of a leg with n = v x w, of length 1; NaN where the leg is rigid in some direction."""
    u = load3(leg, U)
    for i in range(4):
        for j in range(4):
            c[i, j] = 0.0
    along = dot(n, u)
    c[3, 3] = leg[C_ACT] * along * along
    beam_loads(leg[RADIUS1], u, v, n, B)
    add_energy(leg, C1, B, c)
    beam_loads(leg[RADIUS2], v, w, n, B)
    add_energy(leg, C2, B, c)
    sizes = (c[0, 0], c[1, 1], c[2, 2], c[3, 3])
    # with c = L L^T, the rows of B become those of W L^-T
    held = cholesky(c) == OK
    for i in range(4):
        held = held and c[i, i] * c[i, i] > NO_ENERGY * sizes[i]
    for row in range(6):
        for i in range(3):
            B[row, i] = 1.0 if row == i else 0.0
        B[row, 3] = n[row - 3] if row >= 3 else 0.0
        if held:
            forwards(c, B[row, :4])
        else:
            B[row, 0] = np.nan


@kernel
def is_loose(a, b, c):
    """Whether three unit vectors span less than the space: their smallest singular value is 0 but for rounding.

    Their products a x b and so on are the rows of the cofactors, whose singular values are s1 s2, s1 s3, s2 s3; the
    determinant is s1 s2 s3, and s1 lies between 1 and sqrt(3).
    """
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    areas = sqrt(dot(bc, bc) + dot(ca, ca) + dot(ab, ab))
    return areas < LOOSE or abs(dot(a, bc)) < LOOSE * areas


@kernel
def stiffness_at(legs, Q, q, V, c, B, S):
    """S (12, 6) with K = S^T S at O, joint angles q (3,), and V (3, 6) with v and n of each leg; the status.

    Where all links are rigid only the rotational columns are finite and filled: K_act J with (5).
    """
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
            leg_factor(leg, v, w, n, c, B)
            for j in range(4):
                for k in range(6):
                    S[4 * i + j, k] = B[k, j]
        else:
            size = sqrt(leg[C_ACT]) * abs(dot(n, load3(leg, U)))
            for j in range(4):
                for k in range(6):
                    S[4 * i + j, k] = n[k - 3] / size if j == 3 and k >= 3 and size > 0.0 else 0.0
            if not size > 0.0:
                S[4 * i + 3, 3] = np.nan
    return SINGULAR if is_loose(load3(V[0], 3), load3(V[1], 3), load3(V[2], 3)) else REACHED


@kernel
def upper_factor(S, first):
    """S (12, 6) becomes [R; 0] in rows and columns from `first` on, by reflections: S^T S = R^T R; whether regular."""
    for k in range(first, 6):
        size = 0.0
        for i in range(k, 12):
            size += S[i, k] * S[i, k]
        size = sqrt(size)
        if not (size > 0.0 and size < np.inf):
            return False
        head = S[k, k] + size if S[k, k] > 0.0 else S[k, k] - size
        scale_k = size * abs(head)
        for j in range(k + 1, 6):
            s = head * S[k, j]
            for i in range(k + 1, 12):
                s += S[i, k] * S[i, j]
            s /= scale_k
            S[k, j] -= s * head
            for i in range(k + 1, 12):
                S[i, j] -= s * S[i, k]
        S[k, k] = -size if head > 0.0 else size
    return True


@kernel
def twice_solved(R, first, x):
    """x becomes (R^T R)^-1 x, in what `upper_factor` left, from `first` on."""
    for i in range(first, 6):
        for k in range(first, i):
            x[i] -= R[k, i] * x[k]
        x[i] /= R[i, i]
    for i in range(5, first - 1, -1):
        for k in range(i + 1, 6):
            x[i] -= R[i, k] * x[k]
        x[i] /= R[i, i]


@kernel
def stiffness_of(S, K):
    """K (6, 6) = S^T S."""
    for i in range(6):
        for j in range(6):
            s = 0.0
            for k in range(12):
                s += S[k, i] * S[k, j]
            K[i, j] = s


@kernel
def is_rotation(Q):
    """Whether the rows of Q (9 numbers) are unit vectors at right angles, and right-handed."""
    x, y, z = (Q[0], Q[1], Q[2]), (Q[3], Q[4], Q[5]), (Q[6], Q[7], Q[8])
    off = abs(dot(x, y)) + abs(dot(y, z)) + abs(dot(z, x))
    off += abs(dot(x, x) - 1.0) + abs(dot(y, y) - 1.0) + abs(dot(z, z) - 1.0)
    return off < 10.0 * TURNED and dot(x, cross(y, z)) > 0.0


@entry
def stiffness_single(legs, Q, work, K):
    """K (6, 6) at O at a rotation Q (3, 3) of the platform; the status.

    work (26, 6) is scratch space, whose rows 10 to 12 are then V and rows 14 to 25 are S of `stiffness_at`.
    """
    if Q.shape[0] != 3 or Q.shape[1] != 3:
        return NOT_A_ROTATION
    turn = (Q[0, 0], Q[0, 1], Q[0, 2], Q[1, 0], Q[1, 1], Q[1, 2], Q[2, 0], Q[2, 1], Q[2, 2])
    if not is_rotation(turn):
        return NOT_A_ROTATION
    status = stiffness_at(legs, turn, work[13], work[10:13], work[:4], work[4:10], work[14:])
    if status != UNREACHABLE:
        stiffness_of(work[14:], K)
    return status


@entry
def deflections_batch(legs, Q, wrenches, out, status):
    """out (m, w, 6): deflections at O under wrenches (w, 6) at orientations Q (m, 9); NaN where there is none."""
    q, V = np.empty(3), np.empty((3, 6))
    c, B, S = np.empty((4, 4)), np.empty((6, 4)), np.empty((12, 6))
    first = 3 if legs[0, RIGID] != 0.0 else 0  # rows before it are rigid
    for m in range(Q.shape[0]):
        status[m] = stiffness_at(legs, load9(Q[m], 0), q, V, c, B, S)
        solved = status[m] == REACHED and upper_factor(S, first)
        for k in range(wrenches.shape[0]):
            x = out[m, k]
            for i in range(6):
                x[i] = (wrenches[k, i] if i >= first else 0.0) if solved else np.nan
            if solved:
                twice_solved(S, first, x)
    return 0


@entry
def stiffness_batch(legs, Q, q, K, status):
    """K (m, 6, 6) at O and joint angles q (m, 3) at orientations Q (m, 9); NaN where there are none."""
    V, c, B, S = np.empty((3, 6)), np.empty((4, 4)), np.empty((6, 4)), np.empty((12, 6))
    for m in range(Q.shape[0]):
        status[m] = stiffness_at(legs, load9(Q[m], 0), q[m], V, c, B, S)
        if status[m] == UNREACHABLE:
            S[:] = np.nan
            q[m] = np.nan
        stiffness_of(S, K[m])
    return 0
