"""Forward dynamics of chains of up to 500 bodies: recursive, O(n), against matrices, O(n^3), beside Pinocchio."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from bench.compare import alternate, require_same
from dyn_core.dynamics.linear_solvers import cholesky_solve
from dyn_core.dynamics.tree.record import pack
from dyn_core.dynamics.tree.state_kernels import forward_by_matrices, forward_dynamics
from dyn_core.jit.kernel import compiled_call
from dyn_core.mechanism import Frame, Mechanism
from dyn_core.robots.customised import general_operations
from dyn_core.robots.customised.operation_count import counted
from dyn_core.robots.customised.tracing import unfolded

SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500)
LARGE = 100
"""From this size on the growth is fitted: below it the parts of lower order show."""


COUNTED = range(1, 31)
STATES = 8
"""States per call of a kernel, so that calling it from Python hardly shows."""


@dataclass(frozen=True)
class Chain:
    """Seconds per state at n bodies, 10th percentiles over rounds in which the three alternate."""

    n: int
    recursive: float
    matrices: float
    pinocchio: float


def chain(n: int) -> Mechanism:
    """A hanging chain of n equal rods of 0.1 m and 0.2 kg, their hinges turned a quarter about the rod each time."""
    length, mass = 0.1, 0.2
    across = mass * length**2 / 3
    quarter = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    names = tuple(f"link{j}" for j in range(n))
    ends = [Frame(name, j, np.eye(3), np.zeros(3)) for j, name in enumerate(names)]
    return Mechanism(
        name=f"chain of {n}",
        description="",
        joint_names=tuple(f"joint{j}" for j in range(n)),
        body_names=names,
        parent=np.arange(n) - 1,
        joint_type=np.zeros(n, int),
        R=np.tile(quarter, (n, 1, 1)),
        p=np.vstack([np.zeros(3), np.tile([length, 0.0, 0.0], (n - 1, 1))]),
        M=np.full(n, mass),
        MS=np.tile([mass * length / 2, 0.0, 0.0], (n, 1)),
        J=np.tile(np.diag([1e-4, across, across]), (n, 1, 1)),
        Ia=np.full(n, 0.01),
        Fv=np.zeros(n),
        Fs=np.zeros(n),
        stiffness=np.full(n, np.inf),
        position_limits=np.tile([-np.inf, np.inf], (n, 1)),
        velocity_limits=np.full(n, np.inf),
        effort_limits=np.full(n, np.inf),
        active=np.ones(n, bool),
        gravity=np.array([9.81, 0.0, 0.0]),
        frames=(*ends, Frame("tool", n - 1, np.eye(3), np.array([length, 0.0, 0.0]))),
    )


def peer_of(m: Mechanism) -> pin.Model:
    """The same chain in Pinocchio."""
    model = pin.Model()
    model.gravity.linear = m.gravity
    for j in range(m.n):
        model.addJoint(j, pin.JointModelRZ(), pin.SE3(m.R[j], m.p[j]), m.joint_names[j])
        c = m.MS[j] / m.M[j]
        about_c = m.J[j] - m.M[j] * (c @ c * np.eye(3) - np.outer(c, c))
        model.appendBodyToJoint(j + 1, pin.Inertia(m.M[j], c, about_c), pin.SE3.Identity())
    model.armature = m.Ia
    return model


def measure(n: int) -> Chain:
    """One size, kernel against kernel."""
    mechanism = chain(n)
    record = pack(mechanism)
    model = peer_of(mechanism)
    data = model.createData()
    q, qd, tau = np.random.default_rng(0).uniform(-0.1, 0.1, (3, STATES, n))
    none = np.empty((STATES, 0, 6))
    qdd = np.empty((2, STATES, n))
    A = np.empty((STATES, n, n))
    states = list(zip(q, qd, tau, strict=True))

    def recursive() -> object:
        return compiled_call(forward_dynamics.rows, record, q, qd, tau, none, qdd[0])

    def matrices() -> object:
        return compiled_call(forward_by_matrices.rows, record, q, qd, tau, none, A, qdd[1])

    def pinocchio() -> object:
        return [pin.aba(model, data, *state) for state in states]

    recursive(), matrices()
    require_same("recursive", "matrices", (qdd[0], qdd[1]))
    require_same("recursive", "pinocchio aba", (qdd[0], [pin.aba(model, data, *state).copy() for state in states]))
    times = alternate(recursive, matrices, pinocchio) / STATES
    return Chain(n, *np.percentile(times, 10, axis=0).tolist())


def growth(sizes: Any, times: Any) -> float:
    """The exponent k of time = c n^k, by least squares over the large chains."""
    large = np.asarray(sizes) >= LARGE
    return float(np.polyfit(np.log(np.asarray(sizes)[large]), np.log(np.asarray(times)[large]), 1)[0])


def crossing(sizes: Any, ratios: Any) -> float | None:
    """The number of bodies at which two methods take equal time, between sizes on a log-log line; None: nowhere."""
    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(ratios, float))
    for k in np.flatnonzero((y[:-1] <= 0.0) & (y[1:] > 0.0))[::-1]:
        return float(np.exp(x[k] - y[k] * (x[k + 1] - x[k]) / (y[k + 1] - y[k])))
    return None


def operations(n: int) -> tuple[int, int]:
    """Multiplications, additions and divisions of one evaluation: by recursion, and by matrices."""
    mechanism = chain(n)
    recursive = general_operations(mechanism, "direct")
    counts: Counter[str] = Counter()
    A = counted(np.eye(n), counts)
    x = counted(np.ones(n), counts)
    unfolded(cholesky_solve, {})(A, x)
    parts = [general_operations(mechanism, "inverse"), general_operations(mechanism, "mass_matrix")]
    total = sum(part.multiplications + part.additions + part.divisions for part in parts) + n + sum(counts.values())
    return recursive.multiplications + recursive.additions + recursive.divisions, total


def run(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """All sizes, the growth of each method and where the two cross."""
    chains = [measure(n) for n in sizes]
    counts = [operations(n) for n in COUNTED]
    return {
        "chains": [asdict(row) for row in chains],
        "growth": {
            name: growth(sizes, [getattr(row, name) for row in chains])
            for name in ("recursive", "matrices", "pinocchio")
        },
        "crossing_of_operations": crossing(COUNTED, [matrices / recursive for recursive, matrices in counts]),
        "crossing_of_time": crossing(sizes, [row.matrices / row.recursive for row in chains]),
    }


def table(figures: dict[str, Any]) -> list[str]:
    """The lines to print."""
    lines = [
        "forward dynamics of a chain, microseconds per state",
        f"{'bodies':>6} {'recursive':>12} {'matrices':>12} {'pinocchio aba':>14} {'matrices / recursive':>21}",
    ]
    for row in figures["chains"]:
        lines.append(
            f"{row['n']:6d} {1e6 * row['recursive']:12.1f} {1e6 * row['matrices']:12.1f} {1e6 * row['pinocchio']:14.1f}"
            f" {row['matrices'] / row['recursive']:21.2f}"
        )
    powers = ", ".join(f"{name} n^{power:.2f}" for name, power in figures["growth"].items())
    lines.append(f"growth from {LARGE} bodies on: {powers}")
    for kind in ("operations", "time"):
        where = figures[f"crossing_of_{kind}"]
        lines.append(
            f"{kind}: "
            + (
                "the recursion takes less at every size"
                if where is None
                else f"recursion and matrices cross at {where:.1f} bodies"
            )
        )
    return lines
