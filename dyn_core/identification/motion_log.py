"""A recorded motion: joint positions and forces over time, read from and written to CSV.

The first line names the columns: `t` (s), and per joint `q_<joint>` (rad, m), `qd_<joint>`, `qdd_<joint>`, and
`tau_<joint>` (N m, N) or `v_<joint>` (V at the motor). `q1`, `qd1`, ... by the joint's number work too. Speeds and
accelerations may be missing. Empty lines and lines that begin with # are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dyn_core.arrays import Bools, Floats
from dyn_core.errors import InputError
from dyn_core.files import Key, joint_columns, read_time_table
from dyn_core.mechanism import Mechanism

from .log_format import QUANTITIES, LogFormat

FEWEST_SAMPLES = 20


@dataclass(frozen=True)
class MotionLog:
    """m samples of n joints; what was not recorded is None."""

    source: str
    t: Floats
    """(m,) s, not decreasing."""
    q: Floats
    """(m, n)."""
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    """(m, n) joint forces; None where the motors' voltages were recorded."""
    v: Floats | None = None
    """(m, n) V at the motors, 0 at joints without one."""
    known: Bools | None = None
    """(n,) the joints whose forces were recorded (or are zero for certain); None: all."""
    coupling: Floats | None = None
    """(n, n) motor positions = coupling x joint positions, where a motor moves several joints."""
    ignored: tuple[str, ...] = ()
    """Columns that mean nothing here."""
    notes: tuple[str, ...] = ()
    """What was assumed of it."""

    def changed(self, t: Floats, change: Callable[[str, Floats], Floats]) -> MotionLog:
        """At other times t, with each recorded quantity changed: change(name, values)."""
        arrays: dict[str, Any] = {
            name: change(name, value) for name in QUANTITIES if (value := getattr(self, name)) is not None
        }
        return replace(self, t=t, **arrays)

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
        if not (np.diff(self.t) >= 0.0).all():
            raise InputError(f"{self.source}: times must not decrease")
        if (self.tau is None) == (self.v is None):
            raise InputError(f"{self.source}: either tau or v is needed, and not both")


def read_motion_log(path: Path, mechanism: Mechanism, log_format: LogFormat | None = None) -> MotionLog:
    """Read a CSV log of a robot's motion; an InputError names file, line and column of what is wrong."""
    form = log_format or LogFormat()
    table = read_time_table(path, lambda place, header: _columns(place, header, mechanism, form), recorded=True)
    arrays = {name: table.quantity(name, mechanism.n) for name in QUANTITIES}
    recorded = np.array([("q", j) in table.columns for j in range(mechanism.n)])
    t = table.t / form.rate if form.rate is not None else table.t * form.time
    return joint_motion(table.source, t, arrays, mechanism, form, recorded, table.ignored)


def joint_motion(
    source: str, t: Floats, recorded: Mapping[str, Floats | None], mechanism: Mechanism, log_format: LogFormat,
    moved: Bools, ignored: tuple[str, ...] = (),
) -> MotionLog:  # fmt: skip
    """The log at the joints of what was recorded; joints that were not (moved (n,)) stand still where they can be."""
    arrays: dict[str, Any] = {
        name: log_format.joint_side(name, value, mechanism) for name, value in recorded.items() if value is not None
    }
    notes = []
    if not moved.all():
        low, high = mechanism.position_limits.T
        arrays["q"] = np.where(moved, arrays["q"], np.clip(0.0, low, high))
        still = ", ".join(name for name, moves in zip(mechanism.joint_names, moved, strict=True) if not moves)
        notes.append(f"{still}: not in the log, so taken as standing still, and nothing of it is identified")
    return MotionLog(
        source, t, **arrays, known=moved, coupling=log_format.coupling, ignored=ignored, notes=tuple(notes)
    )


def _columns(place: str, header: list[str], mechanism: Mechanism, form: LogFormat) -> dict[Key, int]:
    places = joint_columns(place, header, mechanism.joint_names, {name: name for name in QUANTITIES})
    for c, name in enumerate(header):
        for quantity in form.columns:
            for j in range(1 if quantity == "t" else mechanism.n):
                if name == form.column(quantity, mechanism, j):
                    places[("t", -1) if quantity == "t" else (quantity, j)] = c

    def missing(quantity: str, joints: list[int]) -> list[str]:
        named = form.columns.get(quantity)
        return [
            form.column(quantity, mechanism, j) if named else f"{quantity}_{mechanism.joint_names[j]}"
            for j in joints if (quantity, j) not in places
        ]  # fmt: skip

    given = {quantity for quantity, _ in places}
    every = [j for j in range(mechanism.n) if any((quantity, j) in places for quantity in QUANTITIES)]
    if not every or form.coupling is not None:
        every = list(range(mechanism.n))
    driven = [j for j in every if mechanism.active[j]]
    lacking = [] if "t" in given or form.rate is not None else [form.columns.get("t", "t")]
    lacking += missing("q", every)
    for quantity in ("qd", "qdd"):
        lacking += missing(quantity, every) if quantity in given else []
    if "tau" in given and "v" in given:
        raise InputError(f"{place}: found columns of tau and of v, expected one of them")
    lacking += missing("v" if "v" in given else "tau", driven)
    if lacking:
        raise InputError(
            f"{place}: found no column {', '.join(lacking[:6])}{', ...' if len(lacking) > 6 else ''};"
            f" it has {', '.join(header[:12])}{', ...' if len(header) > 12 else ''}"
        )
    return places


def rehearsed(q: Floats, tau: Floats, step: float, noise: float, seed: int) -> dict[str, Floats]:
    """Positions and forces as a recorder has them: rounded to a step, and with noise, a part of each force's size."""
    rough = tau + noise * np.sqrt((tau**2).mean(axis=0)) * np.random.default_rng(seed).normal(size=tau.shape)
    return {"q": np.round(q / step) * step if step > 0.0 else q, "tau": rough}


def motion_csv(mechanism: Mechanism, t: Floats, **quantities: Floats) -> str:
    """A motion as the text of a log: quantities q, qd, ... of shape (m, n) by name."""
    header = ["t", *(f"{name}_{joint}" for name in quantities for joint in mechanism.joint_names)]
    table = np.column_stack([t, *quantities.values()])
    return "\n".join([",".join(header), *(",".join(f"{x:.9g}" for x in row) for row in table.tolist())]) + "\n"
