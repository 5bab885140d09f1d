"""Motors for joints that are described without one: plausible figures to start from, sized by the joints' limits.

At the joint's greatest speed w the motor turns at MOTOR_SPEED. Of the supply V a part EMF is back EMF, and a part OHMIC
drives the current that gives the joint's greatest effort tau:

    G = MOTOR_SPEED / w,   G Kt w = EMF V,   I = tau / (G Kt),   R I = OHMIC V
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import PRISMATIC, Mechanism, Motors

SUPPLY = 48.0
"""V at the motor."""
MOTOR_SPEED = 300.0
"""rad/s, some 3,000 turns per minute."""
EMF, OHMIC = 0.6, 0.3
"""Parts of the supply; the rest is in reserve."""
SPEED, SLIDE = 2.0, 0.5
"""rad/s and m/s of a joint without a speed limit."""
HOLDS = 3.0
"""Times the weight of all masses at their reach that a joint without an effort limit can hold."""
DAC_BITS, DAC_VOLTS = 16, 10.0


def with_assumed_motors(mechanism: Mechanism) -> tuple[Mechanism, list[str]]:
    """The mechanism with a motor at every driven joint, and the names of the joints that were given one."""
    m, n = mechanism, mechanism.n
    given = np.full(n, np.nan) if m.motors is None else m.motors.gear
    lacking = m.active & ~m.elastic & np.isnan(given)
    if m.mimic is not None:
        lacking &= m.mimic.leader == np.arange(n)
    speed = np.where(
        np.isfinite(m.velocity_limits), m.velocity_limits, np.where(m.joint_type == PRISMATIC, SLIDE, SPEED)
    )
    effort = np.where(np.isfinite(m.effort_limits) & (m.effort_limits > 0.0), m.effort_limits, _needed(m))
    gear = MOTOR_SPEED / speed
    Kt = EMF * SUPPLY / (speed * gear)
    current = effort / (gear * Kt)
    sized = {
        "gear": gear,
        "Kt": Kt,
        "resistance": OHMIC * SUPPLY / current,
        "current_limit": current,
        "voltage_limit": np.full(n, SUPPLY),
        "dac_bits": np.full(n, DAC_BITS),
        "dac_low": np.full(n, -DAC_VOLTS),
        "dac_high": np.full(n, DAC_VOLTS),
        "dac_gain": np.full(n, SUPPLY / DAC_VOLTS),
        "dac_sign": np.ones(n),
        "dac_offset": np.zeros(n),
    }
    columns: dict[str, Any] = {}
    for field in fields(Motors):
        kind = np.int64 if field.name == "dac_bits" else np.float64
        none = np.zeros(n) if field.name == "dac_bits" else np.full(n, np.nan)
        known = none if m.motors is None else getattr(m.motors, field.name)
        columns[field.name] = np.where(lacking, _rounded(sized[field.name]), known).astype(kind)
    motors = Motors(**columns)
    return replace(m, motors=motors), [name for name, lacks in zip(m.joint_names, lacking, strict=True) if lacks]


def _needed(m: Mechanism) -> Floats:
    """(n,) HOLDS times the weight behind each joint, at the distance that the links reach."""
    carried, reach = m.M.copy(), np.linalg.norm(m.p, axis=1)
    far = reach.copy()
    for j in reversed(range(m.n)):
        if m.parent[j] >= 0:
            carried[m.parent[j]] += carried[j]
            far[m.parent[j]] = max(far[m.parent[j]], reach[m.parent[j]] + far[j])
    weight = carried * max(float(np.linalg.norm(m.gravity)), 1.0)
    arm = np.where(m.joint_type == PRISMATIC, 1.0, np.maximum(far, 0.1))
    return np.asarray(np.maximum(HOLDS * weight * arm, 1e-3))


def _rounded(values: Floats) -> Floats:
    """Three significant digits: assumed figures are not exact."""
    return np.array([float(f"{value:.3g}") for value in values])
