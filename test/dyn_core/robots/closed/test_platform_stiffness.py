"""Platforms on legs with compliant links, at regular and singular poses, against struts and cranks added up by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

from dyn_core import load_robot
from dyn_core.beams import Material, straight_beam, tube
from dyn_core.errors import WorkspaceError
from dyn_core.stiffness_maps import stiffness_answer

ANGLES = np.radians([0, 60, 120, 180, 240, 300])
FEET = np.stack([np.cos(ANGLES), np.sin(ANGLES), 0 * ANGLES], axis=1)
HIPS = 0.5 * np.stack([np.cos(ANGLES + 0.4), np.sin(ANGLES + 0.4), 0.2 * np.cos(3 * ANGLES)], axis=1)
LOWER, UPPER = tube(0.04, 0.035), tube(0.03, 0.0)
STEEL = Material.isotropic(210e9, 0.3)
RODS = (
    "lower: {beam: {tip: [0, 0, 0.5], section: {shape: tube, outer: 0.04, inner: 0.035}, E: 210e9, nu: 0.3}}, "
    "upper: {beam: {root: [0, 0, -0.6], tip: [0, 0, 0], section: {shape: circle, radius: 0.03}, E: 210e9, nu: 0.3}}"
)


def hexapod(folder, rods: str = "", limits: str = ""):
    legs = "\n".join(
        f"  - {{name: leg{k}, type: UPS, base: {foot.tolist()}, platform: {hip.tolist()}, stiffness: 1e8"
        f"{', ' + rods if rods else ''}{limits}}}"
        for k, (foot, hip) in enumerate(zip(FEET, HIPS, strict=True))
    )
    file = folder / "hexapod.yaml"
    file.write_text(
        f"name: hexapod\nkind: parallel\nplatform: {{home: {{xyz: [0, 0, 1.2]}}, mass: 10,"
        f" inertia: {{xx: 1, yy: 1, zz: 1}}}}\nlegs:\n{legs}\n"
    )
    return load_robot(file)


def struts(pose: np.ndarray, compliance: float) -> np.ndarray:
    """K of the platform's origin: each leg holds along itself."""
    S = screws(pose)
    return S.T @ S / compliance


def at(rotation: np.ndarray, z: float = 1.2) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = Rotation.from_rotvec(rotation).as_matrix(), [0.02, -0.05, z]
    return T


@pytest.mark.parametrize("turn", [[0.1, -0.2, 0.3], [0.0, np.pi / 2, 0.0], [0.0, 1.5, 0.0], [0.3, np.pi / 2, 0.1]])
def test_struts_yield_along_themselves(tmp_path, turn):
    """Also where the yaw, pitch and roll of the platform in the tree are singular."""
    robot, pose = hexapod(tmp_path, rods=RODS), at(np.array(turn), 1.5)
    if np.array_equal(turn, [0.0, np.pi / 2, 0.0]):
        pose[:3, :3] = np.round(pose[:3, :3])
    axial = 1e-8 + 0.5 / (210e9 * LOWER.A) + 0.6 / (210e9 * UPPER.A)
    expected = struts(pose, axial)
    home = np.sign(np.linalg.det(struts(at(np.zeros(3)), 1.0)))
    assert home == np.sign(np.linalg.det(expected))
    reached = robot.platform.inverse_kinematics(pose, check=False)
    found = robot.stiffness(reached.q, near=reached.configuration)
    assert found.rank == 6
    np.testing.assert_allclose(found.K, expected, atol=1e-7 * np.abs(expected).max())
    loaded = robot.stiffness(reached.q, near=reached.configuration, wrench=[0, 0, -1e-3, 0, 0, 0])
    np.testing.assert_allclose(loaded.K, expected, atol=1e-6 * np.abs(expected).max())


def screws(pose: np.ndarray) -> np.ndarray:
    arms = HIPS @ pose[:3, :3].T
    s = arms + pose[:3, 3] - FEET
    s /= np.linalg.norm(s, axis=1)[:, None]
    return np.hstack([s, np.cross(arms, s)])


def singular_pose() -> np.ndarray:
    """Where the six legs' lines are dependent, on the way of a turn about z."""

    def det(angle: float) -> float:
        return float(np.linalg.det(screws(at(np.array([0.1, 0.05, angle])))))

    angles = np.linspace(0.0, 3.0, 61)
    values = [det(angle) for angle in angles]
    k = next(k for k in range(60) if values[k] * values[k + 1] < 0.0)
    return at(np.array([0.1, 0.05, brentq(det, angles[k], angles[k + 1], xtol=1e-16)]))


def test_a_singular_pose_of_a_platform(tmp_path):
    """One motion is free; five independent legs hold the rest."""
    robot, pose = hexapod(tmp_path), singular_pose()
    expected = struts(pose, 1e-8)
    values, vectors = np.linalg.eigh(expected)
    assert values[0] < 1e-9 * values[-1] < 1e-4 * values[-1] < values[1]
    free, w = vectors[:, 0], np.array([3.0, -2.0, 1.0, 0.5, 0.7, -0.3])
    held = w - free * (free @ w)
    found = robot.platform.stiffness_at(pose)
    assert found.rank == 5
    np.testing.assert_allclose(np.abs(found.null_directions[:, 0] @ free), 1.0, atol=1e-9)
    assert not found.deflected(w).equilibrium
    answer = found.deflected(held)
    assert answer.equilibrium
    np.testing.assert_allclose(answer.motion, np.linalg.pinv(expected, rcond=1e-9) @ held, atol=1e-6 * answer.shift)
    said = stiffness_answer(robot, pose, "tool")
    assert "singular stiffness" in said.message
    lengths = np.linalg.norm(HIPS @ pose[:3, :3].T + pose[:3, 3] - FEET, axis=1)
    np.testing.assert_allclose(said.joint_positions, lengths)


def test_limits_are_kept_at_a_singular_pose(tmp_path):
    pose = singular_pose()
    lengths = np.linalg.norm(HIPS @ pose[:3, :3].T + pose[:3, 3] - FEET, axis=1)
    home = np.linalg.norm(HIPS + at(np.zeros(3))[:3, 3] - FEET, axis=1)
    assert lengths.max() > home.max() + 0.02
    limits = f", limits: {{position: [0.5, {0.5 * (lengths.max() + home.max())}]}}"
    with pytest.raises(WorkspaceError, match="beyond its limits"):
        hexapod(tmp_path, limits=limits).platform.stiffness_at(pose)


def test_a_crank_bends_and_a_rod_is_pressed(tmp_path):
    """RSS: a rod hands the crank a force along itself at the elbow."""
    elbows = FEET * 1.2 + np.array([0.0, 0.0, 0.15])
    axes = np.cross(FEET, [0.0, 0.0, 1.0])
    crank, rod = 0.02, 0.008
    legs = []
    for k in range(6):
        length = float(np.linalg.norm(elbows[k] - FEET[k]))
        legs.append(
            f"  - {{name: leg{k}, type: RSS, base: {FEET[k].tolist()}, platform: {HIPS[k].tolist()},"
            f" axis: {axes[k].tolist()}, elbow: {elbows[k].tolist()}, stiffness: 3e4,"
            f" crank: {{mass: 1, inertia: {{xx: 1, yy: 1, zz: 1}}, beam: {{tip: [{length}, 0, 0], up: [0, 0, 1],"
            f" section: {{shape: circle, radius: {crank}}}, E: 210e9, nu: 0.3}}}},"
            f" rod: {{beam: {{tip: [0, 0, 1], section: {{shape: circle, radius: {rod}}}, E: 210e9, nu: 0.3}}}}}}"
        )
    file = tmp_path / "cranks.yaml"
    file.write_text(
        "name: cranks\nkind: parallel\nplatform: {home: {xyz: [0, 0, 1.2]}, mass: 10, inertia: {xx: 1, yy: 1, zz: 1}}\n"
        "legs:\n" + "\n".join(legs) + "\n"
    )
    robot = load_robot(file)
    K = np.zeros((6, 6))
    for foot, elbow, hip, axis in zip(FEET, elbows, HIPS, axes, strict=True):
        s = hip + np.array([0.0, 0.0, 1.2]) - elbow
        s = s / np.linalg.norm(s)
        arm = elbow - foot
        length = float(np.linalg.norm(arm))
        x = arm / length
        R = np.stack([x, axis, np.cross(x, axis)], axis=1)  # y of the section along the crank's axis
        bent = R.T @ s @ straight_beam(length, tube(crank, 0.0), STEEL)[:3, :3] @ R.T @ s
        turned = (np.cross(axis, arm) @ s) ** 2 / 3e4
        screw = np.concatenate([s, np.cross(hip, s)])
        K += np.outer(screw, screw) / (bent + turned + 1.0 / (210e9 * tube(rod, 0.0).A))
    found = robot.stiffness(robot.neutral())
    np.testing.assert_allclose(found.K, K, atol=1e-7 * np.abs(K).max())
