"""What may be wrong with a log that no robot explains: each suspicion is tried on the data.

A suspicion is a linear change of what was recorded: q' = A q + c, tau' = B tau. The one that leaves the least of the
torques unexplained by a physical robot is named, if it leaves much less than the log as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dyn_core.arrays import Bools, Floats
from dyn_core.mechanism import PRISMATIC
from dyn_core.robots.robot import Robot
from dyn_core.robots.tree_robot import TreeRobot

from .fit import independent_tree
from .identification import Identification
from .motion_log import MotionLog
from .physical_parameters import physical_parameters
from .regression import Regression
from .signals import Samples, filtered

MOST_SAMPLES = 1500
MOST_ROBOTS = 6
"""Suspicions per round for which a physical robot is fitted."""
ALIKE = 1.3
"""Suspicions that leave no more than this times the least are tried in their order, the likeliest first."""
HELPS = 0.6
"""A suspicion is named where it leaves less than this part of what is left without it."""
ROUNDS = 2
"""How many suspicions may hold at once."""


@dataclass(frozen=True)
class Suspicion:
    """What may be wrong: a sentence, and the change that would set it right."""

    text: str
    A: Floats
    c: Floats
    B: Floats


def explanations(robot: Robot, log: MotionLog, found: Identification) -> tuple[str, ...]:
    """Which suspicions help, one sentence each; empty where none does."""
    tree = independent_tree(robot)
    trial = _Trial(tree, found.samples, np.ones(tree.n, np.bool_) if log.known is None else log.known)
    so_far = _unchanged(tree.n, "")
    fitted = float(np.sqrt((found.unexplained["physical"][trial.known] ** 2).mean()))  # with the drives' further terms
    left, said = min(fitted, trial.left_by_a_robot(so_far)), []
    for _ in range(ROUNDS):
        changes = [(each, _then(so_far, each)) for each in (*_suspicions(tree, trial.q), *trial.gains(so_far))]
        least = np.array([trial.left(change) for _, change in changes])
        fewer = np.flatnonzero((least < HELPS * left) & (least < ALIKE * least.min()))[:MOST_ROBOTS].tolist()
        remains, best = min(((trial.left_by_a_robot(changes[k][1]), k) for k in fewer), default=(np.inf, 0))
        if remains > HELPS * left:
            break
        shares = f"{100 * remains:.0f} % of the torques is left unexplained instead of {100 * min(left, 9.99):.0f} %"
        said.append(f"{changes[best][0].text} (then {shares})")
        so_far, left = changes[best][1], remains
    return tuple(said)


def _unchanged(n: int, text: str) -> Suspicion:
    return Suspicion(text, np.eye(n), np.zeros(n), np.eye(n))


def _then(first: Suspicion, second: Suspicion) -> Suspicion:
    return Suspicion(second.text, second.A @ first.A, second.A @ first.c + second.c, second.B @ first.B)


def _suspicions(robot: TreeRobot, q: Floats) -> Iterator[Suspicion]:
    n, names = robot.n, robot.joint_names
    one = np.eye(n)
    turns = robot.mechanism.joint_type != PRISMATIC
    for unit, factor in (("deg", np.pi / 180.0), ("turn", 2.0 * np.pi)):
        scale = np.diag(np.where(turns, factor, 1.0))
        yield replace(_unchanged(n, f"the positions seem to be in units of {unit}: `position: {unit}`"), A=scale)
    small = np.diag(np.where(turns, 180.0 / np.pi, 1.0))
    yield replace(_unchanged(n, "the positions seem to be in rad and read as deg: `position: rad`"), A=small)
    yield replace(_unchanged(n, "all forces seem to have the wrong sign"), B=-one)
    reverse = one[::-1]
    yield Suspicion("the joints seem to be in reverse order", reverse, np.zeros(n), reverse)
    for j, name in enumerate(names):
        flip = one - 2.0 * np.outer(one[j], one[j])
        yield replace(_unchanged(n, f"the force of {name} seems to have the wrong sign"), B=flip)
        yield replace(_unchanged(n, f"the position of {name} seems to have the wrong sign"), A=flip)
        yield Suspicion(f"{name} seems to turn the other way: `sign`", flip, np.zeros(n), flip)
        for turn in (90, -90, 180) if turns[j] else ():
            at = np.radians(turn) * one[j]
            yield replace(_unchanged(n, f"the zero of {name} seems to be off by {turn} deg: `offset`"), c=at)
    for i in range(n):
        for j in range(i + 1, n):
            swap = one[[j if k == i else i if k == j else k for k in range(n)]]
            yield Suspicion(f"{names[i]} and {names[j]} seem to be exchanged", swap, np.zeros(n), swap)
            yield replace(_unchanged(n, f"the forces of {names[i]} and {names[j]} seem to be exchanged"), B=swap)
    for j in range(1, n):
        for sign in (1.0, -1.0):
            T = one + sign * np.outer(one[j], one[j - 1])
            text = f"motor {j + 1} seems to move with {names[j - 1]} too ({sign:+.0f} of its turns): `coupling`"
            yield Suspicion(text, np.linalg.inv(T), np.zeros(n), T.T)


class _Trial:
    """Some samples of a motion, to which changes are tried."""

    def __init__(self, robot: TreeRobot, samples: Samples, known: Bools) -> None:
        self.robot, self.known = robot, known
        self.base = robot.base_parameters()
        self.prior = np.concatenate([self.base.values(robot.standard_parameters), np.zeros(robot.n)])
        rows = np.unique(np.linspace(0, len(samples.t) - 1, MOST_SAMPLES).astype(int))
        tau = samples.tau
        if samples.cutoff is not None:
            tau = np.concatenate([filtered(tau[piece], samples.cutoff, samples.rate) for piece in samples.pieces])
        self.q, self.qd, self.qdd, self.tau = (x[rows] for x in (samples.q, samples.qd, samples.qdd, tau))
        self.still = np.zeros(robot.n) if samples.still is None else samples.still

    def _regression(self, change: Suspicion) -> Regression:
        q, qd, qdd = self.q @ change.A.T + change.c, self.qd @ change.A.T, self.qdd @ change.A.T
        W = self.robot.regressor(q, qd, qdd)[..., self.base.columns]
        ones = np.broadcast_to(np.eye(self.robot.n), (len(W), self.robot.n, self.robot.n))
        use = (np.abs(qd) >= np.abs(change.A) @ self.still) & self.known
        return Regression(np.concatenate([W, ones], axis=-1), self.tau @ change.B.T, use)

    def _share(self, regression: Regression, x: Floats, blocks: Bools) -> float:
        """Root mean square of the joints' errors in parts of their torques' variation."""
        count = np.maximum(regression.counts[blocks].sum(axis=0), 1.0)
        squares = regression.squares(x, np.arange(len(x)), blocks) / count
        variation = np.maximum(np.var(regression.tau, axis=0), 1e-12 * np.var(regression.tau, axis=0).max())
        return float(np.sqrt((squares / variation)[self.known].mean()))

    def left(self, change: Suspicion) -> float:
        """The part of the torques that no parameters explain, on data held back."""
        regression = self._regression(change)
        x, _ = regression.fit(np.arange(len(self.prior)), ~regression.held, self.prior)
        return self._share(regression, x, regression.held)

    def left_by_a_robot(self, change: Suspicion) -> float:
        """The part of the torques that no physical robot explains."""
        regression = self._regression(change)
        found = regression.solve(np.arange(len(self.prior)), self.prior)
        b, chi = len(self.base.columns), self.robot.standard_parameters
        information = found.information[:, :b]
        physical = physical_parameters(self.robot.mechanism, chi, self.base, found.x[:b], information)
        x = np.concatenate([self.base.values(physical), found.x[b:]])
        return self._share(regression, x, np.ones(len(regression.held), np.bool_))

    def gains(self, so_far: Suspicion) -> Iterator[Suspicion]:
        """Forces in wrong proportions: g tau = W x with the gain of the largest force taken as right."""
        regression = self._regression(so_far)
        n = self.robot.n
        anchor = int(np.argmax(np.var(regression.tau, axis=0)))
        others = [j for j in range(n) if j != anchor and self.known[j]]
        scale = np.maximum(np.std(regression.tau, axis=0), 1e-300)
        forces = -(regression.tau[..., None] * np.eye(n))[..., others]
        A = np.concatenate([regression.W, forces], axis=-1) * (regression.use / scale)[..., None]
        y = (regression.tau * np.eye(n)[anchor] * regression.use / scale).ravel()
        A = A.reshape(len(y), -1)
        norms = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        gains = (np.linalg.lstsq(A / norms, y, rcond=1e-8)[0] / norms)[-len(others) :]
        wrong = {j: g for j, g in zip(others, gains, strict=True) if g > 0.0 and abs(np.log(g)) > np.log(1.5)}
        if wrong:
            B = np.eye(n)
            B[list(wrong), list(wrong)] = list(wrong.values())
            which = ", ".join(f"{self.robot.joint_names[j]} by {g:.3g}" for j, g in wrong.items())
            anchored = self.robot.joint_names[anchor]
            text = f"the forces seem to be off by a factor, {which} beside {anchored}: `torque_per_unit`"
            yield replace(_unchanged(n, text), B=B)
