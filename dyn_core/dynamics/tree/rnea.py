"""Inverse dynamics by recursive Newton-Euler.

Equation numbers are those of Khalil (section 3.2), with (S ...) for Swartz's.
"""

from __future__ import annotations

from dyn_core.jit.kernel import kernel
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import (
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

from .force_elements import add_element_forces
from .record import (
    ELEMENTS,
    IA,
    MS,
    PARENT,
    SIGMA,
    SPEED,
    VD,
    WD,
    A,
    F,
    J,
    L,
    M,
    N,
    W,
    passive_force,
    place,
    wrench_on,
)


@kernel
def velocity_step(row, up, a, p, qd):
    """Angular velocity of a body, and the parts of its acceleration that depend on velocities.

    Returns omega_j, gamma_j (angular), gamma_j (linear), the last without the parent's acceleration (15).
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
def body_motion(row, up, q, qd, qdd):
    """Angular velocity and acceleration of a body and acceleration of its origin, less gravity, from its parent's."""
    a, p = place(row, q)
    w, angular, linear = velocity_step(row, up, a, p, qd)
    wdi = load3(up, WD)
    wd = add(unrotate(a, wdi), angular)  # (20), (S 2)
    vd = add(unrotate(a, add(load3(up, VD), cross(wdi, p))), linear)  # (21), (S 4)
    if row[SIGMA] == PRISMATIC:
        vd = (vd[0], vd[1], vd[2] + qdd)
    else:
        wd = (wd[0], wd[1], wd[2] + qdd)
    store3(row, WD, wd)
    store3(row, VD, vd)
    return w, wd, vd


@kernel
def body_wrench(row, w, wd, vd):
    """Force and moment that move a body: (22), (23), (S 6), (S 7)."""
    ms = load3(row, MS)
    inertia = load6(row, J)
    f = add(scale(row[M], vd), add(cross(wd, ms), cross(w, cross(w, ms))))
    m = add(add(symmetric_times(inertia, wd), cross(w, symmetric_times(inertia, w))), cross(ms, vd))
    return f, m


@kernel
def newton_euler(record, q, qd, qdd, wrenches, tau):
    """Joint forces tau (n,) for the motion q, qd, qdd of the joints; the base row holds the motion of the base.

    wrenches act on the bodies, in and at the body frames: (n, 6), (n + 1, 6) with the base first, or (0, 6).
    """
    n = q.shape[0]
    for j in range(n):
        row = record[j + 1]
        w, wd, vd = body_motion(row, record[int(row[PARENT])], q[j], qd[j], qdd[j])
        f, m = body_wrench(row, w, wd, vd)
        if wrenches.shape[0] > 0:
            force, moment = wrench_on(wrenches, n, j)
            f = sub(f, force)
            m = sub(m, moment)
        store3(row, F, f)
        store3(row, N, m)
    if record[0, ELEMENTS] != 0.0:
        for j in range(n):
            record[j + 1, SPEED] = qd[j]
        add_element_forces(record)
    nothing = 0.0
    for j in range(n - 1, -1, -1):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a = load9(row, A)
        f = load3(row, F)
        m = load3(row, N)
        force = f[2] if row[SIGMA] == PRISMATIC else m[2]
        tau[j] = force + row[IA] * qdd[j] + passive_force(row, q[j], qd[j])  # (31), (S 10)
        nothing += 0.0 * tau[j]
        f = rotate(a, f)  # (28)
        add_to3(up, F, f)  # (29), (S 8)
        add_to3(up, N, add(rotate(a, m), cross(load3(row, L), f)))  # (30), (S 9)
    return OK if nothing == 0.0 else NOT_FINITE
