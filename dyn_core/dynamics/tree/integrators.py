"""Fixed-step integration of trees, compiled.

The kernels here call one that computes accelerations, `dynamics`: the general one for every tree, or one of a
customised model.
"""

from __future__ import annotations

from math import sqrt, tan
from typing import Any

import numpy as np

from dyn_core.actuation.motors import drive_force
from dyn_core.jit.kernel import entry, kernel, part, rebound
from dyn_core.jit.native_call import NativeCall, bare
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.spatial.tuples import add, cross, dot, quaternion_rotation, rotate, scale, turned

from .state_kernels import direct

RUNGE_KUTTA = {
    "rk3": np.array([[0.0, 0.0, 0.0], [0.5, 0.0, 0.0], [-1.0, 2.0, 0.0], [1 / 6, 4 / 6, 1 / 6]]),
    "rk4": np.array(
        [[0.0] * 4, [0.5, 0.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1 / 6, 1 / 3, 1 / 3, 1 / 6]]
    ),
}
"""Coefficients of the stages, row by row; the last row: the weights."""
FIXED_STEP = {**RUNGE_KUTTA, "euler": np.array([[0.0], [1.0]])}
"""The same with semi-implicit Euler, the one of a single stage, see `step_on`."""

WORK = 5 + 2 * 4
"""Rows of the scratch space, each as long as q, of a method of up to four stages."""
UNKNOWN = -1  # a status
QD, QDD, TAU, DRIVE = range(4)  # of a recorded row


@part
def drive_forces(motors, v, drive, tau):
    """Joint forces tau (nv,), behind those of a floating base; drive: volts, or forces where motors is empty."""
    n = drive.shape[0]
    base = v.shape[0] - n
    for j in range(n):
        tau[base + j] = drive_force(motors, drive, j, v[base + j])


@kernel
def acceleration(record, motors, q, v, drive, wrenches, tau, vd):
    """vd at q, v with the motors driven. tau (nv,): what drives."""
    drive_forces(motors, v, drive, tau)
    return direct(record, v[:0], q, v, wrenches, tau, vd)


@part
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


@part
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


@part
def copied(source, target):
    """target = source, by a loop: many times faster than by slices, for vectors as short as these."""
    for i in range(source.shape[0]):
        target[i] = source[i]


@kernel
def half_steps(stage):
    """When within a step a stage is, in half steps: its row of the table adds up to that."""
    time = 0.5
    for k in range(stage.shape[0]):
        time += 2.0 * stage[k]
    return int(time)


@part
def step_on(dynamics, record, motors, q, v, start, drive, wrenches, h, table, work):
    """Move q and v on by one step of the table's method; where the status is not OK they stay. start: vd at q, v.

    record and motors are those of `dynamics`, whatever it takes. drive (1, n) is held, (3, n) is that at the start, the
    middle and the end of the step. A table of one stage means
    semi-implicit Euler, in which the position moves with the new speed.
    """
    stages = table.shape[1]
    nv = v.shape[0]
    x, u, vd, tau, configuration = work[0, :nv], work[1, :nv], work[2, :nv], work[3, :nv], work[4, : q.shape[0]]
    xd, rate = work[5 : 5 + stages, :nv], work[5 + stages : 5 + 2 * stages, :nv]
    for j in range(nv):
        x[j] = 0.0
    rates(q, x, v, start, xd[0], rate[0])
    if stages == 1:
        for j in range(nv):
            u[j] = v[j] + h * rate[0, j]
        rates(q, x, u, start, xd[0], vd)
    status = OK
    for i in range(1, stages + 1):
        for j in range(nv):
            dx = 0.0
            du = 0.0
            for k in range(i):
                dx += table[i, k] * xd[k, j]
                du += table[i, k] * rate[k, j]
            x[j] = h * dx
            u[j] = v[j] + h * du
        moved(q, x, configuration)
        if i < stages:
            now = drive[min(half_steps(table[i]), drive.shape[0] - 1)]
            status = max(status, dynamics(record, motors, configuration, u, now, wrenches, tau, vd))
            rates(configuration, x, u, vd, xd[i], rate[i])
    nothing = 0.0
    for i in range(q.shape[0]):
        nothing += 0.0 * configuration[i]
    for i in range(nv):
        nothing += 0.0 * u[i]
    if status == OK and nothing != 0.0:
        status = NOT_FINITE
    if status == OK:
        copied(configuration, q)
        copied(u, v)
    return status


@kernel
def sizes(q, v):
    """How many positions, speeds and joints there are; loops over them are fast where compilation knows them."""
    return q.shape[0], v.shape[0], v.shape[0] - 6 * (q.shape[0] - v.shape[0])


@part
def take_steps(dynamics, sizes, status, record, motors, q, v, vd, tau, drive, wrenches, h, steps, table, work):
    """Take `steps` steps of size h with a drive as of `step_on`; returns how many succeeded, and the last status.

    q and v stay where the last good step left them; vd and tau are those of `dynamics` there. status: that of
    `dynamics` at the start, UNKNOWN where vd and tau are not its.
    """
    nq, nv, n = sizes(q, v)
    record, motors, wrenches = bare(record, record.shape), bare(motors, motors.shape), bare(wrenches, wrenches.shape)
    q, v, vd, tau, drive = bare(q, nq), bare(v, nv), bare(vd, nv), bare(tau, nv), bare(drive, (drive.shape[0], n))
    work = bare(work, (WORK, nq))
    done = 0
    while True:
        if status == UNKNOWN:
            now = drive[0] if done < steps else drive[drive.shape[0] - 1]
            status = dynamics(record, motors, q, v, now, wrenches, tau, vd)
        if status != OK or done == steps:
            return done, status
        status = step_on(dynamics, record, motors, q, v, vd, drive, wrenches, h, table, work)
        if status == OK:
            done += 1
            status = UNKNOWN


def tree_steps(record, motors, q, v, vd, tau, drive, wrenches, h, steps, table, work):
    """`take_steps`; returns how many succeeded."""
    return take_steps(dynamics, sizes, UNKNOWN, record, motors, q, v, vd, tau, drive, wrenches, h, steps, table, work)[
        0
    ]


def tree_rows(record, motors, q, v, vd, tau, drives, hold, wrenches, h, table, work, first, rows_q, rows):
    """Fill rows_q (m, nq) and rows (m, 4, nv), one per step; returns how many.

    One row of drives is held for `hold` steps; with hold = 0 there are two per step, and one more. Row 0 is the state
    as it stands, after `first` steps under these drives.
    """
    base = v.shape[0] - drives.shape[1]
    status = UNKNOWN
    last = -1
    for k in range(rows.shape[0]):
        steps = min(k, 1)
        held = drives[2 * first : 2 * first + 1]
        if hold > 0:
            index = min(max(first + k - 1, 0) // hold, drives.shape[0] - 1)
            held = drives[index : index + 1]
            if index != last:
                status = UNKNOWN
                last = index
        elif k > 0:
            held = drives[2 * (first + k - 1) : 2 * (first + k) + 1]
        done, status = take_steps(
            dynamics, sizes, status, record, motors, q, v, vd, tau, held, wrenches, h, steps, table, work
        )
        if done < steps:
            return k
        copied(q, rows_q[k])
        copied(v, rows[k, QD])
        copied(vd, rows[k, QDD])
        copied(tau, rows[k, TAU])
        copied(held[held.shape[0] - 1], rows[k, DRIVE, base:])
    return rows.shape[0]


def tree_step(record, motors, q, v, vd, tau, held, work, table, h, drive):
    """One step of a tree on a fixed base under a drive (n,), which is kept in held; h (1,). Returns the status.

    vd and tau stay those before the step.
    """
    n = sizes(q, v)[0]
    q, v, vd, tau, drive = bare(q, n), bare(v, n), bare(vd, n), bare(tau, n), bare(drive, (1, n))
    status = dynamics(record, motors, q, v, drive[0], record[:0], tau, vd)
    if status != OK:
        return status
    status = step_on(dynamics, record, motors, q, v, vd, drive, record[:0], h[0], table, bare(work, (WORK, n)))
    if status == OK:
        copied(drive[0], held)
    return status


def tree_evaluation(record, motors, q, v, vd, tau, drive):
    """vd and tau of a tree on a fixed base under a drive (n,)."""
    return dynamics(record, motors, q, v, drive, record[:0], tau, vd)


class Integrator:
    """Entries and native calls that move a tree by a kernel `dynamics` of its own, and its `sizes`."""

    def __init__(self, dynamics: Any, sizes: Any) -> None:
        names = {"place": getattr(dynamics, "py_func", dynamics), "dynamics": dynamics, "sizes": sizes}
        self.steps = entry(rebound(tree_steps, **names))
        self.rows = entry(rebound(tree_rows, **names))
        self.step = NativeCall(rebound(tree_step, **names))
        self.evaluate = NativeCall(rebound(tree_evaluation, **names))


dynamics = acceleration
GENERAL = Integrator(acceleration, sizes)


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
