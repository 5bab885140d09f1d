"""Spherical parallel manipulators: kinematics by their definition, stiffness by finite elements, and singularities."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import brentq

from dyn_core import load_robot
from dyn_core.beams import Material, circle, straight_beam
from dyn_core.errors import DescriptionError, InputError, SingularityError, WorkspaceError
from dyn_core.robots import SphericalRobot

SHIPPED = ("spm_unlimited_roll", "spm_coaxial", "agile_wrist")
TEXT = """
name: general
kind: spherical
geometry: {{alpha1: {0} deg, alpha2: {1} deg, beta: {2} deg, gamma: {3} deg, R: 0.17}}
working_mode: [{4}, {5}, {6}]
proximal: {{section: {{shape: rectangle, height_y: 0.012, height_z: 0.02}}, E: 70e9, nu: 0.33, density: 2700}}
distal: {{section: {{A: 1.2e-4, Ix: 2e-9, Iy: 1e-9, Iz: 3e-9}}, E: 70e9, G: 26e9, density: 2700}}
platform: {{mass: 0.4, inertia: {{xx: 0.002, yy: 0.002, zz: 0.004}}}}
actuators: {{stiffness: 2e5, rotor_inertia: 0.02}}
tool: {{xyz: [0.01, 0.02, 0.1], rpy: [0.3, 0.2, 0.1]}}
"""
GENERAL = ((70, 85, 80, 40, -1, -1, -1), (55, 75, 60, 50, 1, 1, 1), (100, 80, 65, 45, 1, -1, -1))


def described(folder: Path, figures: tuple[float, ...], **replaced: str) -> SphericalRobot:
    text = TEXT.format(*figures)
    for old, new in replaced.items():
        text = "\n".join(f"{old}: {new}" if line.startswith(f"{old}:") else line for line in text.splitlines())
    file = folder / "general.yaml"
    file.write_text(text)
    robot = load_robot(file)
    assert isinstance(robot, SphericalRobot)
    return robot


@pytest.fixture(params=[*SHIPPED, *GENERAL], ids=str)
def robot(request, tmp_path) -> SphericalRobot:
    if isinstance(request.param, str):
        return load_robot(request.param)  # type: ignore[return-value]
    return described(tmp_path, request.param)


def near_home(robot: SphericalRobot, count: int) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [robot.platform.orientation(*rng.uniform([-3, 0, -0.2], [3, 0.4, 0.2])) for _ in range(count)]


def test_inverse_kinematics_closes_every_leg_in_every_mode(robot):
    """Against the definition: v at alpha1 from u, alpha2 from w = Q w*, on the side that the mode says."""
    g = robot.platform.geometry
    for Q in near_home(robot, 4):
        u, v, w = robot.platform.leg_axes(Q)
        np.testing.assert_allclose(np.einsum("ij,ij->i", u, v), np.cos(g.alpha1), atol=1e-12)
        np.testing.assert_allclose(np.einsum("ij,ij->i", v, w), np.cos(g.alpha2), atol=1e-12)
        assert (np.sign(np.einsum("ij,ij->i", np.cross(u, v), w)) == g.modes).all()
        for i in range(3):
            eta = 2 * i * np.pi / 3
            s, c, sb, cb = np.sin(eta), np.cos(eta), np.sin(g.beta), np.cos(g.beta)
            np.testing.assert_allclose(w[i], Q @ [-s * sb, c * sb, cb], atol=1e-12)  # (4)
            sg, cg, theta = np.sin(g.gamma), np.cos(g.gamma), robot.platform.inverse_kinematics(Q).q[i]
            st, ct, s1, c1 = np.sin(theta), np.cos(theta), np.sin(g.alpha1), np.cos(g.alpha1)
            printed = [  # (2)
                -s * sg * c1 + (c * st - s * cg * ct) * s1,
                c * sg * c1 + (s * st + c * cg * ct) * s1,
                -cg * c1 + sg * ct * s1,
            ]
            np.testing.assert_allclose(v[i], printed, atol=1e-12)
        modes = robot.platform.working_modes(Q)
        assert len({tuple(np.round(q, 9)) for q in modes.values()}) == 8


def test_forward_kinematics_and_jacobian(robot):
    for Q in near_home(robot, 3):
        q = robot.platform.inverse_kinematics(Q).q
        np.testing.assert_allclose(robot.forward_kinematics(q, "platform")[:3, :3], Q, atol=1e-9)
        np.testing.assert_allclose(robot.forward_kinematics(q, "platform")[:3, 3], 0.0, atol=1e-9)
        pose = robot.forward_kinematics(q)
        np.testing.assert_allclose(robot.platform.inverse_kinematics(pose).q, q, atol=1e-9)
        J = robot.platform.angular_jacobian(Q)
        np.testing.assert_allclose(J @ robot.jacobian(q)[3:], np.eye(3), atol=1e-8)
        h = 1e-6
        for axis in range(3):
            k = np.zeros((3, 3))
            k[(axis + 2) % 3, (axis + 1) % 3], k[(axis + 1) % 3, (axis + 2) % 3] = h, -h
            turned = [np.linalg.qr((np.eye(3) + sign * k) @ Q)[0] for sign in (1, -1)]
            ahead, behind = (robot.platform.inverse_kinematics(T * np.sign(np.diag(T.T @ Q))).q for T in turned)
            np.testing.assert_allclose((ahead - behind) / (2 * h), J[:, axis], atol=1e-7)


def test_the_kernel_is_the_virtual_joint_method(robot):
    """The four-number legs against all seven joints, the cut ones and six virtual joints per flexible link."""
    for Q in near_home(robot, 3):
        q = robot.platform.inverse_kinematics(Q).q
        for frame in ("tool", "platform"):
            slow = robot.virtual_joints.stiffness(robot.all_positions(q), frame)
            for quick in (robot.platform.stiffness_at(Q, frame), robot.stiffness(q, frame)):
                np.testing.assert_allclose(quick.K, slow.K, atol=1e-9 * np.abs(slow.K).max())
                np.testing.assert_allclose(quick.point, slow.point, atol=1e-9)
        np.testing.assert_allclose(robot.platform.stiffness_matrix(Q), slow.K, atol=1e-9 * np.abs(slow.K).max())


def element(start: np.ndarray, end: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """(12, 12) stiffness of a straight beam element in base axes, from its flexibility as a cantilever."""
    x = (end - start) / np.linalg.norm(end - start)
    z = normal
    axes = np.stack([x, np.cross(z, x), z], axis=1)
    C = straight_beam(float(np.linalg.norm(end - start)), circle(0.0075), Material.isotropic(210e9, 0.3))
    turn = np.kron(np.eye(2), axes)
    K = turn @ np.linalg.inv(C) @ turn.T
    arm = start - end
    back = np.eye(6)
    back[:3, 3:] = np.array([[0, arm[2], -arm[1]], [-arm[2], 0, arm[0]], [arm[1], -arm[0], 0]])
    # motion of the tip less that of the rigidly moved root
    rate = np.hstack([-np.linalg.inv(back), np.eye(6)])
    return rate.T @ K @ rate


def by_finite_elements(robot: SphericalRobot, Q: np.ndarray, count: int) -> np.ndarray:
    """K at O: straight elements along the arcs, hinges as constraints between nodes, assembled and condensed."""
    u, v, w = robot.platform.leg_axes(Q)
    R, elements, rows, springs = robot.platform.geometry.R, [], [], []
    nodes = 1  # node 0 is the rigid platform at O
    flexible = {each.body for each in robot.mechanism.compliances}

    def tie(first: tuple[int, np.ndarray] | None, second: tuple[int, np.ndarray], at: np.ndarray, axis) -> None:
        """Same translation at a place, and same rotation but about an axis (None: clamped); first None: the base."""
        across = np.eye(3) if axis is None else null_space(axis[None]).T
        for kind, directions in (("shift", np.eye(3)), ("turn", across)):
            for d in directions:
                row: dict[int, np.ndarray] = {}
                for sign, side in ((-1.0, first), (1.0, second)):
                    if side is None:
                        continue
                    node, place = side
                    part = np.concatenate([d, np.cross(at - place, d)] if kind == "shift" else [np.zeros(3), d])
                    row[node] = row.get(node, 0.0) + sign * part
                rows.append(row)

    for i in range(3):
        at: tuple[int, np.ndarray] | None = None
        for k, (a, t) in enumerate(((u[i], v[i]), (v[i], w[i]))):
            n = np.cross(a, t) / np.linalg.norm(np.cross(a, t))
            angles = np.linspace(0.0, np.arccos(a @ t), count + 1)
            places = [R * (np.cos(x) * a + np.sin(x) * np.cross(n, a)) for x in angles]
            first = nodes
            nodes += count + 1
            tie(at, (first, places[0]), places[0], a)
            if k == 0:
                springs.append((first, a))
            for e in range(count):
                if int(robot.joints[i]) + k in flexible:
                    elements.append((first + e, element(places[e], places[e + 1], n)))
                else:
                    tie((first + e, places[e]), (first + e + 1, places[e + 1]), places[e + 1], None)
            at = first + count, places[-1]
        tie(at, (0, np.zeros(3)), R * w[i], w[i])
    K = np.zeros((6 * nodes, 6 * nodes))
    for first, k in elements:
        K[6 * first : 6 * first + 12, 6 * first : 6 * first + 12] += k
    for node, axis in springs:
        K[6 * node + 3 : 6 * node + 6, 6 * node + 3 : 6 * node + 6] += robot.mechanism.stiffness[
            robot.joints[0]
        ] * np.outer(axis, axis)
    G = np.zeros((len(rows), 6 * nodes))
    for r, row in enumerate(rows):
        for node, part in row.items():
            G[r, 6 * node : 6 * node + 6] = part
    N = null_space(G, rcond=1e-10)
    T = N[:6]
    C = T @ np.linalg.solve(N.T @ K @ N, T.T)
    return np.linalg.inv(C)


@pytest.mark.parametrize("name", SHIPPED)
def test_stiffness_against_finite_elements(name):
    robot = load_robot(name)
    assert isinstance(robot, SphericalRobot)
    Q = robot.platform.orientation(0.7, 0.5, 0.1)
    K = robot.platform.stiffness_matrix(Q)
    coarse, fine = (np.abs(by_finite_elements(robot, Q, count) - K).max() / np.abs(K).max() for count in (6, 12))
    assert fine < 0.01
    assert fine < 0.35 * coarse  # of second order


def loose(robot: SphericalRobot) -> np.ndarray:
    """An orientation at which the three v x w lie in a plane."""

    def det(tilt: float) -> float:
        _, v, w = robot.platform.leg_axes(robot.platform.orientation(np.radians(40.0), tilt, 0.0))
        return float(np.linalg.det(np.cross(v, w)))

    return robot.platform.orientation(np.radians(40.0), brentq(det, 0.7, 1.1, xtol=1e-15), 0.0)


def test_a_parallel_singularity_is_told(tmp_path):
    robot = described(tmp_path, GENERAL[0])
    Q = loose(robot)
    parallel, serial = robot.platform.singularity(Q)
    assert parallel < 1e-9
    assert serial > 0.1
    tool = robot.platform.stiffness_at(Q)
    assert np.abs(tool.K @ tool.null_directions).max() < 1e-9 * np.abs(tool.K).max()
    assert np.linalg.norm(tool.null_directions[:3]) > 0.01  # it is off the centre, so the turn shifts it
    found = robot.platform.stiffness_at(Q, "platform")
    assert found.singular
    assert found.rank == 5
    assert found.condition == np.inf
    assert np.abs(found.K @ found.null_directions).max() < 1e-9 * np.abs(found.K).max()
    axis = found.null_directions[3:, 0]
    np.testing.assert_allclose(found.null_directions[:3, 0], 0.0, atol=1e-12)
    across = np.cross(axis, [0.3, -0.5, 0.7])
    loaded, held = np.concatenate([[1, 2, 3], 10 * axis + across]), np.concatenate([[1, 2, 3], across])
    told = found.deflected(loaded)
    assert not told.equilibrium
    assert "there is no equilibrium" in told.statement
    quiet = found.deflected(held)
    assert quiet.equilibrium
    assert "does not load" in quiet.statement
    smallest = np.linalg.pinv(found.K, rcond=1e-10) @ held
    np.testing.assert_allclose(quiet.motion, smallest, atol=1e-6 * np.abs(smallest).max())
    np.testing.assert_allclose(told.motion, quiet.motion, atol=1e-6 * np.abs(smallest).max())
    out, status = robot.platform.deflections(np.stack([Q, np.eye(3)]), np.stack([loaded, held]))
    assert status.tolist() == [2, 0]
    assert np.isnan(out[0, 0]).all()
    np.testing.assert_allclose(out[0, 1], quiet.motion, atol=1e-9)
    np.testing.assert_allclose(robot.platform.stiffness_at(np.eye(3), "platform").K @ out[1, 1], held, atol=1e-9)


def test_a_folded_leg_is_stiff_as_ever():
    """(23): at azimuth 90, tilt 60 deg leg 1 of the unlimited-roll manipulator is folded; K is regular, J is not."""
    robot = load_robot("spm_unlimited_roll")
    assert isinstance(robot, SphericalRobot)
    Q = robot.platform.orientation(np.pi / 2, np.pi / 3, 0.0)
    assert robot.platform.singularity(Q)[1] < 1e-6
    assert not robot.platform.stiffness_at(Q).singular
    with pytest.raises(SingularityError, match="leg 1 is folded"):
        robot.platform.angular_jacobian(Q)


def test_rigid_links_leave_the_actuators(tmp_path):
    """K_act J of (5) about O, and infinite for translations; the map of Fig. 9c."""
    robot = described(tmp_path, GENERAL[0], proximal="{rigid: true, mass: 0.1}", distal="{rigid: true, mass: 0.2}")
    Q = robot.platform.orientation(0.4, 0.2, 0.0)
    J = robot.platform.angular_jacobian(Q)
    found = robot.platform.stiffness_at(Q, "platform")
    assert found.K is None
    np.testing.assert_allclose(found.C[3:, 3:], np.linalg.inv(2e5 * J.T @ J), rtol=1e-8)
    np.testing.assert_allclose(found.C[:3], 0.0, atol=1e-15)
    moment = np.array([0.0, 0.0, 0.0, 3.0, -1.0, 2.0])
    out, status = robot.platform.deflections(Q[None], moment)
    assert status.tolist() == [0]
    np.testing.assert_allclose(out[0, 0], found.deflection(moment), rtol=1e-8, atol=1e-15)
    with pytest.raises(InputError, match="infinite"):
        robot.platform.stiffness_matrix(Q)


def test_workspace_and_bad_input(robot):
    status = robot.platform.status_grid(np.radians(np.arange(0.0, 360.0, 15.0)), np.radians([0.0, 60.0, 120.0, 179.0]))
    assert status.shape == (4, 24)
    assert (status[0] == 0).all()
    unreachable = np.argwhere(status == 1)
    if len(unreachable):
        row, column = unreachable[0]
        Q = robot.platform.orientation(np.radians(15.0 * column), np.radians([0.0, 60.0, 120.0, 179.0][row]), 0.0)
        for ask in (
            robot.platform.inverse_kinematics,
            robot.platform.stiffness_at,
            robot.platform.stiffness_matrix,
            robot.platform.leg_axes,
        ):
            with pytest.raises(WorkspaceError, match=r"cannot reach this orientation: leg \d"):
                ask(Q)
        assert np.isnan(robot.platform.deflections(Q[None], np.ones(6))[0]).all()
    for wrong in (np.eye(2), np.full((3, 3), np.nan), 2 * np.eye(3), np.diag([1.0, 1.0, -1.0]), "up"):
        with pytest.raises((InputError, ValueError)):
            robot.platform.inverse_kinematics(wrong)
    elsewhere = np.eye(4)
    elsewhere[:3, 3] = 1.0
    with pytest.raises(WorkspaceError, match="only turns about its centre"):
        robot.platform.stiffness_at(elsewhere)
    with pytest.raises(InputError, match="wrenches"):
        robot.platform.deflections(np.eye(3)[None], np.ones(5))
    with pytest.raises(InputError, match="rotations"):
        robot.platform.deflections(np.eye(3), np.ones(6))
    with pytest.raises(InputError, match="working modes"):
        robot.platform.inverse_kinematics(np.eye(3), modes=(1, 2, 3))


@pytest.mark.parametrize(
    ("replaced", "why"),
    [
        ({"geometry": "{alpha1: 190 deg, alpha2: 90 deg, beta: 90 deg, gamma: 0, R: 0.2}"}, "below 180 deg"),
        ({"geometry": "{alpha1: 20 deg, alpha2: 20 deg, beta: 90 deg, gamma: 0, R: 0.2}"}, "does not reach"),
        ({"working_mode": "[0, 1, 1]"}, "1 or -1"),
        ({"distal": "{section: {shape: tube, outer: 0.01, inner: 0.02}, E: 1e9, nu: 0.3}"}, "inner radius"),
        ({"distal": "{section: {shape: circle, radius: 0.01}, E: 1e9}"}, "one of G, nu"),
        ({"distal": "{compliance: [[1, 2], [3, 4]]}"}, "6 rows of 6"),
        ({"tool": "{}\nlegs: 3"}, "unknown key"),
    ],
)
def test_a_bad_description_is_named(tmp_path, replaced, why):
    with pytest.raises(DescriptionError, match=why):
        described(tmp_path, GENERAL[0], **replaced)


def test_its_dynamics_conserve_energy_and_agree_between_formulations(robot):
    """A spherical robot is a closed chain as any other."""
    q = robot.neutral() + np.array([0.05, -0.02, 0.03])
    qd, qdd = np.array([0.5, -0.3, 0.2]), np.array([1.0, 2.0, -1.0])
    tau = robot.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(robot.using("multipliers").inverse_dynamics(q, qd, qdd), tau, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), qdd, rtol=1e-6)
    assert robot.redundant_constraints == 6
