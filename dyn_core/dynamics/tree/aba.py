"""Forward dynamics by articulated bodies, O(n), and its mixed form in which some joints' accelerations are given.

Equation numbers are Khalil's: section 3.3.2, 6.3 for given accelerations, 7.3 for a floating base. The 6x6 inertia of a
body acts on (acceleration of the origin, angular acceleration) and is kept in blocks: IM (linear), IB (linear-angular),
IJ (angular). F and N hold -beta.
"""

from __future__ import annotations

from dyn_core.jit.kernel import kernel
from dyn_core.jit.status import NOT_FINITE, OK, SINGULAR
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import (
    add,
    add_to3,
    add_to6,
    add_to9,
    compose,
    congruence,
    cross,
    dot,
    full,
    load3,
    load6,
    load9,
    rotate,
    scale,
    store3,
    store6,
    store9,
    sub,
    symmetric_inverse,
    symmetric_times,
    transposed,
    unrotate,
)

from ..linear_solvers import moves
from .force_elements import add_element_forces
from .record import (
    ELEMENTS,
    FLOATING,
    GF,
    GM,
    IA,
    IB,
    IJ,
    IM,
    MS,
    PARENT,
    SIGMA,
    SPEED,
    UF,
    UM,
    VD,
    WD,
    A,
    D,
    F,
    J,
    L,
    M,
    N,
    U,
    passive_force,
    place,
    wrench_on,
)
from .rnea import velocity_step


@kernel
def start_body(row, w):
    """A body's own inertia, and its bias wrench at angular velocity w: (35)."""
    mass = row[M]
    ms = load3(row, MS)
    inertia = load6(row, J)
    store6(row, IM, (mass, 0.0, 0.0, mass, 0.0, mass))
    store9(row, IB, (0.0, ms[2], -ms[1], -ms[2], 0.0, ms[0], ms[1], -ms[0], 0.0))
    store6(row, IJ, inertia)
    store3(row, F, cross(w, cross(w, ms)))
    store3(row, N, cross(w, symmetric_times(inertia, w)))


@kernel
def add_to_parent(up, a, p, im, ib, ij, f, m):
    """Add an inertia and a wrench, given in a body's frame at (a, p), to those of its parent: (39), (40)."""
    im = congruence(a, im)
    b = compose(compose(a, ib), transposed(a))
    ij = congruence(a, ij)
    f = rotate(a, f)
    add_to3(up, F, f)
    add_to3(up, N, add(rotate(a, m), cross(p, f)))
    add_to6(up, IM, im)
    # with S(p) the skew matrix of p: IB = B - IM S(p), IJ += S(p) IB - B^T S(p)
    mp = times_skew(full(im), p)
    bm = (
        b[0] - mp[0], b[1] - mp[1], b[2] - mp[2],
        b[3] - mp[3], b[4] - mp[4], b[5] - mp[5],
        b[6] - mp[6], b[7] - mp[7], b[8] - mp[8],
    )  # fmt: skip
    add_to9(up, IB, bm)
    left = times_skew(transposed(bm), p)  # its transpose is -S(p) bm
    right = times_skew(transposed(b), p)
    add_to6(
        up,
        IJ,
        (
            ij[0] - left[0] - right[0],
            ij[1] - left[3] - right[1],
            ij[2] - left[6] - right[2],
            ij[3] - left[4] - right[4],
            ij[4] - left[7] - right[5],
            ij[5] - left[8] - right[8],
        ),
    )


@kernel
def times_skew(B, p):
    """B S(p), S(p) the matrix of the cross product with p."""
    return (
        B[1] * p[2] - B[2] * p[1], B[2] * p[0] - B[0] * p[2], B[0] * p[1] - B[1] * p[0],
        B[4] * p[2] - B[5] * p[1], B[5] * p[0] - B[3] * p[2], B[3] * p[1] - B[4] * p[0],
        B[7] * p[2] - B[8] * p[1], B[8] * p[0] - B[6] * p[2], B[6] * p[1] - B[7] * p[0],
    )  # fmt: skip


@kernel
def free_base(base):
    """Acceleration (less gravity) of a floating base from its articulated inertia and bias: (97), (109)."""
    ib = load9(base, IB)
    f = load3(base, F)
    m = load3(base, N)
    inverse = symmetric_inverse(load6(base, IM))
    x = symmetric_times(inverse, f)
    y = compose(full(inverse), ib)  # IM^-1 IB
    z = compose(transposed(ib), y)
    ij = load6(base, IJ)
    rest = symmetric_inverse((ij[0] - z[0], ij[1] - z[1], ij[2] - z[2], ij[3] - z[4], ij[4] - z[5], ij[5] - z[8]))
    wd = symmetric_times(rest, sub(unrotate(ib, x), m))
    store3(base, WD, wd)
    store3(base, VD, scale(-1.0, add(x, rotate(y, wd))))


@kernel
def articulated_bodies(record, q, qd, prescribed, wrenches, tau, qdd):
    """Joint accelerations qdd (n,) for joint forces tau (n,); the base row holds the motion of the base.

    Where prescribed (n,) is not zero, qdd is given and tau is the answer; prescribed (0,) for nowhere. wrenches as in
    `newton_euler`. A floating base (whose row holds its angular velocity, inertia and bias) takes up its acceleration.
    """
    n = q.shape[0]
    floating = record[0, FLOATING] != 0.0
    mixed = prescribed.shape[0] > 0
    for j in range(n):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a, p = place(row, q[j])
        w, angular, linear = velocity_step(row, up, a, p, qd[j])
        if mixed and prescribed[j] != 0.0:  # zeta instead of gamma: (89)
            if row[SIGMA] == PRISMATIC:
                linear = (linear[0], linear[1], linear[2] + qdd[j])
            else:
                angular = (angular[0], angular[1], angular[2] + qdd[j])
        store3(row, GF, linear)
        store3(row, GM, angular)
        start_body(row, w)
        if wrenches.shape[0] > 0:
            force, moment = wrench_on(wrenches, n, j)
            store3(row, F, sub(load3(row, F), force))
            store3(row, N, sub(load3(row, N), moment))
    if record[0, ELEMENTS] != 0.0:
        for j in range(n):
            record[j + 1, SPEED] = qd[j]
        add_element_forces(record)
    status = OK
    for j in range(n - 1, -1, -1):
        row = record[j + 1]
        im = load6(row, IM)
        ib = load9(row, IB)
        ij = load6(row, IJ)
        f = load3(row, F)
        m = load3(row, N)
        if row[SIGMA] == PRISMATIC:
            uf = (im[2], im[4], im[5])
            um = (ib[6], ib[7], ib[8])
            d = uf[2] + row[IA]  # (36)
            bias = f[2]
        else:
            uf = (ib[2], ib[5], ib[8])
            um = (ij[2], ij[4], ij[5])
            d = um[2] + row[IA]
            bias = m[2]
        store3(row, UF, uf)
        store3(row, UM, um)
        row[D] = d
        if mixed and prescribed[j] != 0.0:
            row[U] = bias  # (75), (76): K is J*, nothing is reduced
        else:
            u = tau[j] - passive_force(row, q[j], qd[j]) - bias  # (44)
            row[U] = u
            if not moves(d):
                status = SINGULAR
            # what the body, free to move in its joint, is to its parent: (37), (38)
            k = 1.0 / d
            vf = scale(k, uf)
            vm = scale(k, um)
            im = (
                im[0] - uf[0] * vf[0], im[1] - uf[0] * vf[1], im[2] - uf[0] * vf[2],
                im[3] - uf[1] * vf[1], im[4] - uf[1] * vf[2], im[5] - uf[2] * vf[2],
            )  # fmt: skip
            ib = (
                ib[0] - uf[0] * vm[0], ib[1] - uf[0] * vm[1], ib[2] - uf[0] * vm[2],
                ib[3] - uf[1] * vm[0], ib[4] - uf[1] * vm[1], ib[5] - uf[1] * vm[2],
                ib[6] - uf[2] * vm[0], ib[7] - uf[2] * vm[1], ib[8] - uf[2] * vm[2],
            )  # fmt: skip
            ij = (
                ij[0] - um[0] * vm[0], ij[1] - um[0] * vm[1], ij[2] - um[0] * vm[2],
                ij[3] - um[1] * vm[1], ij[4] - um[1] * vm[2], ij[5] - um[2] * vm[2],
            )  # fmt: skip
            f = add(f, scale(u, vf))
            m = add(m, scale(u, vm))
        if row[PARENT] > 0.0 or floating:
            gf = load3(row, GF)
            gm = load3(row, GM)
            f = add(f, add(symmetric_times(im, gf), rotate(ib, gm)))
            m = add(m, add(unrotate(ib, gf), symmetric_times(ij, gm)))
            add_to_parent(record[int(row[PARENT])], load9(row, A), load3(row, L), im, ib, ij, f, m)
    if floating:
        free_base(record[0])
    nothing = 0.0
    for j in range(n):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a = load9(row, A)
        wdi = load3(up, WD)
        wd = add(unrotate(a, wdi), load3(row, GM))
        vd = add(unrotate(a, add(load3(up, VD), cross(wdi, load3(row, L)))), load3(row, GF))
        along = dot(load3(row, UF), vd) + dot(load3(row, UM), wd)
        if mixed and prescribed[j] != 0.0:
            tau[j] = along + row[U] + row[IA] * qdd[j] + passive_force(row, q[j], qd[j])  # (79), (82)
            nothing += 0.0 * tau[j]
        else:
            qdd[j] = (row[U] - along) / row[D]  # (41), (80)
            nothing += 0.0 * qdd[j]
            if row[SIGMA] == PRISMATIC:
                vd = (vd[0], vd[1], vd[2] + qdd[j])
            else:
                wd = (wd[0], wd[1], wd[2] + qdd[j])
        store3(row, WD, wd)  # (43), (81)
        store3(row, VD, vd)
    if status != OK:
        return status
    return OK if nothing == 0.0 else NOT_FINITE
