"""What a simulation gives."""

from __future__ import annotations

from dataclasses import dataclass

from dyn_core.arrays import Floats
from dyn_core.robots.engine import Singularity


@dataclass(frozen=True)
class SimulationResult:
    """A simulated motion: one row per step of h, from t = 0."""

    t: Floats
    """(m,) s."""
    q: Floats
    """(m, n); (m, 7 + n) on a floating base."""
    qd: Floats
    """(m, n); (m, 6 + n) on a floating base."""
    qdd: Floats
    """As qd."""
    tau: Floats
    """(m, n) joint torques of the motors."""
    drive: Floats
    """(m, n) volts (or torques) held up to this row."""
    failure: str = ""
    """Why the simulation ended early; empty if it did not."""
    singularity: Singularity | None = None
    """Where closed chains became singular, if that ended it."""
    all_q: Floats | None = None
    """(m, n of the mechanism) positions of all joints, of a motion that may go through singularities."""
    step_error: Floats | None = None
    """As a row of q: by how much the size of the steps makes the last positions wrong, rad or m, see `step_error.py`;
    None by an adaptive method, or where it could not be estimated."""
    warning: str = ""
    """What to change where that is more than 1 % of a joint's range; empty if it is not."""
