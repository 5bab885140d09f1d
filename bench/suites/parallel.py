"""The Gough-Stewart platform: two seconds of gough_stewart_wang by springs, closed, and by peers; (66) in a 1 kHz loop.

The paper needs 6 s of computing for these 2 s on one processor, and 0.4 s on three. Errors are the largest difference
of the platform's position over the two seconds from a closed motion of very small steps; the springs' own error is
what their stiffness k = 5e4 N/m explains. Times are processor time of one thread, which other work on the machine
disturbs little; what a second core brings is measured by the clock on the wall.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

from dyn_core import load_robot
from dyn_core.jit.kernel import SIMD
from dyn_core.robots import LoopRobot, ParallelRobot
from dyn_core.simulation import platform as simulated
from dyn_core.simulation import simulate_platform
from papers.wang2001.platform import B, K, force

DURATION = 2.0
H = 1e-3
ROUNDS = 5
BATCH = 500
"""States in one call: too few to be shared out among cores."""
CYCLE = 1e-3
"""s, of the control loop."""
GOAL = 20.0
"""Times real time on one core, with springs."""


def platform(name: str = "gough_stewart_wang") -> ParallelRobot:
    robot = load_robot(name)
    assert isinstance(robot, ParallelRobot)
    return robot


def mujoco_model(robot: ParallelRobot, h: float) -> mujoco.MjModel:
    """The same platform: a free body, legs of two hinges and a slide, tied by `connect` as stiff as the step allows."""
    m = robot.mechanism
    legs, ties, names = [], [], []
    for i, loop in enumerate(m.loops):
        a, b, c = 3 * i, 3 * i + 1, 3 * i + 2
        R = m.R[a] @ m.R[b] @ m.R[c]  # the rod's frame at zero angles
        axes = R.T @ m.R[a][:, 2], R.T @ (m.R[a] @ m.R[b])[:, 2]
        legs.append(
            f'<body pos="{_text(m.p[a])}" quat="{_quaternion(R)}"><joint type="hinge" axis="{_text(axes[0])}"/>'
            f'<joint type="hinge" axis="{_text(axes[1])}"/>{_inertial(m, b, m.R[c].T)}'
            f'<body><joint name="slide{i}" type="slide" axis="0 0 1"/>{_inertial(m, c, np.eye(3))}'
            f'<site name="tip{i}"/></body></body>'
        )
        names.append(f'<site name="at{i}" pos="{_text(loop.second.p)}"/>')
        ties.append(f'<connect site1="tip{i}" site2="at{i}" solref="{2 * h} 1" solimp="0.9999 0.9999 0.001"/>')
    T = robot.platform.home_of("platform")
    body = m.frame("platform")
    R = T[:3, :3] @ body.R.T
    free = f'<body pos="{_text(T[:3, 3])}" quat="{_quaternion(R)}"><freejoint/>{_inertial(m, m.n - 1, np.eye(3))}'
    free += "".join(names) + "</body>"
    motors = "".join(f'<motor joint="slide{i}"/>' for i in range(6))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{h}" integrator="RK4" solver="Newton" tolerance="1e-14" iterations="200"'
        f' gravity="{_text(m.gravity)}"/><worldbody>{"".join(legs)}{free}</worldbody><actuator>{motors}</actuator>'
        f"<equality>{''.join(ties)}</equality></mujoco>"
    )
    return model


def _inertial(m: Any, j: int, turn: np.ndarray) -> str:
    """The body's inertia in axes turned so; a rod without inertia about its axis is given next to none, as it must."""
    c = m.MS[j] / m.M[j]
    about_c = turn @ (m.J[j] - m.M[j] * (c @ c * np.eye(3) - np.outer(c, c))) @ turn.T
    return (
        f'<inertial pos="{_text(turn @ c)}" mass="{m.M[j]}" diaginertia="{_text(np.maximum(np.diag(about_c), 1e-7))}"/>'
    )


def by_mujoco(robot: ParallelRobot, h: float) -> tuple[np.ndarray, float]:
    """Positions of the platform every H, and seconds taken."""
    model = mujoco_model(robot, h)
    data = mujoco.MjData(model)
    data.qpos[:18] = robot.reference[:18]
    steps, each = round(DURATION / H), round(H / h)
    out = np.empty((steps + 1, 3))
    out[0] = data.qpos[18:21]
    start = time.thread_time()
    for i in range(steps):
        for k in range(each):
            data.ctrl[:] = force(i * H + (k + 0.5) * h)
            mujoco.mj_step(model, data)
        out[i + 1] = data.qpos[18:21]
    return out, time.thread_time() - start


class PinocchioPlatform:
    """The same platform with six contact constraints, RK4 in Python over constraintDynamics in C++."""

    def __init__(self, robot: ParallelRobot) -> None:
        m = robot.mechanism
        self.model = pin.Model()
        self.model.gravity.linear = m.gravity
        for j in range(18):
            kind = pin.JointModelPZ() if m.joint_type[j] else pin.JointModelRZ()
            self.model.addJoint(int(m.parent[j]) + 1, kind, pin.SE3(m.R[j], m.p[j]), m.joint_names[j])
            if m.M[j] > 0.0:
                self._body(m, j, j + 1)
        free = self.model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "platform")
        self._body(m, m.n - 1, free)
        self.data = self.model.createData()
        self.contacts, self.contact_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        for i, loop in enumerate(m.loops):
            contact = pin.RigidConstraintModel(
                pin.ContactType.CONTACT_3D, self.model, 3 * i + 3, pin.SE3(loop.first.R, loop.first.p), free,
                pin.SE3(loop.second.R, loop.second.p), pin.LOCAL,
            )  # fmt: skip
            contact.setBaumgarteCorrectorParameters(pin.BaumgarteCorrectorParameters(100.0, 20.0))
            self.contacts.append(contact)
            self.contact_data.append(contact.createData())
        self.settings = pin.ProximalSettings(1e-12, 1e-10, 10)
        pin.initConstraintDynamics(self.model, self.data, self.contacts, self.contact_data)
        self.start = np.concatenate([robot.reference[:18], robot.layout.home[-7:]])
        self.tau = np.zeros(self.model.nv)

    def _body(self, m: Any, j: int, joint: int) -> None:
        c = m.MS[j] / m.M[j]
        about_c = m.J[j] - m.M[j] * (c @ c * np.eye(3) - np.outer(c, c))
        self.model.appendBodyToJoint(joint, pin.Inertia(m.M[j], c, about_c), pin.SE3.Identity())

    def acceleration(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        self.tau[2:18:3] = force(t)
        return pin.constraintDynamics(
            self.model, self.data, q, v, self.tau, self.contacts, self.contact_data, self.settings
        ).copy()

    def run(self, h: float) -> tuple[np.ndarray, float]:
        q, v = self.start.copy(), np.zeros(self.model.nv)
        out = [q[18:21].copy()]
        begin = time.thread_time()
        for k in range(round(DURATION / h)):
            t = k * h
            a1 = self.acceleration(q, v, t)
            v2 = v + h / 2 * a1
            a2 = self.acceleration(pin.integrate(self.model, q, h / 2 * v), v2, t + h / 2)
            v3 = v + h / 2 * a2
            a3 = self.acceleration(pin.integrate(self.model, q, h / 2 * v2), v3, t + h / 2)
            v4 = v + h * a3
            a4 = self.acceleration(pin.integrate(self.model, q, h * v3), v4, t + h)
            q = pin.integrate(self.model, q, h / 6 * (v + 2 * v2 + 2 * v3 + v4))
            v = v + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
            out.append(q[18:21].copy())
        return np.array(out), time.thread_time() - begin


def ours(robot: ParallelRobot, springs: bool, substeps: int = 1) -> tuple[np.ndarray, float]:
    given: dict[str, Any] = {"k": K, "b": B} if springs else {"through_singularities": True}
    start = time.thread_time()
    found = simulate_platform(robot, duration=DURATION, forces=force, h=H, substeps=substeps, **given)
    return found.pose[:, :3, 3], time.thread_time() - start


def run() -> dict[str, Any]:
    """All figures."""
    robot = platform()
    reference, _ = ours(robot, springs=False, substeps=8)
    peer = PinocchioPlatform(robot)
    ways: dict[str, Callable[[], tuple[np.ndarray, float]]] = {
        "dyn, virtual springs, 1 ms": lambda: ours(robot, springs=True),
        "dyn, virtual springs, 0.5 ms": lambda: ours(robot, springs=True, substeps=2),
        "dyn, closed legs, 1 ms": lambda: ours(robot, springs=False),
        "mujoco RK4, connect, 1 ms": lambda: by_mujoco(robot, H),
        "mujoco RK4, connect, 0.25 ms": lambda: by_mujoco(robot, H / 4),
        "pinocchio constraintDynamics, 1 ms": lambda: peer.run(H),
    }
    rows = []
    for name, way in ways.items():
        found = [way() for _ in range(ROUNDS)]
        x = found[-1][0]
        whole = len(x) == len(reference) and np.isfinite(x).all()
        seconds = float(np.min([s for _, s in found]))
        error = float(np.abs(x - reference).max()) if whole else None
        rows.append({"way": name, "seconds": seconds, "times_real_time": DURATION / seconds, "error": error})
    legs = legs_at_once(robot) if SIMD else None
    return {"simulation": rows, "legs": legs, "second_core": second_core(robot), "control": control(robot)}


def legs_at_once(robot: ParallelRobot) -> dict[str, float]:
    """Seconds of the springs' simulation with the legs one after the other and at once in SIMD lanes, turn about."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(ROUNDS + 1):
        for at_once in seconds:
            simulated.SIMD = at_once
            seconds[at_once].append(ours(robot, springs=True)[1])
    simulated.SIMD = SIMD
    one_by_one, lanes = (min(seconds[at_once][1:]) for at_once in (False, True))
    return {"one_after_the_other": one_by_one, "at_once": lanes, "gain": one_by_one / lanes}


def second_core(robot: ParallelRobot) -> dict[str, float]:
    """What a second core brings to two simulations at once; a single one runs on one core."""
    single, together = [], []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(ROUNDS):
            start = time.perf_counter()
            ours(robot, True)
            single.append(time.perf_counter() - start)
            start = time.perf_counter()
            list(pool.map(lambda other: ours(other, True), (robot, platform())))
            together.append(time.perf_counter() - start)
    return {
        "two_at_once_gain": 2.0 * min(single) / min(together),
        "cores": float(len(os.sched_getaffinity(0))),
    }


def control(robot: ParallelRobot) -> list[dict[str, Any]]:
    """Inverse dynamics in a control cycle of 1 ms: (66), the general projection, Pinocchio's RNEA of the open tree.

    States that jump by up to 1 cm per leg, one call for each, or all in one call.
    """
    rng = np.random.default_rng(0)
    states = [
        (robot.neutral() + rng.uniform(-0.01, 0.01, 6), rng.normal(size=6), rng.normal(size=6)) for _ in range(50)
    ]
    general = LoopRobot(robot.mechanism)
    for state in states:
        np.testing.assert_allclose(
            robot.inverse_dynamics(*state), general.inverse_dynamics(*state), rtol=1e-9, atol=1e-9
        )
    peer = PinocchioPlatform(robot)
    q, v = peer.start, rng.normal(size=peer.model.nv)
    batch = [np.tile(np.array(x), (BATCH // len(states), 1)) for x in zip(*states, strict=True)]
    motions = robot.forward_kinematics(batch[0]), *robot.platform.motion(*batch)
    rows = []
    for name, call in {
        "dyn (66), kinematics included": lambda: [robot.inverse_dynamics(*s) for s in states],
        "dyn general projection": lambda: [general.inverse_dynamics(*s) for s in states],
        "dyn (66), all states in one call": lambda: robot.inverse_dynamics(*batch),
        "dyn (66) at poses, all in one call": lambda: robot.platform.inverse_dynamics(*motions),
        "dyn general projection, in one call": lambda: general.inverse_dynamics(*batch),
        "pinocchio rnea, open tree only": lambda: [pin.rnea(peer.model, peer.data, q, v, v) for _ in states],
    }.items():
        seconds = _per_call(call, 20) / (BATCH if "in one call" in name else len(states))
        rows.append({"work": name, "seconds": seconds, "share_of_cycle": seconds / CYCLE})
    return rows


def _per_call(call: Callable[[], Any], count: int) -> float:
    call()
    best = np.inf
    for _ in range(ROUNDS):
        start = time.thread_time()
        for _ in range(count):
            call()
        best = min(best, (time.thread_time() - start) / count)
    return float(best)


def table(figures: dict[str, Any]) -> list[str]:
    """The lines to print."""
    lines = [
        f"gough_stewart_wang, {DURATION:g} s of the paper's motion (its authors: 6 s on one processor, 0.4 s on three)"
    ]
    lines.append(f"{'way':36} {'time':>10} {'x real time':>12} {'error (m)':>10}")
    for row in figures["simulation"]:
        error = "fails" if row["error"] is None else f"{row['error']:.1e}"
        lines.append(f"{row['way']:36} {1e3 * row['seconds']:7.1f} ms {row['times_real_time']:12.1f} {error:>10}")
    first = figures["simulation"][0]["times_real_time"]
    lines.append(f"goal with springs on one core: {GOAL:g} x real time: {'met' if first >= GOAL else 'missed'}")
    if (legs := figures["legs"]) is not None:
        lines.append(
            f"the six legs at once in SIMD lanes: {1e3 * legs['at_once']:.1f} ms, {legs['gain']:.2f} times as fast as"
            f" one after the other ({1e3 * legs['one_after_the_other']:.1f} ms); the paper's three processors: 15 times"
        )
    second = figures["second_core"]
    lines.append(
        f"a second core: two simulations at once are {second['two_at_once_gain']:.2f} times as fast as one after the"
        " other"
    )
    lines.append("")
    lines.append(f"{'inverse dynamics, one state':36} {'time':>10} {'of 1 ms':>12}")
    for row in figures["control"]:
        lines.append(f"{row['work']:36} {1e6 * row['seconds']:7.1f} us {100 * row['share_of_cycle']:10.2f} %")
    return lines


def _text(values: Any) -> str:
    return " ".join(f"{float(x):.17g}" for x in values)


def _quaternion(R: np.ndarray) -> str:
    x, y, z, w = pin.Quaternion(R).coeffs()
    return _text((w, x, y, z))
