"""Closed chains: two seconds of four_bar_wang by each formulation and by peers; inverse dynamics by plain calls.

Every way is run at several steps, with its largest error in the input angle over the two seconds against a reference of
very small steps, and the time that it took. Ahead at equal accuracy is whoever takes less time to be as accurate.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from itertools import cycle
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from bench.compare import Comparison, alternate, require_same
from dyn_core import load_robot
from dyn_core.dynamics.loops.constraint_solver import ALPHA
from dyn_core.robots import FORMULATIONS, LoopRobot, TreeRobot
from dyn_core.simulation import simulate, simulate_with_springs

DURATION = 2.0
SAMPLE = 0.02
"""s between the samples that are compared."""
REFERENCE_STEP = 5e-5
STEPS = (1e-2, 2e-2 / 3, 5e-3, 2e-3, 1e-3, 5e-4)
ROUNDS = 5
TIMES_A_SERIAL_ARM = 10.0
TIMES_A_TRACKER = 4.0
"""A plain call from the described assembly, over one that follows the motion."""
TIMES_PROJECTION = 3.0
"""A simulation by denoc."""
OURS = "dyn"


def ours(robot: LoopRobot, formulation: Any, h: float) -> np.ndarray:
    """The input angle, sampled, by one of our formulations with free active joints."""
    if formulation == "virtual_spring":
        q = simulate_with_springs(robot, duration=DURATION, torques=[0.0], h=h).q
    else:
        q = simulate(robot.using(formulation), duration=DURATION, torques=[0.0], h=h, method="rk4").q
    return q[:: round(SAMPLE / h), 0]


def mujoco_model(robot: LoopRobot, h: float) -> mujoco.MjModel:
    """The same four-bar with an equality constraint at the cut joint, as stiff as the step allows."""
    m = robot.mechanism
    loop = m.loops[0]
    held = {loop.first.body: loop.first, loop.second.body: loop.second}

    def body(j: int) -> str:
        c = m.MS[j] / m.M[j]
        about_c = np.diag(m.J[j]) - m.M[j] * (c @ c - c * c)
        about_c[0] = max(about_c[0], 1e-9)  # a body may not lack inertia there; nothing turns about that axis
        site = f'<site name="end{j}" pos="{_text(held[j].p)}"/>' if j in held else ""
        inside = "".join(body(k) for k in range(m.n) if m.parent[k] == j)
        return (
            f'<body name="b{j}" pos="{_text(m.p[j])}"><joint name="j{j}" type="hinge" axis="0 0 1"/>'
            f'<inertial pos="{_text(c)}" mass="{m.M[j]}" diaginertia="{_text(about_c)}"/>{site}{inside}</body>'
        )

    bodies = "".join(body(k) for k in range(m.n) if m.parent[k] < 0)
    first, second = loop.first.body, loop.second.body
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{h}" integrator="RK4" solver="Newton" tolerance="1e-14" iterations="200"'
        f' gravity="{_text(m.gravity)}"/><worldbody>{bodies}</worldbody><equality><connect site1="end{first}"'
        f' site2="end{second}" solref="{2 * h} 1" solimp="0.9999 0.9999 0.001"/></equality></mujoco>'
    )


def by_mujoco(model: mujoco.MjModel, start: np.ndarray) -> np.ndarray:
    """The input angle, sampled; the steps between samples run in MuJoCo's own loop."""
    data = mujoco.MjData(model)
    data.qpos[:] = start
    steps = round(SAMPLE / model.opt.timestep)
    samples = [start[0]]
    for _ in range(round(DURATION / SAMPLE)):
        mujoco.mj_step(model, data, nstep=steps)
        samples.append(data.qpos[0])
    return np.array(samples)


class PinocchioFourBar:
    """The same four-bar with a contact constraint of Pinocchio at the cut joint, stabilised as ours, and RK4."""

    def __init__(self, robot: LoopRobot) -> None:
        m = robot.mechanism
        self.model = pin.Model()
        self.model.gravity.linear = m.gravity
        for j in range(m.n):
            place = pin.SE3(m.R[j], m.p[j])
            self.model.addJoint(int(m.parent[j]) + 1, pin.JointModelRZ(), place, m.joint_names[j])
            c = m.MS[j] / m.M[j]
            about_c = m.J[j] - m.M[j] * (c @ c * np.eye(3) - np.outer(c, c))
            self.model.appendBodyToJoint(j + 1, pin.Inertia(m.M[j], c, about_c), pin.SE3.Identity())
        self.data = self.model.createData()
        first, second = m.loops[0].first, m.loops[0].second
        contact = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D, self.model, first.body + 1, pin.SE3(first.R, first.p), second.body + 1,
            pin.SE3(second.R, second.p), pin.LOCAL,
        )  # fmt: skip
        contact.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(ALPHA**2, 2 * ALPHA))
        self.contacts, self.contact_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        self.contacts.append(contact)
        self.contact_data.append(contact.createData())
        self.settings = pin.ProximalSettings(1e-14, 1e-12, 10)
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.contact_data)
        self.tau = np.zeros(m.n)

    def acceleration(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return pin.constraintDynamics(
            self.model, self.data, q, v, self.tau, self.contacts, self.contact_data, self.settings
        ).copy()

    def run(self, start: np.ndarray, h: float) -> np.ndarray:
        """The input angle, sampled."""
        q, v = start.copy(), np.zeros(len(start))
        every = round(SAMPLE / h)
        samples = [q[0]]
        for k in range(1, round(DURATION / h) + 1):
            a1 = self.acceleration(q, v)
            v2 = v + h / 2 * a1
            a2 = self.acceleration(q + h / 2 * v, v2)
            v3 = v + h / 2 * a2
            a3 = self.acceleration(q + h / 2 * v2, v3)
            v4 = v + h * a3
            a4 = self.acceleration(q + h * v3, v4)
            q = q + h / 6 * (v + 2 * v2 + 2 * v3 + v4)
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            if k % every == 0:
                samples.append(q[0])
        return np.array(samples)


def ways(robot: LoopRobot, start: np.ndarray) -> dict[str, Callable[[float], Callable[[], np.ndarray]]]:
    """Each way to simulate: from a step to a run."""
    peer = PinocchioFourBar(robot)

    def one_of_ours(formulation: str) -> Callable[[float], Callable[[], np.ndarray]]:
        return lambda h: lambda: ours(robot, formulation, h)

    def mujoco_at(h: float) -> Callable[[], np.ndarray]:
        model = mujoco_model(robot, h)
        return lambda: by_mujoco(model, start)

    return {
        **{f"{OURS} {formulation}": one_of_ours(formulation) for formulation in FORMULATIONS},
        "mujoco RK4, connect": mujoco_at,
        "pinocchio constraintDynamics": lambda h: lambda: peer.run(start, h),
    }


def simulations() -> dict[str, Any]:
    """Error reached and time taken of every way at every step, and ours beside each peer at equal accuracy."""
    robot = load_robot("four_bar_wang")
    assert isinstance(robot, LoopRobot)
    start = robot.all_positions(robot.neutral())
    reference = ours(robot, "projection", REFERENCE_STEP)
    check = float(np.abs(ours(robot, "multipliers", REFERENCE_STEP) - reference).max())
    runs = [(name, h, make(h)) for name, make in ways(robot, start).items() for h in STEPS]
    errors = [_error(run, reference) for _, _, run in runs]
    times = np.array([[_seconds(run) for _, _, run in runs] for _ in range(ROUNDS)])
    rows = [
        {"way": name, "step": h, "error": error, "seconds": float(np.median(times[:, k]))}
        for k, ((name, h, _), error) in enumerate(zip(runs, errors, strict=True))
    ]
    return {"reference_agrees_with_multipliers_to": check, "rows": rows, "equal_accuracy": _equal_accuracy(rows, times)}


def _equal_accuracy(rows: list[dict[str, Any]], times: np.ndarray) -> list[dict[str, Any]]:
    """For every run of a peer, our fastest run that is at least as accurate; the ratio of times within each round."""
    found = []
    for k, row in enumerate(rows):
        if row["way"].startswith(OURS) or row["error"] is None:
            continue
        able = [
            i
            for i, other in enumerate(rows)
            if other["way"].startswith(OURS) and other["error"] is not None and other["error"] <= row["error"]
        ]
        best = min(able, key=lambda i: rows[i]["seconds"], default=None)
        ratio = None if best is None else float(np.median(times[:, best] / times[:, k]))
        ours_at = None if best is None else {key: rows[best][key] for key in ("way", "step", "error", "seconds")}
        found.append({"peer": row["way"], "step": row["step"], "error": row["error"], "ours": ours_at, "ratio": ratio})
    return found


def _error(run: Callable[[], np.ndarray], reference: np.ndarray) -> float | None:
    """Largest difference from the reference, rad; None where the run does not reach the end."""
    found = run()
    if len(found) != len(reference) or not np.isfinite(found).all():
        return None
    return float(np.abs(found - reference).max())


def _seconds(run: Callable[[], np.ndarray]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def five_bar() -> Comparison:
    """Inverse dynamics of the five-bar along a motion, by a tracker, beside a serial arm of the same four bodies."""
    robot = load_robot("five_bar_saha")
    assert isinstance(robot, LoopRobot)
    m = robot.mechanism
    arm = TreeRobot(dataclasses.replace(m, parent=np.arange(-1, m.n - 1), loops=(), assembly=None))
    t = np.arange(256)[:, None] * 2 * np.pi / 256
    phase = np.arange(m.n)
    q, qd, qdd = 0.2 * np.sin(t + phase), 0.2 * np.cos(t + phase), -0.2 * np.sin(t + phase)
    a = robot.joints
    start = robot.neutral()
    closed = cycle([(start + q[k, a], qd[k, a].copy(), qdd[k, a].copy()) for k in range(len(t))])
    serial = cycle([(q[k].copy(), qd[k].copy(), qdd[k].copy()) for k in range(len(t))])
    work, peer = "five-bar inverse dynamics, by a tracker", f"serial arm of {m.n} bodies"
    state = next(closed)
    answers = robot.inverse_dynamics(*state), robot.using("multipliers").inverse_dynamics(*state)
    require_same(work, "multipliers", answers)
    tracker = robot.tracker()
    times = alternate(lambda: tracker.inverse_dynamics(*next(closed)), lambda: arm.inverse_dynamics(*next(serial)))
    return _compared(work, peer, times, TIMES_A_SERIAL_ARM)


def followed(name: str, reach: float) -> Comparison:
    """One inverse dynamics: plain calls at random states, and a tracker along a motion among them.

    reach: rad or m, of the active joints about the described configuration.
    """
    robot = load_robot(name)
    rng = np.random.default_rng(0)
    start = robot.neutral()
    t = np.arange(256)[:, None] * 2 * np.pi / 256 + np.arange(robot.n)
    speeds = rng.normal(size=(2, 256, robot.n))
    plain = cycle(zip(start + rng.uniform(-reach, reach, (256, robot.n)), *speeds, strict=True))
    along = cycle(zip(start + reach * np.sin(t), *speeds, strict=True))
    tracker = robot.tracker()
    work, peer = f"{name} inverse dynamics, a plain call", "a tracker along a motion"
    state = next(along)
    require_same(work, peer, (robot.inverse_dynamics(*state), tracker.inverse_dynamics(*state)))
    times = alternate(lambda: robot.inverse_dynamics(*next(plain)), lambda: tracker.inverse_dynamics(*next(along)))
    return _compared(work, peer, times, TIMES_A_TRACKER)


def by_denoc(name: str) -> Comparison:
    """A simulation held near the described configuration, by denoc and by projection."""
    robot = load_robot(name)
    q0, rest = robot.neutral(), np.zeros(robot.n)
    given = {"q0": q0, "duration": 0.1, "torques": robot.inverse_dynamics(q0, rest, rest), "h": 1e-3, "method": "rk4"}

    def simulated(formulation: Any) -> np.ndarray:
        return simulate(robot.using(formulation), **given).q

    work, peer = f"{name}, 0.1 s simulated by denoc", "by projection"
    require_same(work, peer, (simulated("denoc"), simulated("projection")))
    times = alternate(lambda: simulated("denoc"), lambda: simulated("projection"))
    return _compared(work, peer, times, TIMES_PROJECTION)


def _compared(work: str, peer: str, times: np.ndarray, goal: float) -> Comparison:
    low, ratio, high = np.percentile(times[:, 0] / times[:, 1], [10, 50, 90])
    mine, other = np.median(times, axis=0)
    return Comparison(work, peer, *(float(x) for x in (mine, other, ratio, low, high)), goal)


def run() -> dict[str, Any]:
    """All figures."""
    rows = [five_bar(), followed("five_bar_saha", 0.3), followed("gough_stewart", 0.05)]
    rows += [by_denoc(name) for name in ("four_bar_wang", "five_bar_saha", "gough_stewart")]
    return {"four_bar_wang": simulations(), "rows": [dataclasses.asdict(row) for row in rows]}


def table(figures: dict[str, Any]) -> list[str]:
    """The lines to print."""
    found = figures["four_bar_wang"]
    lines = [
        f"four_bar_wang, {DURATION:g} s of free motion: largest error of the input angle (rad), and time taken (ms)",
        f"{'way':30}" + "".join(f"{f'h = {1e3 * h:.3g} ms':>21}" for h in STEPS),
    ]
    for way in dict.fromkeys(row["way"] for row in found["rows"]):
        cells = [row for row in found["rows"] if row["way"] == way]
        lines.append(f"{way:30}" + "".join(f"{_error_text(c['error'])} {1e3 * c['seconds']:8.1f} ms" for c in cells))
    lines.append(f"projection and multipliers agree to {found['reference_agrees_with_multipliers_to']:.1e} rad")
    lines.append("")
    lines.append(f"{'at equal accuracy: peer':30} {'error':>8}   ours, fastest that is as accurate     ratio of times")
    for row in found["equal_accuracy"]:
        head = f"{row['peer']:30} {row['error']:8.1e}"
        if row["ours"] is None:
            lines.append(f"{head}   none of ours at these steps is as accurate")
            continue
        mine = f"{row['ours']['way']}, h = {1e3 * row['ours']['step']:.3g} ms, {row['ours']['error']:.1e}"
        met = "ahead" if row["ratio"] < 1.0 else "behind"
        lines.append(f"{head}   {mine:45} {row['ratio']:8.4f}  {met}")
    lines.append("")
    lines.append(Comparison.HEAD)
    return lines + [Comparison(**row).row() for row in figures["rows"]]


def _error_text(error: float | None) -> str:
    return f"{'fails':>9}" if error is None else f"{error:9.1e}"


def _text(values: Any) -> str:
    return " ".join(f"{float(x):.17g}" for x in values)
