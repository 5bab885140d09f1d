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

The record holds the base, the K joints of all legs, and the platform in its last row.
"""

from __future__ import annotations

from math import atan2, pi, sqrt
from typing import NamedTuple

import numpy as np

from ..fastcall import FastCall, answered, are_vectors, beside, bound_to, model, new_answer, no_answer, vector, words
from ..jit import entry, kernel, uncounted
from ..mechanism import Floats
from ..spatial import (
    add,
    compose,
    congruence,
    cross,
    dot,
    load3,
    load6,
    load9,
    quaternion_rotation,
    rotate,
    scale,
    store3,
    store9,
    sub,
    symmetric_times,
    unrotate,
)
from ..tree.floating import turned
from ..tree.matrices import cholesky_solve
from ..tree.record import (
    GRAVITY,
    MS,
    NOT_FINITE,
    OK,
    PARENT,
    PW,
    RW,
    SINGULAR,
    VD,
    WD,
    J,
    M,
    P,
    T,
    W,
    place,
    start_fixed,
)
from ..tree.rnea import body_wrench, newton_euler
from ..tree.walker_orin import composite_bodies
from .closure import CLOSED, OPEN, SMALLEST_PIVOT, TOLERANCE, determinant, factor, largest_of, solve
from .constraints import (
    AXIS_A,
    AXIS_B,
    FIRST,
    FRAMES,
    SECOND,
    TYPE,
    V,
    add_ancestors,
    axis_of,
    base_at_rest,
    constraint_bias,
    constraint_values,
    origin_of,
    velocities,
)

JOINT, JOINTS, ROW, AIMED, TURN, TILT, LENGTH, POINT, SIGN, FLIPPED, LEG_WIDTH = 0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12
"""Columns of a leg: its first joint and how many, its first row, whether it is a universal joint and a slide that aim
at a point of the platform (then the angles and the length at which its joints are zero, and the point), and the sign
of det C_i; whether it aims the other way round, turned by half a turn and tilted over. SLIDES: a leg that aims, of
which no other joint than the slide is active."""

AIMS, SLIDES = 1.0, 2.0

LARGEST_LEG = 6  # joints
ITERATIONS = 30
STRIDE = 0.25  # largest move of the platform that is followed in one go, in rad and in characteristic lengths
SHORTEST_STRIDE = 1e-6  # part of the way; below it a singularity is in the way
ROUNDING = 1e-10  # size of a step below which rounding, not the branch, keeps the iteration from contracting
CONTRACTION = 0.4  # of the Newton step, else the stride is divided: the iteration must stay on its branch
NEAR_POSE = 0.3  # a pose this close to the last one is reached from there, else from home
STRIDE_OF_POSES = 0.1  # on the way there, unless all legs are solved in closed form
BEYOND = 5  # status: the pose is in another assembly mode, beyond a singularity
QD, QDD, G0, GAMMA, OPENING = range(5)  # rows of vectors


class Parallel(NamedTuple):
    """What kernels need of a parallel robot, and where it is."""

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
    home: Floats
    """(K + 7,) joints of the legs, and position and quaternion of the platform, in the home pose."""
    at: Floats
    """(K + 7,) the same where it stands: a closed configuration."""
    kept: Floats
    """(K + 7,)."""
    stood: Floats
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


def parallel(rows: Floats, legs: Floats, active: Floats, S: Floats, numbers: Floats, home: Floats) -> Parallel:
    """A Parallel with arrays of its own, at home."""
    n, f, r = len(home) - 7, len(active), len(rows)
    return Parallel(
        rows, legs, active, S, numbers, np.full(7, np.nan), home, home.copy(), home.copy(), home.copy(),
        np.zeros((5, n)), np.zeros(r),
        np.zeros((n, LARGEST_LEG)), np.zeros(n), np.zeros((LARGEST_LEG, 6)), np.zeros(n), np.zeros((n, f)),
        np.zeros((f, f)), np.zeros(f), np.zeros((f, f)), np.zeros((4, f)), np.zeros((n, n)), np.zeros((f, f)),
    )  # fmt: skip


@uncounted
def copy(source, out):
    """out (k,) = source."""
    for k in range(out.shape[0]):
        out[k] = source[k]


# positions


@uncounted
def stand(record, at):
    """Put the platform where `at` has it."""
    n = record.shape[0] - 2
    row = record[n + 1]
    store9(row, RW, quaternion_rotation((at[n + 3], at[n + 4], at[n + 5], at[n + 6])))
    store3(row, PW, load3(at, n))


@uncounted
def leg_poses(record, at, first, last):
    """Poses of the bodies on the joints first ... last - 1."""
    for j in range(first, last):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a, p = place(row, at[j])
        r = load9(up, RW)
        store9(row, RW, compose(r, a))
        store3(row, PW, add(load3(up, PW), rotate(r, p)))


@entry
def aim_at(x, y, z):
    """`aim`, from Python."""
    return aim(x, y, z)


@uncounted
def aim(x, y, z):
    """Angles about z and then about the new y that turn x to a direction; the second within a quarter turn."""
    return atan2(y, x), atan2(-z, sqrt(x * x + y * y))


@uncounted
def wrapped(angle):
    """The angle within half a turn."""
    return angle - 2.0 * pi * np.floor(angle / (2.0 * pi) + 0.5)


@uncounted
def leg_matrices(record, par, leg):
    """C_i, D_i at the poses that the record holds; D_i in par.D."""
    n = record.shape[0] - 2
    platform = n + 1
    origin = load3(record[platform], PW)
    zero = (0.0, 0.0, 0.0)
    first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
    for k in range(count):
        row = par.rows[r0 + k]
        i, j = int(row[FIRST]), int(row[SECOND])
        for c in range(first, first + count):
            par.line[c] = 0.0
        a = axis_of(record[i], row, FRAMES, int(row[AXIS_A]))
        if row[TYPE] == 0.0:
            pi_ = origin_of(record[i], row, FRAMES)
            pj = origin_of(record[j], row, FRAMES + 12)
            fi, mi, fj, mj = (-a[0], -a[1], -a[2]), cross(a, sub(pj, pi_)), a, zero
        else:
            pi_, pj, fi, fj = zero, zero, zero, zero
            mi = cross(a, axis_of(record[j], row, FRAMES + 12, int(row[AXIS_B])))
            mj = (-mi[0], -mi[1], -mi[2])
        if i == platform:
            add_ancestors(record, j, pj, fj, mj, par.line)
            force, moment = fi, add(cross(sub(pi_, origin), fi), mi)
        else:
            add_ancestors(record, i, pi_, fi, mi, par.line)
            force, moment = fj, add(cross(sub(pj, origin), fj), mj)
        for c in range(count):
            par.C[first + k, c] = par.line[first + c]
        store3(par.D[k], 0, force)
        store3(par.D[k], 3, moment)


@uncounted
def close_leg(record, par, leg):
    """The leg's joints at the platform's pose, in closed form where it aims; else a damped Newton iteration."""
    at = par.at
    first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
    last = first + count
    if leg[AIMED] != 0.0:
        platform, foot = record[record.shape[0] - 1], record[first + 1]
        point = add(load3(platform, PW), rotate(load9(platform, RW), load3(leg, POINT)))
        x, y, z = unrotate(load9(foot, T), sub(point, load3(foot, P)))
        turn, tilt = aim(x, y, z)
        if leg[FLIPPED] != 0.0:
            turn, tilt = turn + pi, pi - tilt
        at[first] = wrapped(turn - leg[TURN])
        at[first + 1] = wrapped(tilt - leg[TILT])
        at[first + 2] = sqrt(x * x + y * y + z * z) - leg[LENGTH]
        leg_poses(record, at, first, last)
        return OK
    rows = par.rows[r0 : r0 + count]
    phi, pivots, step = par.phi[r0 : r0 + count], par.pivots[first:last], par.vectors[QD, first:last]
    C = par.C[first:last, :count]
    leg_poses(record, at, first, last)
    constraint_values(record, rows, phi)
    error = largest_of(phi)
    for _ in range(ITERATIONS):
        if not error > TOLERANCE:
            break
        leg_matrices(record, par, leg)
        if factor(C, pivots) < SMALLEST_PIVOT:
            return SINGULAR if error < CLOSED else OPEN
        for k in range(count):
            step[k] = -phi[k]
        solve(C, pivots, step)
        damping = min(1.0, 0.5 / max(largest_of(step), 1e-300))
        better = False
        for k in range(first, last):
            par.line[k] = at[k]
        for _ in range(12):
            for k in range(count):
                at[first + k] = par.line[first + k] + damping * step[k]
            leg_poses(record, at, first, last)
            constraint_values(record, rows, phi)
            if largest_of(phi) < error:
                better = True
                break
            damping *= 0.5
        if not better:
            for k in range(first, last):
                at[k] = par.line[k]
            leg_poses(record, at, first, last)
            break
        error = largest_of(phi)
    if error != error:
        return NOT_FINITE
    return OK if error < CLOSED else OPEN


@uncounted
def close_legs(record, par):
    """All legs at the platform's pose in par.at; the worst status of one."""
    stand(record, par.at)
    status = OK
    for i in range(par.legs.shape[0]):
        status = max(status, close_leg(record, par, par.legs[i]))
    return status


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


@uncounted
def aimed_axes(record, leg):
    """Of a leg that aims: its axes a1, a2, u, and d_k with which the joints follow the velocity v of its tip.

    a2 lies across a1 and u, so that v = q1' a1 x l + q2' a2 x l + l' u falls apart: qd_k = d_k . v. Also the vector l
    from foot to tip, and how far from singular that is: 0 where the leg lies along a1, or has no length.
    """
    first = int(leg[JOINT])
    one, two, three = record[first + 1], record[first + 2], record[first + 3]
    a1 = (one[RW + 2], one[RW + 5], one[RW + 8])
    a2 = (two[RW + 2], two[RW + 5], two[RW + 8])
    u = (three[RW + 2], three[RW + 5], three[RW + 8])
    platform = record[record.shape[0] - 1]
    tip = add(load3(platform, PW), rotate(load9(platform, RW), load3(leg, POINT)))
    l = sub(tip, load3(one, PW))
    length = dot(u, l)
    across = dot(cross(a1, u), a2)
    return a1, a2, u, scale(1.0 / (length * across), a2), scale(1.0 / length, cross(a2, u)), l, min(length, abs(across))


@uncounted
def linearise_leg(record, par, leg):
    """Rows of E of a leg, and the factors of its C_i unless it aims; SINGULAR in another working mode of it."""
    first, count = int(leg[JOINT]), int(leg[JOINTS])
    last = first + count
    if leg[AIMED] != 0.0:
        _, _, u, d1, d2, l, regular = aimed_axes(record, leg)
        if not regular > SMALLEST_PIVOT:
            return SINGULAR
        arm = sub(add(load3(record[first + 1], PW), l), load3(record[record.shape[0] - 1], PW))
        along_freedoms(par, d1, cross(arm, d1), par.E[first])
        along_freedoms(par, d2, cross(arm, d2), par.E[first + 1])
        along_freedoms(par, u, cross(arm, u), par.E[first + 2])
        return OK
    leg_matrices(record, par, leg)
    C, pivots = par.C[first:last, :count], par.pivots[first:last]
    if factor(C, pivots) < SMALLEST_PIVOT or leg[SIGN] * determinant(C, pivots) < 0.0:
        return SINGULAR
    for k in range(count):
        force, moment = load3(par.D[k], 0), load3(par.D[k], 3)
        along_freedoms(par, scale(-1.0, force), scale(-1.0, moment), par.E[first + k])
    solve_columns(C, pivots, par.E[first:last])
    return OK


@uncounted
def solve_columns(A, pivots, X):
    """X (k, f) becomes A^-1 X, A and pivots from `factor`."""
    k, f = X.shape
    for c in range(k):
        best = int(pivots[c])
        if best != c:
            for j in range(f):
                X[c, j], X[best, j] = X[best, j], X[c, j]
    for c in range(k):
        for i in range(c + 1, k):
            for j in range(f):
                X[i, j] -= A[i, c] * X[c, j]
    for c in range(k - 1, -1, -1):
        reciprocal = 1.0 / A[c, c]
        for j in range(f):
            X[c, j] *= reciprocal
        for i in range(c):
            for j in range(f):
                X[i, j] -= A[i, c] * X[c, j]


@uncounted
def linearise(record, par):
    """E, and the inverse Jacobian with its factors, at closed legs; SINGULAR in another working mode of one."""
    f = par.active.shape[0]
    par.known[0] = np.nan
    par.vectors[OPENING, :] = 0.0
    for i in range(par.legs.shape[0]):
        if linearise_leg(record, par, par.legs[i]) != OK:
            return SINGULAR
    for a in range(f):
        for c in range(f):
            par.inverse[a, c] = par.E[int(par.active[a]), c]
    factor_of(par)
    return OK


@uncounted
def look(record, par):
    """Active positions and the inverse Jacobian with its factors near closed legs, with as little as that takes.

    A leg that aims and is driven by its slide needs neither its angles nor the poses of its bodies: they stay as they
    were, and with them its rows of E. One that does not aim is linearised where it is, which leaves an opening.
    """
    f, at = par.active.shape[0], par.at
    stand(record, at)
    par.known[0] = np.nan
    platform = record[record.shape[0] - 1]
    r = load9(platform, RW)
    a = 0
    for i in range(par.legs.shape[0]):
        leg = par.legs[i]
        first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
        last = first + count
        if leg[AIMED] == SLIDES:
            arm = rotate(r, load3(leg, POINT))
            l = sub(add(load3(platform, PW), arm), load3(record[first + 1], P))
            length = sqrt(dot(l, l))
            at[first + 2] = length - leg[LENGTH]
            if not length > SMALLEST_PIVOT:
                return SINGULAR
            u = scale(1.0 / length, l)
            if a < f and par.active[a] < last:
                along_freedoms(par, u, cross(arm, u), par.inverse[a])
                a += 1
            continue
        if leg[AIMED] != 0.0:
            close_leg(record, par, leg)
        else:
            leg_poses(record, at, first, last)
        if linearise_leg(record, par, leg) != OK:
            return SINGULAR
        if leg[AIMED] == 0.0:
            x = par.vectors[OPENING, first:last]
            constraint_values(record, par.rows[r0 : r0 + count], x)
            solve(par.C[first:last, :count], par.pivots[first:last], x)
        while a < f and par.active[a] < last:
            copy(par.E[int(par.active[a])], par.inverse[a])
            a += 1
    factor_of(par)
    return OK


@uncounted
def factor_of(par):
    """Factors of the inverse Jacobian; returns its smallest pivot over its largest entry."""
    n = par.at.shape[0] - 7
    for k in range(7):
        par.known[k] = par.at[n + k]
    for a in range(par.K.shape[0]):
        copy(par.inverse[a], par.K[a])
    return factor(par.K, par.exchange)


@uncounted
def branch(par):
    """det K with the sign that it has at home made positive; after `linearise`."""
    return par.numbers[1] * determinant(par.K, par.exchange)


@uncounted
def move_platform(par, nu, part):
    """Move the pose by the small displacement `part` times S nu, in base axes."""
    at = par.at
    n = at.shape[0] - 7
    u = (at[n + 3], at[n + 4], at[n + 5], at[n + 6])
    x, y, z, a, b, c = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(nu.shape[0]):
        x += part * par.S[0, k] * nu[k]
        y += part * par.S[1, k] * nu[k]
        z += part * par.S[2, k] * nu[k]
        a += part * par.S[3, k] * nu[k]
        b += part * par.S[4, k] * nu[k]
        c += part * par.S[5, k] * nu[k]
    at[n] += x
    at[n + 1] += y
    at[n + 2] += z
    u = turned(u, unrotate(quaternion_rotation(u), (a, b, c)))
    for k in range(4):
        at[n + 3 + k] = u[k]


@uncounted
def newton_step(par, target, part):
    """nu of a step towards active positions target, in par.nu[STEP]; returns its size without units."""
    nu, opening = par.nu[STEP], par.vectors[OPENING]
    for a in range(nu.shape[0]):
        j = int(par.active[a])
        nu[a] = part * (target[a] - (par.at[j] - opening[j]))
    solve(par.K, par.exchange, nu)
    v, w = twist(par, nu)
    size = largest_of(opening)
    for k in range(3):
        size = max(size, abs(v[k]) / par.numbers[0], abs(w[k]))
    return size


@uncounted
def move(par, part):
    """Move the platform by par.nu[STEP] times part; legs that do not aim follow, and close as far as they were open."""
    at, nu, opening = par.at, par.nu[STEP], par.vectors[OPENING]
    move_platform(par, nu, part)
    for i in range(par.legs.shape[0]):
        leg = par.legs[i]
        if leg[AIMED] == 0.0:
            first = int(leg[JOINT])
            for j in range(first, first + int(leg[JOINTS])):
                at[j] -= opening[j]
                for c in range(nu.shape[0]):
                    at[j] += part * par.E[j, c] * nu[c]


@uncounted
def farthest(par, target):
    """The largest difference of an active position from its target."""
    far = 0.0
    for a in range(target.shape[0]):
        far = max(far, abs(target[a] - par.at[int(par.active[a])]))
        if target[a] != target[a]:
            far = target[a]
    return far


@uncounted
def arrive(record, par):
    """All legs, E and the inverse Jacobian at the platform's pose; SINGULAR beyond a singularity too."""
    status = close_legs(record, par)
    if status == OK:
        status = linearise(record, par)
    if status == OK and branch(par) <= 0.0:
        return SINGULAR
    return status


@uncounted
def polished(record, par, middle):
    """`arrive`, and step on to the active positions `middle` for as long as that brings it nearer."""
    size = ROUNDING
    for _ in range(ITERATIONS):
        status = arrive(record, par)
        if status != OK:
            return status
        new = newton_step(par, middle, 1.0)
        if new < 1e-14 or not new < 0.5 * size:
            return OK if new < ROUNDING else OPEN
        size = new
        move(par, 1.0)
    return OK


@uncounted
def corrected(record, par, middle, first):
    """Newton from a predicted pose to the active positions `middle`; `first`: size of the step that led there."""
    size = first
    for _ in range(ITERATIONS):
        status = look(record, par)
        if status != OK:
            return status
        if branch(par) <= 0.0:
            return SINGULAR
        new = newton_step(par, middle, 1.0)
        if not new < CONTRACTION * size and new > ROUNDING:
            return OPEN
        if new < 1e-14 or (new < ROUNDING and not new < size):
            return OK
        move(par, 1.0)
        if new * (new / size) ** 2 < 1e-14:  # the next step, as the iteration contracts by squares
            return OK
        size = new
    return OPEN


@uncounted
def forward(record, par, target):
    """Follow the active positions from where it stands to target (f,); E and K are then those there.

    Stride by stride, each predicted by the Jacobian and corrected by Newton; a correction that does not contract might
    lead to another branch, and its stride is divided. OPEN or SINGULAR: par.at is the last configuration before.
    """
    far = farthest(par, target)
    if far != far or far > 1e12:
        return NOT_FINITE
    status = arrive(record, par) if moved_on(par) else OK
    if status != OK:
        return max(status, SINGULAR)
    part = 1.0
    line = par.nu[FORCE]
    while True:
        size = newton_step(par, target, 1.0)
        if not size < 1e12:
            return SINGULAR
        if size < 1e-14 or far < 1e-15:
            return arrive(record, par)
        part = min(part, STRIDE / size) if size > STRIDE else min(part, 1.0)
        copy(par.at, par.kept)
        for a in range(target.shape[0]):
            now = par.at[int(par.active[a])]
            line[a] = target[a] if part == 1.0 else now + part * (target[a] - now)
        move(par, part)
        status = corrected(record, par, line, part * size)
        if status == OK:
            status = polished(record, par, line)
        if status == OK:
            if part == 1.0:
                return OK
            far = farthest(par, target)
            part = min(1.0, 2.0 * part / (1.0 - part)) if part < 0.5 else 1.0
            continue
        copy(par.kept, par.at)
        part *= 0.25
        found = arrive(record, par)
        if found != OK or part < SHORTEST_STRIDE or part * size < 1e-9:
            return status


@uncounted
def moved_on(par):
    """Whether the platform stands elsewhere than where the inverse Jacobian was made."""
    n = par.at.shape[0] - 7
    for k in range(7):
        if par.at[n + k] != par.known[k]:
            return True
    return branch(par) <= 0.0


NEAR = 0.05  # active positions this close to the last ones (rad or m) are followed from there


@uncounted
def forward_near(record, par, target):
    """`forward` from where it stands and from home, from the nearer one first."""
    near = farthest(par, target) < NEAR
    copy(par.at, par.stood)
    status = OK
    for attempt in range(2):
        if near == (attempt == 1):
            copy(par.home, par.at)
        elif attempt == 1:
            copy(par.stood, par.at)
        status = forward(record, par, target)
        if status in (OK, NOT_FINITE):
            break
    return status


# velocities and accelerations


@uncounted
def leg_velocities(record, par, nu):
    """Speeds vectors[QD] of the legs' joints at the twist nu (f,), and their accelerations vectors[G0] at nud = 0."""
    n = record.shape[0] - 2
    qd, g = par.vectors[QD], par.vectors[G0]
    for j in range(n):
        qd[j] = 0.0
        for c in range(nu.shape[0]):
            qd[j] += par.E[j, c] * nu[c]
    row = record[n + 1]
    r = load9(row, RW)
    v, w = twist(par, nu)
    store3(row, V, unrotate(r, v))
    store3(row, W, unrotate(r, w))
    store3(row, VD, (0.0, 0.0, 0.0))
    store3(row, WD, (0.0, 0.0, 0.0))
    base_at_rest(record)
    for i in range(par.legs.shape[0]):
        leg = par.legs[i]
        first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
        last = first + count
        if leg[AIMED] != 0.0:
            a1, a2, u, d1, d2, l, _ = aimed_axes(record, leg)
            arm = rotate(r, load3(leg, POINT))
            turn = add(scale(qd[first], a1), scale(qd[first + 1], a2))
            sway = scale(qd[first] * qd[first + 1], cross(a1, a2))
            own = add(cross(sway, l), cross(turn, add(cross(turn, l), scale(2.0 * qd[first + 2], u))))
            rest = sub(cross(w, cross(w, arm)), own)
            g[first], g[first + 1], g[first + 2] = dot(d1, rest), dot(d2, rest), dot(u, rest)
            continue
        velocities(record, qd, first, last)
        constraint_bias(record, par.rows[r0 : r0 + count], par.phi[r0 : r0 + count])
        x = g[first:last]
        for k in range(count):
            x[k] = -par.phi[r0 + k]
        solve(par.C[first:last, :count], par.pivots[first:last], x)


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
def velocities_of(record, par, qd_a):
    """nu of active speeds, in par.nu[NU], and `leg_velocities` there; after `linearise`."""
    nu = par.nu[NU]
    copy(qd_a, nu)
    solve(par.K, par.exchange, nu)
    leg_velocities(record, par, nu)
    for a in range(qd_a.shape[0]):
        par.vectors[QD, int(par.active[a])] = qd_a[a]  # exactly: friction heeds the sign


@uncounted
def twist_rate_of(par, qdd_a):
    """nud of active accelerations, in par.nu[NUD]; after `leg_velocities`."""
    nud, g = par.nu[NUD], par.vectors[G0]
    for a in range(nud.shape[0]):
        nud[a] = qdd_a[a] - g[int(par.active[a])]
    solve(par.K, par.exchange, nud)


# dynamics


@uncounted
def platform_forces(record, par, nud, wrenches):
    """The bracket of (66), in par.nu[FORCE]: what the platform's freedoms need for nud; after `leg_velocities`."""
    n = record.shape[0] - 2
    qdd, gamma, g = par.vectors[QDD], par.vectors[GAMMA], par.vectors[G0]
    for j in range(n):
        qdd[j] = g[j]
        for c in range(nud.shape[0]):
            qdd[j] += par.E[j, c] * nud[c]
    start_fixed(record, 1.0)
    on_legs = wrenches[:n] if wrenches.shape[0] > 0 else wrenches
    status = newton_euler(record, par.at[:n], par.vectors[QD], qdd, on_legs, gamma)
    row = record[n + 1]
    r = load9(row, RW)
    vd, wd = twist(par, nud)
    f, m = body_wrench(row, load3(row, W), unrotate(r, wd), unrotate(r, sub(vd, load3(record[0], GRAVITY))))
    if wrenches.shape[0] > 0:
        on = wrenches[n]
        f = sub(f, load3(on, 0))
        m = sub(m, load3(on, 3))
    f, m = rotate(r, f), rotate(r, m)
    h = par.nu[FORCE]
    along_freedoms(par, f, m, h)
    for j in range(n):
        for c in range(h.shape[0]):
            h[c] += par.E[j, c] * gamma[j]
    return status


@uncounted
def solve_transposed(A, pivots, x):
    """x becomes A^-T x, A and pivots from `factor`."""
    k = A.shape[0]
    for c in range(k):
        for i in range(c):
            x[c] -= A[i, c] * x[i]
        x[c] /= A[c, c]
    for c in range(k - 1, -1, -1):
        for i in range(c + 1, k):
            x[c] -= A[i, c] * x[i]
    for c in range(k - 1, -1, -1):
        best = int(pivots[c])
        x[c], x[best] = x[best], x[c]


@uncounted
def platform_inertia(record, par):
    """A_x in par.A_x; after `linearise`."""
    n = record.shape[0] - 2
    f = par.active.shape[0]
    status = composite_bodies(record, par.at[:n], par.A)
    row = record[n + 1]
    r = load9(row, RW)
    ms, inertia = rotate(r, load3(row, MS)), congruence(r, load6(row, J))
    for c in range(f):
        v = (par.S[0, c], par.S[1, c], par.S[2, c])
        w = (par.S[3, c], par.S[4, c], par.S[5, c])
        force = add(scale(row[M], v), cross(w, ms))
        moment = add(symmetric_times(inertia, w), cross(ms, v))
        for b in range(f):
            par.A_x[b, c] = 0.0
            for k in range(3):
                par.A_x[b, c] += par.S[k, b] * force[k] + par.S[3 + k, b] * moment[k]
        for i in range(par.legs.shape[0]):
            first = int(par.legs[i, JOINT])
            last = first + int(par.legs[i, JOINTS])
            for j in range(first, last):
                along = 0.0
                for k in range(first, last):
                    along += par.A[j, k] * par.E[k, c]
                for b in range(f):
                    par.A_x[b, c] += par.E[j, b] * along
    return status


@uncounted
def accelerate(record, par, tau, wrenches):
    """nud in par.nu[NUD] under active forces tau (f,); after `leg_velocities`."""
    nud, h = par.nu[NUD], par.nu[FORCE]
    nud[:] = 0.0
    status = max(platform_forces(record, par, nud, wrenches), platform_inertia(record, par))
    for c in range(nud.shape[0]):
        nud[c] = -h[c]
        for a in range(tau.shape[0]):
            nud[c] += par.inverse[a, c] * tau[a]
    return max(status, cholesky_solve(par.A_x, nud))


@uncounted
def inverse_at(record, par, q_a, qd_a, qdd_a, wrenches, tau):
    """Forces tau (f,) of the active joints for a motion of theirs, by (66)."""
    status = forward_near(record, par, q_a)
    if status != OK:
        return status
    velocities_of(record, par, qd_a)
    twist_rate_of(par, qdd_a)
    status = platform_forces(record, par, par.nu[NUD], wrenches)
    copy(par.nu[FORCE], tau)
    solve_transposed(par.K, par.exchange, tau)
    return status


@FastCall
def inverse(self, arguments, count):
    """tau (f,) from q, qd, qdd of the active joints; bound to the arrays of a Parallel."""
    context, given = bound_to(self), words(arguments)
    par = bound_parallel(context)
    f = par.active.shape[0]
    if count != 3 or not are_vectors(context, given, f, f, f):
        return no_answer(context)
    tau = new_answer(self)
    if tau == 0:
        return tau
    record = model(context)
    status = inverse_at(
        record, par, vector(given[0], f), vector(given[1], f), vector(given[2], f), record[:0], vector(tau, f)
    )
    if status != OK:
        par.at[:] = par.home
    return answered(context, tau, status)


@kernel
def bound_parallel(context):
    """The Parallel whose arrays a fast call is bound to."""
    return Parallel(
        beside(context, 0), beside(context, 1), beside(context, 2)[0], beside(context, 3), beside(context, 4)[0],
        beside(context, 5)[0], beside(context, 6)[0], beside(context, 7)[0], beside(context, 8)[0],
        beside(context, 9)[0], beside(context, 10), beside(context, 11)[0], beside(context, 12),
        beside(context, 13)[0], beside(context, 14), beside(context, 15)[0], beside(context, 16), beside(context, 17),
        beside(context, 18)[0], beside(context, 19), beside(context, 20), beside(context, 21), beside(context, 22),
    )  # fmt: skip


@entry
def inverse_batch(record, par, q_a, qd_a, qdd_a, wrenches, tau):
    """`inverse_at` over rows, each followed from the one before where it is near; ends at one that fails."""
    for b in range(tau.shape[0]):
        status = inverse_at(record, par, q_a[b], qd_a[b], qdd_a[b], wrenches[b], tau[b])
        if status != OK:
            return status
    return OK


@entry
def direct_batch(record, par, q_a, qd_a, tau, wrenches, qdd):
    """Accelerations qdd (batch, f) of the active joints under forces of theirs."""
    for b in range(qdd.shape[0]):
        status = forward_near(record, par, q_a[b])
        if status != OK:
            return status
        velocities_of(record, par, qd_a[b])
        status = accelerate(record, par, tau[b], wrenches[b])
        if status != OK:
            return status
        active_rates(par, par.inverse, par.nu[NUD], qdd[b])
        for a in range(qdd.shape[1]):
            qdd[b, a] += par.vectors[G0, int(par.active[a])]
    return OK


@uncounted
def active_rates(par, inverse, nu, out):
    """out (f,) = K nu."""
    for a in range(out.shape[0]):
        out[a] = 0.0
        for c in range(nu.shape[0]):
            out[a] += inverse[a, c] * nu[c]


@entry
def mass_matrix_batch(record, par, q_a, out):
    """A_c = K^-T A_x K^-1 over rows."""
    f = q_a.shape[1]
    for b in range(q_a.shape[0]):
        status = forward_near(record, par, q_a[b])
        if status == OK:
            status = platform_inertia(record, par)
        if status != OK:
            return status
        for _ in range(2):  # K^-T A_x, then its transpose likewise: A_x is symmetric
            for c in range(f):
                solve_transposed(par.K, par.exchange, par.A_x[:, c])
            for c in range(f):
                for k in range(c):
                    par.A_x[c, k], par.A_x[k, c] = par.A_x[k, c], par.A_x[c, k]
        out[b] = par.A_x
    return OK


# from Python


@entry
def signs(record, par, out):
    """det C_i of all legs and det K, in out (m + 1,), at home; SINGULAR where a leg cannot move on."""
    par.at[:] = par.home
    status = close_legs(record, par)
    if status == OK:
        status = linearise(record, par)
    if status != OK:
        return status
    for i in range(par.legs.shape[0]):
        first, count = int(par.legs[i, JOINT]), int(par.legs[i, JOINTS])
        out[i] = 1.0
        if par.legs[i, AIMED] == 0.0:
            out[i] = determinant(par.C[first : first + count, :count], par.pivots[first : first + count])
    small = factor_of(par)
    out[par.legs.shape[0]] = determinant(par.K, par.exchange) if small > SMALLEST_PIVOT else 0.0
    return OK


@entry
def pose_batch(record, par, q_a, at, jacobian):
    """Configurations at (batch, K + 7) at active positions, and the Jacobians S K^-1 (batch, 6, f) of the platform."""
    f = q_a.shape[1]
    for b in range(q_a.shape[0]):
        status = forward_near(record, par, q_a[b])
        if status != OK:
            return status
        at[b] = par.at
        for a in range(f):
            nu = par.nu[STEP]
            nu[:] = 0.0
            nu[a] = 1.0
            solve(par.K, par.exchange, nu)
            for d in range(6):
                jacobian[b, d, a] = 0.0
                for c in range(f):
                    jacobian[b, d, a] += par.S[d, c] * nu[c]
    return OK


@entry
def motion_batch(record, par, q_a, qd_a, qdd_a, twists, accelerations):
    """Twists and accelerations (batch, 6) of the platform's frame from the motion of the active joints."""
    for b in range(q_a.shape[0]):
        status = forward_near(record, par, q_a[b])
        if status != OK:
            return status
        velocities_of(record, par, qd_a[b])
        twist_rate_of(par, qdd_a[b])
        for d in range(6):
            twists[b, d], accelerations[b, d] = 0.0, 0.0
            for c in range(par.active.shape[0]):
                twists[b, d] += par.S[d, c] * par.nu[NU, c]
                accelerations[b, d] += par.S[d, c] * par.nu[NUD, c]
    return OK


@entry
def legs_batch(record, par, poses, twists, accelerations, at, rates, seconds, inverses, status):
    """Legs at poses (batch, 7) of the platform, and their motion at its twists and accelerations (batch, 6).

    at (batch, K + 7); rates, seconds (batch, K) of all joints; inverses (batch, f, 6), the inverse Jacobian K S^T;
    status (batch,): OK, OPEN where a leg does not reach, SINGULAR where it cannot move on, BEYOND a singularity of K.
    """
    n = record.shape[0] - 2
    f = par.active.shape[0]
    for b in range(poses.shape[0]):
        status[b] = reach_near(record, par, poses[b])
        at[b] = par.at
        if status[b] != OK and status[b] != BEYOND:
            par.at[:] = par.home
            continue
        freedoms_of(par, twists[b], par.nu[NU])
        freedoms_of(par, accelerations[b], par.nu[NUD])
        leg_velocities(record, par, par.nu[NU])
        for j in range(n):
            rates[b, j] = par.vectors[QD, j]
            seconds[b, j] = par.vectors[G0, j]
            for c in range(f):
                seconds[b, j] += par.E[j, c] * par.nu[NUD, c]
        for a in range(f):
            for d in range(6):
                inverses[b, a, d] = 0.0
                for c in range(f):
                    inverses[b, a, d] += par.inverse[a, c] * par.S[d, c]
    return OK


@entry
def inverse_at_poses(record, par, poses, twists, accelerations, wrenches, at, status, tau):
    """Forces tau (batch, f) of the active joints at poses (batch, 7) and motions (batch, 6) of the platform, by (66).

    at (batch, K + 7), status (batch,) as of `legs_batch`; tau is NaN where there is none.
    """
    for b in range(poses.shape[0]):
        found = reach_near(record, par, poses[b])
        at[b] = par.at
        tau[b, :] = np.nan
        if found in (OK, BEYOND):
            freedoms_of(par, twists[b], par.nu[NU])
            freedoms_of(par, accelerations[b], par.nu[NUD])
            leg_velocities(record, par, par.nu[NU])
            platform_forces(record, par, par.nu[NUD], wrenches[b])
            tau[b] = par.nu[FORCE]
            solve_transposed(par.K, par.exchange, tau[b])
        else:
            par.at[:] = par.home
        status[b] = found
    return OK


@uncounted
def freedoms_of(par, motion, nu):
    """nu (f,) of a twist or an acceleration (6,)."""
    along_freedoms(par, load3(motion, 0), load3(motion, 3), nu)


@uncounted
def reach_near(record, par, pose):
    """`reach` from where it stands if that is near, else, or if that fails, from home; BEYOND a singularity of K."""
    near = poses_apart(par, pose) < NEAR_POSE
    found = OPEN
    for attempt in range(2):
        if attempt == 1 or not near:
            copy(par.home, par.at)
        found = reach(record, par, pose)
        if found == OK or not near:
            break
    return BEYOND if found == OK and branch(par) <= 0.0 else found


@uncounted
def poses_apart(par, pose):
    """How far a pose (7,) is from where it stands, in rad and in characteristic lengths."""
    n = par.at.shape[0] - 7
    far, same, opposite = 0.0, 0.0, 0.0
    for k in range(3):
        far = max(far, abs(pose[k] - par.at[n + k]) / par.numbers[0])
    for k in range(4):
        same += (pose[3 + k] - par.at[n + 3 + k]) ** 2
        opposite += (pose[3 + k] + par.at[n + 3 + k]) ** 2
    return max(far, 2.0 * sqrt(min(same, opposite)))


@uncounted
def reach(record, par, pose):
    """Bring the platform to a pose (7,) along the straight way, the legs following; at once if all of them aim."""
    n = record.shape[0] - 2
    steps = 1
    for i in range(par.legs.shape[0]):
        if par.legs[i, AIMED] == 0.0:
            steps = max(1, int(poses_apart(par, pose) / STRIDE_OF_POSES) + 1)
    start = par.kept
    copy(par.at, start)
    along = 0.0
    for k in range(4):
        along += start[n + 3 + k] * pose[3 + k]
    sign = -1.0 if along < 0.0 else 1.0
    for s in range(1, steps + 1):
        part = s / steps
        length = 0.0
        for k in range(3):
            par.at[n + k] = start[n + k] + part * (pose[k] - start[n + k])
        for k in range(4):
            par.at[n + 3 + k] = start[n + 3 + k] + part * (sign * pose[3 + k] - start[n + 3 + k])
            length += par.at[n + 3 + k] ** 2
        for k in range(4):
            par.at[n + 3 + k] /= sqrt(length)
        status = close_legs(record, par)
        if status != OK:
            return status
    return linearise(record, par)
