"""What is asked of a tree in one state, on a fixed or a floating base.

q (nq,), v, vd and forces (nv,) begin with those of a floating base, see floating_base.py; on a fixed base there are the
n joints only. wrenches act on the bodies, in and at the body frames: (n, 6), (n + 1, 6) with a floating base first, or
(0, 6). A frame (13,) is its rotation and origin in its body, and the body's row.
"""

from __future__ import annotations

from functools import partial

from dyn_core.jit.kernel import part, uncounted_part
from dyn_core.jit.state_kernel import StateKernel
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.spatial.tuples import add, load3

from ..linear_solvers import cholesky_solve
from .aba import articulated_bodies
from .crba import composite_bodies
from .floating_base import (
    gravity_on,
    place_base,
    screw,
    start_free,
    start_moved,
    write_base_jacobian,
    write_six,
)
from .kinematics import body_poses, write_jacobian, write_pose
from .record import FLOATING, VD, WD, F, N, start_fixed
from .rnea import newton_euler


@part
def before_joints(record):
    """How many positions and how many speeds are those of a floating base."""
    return (7, 6) if record[0, FLOATING] != 0.0 else (0, 0)


@part
def first_joint(record):
    """Where the joints' positions begin."""
    return before_joints(record)[0]


tree_kernel = partial(StateKernel, first_angle=first_joint)


@uncounted_part
def inverse(record, q, v, vd, wrenches, force):
    """force (nv,) for a motion: the wrench that a floating base needs, and the joint forces."""
    first, base = before_joints(record)
    status = OK
    if base > 0:
        status = place_base(record[0], q)
        start_moved(record, v, vd, wrenches)
    else:
        start_fixed(record, 1.0)
    status = max(status, newton_euler(record, q[first:], v[base:], vd[base:], wrenches, force[base:]))
    if base > 0:
        status = max(status, write_six(load3(record[0], F), load3(record[0], N), force))
    return status


@uncounted_part
def direct(record, prescribed, q, v, wrenches, force, vd):
    """vd (nv,) under forces (nv,); joints whose acceleration is prescribed (n,) give their force instead."""
    first, base = before_joints(record)
    status = OK
    if base > 0:
        status = place_base(record[0], q)
        start_free(record, v, wrenches, force)
    else:
        start_fixed(record, 1.0)
    status = max(status, articulated_bodies(record, q[first:], v[base:], prescribed, wrenches, force[base:], vd[base:]))
    if base > 0:
        acceleration = add(load3(record[0], VD), gravity_on(record[0]))
        status = max(status, write_six(acceleration, load3(record[0], WD), vd))
    return status


@uncounted_part
def inertia(record, q, H):
    """H (nv, nv) by composite bodies."""
    first, _ = before_joints(record)
    status = place_base(record[0], q) if first > 0 else OK
    return max(status, composite_bodies(record, q[first:], H))


@uncounted_part
def place_all(record, q):
    """Poses of all bodies in the base frame; in the world, on a floating base."""
    first, _ = before_joints(record)
    status = place_base(record[0], q) if first > 0 else OK
    return max(status, body_poses(record, q[first:]))


@tree_kernel
def inverse_dynamics(record, q, v, vd, wrenches, force):
    """`inverse`."""
    return inverse(record, q, v, vd, wrenches, force)


@tree_kernel
def forward_dynamics(record, q, v, force, wrenches, vd):
    """`direct`, by articulated bodies."""
    return direct(record, q[:0], q, v, wrenches, force, vd)


@partial(tree_kernel, shared=1, answers=2)
def mixed_dynamics(record, prescribed, q, v, wrenches, force, vd):
    """`direct` with the accelerations of some joints given."""
    return direct(record, prescribed, q, v, wrenches, force, vd)


@StateKernel
def forward_by_matrices(record, q, v, force, wrenches, A, vd):
    """Accelerations by way of the inertia matrix, A vd = force - H: Khalil's section 3.3.1 and (8), (83), (88).

    A (nv, nv): scratch.
    """
    for i in range(vd.shape[0]):
        vd[i] = 0.0
    status = inverse(record, q, v, vd, wrenches, A[0])
    for i in range(vd.shape[0]):
        vd[i] = force[i] - A[0, i]
    status = max(status, inertia(record, q, A), cholesky_solve(A, vd))
    for i in range(vd.shape[0]):
        if not abs(vd[i]) < 1e300:
            status = max(status, NOT_FINITE)
    return status


@tree_kernel
def mass_matrix(record, q, H):
    """H (nv, nv), which does not depend on the pose of a floating base."""
    return inertia(record, q, H)


@partial(tree_kernel, shared=1)
def frame_pose(record, frame, q, pose):
    """Pose (4, 4) of a frame."""
    status = place_all(record, q)
    write_pose(record, frame, pose)
    return status


@partial(tree_kernel, shared=1)
def frame_poses(record, frames, q, poses):
    """Poses (k, 4, 4) of k frames."""
    status = place_all(record, q)
    for k in range(frames.shape[0]):
        write_pose(record, frames[k], poses[k])
    return status


@partial(tree_kernel, shared=1)
def frame_jacobian(record, frame, q, jacobian):
    """Jacobian (6, nv) of a frame's origin, linear first: axes of the base, of the world where the base floats."""
    status = place_all(record, q)
    if before_joints(record)[1] > 0:
        write_base_jacobian(record, frame, jacobian)
    write_jacobian(record, frame, jacobian)
    return status


@partial(StateKernel, shared=1)
def moved_by_velocity(record, time, q, v, out):
    """The configuration after a time of constant velocity in the axes of a floating base."""
    screw(q, v, time, out)
    for j in range(7, q.shape[0]):
        out[j] = q[j] + time * v[j - 1]
    return OK
