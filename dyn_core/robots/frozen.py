"""Mechanisms that nobody can write to: what robots hold."""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dyn_core.arrays import read_only
from dyn_core.mechanism import Mechanism


def frozen(mechanism: Mechanism) -> Mechanism:
    """The same mechanism, with read-only arrays of its own."""
    if is_frozen(mechanism):
        return mechanism
    other = copy.deepcopy(mechanism)
    freeze(other)
    return other


def is_frozen(mechanism: Mechanism) -> bool:
    """Whether no array of it can be written to; those of a copy, or from a pickle, can."""
    return not any(array.flags.writeable for array in _arrays(mechanism))


def freeze(mechanism: Mechanism) -> None:
    """Make every array of it read-only."""
    for array in _arrays(mechanism):
        read_only(array)


def _arrays(part: Any) -> list[Any]:
    """Those of a mechanism, or of a part of one."""
    if isinstance(part, np.ndarray):
        return [part]
    parts = part if isinstance(part, tuple) else [getattr(part, each.name) for each in fields(part)]
    return [array for each in parts if _holds(each) for array in _arrays(each)]


def _holds(part: Any) -> bool:
    return isinstance(part, np.ndarray | tuple) or is_dataclass(part)
