"""The legs at a given pose of the platform."""

from __future__ import annotations

from math import sqrt

from dyn_core.jit.kernel import uncounted
from dyn_core.jit.status import BEYOND, OK

from .jacobians import branch, linearise
from .leg_closure import close_legs
from .state import AIMED, copy

STRIDE_OF_POSES = 0.1  # on the way there, unless all legs are solved in closed form


@uncounted
def reach_from(record, par, start, pose):
    """`reach` from a configuration (K + 7,); BEYOND a singularity of K."""
    copy(start, par.at)
    found = reach(record, par, pose)
    return BEYOND if found == OK and branch(par) <= 0.0 else found


@uncounted
def poses_apart(par, pose):
    """How far a pose (7,) is from where it stands, in rad and in characteristic lengths."""
    n = par.at.shape[0] - 7
    far, same, opposite = 0.0, 0.0, 0.0
    for k in range(3):
        far = max(far, abs(pose[k] - par.at[n + k]) / par.numbers[0])
    for k in range(4):
        same += (pose[3 + k] - par.at[n + 3 + k]) ** 2
        opposite += (pose[3 + k] + par.at[n + 3 + k]) ** 2
    return max(far, 2.0 * sqrt(min(same, opposite)))


@uncounted
def reach(record, par, pose):
    """Bring the platform to a pose (7,) along the straight way, the legs following; at once if all of them aim."""
    n = par.at.shape[0] - 7
    steps = 1
    for i in range(par.legs.shape[0]):
        if par.legs[i, AIMED] == 0.0:
            steps = max(1, int(poses_apart(par, pose) / STRIDE_OF_POSES) + 1)
    start = par.kept
    copy(par.at, start)
    along = 0.0
    for k in range(4):
        along += start[n + 3 + k] * pose[3 + k]
    sign = -1.0 if along < 0.0 else 1.0
    for s in range(1, steps + 1):
        part = s / steps
        length = 0.0
        for k in range(3):
            par.at[n + k] = start[n + k] + part * (pose[k] - start[n + k])
        for k in range(4):
            par.at[n + 3 + k] = start[n + 3 + k] + part * (sign * pose[3 + k] - start[n + 3 + k])
            length += par.at[n + 3 + k] ** 2
        for k in range(4):
            par.at[n + 3 + k] /= sqrt(length)
        status = close_legs(record, par)
        if status != OK:
            return status
    return linearise(record, par)
