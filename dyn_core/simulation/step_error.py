"""How wrong fixed steps make a simulated motion, from a few steps that are taken again in two halves.

A step of order p errs by C h^(p+1), two steps of half its size by 2^-p of that, so that the difference d of the two is
the error of the whole one but for the factor 1 - 2^-p. What such errors add up to over a motion of N steps, d taken as
the mean over the samples, is estimated by

    e_j = N (|d_j| + |d'_j| T / 2)

for coordinate j: an error of the position stays, one of the speed goes on for half of the duration T on the average.
That holds for a motion that neither forgets errors nor lets them grow; where they grow (a motion that is chaotic, or
comes near a singularity) they are larger. A drive that is fed back from the state makes a motion forget them: it has no
estimate. A step of semi-implicit Euler is compared with one of rk3; its errors of the
speed swing with the motion instead of adding up, and are left out.
"""

from __future__ import annotations

from math import floor, log10
from typing import Any

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.robots.robot import Robot

ORDER = {"euler": 1, "rk3": 3, "rk4": 4}
EVERY = 1000
"""Steps between two samples of a long motion: a sample takes the time of about three."""
LARGEST = 0.01
"""Of the range of a coordinate, that its error may be without a word ..."""
LEAST = 1e-5
"""... or rad or m, if that is more."""
AIM = 0.1
"""Of the error that is without a word, which the recommended step leaves."""


def samples(steps: int) -> list[int]:
    """Which steps (from 0) of a motion are taken again."""
    count = max(1, steps // EVERY)
    return [(2 * i + 1) * steps // (2 * count) for i in range(count)] if steps > 0 else []


class StepErrors:
    """Samples of a motion as it is simulated."""

    def __init__(self, method: str, steps: int) -> None:
        self.rows = samples(steps) if method in ORDER else []
        """The rows after which a step is taken again."""
        self._method = method
        self._count = 0
        self._q: Any = 0.0
        self._v: Any = 0.0

    def add(self, whole: tuple[Floats, Floats], refined: tuple[Floats, Floats] | None) -> None:
        """Positions (nq,) and speeds (nv,) after a step, and more exactly (None where that failed)."""
        if refined is not None:
            self._count += 1
            self._q = self._q + abs(whole[0] - refined[0])
            self._v = self._v + abs(whole[1] - refined[1])

    def estimate(self, steps: int, h: float) -> Floats | None:
        """(nq,) e, rad or m; of an orientation its quaternion. None where nothing was sampled."""
        if not self._count or steps < 1:
            return None
        if self._method == "euler":
            return np.asarray(steps / self._count * self._q)
        later = self._v
        if len(self._q) > len(later):  # a floating base: the angular velocity's part in a quaternion
            later = np.concatenate([later[:3], np.full(4, 0.5 * later[3:6].max()), later[6:]])
        scale = steps / self._count / (1.0 - 0.5 ** ORDER[self._method])
        return np.asarray(scale * (self._q + 0.5 * steps * h * later))


def warning(robot: Robot, q: Floats, error: Floats | None, h: float, method: str) -> str:
    """The sentence on a motion q (m, nq) whose steps are too coarse for it; empty if they are not."""
    if error is None or not error.max() > LEAST:
        return ""
    covered = np.ptp(q, axis=0)
    if robot.nq > robot.nv:
        covered[3:7] = covered[3:7].max()
    allowed = np.maximum(LARGEST * covered, LEAST)
    worst = int(np.argmax(error / allowed))
    if not error[worst] > allowed[worst]:
        return ""
    base = len(error) - robot.n
    where = "the base" if worst < base else f"joint '{robot.joint_names[worst - base]}'"
    better = rounded_down(h * float(AIM * allowed[worst] / error[worst]) ** (1.0 / ORDER[method]))
    return (
        f"{robot.name}: steps of {h:g} s by {method} are too coarse for this motion: about {error[worst]:.2g} rad or m"
        f" at {where} after {(len(q) - 1) * h:.3g} s; use h={better:g}, or method='DOP853', which chooses its steps"
    )


def rounded_down(x: float) -> float:
    """The largest 1, 2 or 5 times a power of ten that is not above x."""
    power = 10.0 ** floor(log10(x))
    return float(f"{max(k for k in (1, 2, 5) if k * power <= x * (1.0 + 1e-12)) * power:.1g}")
