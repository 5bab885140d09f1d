"""Planar mechanisms with flexible links by assumed modes (Wang and Gosselin, section 3.2).

A flexible link is a beam, pinned at both ends, whose chord is the link. Its deflection across the chord is

    v(x, t) = sum_i e_i(t) sin(i pi x / l)        (45)

so that what is pinned to its ends moves as with a rigid link. With u = (x, v) along and across the chord, the position
of a point is p = p_0 + Q u (46), and the kinetic, elastic and gravitational energies are

    T = 1/2 int rho A p'.p' dx   (48)    U = 1/2 int E I (v_xx)^2 dx   (49)    V = -int rho A g.p dx   (50)

whose integrals over the modes are a_i = int rho A phi_i, b_i = int rho A x phi_i, C_i = int rho A phi_i^2 and
K_i = int E I phi_i,xx^2, in closed form. Coordinates x = [q, e]: the n joints of the tree, then the modes. In them

    M xdd + H = tau - J^T (k phi + b phi')                        with virtual springs
    M xdd + H = tau + J^T lambda,  J xdd + bias = 0               with multipliers,

phi being the distances in the plane between the points that the cut joints keep together.
"""

from __future__ import annotations

import math

import numpy as np

from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import NOT_FINITE, OK

# a row of `bodies`: constants ...
PARENT, ANGLE, PX, PY, MASS, MX, MY, INERTIA, FIRST, MODES, LENGTH, CHORD, RHO_A, EI = range(14)
# ... and what the motion gives: angle, speed, origin, and its acceleration at xdd = 0
PSI, OMEGA, OX, OY, AX, AY, BODY_WIDTH = range(14, 21)
# a row of `cuts`: two bodies (-1: the base) and a point on each
BODY_1, X_1, Y_1, BODY_2, X_2, Y_2, CUT_WIDTH = range(7)
SPRINGS, MULTIPLIERS = 0, 1
PROJECTIONS = 2  # onto the constraints after each step


@kernel
def mode_integrals(body, i):
    """a_i, b_i, C_i and K_i of mode i (from 1) of a flexible link."""
    l, rho = body[LENGTH], body[RHO_A]
    sign = 1.0 if i % 2 == 0 else -1.0  # cos(i pi)
    wave = i * math.pi / l
    return rho * (1.0 - sign) / wave, -rho * l * sign / wave, 0.5 * rho * l, 0.5 * body[EI] * wave**4 * l


@kernel
def place_bodies(bodies, x, v):
    """Angles, speeds, origins and their accelerations at xdd = 0 of all bodies."""
    for j in range(bodies.shape[0]):
        body = bodies[j]
        p = int(body[PARENT])
        if p < 0:
            psi, omega, ox, oy, ax, ay = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        else:
            up = bodies[p]
            psi, omega, ox, oy, ax, ay = up[PSI], up[OMEGA], up[OX], up[OY], up[AX], up[AY]
        dx, dy = turned(psi, body[PX], body[PY])
        body[PSI] = psi + body[ANGLE] + x[j]
        body[OMEGA] = omega + v[j]
        body[OX], body[OY] = ox + dx, oy + dy
        body[AX], body[AY] = ax - omega * omega * dx, ay - omega * omega * dy


@kernel
def turned(angle, x, y):
    """(x, y) turned by an angle."""
    c, s = math.cos(angle), math.sin(angle)
    return c * x - s * y, s * x + c * y


@kernel
def equations(bodies, joints, gravity, x, v, M, H):
    """M (N, N) and H (N,) at x, v (N,). joints (n, 2): rotor inertia and viscous friction; gravity (2,)."""
    n = bodies.shape[0]
    M[:] = 0.0
    H[:] = 0.0
    place_bodies(bodies, x, v)
    for j in range(n):
        body = bodies[j]
        mass, omega = body[MASS], body[OMEGA]
        ax, ay = body[AX] - gravity[0], body[AY] - gravity[1]
        first, modes = int(body[FIRST]), int(body[MODES])
        sx, sy = turned(body[PSI], body[MX], body[MY])
        inertia = body[INERTIA]
        c, s = math.cos(body[PSI] + body[CHORD]), math.sin(body[PSI] + body[CHORD])
        slip, turn = 0.0, 0.0  # sum a_i e_i', sum C_i e_i e_i'
        for i in range(modes):
            a, b, C, K = mode_integrals(body, i + 1)
            f = first + i
            sx -= a * x[f] * s
            sy += a * x[f] * c
            inertia += C * x[f] * x[f]
            slip += a * v[f]
            turn += C * x[f] * v[f]
            M[f, f] += C
            H[f] += a * (c * ay - s * ax) - omega * omega * C * x[f] + K * x[f]
        fx = mass * ax - omega * omega * sx - 2.0 * omega * slip * c
        fy = mass * ay - omega * omega * sy - 2.0 * omega * slip * s
        moment = sx * ay - sy * ax + 2.0 * omega * turn
        i = j
        while i >= 0:
            ix, iy = -(body[OY] - bodies[i, OY]), body[OX] - bodies[i, OX]
            H[i] += ix * fx + iy * fy + moment
            for m in range(modes):
                a, b, _, _ = mode_integrals(body, m + 1)
                across = a * (c * iy - s * ix) + b
                M[i, first + m] += across
                M[first + m, i] += across
            k = i
            while k >= 0:
                kx, ky = -(body[OY] - bodies[k, OY]), body[OX] - bodies[k, OX]
                entry_ik = mass * (ix * kx + iy * ky) + sx * (iy + ky) - sy * (ix + kx) + inertia
                M[i, k] += entry_ik
                if k != i:
                    M[k, i] += entry_ik
                k = int(bodies[k, PARENT])
            i = int(bodies[i, PARENT])
        M[j, j] += joints[j, 0]
        H[j] += joints[j, 1] * v[j]


@kernel
def constraints(bodies, cuts, phi, J, bias):
    """phi (2 c,), J (2 c, N) and bias (2 c,) of c cut joints, after `place_bodies`."""
    J[:] = 0.0
    for r in range(cuts.shape[0]):
        phi[2 * r] = phi[2 * r + 1] = bias[2 * r] = bias[2 * r + 1] = 0.0
        for side in range(2):
            at = BODY_1 if side == 0 else BODY_2
            sign = -1.0 if side == 0 else 1.0
            j = int(cuts[r, at])
            dx, dy = cuts[r, at + 1], cuts[r, at + 2]
            ox, oy = 0.0, 0.0
            if j >= 0:
                dx, dy = turned(bodies[j, PSI], dx, dy)
                ox, oy = bodies[j, OX], bodies[j, OY]
                square = bodies[j, OMEGA] ** 2
                bias[2 * r] += sign * (bodies[j, AX] - square * dx)
                bias[2 * r + 1] += sign * (bodies[j, AY] - square * dy)
            phi[2 * r] += sign * (ox + dx)
            phi[2 * r + 1] += sign * (oy + dy)
            while j >= 0:
                J[2 * r, j] -= sign * (oy + dy - bodies[j, OY])
                J[2 * r + 1, j] += sign * (ox + dx - bodies[j, OX])
                j = int(bodies[j, PARENT])


@kernel
def acceleration(bodies, joints, cuts, gravity, closing, springs, x, v, tau, M, phi, J, bias, out):
    """xdd (N,) into out, the loops held by springs (k, b in the rows of springs) or by multipliers."""
    N = x.shape[0]
    c = phi.shape[0]
    equations(bodies, joints, gravity, x, v, M, out)
    constraints(bodies, cuts, phi, J, bias)
    if closing == SPRINGS:
        for i in range(N):
            out[i] = tau[i] - out[i]
        for r in range(c):
            rate = 0.0
            for i in range(N):
                rate += J[r, i] * v[i]
            force = springs[0, r] * phi[r] + springs[1, r] * rate
            for i in range(N):
                out[i] -= J[r, i] * force
        out[:] = np.linalg.solve(M, out)
    else:
        system = np.zeros((N + c, N + c))
        right = np.empty(N + c)
        system[:N, :N] = M
        for r in range(c):
            right[N + r] = -bias[r]
            for i in range(N):
                system[N + r, i] = system[i, N + r] = J[r, i]
        for i in range(N):
            right[i] = tau[i] - out[i]
        out[:] = np.linalg.solve(system, right)[:N]


@kernel
def back_onto_constraints(bodies, joints, cuts, gravity, x, v, M, phi, J, bias, scratch):
    """Move x, then v, by the least M-weighted change to where the loops are closed."""
    for k in range(PROJECTIONS + 1):
        equations(bodies, joints, gravity, x, v, M, scratch)
        constraints(bodies, cuts, phi, J, bias)
        Y = np.linalg.solve(M, np.ascontiguousarray(J.T))
        error = phi if k < PROJECTIONS else J @ v
        step = Y @ np.linalg.solve(J @ Y, error)
        if k < PROJECTIONS:
            x -= step
        else:
            v -= step


@entry
def simulate_modes(bodies, joints, cuts, gravity, closing, springs, x, v, taus, hold, h, substeps, out, gaps):
    """Fill out (m, 2, N) and gaps (m, 2 c) by steps of h / substeps of fourth order; returns how many rows are good.

    One row of taus is held for a row; with hold = 0 there are two per step, and one more.
    """
    N = x.shape[0]
    M, J = np.zeros((N, N)), np.zeros((gaps.shape[1], N))
    phi, bias = np.zeros(gaps.shape[1]), np.zeros(gaps.shape[1])
    slopes = np.zeros((4, 2, N))
    at, speed = np.zeros(N), np.zeros(N)
    step = h / substeps
    for row in range(out.shape[0]):
        tau = taus[min(max(row - 1, 0), taus.shape[0] - 1)]
        for s in range(substeps if row > 0 else 0):
            for i in range(4):
                if hold == 0:
                    tau = taus[2 * ((row - 1) * substeps + s) + (i + 1) // 2]
                before = 0.0 if i == 0 else (step if i == 3 else 0.5 * step)
                at[:] = x + before * slopes[i - 1, 0]
                speed[:] = v + before * slopes[i - 1, 1]
                slopes[i, 0] = speed
                acceleration(
                    bodies, joints, cuts, gravity, closing, springs, at, speed, tau, M, phi, J, bias, slopes[i, 1]
                )  # fmt: skip
            x += step / 6.0 * (slopes[0, 0] + 2.0 * slopes[1, 0] + 2.0 * slopes[2, 0] + slopes[3, 0])
            v += step / 6.0 * (slopes[0, 1] + 2.0 * slopes[1, 1] + 2.0 * slopes[2, 1] + slopes[3, 1])
            nothing = 0.0
            for i in range(N):
                nothing += 0.0 * (x[i] + v[i])
            if nothing != 0.0:
                return row
            if closing == MULTIPLIERS:
                back_onto_constraints(bodies, joints, cuts, gravity, x, v, M, phi, J, bias, at)
        place_bodies(bodies, x, v)
        constraints(bodies, cuts, phi, J, bias)
        out[row, 0] = x
        out[row, 1] = v
        gaps[row] = phi
    return out.shape[0]


@entry
def terms(bodies, joints, cuts, gravity, x, v, M, H, phi, J, bias):
    """M, H, phi, J and bias at x, v (N,)."""
    equations(bodies, joints, gravity, x, v, M, H)
    constraints(bodies, cuts, phi, J, bias)
    return OK if np.isfinite(H).all() else NOT_FINITE
