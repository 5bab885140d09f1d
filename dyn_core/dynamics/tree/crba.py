"""The joint-space mass matrix, by Walker and Orin's third method: composite bodies.

Equation numbers are Swartz's. Composite bodies are kept as mass, first moments and inertia about the body frame's
origin, which needs no division by the mass (a massless body is allowed).
"""

from __future__ import annotations

from dyn_core.jit.kernel import kernel
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.mechanism import PRISMATIC
from dyn_core.spatial.tuples import (
    add,
    add_to3,
    add_to6,
    congruence,
    cross,
    full,
    load3,
    load6,
    load9,
    rotate,
    scale,
    store3,
    store6,
    symmetric_product,
)

from .record import IA, IB, IJ, IM, MS, PARENT, SIGMA, A, J, L, M, place


@kernel
def composite_bodies(record, q, H):
    """H (n, n) at q (n,); the bodies beyond each joint move as one.

    Where the base floats H is (6 + n, 6 + n), with the rows of the base (linear, angular, in its axes) first.
    """
    n = q.shape[0]
    base = H.shape[0] - n
    row = record[0]
    row[IM] = row[M]
    store3(row, IB, load3(row, MS))
    store6(row, IJ, load6(row, J))
    for j in range(base + n):
        for i in range(base + n):
            H[j, i] = 0.0
    for j in range(n):
        row = record[j + 1]
        place(row, q[j])
        row[IM] = row[M]
        store3(row, IB, load3(row, MS))
        store6(row, IJ, load6(row, J))
    nothing = 0.0
    for j in range(n - 1, -1, -1):
        row = record[j + 1]
        up = record[int(row[PARENT])]
        mass = row[IM]
        ms = load3(row, IB)
        inertia = load6(row, IJ)
        if row[SIGMA] == PRISMATIC:
            f = (0.0, 0.0, mass)
            m = (ms[1], -ms[0], 0.0)
            H[base + j, base + j] = f[2] + row[IA]
        else:
            f = (-ms[1], ms[0], 0.0)  # (19)
            m = (inertia[2], inertia[4], inertia[5])  # (20), (22)
            H[base + j, base + j] = m[2] + row[IA]  # (23)
        nothing += 0.0 * H[base + j, base + j]
        a = load9(row, A)
        p = load3(row, L)
        s = rotate(a, ms)
        up[IM] += mass  # (16)
        add_to3(up, IB, add(s, scale(mass, p)))  # (17)
        add_to6(up, IJ, congruence(a, inertia))  # (18)
        add_to6(up, IJ, symmetric_product(p, add(s, scale(0.5 * mass, p))))
        while row[PARENT] > 0.0 or base > 0:
            f = rotate(a, f)  # (24)
            m = add(rotate(a, m), cross(p, f))  # (25)
            i = int(row[PARENT]) - 1
            if i < 0:
                for k in range(3):
                    H[k, base + j] = H[base + j, k] = f[k]
                    H[3 + k, base + j] = H[base + j, 3 + k] = m[k]
                break
            row = record[i + 1]
            H[base + i, base + j] = f[2] if row[SIGMA] == PRISMATIC else m[2]  # (26)
            H[base + j, base + i] = H[base + i, base + j]
            a = load9(row, A)
            p = load3(row, L)
    if base > 0:
        write_base_inertia(record[0], H)
    return OK if nothing == 0.0 else NOT_FINITE


@kernel
def write_base_inertia(row, H):
    """The composite inertia of the whole robot, in the base's rows of H."""
    s = load3(row, IB)
    inertia = full(load6(row, IJ))
    H[3, 1], H[3, 2], H[4, 2] = -s[2], s[1], -s[0]
    for i in range(3):
        H[i, i] = row[IM]
        H[3 + i, i] = 0.0
        for k in range(3):
            H[3 + i, 3 + k] = inertia[3 * i + k]
        for k in range(i):
            H[3 + i, k] = -H[3 + k, i]
    for i in range(3):
        for k in range(3):
            H[k, 3 + i] = H[3 + i, k]
