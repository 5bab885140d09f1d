"""Closure of loops: passive joints from active ones, in position, velocity and acceleration.

With the constraints phi(q) = 0 split into active and passive joints, J_a qd_a + J_p qd_p = 0, so that

    qd = G qd_a,   qdd = G qdd_a + g,   G_p = -J_p^-1 J_a,   g_p = -J_p^-1 bias          (Khalil 56, 58)

J_p is square. Of redundant constraints as many independent ones are used as there are passive joints, chosen anew as
the mechanism moves; a configuration counts as closed when all of them are met.

A configuration is followed from another one along the straight way of the active joints, in strides. Each is predicted
by G and corrected by Newton. Where Newton does not contract, where det J_p changes its sign, or where the joints of a
loop move otherwise than G foresees at either end of the stride, a singularity or another branch may lie between, and
the stride is divided.

Conditioning: with sigma the smallest singular value of J_p, lengths measured in the mechanism's size, rounding errors
of 1e-15 of the constraints move the passive joints by 1e-15 / sigma, and change G and all that follows from it by the
part 1e-15 / sigma^2. Below SMALLEST_DISTANCE less than six digits are left: the configuration is called singular.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import entry, uncounted
from dyn_core.jit.status import NOT_FINITE, OK, OPEN, SINGULAR
from dyn_core.mechanism import PRISMATIC

from ..linear_solvers import (
    choose_rows,
    determinant_sign,
    lu_factor,
    lu_solve,
    lu_solve_transposed,
)
from ..tree.kinematics import body_poses
from ..tree.record import SIGMA
from .constraints import FIRST, FOLLOWS, TYPE, constraint_bias, constraint_jacobian, constraint_values, velocity_pass

ITERATIONS = 20
TOLERANCE = 1e-13  # of a constraint, in m or rad, at which rounding may end the iteration
ROUNDING = 1e-15  # at which it ends at once
CLOSED = 1e-9  # at which loops count as closed
FARTHEST = 1e3  # rad or m: strides to an active position beyond that would take without end
STRIDE = 0.25  # largest predicted move of a joint (rad or m) that is closed in one go
SHORTEST = 1e-9  # below which no stride is divided: a singularity is in the way
OFF = 0.3  # of the motion of a loop's joints: by how much G may fail to foresee it
RESTING = 1e-8  # rad or m: a move that small needs no foresight
CONTRACTION = 0.5  # of a Newton step against the one before
SMALLEST_PIVOT = 1e-9  # of a matrix, relative to its largest entry: below it the matrix is singular
REGULAR_PIVOT = 3e-3  # of J_p, relative to its largest entry: above it the configuration is far from singular
SMALLEST_DISTANCE = 3e-5  # sigma, below which a configuration is singular
ERROR = 1e-15  # of a constraint, by rounding

SIZE, MODE, CHOSEN, PIVOT = range(4)  # of `numbers`
MOST_STRIDES = 100_000


class Branch(NamedTuple):
    """A closed configuration, and how its loops determine the passive joints there."""

    q: Floats
    """(n,)."""
    G: Floats
    """(n, a)."""
    rows: Floats
    """(p, ROW_WIDTH) independent constraints."""
    numbers: Floats
    """(4,) characteristic length (m), sign of det J_p, its smallest pivot when these rows were chosen, and here."""


class Closure(NamedTuple):
    """What kernels read of the loops, where these stand, and scratch memory."""

    all_rows: Floats
    """(m, ROW_WIDTH)."""
    active: Floats
    passive: Floats
    cycles: Floats
    """Joints of all loops, one loop after the other."""
    starts: Floats
    """(loops + 1,) where each begins there."""
    q: Floats
    G: Floats
    rows: Floats
    numbers: Floats
    target: Floats
    """(a,) active positions that were asked for."""
    trial: Floats
    """(n,)."""
    tangents: Floats
    """(2, n) move of all joints along the way, at both ends of a stride."""
    way: Floats
    """(a,)."""
    phi: Floats
    """(m,)."""
    x: Floats
    """(p,)."""
    pivots: Floats
    J: Floats
    """(p, n)."""
    Jp: Floats
    """(p, p) factors of J_p."""
    tall: Floats
    """(m, n) Jacobian of all constraints; (0, n) where none is redundant."""
    choice: Floats
    """(m, p) its passive part."""


def new_closure(all_rows: Floats, active: Floats, passive: Floats, cycles: Floats, starts: Floats) -> Closure:
    """A Closure with memory of its own, which stands nowhere yet."""
    m, a, p = len(all_rows), len(active), len(passive)
    n = a + p
    spare = m if m > p else 0
    return Closure(
        all_rows, active, passive, cycles, starts, np.zeros(n), np.zeros((n, a)), all_rows[:p].copy(),
        np.zeros(4), np.zeros(a), np.zeros(n), np.zeros((2, n)), np.zeros(a), np.zeros(m), np.zeros(p), np.zeros(p),
        np.zeros((p, n)), np.zeros((p, p)), np.zeros((spare, n)), np.zeros((spare, p)),
    )  # fmt: skip


@uncounted
def largest_of(x):
    size = 0.0
    for i in range(x.shape[0]):
        size = max(size, abs(x[i]))
    return size


@uncounted
def copy_vector(source, target):
    for i in range(target.shape[0]):
        target[i] = source[i]


@uncounted
def copy_matrix(source, target):
    for i in range(target.shape[0]):
        for k in range(target.shape[1]):
            target[i, k] = source[i, k]


@uncounted
def copy_branch(source, target, chosen):
    """From a Branch or a Closure to another one of the same robot; chosen: whether there is a choice of rows."""
    copy_vector(source.q, target.q)
    copy_matrix(source.G, target.G)
    copy_vector(source.numbers, target.numbers)
    if chosen:
        copy_matrix(source.rows, target.rows)


@uncounted
def redundant(c):
    """Whether there are more constraints than passive joints."""
    return c.all_rows.shape[0] > c.rows.shape[0]


@uncounted
def begin(c, branch):
    """Stand at a branch."""
    copy_branch(branch, c, redundant(c))


@uncounted
def factor(record, c):
    """J and the factors of J_p at the poses that the record holds; returns the smallest pivot over the largest entry.

    It is negative where det J_p has another sign than on the branch.
    """
    constraint_jacobian(record, c.rows, c.J)
    p = c.passive.shape[0]
    for i in range(p):
        for k in range(p):
            c.Jp[i, k] = c.J[i, int(c.passive[k])]
    pivot = lu_factor(c.Jp, c.pivots) if p > 0 else 1.0
    if c.numbers[MODE] * determinant_sign(c.Jp, c.pivots) < 0.0:
        pivot = -pivot
    c.numbers[PIVOT] = pivot
    return pivot


@uncounted
def is_length(record, row):
    """Whether a constraint is one in m, not in rad."""
    return row[TYPE] == 0.0 or (row[TYPE] == FOLLOWS and record[int(row[FIRST]), SIGMA] == PRISMATIC)


@uncounted
def choose(record, c):
    """Choose independent rows at the poses that the record holds, and note the sign of their det J_p.

    The poses must be those of a configuration on the branch. Where no constraint is redundant there is no choice, and
    a sign that is known stays. Returns the smallest pivot of J_p.
    """
    m, p = c.all_rows.shape[0], c.passive.shape[0]
    if redundant(c):
        constraint_jacobian(record, c.all_rows, c.tall)
        for i in range(m):
            length = c.numbers[SIZE] if is_length(record, c.all_rows[i]) else 1.0
            for k in range(p):
                j = int(c.passive[k])
                unit = c.numbers[SIZE] if record[j + 1, SIGMA] == PRISMATIC else 1.0
                c.choice[i, k] = c.tall[i, j] * unit / length
        choose_rows(c.choice, c.phi)
        for i in range(p):
            copy_vector(c.all_rows[int(c.phi[i])], c.rows[i])
        c.numbers[MODE] = 0.0
    pivot = factor(record, c)
    c.numbers[CHOSEN] = pivot
    if c.numbers[MODE] == 0.0:
        c.numbers[MODE] = determinant_sign(c.Jp, c.pivots)
    return pivot


@uncounted
def distance(record, c):
    """The smallest singular value of J_p, lengths measured in the size, from its factors.

    By the power method on J_p^-1 J_p^-T, which a singular value near zero dominates.
    """
    p, x, size = c.passive.shape[0], c.x, c.numbers[SIZE]
    if p == 0:
        return 1.0
    for i in range(p):
        if c.Jp[i, i] == 0.0:
            return 0.0
        x[i] = 1.0 + 0.37 * ((5 * i) % 7)
    square = 1.0
    for _ in range(4):
        for k in range(p):
            if record[int(c.passive[k]) + 1, SIGMA] == PRISMATIC:
                x[k] /= size
        lu_solve_transposed(c.Jp, c.pivots, x)
        for i in range(p):
            if is_length(record, c.rows[i]):
                x[i] *= size * size
        lu_solve(c.Jp, c.pivots, x)
        square = 0.0
        for k in range(p):
            if record[int(c.passive[k]) + 1, SIGMA] == PRISMATIC:
                x[k] /= size
            square += x[k] * x[k]
        norm = square**0.5
        if not 0.0 < norm < 1e300:
            return 0.0
        for k in range(p):
            x[k] /= norm
    return square**-0.25


@uncounted
def newton(record, c, q):
    """Correct the passive joints of q until the chosen constraints are met, in steps that contract.

    OPEN where they do not, or where other constraints are not met then. The record holds the poses of q afterwards.
    """
    p = c.passive.shape[0]
    phi, step = c.phi[:p], c.x
    before = np.inf
    for k in range(ITERATIONS):
        body_poses(record, q)
        constraint_values(record, c.rows, phi)
        error = largest_of(phi)
        if error != error:
            return NOT_FINITE
        if error <= ROUNDING:
            if not redundant(c):
                return OK
            break
        if factor(record, c) == 0.0:
            return OPEN
        for i in range(p):
            step[i] = -phi[i]
        lu_solve(c.Jp, c.pivots, step)
        size = largest_of(step)
        if not size < CONTRACTION * before:
            if error < TOLERANCE and k > 0:
                break
            return OPEN
        for i in range(p):
            q[int(c.passive[i])] += step[i]
        part = size / before
        before = size
        if size * part * part < 1e-17 and (k > 0 or size < 1e-10):  # the next step, as the iteration contracts
            body_poses(record, q)
            break
    constraint_values(record, c.all_rows, c.phi)
    return OK if largest_of(c.phi) < CLOSED else OPEN


@uncounted
def tangent(c, way, out):
    """out (n,): the move of all joints with one of the active joints by way (a,), from the factors of J_p."""
    p, x = c.passive.shape[0], c.x
    for i in range(p):
        x[i] = 0.0
        for k in range(way.shape[0]):
            x[i] -= c.J[i, int(c.active[k])] * way[k]
    lu_solve(c.Jp, c.pivots, x)
    for i in range(p):
        out[int(c.passive[i])] = x[i]
    for k in range(way.shape[0]):
        out[int(c.active[k])] = way[k]


@uncounted
def foreseen(c, part):
    """Whether all loops moved from c.q to c.trial as the tangents at both ends say, times `part`."""
    t, u = c.tangents[0], c.tangents[1]
    for l in range(c.starts.shape[0] - 1):
        first, last = int(c.starts[l]), int(c.starts[l + 1])
        size, off = 0.0, 0.0
        for i in range(first, last):
            j = int(c.cycles[i])
            a, b, moved = part * t[j], part * u[j], c.trial[j] - c.q[j]
            size = max(size, max(abs(a), abs(b)))
            off = max(off, max(abs(moved - a), abs(moved - b)))
        if not off <= OFF * size + RESTING:
            return False
    return True


@uncounted
def stride(record, c, part):
    """Close the loops a part of the way on, in c.trial, by the tangent here; OK leaves factors and tangent there."""
    for j in range(c.q.shape[0]):
        c.trial[j] = c.q[j] + part * c.tangents[0, j]
    if part == 1.0:
        for k in range(c.target.shape[0]):
            c.trial[int(c.active[k])] = c.target[k]
    status = newton(record, c, c.trial)
    if status != OK:
        return status
    if factor(record, c) <= 0.0:
        return SINGULAR
    for k in range(c.way.shape[0]):
        c.way[k] = c.tangents[0, int(c.active[k])]
    tangent(c, c.way, c.tangents[1])
    return OK if foreseen(c, part) else SINGULAR


@uncounted
def regular(record, c):
    """OK and G at the poses and factors of a configuration; SINGULAR where these leave too few digits."""
    p, a = c.passive.shape[0], c.active.shape[0]
    if c.numbers[PIVOT] < REGULAR_PIVOT:
        if not c.numbers[PIVOT] > 0.0:
            return SINGULAR
        if redundant(c):
            choose(record, c)
        if not distance(record, c) > SMALLEST_DISTANCE:
            return SINGULAR
    for k in range(a):
        jk = int(c.active[k])
        for i in range(p):
            c.x[i] = -c.J[i, jk]
        lu_solve(c.Jp, c.pivots, c.x)
        for j in range(a):
            c.G[int(c.active[j]), k] = 1.0 if j == k else 0.0
        for i in range(p):
            c.G[int(c.passive[i]), k] = c.x[i]
    return OK


@uncounted
def follow(record, c, target):
    """Follow the active joints from the closed configuration c.q to target (a,); c.q, c.G become those there.

    SINGULAR where the way ends before, or where the configuration there is singular; NOT_FINITE where target is, or is
    too far away. c.q is then the last configuration that was reached. The record holds the poses of c.q, c the factors.
    """
    far = 0.0
    for k in range(target.shape[0]):
        c.target[k] = target[k]
        c.way[k] = target[k] - c.q[int(c.active[k])]
        far = max(far, abs(c.way[k]))
        if c.way[k] != c.way[k]:
            return NOT_FINITE
    if not far < FARTHEST:
        return NOT_FINITE
    n = c.q.shape[0]
    for j in range(n):
        c.tangents[0, j] = 0.0
        for k in range(c.way.shape[0]):
            c.tangents[0, j] += c.G[j, k] * c.way[k]
    longest = STRIDE
    for _ in range(MOST_STRIDES):
        size = largest_of(c.tangents[0])
        part = 1.0 if size <= longest else longest / size
        status = stride(record, c, part)
        if status == OK:
            copy_vector(c.trial, c.q)
            if redundant(c) and c.numbers[PIVOT] < 0.5 * c.numbers[CHOSEN]:
                choose(record, c)
            if part == 1.0:
                return regular(record, c)
            for j in range(n):
                c.tangents[0, j] = (1.0 - part) * c.tangents[1, j]
            longest = min(2.0 * longest, STRIDE)
            continue
        longest = 0.25 * min(longest, part * size)
        if not longest > SHORTEST:
            return SINGULAR
        if redundant(c):
            body_poses(record, c.q)
            choose(record, c)
    return SINGULAR


@uncounted
def stand(record, c, q):
    """Take a closed configuration q (n,) as it is: c.q, c.G and the sign of det J_p become those there."""
    copy_vector(q, c.q)
    body_poses(record, c.q)
    choose(record, c)
    return regular(record, c)


@uncounted
def rates(record, c, qd_a, qd, g):
    """qd (n,) and g (n,) with active speeds qd_a (a,), after `follow` or `stand`."""
    p, n = c.passive.shape[0], c.q.shape[0]
    for j in range(n):
        qd[j] = 0.0
        g[j] = 0.0
        for k in range(qd_a.shape[0]):
            qd[j] += c.G[j, k] * qd_a[k]
    velocity_pass(record, c.q, qd)
    constraint_bias(record, c.rows, c.x)
    for i in range(p):
        c.x[i] = -c.x[i]
    lu_solve(c.Jp, c.pivots, c.x)
    for i in range(p):
        g[int(c.passive[i])] = c.x[i]


@entry
def close(record, c, branch, target, qd_a, qd, g):
    """`follow` from a Branch, and `rates` there, from Python."""
    begin(c, branch)
    status = follow(record, c, target)
    if status == OK:
        rates(record, c, qd_a, qd, g)
    return status


@entry
def stand_at(record, c, size, q, qd_a, qd, g):
    """`stand`, and `rates` there, from Python."""
    c.numbers[SIZE], c.numbers[MODE] = size, 0.0
    status = stand(record, c, q)
    if status == OK:
        rates(record, c, qd_a, qd, g)
    return status
