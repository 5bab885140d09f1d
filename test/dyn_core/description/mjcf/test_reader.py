"""MJCF: small models against MuJoCo's own dynamics, and every refusal."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from mujoco_peer import MujocoPeer

from dyn_core import Robot, load_robot
from dyn_core.errors import DescriptionError, DescriptionWarning, InputError, MissingLibraryError
from dyn_core.robots import FloatingRobot, LoopRobot, MimicRobot

ARM = """<mujoco model="arm">
  <compiler angle="degree" eulerseq="XYZ"/>
  <option gravity="0.5 0 -9"/>
  <default>
    <joint damping="0.3" armature="0.02"/>
    <geom density="700"/>
    <default class="slide"><joint type="slide" axis="0 1 1" frictionloss="0.4"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="shoulder" pos="0.1 0 0.4" euler="20 -30 40">
      <joint name="pan" axis="0 0 1" pos="0.02 0.01 0" range="-90 60" ref="30"/>
      <joint name="tilt" axis="0 1 0.2" pos="0 0.03 0"/>
      <geom type="capsule" fromto="0 0 0 0.4 0 0.1" size="0.04"/>
      <body name="bracket" pos="0.1 0.1 0" euler="0 0 90">
        <geom type="box" size="0.02 0.05 0.03"/>
        <body name="carriage" pos="0.4 0 0.1">
          <joint name="rail" class="slide" ref="0.1"/>
          <inertial pos="0.01 0.02 0.03" mass="2" fullinertia="0.02 0.03 0.025 0.001 0.002 -0.003"/>
          <site name="tcp" pos="0 0 0.2" euler="0 45 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor joint="pan" gear="50" ctrlrange="-2 2"/>
    <position joint="tilt" kp="100" forcerange="-30 40"/>
    <motor joint="rail"/>
  </actuator>
</mujoco>"""

FOUR_BAR = """<mujoco>
  <worldbody>
    <body name="crank" pos="0 0 0">
      <joint name="crank" axis="0 -1 0"/><geom type="capsule" fromto="0 0 0 0 0 0.2" size="0.02"/>
      <body name="coupler" pos="0 0 0.2">
        <joint name="coupler" axis="0 -1 0"/><geom type="capsule" fromto="0 0 0 0.5 0 0.2" size="0.02"/>
      </body>
    </body>
    <body name="rocker" pos="0.5 0 0">
      <joint name="rocker" axis="0 -1 0" damping="0.2"/><geom type="capsule" fromto="0 0 0 0 0 0.4" size="0.02"/>
    </body>
  </worldbody>
  <equality>CLOSURE</equality>
  <actuator><motor joint="crank"/></actuator>
</mujoco>"""
CLOSURES = {
    "connect": '<connect body1="coupler" body2="rocker" anchor="0.5 0 0.2"/>',
    "sites": '<connect site1="end" site2="top"/>',
    "weld": '<weld body1="coupler" body2="tip"/>',
}


def written(folder: Path, text: str, name: str = "robot.xml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def four_bar(folder: Path, closure: str) -> Path:
    text = FOUR_BAR.replace("CLOSURE", CLOSURES[closure])
    if closure == "sites":
        text = text.replace('0.5 0 0.2" size="0.02"/>', '0.5 0 0.2" size="0.02"/><site name="end" pos="0.5 0 0.2"/>')
        text = text.replace('0 0 0.4" size="0.02"/>', '0 0 0.4" size="0.02"/><site name="top" pos="0 0 0.4"/>')
    if closure == "weld":
        tip = '<body name="tip" pos="0 0 0.4"><joint name="tip" axis="0 -1 0"/><geom size="0.03"/></body>'
        text = text.replace('0 0 0.4" size="0.02"/>', f'0 0 0.4" size="0.02"/>{tip}')
    return written(folder, text)


def states(robot: Robot, count: int = 4) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(count, 3, robot.nv))


def test_a_tree_moves_as_in_mujoco(tmp_path: Path) -> None:
    path = written(tmp_path, ARM)
    robot = load_robot(path)
    m = robot.mechanism
    assert (robot.name, robot.joint_names) == ("arm", ("pan", "tilt", "rail"))
    np.testing.assert_allclose(m.position_limits[0], np.radians([-90, 60]))
    np.testing.assert_allclose(m.effort_limits, [100.0, 40.0, np.inf])
    np.testing.assert_allclose([m.Ia, m.Fv], [[0.02] * 3, [0.3] * 3])
    np.testing.assert_allclose(m.Fs, [0, 0, 0.4])
    peer = MujocoPeer(path, robot.joint_names)
    for q, qd, qdd in states(robot):
        expected = peer.inverse(q, qd, qdd) + m.Fs * np.sign(qd)
        np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), expected, rtol=1e-12, atol=1e-11)
        tool = robot.forward_kinematics(q)
        site = peer.d.site("tcp")
        np.testing.assert_allclose(tool[:3, 3], site.xpos, atol=1e-12)
        np.testing.assert_allclose(tool[:3, :3], site.xmat.reshape(3, 3), atol=1e-12)


def test_included_files_are_read(tmp_path: Path) -> None:
    whole = load_robot(written(tmp_path, ARM, "whole.xml"))
    body = ARM[ARM.index('<body name="shoulder"') : ARM.index("</worldbody>")]
    written(tmp_path, f"<mujocoinclude>{body}</mujocoinclude>", "body.xml")
    parts = load_robot(written(tmp_path, ARM.replace(body, '<include file="body.xml"/>'), "parts.xml"))
    for q, qd, qdd in states(whole, 1):
        np.testing.assert_array_equal(whole.inverse_dynamics(q, qd, qdd), parts.inverse_dynamics(q, qd, qdd))


@pytest.mark.parametrize("closure", CLOSURES)
def test_a_closed_chain_moves_as_in_mujoco(tmp_path: Path, closure: str) -> None:
    path = four_bar(tmp_path, closure)
    robot = load_robot(path)
    assert isinstance(robot, LoopRobot)
    assert list(robot.mechanism.active) == [name == "crank" for name in robot.mechanism.joint_names]
    peer = MujocoPeer(path, robot.mechanism.joint_names)
    rng = np.random.default_rng(0)
    for q in (0.0, 0.4, -0.3):
        qd, tau = rng.normal(size=(2, 1))
        full, rates = robot.all_joints(np.array([q]), qd)
        active = robot.mechanism.active
        drive = np.zeros(len(full))
        drive[active] = tau
        expected = peer.direct(full, rates, drive)[active]
        np.testing.assert_allclose(robot.forward_dynamics(np.array([q]), qd, tau), expected, rtol=1e-9)


def test_coupled_joints_follow(tmp_path: Path) -> None:
    """q1 - ref1 = 0.1 + 2 (q2 - ref2)."""
    text = ARM.replace(' ref="0.1"', ' ref="0.1" ').replace(
        "<actuator>", '<equality><joint joint1="tilt" joint2="pan" polycoef="0.1 2 0 0 0"/></equality><actuator>'
    ).replace('<position joint="tilt" kp="100" forcerange="-30 40"/>', "")  # fmt: skip
    path = written(tmp_path, text)
    robot = load_robot(path)
    assert isinstance(robot, MimicRobot)
    assert robot.joint_names == ("pan", "rail")
    mimic = robot.mechanism.mimic
    assert mimic is not None
    np.testing.assert_allclose([mimic.multiplier[1], mimic.offset[1]], [2.0, 0.1 - 2.0 * np.radians(30)])
    peer = MujocoPeer(path, robot.mechanism.joint_names)
    q, qd, tau = np.array([0.3, 0.1]), np.array([1.0, -0.5]), np.array([3.0, 5.0])
    full, rates = np.array([0.3, 2.0 * 0.3 + mimic.offset[1], 0.1]), np.array([1.0, 2.0, -0.5])
    expected = peer.direct(full, rates, np.array([3.0, 0.0, 5.0 + 0.4]))
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), expected[[0, 2]], rtol=1e-9)


def test_springs_act_as_in_mujoco(tmp_path: Path) -> None:
    text = ARM.replace('pos="0 0.03 0"', 'pos="0 0.03 0" stiffness="20" springref="15"')
    path = written(tmp_path, text.replace('<position joint="tilt" kp="100" forcerange="-30 40"/>', ""))
    m = load_robot(path).mechanism
    assert m.springs is not None
    np.testing.assert_allclose([m.springs.K[1], m.springs.rest[1]], [20.0, np.radians(15)])
    assert list(m.active) == [True, False, True]
    with pytest.raises(DescriptionError, match="joint 'tilt' has an actuator and a spring"):
        load_robot(written(tmp_path, text))


def test_a_ball_is_three_hinges(tmp_path: Path) -> None:
    """The same mass matrix by the ball's angular velocity, w = P (qx', qy', qz') in axes of the body."""
    text = """<mujoco><worldbody><body pos="0 0 1"><joint name="hip" type="ball" pos="0.1 0 0"/>
      <geom type="box" size="0.1 0.2 0.3" pos="0.1 0.2 -0.3"/>
      <body name="shin" pos="0 0 -0.6"><joint name="knee" axis="0 1 0"/><geom size="0.1" pos="0 0 -0.3"/></body>
      </body></worldbody></mujoco>"""
    path = written(tmp_path, text)
    robot = load_robot(path)
    assert robot.joint_names == ("hip_x", "hip_y", "hip_z", "knee")
    import mujoco

    m = mujoco.MjModel.from_xml_path(str(path))
    d = mujoco.MjData(m)
    q = np.array([0.3, -0.5, 0.8, 0.4])
    quaternions = [np.array([np.cos(x / 2), *(np.sin(x / 2) * axis)]) for x, axis in zip(q, np.eye(3), strict=False)]
    turned, half = np.empty(4), np.empty(4)
    mujoco.mju_mulQuat(half, quaternions[0], quaternions[1])
    mujoco.mju_mulQuat(turned, half, quaternions[2])
    d.qpos[:] = [*turned, q[3]]
    mujoco.mj_forward(m, d)
    M = np.empty((m.nv, m.nv))
    mujoco.mj_fullM(m, M, d.qM) if hasattr(d, "qM") else mujoco.mj_fullM(m, d, M)
    turns = [np.empty(9) for _ in range(3)]
    for R, quaternion in zip(turns, quaternions, strict=True):
        mujoco.mju_quat2Mat(R, quaternion)
    _, Ry, Rz = (R.reshape(3, 3) for R in turns)
    P = np.eye(4)
    P[:3, :3] = np.column_stack([Rz.T @ Ry.T[:, 0], Rz.T[:, 1], [0, 0, 1]])
    np.testing.assert_allclose(robot.mass_matrix(q), P.T @ M @ P, rtol=1e-11, atol=1e-12)


def test_a_free_joint_is_a_floating_base(tmp_path: Path) -> None:
    text = ARM.replace(
        '<body name="shoulder"', '<body name="trunk"><freejoint/><geom size="0.2"/><body name="shoulder"'
    )
    text = text.replace("</worldbody>", "</body></worldbody>")
    robot = load_robot(written(tmp_path, text))
    assert isinstance(robot, FloatingRobot)
    assert robot.mechanism.base is not None
    assert robot.mechanism.base.name == "trunk"
    np.testing.assert_allclose(robot.mechanism.base.M, 700 * 4 / 3 * np.pi * 0.2**3)


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    text = ARM.replace("</actuator>", '<motor name="thruster" site="tcp"/></actuator>')
    text = text.replace('<body name="bracket"', '<body name="bracket" gravcomp="1"')
    with pytest.warns(DescriptionWarning, match=r"left out: actuator thruster.*; gravity compensation"):
        load_robot(written(tmp_path, text))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_robot(written(tmp_path, ARM))


REFUSALS = {
    "no joint moves": "<mujoco><worldbody><body><geom size='1'/></body></worldbody></mujoco>",
    "MuJoCo cannot compile it": "<mujoco><worldbody><body><joint/></body></worldbody></mujoco>",
    "not linear": ARM.replace(
        "<actuator>", '<equality><joint joint1="tilt" joint2="pan" polycoef="0 1 1 0 0"/></equality><actuator>'
    ),
    "beside other bodies that move": ARM.replace(
        "</worldbody>", '<body name="ball"><freejoint/><geom size="0.1"/></body></worldbody>'
    ),
    "ball with a spring": (
        '<mujoco><worldbody><body><joint type="ball" stiffness="3"/><geom size="1"/></body></worldbody></mujoco>'
    ),
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_what_cannot_be_said_is_refused(tmp_path: Path, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence) as caught:
        load_robot(written(tmp_path, REFUSALS[sentence]))
    assert str(caught.value).startswith(str(tmp_path))


def test_a_floating_base_is_the_files_own_matter(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="says itself whether its base floats"):
        load_robot(written(tmp_path, ARM), floating=True)


def test_without_the_package_the_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingLibraryError, match="dyn setup mjcf"):
        load_robot(written(tmp_path, ARM))
