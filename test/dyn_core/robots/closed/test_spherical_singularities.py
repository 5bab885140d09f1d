"""Spherical robots at, near and far from singularities, against beams and hinges assembled node by node."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from dyn_core import load_robot
from dyn_core.errors import DescriptionError, DynError, SingularityError, WorkspaceError
from dyn_core.robots import SphericalRobot
from dyn_core.stiffness_maps import OrientationGrid, stiffness_map

DOUBLE = """
name: double
kind: spherical
geometry: {alpha1: 90 deg, alpha2: 90 deg, beta: 90 deg, gamma: 0, R: 0.2}
home: {azimuth: 10 deg, tilt: 25 deg, torsion: 5 deg}
proximal: {section: {shape: circle, radius: 0.0075}, E: 210e9, nu: 0.3}
distal: {section: {shape: circle, radius: 0.0075}, E: 210e9, nu: 0.3}
actuators: {stiffness: 2e5}
"""


def described(folder: Path, text: str) -> SphericalRobot:
    file = folder / "robot.yaml"
    file.write_text(text)
    robot = load_robot(file)
    assert isinstance(robot, SphericalRobot)
    return robot


def random_robot(folder: Path, rng: np.random.Generator) -> SphericalRobot:
    """Every leg with arcs, radii, sections and an actuator of its own; None of it has a mass."""

    def link() -> str:
        section = f"{{shape: rectangle, height_y: {rng.uniform(0.005, 0.02)}, height_z: {rng.uniform(0.005, 0.02)}}}"
        return f"{{R: {rng.uniform(0.1, 0.3)}, section: {section}, E: {rng.uniform(5e10, 2e11)}, nu: 0.3}}"

    def three(*parts: str) -> str:
        return f"[{', '.join(parts)}]"

    for _ in range(100):
        arcs = [three(*(f"{x} deg" for x in rng.uniform(50, 110, 3))) for _ in range(2)]
        beta, gamma = rng.uniform([40, 0], [110, 80])
        actuators = three(*(f"{{stiffness: {10 ** rng.uniform(3, 6)}}}" for _ in range(3)))
        text = f"""
name: random
kind: spherical
geometry: {{alpha1: {arcs[0]}, alpha2: {arcs[1]}, beta: {beta} deg, gamma: {gamma} deg, R: 1}}
working_mode: {rng.choice([-1, 1], 3).tolist()}
proximal: {three(link(), link(), link())}
distal: {three(link(), link(), link())}
actuators: {actuators}
"""
        try:
            return described(folder, text)
        except (DescriptionError, SingularityError):
            continue
    raise AssertionError


def arm(p: np.ndarray) -> np.ndarray:
    """(6, 6) the twist of a body's point at p from that of its origin."""
    X = np.eye(6)
    X[:3, 3:] = [[0, p[2], -p[1]], [-p[2], 0, p[0]], [p[1], -p[0], 0]]
    return X


def assembled(robot: SphericalRobot, Q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Motion T (6, k) of the platform at O and energy H (k, k) over all k motions that the hinges allow.

    Nodes: the platform, and both ends of every link, each with six freedoms (the twist of a point at O, base axes). A
    link is one exact element, the inverse of its compliance as a cantilever; a hinge forbids five motions.
    """
    g, m = robot.platform.geometry, robot.mechanism
    u, v, w = robot.platform.leg_axes(Q)
    tips = {each.body: each.C for each in m.compliances}
    K, rows = np.zeros((78, 78)), []
    for i in range(3):
        joint = int(robot.joints[i])
        before: int | None = None
        for k, (a, t) in enumerate(((u[i], v[i]), (v[i], w[i]))):
            root, tip = 1 + 4 * i + 2 * k, 2 + 4 * i + 2 * k
            n = np.cross(a, t) / np.linalg.norm(np.cross(a, t))
            axes = np.kron(np.eye(2), np.stack([np.cross(t, n), t, n], axis=1))
            rate = np.zeros((6, 78))
            at_tip = axes.T @ arm(g.radii[i, k] * t)
            rate[:, 6 * tip : 6 * tip + 6], rate[:, 6 * root : 6 * root + 6] = at_tip, -at_tip
            K += rate.T @ np.linalg.inv(tips[joint + k]) @ rate
            rows.append((before, root, a))
            before = tip
        rows.append((before, 0, w[i]))
        turn = np.zeros(78)
        turn[6 * (1 + 4 * i) + 3 : 6 * (1 + 4 * i) + 6] = u[i]
        K += m.stiffness[joint] * np.outer(turn, turn)
    G = []
    for first, second, axis in rows:
        across = np.zeros((5, 6))
        across[:3, :3], across[3:, 3:] = np.eye(3), null_space(axis[None]).T
        part = np.zeros((5, 78))
        part[:, 6 * second : 6 * second + 6] = across
        if first is not None:
            part[:, 6 * first : 6 * first + 6] = -across
        G.append(part)
    N = null_space(np.vstack(G), rcond=1e-12)
    return N[:6], N.T @ K @ N


def loose_at(robot: SphericalRobot, rng: np.random.Generator) -> np.ndarray | None:
    """An orientation at which the three v x w lie in a plane, on a random path, if there is one."""
    axis, start = rng.normal(size=3), Rotation.from_rotvec(rng.uniform(-0.3, 0.3, 3)).as_matrix()

    def at(angle: float) -> np.ndarray:
        return Rotation.from_rotvec(angle * axis).as_matrix() @ start

    def det(angle: float) -> float:
        _, v, w = robot.platform.leg_axes(at(angle))
        return float(np.linalg.det(np.cross(v, w)))

    try:
        angles = np.linspace(0.0, 1.5, 16)
        values = [det(angle) for angle in angles]
        for k in range(15):
            if values[k] * values[k + 1] < 0.0:
                found = brentq(det, angles[k], angles[k + 1], xtol=1e-16)
                return at(found) if abs(det(found)) < 1e-10 else None
    except WorkspaceError:
        pass
    return None


def test_every_leg_has_figures_of_its_own_and_needs_no_mass(tmp_path):
    """Kernel, maps, virtual joints and joint positions, all against the assembly."""
    rng = np.random.default_rng(0)
    checked = 0
    for _ in range(30):
        robot = random_robot(tmp_path, rng)
        platform = robot.platform
        for _ in range(4):
            Q = platform.orientation(*rng.uniform([-3, 0, -0.5], [3, 1.2, 0.5]))
            try:
                found = platform.stiffness_at(Q, "platform")
            except WorkspaceError:
                continue
            if min(platform.singularity(Q)) < 1e-2:
                continue
            T, H = assembled(robot, Q)
            C = T @ np.linalg.solve(H, T.T)
            limit = 1e-7 * np.abs(C).max()
            np.testing.assert_allclose(found.C, C, atol=limit)
            assert found.rank == 6
            reached = platform.inverse_kinematics(Q, check=False)
            np.testing.assert_allclose(
                robot.virtual_joints.stiffness(reached.configuration.q, "platform").C, C, atol=limit
            )
            np.testing.assert_allclose(
                robot.stiffness(reached.q, "platform", near=reached.configuration).C, C, atol=limit
            )
            w = rng.normal(size=(2, 6))
            np.testing.assert_allclose(platform.deflections(Q[None], w)[0][0], w @ C, atol=20 * limit)
            checked += 1
    assert checked > 50


def test_at_and_near_a_parallel_singularity(tmp_path):
    rng = np.random.default_rng(1)
    checked = 0
    for _ in range(40):
        robot = random_robot(tmp_path, rng)
        platform = robot.platform
        Q = loose_at(robot, rng)
        if Q is None or platform.singularity(Q)[1] < 0.05:
            continue
        T, H = assembled(robot, Q)
        scale = 1.0 / np.sqrt(np.diag(H))
        values, vectors = np.linalg.eigh(H * np.outer(scale, scale))
        assert values[0] < 1e-12 < 1e-9 < values[1]
        free = T @ (scale * vectors[:, 0])
        free /= np.linalg.norm(free)
        found = platform.stiffness_at(Q, "platform")
        assert found.rank == 5
        np.testing.assert_allclose(np.abs(found.null_directions.T @ free), 1.0, atol=1e-9)
        w = rng.normal(size=6)
        held = w - free * (free @ w)
        modes = T @ (scale[:, None] * vectors[:, 1:])
        motion = modes @ ((modes.T @ held) / values[1:])
        motion -= free * (free @ motion)
        answer = found.deflected(held)
        assert answer.equilibrium
        assert not found.deflected(w).equilibrium
        np.testing.assert_allclose(answer.motion, motion, atol=1e-6 * np.linalg.norm(motion))
        reached = platform.inverse_kinematics(Q, check=False)
        for other in (
            robot.virtual_joints.stiffness(reached.configuration.q, "platform"),
            robot.stiffness(reached.q, "platform", near=reached.configuration),
        ):
            assert other.rank == 5
            np.testing.assert_allclose(other.deflected(held).motion, motion, atol=1e-6 * np.linalg.norm(motion))
        out, status = platform.deflections(Q[None], np.stack([w, held]))
        assert status.tolist() == [2]
        assert np.isnan(out[0, 0]).all()
        np.testing.assert_allclose(out[0, 1], motion, atol=1e-6 * np.linalg.norm(motion))
        for off in (1e-5, 1e-4, 1e-3):  # the deflection falls with the square of the distance
            near = [Rotation.from_rotvec(s * off * free[3:]).as_matrix() @ Q for s in (1.0, 2.0)]
            first, second = (platform.stiffness_at(each, "platform") for each in near)
            if min(platform.singularity(near[0])[0], platform.singularity(near[1])[0]) < 1e-6:
                continue
            assert first.rank == second.rank == 6
            ratio = (platform.singularity(near[1])[0] / platform.singularity(near[0])[0]) ** 2
            assert first.C[3:, 3:].trace() / second.C[3:, 3:].trace() == pytest.approx(ratio, rel=0.05)
        checked += 1
    assert checked > 6


def test_two_null_directions_at_once(tmp_path):
    """All three v x w are upright: the legs hold forces and a moment about z, and nothing else."""
    robot = described(tmp_path, DOUBLE)
    platform = robot.platform
    found = platform.stiffness_at(np.eye(3))
    assert found.rank == 4
    assert found.null_directions.shape == (6, 2)
    np.testing.assert_allclose(found.null_directions[[0, 1, 2, 5]], 0.0, atol=1e-12)
    T, H = assembled(robot, np.eye(3))
    held, lost = np.array([3.0, 2.0, 1.0, 0.0, 0.0, 5.0]), np.array([0.0, 0.0, 0.0, 5.0, 0.0, 0.0])
    motion = T @ (np.linalg.pinv(H, rcond=1e-11, hermitian=True) @ T.T @ held)
    motion[3:5] = 0.0
    answer = found.deflected(held)
    assert answer.equilibrium
    np.testing.assert_allclose(answer.motion, motion, atol=1e-9 * np.linalg.norm(motion))
    assert 1e-5 < answer.turn < 1e-2
    assert not found.deflected(lost).equilibrium
    # a moment along what nothing holds counts, however large the force beside it
    assert not found.deflected(np.array([1e5, 0.0, 0.0, 1e-3, 0.0, 0.0])).equilibrium
    out, status = platform.deflections(np.eye(3)[None], np.stack([held, lost]))
    assert status.tolist() == [2]
    np.testing.assert_allclose(out[0, 0], motion, atol=1e-9 * np.linalg.norm(motion))
    assert np.isnan(out[0, 1]).all()
    table = stiffness_map(robot, OrientationGrid(0.6, 6, 3))
    assert (table.status[0] == 3).all()
    assert np.isnan(table.rotation[0]).all()
    assert np.nanmax(table.rotation) < 10.0
    upright = stiffness_map(robot, OrientationGrid(0.6, 6, 3), np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 5.0]]))
    assert upright.rotation[0] == pytest.approx(answer.turn, rel=0.2)


def test_regular_orientations_beside_it_are_regular(tmp_path):
    """C grows as the square of the inverse distance in both directions, and loses no digit on the way."""
    platform = described(tmp_path, DOUBLE).platform
    way = np.array([0.3, -0.5, 0.2])
    sizes = []
    for off in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        Q = Rotation.from_rotvec(off * way).as_matrix()
        found = platform.stiffness_at(Q)
        assert found.rank == 6
        sizes.append(off**2 * found.C[3:, 3:].trace())
        w = np.array([1.0, 2.0, -3.0, 0.5, 0.2, 0.1])
        out, status = platform.deflections(Q[None], w)
        assert status.tolist() == [0]
        np.testing.assert_allclose(out[0, 0], found.deflection(w), rtol=1e-6, atol=1e-9 * np.abs(found.C).max())
    np.testing.assert_allclose(sizes[1:], sizes[-1], rtol=2e-2)
    np.testing.assert_allclose(sizes[2:], sizes[-1], rtol=2e-3)


def test_a_folded_leg_leaves_the_stiffness_regular(tmp_path):
    """Serial singularities found along random paths: the assembly, the kernel and the virtual joints agree."""
    rng = np.random.default_rng(2)
    checked = 0
    for _ in range(30):
        robot = random_robot(tmp_path, rng)
        platform, axis = robot.platform, rng.normal(size=3)

        def reached(angle: float, platform=platform, axis=axis) -> bool:
            try:
                platform.leg_axes(Rotation.from_rotvec(angle * axis).as_matrix())
            except WorkspaceError:
                return False
            return True

        steps = np.linspace(0.0, 2.0, 21)
        within = [reached(step) for step in steps]
        if all(within):
            continue
        outside = steps[within.index(False)]
        inside = outside - steps[1]
        for _ in range(60):
            middle = 0.5 * (inside + outside)
            inside, outside = (middle, outside) if reached(middle) else (inside, middle)
        Q = Rotation.from_rotvec((inside - 1e-8) * axis).as_matrix()  # what is called folded begins there
        parallel, serial = platform.singularity(Q)
        assert serial < 1e-3
        if parallel < 1e-2:
            continue
        T, H = assembled(robot, Q)
        C = T @ np.linalg.solve(H, T.T)
        found = platform.stiffness_at(Q, "platform")
        assert found.rank == 6
        np.testing.assert_allclose(found.C, C, atol=1e-5 * np.abs(C).max())
        at = platform.inverse_kinematics(Q, check=False).configuration.q
        slow = robot.virtual_joints.stiffness(at, "platform")
        np.testing.assert_allclose(slow.C, C, atol=1e-5 * np.abs(C).max())
        checked += 1
    assert checked > 8


def test_a_leg_whose_axes_coincide_is_not_determined(tmp_path):
    """With alpha1 = alpha2 and w along u every position of the actuator closes the leg: no answer is invented."""
    platform = described(tmp_path, DOUBLE).platform
    u, w = platform.leg_axes(np.eye(3))[0][0], np.array([0.0, 1.0, 0.0])
    Q = Rotation.align_vectors(u[None], w[None])[0].as_matrix()
    with pytest.raises(WorkspaceError, match="the axes u and w of leg 1 coincide"):
        platform.stiffness_at(Q)
    assert np.isnan(platform.deflections(Q[None], np.ones(6))[0]).all()


def test_legs_of_which_one_is_rigid(tmp_path):
    """One leg holds the centre: K is infinite for translations, and single answers and maps agree."""
    link = "{section: {shape: circle, radius: 0.0075}, E: 210e9, nu: 0.3}"
    text = DOUBLE.replace("gamma: 0,", "gamma: 40 deg,")
    for key in ("proximal", "distal"):
        text = text.replace(f"{key}: {link}", f"{key}: [{{rigid: true}}, {link}, {link}]")
    robot = described(tmp_path, text)
    Q = robot.platform.home[:3, :3]
    found = robot.platform.stiffness_at(Q)
    assert found.K is None
    assert found.rank == 3
    np.testing.assert_allclose(found.C[:3], 0.0, atol=1e-12 * np.abs(found.C).max())
    w = np.array([1.0, 2.0, 3.0, 0.5, -0.2, 0.1])
    out, _ = robot.platform.deflections(Q[None], w)
    np.testing.assert_allclose(out[0, 0], found.deflection(w), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("actuators: {stiffness: 2e5}", "actuators: [{stiffness: 2e5}, {stiffness: 1e5}]", "a list of three"),
        ("alpha1: 90 deg", "alpha1: [90 deg, 90 deg]", "a list of 3 angles"),
        ("alpha1: 90 deg", "alpha1: [90 deg, 90 deg, 200 deg]", "below 180 deg"),
        ("R: 0.2", "R: [0.2, 0.2, -1]", "> 0"),
        ("proximal: {", "proximal: {R: 0, ", "> 0"),
        ("distal: {section", "distal: [{sections", "unknown key|expected"),
    ],
)
def test_a_bad_leg_is_named(tmp_path, old, new, why):
    with pytest.raises(DescriptionError, match=why):
        described(tmp_path, DOUBLE.replace(old, new))


def test_geometry_that_differs_says_so(tmp_path):
    geometry = described(tmp_path, DOUBLE.replace("R: 0.2", "R: [0.2, 0.25, 0.2]")).platform.geometry
    assert geometry.alpha1 == pytest.approx(np.pi / 2)
    with pytest.raises(DynError, match="radii of the links differ"):
        geometry.R  # noqa: B018
