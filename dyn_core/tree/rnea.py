"""Inverse dynamics by recursive Newton-Euler.

Equation numbers are those of Khalil (section 3.2), with (S ...) for Swartz's.
"""

from __future__ import annotations

from ..jit import entry, kernel
from ..mechanism import PRISMATIC
from ..spatial import (
    add,
    add_to3,
    cross,
    load3,
    load6,
    load9,
    rotate,
    scale,
    store3,
    sub,
    symmetric_times,
    unrotate,
)
from .record import (
    IA,
    MS,
    NOT_FINITE,
    OK,
    PARENT,
    SIGMA,
    VD,
    WD,
    WRONG_SHAPE,
    A,
    F,
    J,
    L,
    M,
    N,
    W,
    friction,
    place,
    start_base,
)


@kernel
def velocity_step(row, up, a, p, qd):
    """Angular velocity of a body, and the parts of its acceleration that depend on velocities.

    Returns omega_j, gamma_j (angular), gamma_j (linear), the last without the parent's acceleration.
    """
    wi = load3(up, W)
    w = unrotate(a, wi)  # (18)
    linear = unrotate(a, cross(wi, cross(wi, p)))
    if row[SIGMA] == PRISMATIC:
        angular = (0.0, 0.0, 0.0)
        linear = (linear[0] + 2.0 * w[1] * qd, linear[1] - 2.0 * w[0] * qd, linear[2])
    else:
        angular = (w[1] * qd, -w[0] * qd, 0.0)
        w = (w[0], w[1], w[2] + qd)  # (19), (S 1)
    store3(row, W, w)
    return w, angular, linear


@kernel
def newton_euler(record, q, qd, qdd, gravity_factor, wrenches, tau):
    """Joint forces tau (n,) for the motion q, qd, qdd; wrenches (n, 6) act on the bodies, in and at the body frames."""
    n = q.shape[0]
    start_base(record, gravity_factor)
    for j in range(n):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a, p = place(row, q[j])
        w, angular, linear = velocity_step(row, up, a, p, qd[j])
        wdi = load3(up, WD)
        wd = add(unrotate(a, wdi), angular)  # (20), (S 2)
        vd = add(unrotate(a, add(load3(up, VD), cross(wdi, p))), linear)  # (21), (S 4)
        if row[SIGMA] == PRISMATIC:
            vd = (vd[0], vd[1], vd[2] + qdd[j])
        else:
            wd = (wd[0], wd[1], wd[2] + qdd[j])
        store3(row, WD, wd)
        store3(row, VD, vd)
        ms = load3(row, MS)
        inertia = load6(row, J)
        f = add(scale(row[M], vd), add(cross(wd, ms), cross(w, cross(w, ms))))  # (22), (S 6)
        m = add(  # (23), (S 7)
            add(symmetric_times(inertia, wd), cross(w, symmetric_times(inertia, w))), cross(ms, vd)
        )
        if wrenches.shape[0] > 0:
            f = sub(f, (wrenches[j, 0], wrenches[j, 1], wrenches[j, 2]))
            m = sub(m, (wrenches[j, 3], wrenches[j, 4], wrenches[j, 5]))
        store3(row, F, f)
        store3(row, N, m)
    nothing = 0.0
    for j in range(n - 1, -1, -1):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a = load9(row, A)
        f = load3(row, F)
        m = load3(row, N)
        force = f[2] if row[SIGMA] == PRISMATIC else m[2]
        tau[j] = force + row[IA] * qdd[j] + friction(row, qd[j])  # (31), (S 10)
        nothing += 0.0 * tau[j]
        f = rotate(a, f)
        add_to3(up, F, f)  # (28), (29), (S 8)
        add_to3(up, N, add(rotate(a, m), cross(load3(row, L), f)))  # (30), (S 9)
    return OK if nothing == 0.0 else NOT_FINITE


@entry
def rnea(record, q, qd, qdd, tau):
    """`newton_euler` with gravity and without wrenches, behind a check of the shapes."""
    n = tau.shape[0]
    if q.shape[0] != n or qd.shape[0] != n or qdd.shape[0] != n:
        return WRONG_SHAPE
    return newton_euler(record, q, qd, qdd, 1.0, record[:0], tau)


@entry
def rnea_batch(record, q, qd, qdd, wrenches, tau):
    """`newton_euler` over rows; wrenches (batch, n, 6), or (batch, 0, 6) for none."""
    status = OK
    for b in range(q.shape[0]):
        status = max(status, newton_euler(record, q[b], qd[b], qdd[b], 1.0, wrenches[b], tau[b]))
    return status
