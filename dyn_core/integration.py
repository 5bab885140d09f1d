"""Fixed-step integration of trees, compiled."""

from __future__ import annotations

from math import nan, sqrt, tan

import numpy as np

from .actuation import motor_torque
from .fastcall import ROWS, FastCall, beside, bound_to, is_vector, keep, model, no_answer, vector, words
from .jit import entry, kernel
from .spatial import add, cross, dot, quaternion_rotation, rotate, scale
from .tree.aba import articulated_bodies
from .tree.floating import direct, turned
from .tree.record import OK, start_fixed

FIXED_STEP = {
    "rk3": np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-1.0, 2.0, 0.0], [1 / 6, 4 / 6, 1 / 6]]),
    "rk4": np.array(
        [[0.0] * 4, [0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]]
    ),
}

QD, QDD, TAU, DRIVE = range(4)  # of a recorded row


@kernel
def acceleration(record, motors, q, v, drive, wrenches, tau, vd):
    """vd at q, v with the motors driven; drive: volts, or joint forces where motors is empty. tau (nv,)."""
    n = drive.shape[0]
    base = v.shape[0] - n
    for j in range(n):
        if motors.shape[0] > 0:
            tau[base + j], _ = motor_torque(motors[j], drive[j], v[base + j])
        else:
            tau[base + j] = drive[j]
    if base > 0:
        return direct(record, q, v, v[:0], wrenches, tau, vd)
    start_fixed(record, 1.0)
    return articulated_bodies(record, q, v, v[:0], wrenches, tau, vd)


@kernel
def moved(q, x, out):
    """Configuration out, the displacement x (nv,) away from q.

    A floating base moves by x[:3] in the world and turns by the rotation vector x[3:6] in its own axes: its integration
    stays on the manifold of poses.
    """
    base = q.shape[0] - x.shape[0]  # one more coordinate than freedoms, if the base floats
    first = 0
    if base > 0:
        for i in range(3):
            out[i] = q[i] + x[i]
        u = turned((q[3], q[4], q[5], q[6]), (x[3], x[4], x[5]))
        for i in range(4):
            out[3 + i] = u[i]
        first = 6
    for j in range(first, x.shape[0]):
        out[base + j] = q[base + j] + x[j]


@kernel
def rates(q, x, v, vd, xd, rate):
    """Rates xd of the displacement x and rate of the velocity's components, at q = moved(start, x) with v, vd."""
    first = 0
    if q.shape[0] > x.shape[0]:
        w = (v[3], v[4], v[5])
        speed = (v[0], v[1], v[2])
        up = rotate(quaternion_rotation((q[3], q[4], q[5], q[6])), speed)
        r = (x[3], x[4], x[5])
        # the rotation vector's rate: w + r x w / 2 + k r x (r x w)
        square = dot(r, r)
        angle = sqrt(square)
        k = 1.0 / 12.0 + square / 720.0
        if angle > 1e-2:
            k = (1.0 - 0.5 * angle / tan(0.5 * angle)) / square
        turn = cross(r, w)
        rd = add(w, add(scale(0.5, turn), scale(k, cross(r, turn))))
        drift = cross(w, speed)
        for i in range(3):
            xd[i] = up[i]
            xd[3 + i] = rd[i]
            rate[i] = vd[i] - drift[i]
            rate[3 + i] = vd[3 + i]
        first = 6
    for j in range(first, x.shape[0]):
        xd[j] = v[j]
        rate[j] = vd[j]


@kernel
def copied(source, target):
    """target = source, by a loop: many times faster than by slices, for vectors as short as these."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def runge_kutta_step(record, motors, q, v, start, drive, wrenches, h, table, work):
    """One step of the method whose coefficients are the rows of table (the last: the weights); start: vd at q, v."""
    stages = table.shape[1]
    nv = v.shape[0]
    x, u, vd, tau, configuration = work[0, :nv], work[1, :nv], work[2, :nv], work[3, :nv], work[4, : q.shape[0]]
    xd, rate = work[5 : 5 + stages, :nv], work[5 + stages : 5 + 2 * stages, :nv]
    for j in range(nv):
        x[j] = 0.0
    rates(q, x, v, start, xd[0], rate[0])
    status = OK
    for i in range(1, stages + 1):
        for j in range(nv):
            dx = 0.0
            du = 0.0
            for k in range(i):
                dx += h * table[i, k] * xd[k, j]
                du += h * table[i, k] * rate[k, j]
            x[j] = dx
            u[j] = du + v[j]
        moved(q, x, configuration)
        if i < stages:
            status = max(status, acceleration(record, motors, configuration, u, drive, wrenches, tau, vd))
            rates(configuration, x, u, vd, xd[i], rate[i])
    copied(configuration, q)
    copied(u, v)
    return status


@kernel
def advance(record, motors, q, v, vd, tau, status, drive, wrenches, h, steps, table, work):
    """Take `steps` steps of size h with the drive held; returns how many succeeded, and the last status.

    vd, tau and status are those of `acceleration` at q and v, before and after: the last evaluation of a step is the
    first of the next. q and v stay where the last good step left them.
    """
    before_q, before_v = work[-1, : q.shape[0]], work[-2, : v.shape[0]]
    done = 0
    while status == OK and done < steps:
        copied(q, before_q)
        copied(v, before_v)
        status = runge_kutta_step(record, motors, q, v, vd, drive, wrenches, h, table, work)
        nothing = 0.0
        for i in range(q.shape[0]):
            nothing += 0.0 * q[i]
        for i in range(v.shape[0]):
            nothing += 0.0 * v[i]
        good = status == OK and nothing == 0.0
        if good:
            done += 1
        else:
            copied(before_q, q)
            copied(before_v, v)
        status = acceleration(record, motors, q, v, drive, wrenches, tau, vd)
        if not good:
            break
    return done, status


@entry
def tree_steps(record, motors, q, v, vd, tau, drive, wrenches, h, steps, table, work):
    status = acceleration(record, motors, q, v, drive, wrenches, tau, vd)
    done, _ = advance(record, motors, q, v, vd, tau, status, drive, wrenches, h, steps, table, work)
    return done


@FastCall
def fast_step(self, arguments, count):
    """One step of a tree on a fixed base under a drive (n,), which is also the answer; None where it fails.

    Bound besides: motors, q, v, vd, tau, drive (n,), last (3, n), which is q, v and drive that vd belongs to, work,
    table, h (1,).
    """
    context, a = bound_to(self), words(arguments)
    n = context[ROWS] - 1
    if count != 1 or not is_vector(context, a[0], n):
        return no_answer(context)
    record, motors, drive = model(context), beside(context, 0), vector(a[0], n)
    q, v, vd, tau = beside(context, 1)[0], beside(context, 2)[0], beside(context, 3)[0], beside(context, 4)[0]
    held, last, work, table = beside(context, 5)[0], beside(context, 6), beside(context, 7), beside(context, 8)
    h = beside(context, 9)[0, 0]
    known = True
    for j in range(n):
        known = known and last[0, j] == q[j] and last[1, j] == v[j] and last[2, j] == drive[j]
    status = OK
    if not known:
        status = acceleration(record, motors, q, v, drive, record[:0], tau, vd)
    done, status = advance(record, motors, q, v, vd, tau, status, drive, record[:0], h, 1, table, work)
    copied(q, last[0])
    copied(v, last[1])
    copied(drive, last[2])
    if status != OK or done < 1:
        last[0, 0] = nan
    if done < 1:
        return no_answer(context)
    copied(drive, held)
    keep(a[0])
    return a[0]


@entry
def tree_rows(record, motors, q, v, vd, tau, drives, hold, wrenches, h, table, work, first, rows_q, rows):
    """Fill rows_q (m, nq) and rows (m, 4, nv), one per step; returns how many.

    One row of drives is held for `hold` steps. Row 0 is the state as it stands, after `first` steps under these drives.
    """
    m = rows.shape[0]
    base = v.shape[0] - drives.shape[1]
    status = OK
    last = -1
    for k in range(m):
        steps = min(k, 1)
        index = min(max(first + k - 1, 0) // hold, drives.shape[0] - 1)
        held = drives[index]
        if index != last:
            status = acceleration(record, motors, q, v, held, wrenches, tau, vd)
            last = index
        done, status = advance(record, motors, q, v, vd, tau, status, held, wrenches, h, steps, table, work)
        if done < steps:
            return k
        copied(q, rows_q[k])
        copied(v, rows[k, QD])
        copied(vd, rows[k, QDD])
        copied(tau, rows[k, TAU])
        copied(held, rows[k, DRIVE, base:])
    return m


@entry
def move(q, x, out):
    moved(q, x, out)


@entry
def both_rates(q, x, v, vd, xd, rate):
    rates(q, x, v, vd, xd, rate)


@entry
def tree_slope(record, motors, q0, x, v, drive, wrenches, work, xd, rate):
    """Rates for an integrator that works with the displacement x from q0."""
    q, vd, tau = work[4, : q0.shape[0]], work[2, : v.shape[0]], work[3, : v.shape[0]]
    moved(q0, x, q)
    acceleration(record, motors, q, v, drive, wrenches, tau, vd)
    rates(q, x, v, vd, xd, rate)
