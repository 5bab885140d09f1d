"""Virtual springs: against the paper's equations, against energy, and against the closed chain that they tend to."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_loops import SPATIAL, random_loop, random_planar_loop, tied
from random_robots import random_mechanism
from scipy.integrate import solve_ivp

from dyn_core import load_robot
from dyn_core.dynamics.loops.virtual_springs import row_mobility
from dyn_core.errors import InputError
from dyn_core.mechanism import BASE
from dyn_core.robots import LoopRobot
from dyn_core.simulation import simulate, simulate_with_springs

SHIPPED = ("four_bar_saha", "five_bar_saha", "four_bar_wang", "four_bar_wang_flexible")


def calm(make, kind):
    """A random mechanism that is not near the end of its motion."""
    for attempt in range(100):
        robot = LoopRobot(make(np.random.default_rng([11, attempt]), kind, friction=False))
        if np.abs(robot.closed(robot.neutral()).G).max() < 3.0:
            return robot
    raise AssertionError(kind)


def any_robot(kind):
    """A shipped one by name, or a random one by the kind of its cut joint or the number of its planar bodies."""
    if kind in SHIPPED:
        return load_robot(kind)
    return calm(random_loop if isinstance(kind, str) else random_planar_loop, kind)


def energy(robot, q, qd, k):
    """Kinetic, gravitational and of the springs, from the mass matrix, the links' poses and the gaps."""
    m = robot.mechanism
    poses = robot.tree.link_poses(q)
    total = 0.5 * qd @ robot.tree.mass_matrix(q) @ qd
    for j in range(m.n):
        frame = m.frame(m.body_names[j])
        T = poses[m.frames.index(frame)]
        total -= m.gravity @ (m.M[j] * T[:3, 3] + T[:3, :3] @ frame.R.T @ (m.MS[j] - m.M[j] * frame.p))
    gap = robot.assembly.terms(robot.assembly.all_rows, q, qd)[0]
    return total + 0.5 * k @ gap**2


def swapped(robot):
    """The same mechanism with the other body called the first one of each loop."""
    m = robot.mechanism
    loops = (dataclasses.replace(loop, first=loop.second, second=loop.first) for loop in m.loops)
    return LoopRobot(dataclasses.replace(m, loops=tuple(loops)))


def fixed_gap(robot, q):
    """Delta of all loops in base axes, from the links' poses: positions only."""
    m = robot.mechanism
    poses = dict(zip((frame.name for frame in m.frames), robot.tree.link_poses(q), strict=True))

    def place(frame):
        if frame.body == BASE:
            return frame.p
        own = m.frame(m.body_names[frame.body])
        T = poses[own.name]
        return T[:3, :3] @ own.R.T @ (frame.p - own.p) + T[:3, 3]

    return np.concatenate([place(loop.second) - place(loop.first) for loop in m.loops])


def printed_four_bar(k, tau, b=0.0):
    """(15)-(19) as the paper prints them, in theta, alpha, phi, with the dampers of (40) on the rates of dx and dy."""
    l1, l2, l3, x0, g = 1.0, 4.0, 2.5, 3.0, 9.8
    r1, r2, r3 = l1 / 2, l2 / 2, l3 / 2
    I1, I2, I3 = l1**2 / 12, l2**2 / 12, l3**2 / 12

    def slope(_, s):
        th, al, ph, thd, ald, phd = s
        dx = l1 * np.cos(th) + l2 * np.cos(al) - l3 * np.cos(ph) - x0
        dy = l1 * np.sin(th) + l2 * np.sin(al) - l3 * np.sin(ph)
        dxd = -l1 * np.sin(th) * thd - l2 * np.sin(al) * ald + l3 * np.sin(ph) * phd
        dyd = l1 * np.cos(th) * thd + l2 * np.cos(al) * ald - l3 * np.cos(ph) * phd
        fx, fy = k * dx + b * dxd, k * dy + b * dyd
        m12 = l1 * r2 * np.cos(th - al)
        M = np.array([[I1 + r1**2 + l1**2, m12, 0], [m12, I2 + r2**2, 0], [0, 0, I3 + r3**2]])
        c = np.array(
            [
                l1 * r2 * np.sin(th - al) * ald**2 + (r1 + l1) * g * np.cos(th),
                -l1 * r2 * np.sin(th - al) * thd**2 + g * r2 * np.cos(al),
                g * r3 * np.cos(ph),
            ]
        )
        f = np.array(
            [
                tau + l1 * np.sin(th) * fx - l1 * np.cos(th) * fy,
                l2 * np.sin(al) * fx - l2 * np.cos(al) * fy,
                -l3 * np.sin(ph) * fx + l3 * np.cos(ph) * fy,
            ]
        )
        return np.append(s[3:], np.linalg.solve(M, f - c))

    return slope


@pytest.mark.parametrize("b", [0.0, 100.0])
def test_the_paper_s_equations(b):
    robot = load_robot("four_bar_wang")
    angles = np.array([np.pi / 2, 0.353281, 1.26486])
    found = simulate_with_springs(
        robot, angles - [0.0, angles[0], 0.0], torques=[6.0], duration=0.3, h=1e-3, k=1e4, b=b, substeps=20
    )
    slope, start = printed_four_bar(1e4, 6.0, b), [*angles, 0.0, 0.0, 0.0]
    answer = solve_ivp(slope, (0.0, 0.3), start, "DOP853", t_eval=found.t, rtol=1e-11, atol=1e-12)
    absolute = found.all_q + np.outer(found.all_q[:, 0], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(absolute, answer.y[:3].T, atol=1e-6)


def between_links(kind):
    """A random mechanism whose cut joint ties two moving links together."""
    if kind == "four_bar_wang":
        return load_robot(kind)
    for attempt in range(100):
        rng = np.random.default_rng([12, attempt])
        n = SPATIAL[kind] + 1
        chain = random_mechanism(rng, n, chain=True, friction=False)
        chain.joint_type[:] = 0
        active = np.arange(n) < 2
        robot = LoopRobot(tied(rng, chain, kind, n - 1, 0, active))
        if np.abs(robot.closed(robot.neutral()).G).max() < 3.0:
            return robot
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["four_bar_wang", "spherical", "revolute"])
def test_which_link_is_called_the_first_does_not_matter(kind):
    """The dampers act on the rate of Delta in the fixed frame: soft springs, strong dampers, links that turn."""
    robot = between_links(kind)
    other = swapped(robot)
    inertia = 1.0 / np.diag(row_mobility(*mass_and_jacobian(robot))).mean()
    k, b = (1e4, 100.0) if kind == "four_bar_wang" else (1e4 * inertia, 100.0 * inertia)
    tau = np.full(robot.n, 0.5)
    duration = 2.0 if kind == "four_bar_wang" else 0.3
    qd0 = None if kind == "four_bar_wang" else np.full(robot.n, 3.0)
    found, expected = (
        simulate_with_springs(each, qd0=qd0, torques=tau, duration=duration, k=k, b=b, preloaded=False)
        for each in (other, robot)
    )
    assert found.failure == expected.failure == ""
    assert expected.position_error.max() > 1e-5
    np.testing.assert_allclose(found.all_q, expected.all_q, atol=1e-10)


def mass_and_jacobian(robot):
    q = robot.reference
    return robot.tree.mass_matrix(q), robot.assembly.terms(robot.assembly.all_rows, q, 0.0 * q)[1]


@pytest.mark.parametrize("kind", ["universal", "prismatic", "fixed", "revolute"])
def test_dampers_only_take_energy(kind):
    """Orientations too, at open loops and any speeds: what they do to the speeds in a moment, against none."""
    robot = between_links(kind)
    rng = np.random.default_rng(3)
    n, rows = robot.mechanism.n, len(robot.assembly.all_rows)
    for _ in range(10):
        q, qd = robot.reference + 0.05 * rng.normal(size=n), 3.0 * rng.normal(size=n)
        b = rng.uniform(1.0, 2.0, rows)
        free, damped = (
            simulate_with_springs(robot, q, qd, duration=1e-7, torques=np.zeros(robot.n), h=1e-7, k=1.0, b=each)
            for each in (0.0, b)
        )
        assert qd @ robot.tree.mass_matrix(q) @ (damped.all_qd[1] - free.all_qd[1]) < 0.0


@pytest.mark.parametrize("kind", [*SPATIAL, 3, 4, *SHIPPED])
def test_energy_is_conserved_without_dampers(kind):
    robot = any_robot(kind)
    found = simulate_with_springs(robot, duration=0.05, torques=np.zeros(robot.n), b=0.0, preloaded=False)
    assert not found.failure
    at = [energy(robot, found.all_q[i], found.all_qd[i], found.k) for i in (0, -1)]
    moved = 0.5 * found.all_qd[-1] @ robot.tree.mass_matrix(found.all_q[-1]) @ found.all_qd[-1]
    assert abs(at[1] - at[0]) < 2e-3 * max(moved, 1e-3)


@pytest.mark.parametrize("kind", [*SPATIAL, 3, 4, *SHIPPED])
def test_the_error_falls_as_one_over_k(kind):
    robot = any_robot(kind)
    tau = 0.5 * np.ones(robot.n)
    exact = simulate(robot, duration=0.1, torques=tau, h=2e-3, method="rk4")
    assert not exact.failure
    k = simulate_with_springs(robot, duration=0.0, torques=tau, h=2e-3).k
    errors, gaps = [], []
    for factor in (0.5, 1.0, 2.0):
        found = simulate_with_springs(robot, duration=0.1, torques=tau, h=2e-3, k=factor * k)
        errors.append(np.abs(found.q - exact.q).max())
        gaps.append(found.position_error[-1])
    assert errors[1] < 1e-3
    assert errors[0] / errors[2] == pytest.approx(4.0, rel=0.35)
    assert gaps[0] / gaps[2] == pytest.approx(4.0, rel=0.2)


def test_a_preloaded_start_does_not_ring():
    robot = load_robot("four_bar_wang")
    start = np.array([np.pi / 2])
    calm_start, slack = (
        simulate_with_springs(robot, start, torques=[6.0], duration=0.1, k=1e6, b=0.0, preloaded=eased)
        for eased in (True, False)
    )
    force = np.linalg.norm(robot.reactions(start, [0.0], [6.0])["B"])
    assert calm_start.position_error[0] == pytest.approx(force / 1e6, rel=1e-3)
    assert slack.position_error.max() > 1.8 * force / 1e6
    assert calm_start.position_error.max() < 1.2 * force / 1e6


def test_active_coordinates():
    """The springs' statics are exact; their accelerations come to the closed chain's as their stiffness grows."""
    robot = load_robot("four_bar_wang")
    springs = robot.using("virtual_spring")
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, qd, x = np.pi / 2 + rng.uniform(-0.5, 0.5, 1), rng.normal(size=1), rng.normal(size=1)
        w = rng.normal(size=(3, 6))
        np.testing.assert_allclose(
            springs.inverse_dynamics(q, qd, x, w), robot.inverse_dynamics(q, qd, x, w), rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(
            springs.forward_dynamics(q, qd, x, w), robot.forward_dynamics(q, qd, x, w), rtol=1e-5, atol=1e-5
        )


def test_simulation_in_active_coordinates():
    robot = load_robot("four_bar_wang")
    found, exact = (
        simulate(each, duration=0.1, torques=[6.0], h=2e-3, method="rk4")
        for each in (robot.using("virtual_spring"), robot)
    )
    np.testing.assert_allclose(found.q, exact.q, atol=1e-7)


def test_the_mass_matrix_has_one_block_per_branch():
    robot = load_robot("four_bar_wang")
    assert robot.mechanism.parent.tolist() == [BASE, 0, BASE]
    outside = robot.tree.mass_matrix(robot.reference)
    for block in ([0, 1], [2]):
        outside[np.ix_(block, block)] = 0.0
    assert np.abs(outside).max() == 0.0


def test_accelerations_are_those_of_the_tree_under_the_springs():
    robot = load_robot("five_bar_saha")
    rng = np.random.default_rng(0)
    n, a = robot.mechanism.n, robot.joints
    q, qd, tau = robot.reference + 0.01 * rng.normal(size=n), rng.normal(size=n), np.zeros(n)
    tau[a] = rng.normal(size=robot.n)
    step = 1e-6 * np.eye(n)
    J = np.stack([(fixed_gap(robot, q + dq) - fixed_gap(robot, q - dq)) / 2e-6 for dq in step], axis=1)
    expected = robot.tree.forward_dynamics(q, qd, tau - J.T @ (1e4 * fixed_gap(robot, q) + 10.0 * J @ qd))
    found = simulate_with_springs(robot, q, qd, duration=0.0, torques=tau[a], k=1e4, b=10.0)
    np.testing.assert_allclose(found.qdd[0], expected[a], rtol=1e-6, atol=1e-6)


def test_redundant_rows_do_no_harm():
    m = random_planar_loop(np.random.default_rng(1), 3, False)
    spatial = LoopRobot(dataclasses.replace(m, loops=(dataclasses.replace(m.loops[0], kind="revolute"),)))
    planar, found = (simulate_with_springs(each, duration=0.02, torques=[0.1]) for each in (LoopRobot(m), spatial))
    np.testing.assert_allclose(found.q, planar.q, atol=1e-6)


def test_functions_and_tables_drive_alike():
    robot = load_robot("four_bar_wang")
    table = np.linspace(0.0, 5.0, 20)[:, None]
    by_table = simulate_with_springs(robot, torques=table, duration=0.02)
    by_function = simulate_with_springs(robot, torques=lambda t, q, qd: table[round(t / 1e-3)], duration=0.02)
    np.testing.assert_array_equal(by_table.drive, by_function.drive)
    np.testing.assert_allclose(by_table.q, by_function.q, atol=1e-12)
    np.testing.assert_allclose(by_table.tau, by_function.tau)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"k": -1.0}, "k must be finite and positive"),
        ({"k": [1.0, 2.0, 3.0]}, "k must be a number or one per constraint row"),
        ({"b": float("nan")}, "b must be finite and not negative"),
        ({"k": 1e9, "substeps": 1}, "need steps below"),
        ({"h": 0.0}, "the step h must be"),
        ({"q0": [0.0, 0.0]}, "q has shape"),
        ({"torques": [1.0, 2.0]}, "the drive has shape"),
        ({"torques": [1.0], "volts": [1.0]}, "not both"),
        ({"method": "Radau"}, "springs are simulated by"),
    ],
)
def test_bad_input_is_named(arguments, text):
    with pytest.raises(InputError, match=text):
        simulate_with_springs(load_robot("four_bar_wang"), duration=0.01, **arguments)
