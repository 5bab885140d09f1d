"""E_i = -C_i^-1 D_i S of the legs, and the inverse Jacobian K with its factors."""

from __future__ import annotations

from math import sqrt

import numpy as np

from dyn_core.jit.kernel import uncounted
from dyn_core.jit.status import OK, SINGULAR
from dyn_core.spatial.tuples import add, cross, dot, load3, load9, rotate, scale, sub

from ..linear_solvers import determinant, lu_factor, lu_solve, lu_solve_columns
from ..loops.closure import SMALLEST_PIVOT
from ..loops.constraints import constraint_values
from ..tree.kinematics import chain_poses
from ..tree.record import PW, RW, P
from .leg_closure import close_leg, leg_matrices
from .state import AIMED, JOINT, JOINTS, LENGTH, OPENING, POINT, ROW, SIGN, SLIDES, along_freedoms, copy, stand


@uncounted
def aimed_axes(record, par, leg):
    """Of a leg that aims: its axes a1, a2, u, and d_k with which the joints follow the velocity v of its tip.

    a2 lies across a1 and u, so that v = q1' a1 x l + q2' a2 x l + l' u falls apart: qd_k = d_k . v. Also the vector l
    from foot to tip, and how far from singular that is: 0 where the leg lies along a1, or has no length.
    """
    first = int(leg[JOINT])
    one, two, three = record[first + 1], record[first + 2], record[first + 3]
    a1 = (one[RW + 2], one[RW + 5], one[RW + 8])
    a2 = (two[RW + 2], two[RW + 5], two[RW + 8])
    u = (three[RW + 2], three[RW + 5], three[RW + 8])
    platform = record[par.at.shape[0] - 6]
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
        _, _, u, d1, d2, l, regular = aimed_axes(record, par, leg)
        if not regular > SMALLEST_PIVOT:
            return SINGULAR
        arm = sub(add(load3(record[first + 1], PW), l), load3(record[par.at.shape[0] - 6], PW))
        along_freedoms(par, d1, cross(arm, d1), par.E[first])
        along_freedoms(par, d2, cross(arm, d2), par.E[first + 1])
        along_freedoms(par, u, cross(arm, u), par.E[first + 2])
        return OK
    leg_matrices(record, par, leg)
    C, pivots = par.C[first:last, :count], par.pivots[first:last]
    if lu_factor(C, pivots) < SMALLEST_PIVOT or leg[SIGN] * determinant(C, pivots) < 0.0:
        return SINGULAR
    for k in range(count):
        force, moment = load3(par.D[k], 0), load3(par.D[k], 3)
        along_freedoms(par, scale(-1.0, force), scale(-1.0, moment), par.E[first + k])
    lu_solve_columns(C, pivots, par.E[first:last])
    return OK


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
    platform = record[par.at.shape[0] - 6]
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
            chain_poses(record, at, first, last)
        if linearise_leg(record, par, leg) != OK:
            return SINGULAR
        if leg[AIMED] == 0.0:
            x = par.vectors[OPENING, first:last]
            constraint_values(record, par.rows[r0 : r0 + count], x)
            lu_solve(par.C[first:last, :count], par.pivots[first:last], x)
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
    return lu_factor(par.K, par.exchange)


@uncounted
def branch(par):
    """det K with the sign that it has at home made positive; after `linearise`."""
    return par.numbers[1] * determinant(par.K, par.exchange)
