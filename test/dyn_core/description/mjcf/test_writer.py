"""Robots written as MJCF and as URDF+: MuJoCo moves them alike, and they are read back as what they were."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from mujoco_peer import MujocoPeer

from dyn_core import load_robot, robot_names
from dyn_core.description.mjcf.writer import to_mjcf
from dyn_core.errors import DescriptionError, DescriptionWarning
from dyn_core.robots import LoopRobot, convert

NOT_PHYSICAL = ("spm_coaxial", "spm_unlimited_roll")
"""Whose links have inertias that no real body has, and that MuJoCo refuses."""
CLOSED = ["five_bar_saha", "four_bar_saha", "four_bar_wang", "gough_stewart"]


@pytest.mark.parametrize("name", [name for name in robot_names() if name not in NOT_PHYSICAL])
def test_a_robot_is_read_back_as_the_same(tmp_path: Path, name: str) -> None:
    """`convert` compares the forces of both."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        assert convert(name, tmp_path / "robot.xml", "mjcf").text.startswith("<mujoco")


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_chain_moves_alike_in_mujoco(tmp_path: Path, name: str) -> None:
    """Accelerations by MuJoCo's mass matrix, bias forces and Jacobians, the equalities met exactly."""
    robot = load_robot(name)
    path = tmp_path / "robot.xml"
    path.write_text(to_mjcf(robot.mechanism))
    loops = LoopRobot(robot.mechanism)
    m = robot.mechanism
    peer = MujocoPeer(path, m.joint_names)
    rng = np.random.default_rng(0)
    for _ in range(3):
        q, qd, tau = loops.neutral() + 0.02 * rng.normal(size=loops.n), *rng.normal(size=(2, loops.n))
        full, rates = loops.all_joints(q, qd)
        drive = -m.Fs * np.sign(rates)
        drive[m.active] += tau
        expected = peer.direct(full, rates, drive)[m.active]
        np.testing.assert_allclose(loops.forward_dynamics(q, qd, tau), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", CLOSED)
def test_a_closed_chain_is_the_same_by_urdf_plus(tmp_path: Path, name: str) -> None:
    """`convert` compares loops, assembly, joints and forces."""
    target = tmp_path / "robot.urdf"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        text = convert(name, target, "urdf").text
        again = load_robot(target)
    assert "<loop" in text
    assert 'independent="false"' in text
    robot = load_robot(name)
    q = robot.neutral() + 0.01
    rest = np.zeros(robot.n)
    np.testing.assert_allclose(
        again.inverse_dynamics(q, rest, rest + 1.0), robot.inverse_dynamics(q, rest, rest + 1.0), rtol=1e-8, atol=1e-9
    )


def test_what_mjcf_cannot_say_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DescriptionError, match="MuJoCo cannot compile it"):
        convert("spm_coaxial", tmp_path / "robot.xml", "mjcf")
    with pytest.raises(DescriptionError, match="is a spherical robot, which URDF cannot say"):
        convert("agile_wrist", tmp_path / "robot.urdf", "urdf")
