"""Dynamics of parallel mechanisms by the decoupled natural orthogonal complement (Saha and Schiehlen).

A twist t_i = [w_i; v_i] is that of body i at the origin O_i of its joint, in the axes of the base. In a leg, with E a
point of the end effector e (7a, 11b, 12b):

    t_i = A_i,i-1 t_i-1 + p_i θ'_i
    θ'_i = p̃_i^T (t_e - Σ_k A_ek p_k θ'_k - A_e,i-1 t_i-1) / δ_i          i passive, k > i active
    p̃_i = Φ_i+1 A_ei p_i,   δ_i = p̃_i^T p̃_i,   Φ_i = Φ_i+1 - p̃_i p̃_i^T / δ_i,   Φ_m+1 = 1
    Φ t_e = Σ_l Σ_k Φ^(l) A_ek p_k θ'_k,   Φ = Σ_l Φ^(l)                  Φ^(l): past all passive joints of leg l

Active joints are skipped in Φ. With D_i = p_i p̃_i^T / δ_i, Ψ_i = 1 - D_i A_ei (Ψ_k = 1 where k is active), the twists
of all bodies are t = N_l N_c N_d θ' (17a): see `complement`.

The recursions carry every twist and wrench to E, where all A are 1 (7c), so that a step costs a few 6-vectors. Twists
at a point fixed in space have the rates t'_i = t'_i-1 + p_i θ''_i + b_i, b_i = t_i-1 x p_i θ'_i. Gravity is taken from
every body's acceleration after the joints' accelerations are known. Friction, springs and rotors of joints enter as a
pair of wrenches f_i p_i / |p_i|^2 on bodies i and i - 1. Both problems cost O(bodies): fixed work per step, and Φ once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..jit import compiled_call, entry, kernel
from ..mechanism import PRISMATIC, Floats, Mechanism
from ..spatial import (
    add,
    congruence,
    cross,
    load3,
    load6,
    load9,
    rotate,
    scale,
    skew,
    store3,
    store6,
    sub,
    symmetric_product,
    symmetric_times,
)
from ..tree.kinematics import body_poses
from ..tree.matrices import cholesky_solve
from ..tree.record import GRAVITY, IA, MS, OK, PW, RW, SINGULAR, J, M, passive_force, wrench_on
from .closure import factor, solve
from .legs import ACTUATOR, AXIS, AXIS_ROW, BODY, JOINT, ORIGIN, ORIGIN_ROW, RIGID, SIGMA, Legs, find_legs

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
    for r in range(6):
        for c in range(6):
            total[r, c] = 0.0
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
    if not factor(total, ws.total[6]) > SMALLEST:
        return SINGULAR
    for l in range(starts.shape[0] - 1):
        for i in range(int(starts[l]), int(starts[l + 1])):
            k = int(steps[i, ACTUATOR])
            if k >= 0:
                for r in range(6):
                    ws.J[k, r] = dot6(ws.phi[l, r], 0, ws.steps[i], PE)
                solve(total, ws.total[6], ws.J[k])
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
    for c in range(MASS, WORK_WIDTH):
        at[c] = 0.0
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
    for r in range(6):
        te[r] = 0.0
    for k in range(qd.shape[0]):
        add_scaled(te, 0, qd[k], ws.J[k], 0)
    for l in range(starts.shape[0] - 1):
        first, last = int(starts[l]), int(starts[l + 1])
        remaining(steps, first, last, te, qd, ws, rest)
        for r in range(6):
            twist[r] = 0.0
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
    for r in range(6):
        ae[r] = 0.0
    for l in range(starts.shape[0] - 1):
        for r in range(6):
            ae[r] += dot6(ws.phi[l, r], 0, ws.steps[int(starts[l])], BI)
    solve(ws.total[:6], ws.total[6], ae)
    for k in range(qdd.shape[0]):
        add_scaled(ae, 0, qdd[k], ws.J[k], 0)
    gravity, point = load3(record[0], GRAVITY), load3(record[int(end)], PW)
    for l in range(starts.shape[0] - 1):
        first, last = int(starts[l]), int(starts[l + 1])
        remaining(steps, first, last, ae, qdd, ws, rest)
        for r in range(6):
            a[r] = 0.0
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
            j = int(steps[i, JOINT])
            if j >= 0:
                row = record[j + 1]
                force = row[IA] * acc + passive_force(row, q[j], at[RATE])
                force /= dot6(at, PE, at, PE)
                add_scaled(at, WR, force, at, PE)
                if i > first:
                    add_scaled(ws.steps[i - 1], WR, -force, at, PE)


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
    for r in range(6):
        u[r] = 0.0
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
        for r in range(6):
            below[r] = 0.0
        for i in range(int(starts[l]), int(starts[l + 1])):
            at = ws.steps[i]
            along = dot6(at, PE, at, WR)
            if at[PASSIVE] > 0.0:
                add_scaled(below, 0, along, at, PT)
            elif steps[i, ACTUATOR] >= 0.0:
                k = int(steps[i, ACTUATOR])
                tau[k] = along + dot6(ws.J[k], 0, u, 0) - dot6(at, PE, below, 0)


@kernel
def inertia_matrix(record, steps, starts, ws, I):
    """FDA-1 to FDA-3: the generalised inertia matrix I (a, a) of (34) with X, Y, Z of (30) to (32).

    With t_i = S_i t_e + Σ_k Q_ik θ'_k, X = Σ S_i^T M_i S_i, Y_k = Σ S_i^T M_i Q_ik and Z_ab = Σ Q_ia^T M_i Q_ib over
    all bodies are the sums of the blocks M̂_ij, in a number of operations that is linear in them.
    """
    a = I.shape[0]
    X, Y, S, before = ws.X, ws.Y, ws.S[:6], ws.S[6:]
    for r in range(6):
        for c in range(6):
            X[r, c] = 0.0
    for k in range(a):
        for r in range(6):
            Y[k, r] = 0.0
        for b in range(a):
            I[k, b] = 0.0  # Z at first
    for l in range(starts.shape[0] - 1):
        first, last = int(starts[l]), int(starts[l + 1])
        for r in range(6):
            for c in range(6):
                S[c, r] = 0.0  # row c: the twist per component c of t_e
        for i in range(first, last):
            if steps[i, ACTUATOR] >= 0.0:
                for r in range(6):
                    ws.Q[int(steps[i, ACTUATOR]), r] = 0.0
        for i in range(first, last):
            at = ws.steps[i]
            for c in range(6):
                for r in range(6):
                    before[c, r] = S[c, r]
                if at[PASSIVE] > 0.0:
                    add_scaled(S[c], 0, at[PT + c] - dot6(at, PT, before[c], 0), at, PE)
            for j in range(first, last):
                k = int(steps[j, ACTUATOR])
                if k >= 0:
                    for r in range(6):
                        ws.Q[a + k, r] = ws.Q[k, r]
                    if at[PASSIVE] > 0.0:
                        known = dot6(at, PT, ws.steps[j], PE) if i < j else 0.0
                        add_scaled(ws.Q[k], 0, -known - dot6(at, PT, ws.Q[a + k], 0), at, PE)
                    elif i == j:
                        add_scaled(ws.Q[k], 0, 1.0, at, PE)
            j = int(steps[i, JOINT])
            rotor = record[j + 1, IA] if j >= 0 else 0.0
            if at[MASS] == 0.0 and steps[i, BODY] <= 0.0 and rotor == 0.0:
                continue
            add_body(steps, first, last, at, rotor, ws, I)
    for k in range(a):
        for b in range(a):
            I[k, b] += dot6(ws.J[k], 0, Y[b], 0) + dot6(ws.J[b], 0, Y[k], 0)
            for r in range(6):
                I[k, b] += ws.J[k, r] * dot6(X[r], 0, ws.J[b], 0)


@kernel
def add_body(steps, first, last, at, rotor, ws, I):
    """One body's part of X, Y and Z, with the rotor of its joint."""
    a = I.shape[0]
    S, before, h = ws.S[:6], ws.S[6:], ws.vectors[4]
    square = dot6(at, PE, at, PE)
    for c in range(6 + a):
        k = c - 6
        if c < 6:
            impulse(at, S[c], before[c], rotor, square, h)
            for r in range(6):
                ws.X[r, c] += dot6(S[r], 0, h, 0)
            continue
        inside = False
        for j in range(first, last):
            if int(steps[j, ACTUATOR]) == k:
                inside = True
        if not inside:
            continue
        impulse(at, ws.Q[k], ws.Q[a + k], rotor, square, h)
        for r in range(6):
            ws.Y[k, r] += dot6(S[r], 0, h, 0)
        for j in range(first, last):
            b = int(steps[j, ACTUATOR])
            if b >= 0:
                I[b, k] += dot6(ws.Q[b], 0, h, 0)
    if rotor != 0.0:  # what the impulse of the rotor does to the body before
        for c in range(6):
            share = -rotor * (dot6(at, PE, S[c], 0) - dot6(at, PE, before[c], 0)) / (square * square)
            for r in range(6):
                ws.X[r, c] += share * dot6(at, PE, before[r], 0)
        for j in range(first, last):
            k = int(steps[j, ACTUATOR])
            if k < 0:
                continue
            share = -rotor * (dot6(at, PE, ws.Q[k], 0) - dot6(at, PE, ws.Q[a + k], 0)) / (square * square)
            for r in range(6):
                ws.Y[k, r] += share * dot6(at, PE, before[r], 0)
            for i in range(first, last):
                b = int(steps[i, ACTUATOR])
                if b >= 0:
                    I[b, k] += share * dot6(at, PE, ws.Q[a + b], 0)


@kernel
def impulse(at, twist, before, rotor, square, h):
    """h = M_i t_i, with the rotor's share on this side of the joint."""
    n, f = momentum(at, load6(twist, 0))
    store3(h, 0, n)
    store3(h, 3, f)
    if rotor != 0.0:
        rate = (dot6(at, PE, twist, 0) - dot6(at, PE, before, 0)) / square
        add_scaled(h, 0, rotor * rate / square, at, PE)


@entry
def inverse(record, steps, starts, end, q, qd, qdd, wrenches, ws, tau):
    """Forces tau (a,) of the active joints at the closed configuration q (n,), for their rates and accelerations."""
    status = prepare(record, steps, starts, end, q, ws)
    if status == OK:
        velocities(steps, starts, qd, ws)
        accelerations(record, steps, starts, end, q, qdd, wrenches, ws)
        inverse_steps(steps, starts, ws, tau)
    return status


@entry
def direct(record, steps, starts, end, q, qd, tau, wrenches, ws, I, qdd):
    """Accelerations qdd (a,) under forces tau (a,): I θ'' = τ less what `inverse` gives at θ'' = 0 (25)."""
    status = prepare(record, steps, starts, end, q, ws)
    if status != OK:
        return status
    velocities(steps, starts, qd, ws)
    for k in range(qdd.shape[0]):
        qdd[k] = 0.0
    accelerations(record, steps, starts, end, q, qdd, wrenches, ws)
    inverse_steps(steps, starts, ws, qdd)
    for k in range(qdd.shape[0]):
        qdd[k] = tau[k] - qdd[k]
    inertia_matrix(record, steps, starts, ws, I)
    return cholesky_solve(I, qdd)


@entry
def inertia(record, steps, starts, end, q, ws, I):
    """The generalised inertia matrix I (a, a)."""
    status = prepare(record, steps, starts, end, q, ws)
    if status == OK:
        inertia_matrix(record, steps, starts, ws, I)
    return status


@entry
def rates(record, steps, starts, end, q, qd, qdd, wrenches, ws):
    """Rates, accelerations, twists and wrenches of all steps, left in ws."""
    status = prepare(record, steps, starts, end, q, ws)
    if status == OK:
        velocities(steps, starts, qd, ws)
        accelerations(record, steps, starts, end, q, qdd, wrenches, ws)
    return status


class Complement(NamedTuple):
    """The three matrices of (17a), legs one after the other, with s bodies in all and a active joints."""

    N_l: Floats
    """(6 s, 6 s) lower block triangular."""
    N_c: Floats
    """(6 s, 6 a)."""
    N_d: Floats
    """(6 a, a) block diagonal."""
    M: Floats
    """(6 s, 6 s) block diagonal: the masses about the joints' origins (2)."""


class Denoc:
    """The formulation for one mechanism; q is always the closed configuration (n,) of all joints of the tree."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.legs: Legs = find_legs(mechanism)
        self.n, self.a = mechanism.n, int(mechanism.active.sum())
        s, a = len(self.legs.steps), self.a
        self._ws = Workspace(
            np.zeros((s, WORK_WIDTH)), np.zeros((len(self.legs.starts) - 1, 6, 6)), np.zeros((7, 6)),
            np.zeros((a, 6)), np.zeros((5, 6)), np.zeros((12, 6)), np.zeros((2 * a, 6)), np.zeros((6, 6)),
            np.zeros((a, 6)),
        )  # fmt: skip
        self._fixed = (self.legs.steps, self.legs.starts, float(self.legs.end_effector + 1))

    def inverse(self, record: Floats, q: Floats, qd: Floats, qdd: Floats, wrenches: Floats, tau: Floats) -> int:
        """tau (a,); returns a status."""
        return int(compiled_call(inverse, record, *self._fixed, q, qd, qdd, wrenches, self._ws, tau))

    def direct(self, record: Floats, q: Floats, qd: Floats, tau: Floats, wrenches: Floats, qdd: Floats) -> int:
        """qdd (a,); returns a status."""
        I = np.empty((self.a, self.a))
        return int(compiled_call(direct, record, *self._fixed, q, qd, tau, wrenches, self._ws, I, qdd))

    def inertia(self, record: Floats, q: Floats, I: Floats) -> int:
        """I (a, a); returns a status."""
        return int(compiled_call(inertia, record, *self._fixed, q, self._ws, I))

    def joint_motion(self, record: Floats, q: Floats, qd: Floats, qdd: Floats) -> tuple[int, Floats, Floats]:
        """Status, speeds (n,) and accelerations (n,) of all joints of the tree."""
        status = int(compiled_call(rates, record, *self._fixed, q, qd, qdd, np.empty((0, 6)), self._ws))
        joints = self.legs.steps[:, JOINT].astype(int)
        speeds, accelerations = np.empty(self.n), np.empty(self.n)
        speeds[joints[joints >= 0]] = self._ws.steps[joints >= 0, RATE]
        accelerations[joints[joints >= 0]] = self._ws.steps[joints >= 0, ACC]
        return status, speeds, accelerations

    def complement(self, record: Floats, q: Floats) -> Complement:
        """N_l, N_c and N_d as the paper writes them, at O_i: for study, the recursions never form them."""
        zero = np.zeros(self.a)
        status, *_ = self.joint_motion(record, q, zero, zero)
        assert status == OK, "a regular configuration is needed"
        steps, starts, end = self._fixed
        s, a, ws = len(steps), self.a, self._ws
        point = record[int(end), PW : PW + 3]
        to_e, D, Psi = np.empty((s, 6, 6)), np.zeros((s, 6, 6)), np.empty((s, 6, 6))
        p, masses = np.empty((s, 6)), np.zeros((6 * s, 6 * s))
        for i, step in enumerate(steps):
            body = record[int(step[ORIGIN_ROW])]
            origin = body[PW : PW + 3] + body[RW : RW + 9].reshape(3, 3) @ step[ORIGIN : ORIGIN + 3]
            to_e[i] = _propagation(point - origin)
            back = _propagation(origin - point)
            at = ws.steps[i]
            p[i] = back @ at[PE : PE + 6]
            if at[PASSIVE] > 0.0:
                D[i] = np.outer(p[i], at[PT : PT + 6])
            Psi[i] = np.eye(6) - D[i] @ to_e[i]
            S, I = skew(at[MASS + 1 : MASS + 4]), np.zeros((3, 3))
            I[np.triu_indices(3)] = at[MASS + 4 : MASS + 10]
            I += np.triu(I, 1).T
            about_e = np.block([[I, S], [-S, at[MASS] * np.eye(3)]])
            masses[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = to_e[i].T @ about_e @ to_e[i]
        A, N_c, N_d = np.zeros((6 * s, 6 * s)), np.zeros((6 * s, 6 * a)), np.zeros((6 * a, a))
        Phi = ws.phi.sum(axis=0)
        for l in range(len(starts) - 1):
            leg = range(int(starts[l]), int(starts[l + 1]))
            for i in leg:
                rows = slice(6 * i, 6 * i + 6)
                if i > leg[0]:
                    A[rows, 6 * i - 6 : 6 * i] = Psi[i] @ np.linalg.inv(to_e[i]) @ to_e[i - 1]
                k = int(steps[i, ACTUATOR])
                if k >= 0:
                    columns = slice(6 * k, 6 * k + 6)
                    bar = np.linalg.solve(Phi, ws.phi[l] @ to_e[i])  # Ā_ek
                    for r in range(s):
                        N_c[6 * r : 6 * r + 6, columns] += D[r] @ (bar - (to_e[i] if leg[0] <= r < i else 0.0))
                    N_c[rows, columns] += np.eye(6)
                    N_d[columns, k] = p[i]
        return Complement(np.linalg.inv(np.eye(6 * s) - A), N_c, N_d, masses)


def _propagation(a: Floats) -> Any:
    """The twist propagation matrix of (7b) to a point that lies at a (3,) from where the twist is."""
    return np.block([[np.eye(3), np.zeros((3, 3))], [-skew(a), np.eye(3)]])
