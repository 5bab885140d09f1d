"""Dampers of virtual springs, on the rate of Delta seen from the fixed frame, as in (40).

The rows of a cut joint that forbid positions, and those that forbid turns, are one vector each: Delta = sum phi_s u_s,
with u_s fixed in the first body (the row's axis a, or a x b for a turn). Its rate is

    Delta' = sum phi_s' u_s + w x Delta

where w is the angular velocity of the first body. A damper dissipates b |Delta'|^2, so that it pulls the rows with
u_s . g, g = b Delta', and turns the first body by Delta x g. Without the terms in w it would act on the rate seen from
the first body, and which body is called the first would change the motion. A single turn (a universal joint's) has no
direction: phi' is the same from everywhere.
"""

from __future__ import annotations

from dyn_core.jit.kernel import uncounted
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import add, cross, dot, scale

from ..tree.record import PARENT, RW, SIGMA
from .constraints import AXIS_A, AXIS_B, FIRST, FRAMES, LOOP, TYPE, axis_of


@uncounted
def group_end(rows, k):
    """Where the rows that hold one vector with row k end."""
    end = k + 1
    while end < rows.shape[0] and rows[end, LOOP] == rows[k, LOOP] and rows[end, TYPE] == rows[k, TYPE]:
        end += 1
    return end


@uncounted
def direction(body, row):
    """u of a row, in base axes; body: the record's row of the first body."""
    a = axis_of(body, row, FRAMES, int(row[AXIS_A]))
    return a if row[TYPE] == 0.0 else cross(a, axis_of(body, row, FRAMES, int(row[AXIS_B])))


@uncounted
def damp_group(body, rows, b, phi, rates, w, pull):
    """Add a group's dampers b (s,) to pull (s,); returns the moment against which they turn the first body.

    phi, rates (s,): values of the rows and their rates; w: angular velocity of the first body, in base axes. Where
    there are fewer rows than directions, Delta' has a part across them, which the mean of b damps.
    """
    count = rows.shape[0]
    if count == 1:
        pull[0] += b[0] * rates[0]
        return (0.0, 0.0, 0.0)
    delta, rate, mean = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
    for s in range(count):
        u = direction(body, rows[s])
        delta, rate = add(delta, scale(phi[s], u)), add(rate, scale(rates[s], u))
        mean += b[s] / count
    rate = add(rate, cross(w, delta))
    g = scale(mean, rate)
    for s in range(count):
        u = direction(body, rows[s])
        g = add(g, scale((b[s] - mean) * dot(u, rate), u))
    for s in range(count):
        pull[s] += dot(direction(body, rows[s]), g)
    return cross(delta, g)


@uncounted
def angular_velocity(record, body, qd):
    """Of a body, in base axes, at the record's poses."""
    w = (0.0, 0.0, 0.0)
    r = body
    while r > 0:
        row = record[r]
        if row[SIGMA] != PRISMATIC:
            w = add(w, scale(qd[r - 1], (row[RW + 2], row[RW + 5], row[RW + 8])))
        r = int(row[PARENT])
    return w


@uncounted
def turn_against(record, body, moment, tau):
    """Take a moment on a body away from the forces tau (n,) of the joints that turn it."""
    r = body
    while r > 0:
        row = record[r]
        if row[SIGMA] != PRISMATIC:
            tau[r - 1] -= dot(moment, (row[RW + 2], row[RW + 5], row[RW + 8]))
        r = int(row[PARENT])


@uncounted
def damp(record, rows, b, phi, rates, qd, pull, tau):
    """Add the dampers of rows (m,) to pull (m,), and what else they do to the joints to tau (n,)."""
    k = 0
    while k < rows.shape[0]:
        end = group_end(rows, k)
        body = int(rows[k, FIRST])
        w = angular_velocity(record, body, qd)
        moment = damp_group(record[body], rows[k:end], b[k:end], phi[k:end], rates[k:end], w, pull[k:end])
        turn_against(record, body, moment, tau)
        k = end
