"""What is asked of platform and legs in one state, followed from the configuration start (K + 7,)."""

from __future__ import annotations

from functools import partial

import numpy as np

from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.state_kernel import StateKernel
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

platform_kernel = partial(StateKernel, shared=2)


@platform_kernel
def inverse_dynamics(record, par, start, q_a, qd_a, qdd_a, wrenches, tau):
    """`inverse_at`."""
    begin(par, start)
    return inverse_at(record, par, q_a, qd_a, qdd_a, wrenches, tau)


@platform_kernel
def forward_dynamics(record, par, start, q_a, qd_a, tau, wrenches, qdd):
    """Accelerations qdd (f,) of the active joints under forces of theirs."""
    status = forward_from(record, par, start, q_a)
    if status != OK:
        return status
    velocities_of(record, par, qd_a)
    status = accelerate(record, par, tau, wrenches)
    active_rates(par, par.inverse, par.nu[NUD], qdd)
    for a in range(qdd.shape[0]):
        qdd[a] += par.vectors[G0, int(par.active[a])]
    return status


@platform_kernel
def mass_matrix(record, par, start, q_a, out):
    """A_c = K^-T A_x K^-1."""
    f = q_a.shape[0]
    status = forward_from(record, par, start, q_a)
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
    out[:] = par.A_x
    return status


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


@platform_kernel
def configuration(record, par, start, q_a, at, jacobian):
    """The configuration at (K + 7,) at active positions, and the Jacobian S K^-1 (6, f) of the platform."""
    status = forward_from(record, par, start, q_a)
    if status != OK:
        return status
    at[:] = par.at
    for a in range(q_a.shape[0]):
        nu = par.nu[STEP]
        nu[:] = 0.0
        nu[a] = 1.0
        lu_solve(par.K, par.exchange, nu)
        store_twist(par, nu, jacobian[:, a])
    return OK


@platform_kernel
def platform_motion(record, par, start, q_a, qd_a, qdd_a, velocity, acceleration):
    """Twist and acceleration (6,) of the platform's frame from the motion of the active joints."""
    status = forward_from(record, par, start, q_a)
    if status != OK:
        return status
    velocities_of(record, par, qd_a)
    twist_rate_of(par, qdd_a)
    store_twist(par, par.nu[NU], velocity)
    store_twist(par, par.nu[NUD], acceleration)
    return OK


@kernel
def take_pose(record, par, start, pose, velocity, acceleration, at, status):
    """Bring the platform from a configuration to a pose (7,), and its legs to their speeds there; whether it can be.

    status (1,): OK, OPEN where a leg does not reach, SINGULAR where it cannot move on, BEYOND a singularity of K.
    """
    status[0] = reach_from(record, par, start, pose)
    at[:] = par.at
    if status[0] != OK and status[0] != BEYOND:
        return False
    along_freedoms(par, load3(velocity, 0), load3(velocity, 3), par.nu[NU])
    along_freedoms(par, load3(acceleration, 0), load3(acceleration, 3), par.nu[NUD])
    leg_velocities(record, par, par.nu[NU])
    return True


@platform_kernel
def legs_at_pose(record, par, start, pose, velocity, acceleration, at, rates, seconds, inverse, status):
    """Legs at a pose (7,) of the platform, and their motion at its twist and acceleration (6,).

    at (K + 7,); rates, seconds (K,) of all joints; inverse (f, 6), the inverse Jacobian K S^T; status: of `take_pose`.
    """
    f = par.active.shape[0]
    if not take_pose(record, par, start, pose, velocity, acceleration, at, status):
        return OK
    for j in range(par.at.shape[0] - 7):
        rates[j] = par.vectors[QD, j]
        seconds[j] = par.vectors[G0, j]
        for c in range(f):
            seconds[j] += par.E[j, c] * par.nu[NUD, c]
    for a in range(f):
        for d in range(6):
            inverse[a, d] = 0.0
            for c in range(f):
                inverse[a, d] += par.inverse[a, c] * par.S[d, c]
    return OK


@platform_kernel
def forward_at_pose(record, par, start, pose, velocity, tau, wrenches, at, status, acceleration):
    """Acceleration (6,) of the platform at a pose (7,) and a twist (6,), under active forces tau (f,).

    at (K + 7,), status of `take_pose`; the acceleration is NaN where there is none. K need not be inverted: there is an
    answer in its singularities too.
    """
    acceleration[:] = np.nan
    reached = take_pose(record, par, start, pose, velocity, velocity, at, status)
    if reached and accelerate(record, par, tau, wrenches) == OK:
        store_twist(par, par.nu[NUD], acceleration)
    return OK


@platform_kernel
def inverse_at_pose(record, par, start, pose, velocity, acceleration, wrenches, at, status, tau):
    """Forces tau (f,) of the active joints at a pose (7,) and a motion (6,) of the platform, by (66).

    at (K + 7,), status of `take_pose`; tau is NaN where there is none.
    """
    if not take_pose(record, par, start, pose, velocity, acceleration, at, status):
        tau[:] = np.nan
        return OK
    platform_forces(record, par, par.nu[NUD], wrenches)
    tau[:] = par.nu[FORCE]
    lu_solve_transposed(par.K, par.exchange, tau)
    return OK
