"""Dynamics of parallel mechanisms by the decoupled natural orthogonal complement (Saha and Schiehlen).

A twist t_i = [w_i; v_i] is that of body i at the origin O_i of its joint, in the axes of the base. In a leg, with E a
point of the end effector e (7a, 11b, 12b):

    t_i = A_i,i-1 t_i-1 + p_i θ'_i
    θ'_i = p̃_i^T (t_e - Σ_k A_ek p_k θ'_k - A_e,i-1 t_i-1) / δ_i          i passive, k > i active
    p̃_i = Φ_i+1 A_ei p_i,   δ_i = p̃_i^T p̃_i,   Φ_i = Φ_i+1 - p̃_i p̃_i^T / δ_i,   Φ_m+1 = 1
    Φ t_e = Σ_l Σ_k Φ^(l) A_ek p_k θ'_k,   Φ = Σ_l Φ^(l)                  Φ^(l): past all passive joints of leg l

Active joints are skipped in Φ. With D_i = p_i p̃_i^T / δ_i, Ψ_i = 1 - D_i A_ei (Ψ_k = 1 where k is active), the twists
of all bodies are t = N_l N_c N_d θ' (17a).

The recursions carry every twist and wrench to E, where all A are 1 (7c), so that a step costs a few 6-vectors. Twists
at a point fixed in space have the rates t'_i = t'_i-1 + p_i θ''_i + b_i, b_i = t_i-1 x p_i θ'_i. Gravity is taken from
every body's acceleration after the joints' accelerations are known. Friction, springs and rotors of joints enter as a
pair of wrenches f_i p_i / |p_i|^2 on bodies i and i - 1. Both problems cost O(bodies): fixed work per step, and Φ once.
"""

from __future__ import annotations

from typing import NamedTuple

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import kernel
from dyn_core.jit.status import OK, SINGULAR
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import (
    add,
    congruence,
    cross,
    load3,
    load6,
    load9,
    rotate,
    scale,
    store3,
    store6,
    sub,
    symmetric_product,
    symmetric_times,
)

from ..linear_solvers import lu_factor, lu_solve
from ..tree.force_elements import add_element_forces
from ..tree.kinematics import body_poses
from ..tree.record import ELEMENTS, GRAVITY, IA, MS, PW, RW, SPEED, F, J, M, N, passive_force, wrench_on
from .denoc_legs import ACTUATOR, AXIS, AXIS_ROW, BODY, JOINT, ORIGIN, ORIGIN_ROW, RIGID, SIGMA

# what a step keeps, all at E
PE = 0  # A_ei p_i (6)
PT = 6  # p̃_i / δ_i (6)
PASSIVE = 12  # 1 where the rate is to be found
RATE = 13  # θ'_i
ACC = 14  # θ''_i
TW = 15  # twist (6)
BI = 21  # Σ_j>=i b_j (6)
WR = 27  # wrench w_i, then w̃_i (6)
MASS = 33  # of the body about E: mass, first moments (3), inertia (6)
WORK_WIDTH = 43
SMALLEST = 1e-13  # δ_i / |A_ei p_i|^2, and pivots of Φ: below it the mechanism is singular


class Workspace(NamedTuple):
    """Scratch of one mechanism with s steps, L legs and a active joints."""

    steps: Floats
    """(s, WORK_WIDTH)."""
    phi: Floats
    """(L, 6, 6) Φ^(l)."""
    total: Floats
    """(7, 6) factors of Φ, and their pivots."""
    J: Floats
    """(a, 6) transpose of the Jacobian of (14b)."""
    vectors: Floats
    """(5, 6): t_e, t'_e, and sums."""
    S: Floats
    """(12, 6) map from t_e to t_i, and the one before."""
    Q: Floats
    """(2 a, 6) map from θ'_k to t_i at t_e = 0, and the one before."""
    X: Floats
    """(6, 6)."""
    Y: Floats
    """(a, 6)."""


@kernel
def dot6(u, i, v, k):
    x = 0.0
    for c in range(6):
        x += u[i + c] * v[k + c]
    return x


@kernel
def add_scaled(u, i, f, v, k):
    """u += f v."""
    for c in range(6):
        u[i + c] += f * v[k + c]


@kernel
def crossed(t, p, k):
    """t x p: rate of the motion p that is fixed in a body with twist t."""
    w, v = (t[0], t[1], t[2]), (t[3], t[4], t[5])
    a, b = load3(p, k), load3(p, k + 3)
    c, d = cross(w, a), add(cross(w, b), cross(v, a))
    return c[0], c[1], c[2], d[0], d[1], d[2]


@kernel
def momentum(body, t):
    """M_i t: angular part, linear part."""
    m, s, I = body[MASS], load3(body, MASS + 1), load6(body, MASS + 4)
    w, v = (t[0], t[1], t[2]), (t[3], t[4], t[5])
    return add(symmetric_times(I, w), cross(s, v)), add(scale(m, v), cross(w, s))


@kernel
def prepare(record, steps, starts, end, q, ws):
    """p_i, M_i, p̃_i, Φ and the Jacobian (14b) at the closed configuration q; returns OK or SINGULAR."""
    status = body_poses(record, q)
    if status != OK:
        return status
    point = load3(record[int(end)], PW)
    for i in range(steps.shape[0]):
        place_step(record, steps[i], point, ws.steps[i])
    total = ws.total[:6]
    total[:] = 0.0
    for l in range(starts.shape[0] - 1):
        phi = ws.phi[l]
        for r in range(6):
            for c in range(6):
                phi[r, c] = 1.0 if r == c else 0.0
        for i in range(int(starts[l + 1]) - 1, int(starts[l]) - 1, -1):
            at = ws.steps[i]
            if at[PASSIVE] == 0.0:
                continue
            for r in range(6):
                at[PT + r] = dot6(phi[r], 0, at, PE)
            delta = dot6(at, PT, at, PT)
            if not delta > SMALLEST * dot6(at, PE, at, PE):
                return SINGULAR
            for r in range(6):
                for c in range(6):
                    phi[r, c] -= at[PT + r] * at[PT + c] / delta
            for r in range(6):
                at[PT + r] /= delta
        for r in range(6):
            for c in range(6):
                total[r, c] += phi[r, c]
    if not lu_factor(total, ws.total[6]) > SMALLEST:
        return SINGULAR
    for l in range(starts.shape[0] - 1):
        for i in range(int(starts[l]), int(starts[l + 1])):
            k = int(steps[i, ACTUATOR])
            if k >= 0:
                for r in range(6):
                    ws.J[k, r] = dot6(ws.phi[l, r], 0, ws.steps[i], PE)
                lu_solve(total, ws.total[6], ws.J[k])
    return OK


@kernel
def place_step(record, step, point, at):
    """A_ei p_i and M_i at E of one step."""
    frame = record[int(step[AXIS_ROW])]
    e = rotate(load9(frame, RW), load3(step, AXIS))
    body = record[int(step[ORIGIN_ROW])]
    o = sub(add(load3(body, PW), rotate(load9(body, RW), load3(step, ORIGIN))), point)
    if step[SIGMA] == PRISMATIC:
        store3(at, PE, (0.0, 0.0, 0.0))
        store3(at, PE + 3, e)
    else:
        store3(at, PE, e)
        store3(at, PE + 3, cross(o, e))
    at[PASSIVE] = 0.0 if step[ACTUATOR] >= 0.0 or step[SIGMA] == RIGID else 1.0
    at[MASS:] = 0.0
    if step[BODY] > 0.0:
        body = record[int(step[BODY])]
        R, r = load9(body, RW), sub(load3(body, PW), point)
        m, s = body[M], rotate(R, load3(body, MS))
        at[MASS] = m
        store3(at, MASS + 1, add(s, scale(m, r)))
        I = congruence(R, load6(body, J))
        moved = symmetric_product(r, add(s, scale(0.5 * m, r)))
        for c in range(6):
            at[MASS + 4 + c] = I[c] + moved[c]


@kernel
def velocities(steps, starts, qd, ws):
    """t_e, the passive rates (11b, 12b), all twists, and the sums of b_i."""
    te, rest, twist = ws.vectors[0], ws.vectors[2], ws.vectors[3]
    te[:] = 0.0
    for k in range(qd.shape[0]):
        add_scaled(te, 0, qd[k], ws.J[k], 0)
    for l in range(starts.shape[0] - 1):
        first, last = int(starts[l]), int(starts[l + 1])
        remaining(steps, first, last, te, qd, ws, rest)
        twist[:] = 0.0
        for i in range(first, last):
            at = ws.steps[i]
            rate = 0.0
            if at[PASSIVE] > 0.0:
                for r in range(6):
                    rate += at[PT + r] * (rest[r] - twist[r])
            elif steps[i, ACTUATOR] >= 0.0:
                rate = qd[int(steps[i, ACTUATOR])]
                add_scaled(rest, 0, rate, at, PE)
            at[RATE] = rate
            b = crossed(twist, at, PE)
            for r in range(6):
                at[BI + r] = b[r] * rate
            add_scaled(twist, 0, rate, at, PE)
            store6(at, TW, twist)
        for i in range(last - 2, first - 1, -1):
            add_scaled(ws.steps[i], BI, 1.0, ws.steps[i + 1], BI)


@kernel
def remaining(steps, first, last, te, rates, ws, rest):
    """rest = t_e less what the active joints of a leg contribute."""
    for r in range(6):
        rest[r] = te[r]
    for i in range(first, last):
        if steps[i, ACTUATOR] >= 0.0:
            add_scaled(rest, 0, -rates[int(steps[i, ACTUATOR])], ws.steps[i], PE)


@kernel
def accelerations(record, steps, starts, end, q, qdd, wrenches, ws):
    """Accelerations of all joints and bodies, and the wrenches w_i (18a) that they need, with gravity and friction."""
    ae, rest, a = ws.vectors[1], ws.vectors[2], ws.vectors[3]
    n = q.shape[0]
    ae[:] = 0.0
    for l in range(starts.shape[0] - 1):
        for r in range(6):
            ae[r] += dot6(ws.phi[l, r], 0, ws.steps[int(starts[l])], BI)
    lu_solve(ws.total[:6], ws.total[6], ae)
    for k in range(qdd.shape[0]):
        add_scaled(ae, 0, qdd[k], ws.J[k], 0)
    gravity, point = load3(record[0], GRAVITY), load3(record[int(end)], PW)
    elements = record[0, ELEMENTS] != 0.0
    if elements:
        element_forces(record, steps, n, ws)
    for l in range(starts.shape[0] - 1):
        first, last = int(starts[l]), int(starts[l + 1])
        remaining(steps, first, last, ae, qdd, ws, rest)
        a[:] = 0.0
        for i in range(first, last):
            at = ws.steps[i]
            acc = 0.0
            if at[PASSIVE] > 0.0:
                for r in range(6):
                    acc += at[PT + r] * (rest[r] - at[BI + r] - a[r])
            elif steps[i, ACTUATOR] >= 0.0:
                acc = qdd[int(steps[i, ACTUATOR])]
                add_scaled(rest, 0, acc, at, PE)
            at[ACC] = acc
            add_scaled(a, 0, acc, at, PE)
            add_scaled(a, 0, 1.0, at, BI)
            if i + 1 < last:
                add_scaled(a, 0, -1.0, ws.steps[i + 1], BI)
            needed(at, a, gravity)
            if steps[i, BODY] > 0.0 and wrenches.shape[0] > 0:
                taken(record[int(steps[i, BODY])], wrench_on(wrenches, n, int(steps[i, BODY]) - 1), point, at)
            if steps[i, BODY] > 0.0 and elements:
                body = record[int(steps[i, BODY])]
                taken(body, (scale(-1.0, load3(body, F)), scale(-1.0, load3(body, N))), point, at)
            j = int(steps[i, JOINT])
            if j >= 0:
                row = record[j + 1]
                force = row[IA] * acc + passive_force(row, q[j], at[RATE])
                force /= dot6(at, PE, at, PE)
                add_scaled(at, WR, force, at, PE)
                if i > first:
                    add_scaled(ws.steps[i - 1], WR, -force, at, PE)


@kernel
def element_forces(record, steps, n, ws):
    """The wrenches of the force elements on the bodies, negated, in F and N of their rows; after `velocities`."""
    for j in range(n):
        store3(record[j + 1], F, (0.0, 0.0, 0.0))
        store3(record[j + 1], N, (0.0, 0.0, 0.0))
    for i in range(steps.shape[0]):
        if steps[i, JOINT] >= 0.0:
            record[int(steps[i, JOINT]) + 1, SPEED] = ws.steps[i, RATE]
    add_element_forces(record)


@kernel
def needed(at, a, gravity):
    """w_i = M t' + W M E t of the body, at E: M a + t x* M t, gravity taken from a."""
    t = load6(at, TW)
    b = (a[0], a[1], a[2], a[3] - gravity[0], a[4] - gravity[1], a[5] - gravity[2])
    w, v = (t[0], t[1], t[2]), (t[3], t[4], t[5])
    n, f = momentum(at, b)
    L, p = momentum(at, t)
    store3(at, WR, add(n, add(cross(w, L), cross(v, p))))
    store3(at, WR + 3, add(f, cross(w, p)))


@kernel
def taken(body, wrench, point, at):
    """w_i less a wrench (force, moment) that acts on the body, given in its axes at its origin."""
    R = load9(body, RW)
    f = rotate(R, wrench[0])
    n = add(rotate(R, wrench[1]), cross(sub(load3(body, PW), point), f))
    store3(at, WR, sub(load3(at, WR), n))
    store3(at, WR + 3, sub(load3(at, WR + 3), f))


@kernel
def inverse_steps(steps, starts, ws, tau):
    """IDA-1 to IDA-3 (21, 22, 24): forces tau (a,) of the active joints from the wrenches w_i."""
    u, below = ws.vectors[2], ws.vectors[3]
    u[:] = 0.0
    for l in range(starts.shape[0] - 1):
        for i in range(int(starts[l + 1]) - 1, int(starts[l]) - 1, -1):
            at = ws.steps[i]
            along = dot6(at, PE, at, WR)
            if at[PASSIVE] > 0.0:
                add_scaled(u, 0, along, at, PT)
            if i > starts[l]:
                add_scaled(ws.steps[i - 1], WR, 1.0, at, WR)  # Ψ_i^T w̃_i
                if at[PASSIVE] > 0.0:
                    add_scaled(ws.steps[i - 1], WR, -along, at, PT)
    for l in range(starts.shape[0] - 1):
        below[:] = 0.0
        for i in range(int(starts[l]), int(starts[l + 1])):
            at = ws.steps[i]
            along = dot6(at, PE, at, WR)
            if at[PASSIVE] > 0.0:
                add_scaled(below, 0, along, at, PT)
            elif steps[i, ACTUATOR] >= 0.0:
                k = int(steps[i, ACTUATOR])
                tau[k] = along + dot6(ws.J[k], 0, u, 0) - dot6(at, PE, below, 0)
