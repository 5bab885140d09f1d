"""The generalised inertia matrix of parallel mechanisms; equation numbers are Saha and Schiehlen's."""

from __future__ import annotations

from dyn_core.jit.kernel import kernel
from dyn_core.spatial.tuples import load6, store3

from ..tree.record import IA
from .denoc_kernels import MASS, PASSIVE, PE, PT, add_scaled, dot6, momentum
from .denoc_legs import ACTUATOR, BODY, JOINT


@kernel
def inertia_matrix(record, steps, starts, ws, I):
    """FDA-1 to FDA-3: the generalised inertia matrix I (a, a) of (34) with X, Y, Z of (30) to (32).

    With t_i = S_i t_e + Σ_k Q_ik θ'_k, X = Σ S_i^T M_i S_i, Y_k = Σ S_i^T M_i Q_ik and Z_ab = Σ Q_ia^T M_i Q_ib over
    all bodies are the sums of the blocks M̂_ij, in a number of operations that is linear in them.
    """
    a = I.shape[0]
    X, Y, S, before = ws.X, ws.Y, ws.S[:6], ws.S[6:]
    X[:] = 0.0
    Y[:] = 0.0
    I[:] = 0.0  # Z at first
    for l in range(starts.shape[0] - 1):
        first, last = int(starts[l]), int(starts[l + 1])
        S[:] = 0.0  # row c: the twist per component c of t_e
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
