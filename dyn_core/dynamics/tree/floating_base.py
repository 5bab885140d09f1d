"""Robots whose base moves freely (Khalil, section 7).

Configuration (7 + n,): position of the base in the world, its orientation as a unit quaternion (x, y, z, w), joints.
Velocity (6 + n,): linear velocity of the base's origin and angular velocity, both in the base's axes, joint rates.
Acceleration (6 + n,): classical acceleration of the base's origin and angular acceleration, in the base's axes, joint
accelerations. Forces (6 + n,): wrench on the base at its origin in its axes, joint forces.

Gravity enters as in a fixed base: the recursions work with the base's acceleration less gravity, which is added back
where the acceleration is an answer.
"""

from __future__ import annotations

from math import cos, sin, sqrt

import numpy as np

from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.spatial.tuples import (
    add,
    cross,
    dot,
    load3,
    quaternion_rotation,
    rotate,
    scale,
    store3,
    store9,
    sub,
    turned,
    unrotate,
)

from ..linear_solvers import cholesky_solve
from .aba import articulated_bodies, start_body
from .crba import composite_bodies
from .kinematics import body_poses, write_jacobian, write_pose
from .record import GRAVITY, PW, RW, VD, WD, F, N, V, W, wrench_on
from .rnea import body_wrench, newton_euler


@kernel
def place_base(base, q):
    """Pose of the base in the world; returns gravity in its axes."""
    r = quaternion_rotation((q[3], q[4], q[5], q[6]))
    store9(base, RW, r)
    store3(base, PW, (q[0], q[1], q[2]))
    return unrotate(r, load3(base, GRAVITY))


@kernel
def inverse(record, q, v, vd, wrenches, force):
    """force (6 + n,) for a motion: the wrench that the base needs, and the joint forces."""
    n = q.shape[0] - 7
    base = record[0]
    g = place_base(base, q)
    w = (v[3], v[4], v[5])
    wd = (vd[3], vd[4], vd[5])
    acceleration = sub((vd[0], vd[1], vd[2]), g)
    store3(base, W, w)
    store3(base, V, (v[0], v[1], v[2]))
    store3(base, WD, wd)
    store3(base, VD, acceleration)
    f, m = body_wrench(base, w, wd, acceleration)
    if wrenches.shape[0] > 0:
        push, turn = wrench_on(wrenches, n, -1)
        f = sub(f, push)
        m = sub(m, turn)
    store3(base, F, f)
    store3(base, N, m)
    status = newton_euler(record, q[7:], v[6:], vd[6:], wrenches, force[6:])
    nothing = 0.0
    for i in range(3):
        force[i] = base[F + i]
        force[3 + i] = base[N + i]
        nothing += 0.0 * (force[i] + force[3 + i])
    return status if nothing == 0.0 else NOT_FINITE


@kernel
def direct(record, q, v, prescribed, wrenches, force, vd):
    """vd (6 + n,) under a force (6 + n,); joints whose acceleration is prescribed give their force instead."""
    n = q.shape[0] - 7
    base = record[0]
    g = place_base(base, q)
    w = (v[3], v[4], v[5])
    store3(base, W, w)
    store3(base, V, (v[0], v[1], v[2]))
    start_body(base, w)
    push = (force[0], force[1], force[2])
    turn = (force[3], force[4], force[5])
    if wrenches.shape[0] > 0:
        f, m = wrench_on(wrenches, n, -1)
        push = add(push, f)
        turn = add(turn, m)
    store3(base, F, sub(load3(base, F), push))
    store3(base, N, sub(load3(base, N), turn))
    status = articulated_bodies(record, q[7:], v[6:], prescribed, wrenches, force[6:], vd[6:])
    acceleration = add(load3(base, VD), g)
    nothing = 0.0
    for i in range(3):
        vd[i] = acceleration[i]
        vd[3 + i] = base[WD + i]
        nothing += 0.0 * (vd[i] + vd[3 + i])
    return status if nothing == 0.0 else NOT_FINITE


@entry
def inverse_batch(record, q, v, vd, wrenches, force):
    """`inverse` over rows; wrenches (batch, n + 1, 6) with the base first, or (batch, 0, 6)."""
    status = OK
    for b in range(q.shape[0]):
        status = max(status, inverse(record, q[b], v[b], vd[b], wrenches[b], force[b]))
    return status


@entry
def direct_batch(record, q, v, prescribed, wrenches, force, vd):
    """`direct` over rows."""
    status = OK
    for b in range(q.shape[0]):
        status = max(status, direct(record, q[b], v[b], prescribed, wrenches[b], force[b], vd[b]))
    return status


@entry
def pose_batch(record, q, rows, frames, pose):
    """Poses (batch, k, 4, 4) of k frames in the world."""
    status = OK
    for b in range(q.shape[0]):
        place_base(record[0], q[b])
        status = max(status, body_poses(record, q[b, 7:]))
        for k in range(rows.shape[0]):
            write_pose(record, rows[k], frames[k], pose[b, k])
    return status


@entry
def jacobian_batch(record, q, row, frame, jacobian):
    """Jacobians (batch, 6, 6 + n) of a frame's origin: world axes, from the velocity of base and joints."""
    status = OK
    for b in range(q.shape[0]):
        place_base(record[0], q[b])
        status = max(status, body_poses(record, q[b, 7:]))
        write_jacobian(record, row, frame, jacobian[b, :, 6:])
        write_base_jacobian(record, row, frame, jacobian[b])
    return status


@kernel
def write_base_jacobian(record, row, frame, jacobian):
    """The first six columns: the frame moves with the base as one body."""
    base, body = record[0], record[row]
    for i in range(3):
        arm = -base[PW + i] + body[PW + i]
        for k in range(3):
            arm += body[RW + 3 * i + k] * frame[9 + k]
        jacobian[i, 0] = arm
    x, y, z = jacobian[0, 0], jacobian[1, 0], jacobian[2, 0]
    for k in range(3):
        a, b, c = base[RW + k], base[RW + 3 + k], base[RW + 6 + k]
        jacobian[0, 3 + k] = b * z - c * y
        jacobian[1, 3 + k] = c * x - a * z
        jacobian[2, 3 + k] = a * y - b * x
        for i in range(3):
            jacobian[i, k] = jacobian[3 + i, 3 + k] = base[RW + 3 * i + k]
            jacobian[3 + i, k] = 0.0


@entry
def by_matrices_batch(record, q, v, wrenches, force, vd):
    """Accelerations over rows by A and H of (83), solved as (88)."""
    nv = v.shape[1]
    A = np.empty((nv, nv))
    status = OK
    for b in range(q.shape[0]):
        for i in range(nv):
            vd[b, i] = 0.0
        status = max(status, inverse(record, q[b], v[b], vd[b], wrenches[b], A[0]))
        for i in range(nv):
            vd[b, i] = force[b, i] - A[0, i]
        status = max(status, composite_bodies(record, q[b, 7:], A), cholesky_solve(A, vd[b]))
    return status


@entry
def integrate_batch(record, q, v, time, out):
    """Configurations after a time of constant velocity in the base's axes: a screw motion of the base."""
    for b in range(q.shape[0]):
        u = (q[b, 3], q[b, 4], q[b, 5], q[b, 6])
        r = (time * v[b, 3], time * v[b, 4], time * v[b, 5])
        s = (time * v[b, 0], time * v[b, 1], time * v[b, 2])
        angle = sqrt(dot(r, r))
        if angle < 1e-4:
            first, second = 0.5 - angle * angle / 24.0, 1.0 / 6.0 - angle * angle / 120.0
        else:
            first, second = (1.0 - cos(angle)) / angle**2, (angle - sin(angle)) / angle**3
        turn = cross(r, s)
        s = add(s, add(scale(first, turn), scale(second, cross(r, turn))))
        s = rotate(quaternion_rotation(u), s)
        u = turned(u, r)
        for i in range(3):
            out[b, i] = q[b, i] + s[i]
        for i in range(4):
            out[b, 3 + i] = u[i]
        for j in range(7, q.shape[1]):
            out[b, j] = q[b, j] + time * v[b, j - 1]
    return OK
