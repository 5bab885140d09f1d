"""Andrews' squeezing mechanism: all seven angles and speeds at 0.03 s, as the IVP Test Set prints them."""

from __future__ import annotations

import numpy as np

from dyn_core.simulation import Stepper

from ..report import Row
from .figures import described, largest, measured, timed

TORQUE, END = 0.033, 0.03  # N m, s
NAMES = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
ANGLES = np.array([
    0.1581077119629904e2, -0.1575637105984298e2, 0.4082224013073101e-1, -0.5347301163226948, 0.5244099658805304,
    0.5347301163226948, 0.1048080741042263e1,
])  # fmt: skip
RATES = np.array([
    0.1139920302151208e4, -0.1424379294994111e4, 0.1103291221937134e2, 0.1929337464421385e2, 0.5735699284790808,
    -0.1929337464421385e2, 0.3231791658026955,
])  # fmt: skip
GOOD = 5e-8  # rad, to which the printed angles are good; their speeds to as much of themselves


def squeezer(h: float = 1e-5, method: str = "rk4") -> tuple[np.ndarray, np.ndarray]:
    """The seven angles and rates at 0.03 s, in the order of NAMES."""
    robot = described("andrews_squeezer")
    stepper = Stepper(robot, h=h, method=method)
    stepper.record([TORQUE], round(END / h))
    q, qd = stepper.all_joints()
    order = [robot.mechanism.joint_names.index(name) for name in NAMES]
    return q[order], qd[order]


def squeezer_rows() -> list[Row]:
    """What the Test Set prints."""
    (q, qd), seconds = timed(squeezer)
    place = "squeezer"
    return [
        measured(place, "beta at 0.03 s, rad", ANGLES[0], q[0], GOOD, seconds),
        measured(place, "its rate, rad/s", RATES[0], qd[0], GOOD * RATES[0]),
        largest(place, "all angles, rad", float(np.abs(q - ANGLES).max()), GOOD),
        largest(place, "all rates, relative", float(np.abs((qd - RATES) / RATES).max()), 20.0 * GOOD),
    ]
