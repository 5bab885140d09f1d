"""Joints of the legs at a pose of the platform: phi_i(q_i, pose) = 0."""

from __future__ import annotations

from math import atan2, pi, sqrt

import numpy as np

from dyn_core.jit.kernel import entry, uncounted
from dyn_core.jit.status import NOT_FINITE, OK, OPEN, SINGULAR
from dyn_core.spatial.tuples import add, cross, load3, load9, rotate, store3, sub, unrotate

from ..linear_solvers import lu_factor, lu_solve
from ..loops.closure import CLOSED, SMALLEST_PIVOT, TOLERANCE, largest_of
from ..loops.constraints import FIRST, SECOND, add_ancestors, constraint_values, row_wrenches
from ..tree.kinematics import chain_poses
from ..tree.record import PW, RW, P, T
from .state import AIMED, FLIPPED, ITERATIONS, JOINT, JOINTS, LENGTH, POINT, QD, ROW, TILT, TURN, stand


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
    platform = par.at.shape[0] - 6
    origin = load3(record[platform], PW)
    first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
    for k in range(count):
        row = par.rows[r0 + k]
        for c in range(first, first + count):
            par.line[c] = 0.0
        on_platform, on_leg = row_wrenches(record, row)
        body = int(row[SECOND])
        if body == platform:
            on_platform, on_leg, body = on_leg, on_platform, int(row[FIRST])
        add_ancestors(record, body, on_leg, par.line)
        for c in range(count):
            par.C[first + k, c] = par.line[first + c]
        point, force, moment = on_platform
        store3(par.D[k], 0, force)
        store3(par.D[k], 3, add(cross(sub(point, origin), force), moment))


@uncounted
def close_leg(record, par, leg):
    """The leg's joints at the platform's pose, in closed form where it aims; else a damped Newton iteration."""
    at = par.at
    first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
    last = first + count
    if leg[AIMED] != 0.0:
        platform, foot = record[par.at.shape[0] - 6], record[first + 1]
        point = add(load3(platform, PW), rotate(load9(platform, RW), load3(leg, POINT)))
        x, y, z = unrotate(load9(foot, T), sub(point, load3(foot, P)))
        turn, tilt = aim(x, y, z)
        if leg[FLIPPED] != 0.0:
            turn, tilt = turn + pi, pi - tilt
        at[first] = wrapped(turn - leg[TURN])
        at[first + 1] = wrapped(tilt - leg[TILT])
        at[first + 2] = sqrt(x * x + y * y + z * z) - leg[LENGTH]
        chain_poses(record, at, first, last)
        return OK
    rows = par.rows[r0 : r0 + count]
    phi, pivots, step = par.phi[r0 : r0 + count], par.pivots[first:last], par.vectors[QD, first:last]
    C = par.C[first:last, :count]
    chain_poses(record, at, first, last)
    constraint_values(record, rows, phi)
    error = largest_of(phi)
    for _ in range(ITERATIONS):
        if not error > TOLERANCE:
            break
        leg_matrices(record, par, leg)
        if lu_factor(C, pivots) < SMALLEST_PIVOT:
            return SINGULAR if error < CLOSED else OPEN
        for k in range(count):
            step[k] = -phi[k]
        lu_solve(C, pivots, step)
        damping = min(1.0, 0.5 / max(largest_of(step), 1e-300))
        better = False
        for k in range(first, last):
            par.line[k] = at[k]
        for _ in range(12):
            for k in range(count):
                at[first + k] = par.line[first + k] + damping * step[k]
            chain_poses(record, at, first, last)
            constraint_values(record, rows, phi)
            if largest_of(phi) < error:
                better = True
                break
            damping *= 0.5
        if not better:
            for k in range(first, last):
                at[k] = par.line[k]
            chain_poses(record, at, first, last)
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
