"""Poses of bodies and frames, and their Jacobians."""

from __future__ import annotations

from dyn_core.jit.kernel import kernel, uncounted
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import add, compose, cross, load3, load9, rotate, store3, store9, sub

from .record import FLOATING, PARENT, PW, RW, SIGMA, D, place

POSITION = D  # of the joint, where articulated bodies keep what it moves
BODY = 12  # of a frame: behind its rotation (9) and its origin (3), the row of its body


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
def write_pose(record, frame, pose):
    """Homogeneous (4, 4) pose of a frame (13,): its rotation and origin in a body, and the body's row."""
    body = record[int(frame[BODY])]
    r = load9(body, RW)
    a = compose(r, load9(frame, 0))
    p = add(load3(body, PW), rotate(r, load3(frame, 9)))
    for i in range(3):
        for k in range(3):
            pose[i, k] = a[3 * i + k]
        pose[i, 3] = p[i]
        pose[3, i] = 0.0
    pose[3, 3] = 1.0


@kernel
def write_jacobian(record, frame, jacobian):
    """Jacobian, linear first, of the origin of a frame (13,) in its last n columns; axes of the base."""
    row = int(frame[BODY])
    base = 6 if record[0, FLOATING] != 0.0 else 0
    for i in range(6):
        for k in range(base, jacobian.shape[1]):
            jacobian[i, k] = 0.0
    e = add(load3(record[row], PW), rotate(load9(record[row], RW), load3(frame, 9)))
    while row > 0:
        body = record[row]
        z = (body[RW + 2], body[RW + 5], body[RW + 8])
        if body[SIGMA] == PRISMATIC:
            for i in range(3):
                jacobian[i, base + row - 1] = z[i]
        else:
            v = cross(z, sub(e, load3(body, PW)))
            for i in range(3):
                jacobian[i, base + row - 1] = v[i]
                jacobian[3 + i, base + row - 1] = z[i]
        row = int(body[PARENT])
