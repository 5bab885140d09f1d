"""Customised models beside the general kernels and Pinocchio: operations, and time."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import pinocchio as pin

from bench.compare import Comparison, compare
from bench.suites.dynamics import peer_of, without_friction
from dyn_core import Robot, load_robot
from dyn_core.dynamics.tree.record import pack
from dyn_core.dynamics.tree.state_kernels import forward_dynamics, inverse_dynamics, mass_matrix
from dyn_core.jit.kernel import compiled_call
from dyn_core.mechanism import Mechanism
from dyn_core.robots import TreeRobot, customise
from dyn_core.robots.customised import MODELS, Model, customised_source, general_operations
from dyn_core.robots.customised.customised_robot import customised_module

ROWS = 500
"""States per call of a kernel, so that calling it from Python hardly shows."""


def general_6r() -> Mechanism:
    """Six revolute joints in general position: no modified DH parameter and no inertial parameter is zero."""
    rng = np.random.default_rng(6)
    puma = load_robot("puma560").mechanism
    alpha, d, r = rng.uniform(0.3, 1.2, 6), rng.uniform(0.1, 0.5, 6), rng.uniform(0.1, 0.5, 6)
    c, s, zero, one = np.cos(alpha), np.sin(alpha), np.zeros(6), np.ones(6)
    mass = rng.uniform(1.0, 5.0, 6)
    com = rng.uniform(0.05, 0.2, (6, 3))
    points = rng.normal(size=(6, 8, 3)) * 0.1 + com[:, None]
    points += com[:, None] - points.mean(axis=1, keepdims=True)
    square = np.einsum("jka,jka->j", points, points)[:, None, None] * np.eye(3)
    J = mass[:, None, None] / 8 * (square - np.einsum("jka,jkb->jab", points, points))
    return replace(
        puma,
        name="general_6r",
        R=np.stack([one, zero, zero, zero, c, -s, zero, s, c], axis=1).reshape(6, 3, 3),
        p=np.stack([d, -s * r, c * r], axis=1),
        M=mass,
        MS=mass[:, None] * com,
        J=J,
    )


def _counts(mechanism: Mechanism) -> list[dict[str, Any]]:
    rows = []
    for model in MODELS:
        variants = {
            "general": general_operations(mechanism, model),
            "customised": customised_source(mechanism, model, grouped=False).operations,
            "with base parameters": customised_source(mechanism, model).operations,
        }
        rows += [
            {"robot": mechanism.name, "model": model, "algorithm": name, **asdict(operations)}
            for name, operations in variants.items()
        ]
    return rows


def _times(robot: Robot) -> list[Comparison]:
    """Kernel against kernel over many states, and one call from Python against the general robot and Pinocchio."""
    own = customise(robot)
    rng = np.random.default_rng(0)
    q, qd, x = rng.uniform(-1.0, 1.0, (3, robot.n))
    model = peer_of(robot)
    data = model.createData()
    friction = without_friction(robot, qd)
    calls = {
        "inverse dynamics": ("inverse_dynamics", (q, qd, x)),
        "forward dynamics": ("forward_dynamics", (q, qd, x)),
        "mass matrix": ("mass_matrix", (q,)),
    }
    peers = {
        "inverse dynamics": (lambda: pin.rnea(model, data, q, qd, x), pin.rnea(model, data, q, qd, x) + friction),
        "forward dynamics": (lambda: pin.aba(model, data, q, qd, x), pin.aba(model, data, q, qd, x - friction).copy()),
        "mass matrix": (lambda: pin.crba(model, data, q), _symmetric(pin.crba(model, data, q))),
    }
    rows = _kernels(robot)
    for work, (name, single) in calls.items():
        mine, general = getattr(own, name), getattr(robot, name)
        label = f"{robot.name}: {work}"
        rows.append(_against(f"{label}, call", mine, "general", general, single))
        theirs, answer = peers[work]
        answers = (mine(*single), answer)
        rows.append(
            compare(f"{label}, call", lambda m=mine, a=single: m(*a), "pinocchio", theirs, 1.0, answers)  # type: ignore[misc]
        )
    return rows


def _kernels(robot: Robot) -> list[Comparison]:
    """The compiled loops over many states, on one core."""
    n, record = robot.n, pack(robot.mechanism)
    q, qd, x = np.random.default_rng(0).uniform(-1.0, 1.0, (3, ROWS, n))
    none = np.empty((ROWS, 0, 6))
    kernels: dict[Model, tuple[Any, tuple[Any, ...], tuple[int, ...]]] = {
        "inverse": (inverse_dynamics, (q, qd, x, none), (n,)),
        "direct": (forward_dynamics, (q, qd, x, none), (n,)),
        "mass_matrix": (mass_matrix, (q,), (n, n)),
    }
    rows = []
    for model, (general, arguments, shape) in kernels.items():
        own = customised_module(robot.mechanism, model).call
        found, expected = np.empty((2, ROWS, *shape))
        for how, (ours, peer) in {"kernel": (own.rows, general.rows), "in lanes": (own.lanes, general.lanes)}.items():
            mine = partial(compiled_call, ours, record, *arguments, found)
            theirs = partial(compiled_call, peer, record, *arguments, expected)
            mine(), theirs()
            row = compare(f"{robot.name}: {model}, {how}", mine, "general", theirs, 1.0, (found, expected))
            rows.append(replace(row, ours=row.ours / ROWS, theirs=row.theirs / ROWS))
    return rows


def _against(work: str, mine: Any, peer: str, theirs: Any, arguments: tuple[Any, ...]) -> Comparison:
    answers = (mine(*arguments), theirs(*arguments))
    return compare(work, lambda: mine(*arguments), peer, lambda: theirs(*arguments), 1.0, answers)


def _symmetric(upper: np.ndarray) -> np.ndarray:
    return np.triu(upper) + np.triu(upper, 1).T


def run() -> dict[str, Any]:
    """Puma 560, and an arm of six joints in general position."""
    robots = [load_robot("puma560"), TreeRobot(general_6r())]
    return {
        "operations": [row for robot in robots for row in _counts(robot.mechanism)],
        "times": [asdict(row) for robot in robots for row in _times(robot)],
    }


def table(figures: dict[str, Any]) -> list[str]:
    """The lines to print."""
    lines = [f"{'robot':11} {'model':12} {'algorithm':21} {'*':>5} {'+':>5} {'/':>3} {'sin cos':>8}"]
    for row in figures["operations"]:
        lines.append(
            f"{row['robot']:11} {row['model']:12} {row['algorithm']:21} {row['multiplications']:5d}"
            f" {row['additions']:5d} {row['divisions']:3d} {row['sines']:8d}"
        )
    lines += ["", f"{'work':44} {'customised':>13} {'peer':>13}  {'':16} ratio [10 % - 90 % of rounds]"]
    for row in figures["times"]:
        lines.append(
            f"{row['work']:44} {1e6 * row['ours']:10.2f} us {1e6 * row['theirs']:10.2f} us  {row['peer']:16}"
            f" {row['ratio']:5.3f} [{row['low']:.3f} - {row['high']:.3f}]"
        )
    return lines
