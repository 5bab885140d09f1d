"""SDF: robots of ours written as SDF by hand, loops cut where the tree stays well conditioned, and refusals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dyn_core import Robot, load_robot
from dyn_core.description import Inertial
from dyn_core.errors import DescriptionError, DescriptionWarning
from dyn_core.robots import FloatingRobot, LoopRobot, MimicRobot
from dyn_core.spatial.poses import rpy_from_rotation


def numbers(values: np.ndarray) -> str:
    return " ".join(repr(float(x)) for x in values)


def six(T: np.ndarray) -> str:
    return numbers(np.array([*T[:3, 3], *rpy_from_rotation(T[:3, :3])]))


def link(name: str, pose: str, body: Inertial) -> str:
    J = body.inertia
    tensor = "".join(
        f"<i{'xyz'[a]}{'xyz'[b]}>{float(J[a, b])!r}</i{'xyz'[a]}{'xyz'[b]}>" for a in range(3) for b in range(a, 3)
    )
    return (
        f'<link name="{name}">{pose}<inertial><pose>{numbers(body.com)} 0 0 0</pose><mass>{float(body.mass)!r}</mass>'
        f"<inertia>{tensor}</inertia></inertial></link>"
    )


def puma_as_sdf(backwards: bool, relative: bool) -> str:
    """Frames of links are those of joints; backwards: every second joint names parent and child the other way."""
    robot = load_robot("puma560")
    m = robot.mechanism
    parts, links = [], [f"body{j}" for j in range(m.n)]
    at = {-1: np.eye(4)}
    for j in range(m.n):
        step = np.eye(4)
        step[:3, :3], step[:3, 3] = m.R[j], m.p[j]
        above = int(m.parent[j])
        at[j] = at[above] @ step
        pose = f"<pose>{six(at[j])}</pose>"
        if relative and above >= 0:
            pose = f'<pose relative_to="{links[above]}">{six(step)}</pose>'
        parts.append(link(links[j], pose, Inertial.from_standard_parameters(m.M[j], m.MS[j], m.J[j])))
        swap = backwards and j % 2 == 1
        ends = ["world" if above < 0 else links[above], links[j]]
        parent, child = reversed(ends) if swap else ends
        axis = f'<xyz expressed_in="{links[j]}">0 0 {-1 if swap else 1}</xyz>'
        where = f'<pose relative_to="{links[j]}">0 0 0 0 0 0</pose>' if swap else ""
        limit = f"<limit><effort>{float(m.effort_limits[j])!r}</effort></limit>"
        friction = f"<dynamics><damping>{float(m.Fv[j])!r}</damping><friction>{float(m.Fs[j])!r}</friction></dynamics>"
        parts.append(
            f'<joint name="{m.joint_names[j]}" type="revolute">{where}<parent>{parent}</parent><child>{child}</child>'
            f"<axis>{axis}{limit}{friction}</axis></joint>"
        )
    return f'<sdf version="1.9"><model name="puma">{"".join(parts)}</model></sdf>'


def written(folder: Path, text: str) -> Path:
    path = folder / "robot.sdf"
    path.write_text(text)
    return path


@pytest.mark.parametrize("relative", [False, True], ids=["model", "relative"])
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_an_arm_is_the_same_robot(tmp_path: Path, backwards: bool, relative: bool) -> None:
    puma, robot = load_robot("puma560"), load_robot(written(tmp_path, puma_as_sdf(backwards, relative)))
    assert robot.joint_names == puma.joint_names
    rotors = puma.mechanism.Ia
    for q, qd, qdd in np.random.default_rng(0).normal(size=(3, 3, 6)):
        expected = puma.inverse_dynamics(q, qd, qdd) - rotors * qdd
        np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), expected, rtol=1e-9, atol=1e-9)


ROD = Inertial(1.5, np.array([0.0, 0.0, 0.1]), np.diag([0.02, 0.021, 0.003]))


def turning(name: str, parent: str, child: str, more: str = "", kind: str = "revolute", pose: str = "") -> str:
    return (
        f'<joint name="{name}" type="{kind}">{pose}<parent>{parent}</parent><child>{child}</child>'
        f"<axis><xyz>0 1 0</xyz>{more}</axis></joint>"
    )


DRIVEN = "<limit><effort>20</effort></limit>"
BARS = [
    link("crank", "<pose>0 0 0 0 0 0</pose>", ROD),
    link("coupler", "<pose>0 0 0.2 0 0 0</pose>", ROD),
    link("rocker", "<pose>0.5 0 0 0 0 0</pose>", ROD),
    turning("crank", "world", "crank", DRIVEN),
    turning("coupler", "crank", "coupler"),
    turning("rocker", "world", "rocker"),
]
CLOSING = turning("pin", "coupler", "rocker", kind="KIND", pose="<pose>0 0 0.4 0 0 0</pose>")


def four_bar(kind: str, order: list[int] | None = None, more: str = "") -> str:
    parts = [*BARS, CLOSING.replace("KIND", kind)]
    ordered = "".join(parts[k] for k in order or range(len(parts)))
    return f'<sdf version="1.9"><model name="bars">{ordered}{more}</model></sdf>'


URDF_BARS = """<robot name="bars"><link name="base"/>{}
<joint name="crank" type="continuous"><parent link="base"/><child link="crank"/><axis xyz="0 1 0"/></joint>
<joint name="coupler" type="continuous" independent="false"><parent link="crank"/><child link="coupler"/>
  <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/></joint>
<joint name="rocker" type="continuous" independent="false"><parent link="base"/><child link="rocker"/>
  <origin xyz="0.5 0 0"/><axis xyz="0 1 0"/></joint>
<loop name="pin" type="revolute"><predecessor link="coupler"><origin xyz="0.5 0 0.2"/></predecessor>
  <successor link="rocker"><origin xyz="0 0 0.4"/></successor><axis xyz="0 1 0"/></loop></robot>"""


@pytest.fixture
def twin(tmp_path: Path) -> Robot:
    """The four-bar by URDF+, whose reader is tested against Pinocchio."""
    body = (
        '<link name="{}"><inertial><origin xyz="0 0 0.1"/><mass value="1.5"/><inertia ixx="0.02" iyy="0.021"'
        ' izz="0.003" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )
    path = tmp_path / "twin.urdf"
    path.write_text(URDF_BARS.format("".join(body.format(name) for name in ("crank", "coupler", "rocker"))))
    return load_robot(path)


@pytest.mark.parametrize("kind", ["revolute", "ball"])
@pytest.mark.parametrize("order", [None, [6, 5, 4, 3, 2, 1, 0]], ids=["forwards", "backwards"])
def test_a_closed_chain_is_the_same_in_every_order(
    tmp_path: Path, twin: Robot, kind: str, order: list[int] | None
) -> None:
    robot = load_robot(written(tmp_path, four_bar(kind, order)))
    assert isinstance(robot, LoopRobot)
    assert robot.joint_names == ("crank",)
    if kind == "ball":
        assert [(loop.name, loop.kind) for loop in robot.mechanism.loops] == [("pin", "spherical")]
    for q, qd, qdd in np.random.default_rng(0).normal(size=(3, 3, 1)) * 0.4:
        expected = twin.inverse_dynamics(q, qd, qdd)
        np.testing.assert_allclose(robot.inverse_dynamics(q, qd, qdd), expected, rtol=1e-9, atol=1e-9)


def test_the_driven_joint_is_never_cut(tmp_path: Path) -> None:
    """Where the farthest joint is driven, another one is cut."""
    joint = turning("pin", "coupler", "rocker", kind="revolute", pose="<pose>0 0 0.4 0 0 0</pose>")
    assert joint in four_bar("revolute")
    text = four_bar("revolute").replace(DRIVEN, "").replace(joint, joint.replace("</axis>", f"{DRIVEN}</axis>"))
    robot = load_robot(written(tmp_path, text))
    assert robot.joint_names == ("pin",)
    assert [loop.name for loop in robot.mechanism.loops] in (["coupler"], ["rocker"], ["crank"])


def test_friction_of_the_cut_joint_acts(tmp_path: Path, twin: Robot) -> None:
    """The power of viscous friction in the pin is -Fv times the square of its rate."""
    damped = four_bar("revolute").replace(
        "<pose>0 0 0.4 0 0 0</pose><parent>coupler</parent><child>rocker</child><axis><xyz>0 1 0</xyz>",
        "<pose>0 0 0.4 0 0 0</pose><parent>coupler</parent><child>rocker</child><axis><xyz>0 1 0</xyz>"
        "<dynamics><damping>0.7</damping></dynamics>",
    )
    robot = load_robot(written(tmp_path, damped))
    assert isinstance(robot, LoopRobot)
    assert isinstance(twin, LoopRobot)
    q, qd = np.array([0.3]), np.array([1.7])
    _, rates = twin.all_joints(q, qd)
    crank, coupler, rocker = rates
    more = robot.inverse_dynamics(q, qd, [0.0]) - twin.inverse_dynamics(q, qd, [0.0])
    np.testing.assert_allclose(more * qd, 0.7 * (rocker - crank - coupler) ** 2, rtol=1e-9)


def test_without_a_joint_to_the_world_the_base_floats(tmp_path: Path) -> None:
    parts = [link("trunk", "<pose>0 0 1 0 0 0</pose>", ROD), link("arm", "<pose>0 0 1.2 0 0 0</pose>", ROD)]
    text = f'<sdf version="1.9"><model name="m">{"".join(parts)}{turning("j", "trunk", "arm")}</model></sdf>'
    robot = load_robot(written(tmp_path, text))
    assert isinstance(robot, FloatingRobot)
    assert robot.mechanism.base is not None
    assert (robot.mechanism.base.name, robot.mechanism.base.M) == ("trunk", 1.5)
    np.testing.assert_allclose(robot.mechanism.p[0], [0, 0, 0.2], atol=1e-15)


def test_universal_joints_frames_and_followers(tmp_path: Path) -> None:
    text = f"""<sdf version="1.11"><model name="m"><pose>1 0 0 0 0 0</pose>{link("a", "", ROD)}
      {link("b", "<pose degrees='true'>0 0 0.3 0 0 90</pose>", ROD)}{link("c", "<pose>0 0 0.6 0 0 0</pose>", ROD)}
      <joint name="u" type="universal"><parent>world</parent><child>a</child>
        <axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2></joint>
      {turning("k", "a", "b")}
      {turning("s", "b", "c", "<mimic joint='k'><multiplier>2</multiplier><offset>0.1</offset></mimic>")}
      <frame name="tcp" attached_to="c"><pose>0 0 0.2 0 0 0</pose></frame></model></sdf>"""
    robot = load_robot(written(tmp_path, text))
    assert isinstance(robot, MimicRobot)
    assert robot.joint_names == ("u_1", "u_2", "k")
    np.testing.assert_allclose(robot.forward_kinematics([0.0, 0.0, -0.0])[:3, 3][1], 0.0, atol=1e-15)
    turned = robot.forward_kinematics([np.pi / 2, 0.0, 0.0])  # about x of the world, at the model's place
    np.testing.assert_allclose(turned[0, 3], 1.0 + np.sin(0.1) * 0.2, atol=1e-12)
    assert turned[1, 3] < -0.7


REFUSALS = {
    "expand the file first": '<sdf version="1.9"><model name="m"><include><uri>x</uri></include></model></sdf>',
    "has 0 models": '<sdf version="1.9"></sdf>',
    "a model inside a model": '<sdf version="1.9"><model name="m"><model name="n"/></model></sdf>',
    "type is 'screw'": four_bar("screw"),
    "called 'rockr', did you mean 'rocker'": four_bar("ball").replace("<child>rocker", "<child>rockr"),
    "no joint has an <effort> limit": four_bar("ball").replace(DRIVEN, ""),
    "relative to each other, in a circle": four_bar("ball").replace(
        "<pose>0 0 0 0 0 0</pose>", '<pose relative_to="crank">0 0 0 0 0 0</pose>', 1
    ),
    "no joints lead from world to alone": four_bar("ball", more='<link name="alone"/>'),
    "its text is 'x'": four_bar("ball").replace("<mass>1.5</mass>", "<mass>x</mass>", 1),
}


@pytest.mark.parametrize("sentence", REFUSALS)
def test_what_cannot_be_said_is_refused_with_its_line(tmp_path: Path, sentence: str) -> None:
    path = written(tmp_path, REFUSALS[sentence])
    with pytest.raises(DescriptionError, match=sentence) as caught:
        load_robot(path)
    assert str(caught.value).startswith(f"{path}:1:")


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    with pytest.warns(DescriptionWarning, match="left out: <plugin> control"):
        load_robot(written(tmp_path, four_bar("ball", more='<plugin name="control" filename="x.so"/>')))
