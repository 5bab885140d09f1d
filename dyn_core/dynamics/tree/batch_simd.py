"""Batches of the tree's kernels, LANES states at a time.

Each entry takes what the one that it stands for takes, and at least LANES rows (or none); the last rows are computed
together with some before them. Where an angle is too large it answers TOO_LARGE.
"""

from __future__ import annotations

from dyn_core.jit.kernel import entry, kernel, part
from dyn_core.jit.simd import LANES, drain, fill, spread, vectors
from dyn_core.jit.simd_math import beyond
from dyn_core.jit.status import OK, TOO_LARGE

from . import floating_base as floating
from .aba import aba_batch, articulated_bodies
from .crba import composite_bodies, mass_matrix_batch
from .kinematics import frame_jacobian, frame_jacobian_batch, frame_pose, frame_pose_batch
from .record import ELEMENTS, start_fixed
from .rnea import newton_euler, rnea_batch


@kernel
def flat(rows):
    """Rows (count, k, l) as (count, k l)."""
    return rows.reshape(rows.shape[0], rows.shape[1] * rows.shape[2])


@part
def in_blocks(step, arguments, given, x, answers, y):
    """Run step(*arguments) on LANES rows at a time; arguments: a record and, in their shapes, x and y among others.

    given, answers: arrays (count, k), of which LANES rows at a time are put into x, positions first, and taken from y.
    """
    wide, count = arguments[0], given[0].shape[0]
    start_fixed(wide, 1.0)
    bodies = wide.shape[0] - int(wide[0, ELEMENTS])
    angles = x[0][x[0].shape[0] - bodies + 1 :]  # behind the pose of a floating base
    status = OK
    for k in range(0, count, LANES):
        first = min(k, count - LANES)
        for i in range(len(given)):
            fill(x[i], given[i], first)
        if beyond(angles):
            return TOO_LARGE
        status = max(status, step(*arguments))
        for i in range(len(answers)):
            drain(y[i], answers[i], first)
    return status


@entry
def inverse(record, q, qd, qdd, wrenches, tau):
    given = q, qd, qdd, flat(wrenches)
    x, y = (vectors(q), vectors(qd), vectors(qdd), vectors(given[3])), vectors(tau)
    arguments = spread(record), x[0], x[1], x[2], x[3].reshape(wrenches.shape[1], 6), y
    return in_blocks(newton_euler, arguments, given, x, (tau,), (y,))


@entry
def direct(record, q, qd, tau, wrenches, qdd):
    given = q, qd, flat(wrenches), tau
    x, y = (vectors(q), vectors(qd), vectors(given[2]), vectors(tau)), vectors(qdd)
    arguments = spread(record), x[0], x[1], x[0][:0], x[2].reshape(wrenches.shape[1], 6), x[3], y
    return in_blocks(articulated_bodies, arguments, given, x, (qdd,), (y,))


@entry
def floating_inverse(record, q, v, vd, wrenches, force):
    given = q, v, vd, flat(wrenches)
    x, y = (vectors(q), vectors(v), vectors(vd), vectors(given[3])), vectors(force)
    arguments = spread(record), x[0], x[1], x[2], x[3].reshape(wrenches.shape[1], 6), y
    return in_blocks(floating.inverse, arguments, given, x, (force,), (y,))


@entry
def floating_direct(record, q, v, prescribed, wrenches, force, vd):
    given = q, v, flat(wrenches), force, vd
    x = vectors(q), vectors(v), vectors(given[2]), vectors(force), vectors(vd)
    arguments = spread(record), x[0], x[1], prescribed, x[2].reshape(wrenches.shape[1], 6), x[3], x[4]
    if prescribed.shape[0] > 0:
        return in_blocks(floating.direct, arguments, given, x, (force, vd), x[3:])
    return in_blocks(floating.direct, arguments, given, x, (vd,), x[4:])


@entry
def mass_matrix(record, q, H):
    rows, x = flat(H), vectors(q)
    y = vectors(rows)
    return in_blocks(composite_bodies, (spread(record), x, y.reshape(*H.shape[1:])), (q,), (x,), (rows,), (y,))


@entry
def pose(record, q, row, frame, out):
    rows, x = flat(out), vectors(q)
    y = vectors(rows)
    return in_blocks(frame_pose, (spread(record), x, row, frame, y.reshape(4, 4)), (q,), (x,), (rows,), (y,))


@entry
def jacobian(record, q, row, frame, out):
    rows, x = flat(out), vectors(q)
    y = vectors(rows)
    arguments = spread(record), x, row, frame, y.reshape(*out.shape[1:])
    return in_blocks(frame_jacobian, arguments, (q,), (x,), (rows,), (y,))


IN_LANES = {
    rnea_batch: inverse,
    aba_batch: direct,
    floating.inverse_batch: floating_inverse,
    floating.direct_batch: floating_direct,
    mass_matrix_batch: mass_matrix,
    frame_pose_batch: pose,
    frame_jacobian_batch: jacobian,
}
"""What does in lanes what an entry does row by row."""
