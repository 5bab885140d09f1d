"""Simulated motion of closed chains: by projection, by the legs' natural orthogonal complement, or by multipliers.

It ends before a singularity. By projection, and by legs, the state is that of the active joints, q_a and qd_a; the
loops are closed again at every stage from the configuration last found. By multipliers the state is that of all joints,
see `constraint_solver`; it is brought back onto the constraints after each step, along the shortest way in the metric
of A.
"""

from __future__ import annotations

from dyn_core.actuation.motors import drive_force
from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import NOT_FINITE, OK, SINGULAR

from .closure import CHOSEN, stand
from .constraint_solver import (
    DISTANCE,
    RATE,
    REASON,
    TIME,
    back_on_constraints,
    constrained,
    foresee_distance,
    watch_distance,
)
from .denoc import direct_at
from .projection import QD, accelerate, prepare

FARTHEST = 10.0  # rad or m: no active joint moves that far within a step
LEFT = 0.8  # share of the distance from a singularity that a step must leave, as foreseen and in fact, or be divided
DRIVE = 10  # row of stages that keeps the drive at a stage
TICKS = 1024
"""Into how many parts a step is divided at most before a singularity."""


@kernel
def projected(record, loops, legs, q_a, v_a, tau_a, wrenches, vd):
    """vd (a,) by projection, or by legs; loops.q and loops.vectors[QD] become the motion of all joints."""
    for c in range(q_a.shape[0]):
        if not abs(q_a[c] - loops.q[int(loops.closure.active[c])]) < FARTHEST:
            return NOT_FINITE
    status = prepare(record, loops.closure, q_a, v_a, loops.vectors)
    if status != OK:
        return status
    if legs is not None:
        at = legs.steps, legs.starts, legs.end
        return direct_at(record, *at, loops.q, v_a, tau_a, wrenches, legs.ws, loops.A_c, vd)
    return accelerate(record, loops.closure, tau_a, wrenches, loops.vectors, loops.A, loops.A_c, vd)


@kernel
def take_up(record, loops, q_a, v_a):
    """By multipliers: continue from loops.q, loops.qd if their active joints move as q_a and v_a, else close anew."""
    same = True
    for c in range(q_a.shape[0]):
        j = int(loops.closure.active[c])
        same = same and loops.q[j] == q_a[c] and loops.qd[j] == v_a[c]
    if same:
        return OK
    if loops.qd[0] == loops.qd[0]:
        stand(record, loops.closure, loops.q)  # a motion by multipliers keeps no G
    status = prepare(record, loops.closure, q_a, v_a, loops.vectors)
    if status == OK:
        loops.qd[:] = loops.vectors[QD]
    return status


@kernel
def drive_at(drives, time, out):
    """A drive out (a,) at a part `time` of a step: drives (1, a) are held, (3, a) those at its start, middle, end."""
    for c in range(out.shape[0]):
        out[c] = drives[0, c]
        if drives.shape[0] > 1:
            out[c] += time * (4.0 * drives[1, c] - 3.0 * drives[0, c] - drives[2, c])
            out[c] += 2.0 * time * time * (drives[0, c] - 2.0 * drives[1, c] + drives[2, c])


@kernel
def closed_step(record, loops, legs, motors, q, v, vd, tau, drives, begin, end, wrenches, h, table):
    """One Runge-Kutta step of the state q, v, and vd and tau (a,) at its end; h = 0: only these, where it stands.

    drives: as of `drive_at`, over a step of which this one lasts from the part `begin` to the part `end`.
    """
    drive = loops.stages[DRIVE, : tau.shape[0]]
    stages = table.shape[1]
    size = q.shape[0]
    x, u = loops.stages[0, :size], loops.stages[1, :size]
    xd, ud = loops.stages[2 : 2 + stages, :size], loops.stages[2 + stages : 2 + 2 * stages, :size]
    for i in range(0 if h > 0.0 else stages, stages + 1):
        x[:] = q
        u[:] = v
        if h > 0.0:
            for k in range(i):
                for j in range(size):
                    x[j] += h * table[i, k] * xd[k, j]
                    u[j] += h * table[i, k] * ud[k, j]
        if loops.by_multipliers and i == stages:
            status = back_on_constraints(record, loops, x, u)
            if status != OK:
                return status
        time = 0.0
        for k in range(stages):
            time += table[i, k]
        drive_at(drives, begin + (end - begin) * time, drive)
        for c in range(drive.shape[0]):
            tau[c] = drive_force(motors, drive, c, u[int(loops.closure.active[c]) if loops.by_multipliers else c])
        if loops.by_multipliers:
            status = constrained(record, loops, x, u, tau, wrenches, vd)
        else:
            status = projected(record, loops, legs, x, u, tau, wrenches, vd)
        if status != OK:
            return status
        if i < stages:
            xd[i] = u
            ud[i] = vd
    nothing = 0.0
    for j in range(size):
        nothing += 0.0 * x[j] + 0.0 * u[j] + 0.0 * vd[j]
    if nothing != 0.0:
        return NOT_FINITE
    q[:] = x
    v[:] = u
    return OK


@kernel
def move_rows(
    record, loops, legs, motors, q_a, v_a, vd_a, tau, drives, hold, wrenches, h, first, steps, table, rows_q, rows
):
    """Move the active joints' q_a, v_a on by `steps` steps of h, one row of drives held for `hold`; returns how many.

    hold = 0: two rows of drives per step, and one more, at its start, middle and end. first: how many steps under these
    drives were taken before. vd_a and tau become those at the end. Positions, and speeds, accelerations, forces and
    drives after every step, the start first, are written to rows_q (steps + 1, a) and rows (steps + 1, 4, a) unless
    they are empty. A step that would pass a singularity is divided until the state stands before it; the motion ends
    there, q_a and v_a stay at the end of the last whole step, loops.watch says when after it and why, and loops.kept[2]
    at what configuration. With loops.through it goes on: multipliers need no J_p.
    """
    a = q_a.shape[0]
    q, v, vd = q_a, v_a, vd_a
    watch = loops.watch
    watch[REASON] = OK
    status = OK
    if loops.by_multipliers:
        q, v, vd = loops.q, loops.qd, loops.qdd
        status = take_up(record, loops, q_a, v_a)
    size = q.shape[0]
    done = -1  # the start is evaluated as a step of no length
    while status == OK and done < steps:
        at = max(first + done, 0)
        held = drives[2 * at : 2 * at + 3]
        if hold > 0:
            row = min(at // hold, drives.shape[0] - 1)
            held = drives[row : row + 1]
        start = 1.0 if done < 0 <= first + done else 0.0
        loops.kept[0, :size] = q
        loops.kept[1, :size] = v
        loops.kept[5] = loops.q
        tick, part = 0, TICKS
        while tick < TICKS:
            loops.kept[2, :size] = q
            loops.kept[3, :size] = v
            loops.kept[4] = loops.q
            before, rate, chosen = watch[DISTANCE], watch[RATE], loops.closure.numbers[CHOSEN]
            length = 0.0 if done < 0 else h * part / TICKS
            status = SINGULAR
            if done < 0 or loops.through or before + length * rate >= LEFT * before:
                begin = start if done < 0 else tick / TICKS
                end = start if done < 0 else (tick + part) / TICKS
                status = closed_step(
                    record, loops, legs, motors, q, v, vd, tau, held, begin, end, wrenches, length, table
                )
                if status == OK and not loops.through:
                    status = watch_distance(record, loops, length)
                    if loops.closure.numbers[CHOSEN] != chosen:
                        watch[RATE] = 0.0  # the distance is that of other constraints than before
            if status == OK and done < 0:
                if not (
                    loops.through or abs(watch[DISTANCE] - before) <= 1e-6 * before
                ):  # not where the last motion ended
                    foresee_distance(record, loops, loops.qd if loops.by_multipliers else loops.vectors[QD])
                break
            if status == OK and (loops.through or before + length * watch[RATE] >= LEFT * before):
                tick += part
                continue
            stand(record, loops.closure, loops.kept[4])
            q[:] = loops.kept[2, :size]
            v[:] = loops.kept[3, :size]
            watch[DISTANCE], watch[RATE] = before, rate
            if status == OK:
                status = SINGULAR
            if part == 1 or done < 0:
                break
            part //= 2
        if status != OK:
            watch[TIME] = h * tick / TICKS
            watch[REASON] = status
            loops.kept[2] = loops.q
            stand(record, loops.closure, loops.kept[5])
            q[:] = loops.kept[0, :size]
            v[:] = loops.kept[1, :size]
            closed_step(record, loops, legs, motors, q, v, vd, tau, held, start, start, wrenches, 0.0, table)
            break
        done += 1
        if loops.by_multipliers:
            for c in range(a):
                j = int(loops.closure.active[c])
                q_a[c], v_a[c], vd_a[c] = q[j], v[j], vd[j]
        if rows.shape[0] > 0:
            rows_q[done] = q_a
            rows[done, 0] = v_a
            rows[done, 1] = vd_a
            rows[done, 2] = tau
            rows[done, 3] = loops.stages[DRIVE, :a]
    return done


@entry
def closed_rows(
    record, loops, motors, q_a, v_a, vd_a, tau, drives, hold, wrenches, h, first, steps, table, rows_q, rows
):
    """`move_rows` by projection, or by multipliers."""
    state = motors, q_a, v_a, vd_a, tau
    return move_rows(record, loops, None, *state, drives, hold, wrenches, h, first, steps, table, rows_q, rows)


@entry
def closed_rows_by_legs(
    record, loops, legs, motors, q_a, v_a, vd_a, tau, drives, hold, wrenches, h, first, steps, table, rows_q, rows
):
    """`move_rows` by the legs' natural orthogonal complement."""
    state = motors, q_a, v_a, vd_a, tau
    return move_rows(record, loops, legs, *state, drives, hold, wrenches, h, first, steps, table, rows_q, rows)
