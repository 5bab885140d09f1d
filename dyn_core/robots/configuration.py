"""A configuration: where all joints of a robot are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import Floats, read_only


@dataclass(frozen=True)
class Configuration:
    """Positions of all joints of a mechanism; of closed chains it says on which assembly branch they stand.

    A value: nobody changes it, and whoever wants to go on from a configuration keeps it. Leading axes: several.
    """

    q: Floats
    """(..., n of the mechanism) rad, m."""
    pose: Floats | None = None
    """(..., 7) of a parallel robot: position and quaternion (x, y, z, w) of the platform's body in the base frame."""

    def __post_init__(self) -> None:
        for name in ("q", "pose"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, read_only(np.array(value, float)))

    def __getitem__(self, k: Any) -> Configuration:
        return Configuration(self.q[k], None if self.pose is None else self.pose[k])
