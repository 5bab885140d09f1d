"""The matrices of the decoupled natural orthogonal complement, as Saha and Schiehlen write them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.loops.denoc import Denoc
from dyn_core.dynamics.loops.denoc_kernels import MASS, PASSIVE, PE, PT
from dyn_core.dynamics.loops.denoc_legs import ACTUATOR, ORIGIN, ORIGIN_ROW
from dyn_core.dynamics.tree.record import PW, RW
from dyn_core.jit.status import OK
from dyn_core.spatial.poses import skew


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


def complement(denoc: Denoc, record: Floats, q: Floats) -> Complement:
    """N_l, N_c and N_d as the paper writes them, at O_i, which the recursions never form."""
    zero = np.zeros(denoc.a)
    ws = denoc.workspaces.new()
    status, *_ = denoc._joint_motion(record, q, zero, zero, ws)
    assert status == OK, "a regular configuration is needed"
    steps, starts, end = denoc._fixed
    s, a = len(steps), denoc.a
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
