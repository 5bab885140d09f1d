"""Simulating puma560 with its motors: how much faster than real time, and beside MuJoCo's mj_step.

Both sides integrate the same arm without Coulomb friction (MuJoCo's is a soft constraint, not the same force), with
viscous friction, rotor inertia and motors driven by volts, and must give the same accelerations. Equals are compared
with equals: semi-implicit Euler (MuJoCo's default: first order, one evaluation of the dynamics per step), and RK4 (four
evaluations); both must end in the same place. Beside them stands our default, rk3 (third order, three evaluations),
with MuJoCo's default, to which it is three times the work; it must end where MuJoCo's RK4 does. The general model runs
any robot; the customised one (`Robot.customised`) is code of this arm. Driven from Python means that Python sets the
voltage before every step, on both sides.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import mujoco
import numpy as np

from bench.compare import Comparison, compare, require_same, verdict
from dyn_core import Robot, load_robot, simulate
from dyn_core.robots import TreeRobot, customise
from dyn_core.simulation import Stepper

H = 1e-3
DURATION = 10.0
STEPS = 1000
VOLTS = np.array([1.0, 2.0, 3.0, 0.5, 0.5, 0.5])
REAL_TIME_GOAL = 200.0
TIMES_MUJOCO = 5.0
NEEDED = "the customised model, which has its own rows"
REPEATS = 15


def peer_of(robot: Robot, integrator: Any) -> mujoco.MjModel:
    """The same arm in MuJoCo, through its URDF, with motors as actuators: tau = e (V - e qd) / R, e = G Kt."""
    tree = ElementTree.fromstring(robot.urdf())
    for joint in tree.iter("joint"):
        for limit in joint.findall("limit"):
            joint.remove(limit)
        if joint.get("type") == "revolute":
            joint.set("type", "continuous")
    spec = mujoco.MjSpec.from_string(ElementTree.tostring(tree, encoding="unicode"))
    spec.option.timestep = H
    spec.option.integrator = integrator
    spec.option.gravity = robot.mechanism.gravity
    motors = robot.mechanism.motors
    assert motors is not None
    for j, name in enumerate(robot.joint_names):
        e = motors.gear[j] * motors.Kt[j]
        actuator = spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        actuator.gainprm[0] = e / motors.resistance[j]
        actuator.biastype = mujoco.mjtBias.mjBIAS_AFFINE
        actuator.biasprm[2] = -(e**2) / motors.resistance[j]
        for what, limit in (("force", abs(e) * motors.current_limit[j]), ("ctrl", motors.voltage_limit[j])):
            if np.isfinite(limit):
                setattr(actuator, f"{what}limited", True)
                setattr(actuator, f"{what}range", [-limit, limit])
    model = spec.compile()
    model.dof_armature[:], model.dof_damping[:], model.dof_frictionloss[:] = robot.mechanism.Ia, robot.mechanism.Fv, 0.0
    return model


def run() -> dict[str, Any]:
    """Real-time factors, and steps side by side."""
    puma = load_robot("puma560")
    smooth = TreeRobot(dataclasses.replace(puma.mechanism, Fs=np.zeros(puma.n)))
    euler = peer_of(smooth, mujoco.mjtIntegrator.mjINT_EULER)
    rk4 = peer_of(smooth, mujoco.mjtIntegrator.mjINT_RK4)
    _same_accelerations(smooth, rk4)
    rows = []
    for robot, label, needed in ((smooth, "", NEEDED), (customise(smooth, "direct"), " customised", "")):
        for method, peer, model, alike in (
            ("euler", "Euler", euler, euler),
            ("rk3", "Euler (a third of the work)", euler, rk4),
            ("rk4", "RK4", rk4, rk4),
        ):
            moved = simulate(robot, duration=STEPS * H, volts=VOLTS, h=H, method=method)
            answers = moved.q[-1], _moved_by_mujoco(alike)
            for work, ours, theirs in (
                ("driven from Python", _stepped(robot, method), _peer_stepped(model)),
                ("voltage held, one call", _held(robot, method), _peer_held(model)),
            ):
                what = f"{STEPS} steps of puma560, {method}{label}, {work}"
                row = compare(what, ours, f"mj_step, {peer}", theirs, 1.0 / TIMES_MUJOCO, answers)
                rows.append(dataclasses.replace(row, needed=needed))
    return {"real_time": _real_time(puma), "rows": [dataclasses.asdict(row) for row in rows]}


def _real_time(robot: Robot) -> dict[str, Any]:
    """10 s at 1 ms, rk3, all steps recorded: medians of the thread's time and of the clock's, over real time."""
    taken = []
    for _ in range(REPEATS):
        began = time.thread_time(), time.perf_counter()
        result = simulate(robot, duration=DURATION, volts=VOLTS, h=H)
        taken.append((time.thread_time() - began[0], time.perf_counter() - began[1]))
        assert not result.failure
    low, ratio, high = np.percentile(np.array(taken)[:, 0] / DURATION, [10, 50, 90])
    return {
        "work": f"{DURATION:g} s of puma560 with motors at 1 ms, rk3",
        "peer": "real time",
        "ratio": float(ratio),
        "low": float(low),
        "high": float(high),
        "by_the_clock": float(np.median(taken, axis=0)[1] / DURATION),
        "goal": 1.0 / REAL_TIME_GOAL,
    }


def _same_accelerations(robot: Robot, model: mujoco.MjModel) -> None:
    data = mujoco.MjData(model)
    rng = np.random.default_rng(0)
    found, expected = [], []
    for _ in range(10):
        q, qd, volts = rng.uniform(-1.0, 1.0, (3, robot.n))
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, qd, volts
        mujoco.mj_forward(model, data)
        expected.append(data.qacc.copy())
        found.append(robot.forward_dynamics(q, qd, robot.actuation.torques(volts, qd)[0]))
    require_same("accelerations", "MuJoCo", (found, expected))


def _moved_by_mujoco(model: mujoco.MjModel) -> np.ndarray:
    """Where the arm is after STEPS."""
    data = mujoco.MjData(model)
    data.ctrl[:] = VOLTS
    mujoco.mj_step(model, data, nstep=STEPS)
    return data.qpos.copy()


def _stepped(robot: Robot, method: str) -> Callable[[], None]:
    stepper = Stepper(robot, h=H, method=method)

    def call() -> None:
        stepper.reset()
        for _ in range(STEPS):
            stepper.step(VOLTS)

    return call


def _held(robot: Robot, method: str) -> Callable[[], None]:
    stepper = Stepper(robot, h=H, method=method)

    def call() -> None:
        stepper.reset()
        stepper.step(VOLTS, STEPS)

    return call


def _peer_stepped(model: mujoco.MjModel) -> Callable[[], None]:
    data = mujoco.MjData(model)

    def call() -> None:
        mujoco.mj_resetData(model, data)
        for _ in range(STEPS):
            data.ctrl[:] = VOLTS
            mujoco.mj_step(model, data)

    return call


def _peer_held(model: mujoco.MjModel) -> Callable[[], None]:
    data = mujoco.MjData(model)

    def call() -> None:
        mujoco.mj_resetData(model, data)
        data.ctrl[:] = VOLTS
        mujoco.mj_step(model, data, nstep=STEPS)

    return call


def table(figures: dict[str, Any]) -> list[str]:
    """The figures as lines."""
    found = figures["real_time"]
    lines = [
        f"{found['work']}, every step recorded: {1.0 / found['ratio']:.0f} times real time by the thread's time,"
        f" {1.0 / found['by_the_clock']:.0f} by the clock  goal {REAL_TIME_GOAL:g}:"
        f" {verdict(found['ratio'], found['goal'])}",
        Comparison.HEAD,
    ]
    for row in figures["rows"]:
        rates = f"{STEPS / row['ours']:.0f} and {STEPS / row['theirs']:.0f} steps/s"
        lines += [Comparison(**row).row(), f"  {rates}: {1.0 / row['ratio']:.2f} times as many"]
    return lines
