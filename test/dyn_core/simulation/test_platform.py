"""Platforms simulated in their own pose: against the general simulation, conservation laws, and by springs."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from random_parallel import MAKERS, load, rotation
from scipy.integrate import simpson

from dyn_core import load_robot
from dyn_core.dynamics.platform import legs_in_lanes
from dyn_core.errors import InputError, WorkspaceError
from dyn_core.jit.kernel import SIMD
from dyn_core.robots import Formulation, LoopRobot, ParallelRobot
from dyn_core.simulation import platform, simulate, simulate_platform, simulate_with_springs
from papers.wang2001.platform import euler_angles, force


def wang() -> ParallelRobot:
    robot = load_robot("gough_stewart_wang")
    assert isinstance(robot, ParallelRobot)
    return robot


def without_coulomb_friction(kind: str, folder: Path) -> ParallelRobot:
    return load(folder, re.sub(r"coulomb: [\d.e-]+", "coulomb: 0", MAKERS[kind](np.random.default_rng(5))))


@pytest.mark.parametrize("kind", ["ups", "rss", "3-rrr", "delta"])
def test_it_moves_as_the_general_simulation_does(kind: str, tmp_path: Path) -> None:
    """Random robots under held forces, by the tree with multipliers: other coordinates, another formulation.

    Without Coulomb friction, which each integrator makes continuous over its own step.
    """
    robot = without_coulomb_friction(kind, tmp_path)
    forces = robot.gravity_forces(robot.neutral()) + 5.0 * np.cos(np.arange(robot.n))
    tree = LoopRobot(robot.mechanism, "multipliers")
    general = simulate(tree, robot.neutral(), duration=0.1, torques=forces, h=1e-3, method="rk4")
    own = simulate_platform(robot, duration=0.1, forces=forces, h=1e-3, substeps=2)
    assert own.failure == general.failure == ""
    assert np.abs(own.q[-1] - own.q[0]).max() > 1e-3
    np.testing.assert_allclose(own.q, general.q, atol=2e-6)
    np.testing.assert_allclose(own.pose[-1], robot.forward_kinematics(own.q[-1], "platform"), atol=1e-8)


def test_simulate_runs_it_compiled_as_any_robot() -> None:
    robot = wang()
    own = simulate_platform(robot, duration=0.2, forces=np.full(6, 4.0), h=1e-3)
    face = simulate(robot, duration=0.2, torques=np.full(6, 4.0), h=1e-3, method="rk4")
    np.testing.assert_allclose(face.q, own.q, atol=1e-8)


def test_both_end_before_a_singularity() -> None:
    """The paper's motion comes to one at about 0.39 s, where the legs hold the platform no longer."""
    robot = wang()
    own = simulate_platform(robot, duration=0.6, forces=force, h=1e-3)
    assert "hold the platform no longer" in own.failure
    assert 0.37 < own.t[-1] < 0.4
    assert robot.platform.singularity_distance(own.pose[-1], "platform") > 0.0
    face = simulate(robot, duration=0.6, torques=[force(t) for t in np.arange(0.0, 0.6, 1e-3)], h=1e-3, method="rk4")
    assert "singular" in face.failure
    assert 0.37 < face.t[-1] < 0.4
    through = simulate_platform(robot, duration=0.6, forces=force, h=1e-3, through_singularities=True)
    assert through.failure == ""
    assert len(through.t) == 601


def test_energy_and_the_work_of_the_legs() -> None:
    """Kinetic and potential energy change by the forces' work, through the tumble too."""
    robot = wang()
    result = simulate_platform(robot, duration=1.0, forces=force, h=1e-3, through_singularities=True)
    m = robot.mechanism

    def energy(k: int) -> float:
        _, _, seven, twist, _ = robot.platform.body_motion(result.pose[k], result.twist[k], None, "platform")
        at, rates, *_ = robot.layout.solve_legs(seven, twist, np.zeros((1, 6)))
        q, legs = robot.layout.full_of(at[0]), rates.shape[1]
        v, w = result.twist[k, :3], result.twist[k, 3:]
        kinetic = 0.5 * (rates[0] @ robot.tree.mass_matrix(q)[:legs, :legs] @ rates[0] + 1.5 * v @ v + 0.08 * w @ w)
        potential = 0.0
        for frame, T, mass, moment in zip(m.frames, robot.tree.link_poses(q), m.M, m.MS, strict=False):
            if mass > 0.0:
                com = T[:3, :3] @ frame.R.T @ (moment / mass - frame.p) + T[:3, 3]
                potential -= mass * m.gravity @ com
        return float(kinetic + potential)

    power = np.einsum("mi,mi->m", result.tau, result.qd)
    for k in (300, 600, 1000):
        work = simpson(power[: k + 1], dx=1e-3)
        np.testing.assert_allclose(energy(k) - energy(0), work, atol=2e-5)


def test_springs_come_to_the_closed_motion_as_k_grows() -> None:
    """The difference falls as 1/k; constraint errors are of the order that the paper prints."""
    robot = wang()
    exact = simulate_platform(robot, duration=0.5, forces=force, h=1e-3, substeps=4, through_singularities=True)
    apart = []
    for k, b in ((5e4, 50.0), (5e5, 160.0)):
        found = simulate_platform(robot, duration=0.5, forces=force, h=1e-3, k=k, b=b)
        assert found.failure == ""
        apart.append(np.abs(found.pose - exact.pose).max())
        if k == 5e4:
            assert 1e-5 < np.median(np.abs(found.gap)) < 5e-4
            assert np.abs(found.gap).max() < 2e-3
            assert 1e-5 < np.median(np.abs(found.gap_rate)) < 5e-3
    assert 8.0 < apart[0] / apart[1] < 12.0


@pytest.mark.parametrize("swap", [False, True])
def test_springs_move_it_as_the_general_simulation_does(swap: bool) -> None:
    """The same springs and dampers on all joints of the tree, whichever body of a cut joint is called the first."""
    robot = wang()
    m = robot.mechanism
    if swap:
        m = replace(m, loops=tuple(replace(loop, first=loop.second, second=loop.first) for loop in m.loops))
        robot = ParallelRobot(m)
    start = robot.reference
    own = simulate_platform(robot, duration=0.2, forces=np.full(6, 4.0), h=1e-3, k=5e3, b=200.0, substeps=8)
    tree = LoopRobot(wang().mechanism)
    speeds = np.zeros(len(start))
    general = simulate_with_springs(
        tree, start, speeds, duration=0.2, torques=np.full(6, 4.0), h=1e-3, k=5e3, b=200.0, substeps=8
    )
    assert own.failure == general.failure == ""
    assert np.abs(own.gap).max() > 5e-4
    np.testing.assert_allclose(own.q, general.q, atol=1e-8)


@pytest.mark.skipif(not SIMD, reason="there are no lanes")
@pytest.mark.parametrize("kind", ["wang", "ups", "rss", "3-rrr", "delta"])
def test_legs_at_once_move_as_one_after_the_other(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One leg per SIMD lane: the same source, another order of summing."""
    robot = wang() if kind == "wang" else without_coulomb_friction(kind, tmp_path)
    springs = {"k": 1e5, "b": 50.0, "duration": 0.02, "h": 1e-3, "forces": np.full(robot.n, 4.0)}
    record, par = robot.layout.record, robot.layout.workspaces.new().par
    assert legs_in_lanes.leg_lanes(record, par) is not None
    at_once = simulate_platform(robot, **springs)
    monkeypatch.setattr(platform, "SIMD", False)
    one_by_one = simulate_platform(robot, **springs)
    assert at_once.failure == one_by_one.failure == ""
    for name in ("pose", "twist", "q", "qd", "gap", "gap_rate"):
        found, expected = getattr(at_once, name), getattr(one_by_one, name)
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kind", ["ups", "3-rrr"])
def test_springs_hold_any_legs(kind: str, tmp_path: Path) -> None:
    """Spinning legs with off-axis masses and rotors, and a planar platform."""
    robot = without_coulomb_friction(kind, tmp_path)
    forces = robot.gravity_forces(robot.neutral()) + 3.0
    exact = simulate_platform(robot, duration=0.1, forces=forces, h=1e-3)
    found = simulate_platform(robot, duration=0.1, forces=forces, h=1e-3, k=1e7, b=2e3)
    assert found.failure == ""
    np.testing.assert_allclose(found.q[-1], exact.q[-1], atol=2e-4)
    moved = np.abs(exact.q[-1] - exact.q[0]).max()
    assert np.abs(found.q[-1] - exact.q[-1]).max() < 0.05 * moved


def test_motors_and_a_push() -> None:
    """At zero volts the screws brake by back EMF; a push along z on the platform shortens all legs alike."""
    robot = load_robot("gough_stewart")
    assert isinstance(robot, ParallelRobot)
    still = simulate_platform(robot, duration=0.05, volts=np.zeros(6))
    pushed = simulate_platform(robot, duration=0.05, volts=np.zeros(6), wrench=[0.0, 0.0, -2000.0, 0.0, 0.0, 0.0])
    assert still.failure == pushed.failure == ""
    assert (pushed.q[-1] < still.q[-1]).all()
    assert np.abs(pushed.tau[-1]).max() > np.abs(still.tau[-1]).max()


def test_angles_are_the_paper_s() -> None:
    phi, theta, psi = 0.4, 1.1, -0.7

    def about_z(a: float) -> np.ndarray:
        return np.array([[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]])

    turn = np.array([[np.cos(theta), 0, np.sin(theta)], [0, 1, 0], [-np.sin(theta), 0, np.cos(theta)]])
    R = about_z(phi) @ turn @ about_z(psi)
    np.testing.assert_allclose(euler_angles(R[None])[0], [phi, theta, psi], atol=1e-14)


def test_bad_arguments_are_named() -> None:
    robot = wang()
    with pytest.raises(InputError, match="either volts or forces"):
        simulate_platform(robot, volts=np.zeros(6), forces=np.zeros(6))
    with pytest.raises(InputError, match="k must be"):
        simulate_platform(robot, k=-1.0)
    with pytest.raises(InputError, match="drive has shape"):
        simulate_platform(robot, forces=np.zeros(5))
    with pytest.raises((InputError, WorkspaceError)):
        simulate_platform(robot, pose=np.zeros((4, 4)))


def turner(folder: Path) -> ParallelRobot:
    """Legs from all sides, put together turned back: the platform can turn on by more than 90 degrees from home."""
    home = rotation([0.0, -1.2, 0.0])
    lines = [
        "name: turner", "kind: parallel",
        f"platform: {{home: {{rpy: [0, {np.arctan2(-home[2, 0], home[0, 0])}, 0]}}, mass: 2, com: [0.02, 0.01, 0.03],"
        " inertia: {xx: 0.1, yy: 0.12, zz: 0.09, xy: 0.01}}", "legs:",
    ]  # fmt: skip
    feet = [[3, 0, 0], [-3, 0, 0], [0, 3, 0], [0, -3, 0], [0, 0, 3], [0, 0, -3]]
    tips = [[0.3, 0, 0.4], [-0.3, 0, -0.4], [0.4, 0.3, 0], [-0.4, -0.3, 0], [0, 0.4, 0.3], [0, -0.4, -0.3]]
    rod = "inertia: {xx: 0.03, yy: 0.03, zz: 0.001}"
    for k, (foot, tip) in enumerate(zip(feet, tips, strict=True)):
        lines.append(
            f"  - {{name: leg{k}, type: UPS, base: {foot}, platform: {tip},"
            f" lower: {{mass: 0.3, com: [0, 0, 0.5], {rod}}}, upper: {{mass: 0.3, com: [0, 0, -0.5], {rod}}}}}"
        )
    return load(folder, "\n".join(lines) + "\n")


@pytest.mark.parametrize(("formulation", "within"), [("projection", 1e-6), ("multipliers", 2e-4), ("denoc", 1e-6)])
def test_a_right_angle_from_home_does_not_end_a_motion_of_the_legs(
    formulation: Formulation, within: float, tmp_path: Path
) -> None:
    """In the active joints as in the platform's pose, past 90 degrees and up to the singularity of the legs.

    By multipliers the chart's angles are integrated too, which turn fast near its singularity and cost some digits.
    """
    robot = turner(tmp_path)
    twist = [0.3, 0.2, 0.1, 0.3, 9.0, 0.2]
    pose = simulate_platform(robot, twist=twist, duration=0.3, forces=np.zeros(6))
    turned = np.arccos((np.trace(pose.pose[190, :3, :3] @ pose.pose[0, :3, :3].T) - 1) / 2)
    assert turned > np.radians(95.0)
    speeds = robot.platform.legs(robot.platform.home, twist).qd
    legs = simulate(robot.using(formulation), qd0=speeds, duration=0.3, torques=np.zeros(6), method="rk4")
    assert len(legs.t) == len(pose.t)
    assert "singular" in legs.failure
    np.testing.assert_allclose(legs.q[:190], pose.q[:190], atol=within)
    assert legs.singularity is not None
    body = robot.tree.forward_kinematics(legs.singularity.q, "platform")
    np.testing.assert_allclose(body[:3, 3], pose.pose[-1, :3, 3], atol=2e-3)
    later = simulate(robot, q0=pose.q[180], qd0=pose.qd[180], duration=0.01, torques=np.zeros(6), method="rk4")
    np.testing.assert_allclose(later.q, pose.q[180:191], atol=1e-6)
