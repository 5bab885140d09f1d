"""A recorded motion: joint positions and forces over time, read from and written to CSV.

The first line names the columns: `t` (s), and per joint `q_<joint>` (rad, m), `qd_<joint>`, `qdd_<joint>`, and
`tau_<joint>` (N m, N) or `v_<joint>` (V at the motor). `q1`, `qd1`, ... by the joint's number work too. Speeds and
accelerations may be missing. Empty lines and lines that begin with # are skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.errors import InputError
from dyn_core.files import Key, joint_columns, read_time_table
from dyn_core.mechanism import Mechanism

QUANTITIES = ("q", "qd", "qdd", "tau", "v")
FEWEST_SAMPLES = 20


@dataclass(frozen=True)
class MotionLog:
    """m samples of n joints; what was not recorded is None."""

    source: str
    t: Floats
    """(m,) s, increasing."""
    q: Floats
    """(m, n)."""
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    """(m, n) joint forces; None where the motors' voltages were recorded."""
    v: Floats | None = None
    """(m, n) V at the motors, 0 at joints without one."""
    ignored: tuple[str, ...] = ()
    """Columns that mean nothing here."""

    def __post_init__(self) -> None:
        shape = np.shape(self.q)
        if len(shape) != 2 or np.shape(self.t) != shape[:1]:
            raise InputError(f"{self.source}: t has shape {np.shape(self.t)} and q {shape}, expected (m,) and (m, n)")
        for name in ("qd", "qdd", "tau", "v"):
            value = getattr(self, name)
            if value is not None and np.shape(value) != shape:
                raise InputError(f"{self.source}: {name} has shape {np.shape(value)}, expected {shape}")
        for name in ("t", *QUANTITIES):
            value = getattr(self, name)
            if value is not None and not np.isfinite(value).all():
                raise InputError(f"{self.source}: {name} is not finite")
        if shape[0] < FEWEST_SAMPLES:
            raise InputError(f"{self.source}: {shape[0]} samples are too few, at least {FEWEST_SAMPLES} are needed")
        if not (np.diff(self.t) > 0.0).all():
            raise InputError(f"{self.source}: times must increase")
        if (self.tau is None) == (self.v is None):
            raise InputError(f"{self.source}: either tau or v is needed, and not both")


def read_motion_log(path: Path, mechanism: Mechanism) -> MotionLog:
    """Read a CSV log of a robot's motion; an InputError names file, line and column of what is wrong."""
    table = read_time_table(path, lambda place, header: _columns(place, header, mechanism))
    q = table.required("q", mechanism.n)
    others = {name: table.quantity(name, mechanism.n) for name in QUANTITIES if name != "q"}
    return MotionLog(table.source, table.t, q, **others, ignored=table.ignored)


def _columns(place: str, header: list[str], mechanism: Mechanism) -> dict[Key, int]:
    places = joint_columns(place, header, mechanism.joint_names, {name: name for name in QUANTITIES})

    def missing(quantity: str, joints: list[int]) -> list[str]:
        return [f"{quantity}_{mechanism.joint_names[j]}" for j in joints if (quantity, j) not in places]

    every = list(range(mechanism.n))
    driven = [j for j in every if mechanism.active[j]]
    given = {quantity for quantity, _ in places}
    lacking = ([] if "t" in given else ["t"]) + missing("q", every)
    for quantity in ("qd", "qdd"):
        lacking += missing(quantity, every) if quantity in given else []
    if "tau" in given and "v" in given:
        raise InputError(f"{place}: found columns of tau and of v, expected one of them")
    lacking += missing("v" if "v" in given else "tau", driven)
    if lacking:
        raise InputError(f"{place}: found no column {', '.join(lacking[:6])}{', ...' if len(lacking) > 6 else ''}")
    return places


def motion_csv(mechanism: Mechanism, t: Floats, **quantities: Floats) -> str:
    """A motion as the text of a log: quantities q, qd, ... of shape (m, n) by name."""
    header = ["t", *(f"{name}_{joint}" for name in quantities for joint in mechanism.joint_names)]
    table = np.column_stack([t, *quantities.values()])
    return "\n".join([",".join(header), *(",".join(f"{x:.9g}" for x in row) for row in table.tolist())]) + "\n"
