"""Batches of the tree's kernels, LANES states at a time.

Each entry takes what the one that it stands for takes, and at least LANES rows (or none); the last rows are computed
together with some before them. Where an angle is too large it answers BEYOND.
"""

from __future__ import annotations

from ..jit import entry, kernel
from ..lanes import LANES, beyond, drain, empty, fill, in_lanes
from . import floating
from .aba import aba_batch, articulated_bodies
from .kinematics import body_poses, frame_jacobian_batch, frame_pose_batch, write_jacobian, write_pose
from .record import BEYOND, OK, start_fixed
from .rnea import newton_euler, rnea_batch
from .walker_orin import composite_bodies, mass_matrix_batch


@kernel
def spread(record, wide):
    """Put every number of a record in all lanes of another."""
    for j in range(record.shape[0]):
        for k in range(record.shape[1]):
            wide[j, k] = record[j, k]


@entry
def inverse(record, q, qd, qdd, wrenches, tau):
    """As `rnea_batch`."""
    count, n = q.shape
    bodies = wrenches.shape[1]
    wide = in_lanes(empty(record.size).reshape(*record.shape, LANES))
    x, xd, xdd, answer = in_lanes(empty(n)), in_lanes(empty(n)), in_lanes(empty(n)), in_lanes(empty(n))
    w, loads = in_lanes(empty(bodies * 6)), wrenches.reshape(count, bodies * 6)
    spread(record, wide)
    start_fixed(wide, 1.0)
    status = OK
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        fill(x, q, first)
        if beyond(x):
            return BEYOND
        fill(xd, qd, first)
        fill(xdd, qdd, first)
        fill(w, loads, first)
        status = max(status, newton_euler(wide, x, xd, xdd, w.reshape(bodies, 6), answer))
        drain(answer, tau, first)
    return status


@entry
def direct(record, q, qd, tau, wrenches, qdd):
    """As `aba_batch`."""
    count, n = q.shape
    bodies = wrenches.shape[1]
    wide = in_lanes(empty(record.size).reshape(*record.shape, LANES))
    x, xd, force, answer = in_lanes(empty(n)), in_lanes(empty(n)), in_lanes(empty(n)), in_lanes(empty(n))
    w, loads = in_lanes(empty(bodies * 6)), wrenches.reshape(count, bodies * 6)
    spread(record, wide)
    start_fixed(wide, 1.0)
    status = OK
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        fill(x, q, first)
        if beyond(x):
            return BEYOND
        fill(xd, qd, first)
        fill(force, tau, first)
        fill(w, loads, first)
        status = max(status, articulated_bodies(wide, x, xd, x[:0], w.reshape(bodies, 6), force, answer))
        drain(answer, qdd, first)
    return status


@entry
def floating_inverse(record, q, v, vd, wrenches, force):
    """As `floating.inverse_batch`."""
    count, nv = v.shape
    bodies = wrenches.shape[1]
    wide = in_lanes(empty(record.size).reshape(*record.shape, LANES))
    x, xd, xdd, answer = in_lanes(empty(1 + nv)), in_lanes(empty(nv)), in_lanes(empty(nv)), in_lanes(empty(nv))
    w, loads = in_lanes(empty(bodies * 6)), wrenches.reshape(count, bodies * 6)
    spread(record, wide)
    status = OK
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        fill(x, q, first)
        if beyond(x[7:]):
            return BEYOND
        fill(xd, v, first)
        fill(xdd, vd, first)
        fill(w, loads, first)
        status = max(status, floating.inverse(wide, x, xd, xdd, w.reshape(bodies, 6), answer))
        drain(answer, force, first)
    return status


@entry
def floating_direct(record, q, v, prescribed, wrenches, force, vd):
    """As `floating.direct_batch`."""
    count, nv = v.shape
    bodies = wrenches.shape[1]
    wide = in_lanes(empty(record.size).reshape(*record.shape, LANES))
    x, xd, push, answer = in_lanes(empty(1 + nv)), in_lanes(empty(nv)), in_lanes(empty(nv)), in_lanes(empty(nv))
    w, loads = in_lanes(empty(bodies * 6)), wrenches.reshape(count, bodies * 6)
    spread(record, wide)
    status = OK
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        fill(x, q, first)
        if beyond(x[7:]):
            return BEYOND
        fill(xd, v, first)
        fill(push, force, first)
        fill(answer, vd, first)
        fill(w, loads, first)
        status = max(status, floating.direct(wide, x, xd, prescribed, w.reshape(bodies, 6), push, answer))
        drain(answer, vd, first)
        if prescribed.shape[0] > 0:
            drain(push, force, first)
    return status


@entry
def mass_matrix(record, q, H):
    """As `mass_matrix_batch`."""
    count, n = q.shape
    nv = H.shape[1]
    wide = in_lanes(empty(record.size).reshape(*record.shape, LANES))
    x, answer, rows = in_lanes(empty(n)), in_lanes(empty(nv * nv)), H.reshape(count, nv * nv)
    spread(record, wide)
    status = OK
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        fill(x, q, first)
        if beyond(x):
            return BEYOND
        status = max(status, composite_bodies(wide, x, answer.reshape(nv, nv)))
        drain(answer, rows, first)
    return status


@entry
def frame_pose(record, q, row, frame, pose):
    """As `frame_pose_batch`."""
    count, n = q.shape
    wide = in_lanes(empty(record.size).reshape(*record.shape, LANES))
    x, answer, rows = in_lanes(empty(n)), in_lanes(empty(16)), pose.reshape(count, 16)
    spread(record, wide)
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        fill(x, q, first)
        if beyond(x):
            return BEYOND
        body_poses(wide, x)
        write_pose(wide, row, frame, answer.reshape(4, 4))
        drain(answer, rows, first)
    return OK


@entry
def frame_jacobian(record, q, row, frame, jacobian):
    """As `frame_jacobian_batch`."""
    count, n = q.shape
    wide = in_lanes(empty(record.size).reshape(*record.shape, LANES))
    x, answer, rows = in_lanes(empty(n)), in_lanes(empty(6 * n)), jacobian.reshape(count, 6 * n)
    spread(record, wide)
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        fill(x, q, first)
        if beyond(x):
            return BEYOND
        body_poses(wide, x)
        write_jacobian(wide, row, frame, answer.reshape(6, n))
        drain(answer, rows, first)
    return OK


IN_LANES = {
    rnea_batch: inverse,
    aba_batch: direct,
    floating.inverse_batch: floating_inverse,
    floating.direct_batch: floating_direct,
    mass_matrix_batch: mass_matrix,
    frame_pose_batch: frame_pose,
    frame_jacobian_batch: frame_jacobian,
}
"""What does in lanes what an entry does row by row."""
