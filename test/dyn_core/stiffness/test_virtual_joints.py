"""Virtual joints against the paper's system, sums of flexibilities, equilibria found by force, and free directions."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_robots import random_mechanism
from scipy.optimize import root
from scipy.spatial.transform import Rotation

from dyn_core import load_robot
from dyn_core.beams import BeamSection, Material, straight_beam, tip_jacobian
from dyn_core.errors import InputError, SingularityError
from dyn_core.mechanism import Compliance, Mechanism
from dyn_core.robots import LoopRobot, TreeRobot
from dyn_core.stiffness import Leg, VirtualJoints, cartesian_stiffness, leg_stiffness, parallel_stiffness

BAR = straight_beam(0.5, BeamSection(3e-4, 2e-9, 5e-9, 9e-9), Material.isotropic(70e9, 0.33))


def rotation(rng: np.random.Generator) -> np.ndarray:
    Q, R = np.linalg.qr(rng.normal(size=(3, 3)))
    return Q * np.sign(np.linalg.det(Q * np.sign(np.diag(R)))) * np.sign(np.diag(R))


def random_leg(rng: np.random.Generator, passive: int) -> Leg:
    leg = Leg(np.array([0.1, -0.2, 0.9])).turning_spring(rng.normal(size=3), rng.normal(size=3), 3e4)
    leg.link(BAR, rotation(rng), rng.normal(size=3)).sliding_spring(rng.normal(size=3), 1e6)
    for k in range(passive):
        if k % 2:
            leg.sliding_joint(rng.normal(size=3))
        else:
            leg.turning_joint(rng.normal(size=3), rng.normal(size=3))
    return leg


def with_links(m: Mechanism, rng: np.random.Generator, bodies: tuple[int, ...]) -> Mechanism:
    links = tuple(Compliance(j, rotation(rng), 0.3 * rng.normal(size=3), BAR) for j in bodies)
    return dataclasses.replace(m, compliances=links)


def same(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    """Equal up to a part of what the entries' rows and columns are like."""
    size = np.sqrt(np.outer(np.abs(np.diag(b)), np.abs(np.diag(b))))
    return bool(np.abs((a - b) / size).max() < tolerance)


@pytest.mark.parametrize("passive", [0, 1, 3, 5])
def test_a_leg_is_the_first_block_of_equation_15(passive):
    rng = np.random.default_rng(passive)
    legs = [random_leg(rng, passive) for _ in range(3)]
    expected = []
    for leg in legs:
        S = leg.J_theta @ leg.C_theta @ leg.J_theta.T
        p = leg.J_q.shape[1]
        expected.append(np.linalg.inv(np.block([[S, leg.J_q], [leg.J_q.T, np.zeros((p, p))]]))[:6, :6])
        found = leg_stiffness(leg)
        assert found.null_directions.shape == (6, passive)
        np.testing.assert_allclose(found.K, expected[-1], atol=1e-7 * np.abs(expected[-1]).max())
        assert np.abs(found.K @ leg.J_q).max(initial=0.0) < 1e-6 * np.abs(found.K).max()
    together = parallel_stiffness(legs)
    np.testing.assert_allclose(together.K, sum(expected), atol=1e-7 * np.abs(sum(expected)).max())


def test_struts_between_ball_joints_hold_along_themselves():
    """Gough-Stewart: K = sum k s s^T with the struts' screws s; every ball joint pair has a turn to spare."""
    rng = np.random.default_rng(1)
    platform, feet = np.array([0.0, 0.1, 1.0]), rng.normal(size=(6, 3))
    hips = rng.normal(size=(6, 3)) + np.array([0.0, 0.0, 2.0])
    legs, expected = [], np.zeros((6, 6))
    for foot, hip in zip(feet, hips, strict=True):
        legs.append(Leg(platform).ball_joint(foot).sliding_spring(hip - foot, 2e6).ball_joint(hip))
        s = (hip - foot) / np.linalg.norm(hip - foot)
        screw = np.concatenate([s, np.cross(hip - platform, s)])
        expected += 2e6 * np.outer(screw, screw)
    found = parallel_stiffness(legs)
    np.testing.assert_allclose(found.K, expected, rtol=1e-9, atol=1e-6 * np.abs(expected).max())
    five = parallel_stiffness(legs[:5])
    assert five.null_directions.shape == (6, 1)
    np.testing.assert_allclose(five.C, np.linalg.pinv(five.K, rcond=1e-10), atol=1e-9 * np.abs(five.C).max())


def test_legs_that_are_rigid_in_some_direction_still_add_up():
    """A rigid leg on a hinge beside a flexible one: what the hinge forbids is infinitely stiff."""
    rng = np.random.default_rng(2)
    hinged = Leg(np.array([0.1, -0.2, 0.9])).turning_spring([0, 0, 1], [0, 0, 0], 100.0)
    found = parallel_stiffness([hinged, random_leg(rng, 0)])
    assert found.K is None
    assert found.rank == 1
    free = np.concatenate([np.cross([0, 0, 1], hinged.point), [0, 0, 1]])
    K = leg_stiffness(random_leg(np.random.default_rng(2), 0)).K
    w = rng.normal(size=6)
    np.testing.assert_allclose(found.deflection(w), free * (free @ w) / (100.0 + free @ K @ free), rtol=1e-6)


def test_an_arm_adds_up_its_joints_and_links():
    rng = np.random.default_rng(3)
    m = random_mechanism(rng, 6, chain=True)
    m = with_links(dataclasses.replace(m, joint_type=np.array([0, 1, 0, 0, 1, 0])), rng, (0, 2, 5))
    robot, q = TreeRobot(m), rng.uniform(-1, 1, 6)
    J, tool = robot.jacobian(q), robot.forward_kinematics(q)[:3, 3]
    C = J @ np.diag(1 / m.stiffness) @ J.T
    for link in m.compliances:
        frame = m.frames[link.body]
        pose = robot.forward_kinematics(q, frame.name)
        body = pose[:3, :3] @ frame.R.T
        X = tip_jacobian(body @ link.R, tool - (pose[:3, 3] + body @ (link.p - frame.p)))
        C += X @ link.C @ X.T
    found = robot.stiffness(q)
    assert same(found.C, C, 1e-9)
    assert same(found.K @ C, np.eye(6), 1e-6)


@pytest.mark.parametrize(("name", "rank"), [("five_bar_saha", 2), ("gough_stewart", 6)])
def test_a_closed_chain_is_what_its_active_joints_let_through(name, rank):
    robot = load_robot(name)
    q = robot.neutral() + np.linspace(0.01, 0.05, robot.n)
    point = robot.forward_kinematics(q)[:3, 3]
    expected = cartesian_stiffness(robot.jacobian(q), robot.mechanism.stiffness[robot.joints], point, "tool")
    found = robot.stiffness(q)
    np.testing.assert_allclose(found.C, expected.C, atol=1e-12 * np.abs(expected.C).max())
    assert found.rank == rank


def test_a_passive_joint_leaves_a_direction_free():
    rng = np.random.default_rng(4)
    m = random_mechanism(rng, 7, chain=True)
    stiffness, active = m.stiffness.copy(), np.ones(7, bool)
    stiffness[3], active[3] = np.inf, False
    robot, q = TreeRobot(dataclasses.replace(m, stiffness=stiffness, active=active)), rng.uniform(-1, 1, 7)
    found, free = robot.stiffness(q), robot.jacobian(q)[:, 3]
    assert found.singular
    assert found.condition == np.inf
    assert "nothing resists" in found.statement
    np.testing.assert_allclose(np.abs(found.null_directions[:, 0]), np.abs(free) / np.linalg.norm(free), atol=1e-9)
    w = rng.normal(size=6)
    answer = robot.deflected(q, w)
    assert not answer.equilibrium
    assert "there is no equilibrium" in answer.statement
    np.testing.assert_allclose(answer.motion, np.linalg.pinv(found.K, rcond=1e-9) @ w, rtol=1e-5)
    held = w - free * (free @ w) / (free @ free)
    answer = robot.deflected(q, held)
    assert answer.equilibrium
    np.testing.assert_allclose(found.K @ answer.motion, held, atol=1e-6)
    assert abs(answer.motion @ free) < 1e-9 * np.linalg.norm(answer.motion)
    with pytest.raises(SingularityError, match="no equilibrium"):
        robot.stiffness(q, wrench=w)


def in_a_row(theta: np.ndarray) -> np.ndarray:
    """Angles of turns about x, y, z in a row that make the rotation vector theta."""
    return Rotation.from_rotvec(theta).as_euler("XYZ")


def rates_in_a_row(theta: np.ndarray) -> np.ndarray:
    """d in_a_row / d theta, by the angular velocity of both."""
    a, b, _ = in_a_row(theta)
    x = Rotation.from_rotvec([a, 0.0, 0.0])
    axes = np.stack([[1.0, 0.0, 0.0], x.apply([0.0, 1.0, 0.0]), (x * Rotation.from_rotvec([0, b, 0])).apply([0, 0, 1])])
    size, S = np.linalg.norm(theta), np.cross(np.eye(3), theta)
    first = 0.5 if size < 1e-4 else (1.0 - np.cos(size)) / size**2
    second = 1.0 / 6.0 if size < 1e-3 else (size - np.sin(size)) / size**3
    return np.linalg.solve(axes.T, np.eye(3) + first * S + second * S @ S)


def loaded_equilibrium(v: VirtualJoints, x0: np.ndarray, w0: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Where springs that carry w0 at x0 come to rest under w, by solving for forces and closure.

    A link's springs act on the shift and the rotation vector of its tip.
    """
    s, p, L = v.springs, v.passive, v._L
    S = np.linalg.pinv(L)
    C = L @ L.T
    m = len(v._rows)
    turns = [range(link.rows.start + 3, link.rows.stop) for link in v._links]

    def split(u):
        x, c = x0.copy(), L @ u[: L.shape[1]]
        for rows in turns:
            c[rows] = in_a_row(c[rows])
        x[s] += c
        x[p] += u[L.shape[1] : L.shape[1] + len(p)]
        return x, u[L.shape[1] + len(p) :]

    def forces(x, lam, wrench):
        return v.jacobian(x, "tool").T @ wrench - v.closure(x)[1].T @ lam

    def on_springs(u, f):
        """Forces that belong to the rotation vectors, from those of the angles."""
        out, c = f[s].copy(), L @ u[: L.shape[1]]
        for rows in turns:
            out[rows] = rates_in_a_row(c[rows]).T @ out[rows]
        return out

    A, E = v.closure(x0)[1], v.jacobian(x0, "tool")
    # the linear structure's own distribution of w0 among redundant constraints
    free = np.concatenate([s, p])
    stiff = np.zeros((len(free), len(free)))
    stiff[: len(s), : len(s)] = np.linalg.inv(C)
    kkt = np.block([[stiff, A[:, free].T], [A[:, free], np.zeros((m, m))]])
    lam0 = np.linalg.lstsq(kkt, np.concatenate([E[:, free].T @ w0, np.zeros(m)]), rcond=1e-13)[0][len(free) :]
    carried = forces(x0, lam0, w0)[s]

    def residual(u):
        x, lam = split(u)
        f = forces(x, lam, w)
        elastic = carried + S.T @ u[: L.shape[1]]
        return np.concatenate([L.T @ (on_springs(u, f) - elastic), f[p], v.closure(x)[0]])

    start = np.concatenate([np.zeros(L.shape[1] + len(p)), lam0])
    answer = root(residual, start, method="lm", options={"xtol": 1e-14, "ftol": 1e-14})
    assert np.abs(answer.fun).max() < 1e-8
    return split(answer.x)[0]


@pytest.mark.parametrize("closed", [False, True])
def test_stiffness_under_load_is_that_of_the_loaded_equilibrium(closed):
    rng = np.random.default_rng(6)
    if closed:  # a five-bar out of whose plane it yields too
        m = with_links(load_robot("five_bar_saha").mechanism, rng, (0, 2))
        robot, q = LoopRobot(m), np.radians([70.0, 60.0])
        full, size = robot.all_positions(q), np.array([3e2, -2e2, 4e2, 0.0, 0.0, 60.0])
    else:
        m = random_mechanism(rng, 6, chain=True)
        m = with_links(dataclasses.replace(m, stiffness=np.full(6, 5e3)), rng, (1,))
        robot, q = TreeRobot(m), rng.uniform(-1, 1, 6)
        full, size = q, np.array([60.0, -90.0, 80.0, 30.0, 20.0, -40.0])
    loaded, plain = robot.stiffness(q, wrench=size), robot.stiffness(q)
    v = robot.virtual_joints
    x0 = v.at(full)
    before = v.pose(x0, "tool")
    errors = {"loaded": 0.0, "plain": 0.0}
    for k in range(6):
        dw = np.zeros(6)
        dw[k] = 1e-3 * np.abs(size).max()
        moved = []
        for sign in (1.0, -1.0):
            after = v.pose(loaded_equilibrium(v, x0, size, size + sign * dw), "tool")
            turn = after[:3, :3] @ before[:3, :3].T
            turned = 0.5 * np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
            moved.append(np.concatenate([after[:3, 3] - before[:3, 3], turned]))
        t = 0.5 * (moved[0] - moved[1])
        for name, which in (("loaded", loaded), ("plain", plain)):
            errors[name] = max(errors[name], np.linalg.norm(which.C @ dw - t) / np.linalg.norm(t))
    assert errors["loaded"] < 1e-4
    assert errors["plain"] > 20 * errors["loaded"]


def test_bad_legs_are_named():
    with pytest.raises(InputError, match="axis"):
        Leg(np.zeros(3)).sliding_joint([0, 0, 0])
    with pytest.raises(InputError, match="above zero"):
        Leg(np.zeros(3)).sliding_spring([0, 0, 1], -1.0)
    with pytest.raises(InputError, match="same point"):
        parallel_stiffness([Leg(np.zeros(3)), Leg(np.ones(3))])
    with pytest.raises(InputError, match="at least one leg"):
        parallel_stiffness([])
