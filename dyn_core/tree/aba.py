"""Forward dynamics by articulated bodies, O(n).

Equation numbers are Khalil's (section 3.3.2). The 6x6 inertia of a body acts on (acceleration of the origin, angular
acceleration) and is kept in blocks: IM (linear), IB (linear-angular), IJ (angular).
"""

from __future__ import annotations

from ..jit import entry, kernel
from ..mechanism import PRISMATIC
from ..spatial import (
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
    symmetric_times,
    transposed,
    unrotate,
)
from .record import (
    GF,
    GM,
    IA,
    IB,
    IJ,
    IM,
    MS,
    NOT_FINITE,
    OK,
    PARENT,
    SIGMA,
    SINGULAR,
    UF,
    UM,
    VD,
    WD,
    WRONG_SHAPE,
    A,
    D,
    F,
    J,
    L,
    M,
    N,
    U,
    friction,
    place,
    start_base,
)
from .rnea import velocity_step


@kernel
def articulated_bodies(record, q, qd, tau, wrenches, qdd):
    """Joint accelerations qdd (n,) for joint forces tau; wrenches (n, 6) on the bodies, in and at the body frames."""
    n = q.shape[0]
    start_base(record, 1.0)
    for j in range(n):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a, p = place(row, q[j])
        w, angular, linear = velocity_step(row, up, a, p, qd[j])
        store3(row, GF, linear)
        store3(row, GM, angular)
        mass = row[M]
        ms = load3(row, MS)
        inertia = load6(row, J)
        store6(row, IM, (mass, 0.0, 0.0, mass, 0.0, mass))
        store9(row, IB, (0.0, ms[2], -ms[1], -ms[2], 0.0, ms[0], ms[1], -ms[0], 0.0))
        store6(row, IJ, inertia)
        f = cross(w, cross(w, ms))
        m = cross(w, symmetric_times(inertia, w))
        if wrenches.shape[0] > 0:
            f = sub(f, (wrenches[j, 0], wrenches[j, 1], wrenches[j, 2]))
            m = sub(m, (wrenches[j, 3], wrenches[j, 4], wrenches[j, 5]))
        store3(row, F, f)
        store3(row, N, m)
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
            d = uf[2] + row[IA]
            u = tau[j] - friction(row, qd[j]) - f[2]
        else:
            uf = (ib[2], ib[5], ib[8])
            um = (ij[2], ij[4], ij[5])
            d = um[2] + row[IA]
            u = tau[j] - friction(row, qd[j]) - m[2]
        if not d > 0.0:
            status = SINGULAR
        store3(row, UF, uf)
        store3(row, UM, um)
        row[D] = d
        row[U] = u
        if row[PARENT] == 0.0:
            continue
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
        gf = load3(row, GF)
        gm = load3(row, GM)
        f = add(add(f, scale(u, vf)), add(symmetric_times(im, gf), rotate(ib, gm)))
        m = add(add(m, scale(u, vm)), add(unrotate(ib, gf), symmetric_times(ij, gm)))
        # moved to the parent's frame: (39), (40)
        up = record[int(row[PARENT])]
        a = load9(row, A)
        p = load3(row, L)
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
    nothing = 0.0
    for j in range(n):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        a = load9(row, A)
        wdi = load3(up, WD)
        wd = add(unrotate(a, wdi), load3(row, GM))
        vd = add(unrotate(a, add(load3(up, VD), cross(wdi, load3(row, L)))), load3(row, GF))
        qdd[j] = (row[U] - dot(load3(row, UF), vd) - dot(load3(row, UM), wd)) / row[D]
        nothing += 0.0 * qdd[j]
        if row[SIGMA] == PRISMATIC:
            vd = (vd[0], vd[1], vd[2] + qdd[j])
        else:
            wd = (wd[0], wd[1], wd[2] + qdd[j])
        store3(row, WD, wd)
        store3(row, VD, vd)
    if status != OK:
        return status
    return OK if nothing == 0.0 else NOT_FINITE


@kernel
def times_skew(B, p):
    """B S(p), S(p) the matrix of the cross product with p."""
    return (
        B[1] * p[2] - B[2] * p[1], B[2] * p[0] - B[0] * p[2], B[0] * p[1] - B[1] * p[0],
        B[4] * p[2] - B[5] * p[1], B[5] * p[0] - B[3] * p[2], B[3] * p[1] - B[4] * p[0],
        B[7] * p[2] - B[8] * p[1], B[8] * p[0] - B[6] * p[2], B[6] * p[1] - B[7] * p[0],
    )  # fmt: skip


@entry
def aba(record, q, qd, tau, qdd):
    """`articulated_bodies` without wrenches, behind a check of the shapes."""
    n = qdd.shape[0]
    if q.shape[0] != n or qd.shape[0] != n or tau.shape[0] != n:
        return WRONG_SHAPE
    return articulated_bodies(record, q, qd, tau, record[:0], qdd)


@entry
def aba_batch(record, q, qd, tau, wrenches, qdd):
    """`articulated_bodies` over rows; wrenches (batch, n, 6), or (batch, 0, 6) for none."""
    status = OK
    for b in range(q.shape[0]):
        status = max(status, articulated_bodies(record, q[b], qd[b], tau[b], wrenches[b], qdd[b]))
    return status
