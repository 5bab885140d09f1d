"""The types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def read_only(array: Any) -> Any:
    """The array, which nobody can write to any more."""
    array.flags.writeable = False
    return array
