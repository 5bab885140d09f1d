"""Closed chains by virtual springs: every cut joint is let go and held by springs and dampers (Wang and Gosselin).

With the constraints phi(q) of the cut joints (their Delta), J = d phi / dq, and all n joints of the tree free:

    M qdd + c = tau - J^T (k phi + b phi')        (15), (19), (40), (41)

where phi' stands for the rate of Delta seen from the fixed frame, see `dampers`. M is that of the tree: block diagonal,
one block per branch of the base (17), and no block needs another to be solved. As k grows the motion tends to that of
the closed chain, its error falling as 1/k, its step as 1/sqrt(k).

The springs' forces lambda = -(k phi + b phi') enter the equations linearly. `inverse` eliminates them, as (20) does:
the joints of the tree need Gamma_tr = tau + J^T lambda, and at a passive joint tau is zero. Since lambda is then the
statics of the springs, it does not depend on k.

In the active joints alone a spring has no state, so `direct` gives the accelerations that springs show over a time dt
short against the motion. From a closed configuration, phi = phi' = 0, an implicit step answers phi'' with
lambda = -(k dt^2 + b dt) phi'', hence with the matrix K = diag(k dt^2 + b dt), in kg or kg m^2,

    (M + J^T K J) qdd = tau - c - J^T K bias.

What is left of phi'' is answered again, until rounding is all that is left: near a singularity, where the springs have
little to hold on to, one answer falls short.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lu_factor, lu_solve

from dyn_core.actuation.motors import drive_force
from dyn_core.arrays import Floats, Ints
from dyn_core.jit.kernel import entry, kernel
from dyn_core.jit.status import OK

from ..tree.aba import articulated_bodies
from ..tree.integrators import half_steps
from ..tree.kinematics import body_poses
from ..tree.record import start_fixed
from .constraints import constraint_jacobian, constraint_values
from .dampers import damp

STIFFNESS = 1e10  # of `direct`: K over the inertia that its row moves
RADIUS = 0.5  # of the fastest spring: its frequency times the step, where k is chosen from the step
LARGEST_RADIUS = 2.0  # that an explicit step of third or fourth order still bears, with any damping
NOTHING = 1e-12  # mobility of a row, relative to the largest, that counts as none
ANSWERS = 40  # of the springs to what is left of phi'', at most
DAMPING = 1.0  # of the fastest spring, relative to critical, where b is chosen

Q, QD, QDD = range(3)  # of a recorded row
WORK = 7 + 2 * 4  # rows of the scratch space of a method of up to four stages


def row_mobility(M: Floats, J: Floats) -> Floats:
    """J M^-1 J^T (m, m): relative acceleration of the cut joints' bodies per force in their springs, 1/kg."""
    return np.asarray(J @ np.linalg.solve(M, J.T))


def default_stiffness(M: Floats, J: Floats, groups: Ints, h: float) -> Floats:
    """k (m,), N/m or N m/rad: stiff enough that the fastest spring moves by RADIUS rad in a step h.

    Rows of a group (m,), the positions or the orientations that one cut joint holds, are equally stiff: as the mean
    inertia is that their springs move, 1 / mean (J M^-1 J^T)_rr.
    """
    mobility = row_mobility(M, J)
    each = np.diag(mobility)
    share = _inertia(np.array([each[groups == g].mean() for g in groups]))
    return share * (RADIUS / (h * fastest(mobility, share))) ** 2


def _inertia(mobility: Floats) -> Floats:
    """1 / mobility (m,); zero for rows that no joint moves, as redundant ones may be."""
    moves = mobility > NOTHING * mobility.max()
    return np.where(moves, 1.0 / np.where(moves, mobility, 1.0), 0.0)


def default_damping(M: Floats, J: Floats, k: Floats) -> Floats:
    """b (m,), N s/m or N m s/rad, in proportion to k: critical for the fastest spring, less for slower ones."""
    return 2.0 * DAMPING / fastest(row_mobility(M, J), k) * k


def fastest(mobility: Floats, k: Floats) -> float:
    """Frequency (rad/s) of the fastest spring without dampers."""
    root = np.sqrt(k)
    return float(np.sqrt(np.linalg.eigvalsh(root[:, None] * mobility * root)[-1]))


def fastest_rate(M: Floats, J: Floats, k: Floats, b: Floats) -> float:
    """Largest magnitude (1/s) of the exponents of phi'' = -J M^-1 J^T (k phi + b phi')."""
    mobility = row_mobility(M, J)
    m = len(k)
    system = np.block([[np.zeros((m, m)), np.eye(m)], [-mobility * k, -mobility * b]])
    return float(np.abs(np.linalg.eigvals(system)).max())


def preload(J: Floats, k: Floats, reactions: Floats, passive: Ints) -> Floats:
    """(n,) small joint displacements at which the springs pull with the closed chain's reactions (m,): Delta = F / k.

    The active joints stay. Without this the springs start slack and ring.
    """
    J_p = J[:, passive]
    x = np.zeros(J.shape[1])
    x[passive] = -np.linalg.lstsq(J_p.T * k @ J_p, J_p.T @ reactions, rcond=1e-12)[0]
    return x


def inverse(J: Floats, forces: Floats, active: Ints, passive: Ints) -> Floats:
    """tau (a,) of the active joints, where the tree's joints need `forces` (n,) in all."""
    J_p = J[:, passive]
    springs = np.linalg.lstsq(J_p.T, forces[passive], rcond=1e-12)[0]
    return np.asarray(forces[active] - J[:, active].T @ springs)


def direct(M: Floats, c: Floats, J: Floats, bias: Floats, tau: Floats) -> Floats:
    """qdd (n,) under forces tau (n,) of the tree's joints.

    By the springs' forces, (J M^-1 J^T + K^-1) lambda = -J M^-1 (tau - c) - bias: no rounding comes with a large K.
    """
    mobility = row_mobility(M, J)
    give = np.maximum(np.diag(mobility), NOTHING * mobility.max()) / STIFFNESS
    held = lu_factor(mobility + np.diag(give))
    qdd = np.linalg.solve(M, tau - c)
    left = np.inf
    for _ in range(ANSWERS):
        rest = J @ qdd + bias
        if not np.abs(rest).max() < 0.5 * left:
            break
        left = np.abs(rest).max()
        qdd = qdd - np.linalg.solve(M, J.T @ lu_solve(held, rest))
    return np.asarray(qdd)


@kernel
def spring_forces(record, rows, k, b, q, qd, springs, J, tau):
    """Add what springs and dampers do to the joint forces tau (n,).

    J (m, n), and phi, its rates J qd and the rows' forces in springs (3, m), are left there.
    """
    body_poses(record, q)
    phi, rates, pull = springs[0], springs[1], springs[2]
    constraint_values(record, rows, phi)
    constraint_jacobian(record, rows, J)
    n = q.shape[0]
    for r in range(rows.shape[0]):
        rates[r] = 0.0
        for j in range(n):
            rates[r] += J[r, j] * qd[j]
        pull[r] = k[r] * phi[r]
    damp(record, rows, b, phi, rates, qd, pull, tau)
    for r in range(rows.shape[0]):
        for j in range(n):
            tau[j] -= J[r, j] * pull[r]


@kernel
def sprung_acceleration(record, rows, k, b, q, qd, tau, wrenches, springs, J, total, qdd):
    """qdd (n,) by (41), branch after branch; wrenches as in `newton_euler`, total (n,) becomes tau and the springs."""
    for j in range(q.shape[0]):
        total[j] = tau[j]
    spring_forces(record, rows, k, b, q, qd, springs, J, total)
    start_fixed(record, 1.0)
    return articulated_bodies(record, q, qd, q[:0], wrenches, total, qdd)


@kernel
def driven_acceleration(record, rows, springs, motors, active, q, v, drive, wrenches, work, J, vd):
    """Accelerations of all joints with the active ones driven; the active forces are left in the first row of work."""
    n = q.shape[0]
    tau, total, held = work[0, :n], work[1, :n], work[2:5, : rows.shape[0]]
    for j in range(n):
        tau[j] = 0.0
    for c in range(active.shape[0]):
        j = int(active[c])
        tau[j] = drive_force(motors, drive, c, v[j])
    return sprung_acceleration(record, rows, springs[0], springs[1], q, v, tau, wrenches, held, J, total, vd)


@kernel
def sprung_step(record, rows, springs, motors, active, q, v, drive, wrenches, h, table, work, J):
    """One step of the Runge-Kutta method whose coefficients are the rows of table (the last: the weights).

    drive (1, a) is held, (3, a) is that at the start, the middle and the end of the step.
    """
    n = q.shape[0]
    stages = table.shape[1]
    x, u = work[5, :n], work[6, :n]
    xd, ud = work[7 : 7 + stages, :n], work[7 + stages : 7 + 2 * stages, :n]
    status = OK
    for i in range(stages + 1):
        for j in range(n):
            x[j] = q[j]
            u[j] = v[j]
        for s in range(min(i, stages)):
            for j in range(n):
                x[j] += h * table[i, s] * xd[s, j]
                u[j] += h * table[i, s] * ud[s, j]
        if i < stages:
            xd[i] = u
            now = drive[min(half_steps(table[i]), drive.shape[0] - 1)]
            found = driven_acceleration(record, rows, springs, motors, active, x, u, now, wrenches, work, J, ud[i])
            status = max(status, found)
    q[:] = x
    v[:] = u
    return status


@entry
def sprung_run(
    record, rows, springs, motors, active, q, v, drives, hold, wrenches, h, substeps, table, work, J, out, gaps, forces
):
    """Fill out (m, 3, n), gaps (m, r) and forces (m, a); returns how many rows are good.

    One row of drives is held for a row; with hold = 0 there are two per step of h, and one more. The first row is the
    state at the start; q and v become those of the last row.
    """
    n = q.shape[0]
    r = rows.shape[0]
    for i in range(out.shape[0]):
        row = min(max(i - 1, 0), drives.shape[0] - 1)
        drive = drives[row : row + 1] if hold > 0 else drives[:1]
        status = OK
        for s in range(substeps if i > 0 else 0):
            if hold == 0:
                row = 2 * ((i - 1) * substeps + s)
                drive = drives[row : row + 3]
            found = sprung_step(record, rows, springs, motors, active, q, v, drive, wrenches, h, table, work, J)
            status = max(status, found)
        now = drive[drive.shape[0] - 1]
        found = driven_acceleration(record, rows, springs, motors, active, q, v, now, wrenches, work, J, out[i, QDD])
        status = max(status, found)
        nothing = 0.0
        for j in range(n):
            out[i, Q, j] = q[j]
            out[i, QD, j] = v[j]
            nothing += 0.0 * (q[j] + v[j] + out[i, QDD, j])
        if status != OK or nothing != 0.0:
            return i
        for s in range(r):
            gaps[i, s] = work[2, s]
        for c in range(active.shape[0]):
            forces[i, c] = work[0, int(active[c])]
    return out.shape[0]
