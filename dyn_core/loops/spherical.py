"""Kinematics and stiffness of spherical parallel manipulators, after Wu, Bai and Kepler: kernels.

Leg i has three revolute axes through the centre O: u_i in the base, v_i between the links, w_i in the platform. The
orientation Q gives w_i = Q w_i* (3); v_i = Rot(u_i, theta_i) (u_i cos alpha1 + d_i sin alpha1) is (2), with d_i across
u_i. v . w = cos alpha2 then reads a cos theta + b sin theta = c, whose two solutions are the working modes.

A leg passes on a force at O and a moment along n = v x w (what its passive joints let through), four numbers l. They
cost the energy l^T c l / 2, the sum over actuator and links, and so K_i = W c^-1 W^T with W = [1 0; 0 n]: the first
block of (15) without a 6 x 6 inverse. K = sum K_i (16) has a null direction exactly where the three n lie in a plane:
there a turn about that plane's normal loads no leg.
"""

from __future__ import annotations

from math import acos, atan2, cos, sin, sqrt

import numpy as np

from ..jit import entry, kernel
from ..mechanism import Floats, Spherical
from ..spatial import add, cross, dot, load3, load9, rotate, scale, store3

# one row per leg
U = 0  # u, 3
D = 3  # d, 3
E = 6  # e = u x d, 3
W0 = 9  # w*, 3
CA1, SA1, CA2, SA2 = 12, 13, 14, 15
MODE = 16
RADIUS = 17
C_ACT = 18  # 1 / K_act
C1 = 19  # compliance of the proximal link, 36
C2 = 55  # of the distal link, 36
RIGID = 91  # 1: neither link gives way
LEG_WIDTH = 92

REACHED, UNREACHABLE, SINGULAR, NOT_A_ROTATION = 0, 1, 2, 3
"""What a kernel found: no position of a leg exists; the legs leave the platform loose; the input is no rotation."""
REACH = 1e-9  # by which a leg may be stretched beyond folded or straight, for rounding
TURNED = 1e-6  # by which a given rotation may differ from an orthogonal matrix
FLAT = 1e-6  # |det(n1, n2, n3)| below which the platform is loose
THIRDS = 2.0 * np.pi / 3.0


def axes(angle: float, eta: float) -> tuple[Floats, Floats, Floats]:
    """u (1), and d, e across it, of a leg at azimuth eta on a base pyramid of that angle."""
    s, c = np.sin(eta), np.cos(eta)
    sg, cg = np.sin(angle), np.cos(angle)
    return np.array([-s * sg, c * sg, -cg]), np.array([-s * cg, c * cg, sg]), np.array([c, s, 0.0])


def platform_axis(beta: float, eta: float) -> Floats:
    """w* (4)."""
    return np.array([-np.sin(eta) * np.sin(beta), np.cos(eta) * np.sin(beta), np.cos(beta)])


def pack_legs(s: Spherical, K_act: Floats, proximal: Floats, distal: Floats) -> Floats:
    """The record (3, LEG_WIDTH): geometry, actuator stiffnesses (3,), compliances (6, 6) of the links at their tips."""
    legs = np.zeros((3, LEG_WIDTH))
    for i, leg in enumerate(legs):
        leg[U : U + 3], leg[D : D + 3], leg[E : E + 3] = axes(s.gamma, i * THIRDS)
        leg[W0 : W0 + 3] = platform_axis(s.beta, i * THIRDS)
        leg[CA1 : SA2 + 1] = np.cos(s.alpha1), np.sin(s.alpha1), np.cos(s.alpha2), np.sin(s.alpha2)
        leg[MODE], leg[RADIUS], leg[C_ACT] = s.modes[i], s.R, 1.0 / K_act[i]
        leg[C1 : C1 + 36], leg[C2 : C2 + 36] = proximal.ravel(), distal.ravel()
        leg[RIGID] = float(not proximal.any() and not distal.any())
    return legs


@kernel
def leg_angle(leg, w):
    """theta and v of a leg whose platform axis is w, and whether it reaches that."""
    u = load3(leg, U)
    d = load3(leg, D)
    e = load3(leg, E)
    a = leg[SA1] * dot(d, w)
    b = leg[SA1] * dot(e, w)
    c = leg[CA2] - leg[CA1] * dot(u, w)
    size = sqrt(a * a + b * b)
    x = c / size if size > 1e-15 else 2.0
    reached = abs(x) <= 1.0 + REACH
    x = min(1.0, max(-1.0, x))
    # (u x v) . w = -size sin(theta - atan2(b, a))
    theta = atan2(b, a) - leg[MODE] * acos(x)
    k = leg[SA1]
    v = add(scale(leg[CA1], u), add(scale(k * cos(theta), d), scale(k * sin(theta), e)))
    return theta, v, reached


@kernel
def beam_loads(leg, a, t, B):
    """B (6, 4): wrench at the tip of a beam from a to t, in its tip axes, per force at O (three) and moment n (last).

    The column of the moment is left to the caller, who knows n; returned are the tip axes r and n.
    """
    n = cross(a, t)
    n = scale(1.0 / sqrt(dot(n, n)), n)
    r = cross(t, n)
    R = leg[RADIUS]
    for k in range(3):
        f = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
        m = scale(-R, cross(t, f))
        B[0, k] = r[k]
        B[1, k] = t[k]
        B[2, k] = n[k]
        B[3, k] = dot(r, m)
        B[4, k] = dot(t, m)
        B[5, k] = dot(n, m)
    return r, n


@kernel
def add_energy(leg, first, B, c):
    """c (4, 4) += B^T C B with the compliance C that begins at `first` in the leg's row."""
    for j in range(4):
        for k in range(6):
            s = 0.0
            for l in range(6):
                s += leg[first + 6 * k + l] * B[l, j]
            for i in range(j + 1):
                c[i, j] += B[k, i] * s


@kernel
def add_leg(leg, v, w, c, B, K):
    """K (6, 6) += K_i; returns the leg's unit n."""
    u = load3(leg, U)
    n = cross(v, w)
    n = scale(1.0 / sqrt(dot(n, n)), n)
    for i in range(4):
        for j in range(4):
            c[i, j] = 0.0
    along = dot(n, u)
    c[3, 3] = leg[C_ACT] * along * along
    for link in range(2):
        r, across = beam_loads(leg, u, v, B) if link == 0 else beam_loads(leg, v, w, B)
        t = v if link == 0 else w
        for k in range(3):
            B[k, 3] = 0.0
        B[3, 3] = dot(r, n)
        B[4, 3] = dot(t, n)
        B[5, 3] = dot(across, n)
        add_energy(leg, C1 if link == 0 else C2, B, c)
    # c = L L^T in the upper triangle's mirror, then X = L^-1 W^T and K_i = X^T X
    for i in range(4):
        for j in range(i + 1):
            s = c[j, i]
            for k in range(j):
                s -= c[i, k] * c[j, k]
            if i == j:
                c[i, i] = sqrt(s)
            else:
                c[i, j] = s / c[j, j]
    for col in range(6):
        for i in range(4):
            s = 0.0
            if i < 3 and col == i:
                s = 1.0
            elif i == 3 and col >= 3:
                s = n[col - 3]
            for k in range(i):
                s -= c[i, k] * B[col, k]
            B[col, i] = s / c[i, i]
    for i in range(6):
        for j in range(6):
            K[i, j] += B[i, 0] * B[j, 0] + B[i, 1] * B[j, 1] + B[i, 2] * B[j, 2] + B[i, 3] * B[j, 3]
    return n


@kernel
def stiffness_at(legs, Q, q, V, c, B, K):
    """K (6, 6) at O, joint angles q (3,), and V (3, 6) with v and n of each leg; the status.

    Where neither link gives way only the rotational block is finite and filled: J^T K_act J with (5).
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
        store3(V[i], 0, v)
        if leg[RIGID] == 0.0:
            n = add_leg(leg, v, w, c, B, K)
        else:
            n = cross(v, w)
            n = scale(1.0 / sqrt(dot(n, n)), n)
            along = dot(n, load3(leg, U))
            k = 1.0 / (leg[C_ACT] * along * along)
            for a in range(3):
                for b in range(3):
                    K[3 + a, 3 + b] += k * n[a] * n[b]
        store3(V[i], 3, n)
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


@kernel
def cholesky(K, first, B):
    """B (6, 6) with B B^T = K below the diagonal, from row `first` on."""
    for i in range(first, 6):
        for j in range(first, i + 1):
            s = K[i, j]
            for k in range(first, j):
                s -= B[i, k] * B[j, k]
            if i == j:
                B[i, i] = sqrt(max(s, 0.0))
            else:
                B[i, j] = s / B[j, j]


@kernel
def back_substitute(B, first, t):
    """t = (B B^T)^-1 t in place, from row `first` on; the rows before it are rigid."""
    for i in range(first):
        t[i] = 0.0
    for i in range(first, 6):
        s = t[i]
        for k in range(first, i):
            s -= B[i, k] * t[k]
        t[i] = s / B[i, i]
    for i in range(5, first - 1, -1):
        s = t[i]
        for k in range(i + 1, 6):
            s -= B[k, i] * t[k]
        t[i] = s / B[i, i]


@entry
def deflections_batch(legs, Q, wrenches, out, status):
    """out (m, w, 6): deflections at O under wrenches (w, 6) at orientations Q (m, 9); NaN where there is none."""
    q, V = np.empty(3), np.empty((3, 6))
    c, B, K, L = np.empty((4, 4)), np.empty((6, 4)), np.empty((6, 6)), np.empty((6, 6))
    first = 3 if legs[0, RIGID] != 0.0 else 0
    for m in range(Q.shape[0]):
        status[m] = stiffness_at(legs, load9(Q[m], 0), q, V, c, B, K)
        if status[m] == REACHED:
            cholesky(K, first, L)
        for k in range(wrenches.shape[0]):
            for i in range(6):
                out[m, k, i] = wrenches[k, i] if status[m] == REACHED else np.nan
            if status[m] == REACHED:
                back_substitute(L, first, out[m, k])
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
