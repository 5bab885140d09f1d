"""Counts of operations: of a general kernel as it runs, and of generated source as it stands."""

from __future__ import annotations

import ast
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from dyn_core.dynamics.tree.record import pack
from dyn_core.mechanism import Mechanism

from . import tracing as unfolded


@dataclass(frozen=True)
class Operations:
    """Scalar operations of one evaluation; a subtraction is an addition, a change of sign is nothing."""

    multiplications: int
    additions: int
    divisions: int
    """And square roots."""
    sines: int
    """Sines and cosines."""

    def __str__(self) -> str:
        return (
            f"{self.multiplications} multiplications, {self.additions} additions, {self.divisions} divisions,"
            f" {self.sines} sines and cosines"
        )

    @classmethod
    def of(cls, counts: Counter[str]) -> Operations:
        return cls(counts["*"], counts["+"], counts["/"], counts["sin"])


def source_operations(source: str) -> Operations:
    """What straight-line source does; a sign, made of comparisons, is nothing."""
    kinds = {ast.Mult: "*", ast.Add: "+", ast.Sub: "+", ast.Div: "/"}
    counts: Counter[str] = Counter()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.BinOp) and not any(isinstance(part, ast.Compare) for part in ast.walk(node)):
            counts[kinds[type(node.op)]] += 1
        elif isinstance(node, ast.Call):
            counts["/" if getattr(node.func, "id", "") == "sqrt" else "sin"] += 1
    return Operations.of(counts)


def general_operations(mechanism: Mechanism, model: str) -> Operations:
    """What the general kernel of a model does for a mechanism, zeros and ones included."""
    counts: Counter[str] = Counter()
    record = counted(pack(mechanism), counts)
    q, qd, last = (counted(np.full(mechanism.n, value), counts) for value in (0.3, 0.5, 0.7))
    replacements: unfolded.Replacements = {
        "sin": lambda x: _Counted.of("sin", math.sin(x), counts),
        "cos": lambda x: _Counted.of("sin", math.cos(x), counts),
        "sqrt": lambda x: _Counted.of("/", math.sqrt(x), counts),
    }
    if model == "mass_matrix":
        unfolded.mass_matrix(record, replacements, q)
    else:
        {"inverse": unfolded.inverse, "direct": unfolded.direct}[model](record, replacements, q, qd, last)
    return Operations.of(counts)


def counted(array: Any, counts: Counter[str]) -> Any:
    """The array, of numbers that count what is done with them."""
    return np.vectorize(lambda x: _Counted(x, counts), otypes=[object])(array)


class _Counted(float):
    """A float whose arithmetic is counted."""

    counts: Counter[str]

    def __new__(cls, value: float, counts: Counter[str]) -> _Counted:
        number = super().__new__(cls, value)
        number.counts = counts
        return number

    @classmethod
    def of(cls, kind: str, value: float, counts: Counter[str]) -> _Counted:
        """The result of one operation."""
        counts[kind] += 1
        return cls(value, counts)

    def __neg__(self) -> _Counted:
        return _Counted(-float(self), self.counts)


def _count(name: str, kind: str) -> None:
    """Let an operator of _Counted be counted."""
    operate = getattr(float, name)
    setattr(_Counted, name, lambda self, other: _Counted.of(kind, operate(float(self), float(other)), self.counts))


for _kind, _names in {"+": ("add", "radd", "sub", "rsub"), "*": ("mul", "rmul"), "/": ("truediv", "rtruediv")}.items():
    for _name in _names:
        _count(f"__{_name}__", _kind)
