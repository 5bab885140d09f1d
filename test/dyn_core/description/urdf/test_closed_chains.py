"""Closed chains in URDF files (URDF+ and LAAS's robot.yaml) against Pinocchio's constrained dynamics."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from dyn_core import load_robot
from dyn_core.errors import DescriptionError, DescriptionWarning
from dyn_core.robots import LoopRobot, MimicRobot

INERTIAL = """<inertial><origin xyz="0.01 0.02 0.1"/><mass value="{}"/>
  <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="-0.002" iyz="0.0005"/></inertial>"""


def link(name: str, mass: float = 1.0) -> str:
    return f'<link name="{name}">{INERTIAL.format(mass)}</link>'


def joint(name: str, parent: str, child: str, xyz: str, more: str = "", kind: str = "continuous", rpy: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}" {more}><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy or "0 0 0"}"/><axis xyz="0 1 0"/></joint>'
    )


BARS = "".join([
    '<link name="base"/>', link("crank", 2.0), link("coupler", 1.5), link("rocker", 0.7),
    joint("crank", "base", "crank", "0 0 0", 'independent="true"'),
    joint("coupler", "crank", "coupler", "0 0 0.2", 'independent="false"'),
    joint("rocker", "base", "rocker", "0.5 0 0", 'independent="false"'),
])  # fmt: skip
LOOP = """<loop name="pin" type="{}"><predecessor link="coupler"><origin xyz="0.5 0 0.2" rpy="0 0.3 0"/></predecessor>
<successor link="rocker"><origin xyz="0 0 0.4" rpy="0 0.3 0"/></successor><axis xyz="0 1 0"/></loop>"""


def urdf(folder: Path, content: str, name: str = "robot") -> Path:
    path = folder / f"{name}.urdf"
    path.write_text(f'<robot name="{name}">{content}</robot>')
    return path


def load_quietly(path: Path) -> LoopRobot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DescriptionWarning)
        robot = load_robot(path)
    assert isinstance(robot, LoopRobot)
    return robot


def pinocchio_direct(path: Path, robot: LoopRobot, q: np.ndarray, qd: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """(a,) accelerations, the pin of the loop as a point that two links share."""
    model = pin.buildModelFromUrdf(str(path))
    data = model.createData()
    mechanism = robot.mechanism
    joints = [model.joints[model.getJointId(name)] for name in mechanism.joint_names]
    full, rates = robot.all_joints(q, qd)
    q_p, v_p, tau_p = pin.neutral(model), np.zeros(model.nv), np.zeros(model.nv)
    for at, x, v in zip(joints, full, rates, strict=True):
        q_p[at.idx_q : at.idx_q + at.nq] = x if at.nq == 1 else (np.cos(x), np.sin(x))
        v_p[at.idx_v] = v
    tau_p[[joints[j].idx_v for j in np.flatnonzero(mechanism.active)]] = tau
    one, two = (model.frames[model.getFrameId(end, pin.BODY)] for end in ("coupler", "rocker"))
    places = [pin.SE3(np.eye(3), np.array(p)) for p in ([0.5, 0.0, 0.2], [0.0, 0.0, 0.4])]
    constraint = pin.RigidConstraintModel(
        pin.ContactType.CONTACT_3D, model, one.parentJoint, one.placement * places[0], two.parentJoint,
        two.placement * places[1], pin.ReferenceFrame.LOCAL,
    )  # fmt: skip
    constraints, datas = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    constraints.append(constraint)
    datas.append(constraint.createData())
    pin.initConstraintDynamics(model, data, constraints, datas)
    settings = pin.ProximalSettings(1e-13, 1e-12, 200)
    qdd = pin.constraintDynamics(model, data, q_p, v_p, tau_p, constraints, datas, settings)
    return np.array([qdd[joints[j].idx_v] for j in np.flatnonzero(mechanism.active)])


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_a_loop_moves_as_in_pinocchio(tmp_path: Path, kind: str) -> None:
    path = urdf(tmp_path, BARS + LOOP.format(kind))
    robot = load_robot(path)
    assert isinstance(robot, LoopRobot)
    assert robot.joint_names == ("crank",)
    rng = np.random.default_rng(0)
    for q in (0.1, 0.5, -0.4):
        qd, tau = rng.normal(size=(2, 1))
        expected = pinocchio_direct(path, robot, np.array([q]), qd, tau)
        np.testing.assert_allclose(robot.forward_dynamics([q], qd, tau), expected, rtol=1e-9)


def test_a_loop_is_closed_in_every_configuration(tmp_path: Path) -> None:
    robot = load_robot(urdf(tmp_path, BARS + LOOP.format("revolute")))
    poses = dict(zip([f.name for f in robot.mechanism.frames], robot.link_poses(np.array([0.3])), strict=True))
    ends = [poses["coupler"] @ [0.5, 0, 0.2, 1], poses["rocker"] @ [0, 0, 0.4, 1]]
    np.testing.assert_allclose(*ends, atol=1e-10)


def test_a_coupling_is_a_ratio(tmp_path: Path) -> None:
    """ratio q_predecessor = q_successor: here the rotor, driven, turns 3 times as fast as the dependent crank."""
    gears = BARS + (
        '<coupling name="gear"><predecessor link="rocker"/><successor link="crank"/><ratio value="3"/></coupling>'
    )
    robot = load_robot(urdf(tmp_path, gears.replace('"0 0 0.2" independent="false"', "")))
    assert isinstance(robot, MimicRobot)
    m = robot.mechanism
    assert m.mimic is not None
    rocker, crank = (m.joint_names.index(name) for name in ("rocker", "crank"))
    assert m.mimic.leader[rocker] == crank  # the independent one leads
    assert m.mimic.multiplier[rocker] == pytest.approx(1 / 3)


def test_a_coupling_of_several_joints_is_refused(tmp_path: Path) -> None:
    gears = (
        BARS + '<coupling name="g"><predecessor link="coupler"/><successor link="rocker"/><ratio value="3"/></coupling>'
    )
    with pytest.raises(DescriptionError, match="couples other than one joint with one"):
        load_robot(urdf(tmp_path, gears))


LAAS = """closed_loop: [[end, top]]
type: [3d]
name_mot: [crank]
"""
FRAMES = "".join([
    '<link name="end"/><link name="top"/>',
    joint("end_fixed", "coupler", "end", "0.5 0 0.2", kind="fixed"),
    joint("top_fixed", "rocker", "top", "0 0 0.4", kind="fixed"),
])  # fmt: skip


def test_the_file_of_laas_closes_the_chain(tmp_path: Path) -> None:
    plain = BARS.replace('independent="false"', "").replace('independent="true"', "") + FRAMES
    (tmp_path / "robot.yaml").write_text(LAAS)
    robot = load_robot(urdf(tmp_path, plain))
    (tmp_path / "plus").mkdir()
    twin = load_robot(urdf(tmp_path / "plus", BARS + LOOP.format("spherical")))
    assert isinstance(robot, LoopRobot)
    for state in np.random.default_rng(0).normal(size=(3, 3, 1)) * 0.4:
        np.testing.assert_allclose(robot.inverse_dynamics(*state), twin.inverse_dynamics(*state), rtol=1e-9)


def test_the_file_of_laas_may_freeze_joints(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text(LAAS + "joint_name: [extra]\njoint_type: [FIXED]\n")
    more = link("arm", 0.3) + joint("extra", "rocker", "arm", "0.1 0 0")
    assert load_robot(urdf(tmp_path, BARS + FRAMES + more)).mechanism.n == 3


def test_the_file_of_laas_may_make_universal_joints(tmp_path: Path) -> None:
    """The rocker's pin as a universal joint about z and y: its freedom about y stays, the one about z is closed."""
    (tmp_path / "robot.yaml").write_text(LAAS + "joint_name: [rocker, gone]\njoint_type: [UJOINT_ZY, SPHERICAL]\n")
    with pytest.warns(DescriptionWarning, match="joint_name lists gone, which the URDF has not"):
        robot = load_robot(urdf(tmp_path, BARS + FRAMES))
    assert robot.mechanism.joint_names == ("crank", "coupler", "rocker_z", "rocker_y")
    (tmp_path / "plus").mkdir()
    twin = load_robot(urdf(tmp_path / "plus", BARS + LOOP.format("spherical")))
    for state in np.random.default_rng(0).normal(size=(3, 3, 1)) * 0.4:
        np.testing.assert_allclose(robot.inverse_dynamics(*state), twin.inverse_dynamics(*state), rtol=1e-9)


def test_a_singular_zero_configuration_is_left_with_a_warning(tmp_path: Path) -> None:
    """All bars of a four-bar in line: the parallelogram and the anti-parallelogram meet there."""
    flat = BARS.replace('xyz="0.5 0 0"', 'xyz="0 0 0.5"')
    loop = LOOP.format("revolute").replace('xyz="0.5 0 0.2" rpy="0 0.3 0"', 'xyz="0 0 0.5"')
    loop = loop.replace('xyz="0 0 0.4" rpy="0 0.3 0"', 'xyz="0 0 0.2"')
    with pytest.warns(DescriptionWarning, match="zero configuration is singular"):
        robot = load_robot(urdf(tmp_path, flat + loop))
    assert isinstance(robot, LoopRobot)
    again = load_quietly(tmp_path / "robot.urdf")
    np.testing.assert_array_equal(robot.reference, again.reference)
    assert robot.closed(robot.neutral()).distance > 1e-3


WRONG = {
    "no joint or link of the URDF is called 'ende', did you mean 'end'": LAAS.replace("[end,", "[ende,"),
    "no joint is called 'cranck', did you mean 'crank'": LAAS.replace("crank", "cranck"),
    "of type '4d'": LAAS.replace("3d", "4d"),
}


@pytest.mark.parametrize("sentence", WRONG)
def test_mistakes_in_the_file_of_laas_are_refused(tmp_path: Path, sentence: str) -> None:
    (tmp_path / "robot.yaml").write_text(WRONG[sentence])
    with pytest.raises(DescriptionError, match=sentence):
        load_robot(urdf(tmp_path, BARS + FRAMES))


def test_missing_motors_in_the_file_of_laas_are_said(tmp_path: Path) -> None:
    (tmp_path / "robot.yaml").write_text(LAAS.replace("name_mot: [crank]", ""))
    path = urdf(tmp_path, BARS.replace('independent="false"', "") + FRAMES)
    with pytest.warns(DescriptionWarning, match="name_mot is missing"), pytest.raises(DescriptionError, match="over"):
        load_robot(path)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('type="revolute"', 'type="screw"', "type is 'screw'"),
        (
            'predecessor link="coupler"',
            'predecessor link="couple"',
            "no link is called 'couple', did you mean 'coupler'",
        ),
        ('successor link="rocker"', 'successor link="coupler"', "do not move against each other"),
    ],
)
def test_mistakes_in_a_loop_are_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    with pytest.raises(DescriptionError, match=sentence):
        load_robot(urdf(tmp_path, BARS + LOOP.format("revolute").replace(old, new)))
