"""One leg that springs hold at the platform, by itself: Wang and Gosselin's block of a leg (39).

The leg has a record of its own: the base, its joints, and the platform in the last row; and the rows of its cut joint
with the bodies' places in that record. The same source computes a leg from floats, or as many legs as there are lanes
from SIMD vectors, if they are built alike.
"""

from __future__ import annotations

from dyn_core.jit.kernel import kernel
from dyn_core.spatial.tuples import add, cross, dot, load3, scale, sub

from ..loops.constraints import FIRST, SECOND, add_ancestors, constraint_values, row_wrenches
from ..loops.dampers import angular_velocity, damp_group, group_end, turn_against
from ..tree.aba import articulated_bodies
from ..tree.kinematics import body_poses
from ..tree.record import PW, start_fixed

PHI, RATE, PULL, STIFFNESS, DAMPING, HELD = range(6)
"""Rows of what a leg's springs are and do: gaps, their rates, forces; constants."""


@kernel
def sprung_leg(leg, rows, held, C, D, q, qd, tau, u, w, qdd):
    """Accelerations qdd (c,) of a leg under joint forces tau (c,), which the springs are added to.

    held (HELD, r), C (r, c), D (r, 6). u, w: velocity of the platform's origin and its angular velocity, in base axes.
    Returns a status, and the force on the platform and its moment about the platform's origin.
    """
    count = q.shape[0]
    platform = count + 1
    origin = load3(leg[platform], PW)
    body_poses(leg, q)
    constraint_values(leg, rows, held[PHI])
    for k in range(rows.shape[0]):
        row = rows[k]
        for c in range(count):
            C[k, c] = 0.0
        on_platform, on_leg = row_wrenches(leg, row)
        body = int(row[SECOND])
        if body == platform:
            on_platform, on_leg, body = on_leg, on_platform, int(row[FIRST])
        add_ancestors(leg, body, on_leg, C[k])
        point, force, turn = on_platform
        turn = add(cross(sub(point, origin), force), turn)
        for i in range(3):
            D[k, i] = force[i]
            D[k, 3 + i] = turn[i]
        held[RATE, k] = dot(force, u) + dot(turn, w)
        for c in range(count):
            held[RATE, k] += C[k, c] * qd[c]
        held[PULL, k] = held[STIFFNESS, k] * held[PHI, k]
    force, moment = (0.0 * u[0], 0.0 * u[1], 0.0 * u[2]), (0.0 * u[0], 0.0 * u[1], 0.0 * u[2])
    k = 0
    while k < rows.shape[0]:
        end, body = group_end(rows, k), int(rows[k, FIRST])
        b, phi, rates, pull = held[DAMPING, k:end], held[PHI, k:end], held[RATE, k:end], held[PULL, k:end]
        at = w
        if body != platform:
            at = angular_velocity(leg, body, qd)
        turn = damp_group(leg[body], rows[k:end], b, phi, rates, at, pull)
        if body == platform:
            moment = sub(moment, turn)
        else:
            turn_against(leg, body, turn, tau)
        k = end
    for k in range(rows.shape[0]):
        pull = held[PULL, k]
        for c in range(count):
            tau[c] -= C[k, c] * pull
        force = sub(force, scale(pull, load3(D[k], 0)))
        moment = sub(moment, scale(pull, load3(D[k], 3)))
    start_fixed(leg, 1.0)
    status = articulated_bodies(leg, q, qd, q[:0], leg[:0], tau, qdd)
    return status, force, moment
