"""Entries over rows, each followed from the configuration start (K + 7,)."""

from __future__ import annotations

import numpy as np

from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import BEYOND, OK
from dyn_core.spatial.tuples import load3, store3

from ..linear_solvers import determinant, lu_solve, lu_solve_transposed
from ..loops.closure import SMALLEST_PIVOT
from .dynamics import (
    accelerate,
    active_rates,
    inverse_at,
    leg_velocities,
    platform_forces,
    platform_inertia,
    twist_rate_of,
    velocities_of,
)
from .forward_kinematics import begin, forward_from
from .jacobians import factor_of, linearise
from .leg_closure import close_legs
from .pose_kinematics import reach_from
from .state import AIMED, FORCE, G0, JOINT, JOINTS, NU, NUD, QD, STEP, along_freedoms, twist


@entry
def inverse_batch(record, par, start, q_a, qd_a, qdd_a, wrenches, tau):
    """`inverse_at` over rows; ends at one that fails."""
    for b in range(tau.shape[0]):
        begin(par, start)
        status = inverse_at(record, par, q_a[b], qd_a[b], qdd_a[b], wrenches[b], tau[b])
        if status != OK:
            return status
    return OK


@entry
def direct_batch(record, par, start, q_a, qd_a, tau, wrenches, qdd):
    """Accelerations qdd (batch, f) of the active joints under forces of theirs."""
    for b in range(qdd.shape[0]):
        status = forward_from(record, par, start, q_a[b])
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


@entry
def mass_matrix_batch(record, par, start, q_a, out):
    """A_c = K^-T A_x K^-1 over rows."""
    f = q_a.shape[1]
    for b in range(q_a.shape[0]):
        status = forward_from(record, par, start, q_a[b])
        if status == OK:
            status = platform_inertia(record, par)
        if status != OK:
            return status
        for _ in range(2):  # K^-T A_x, then its transpose likewise: A_x is symmetric
            for c in range(f):
                lu_solve_transposed(par.K, par.exchange, par.A_x[:, c])
            for c in range(f):
                for k in range(c):
                    par.A_x[c, k], par.A_x[k, c] = par.A_x[k, c], par.A_x[c, k]
        out[b] = par.A_x
    return OK


@entry
def signs(record, par, start, out):
    """det C_i of all legs and det K, in out (m + 1,), at a configuration; SINGULAR where a leg cannot move on."""
    begin(par, start)
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


@kernel
def store_twist(par, nu, out):
    """out (6,) = S nu."""
    v, w = twist(par, nu)
    store3(out, 0, v)
    store3(out, 3, w)


@entry
def pose_batch(record, par, start, q_a, at, jacobian):
    """Configurations at (batch, K + 7) at active positions, and the Jacobians S K^-1 (batch, 6, f) of the platform."""
    f = q_a.shape[1]
    for b in range(q_a.shape[0]):
        status = forward_from(record, par, start, q_a[b])
        if status != OK:
            return status
        at[b] = par.at
        for a in range(f):
            nu = par.nu[STEP]
            nu[:] = 0.0
            nu[a] = 1.0
            lu_solve(par.K, par.exchange, nu)
            store_twist(par, nu, jacobian[b, :, a])
    return OK


@entry
def motion_batch(record, par, start, q_a, qd_a, qdd_a, twists, accelerations):
    """Twists and accelerations (batch, 6) of the platform's frame from the motion of the active joints."""
    for b in range(q_a.shape[0]):
        status = forward_from(record, par, start, q_a[b])
        if status != OK:
            return status
        velocities_of(record, par, qd_a[b])
        twist_rate_of(par, qdd_a[b])
        store_twist(par, par.nu[NU], twists[b])
        store_twist(par, par.nu[NUD], accelerations[b])
    return OK


@kernel
def take_pose(record, par, start, pose, velocity, acceleration, at):
    """Bring the platform from a configuration to a pose (7,), and its legs to their speeds there."""
    status = reach_from(record, par, start, pose)
    at[:] = par.at
    if status in (OK, BEYOND):
        along_freedoms(par, load3(velocity, 0), load3(velocity, 3), par.nu[NU])
        along_freedoms(par, load3(acceleration, 0), load3(acceleration, 3), par.nu[NUD])
        leg_velocities(record, par, par.nu[NU])
    return status


@entry
def legs_batch(record, par, start, poses, twists, accelerations, at, rates, seconds, inverses, status):
    """Legs at poses (batch, 7) of the platform, and their motion at its twists and accelerations (batch, 6).

    at (batch, K + 7); rates, seconds (batch, K) of all joints; inverses (batch, f, 6), the inverse Jacobian K S^T;
    status (batch,): OK, OPEN where a leg does not reach, SINGULAR where it cannot move on, BEYOND a singularity of K.
    """
    n = par.at.shape[0] - 7
    f = par.active.shape[0]
    for b in range(poses.shape[0]):
        status[b] = take_pose(record, par, start, poses[b], twists[b], accelerations[b], at[b])
        if status[b] != OK and status[b] != BEYOND:
            continue
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
def direct_at_poses(record, par, start, poses, twists, tau, wrenches, at, status, accelerations):
    """Accelerations (batch, 6) of the platform at poses (batch, 7) and twists (batch, 6), under active forces tau.

    at (batch, K + 7), status (batch,) as of `legs_batch`; the accelerations are NaN where there are none. K need not be
    inverted: there is an answer in its singularities too.
    """
    for b in range(poses.shape[0]):
        status[b] = take_pose(record, par, start, poses[b], twists[b], twists[b], at[b])
        accelerations[b] = np.nan
        if status[b] in (OK, BEYOND) and accelerate(record, par, tau[b], wrenches[b]) == OK:
            store_twist(par, par.nu[NUD], accelerations[b])
    return OK


@entry
def inverse_at_poses(record, par, start, poses, twists, accelerations, wrenches, at, status, tau):
    """Forces tau (batch, f) of the active joints at poses (batch, 7) and motions (batch, 6) of the platform, by (66).

    at (batch, K + 7), status (batch,) as of `legs_batch`; tau is NaN where there is none.
    """
    for b in range(poses.shape[0]):
        status[b] = take_pose(record, par, start, poses[b], twists[b], accelerations[b], at[b])
        if status[b] != OK and status[b] != BEYOND:
            tau[b] = np.nan
            continue
        platform_forces(record, par, par.nu[NUD], wrenches[b])
        tau[b] = par.nu[FORCE]
        lu_solve_transposed(par.K, par.exchange, tau[b])
    return OK
