"""What drives do beyond Coulomb and viscous friction, as further columns of the linear model.

Per joint, with v its speed: an offset (with which Coulomb friction is asymmetric), `|v|` (asymmetric viscous friction),
`sqrt|v| sign v` (friction that grows less and less), `exp(-|v| / v_s) sign v` (Stribeck; v_s tried as parts of the
largest speed), and `|load| sign v` (friction that grows with the force that the gear transmits). The data choose.

Where a motor drives several joints, its rotor and its friction follow the motor's own speed w = T v and act on all of
those joints: `Ia w'`, `Fv w`, `Fs sign w` through T^T.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.mechanism import Mechanism

from .signals import Samples

STRIBECK = (0.02, 0.05, 0.15)
"""Stribeck speeds in parts of a joint's largest."""


@dataclass(frozen=True)
class DriveTerms:
    """Columns of further terms of the drives' forces; k terms."""

    names: tuple[str, ...]
    columns: Floats
    """(m, n, k)."""
    always: int
    """How many of the first belong to the model whether they help or not."""
    groups: tuple[str, ...]
    """Of the others: those of the same group are different shapes of one effect."""


def drive_terms(
    mechanism: Mechanism, samples: Samples, load: Floats, coupling: Floats | None, speeds: Floats | None = None
) -> DriveTerms:
    """The terms of samples (m); load (m, n): forces without friction; coupling (n, n): motors = coupling x joints.

    speeds (n,): to which Stribeck speeds refer, the largest of the samples if not given.
    """
    m, n = samples.qd.shape
    names: list[str] = []
    groups: list[str] = []
    columns: list[Floats] = []

    def add(name: str, values: Floats, group: str = "") -> None:
        names.append(name)
        groups.append(group or name)
        columns.append(values)

    for k, row in enumerate(() if coupling is None else coupling):
        if np.count_nonzero(row) < 2:
            continue
        through = row / np.abs(row).max()
        speed, acceleration = samples.qd @ through, samples.qdd @ through
        for kind, force in (("Ia", acceleration), ("Fv", speed), ("Fs", samples.direction(speed, acceleration))):
            add(f"{kind}_motor{k + 1}", force[:, None] * through)
    always = len(names)
    for j, joint in enumerate(mechanism.joint_names):
        v = samples.qd[:, j]
        size, way = np.abs(v), samples.direction(v, samples.qdd[:, j])
        top = float(size.max(initial=0.0) if speeds is None else speeds[j])
        terms = {"offset": np.ones(m)}
        if top > 0.0:
            terms |= {"Fv_asymmetric": size, "Fv_root": np.sqrt(size) * way, "F_load": np.abs(load[:, j]) * way}
            terms |= {f"F_stribeck({part * top:.3g})": np.exp(-size / (part * top)) * way for part in STRIBECK}
        for name, force in terms.items():
            shape = f"shape_{joint}" if name.startswith(("Fv_root", "F_stribeck")) else ""
            add(f"{name}_{joint}", force[:, None] * np.eye(n)[j], shape)
    return DriveTerms(tuple(names), np.stack(columns, axis=-1), always, tuple(groups[always:]))
