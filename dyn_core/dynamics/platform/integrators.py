"""Motion of a parallel robot in the pose of its platform, compiled: closed exactly, or by virtual springs.

The state is the platform's position and unit quaternion, and its twist in its own axes; with springs the joints of all
legs have states of their own too. Wang and Gosselin's springs pull platform and leg together where the leg was cut,

    lambda = -(k phi + b phi'),   phi' = C_i qd_i + D_i V,

(the damper on the rate seen from the fixed frame, see `dampers`), so that every leg and the platform move by themselves
under C_i^T lambda and D_i^T lambda: the mass matrix is block diagonal (39), with a block for the platform and one for
each leg. Their row of the platform in (40) is printed empty.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.actuation.motors import drive_force
from dyn_core.arrays import Floats
from dyn_core.jit.kernel import entry, kernel, part
from dyn_core.jit.status import OK
from dyn_core.spatial.tuples import (
    add,
    cross,
    dot,
    load3,
    load6,
    load9,
    rotate,
    scale,
    store3,
    sub,
    symmetric_inverse,
    symmetric_times,
    unrotate,
)

from ..linear_solvers import cholesky_solve
from ..loops.constraints import FIRST, constraint_values
from ..loops.dampers import angular_velocity, damp_group, group_end, turn_against
from ..tree.aba import articulated_bodies
from ..tree.integrators import WORK, step_on
from ..tree.kinematics import body_poses
from ..tree.record import GRAVITY, MS, RW, F, J, M, N, V, W, start_fixed
from .dynamics import accelerate, leg_velocities, platform_block
from .jacobians import branch, linearise
from .leg_closure import close_legs, leg_matrices
from .state import JOINT, JOINTS, NU, NUD, QD, ROW, Parallel, along_freedoms, stand, twist


class PlatformScratch(NamedTuple):
    """Forces and accelerations where platform and legs are, and scratch of the integrator."""

    tau: Floats
    """(f,) active forces."""
    vd: Floats
    """(6,), or (6 + K,) with springs."""
    phi: Floats
    """(r,) what the springs give way by."""
    phid: Floats
    """(r,)."""
    pull: Floats
    """(r,) forces of the springs and dampers."""
    total: Floats
    """(K,) forces of all joints."""
    work: Floats
    """Of `step_on`."""


def platform_scratch(par: Parallel, q: Floats, v: Floats) -> PlatformScratch:
    """Scratch for a state q, v."""
    r, n = len(par.rows), len(par.at) - 7
    empty = np.zeros(len(par.active)), np.zeros(len(v)), np.zeros(r), np.zeros(r), np.zeros(r), np.zeros(n)
    return PlatformScratch(*empty, np.zeros((WORK, len(q))))


@kernel
def active_forces(par, motors, drive, speeds, tau):
    """Active forces tau (f,) at speeds (K,) of the legs' joints."""
    for a in range(tau.shape[0]):
        tau[a] = drive_force(motors, drive, a, speeds[int(par.active[a])])


@kernel
def closed_slope(record, par, motors, pose, v, drive, wrenches, tau, vd):
    """Acceleration vd (6,) of the platform in its own axes, the legs closed."""
    n = par.at.shape[0] - 7
    par.at[n:] = pose
    status = close_legs(record, par)
    if status == OK:
        status = linearise(record, par)
    if status != OK:
        return status
    r = load9(record[n + 1], RW)
    u, w = rotate(r, load3(v, 0)), rotate(r, load3(v, 3))
    nu = par.nu[NU]
    along_freedoms(par, u, w, nu)
    leg_velocities(record, par, nu)
    active_forces(par, motors, drive, par.vectors[QD], tau)
    status = accelerate(record, par, tau, wrenches)
    ud, wd = twist(par, par.nu[NUD])
    store3(vd, 0, unrotate(r, ud))
    store3(vd, 3, unrotate(r, wd))
    return status


@kernel
def sprung_slope(record, par, motors, springs, pose, v, q, qd, drive, wrenches, scratch, vd):
    """Accelerations vd (6 + K,) of the platform, in its own axes, and of all legs' joints, held by springs (2, r)."""
    n = par.at.shape[0] - 7
    par.at[:n] = q
    par.at[n:] = pose
    stand(record, par.at)
    body_poses(record, q)
    row = record[n + 1]
    r = load9(row, RW)
    u, w = rotate(r, load3(v, 0)), rotate(r, load3(v, 3))
    constraint_values(record, par.rows, scratch.phi)
    total = scratch.total
    total[:] = 0.0
    active_forces(par, motors, drive, qd, scratch.tau)
    for a in range(scratch.tau.shape[0]):
        total[int(par.active[a])] = scratch.tau[a]
    force, moment = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(par.legs.shape[0]):
        leg = par.legs[i]
        first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
        leg_matrices(record, par, leg)
        for k in range(count):
            f, m = load3(par.D[k], 0), load3(par.D[k], 3)
            rate = f[0] * u[0] + f[1] * u[1] + f[2] * u[2] + m[0] * w[0] + m[1] * w[1] + m[2] * w[2]
            for c in range(count):
                rate += par.C[first + k, c] * qd[first + c]
            scratch.phid[r0 + k] = rate
            scratch.pull[r0 + k] = springs[0, r0 + k] * scratch.phi[r0 + k]
        turn = damp_leg(record, par.rows[r0 : r0 + count], springs[1, r0 : r0 + count], w, qd, scratch, r0)
        moment = sub(moment, turn)
        for k in range(count):
            pull = -scratch.pull[r0 + k]
            for c in range(count):
                total[first + c] += par.C[first + k, c] * pull
            f, m = load3(par.D[k], 0), load3(par.D[k], 3)
            force, moment = add(force, scale(pull, f)), add(moment, scale(pull, m))
    start_fixed(record, 1.0)
    on_legs = wrenches[:n] if wrenches.shape[0] > 0 else wrenches
    store3(row, V, load3(v, 0))
    store3(row, W, load3(v, 3))
    store3(row, F, unrotate(r, scale(-1.0, force)))
    store3(row, N, unrotate(r, scale(-1.0, moment)))
    status = articulated_bodies(record, q, qd, q[:0], on_legs, total, vd[6:])
    force, moment = scale(-1.0, load3(row, F)), scale(-1.0, load3(row, N))
    push = wrenches[n] if wrenches.shape[0] > 0 else vd[:0]
    return max(status, free_platform(record, par, v, force, moment, push, vd))


@kernel
def damp_leg(record, rows, b, w, qd, scratch, r0):
    """Dampers of a leg's rows, which begin at r0, into scratch.pull and scratch.total; returns the moment against which
    they turn the platform (at w, rad/s): none, unless it is the first body of the cut joint."""
    platform = qd.shape[0] + 1
    turn = (0.0, 0.0, 0.0)
    k = 0
    while k < rows.shape[0]:
        end, body = group_end(rows, k), int(rows[k, FIRST])
        at = w if body == platform else angular_velocity(record, body, qd)
        phi, rates, pull = (
            scratch.phi[r0 + k : r0 + end],
            scratch.phid[r0 + k : r0 + end],
            scratch.pull[r0 + k : r0 + end],
        )
        moment = damp_group(record[body], rows[k:end], b[k:end], phi, rates, at, pull)
        if body == platform:
            turn = add(turn, moment)
        else:
            turn_against(record, body, moment, scratch.total)
        k = end
    return turn


@kernel
def free_platform(record, par, v, force, moment, push, vd):
    """Acceleration vd[:6] of the platform by itself under a wrench in and at its body frame; returns a status."""
    row = record[par.at.shape[0] - 6]
    r = load9(row, RW)
    w = load3(v, 3)
    ms, inertia = load3(row, MS), load6(row, J)
    g = unrotate(r, load3(record[0], GRAVITY))
    force = add(force, sub(scale(row[M], g), cross(w, cross(w, ms))))
    moment = add(moment, sub(cross(ms, g), cross(w, symmetric_times(inertia, w))))
    if push.shape[0] > 0:
        force, moment = add(force, load3(push, 0)), add(moment, load3(push, 3))
    if par.S.shape[1] == 6:
        mass = row[M]
        c = scale(1.0 / mass, ms)
        square = dot(c, c)
        about_c = (
            inertia[0] - mass * (square - c[0] * c[0]), inertia[1] + mass * c[0] * c[1],
            inertia[2] + mass * c[0] * c[2], inertia[3] - mass * (square - c[1] * c[1]),
            inertia[4] + mass * c[1] * c[2], inertia[5] - mass * (square - c[2] * c[2]),
        )  # fmt: skip
        wd = symmetric_times(symmetric_inverse(about_c), sub(moment, cross(c, force)))
        store3(vd, 0, sub(scale(1.0 / mass, force), cross(wd, c)))
        store3(vd, 3, wd)
        return OK
    x = par.nu[NUD]
    along_freedoms(par, rotate(r, force), rotate(r, moment), x)
    platform_block(record, par)
    status = cholesky_solve(par.A_x, x)
    ud, wd = twist(par, x)
    store3(vd, 0, unrotate(r, ud))
    store3(vd, 3, unrotate(r, wd))
    return status


@kernel
def slope(memory, motors, q, v, drive, wrenches, _, vd):
    """Accelerations vd at q, v: the `dynamics` of `step_on`."""
    record, par, springs, scratch = memory
    if springs.shape[1] == 0:
        return closed_slope(record, par, motors, q, v, drive, wrenches, scratch.tau, vd)
    return sprung_slope(record, par, motors, springs, q[:7], v[:6], q[7:], v[6:], drive, wrenches, scratch, vd)


@part
def fill_rows(dynamics, memory, motors, q, v, drives, wrenches, h, substeps, table, watched, out, gaps, forces):
    """`platform_rows` with the accelerations of `dynamics`; memory: its record, par, springs and scratch, and more."""
    par, springs, scratch = memory[1], memory[2], memory[3]
    n, last = par.at.shape[0] - 7, drives.shape[0] - 1
    for i in range(out.shape[0]):
        for s in range(substeps if i > 0 else 1):
            first, status = 0, OK
            if i > 0:
                first = min(2 * ((i - 1) * substeps + s), last)
                drive = drives[first : first + 3]
                status = step_on(dynamics, memory, motors, q, v, scratch.vd, drive, wrenches, h, table, scratch.work)
                first = min(first + 2, last)
            if status == OK:
                status = dynamics(memory, motors, q, v, drives[first], wrenches, scratch.tau, scratch.vd)
            if status != OK:
                return i
        if watched and branch(par) <= 0.0:
            return i
        out[i, :7] = q[:7]
        out[i, 7:13] = v[:6]
        out[i, 13 : 13 + n] = par.at[:n]
        out[i, 13 + n :] = v[6:] if springs.shape[1] > 0 else par.vectors[QD]
        gaps[i, 0] = scratch.phi
        gaps[i, 1] = scratch.phid
        forces[i] = scratch.tau
    return out.shape[0]


@entry
def platform_rows(
    record, par, motors, springs, scratch, q, v, drives, wrenches, h, substeps, table, watched, out, gaps, forces
):
    """Fill out (m, 13 + 2 K), gaps (m, 2, r) and forces (m, f), one row per `substeps` steps of h; returns how many.

    q: the pose (7), v: the twist (6) in the platform's axes, both with the K joints behind where springs hold these.
    drives: (1, f) held, or two rows per step of h and one more, at its start, middle and end. table: of the method.
    watched: a motion ends before det K changes its sign. A row is pose, twist, joints and their rates.
    """
    memory = record, par, springs, scratch
    return fill_rows(slope, memory, motors, q, v, drives, wrenches, h, substeps, table, watched, out, gaps, forces)
