"""Poses of bodies and frames, and their Jacobians."""

from __future__ import annotations

from dyn_core.jit.kernel import entry, kernel, uncounted
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import add, compose, cross, load3, load9, rotate, store3, store9, sub

from .record import PARENT, PW, RW, SIGMA, D, place

POSITION = D  # of the joint, where articulated bodies keep what it moves


@kernel
def body_poses(record, q):
    """Rotation RW and origin PW of every body in the base frame."""
    chain_poses(record, q, 0, q.shape[0])
    nothing = 0.0
    for j in range(q.shape[0]):
        nothing += 0.0 * q[j]
    return OK if nothing == 0.0 else NOT_FINITE


@uncounted
def chain_poses(record, q, first, last):
    """The same of the bodies on the joints first ... last - 1."""
    for j in range(first, last):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a, p = place(row, q[j])
        row[POSITION] = q[j]
        r = load9(up, RW)
        store9(row, RW, compose(r, a))
        store3(row, PW, add(load3(up, PW), rotate(r, p)))


@kernel
def write_pose(record, row, frame, pose):
    """Homogeneous (4, 4) pose of a frame fixed in the body of a row; frame (12,) is its rotation and origin there."""
    r = load9(record[row], RW)
    a = compose(r, load9(frame, 0))
    p = add(load3(record[row], PW), rotate(r, load3(frame, 9)))
    for i in range(3):
        for k in range(3):
            pose[i, k] = a[3 * i + k]
        pose[i, 3] = p[i]
        pose[3, i] = 0.0
    pose[3, 3] = 1.0


@kernel
def write_jacobian(record, row, frame, jacobian):
    """Jacobian (6, n), linear first, of the origin of a frame fixed in the body of a row; axes of the base."""
    for i in range(6):
        for k in range(jacobian.shape[1]):
            jacobian[i, k] = 0.0
    e = add(load3(record[row], PW), rotate(load9(record[row], RW), load3(frame, 9)))
    while row > 0:
        body = record[row]
        z = (body[RW + 2], body[RW + 5], body[RW + 8])
        if body[SIGMA] == PRISMATIC:
            for i in range(3):
                jacobian[i, row - 1] = z[i]
        else:
            v = cross(z, sub(e, load3(body, PW)))
            for i in range(3):
                jacobian[i, row - 1] = v[i]
                jacobian[3 + i, row - 1] = z[i]
        row = int(body[PARENT])


@kernel
def frame_pose(record, q, row, frame, pose):
    """`write_pose` at q (n,)."""
    body_poses(record, q)
    write_pose(record, row, frame, pose)
    return OK


@kernel
def frame_jacobian(record, q, row, frame, jacobian):
    """`write_jacobian` at q (n,)."""
    body_poses(record, q)
    write_jacobian(record, row, frame, jacobian)
    return OK


@entry
def frame_pose_batch(record, q, row, frame, pose):
    """`frame_pose` over rows of q."""
    for b in range(q.shape[0]):
        frame_pose(record, q[b], row, frame, pose[b])
    return OK


@entry
def all_poses_batch(record, q, rows, frames, pose):
    """Poses (batch, k, 4, 4) of k frames."""
    for b in range(q.shape[0]):
        body_poses(record, q[b])
        for k in range(rows.shape[0]):
            write_pose(record, rows[k], frames[k], pose[b, k])
    return OK


@entry
def frame_jacobian_batch(record, q, row, frame, jacobian):
    """`frame_jacobian` over rows of q."""
    for b in range(q.shape[0]):
        frame_jacobian(record, q[b], row, frame, jacobian[b])
    return OK
