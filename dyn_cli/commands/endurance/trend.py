"""Whether a series of samples grows: a line that outliers and steps do not bend, with its uncertainty."""

from dataclasses import dataclass

import numpy as np

BLOCKS = 24
"""Samples are first gathered into this many blocks, whose medians depend little on each other."""
LEAST = 4
"""Fewest samples that say anything about a trend."""


@dataclass(frozen=True)
class Trend:
    """Where a series begins and ends by its line, and by how much it grew, with a 95 % interval."""

    first: float
    last: float
    low: float
    high: float

    @property
    def growth(self) -> float:
        return self.last - self.first

    def grows_by(self, amount: float) -> bool:
        """Whether it surely grows, and by more than an amount."""
        return self.low > 0.0 and self.growth > amount

    def falls_by(self, amount: float) -> bool:
        """Whether it surely falls, and by more than an amount."""
        return self.high < 0.0 and self.growth < -amount


def trend(times: np.ndarray, values: np.ndarray) -> Trend | None:
    """Theil and Sen's line: the median of the slopes between all pairs of block medians; None for too few samples."""
    from scipy.stats import theilslopes

    if len(times) < LEAST:
        return None
    groups = np.array_split(np.arange(len(times)), min(BLOCKS, len(times)))
    t = np.array([np.median(times[group]) for group in groups])
    y = np.array([np.median(values[group]) for group in groups])
    slope, _, low, high = map(float, theilslopes(y, t, 0.95))
    span = float(times[-1] - times[0])
    middle = float(np.median(y - slope * t))
    begin = middle + slope * float(times[0])
    return Trend(begin, begin + slope * span, low * span, high * span)
