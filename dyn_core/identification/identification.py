"""What a motion tells of a robot: parameters with their confidence, errors on data held back, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.dynamics.parameters.base_parameters import BaseParameters
from dyn_core.dynamics.parameters.regressor import WIDTH
from dyn_core.mechanism import BASE, Mechanism

from .signals import Samples

POOR = 30.0
"""A relative standard deviation (%) above which a parameter counts as poorly known."""
LITTLE = 0.3
"""A joint that uses less than this part of its range and of its speed can be moved more."""
FAILED = 0.5
"""A joint is not identified where this part of its torque's variation is left on data held back."""
WEAK = 0.2
"""And poorly identified where this part is."""
DOUBT = 0.1
"""And where this part is, other readings of the log are worth trying."""
ILL_CONDITIONED = 500.0


@dataclass(frozen=True)
class DriveTerm:
    """A term of a drive's force beyond rotor inertia, Coulomb and viscous friction, see `friction`."""

    name: str
    value: float
    std: float


@dataclass(frozen=True)
class Identification:
    """What a motion tells of a robot. b base parameters, n joints."""

    base: BaseParameters
    beta: Floats
    """(b,) identified base parameters."""
    prior: Floats
    """(b,) those of the robot as described."""
    std: Floats
    """(b,) standard deviations, inf where the motion does not show a parameter apart from others."""
    information: Floats
    """(b, b) R with |R (beta - x)|^2 the weighted squared error that the data give to parameters x, the
    drive terms being as found."""
    sigma: Floats
    """(n,) standard deviation of each joint's residual, N m or N."""
    condition: float
    """Condition number of the weighted regressor with columns of length one."""
    chi: Floats
    """(13 n,) standard parameters that a real robot can have."""
    rms: dict[str, Floats]
    """(n,) root mean squares: `torque`, its `variation` about its mean, and the torque errors of: `prior`; `base` (beta
    and the drive terms); `held back` (the same, fitted without the data that it is tried on); `physical` (chi and the
    drive terms); `alone` (chi without them, which is the robot that is written)."""
    samples: Samples
    count: int
    """Samples per joint after the filter."""
    drive: tuple[DriveTerm, ...]
    """The drive terms that the data ask for."""
    delay: float
    """s by which forces were recorded after positions; compensated."""
    mechanism: Mechanism
    notes: tuple[str, ...]

    @property
    def relative_std(self) -> Floats:
        """(b,) %, inf where a parameter is zero."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.beta == 0.0, np.inf, 100.0 * self.std / np.abs(self.beta))

    @property
    def verdicts(self) -> tuple[str, ...]:
        """(b,) `ok`, `poor` (relative standard deviation above 30 %), `near 0` (by two of them), or `not excited`."""
        relative = self.relative_std
        found = np.select(
            [~np.isfinite(self.std), relative > 50.0, relative > POOR], ["not excited", "near 0", "poor"], "ok"
        )
        return tuple(found.tolist())

    @property
    def physical(self) -> Floats:
        """(b,) base parameters of the standard parameters chi."""
        return self.base.values(self.chi)

    @property
    def unexplained(self) -> dict[str, Floats]:
        """(n,) the part of each torque's variation that is left: of data `held back`, and by the `physical` robot."""
        variation = np.maximum(self.rms["variation"], 1e-9 * max(float(self.rms["torque"].max()), 1e-300))
        return {name: self.rms[name] / variation for name in ("held back", "physical")}

    @property
    def failures(self) -> tuple[str, ...]:
        """Why this is no identification, one sentence each; empty where it is one."""
        found = []
        for j, joint in enumerate(self.mechanism.joint_names):
            held, physical = (float(self.unexplained[name][j]) for name in ("held back", "physical"))
            if held > FAILED:
                found.append(f"{joint}: {100 * min(held, 99.99):.0f} % of the torque's variation is left unexplained")
            elif physical > max(FAILED, 2.0 * held):
                found.append(
                    f"{joint}: no robot with positive masses and friction explains the torque"
                    f" ({100 * min(physical, 99.99):.0f} % is left)"
                )
        return tuple(found)

    @property
    def doubtful(self) -> bool:
        """Whether so much is left that something may be wrong with the log: see `explanations`."""
        held, physical = (self.unexplained[name] for name in ("held back", "physical"))
        return bool((np.maximum(held, physical) > DOUBT).any())

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do for a better fit, one sentence each."""
        found = []
        for j, joint in enumerate(self.mechanism.joint_names):
            held = float(self.unexplained["held back"][j])
            if WEAK < held <= FAILED:
                found.append(f"{joint}: {100 * held:.0f} % of the torque's variation is left on data held back")
        lost = {name: v for name, v in zip(self.base.names, self.verdicts, strict=True) if v in ("poor", "not excited")}
        if not lost and self.condition < ILL_CONDITIONED:
            return tuple(found)
        movers: dict[int, None] = {}
        for c, name in zip(self.base.columns, self.base.names, strict=True):
            j = int(c) // WIDTH if name in lost or self.condition >= ILL_CONDITIONED else BASE
            while j != BASE:
                movers.setdefault(j)
                j = int(self.mechanism.parent[j])
        said = [self._use(j) for j in sorted(movers)]
        more = ", ".join(text for text in said if text)
        names = ", ".join(list(lost)[:8]) + (", ..." if len(lost) > 8 else "")
        shown = (
            f"{names} {'is' if len(lost) == 1 else 'are'} hardly shown" if lost else "parameters are hardly told apart"
        )
        remedy = f"move more: {more}" if more else "try another motion (dyn excite)"
        found.append(f"{shown} (condition number {self.condition:.3g}): {remedy}")
        return tuple(found)

    def _use(self, j: int) -> str:
        """How little joint j moves, empty where it moves enough."""
        m = self.mechanism
        room = np.ptp(m.position_limits[j]) if np.isfinite(m.position_limits[j]).all() else np.pi
        width = float(np.ptp(self.samples.q[:, j]) / room)
        top = float(m.velocity_limits[j]) if np.isfinite(m.velocity_limits[j]) else np.inf
        speed = float(np.abs(self.samples.qd[:, j]).max() / top)
        if width >= LITTLE and (speed >= LITTLE or top == np.inf):
            return ""
        fast = f", {100 * speed:.0f} % of its speed" if top < np.inf else ""
        return f"{m.joint_names[j]} ({100 * width:.0f} % of its range{fast})"

    def as_dict(self) -> dict[str, Any]:
        """The report as plain values."""
        columns: dict[str, Sequence[Any]] = {
            "name": self.base.names,
            "group": self.base.expressions(),
            "prior": self.prior.tolist(),
            "value": self.beta.tolist(),
            "std": [json_number(x) for x in self.std],
            "relative_std_percent": [json_number(x) for x in self.relative_std],
            "physical": self.physical.tolist(),
            "verdict": self.verdicts,
        }
        return {
            "samples": self.count,
            "rate": self.samples.rate,
            "cutoff": self.samples.cutoff,
            "delay": self.delay,
            "condition": json_number(self.condition),
            "notes": list(self.notes),
            "advice": list(self.advice),
            "failures": list(self.failures),
            "parameters": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
            "drive_terms": [{"name": t.name, "value": t.value, "std": json_number(t.std)} for t in self.drive],
            "no_effect": list(self.base.no_effect),
            "rms": {name.replace(" ", "_"): values.tolist() for name, values in self.rms.items()},
            "unexplained": {name.replace(" ", "_"): values.tolist() for name, values in self.unexplained.items()},
        }


def json_number(x: float) -> float | None:
    """A number as JSON has it: none that is not finite."""
    return float(x) if np.isfinite(x) else None
