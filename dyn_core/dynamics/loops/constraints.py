"""Constraints of cut joints: values, Jacobian, and the part of their second rate that is free of accelerations.

With the frames i (on the first body) and j (on the second), d from the origin of i to that of j, a an axis of i and b
an axis of j, a position row and an orientation row are

    phi = a . d      phi' = a . (v_j - v_i) + w_i . (a x d)
    phi = a . b      phi' = (w_i - w_j) . (a x b)

so that phi' = J qd, and phi'' = J qdd + bias. A joint j that follows another, i, is a constraint as well:

    phi = q_j - multiplier q_i - offset
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import entry, uncounted
from dyn_core.mechanism import CUT_JOINTS, PRISMATIC, Mechanism
from dyn_core.spatial.tuples import add, cross, dot, load3, load9, rotate, store3, sub, unrotate

from ..tree.kinematics import POSITION, body_poses
from ..tree.record import PARENT, PW, RW, SIGMA, VD, WD, A, L, V, W
from ..tree.rnea import velocity_step

FIRST, SECOND, FRAMES, TYPE, AXIS_A, AXIS_B, LOOP, ROW_WIDTH = 0, 1, 2, 26, 27, 28, 29, 30
"""Columns of a packed row: record rows of the two bodies, the two frames (12 each), what the row forbids, and the loop
that it belongs to. A row of type FOLLOWS has the bodies of two joints, a multiplier and an offset for axes."""
FOLLOWS = 2.0

ALL_AXES = ((1, 0, 0), (1, 1, 1), (1, 2, 2))
FACING = {"revolute": ALL_AXES[2:], "cylindrical": ALL_AXES[2:], "prismatic": ALL_AXES, "fixed": ALL_AXES}
"""Axes of the two frames that point the same way: right angles alone would let the second frame stand turned by pi."""


def pack_rows(mechanism: Mechanism, kinds: Mapping[str, Any] = CUT_JOINTS) -> tuple[Floats, list[int]]:
    """The packed rows (m, ROW_WIDTH) of all loops and mimic joints, and the owner of each.

    kinds: the rows of a cut joint. Mimic joints, which have none in other kinds than CUT_JOINTS, count after the loops.
    """
    rows, owners = [], []
    for k, loop in enumerate(mechanism.loops):
        frames = [np.concatenate([frame.R.ravel(), frame.p]) for frame in (loop.first, loop.second)]
        for what in kinds.get(loop.kind, ()):
            rows.append(np.concatenate([[loop.first.body + 1, loop.second.body + 1], *frames, what, [k]]))
            owners.append(k)
    if mechanism.mimic is not None and kinds is CUT_JOINTS:
        leader = mechanism.mimic.leader
        for k, j in enumerate(np.flatnonzero(leader != np.arange(mechanism.n)), len(mechanism.loops)):
            what = FOLLOWS, mechanism.mimic.multiplier[j], mechanism.mimic.offset[j]
            rows.append(np.concatenate([[j + 1, leader[j] + 1], np.zeros(24), what, [k]]))
            owners.append(k)
    return np.array(rows).reshape(-1, ROW_WIDTH), owners


@uncounted
def velocity_pass(record, q, qd):
    """Poses and velocities of all bodies, and their accelerations at qdd = 0 without gravity, in body axes."""
    body_poses(record, q)
    base_at_rest(record)
    velocities(record, qd, 0, q.shape[0])


@uncounted
def base_at_rest(record):
    """A base that neither moves nor stands for gravity."""
    base = record[0]
    zero = (0.0, 0.0, 0.0)
    store3(base, V, zero)
    store3(base, VD, zero)
    store3(base, WD, zero)


@uncounted
def velocities(record, qd, first, last):
    """Velocities and accelerations at qdd = 0 of the bodies on joints first ... last - 1, at the record's poses."""
    for j in range(first, last):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a = load9(row, A)
        p = load3(row, L)
        v = unrotate(a, add(load3(up, V), cross(load3(up, W), p)))
        if row[SIGMA] == PRISMATIC:
            v = (v[0], v[1], v[2] + qd[j])
        store3(row, V, v)
        _, angular, linear = velocity_step(row, up, a, p, qd[j])
        wdi = load3(up, WD)
        store3(row, WD, add(unrotate(a, wdi), angular))
        store3(row, VD, add(unrotate(a, add(load3(up, VD), cross(wdi, p))), linear))


@uncounted
def axis_of(body, row, frame, k):
    """Axis k of a frame fixed in a body, in base axes."""
    return rotate(load9(body, RW), (row[frame + k], row[frame + 3 + k], row[frame + 6 + k]))


@uncounted
def origin_of(body, row, frame):
    """Origin of a frame fixed in a body, in the base frame."""
    return add(load3(body, PW), rotate(load9(body, RW), load3(row, frame + 9)))


@uncounted
def constraint_values(record, rows, phi):
    """phi (m,) at the poses that the record holds."""
    for k in range(rows.shape[0]):
        row = rows[k]
        first, second = record[int(row[FIRST])], record[int(row[SECOND])]
        if row[TYPE] == FOLLOWS:
            phi[k] = first[POSITION] - row[AXIS_A] * second[POSITION] - row[AXIS_B]
            continue
        a = axis_of(first, row, FRAMES, int(row[AXIS_A]))
        if row[TYPE] == 0.0:
            phi[k] = dot(a, sub(origin_of(second, row, FRAMES + 12), origin_of(first, row, FRAMES)))
        else:
            phi[k] = dot(a, axis_of(second, row, FRAMES + 12, int(row[AXIS_B])))


@uncounted
def row_wrenches(record, row):
    """A constraint's rate is the sum over its two bodies of force . v(point) + moment . w: the triples of both."""
    first, second = record[int(row[FIRST])], record[int(row[SECOND])]
    zero = (0.0, 0.0, 0.0)
    a = axis_of(first, row, FRAMES, int(row[AXIS_A]))
    if row[TYPE] == 0.0:
        pi, pj = origin_of(first, row, FRAMES), origin_of(second, row, FRAMES + 12)
        return (pi, (-a[0], -a[1], -a[2]), cross(a, sub(pj, pi))), (pj, a, zero)
    c = cross(a, axis_of(second, row, FRAMES + 12, int(row[AXIS_B])))
    return (zero, zero, c), (zero, zero, (-c[0], -c[1], -c[2]))


@uncounted
def add_ancestors(record, body, wrench, J):
    """Add to a Jacobian row J (n,) what the joints below a body do to force . v(point) + moment . w."""
    point, force, moment = wrench
    r = body
    while r > 0:
        row = record[r]
        z = (row[RW + 2], row[RW + 5], row[RW + 8])
        if row[SIGMA] == PRISMATIC:
            J[r - 1] += dot(force, z)
        else:
            J[r - 1] += dot(force, cross(z, sub(point, load3(row, PW)))) + dot(moment, z)
        r = int(row[PARENT])


@uncounted
def constraint_jacobian(record, rows, J):
    """J (m, n) at the poses that the record holds."""
    for k in range(rows.shape[0]):
        for c in range(J.shape[1]):
            J[k, c] = 0.0
        if rows[k, TYPE] == FOLLOWS:
            J[k, int(rows[k, FIRST]) - 1] = 1.0
            J[k, int(rows[k, SECOND]) - 1] = -rows[k, AXIS_A]
            continue
        first, second = row_wrenches(record, rows[k])
        add_ancestors(record, int(rows[k, SECOND]), second, J[k])
        add_ancestors(record, int(rows[k, FIRST]), first, J[k])


@uncounted
def constraint_bias(record, rows, bias):
    """phi'' (m,) at qdd = 0, after `velocity_pass`."""
    for k in range(rows.shape[0]):
        row = rows[k]
        if row[TYPE] == FOLLOWS:
            bias[k] = 0.0
            continue
        first, second = record[int(row[FIRST])], record[int(row[SECOND])]
        ri, rj = load9(first, RW), load9(second, RW)
        wi, wj = rotate(ri, load3(first, W)), rotate(rj, load3(second, W))
        alpha_i, alpha_j = rotate(ri, load3(first, WD)), rotate(rj, load3(second, WD))
        a = axis_of(first, row, FRAMES, int(row[AXIS_A]))
        if row[TYPE] == 0.0:
            si, sj = rotate(ri, load3(row, FRAMES + 9)), rotate(rj, load3(row, FRAMES + 21))
            d = sub(add(load3(second, PW), sj), add(load3(first, PW), si))
            vi = add(rotate(ri, load3(first, V)), cross(wi, si))
            vj = add(rotate(rj, load3(second, V)), cross(wj, sj))
            ai = add(rotate(ri, load3(first, VD)), add(cross(alpha_i, si), cross(wi, cross(wi, si))))
            aj = add(rotate(rj, load3(second, VD)), add(cross(alpha_j, sj), cross(wj, cross(wj, sj))))
            turn = cross(wi, a)
            bias[k] = (
                dot(a, sub(aj, ai)) + 2.0 * dot(turn, sub(vj, vi)) + dot(add(cross(alpha_i, a), cross(wi, turn)), d)
            )
        else:
            b = axis_of(second, row, FRAMES + 12, int(row[AXIS_B]))
            rate = add(cross(cross(wi, a), b), cross(a, cross(wj, b)))
            bias[k] = dot(sub(alpha_i, alpha_j), cross(a, b)) + dot(sub(wi, wj), rate)


@entry
def constraint_terms(record, rows, q, qd, phi, J, bias):
    """phi (m,), J (m, n) and bias (m,) at q, qd (n,)."""
    velocity_pass(record, q, qd)
    constraint_values(record, rows, phi)
    constraint_jacobian(record, rows, J)
    constraint_bias(record, rows, bias)
