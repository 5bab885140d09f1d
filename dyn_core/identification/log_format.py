"""How a recorder wrote a log: names of columns, units, and the drives between what it recorded and the joints.

With motor positions p (rad), coupling T (p = T q) and the forces m at the motors that a current makes,

    q = T^-1 p + offset,     tau = T^T m
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from dyn_core.arrays import Floats
from dyn_core.description.documents.yaml_document import Document
from dyn_core.mechanism import PRISMATIC, Mechanism

KEYS = (
    "columns", "topic", "rate", "time", "position", "reduction", "coupling", "sign", "offset", "torque_per_unit",
)  # fmt: skip
TIMES = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
POSITIONS = {"rad": 1.0, "deg": math.pi / 180.0, "turn": 2.0 * math.pi}
QUANTITIES = ("q", "qd", "qdd", "tau", "v")
PLACES = "a name with {joint} (the joint's name), {n} (its number from 1) or {k} (from 0)"


@dataclass(frozen=True)
class LogFormat:
    """How a log of n joints was written; as `docs/identification.md` says, nothing given means SI at the joints."""

    columns: dict[str, str] = field(default_factory=dict)
    """Names of columns by quantity, `t` or one with {joint}, {n} or {k} in it."""
    topic: str = ""
    """Of a bag: where the joint states are."""
    rate: float | None = None
    """Hz, where the log has no times."""
    time: float = 1.0
    """s per unit of time."""
    position: float = 1.0
    """rad per unit of position, of joints that turn and of motors."""
    coupling: Floats | None = None
    """(n, n) motor turns per joint turn (or per metre); None: joints were recorded, not motors."""
    sign: Floats | None = None
    """(n,) +-1: the direction in which positions and forces were recorded."""
    offset: Floats | None = None
    """(n,) rad or m, where the joint is when the log says zero."""
    torque_per_unit: Floats | None = None
    """(n,) N m (N) per unit of the column tau, at the motor where motors were recorded."""

    def column(self, quantity: str, mechanism: Mechanism, j: int) -> str:
        """The name of a joint's column; empty where the format names none."""
        return self.columns.get(quantity, "").format(joint=mechanism.joint_names[j], n=j + 1, k=j)

    def joint_side(self, quantity: str, values: Floats, mechanism: Mechanism) -> Floats:
        """(m, n) a recorded quantity in SI units at the joints."""
        if quantity == "v":
            return values
        if quantity == "tau":
            values = values if self.torque_per_unit is None else values * self.torque_per_unit
            return (values if self.coupling is None else values @ self.coupling) * self._signs
        turns = (mechanism.joint_type != PRISMATIC) | (self.coupling is not None)
        values = values * np.where(turns, self.position, 1.0)
        if self.coupling is not None:
            values = values @ np.linalg.inv(self.coupling).T
        values = values * self._signs
        return values + self.offset if quantity == "q" and self.offset is not None else values

    @property
    def _signs(self) -> Floats | float:
        return 1.0 if self.sign is None else self.sign


def read_log_format(path: Path, n: int) -> LogFormat:
    """Read a log format of n joints from YAML; what is wrong is named with its line."""
    document = Document(path)
    root = document.root(KEYS)
    columns = root.section("columns", ("t", *QUANTITIES))
    names = {}
    for key in columns.values:
        text = columns.text(key)
        try:
            text.format(joint="", n=1, k=0)
            told_apart = key == "t" or text.format(joint="a", n=1, k=0) != text.format(joint="b", n=2, k=1)
        except (KeyError, ValueError, IndexError, AttributeError):
            told_apart = False
        if not told_apart:
            columns.problem(key, f"found '{text}'", PLACES)
        names[key] = text
    rate = root.number("rate", unit="Hz", above=0.0) if "rate" in root else None
    time = TIMES[root.choice("time", tuple(TIMES)) or "s"] if "time" in root else 1.0
    position = POSITIONS[root.choice("position", tuple(POSITIONS)) or "rad"] if "position" in root else 1.0
    coupling = None
    if "coupling" in root:
        root.refuse(("reduction",), "given beside coupling", "one of them")
        coupling = root.matrix("coupling", n, meaning=": motor positions = coupling x joint positions")
        if coupling is not None and np.linalg.cond(coupling) > 1e9:
            root.problem("coupling", "found a singular matrix", "one that can be inverted")
    elif "reduction" in root:
        reduction = root.vector("reduction", n)
        if not reduction.all():
            root.problem("reduction", "found 0", "motor turns per joint turn, negative where they turn the other way")
        coupling = np.diag(reduction)
    sign = root.vector("sign", n) if "sign" in root else None
    if sign is not None and not (np.abs(sign) == 1.0).all():
        root.problem("sign", f"found {sign.tolist()}", "1 or -1 per joint")
    offset = root.angles("offset", n, default=[0.0] * n) if "offset" in root else None
    per_unit = root.vector("torque_per_unit", n) if "torque_per_unit" in root else None
    topic = root.text("topic")
    document.finish()
    return LogFormat(names, topic, rate, time, position, coupling, sign, offset, per_unit)
