"""The legs of a platform on springs at once, one leg per lane: what (39) leaves independent needs no second processor.

Only where the legs are built alike: as many joints of the same types, and the same kind of cut joint.
"""

from __future__ import annotations

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.simd import LANES, empty, fill, in_lanes, lane, space, with_lane
from dyn_core.jit.simd_math import beyond
from dyn_core.jit.status import TOO_LARGE
from dyn_core.spatial.tuples import load3, load9, rotate, unrotate

from ..loops.constraints import AXIS_A, AXIS_B, FIRST, SECOND, TYPE
from ..tree.record import FS, KS, PARENT, PW, RW, SIGMA, VS
from .integrators import active_forces, fill_rows, free_platform
from .sprung_leg import DAMPING, HELD, PHI, RATE, STIFFNESS, sprung_leg
from .state import JOINT, JOINTS, ROW, Parallel, stand

FEWEST = 3
"""Legs below which lanes do not pay."""


def leg_lanes(record: Floats, par: Parallel) -> tuple[Floats, Floats] | None:
    """Records (LANES, 2 + c, WIDTH) and rows (LANES, r, ROW_WIDTH) of the legs, each by itself; None if not alike."""
    m, n = len(par.legs), len(par.at) - 7
    counts = par.legs[:, JOINTS].astype(int)
    if not FEWEST <= m <= LANES or (counts != counts[0]).any() or len(record) != n + 2:
        return None
    legs, cuts = [], []
    for leg in (par.legs[i if i < m else 0] for i in range(LANES)):
        first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
        own = np.concatenate([record[:1], record[first + 1 : first + count + 1], record[n + 1 :]])
        own[1:-1, PARENT] = np.maximum(own[1:-1, PARENT] - first, 0.0)
        rows = par.rows[r0 : r0 + count].copy()
        for column in (FIRST, SECOND):
            rows[:, column] = np.where(rows[:, column] == n + 1, count + 1, rows[:, column] - first)
        legs.append(own)
        cuts.append(rows)
    structure = [np.append(leg[:, (PARENT, SIGMA)], leg[:, (FS, VS, KS)] != 0.0) for leg in legs]
    forbidden = [rows[:, (FIRST, SECOND, TYPE, AXIS_A, AXIS_B)] for rows in cuts]
    alike = all((x == structure[0]).all() for x in structure) and all((x == forbidden[0]).all() for x in forbidden)
    return (np.array(legs), np.array(cuts)) if alike else None


@kernel
def total_of(value, legs):
    """The sum over the lanes of so many legs."""
    out = 0.0
    for i in range(legs):
        out += lane(value, i)
    return out


@kernel
def spread_out(par, column, source, x):
    """x (c,): in each lane the leg's part of source, which begins at the index in that column of par.legs."""
    m = par.legs.shape[0]
    for j in range(x.shape[0]):
        value = x[j]
        for l in range(LANES):
            value = with_lane(value, l, source[int(par.legs[l if l < m else 0, column]) + j])
        x[j] = value


@kernel
def collect(par, column, x, out):
    """The other way round."""
    for j in range(x.shape[0]):
        value = x[j]
        for i in range(par.legs.shape[0]):
            out[int(par.legs[i, column]) + j] = lane(value, i)


@kernel
def slope_in_lanes(memory, motors, q, v, drive, wrenches, _, vd):
    """`slope` with springs."""
    record, par, _, scratch, lanes = memory
    leg, rows, held, C, D, joints, rates, tau, qdd = lanes
    n = par.at.shape[0] - 7
    par.at[:n] = q[7:]
    par.at[n:] = q[:7]
    stand(record, par.at)
    row = record[n + 1]
    r = load9(row, RW)
    u, w = rotate(r, load3(v, 0)), rotate(r, load3(v, 3))
    last = leg[joints.shape[0] + 1]
    for k in range(RW, PW + 3):
        last[k] = row[k]
    spread_out(par, JOINT, par.at, joints)
    if beyond(joints):
        return TOO_LARGE
    spread_out(par, JOINT, v[6:], rates)
    total = scratch.total
    total[:] = 0.0
    active_forces(par, motors, drive, v[6:], scratch.tau)
    for c in range(scratch.tau.shape[0]):
        total[int(par.active[c])] = scratch.tau[c]
    spread_out(par, JOINT, total, tau)
    status, force, moment = sprung_leg(leg, rows, held, C, D, joints, rates, tau, u, w, qdd)
    collect(par, JOINT, qdd, vd[6:])
    collect(par, ROW, held[PHI], scratch.phi)
    collect(par, ROW, held[RATE], scratch.phid)
    m = par.legs.shape[0]
    pull = (total_of(force[0], m), total_of(force[1], m), total_of(force[2], m))
    turn = (total_of(moment[0], m), total_of(moment[1], m), total_of(moment[2], m))
    push = wrenches[n] if wrenches.shape[0] > 0 else vd[:0]
    return max(status, free_platform(record, par, v[:6], unrotate(r, pull), unrotate(r, turn), push, vd))


@entry
def platform_rows_in_lanes(
    legs, cuts, record, par, motors, springs, scratch, q, v, drives, wrenches, h, substeps, table, watched, out, gaps,
    forces,
):  # fmt: skip
    """`platform_rows` with springs. legs (LANES, 2 + c, WIDTH): records of a leg each, the first leg's in spare lanes;
    cuts (LANES, r, ROW_WIDTH): the rows of their cut joints."""
    count, r = legs.shape[1] - 2, cuts.shape[1]
    leg, leg_x, leg_rows = space(legs)
    rows, rows_x, rows_rows = space(cuts)
    fill(leg_x, leg_rows, 0)
    fill(rows_x, rows_rows, 0)
    held = in_lanes(empty(HELD * r).reshape(HELD, r, LANES))
    spread_out(par, ROW, springs[0], held[STIFFNESS])
    spread_out(par, ROW, springs[1], held[DAMPING])
    C, D = in_lanes(empty(r * count).reshape(r, count, LANES)), in_lanes(empty(r * 6).reshape(r, 6, LANES))
    moving = in_lanes(empty(4 * count).reshape(4, count, LANES))
    lanes = leg, rows, held, C, D, moving[0], moving[1], moving[2], moving[3]
    memory = record, par, springs, scratch, lanes
    return fill_rows(
        slope_in_lanes, memory, motors, q, v, drives, wrenches, h, substeps, table, watched, out, gaps, forces
    )
