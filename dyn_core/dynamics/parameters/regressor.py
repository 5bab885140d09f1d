"""The regressor: the inverse dynamic model as a linear function of the standard parameters.

    tau = Y(q, qd, qdd) chi   (+ the forces of springs, and of dampers between links, which hold no parameter of chi)

chi stacks, body by body, [XX XY XZ YY YZ ZZ MX MY MZ M Ia Fv Fs]: inertia about the body frame's origin, first moments,
mass, rotor inertia, viscous and Coulomb friction. Y has shape (n, 13 n).
"""

from __future__ import annotations

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.jit.kernel import kernel
from dyn_core.jit.state_kernel import StateKernel
from dyn_core.jit.status import NOT_FINITE, OK
from dyn_core.mechanism import PRISMATIC, Mechanism
from dyn_core.spatial.tuples import add, cross, load3, load9, rotate, symmetric_times

from ..tree.record import PARENT, SIGMA, A, L, start_fixed
from ..tree.rnea import body_motion

KINDS = ("XX", "XY", "XZ", "YY", "YZ", "ZZ", "MX", "MY", "MZ", "M", "Ia", "Fv", "Fs")
WIDTH = len(KINDS)
"""Standard parameters of a body."""
INERTIAL = 10
"""Those of them that describe the body itself."""
IA, FV, FS = 10, 11, 12


def parameter_names(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of chi's entries, e.g. XX_link1; Ia, Fv and Fs bear the joint's name."""
    return tuple(
        f"{kind}_{(body if k < INERTIAL else joint)}"
        for body, joint in zip(mechanism.body_names, mechanism.joint_names, strict=True)
        for k, kind in enumerate(KINDS)
    )


def standard_parameters(mechanism: Mechanism) -> Floats:
    """chi (13 n,) of a mechanism."""
    chi = np.empty((mechanism.n, WIDTH))
    rows, columns = np.triu_indices(3)
    chi[:, :6] = mechanism.J[:, rows, columns]
    chi[:, 6:9] = mechanism.MS
    chi[:, 9] = mechanism.M
    chi[:, IA], chi[:, FV], chi[:, FS] = mechanism.Ia, mechanism.Fv, mechanism.Fs
    return chi.ravel()


@kernel
def unit_wrench(k, w, wd, vd):
    """Force and moment that move a body whose k-th inertial parameter is 1 and whose others are 0: (22), (23)."""
    f = (0.0, 0.0, 0.0)
    if k < 6:
        S = (
            1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0,
            1.0 if k == 3 else 0.0, 1.0 if k == 4 else 0.0, 1.0 if k == 5 else 0.0,
        )  # fmt: skip
        return f, add(symmetric_times(S, wd), cross(w, symmetric_times(S, w)))
    if k == 9:
        return vd, f
    e = (1.0 if k == 6 else 0.0, 1.0 if k == 7 else 0.0, 1.0 if k == 8 else 0.0)
    return add(cross(wd, e), cross(w, cross(w, e))), cross(e, vd)


@StateKernel
def regressor(record, q, qd, qdd, Y):
    """Y (n, 13 n): the motion by (18)-(21), then each unit wrench handed down to the base by (28)-(31)."""
    start_fixed(record, 1.0)
    n = q.shape[0]
    for i in range(n):
        for k in range(WIDTH * n):
            Y[i, k] = 0.0
    for j in range(n):
        row = record[j + 1]
        w, wd, vd = body_motion(row, record[int(row[PARENT])], q[j], qd[j], qdd[j])
        for k in range(INERTIAL):
            f, m = unit_wrench(k, w, wd, vd)
            i = j + 1
            while i > 0:
                at = record[i]
                Y[i - 1, WIDTH * j + k] = f[2] if at[SIGMA] == PRISMATIC else m[2]
                turn = load9(at, A)
                f = rotate(turn, f)
                m = add(rotate(turn, m), cross(load3(at, L), f))
                i = int(at[PARENT])
        Y[j, WIDTH * j + IA] = qdd[j]
        Y[j, WIDTH * j + FV] = qd[j]
        Y[j, WIDTH * j + FS] = 1.0 if qd[j] > 0.0 else (-1.0 if qd[j] < 0.0 else 0.0)
    nothing = 0.0
    for i in range(n):
        for k in range(WIDTH * n):
            nothing += 0.0 * Y[i, k]
    return OK if nothing == 0.0 else NOT_FINITE
