"""Velocities, accelerations and forces of platform and legs."""

from __future__ import annotations

from dyn_core.jit.kernel import uncounted
from dyn_core.jit.native_call import NativeCall
from dyn_core.jit.status import OK
from dyn_core.spatial.tuples import (
    add,
    congruence,
    cross,
    dot,
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

from ..linear_solvers import cholesky_solve, lu_solve, lu_solve_transposed
from ..loops.constraints import base_at_rest, constraint_bias, velocities
from ..tree.crba import composite_bodies
from ..tree.record import GRAVITY, MS, RW, VD, WD, F, J, M, N, V, W, start_fixed
from ..tree.rnea import body_wrench, newton_euler
from .forward_kinematics import begin, forward
from .jacobians import aimed_axes
from .state import (
    AIMED,
    FORCE,
    G0,
    GAMMA,
    JOINT,
    JOINTS,
    NU,
    NUD,
    POINT,
    QD,
    QDD,
    ROW,
    along_freedoms,
    copy,
    twist,
)


@uncounted
def leg_velocities(record, par, nu):
    """Speeds vectors[QD] of the legs' joints at the twist nu (f,), and their accelerations vectors[G0] at nud = 0."""
    n = par.at.shape[0] - 7
    qd, g = par.vectors[QD], par.vectors[G0]
    for j in range(n):
        qd[j] = 0.0
        for c in range(nu.shape[0]):
            qd[j] += par.E[j, c] * nu[c]
    row = record[n + 1]
    r = load9(row, RW)
    v, w = twist(par, nu)
    store3(row, V, unrotate(r, v))
    store3(row, W, unrotate(r, w))
    store3(row, VD, (0.0, 0.0, 0.0))
    store3(row, WD, (0.0, 0.0, 0.0))
    base_at_rest(record)
    for i in range(par.legs.shape[0]):
        leg = par.legs[i]
        first, count, r0 = int(leg[JOINT]), int(leg[JOINTS]), int(leg[ROW])
        last = first + count
        if leg[AIMED] != 0.0:
            a1, a2, u, d1, d2, l, _ = aimed_axes(record, par, leg)
            arm = rotate(r, load3(leg, POINT))
            turn = add(scale(qd[first], a1), scale(qd[first + 1], a2))
            sway = scale(qd[first] * qd[first + 1], cross(a1, a2))
            own = add(cross(sway, l), cross(turn, add(cross(turn, l), scale(2.0 * qd[first + 2], u))))
            rest = sub(cross(w, cross(w, arm)), own)
            g[first], g[first + 1], g[first + 2] = dot(d1, rest), dot(d2, rest), dot(u, rest)
            continue
        velocities(record, qd, first, last)
        constraint_bias(record, par.rows[r0 : r0 + count], par.phi[r0 : r0 + count])
        x = g[first:last]
        for k in range(count):
            x[k] = -par.phi[r0 + k]
        lu_solve(par.C[first:last, :count], par.pivots[first:last], x)


@uncounted
def velocities_of(record, par, qd_a):
    """nu of active speeds, in par.nu[NU], and `leg_velocities` there; after `linearise`."""
    nu = par.nu[NU]
    copy(qd_a, nu)
    lu_solve(par.K, par.exchange, nu)
    leg_velocities(record, par, nu)
    for a in range(qd_a.shape[0]):
        par.vectors[QD, int(par.active[a])] = qd_a[a]  # exactly: friction heeds the sign


@uncounted
def twist_rate_of(par, qdd_a):
    """nud of active accelerations, in par.nu[NUD]; after `leg_velocities`."""
    nud, g = par.nu[NUD], par.vectors[G0]
    for a in range(nud.shape[0]):
        nud[a] = qdd_a[a] - g[int(par.active[a])]
    lu_solve(par.K, par.exchange, nud)


@uncounted
def platform_forces(record, par, nud, wrenches):
    """The bracket of (66), in par.nu[FORCE]: what the platform's freedoms need for nud; after `leg_velocities`."""
    n = par.at.shape[0] - 7
    qdd, gamma, g = par.vectors[QDD], par.vectors[GAMMA], par.vectors[G0]
    for j in range(n):
        qdd[j] = g[j]
        for c in range(nud.shape[0]):
            qdd[j] += par.E[j, c] * nud[c]
    start_fixed(record, 1.0)
    on_legs = wrenches[:n] if wrenches.shape[0] > 0 else wrenches
    row = record[n + 1]
    r = load9(row, RW)
    vd, wd = twist(par, nud)
    f, m = body_wrench(row, load3(row, W), unrotate(r, wd), unrotate(r, sub(vd, load3(record[0], GRAVITY))))
    store3(row, F, f)
    store3(row, N, m)
    status = newton_euler(record, par.at[:n], par.vectors[QD], qdd, on_legs, gamma)
    f, m = load3(row, F), load3(row, N)
    if wrenches.shape[0] > 0:
        on = wrenches[n]
        f = sub(f, load3(on, 0))
        m = sub(m, load3(on, 3))
    f, m = rotate(r, f), rotate(r, m)
    h = par.nu[FORCE]
    along_freedoms(par, f, m, h)
    for j in range(n):
        for c in range(h.shape[0]):
            h[c] += par.E[j, c] * gamma[j]
    return status


@uncounted
def platform_block(record, par):
    """S^T M_p S, the platform's own part of A_x, in par.A_x."""
    row = record[par.at.shape[0] - 6]
    r = load9(row, RW)
    ms, inertia = rotate(r, load3(row, MS)), congruence(r, load6(row, J))
    for c in range(par.active.shape[0]):
        v = (par.S[0, c], par.S[1, c], par.S[2, c])
        w = (par.S[3, c], par.S[4, c], par.S[5, c])
        force = add(scale(row[M], v), cross(w, ms))
        along_freedoms(par, force, add(symmetric_times(inertia, w), cross(ms, v)), par.A_x[c])


@uncounted
def platform_inertia(record, par):
    """A_x in par.A_x; after `linearise`."""
    n = par.at.shape[0] - 7
    f = par.active.shape[0]
    status = composite_bodies(record, par.at[:n], par.A)
    platform_block(record, par)
    for c in range(f):
        for i in range(par.legs.shape[0]):
            first = int(par.legs[i, JOINT])
            last = first + int(par.legs[i, JOINTS])
            for j in range(first, last):
                along = 0.0
                for k in range(first, last):
                    along += par.A[j, k] * par.E[k, c]
                for b in range(f):
                    par.A_x[b, c] += par.E[j, b] * along
    return status


@uncounted
def accelerate(record, par, tau, wrenches):
    """nud in par.nu[NUD] under active forces tau (f,); after `leg_velocities`."""
    nud, h = par.nu[NUD], par.nu[FORCE]
    nud[:] = 0.0
    status = max(platform_forces(record, par, nud, wrenches), platform_inertia(record, par))
    for c in range(nud.shape[0]):
        nud[c] = -h[c]
        for a in range(tau.shape[0]):
            nud[c] += par.inverse[a, c] * tau[a]
    return max(status, cholesky_solve(par.A_x, nud))


@uncounted
def inverse_at(record, par, q_a, qd_a, qdd_a, wrenches, tau):
    """Forces tau (f,) of the active joints for a motion of theirs, by (66), followed from where par stands."""
    status = forward(record, par, q_a)
    if status != OK:
        return status
    velocities_of(record, par, qd_a)
    twist_rate_of(par, qdd_a)
    status = platform_forces(record, par, par.nu[NUD], wrenches)
    copy(par.nu[FORCE], tau)
    lu_solve_transposed(par.K, par.exchange, tau)
    return status


@NativeCall
def inverse(record, par, start, follows, q_a, qd_a, qdd_a, tau):
    """tau (f,) from q, qd, qdd of the active joints; bound to a Parallel.

    Each call starts from the configuration start (K + 7,). Where `follows` is not 0, what it finds becomes the next
    start, and the last factors of the inverse Jacobian serve on.
    """
    if follows[0] == 0.0:
        begin(par, start)
    status = inverse_at(record, par, q_a, qd_a, qdd_a, record[:0], tau)
    if follows[0] != 0.0 and status == OK:
        copy(par.at, start)
    elif follows[0] != 0.0:
        begin(par, start)
    return status


@uncounted
def active_rates(par, inverse, nu, out):
    """out (f,) = K nu."""
    for a in range(out.shape[0]):
        out[a] = 0.0
        for c in range(nu.shape[0]):
            out[a] += inverse[a, c] * nu[c]
