"""The platform's pose at given positions of the active joints, followed along their straight way."""

from __future__ import annotations

import numpy as np

from dyn_core.jit.kernel import uncounted
from dyn_core.jit.status import NOT_FINITE, OK, OPEN, SINGULAR
from dyn_core.spatial.tuples import quaternion_rotation, scale, turned, unrotate

from ..linear_solvers import lu_solve
from ..loops.closure import largest_of
from .jacobians import branch, linearise, look
from .leg_closure import close_legs
from .state import AIMED, FORCE, ITERATIONS, JOINT, JOINTS, OPENING, STEP, copy, twist

STRIDE = 0.25  # largest move of the platform that is followed in one go, in rad and in characteristic lengths
SHORTEST_STRIDE = 1e-6  # part of the way; below it a singularity is in the way
ROUNDING = 1e-10  # size of a step below which rounding, not the branch, keeps the iteration from contracting
CONTRACTION = 0.4  # of the Newton step, else the stride is divided: the iteration must stay on its branch


@uncounted
def newton_step(par, target):
    """nu of a step towards active positions target, in par.nu[STEP]; returns its size without units."""
    nu, opening = par.nu[STEP], par.vectors[OPENING]
    for a in range(nu.shape[0]):
        j = int(par.active[a])
        nu[a] = target[a] - (par.at[j] - opening[j])
    lu_solve(par.K, par.exchange, nu)
    v, w = twist(par, nu)
    size = largest_of(opening)
    for k in range(3):
        size = max(size, abs(v[k]) / par.numbers[0], abs(w[k]))
    return size


@uncounted
def move_platform(par, nu, part):
    """Move the pose by the small displacement `part` times S nu, in base axes."""
    at = par.at
    n = at.shape[0] - 7
    u = (at[n + 3], at[n + 4], at[n + 5], at[n + 6])
    v, w = twist(par, nu)
    u = turned(u, unrotate(quaternion_rotation(u), scale(part, w)))
    for k in range(3):
        at[n + k] += part * v[k]
    for k in range(4):
        at[n + 3 + k] = u[k]


@uncounted
def move(par, part):
    """Move the platform by par.nu[STEP] times part; legs that do not aim follow, and close as far as they were open."""
    at, nu, opening = par.at, par.nu[STEP], par.vectors[OPENING]
    move_platform(par, nu, part)
    for i in range(par.legs.shape[0]):
        leg = par.legs[i]
        if leg[AIMED] == 0.0:
            first = int(leg[JOINT])
            for j in range(first, first + int(leg[JOINTS])):
                at[j] -= opening[j]
                for c in range(nu.shape[0]):
                    at[j] += part * par.E[j, c] * nu[c]


@uncounted
def farthest(par, target):
    """The largest difference of an active position from its target."""
    far = 0.0
    for a in range(target.shape[0]):
        far = max(far, abs(target[a] - par.at[int(par.active[a])]))
        if target[a] != target[a]:
            far = target[a]
    return far


@uncounted
def arrive(record, par):
    """All legs, E and the inverse Jacobian at the platform's pose; SINGULAR beyond a singularity too."""
    status = close_legs(record, par)
    if status == OK:
        status = linearise(record, par)
    if status == OK and branch(par) <= 0.0:
        return SINGULAR
    return status


@uncounted
def polished(record, par, middle):
    """`arrive`, and step on to the active positions `middle` for as long as that brings it nearer."""
    size = ROUNDING
    for _ in range(ITERATIONS):
        status = arrive(record, par)
        if status != OK:
            return status
        new = newton_step(par, middle)
        if new < 1e-14 or not new < 0.5 * size:
            return OK if new < ROUNDING else OPEN
        size = new
        move(par, 1.0)
    return OK


@uncounted
def corrected(record, par, middle, first):
    """Newton from a predicted pose to the active positions `middle`; `first`: size of the step that led there."""
    size = first
    for _ in range(ITERATIONS):
        status = look(record, par)
        if status != OK:
            return status
        if branch(par) <= 0.0:
            return SINGULAR
        new = newton_step(par, middle)
        if not new < CONTRACTION * size and new > ROUNDING:
            return OPEN
        if new < 1e-14 or (new < ROUNDING and not new < size):
            return OK
        move(par, 1.0)
        if new * (new / size) ** 2 < 1e-14:  # the next step, as the iteration contracts by squares
            return OK
        size = new
    return OPEN


@uncounted
def forward(record, par, target):
    """Follow the active positions from where it stands to target (f,); E and K are then those there.

    Stride by stride, each predicted by the Jacobian and corrected by Newton; a correction that does not contract might
    lead to another branch, and its stride is divided. OPEN or SINGULAR: par.at is the last configuration before.
    """
    far = farthest(par, target)
    if far != far or far > 1e12:
        return NOT_FINITE
    status = arrive(record, par) if moved_on(par) else OK
    if status != OK:
        return max(status, SINGULAR)
    part = 1.0
    line = par.nu[FORCE]
    while True:
        size = newton_step(par, target)
        if not size < 1e12:
            return SINGULAR
        if size < 1e-14 or far < 1e-15:
            return arrive(record, par)
        part = min(part, STRIDE / size) if size > STRIDE else min(part, 1.0)
        copy(par.at, par.kept)
        for a in range(target.shape[0]):
            now = par.at[int(par.active[a])]
            line[a] = target[a] if part == 1.0 else now + part * (target[a] - now)
        move(par, part)
        status = corrected(record, par, line, part * size)
        if status == OK:
            status = polished(record, par, line)
        if status == OK:
            if part == 1.0:
                return OK
            far = farthest(par, target)
            part = min(1.0, 2.0 * part / (1.0 - part)) if part < 0.5 else 1.0
            continue
        copy(par.kept, par.at)
        part *= 0.25
        found = arrive(record, par)
        if found != OK or part < SHORTEST_STRIDE or part * size < 1e-9:
            return status


@uncounted
def moved_on(par):
    """Whether the platform stands elsewhere than where the inverse Jacobian was made."""
    n = par.at.shape[0] - 7
    for k in range(7):
        if par.at[n + k] != par.known[k]:
            return True
    return branch(par) <= 0.0


@uncounted
def begin(par, start):
    """Stand at a configuration (K + 7,), whatever the workspace was used for before."""
    copy(start, par.at)
    par.known[0] = np.nan


@uncounted
def forward_from(record, par, start, target):
    """`forward` from a configuration (K + 7,)."""
    begin(par, start)
    return forward(record, par, target)
