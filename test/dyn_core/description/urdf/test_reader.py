"""URDF import and export: the robots of example-robot-data against Pinocchio, and every refusal."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from urdf_peers import FILES, REFUSED, USED, Peer, random_state, read, relative

from dyn_core import Robot, load_robot, robot_names
from dyn_core.description import read_urdf
from dyn_core.errors import DescriptionError, DescriptionWarning, InputError
from dyn_core.robots import FloatingRobot, MimicRobot, robot_of

"""Files of example-robot-data that say no robot: sentences."""


def rigid(robot: Robot, v: np.ndarray) -> np.ndarray:
    """Friction forces, which Pinocchio leaves out."""
    m = robot.mechanism
    joints = v[-robot.n :]
    return np.concatenate([np.zeros(robot.nv - robot.n), m.Fv * joints + m.Fs * np.sign(joints)])


def test_the_examples_are_there() -> None:
    names = {file.name for file in FILES}
    wanted = {"panda.urdf", "ur5_robot.urdf", "talos_full_v2.urdf", "anymal.urdf", "pr2.urdf", "tiago_dual.urdf"}
    assert wanted | set(REFUSED) <= names


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", USED, ids=lambda path: f"{path.parts[-3]}/{path.name}")
def test_an_example_is_what_pinocchio_reads(path: Path, floating: bool) -> None:
    """All joints independent, as Pinocchio reads mimic joints unless told otherwise."""
    loaded = read(path, floating)
    robot = loaded.tree if isinstance(loaded, MimicRobot) else loaded
    peer = Peer(path, robot, floating, mimic=False)
    q, v, vd = random_state(robot)
    friction = rigid(robot, v)
    assert relative(robot.inverse_dynamics(q, v, vd) - friction, peer.inverse(q, v, vd)) < 1e-9
    assert relative(robot.mass_matrix(q), peer.mass_matrix(q)) < 1e-9
    tau = peer.inverse(q, v, vd)  # so that the accelerations are of one size
    assert relative(peer.spatial(v, robot.forward_dynamics(q, v, tau + friction)), peer.direct(q, v, tau)) < 1e-9
    assert relative(robot.link_poses(q)[:-1], peer.poses(q)) < 1e-9


@pytest.mark.parametrize("path", [file for file in FILES if file.name in REFUSED], ids=lambda path: path.name)
def test_an_example_that_is_no_robot_is_refused(path: Path) -> None:
    with pytest.raises(DescriptionError, match=REFUSED[path.name]) as caught:
        read_urdf(path)
    assert str(caught.value).startswith(f"{path}:")


def test_limits_and_friction_are_those_of_the_file() -> None:
    path = next(file for file in USED if file.name == "talos_reduced.urdf")
    m = read_urdf(path)
    model = pin.buildModelFromUrdf(str(path))
    order = [model.joints[model.getJointId(name)].idx_q for name in m.joint_names]
    np.testing.assert_array_equal(m.position_limits[:, 0], model.lowerPositionLimit[order])
    np.testing.assert_array_equal(m.position_limits[:, 1], model.upperPositionLimit[order])
    np.testing.assert_array_equal(m.velocity_limits, model.upperVelocityLimit[order])
    np.testing.assert_array_equal(m.effort_limits, model.upperEffortLimit[order])
    np.testing.assert_array_equal(m.Fv, model.damping[order])
    np.testing.assert_array_equal(m.Fs, model.upperDryFrictionLimit[order])
    assert m.Fv.any()


def test_an_inertia_that_no_body_has_is_warned_of() -> None:
    path = next(file for file in USED if file.name == "romeo_small.urdf")
    with pytest.warns(DescriptionWarning, match="no real body has the inertia of RShoulderYawLink"):
        read_urdf(path)


# export

NAMES = ["panda.urdf", "ur5_robot.urdf", "talos_full_v2.urdf", "pr2.urdf", "human.urdf", "so101.urdf", "bolt.urdf"]


@pytest.mark.parametrize("floating", [False, True], ids=["fixed", "floating"])
@pytest.mark.parametrize("path", [file for file in USED if file.name in NAMES], ids=lambda path: path.name)
def test_an_exported_example_is_the_same_robot(path: Path, floating: bool, tmp_path: Path) -> None:
    same_after_export(read(path, floating), tmp_path)


@pytest.mark.parametrize("name", [name for name in robot_names() if name != "elastic_2r"])
def test_an_exported_robot_is_the_same_but_for_what_urdf_cannot_say(name: str, tmp_path: Path) -> None:
    robot = load_robot(name)
    m = robot.mechanism
    text = robot.urdf()
    assert ("URDF has no place for" in text) == any(
        [m.Ia.any(), m.motors is not None, m.base is not None, m.springs is not None, m.gravity[2] != -9.81]
    )
    changes = {
        "Ia": np.zeros(m.n), "springs": None, "motors": None, "gravity": np.array([0.0, 0.0, -9.81]),
        "loops": (), "assembly": None, "beams": (), "active": np.ones(m.n, bool),
    }  # fmt: skip
    same_after_export(robot_of(type(m)(**{**vars(m), **changes})), tmp_path)


def test_a_joint_may_move_its_rotor_only(tmp_path: Path) -> None:
    """URDF has no rotors; <dyn_robot> has."""
    massless = GOOD.replace(LINK.format("c"), '<link name="c"/>')
    with pytest.raises(DescriptionError, match="has nothing to move: link 'c'"):
        read_urdf(file_of(tmp_path, massless))
    rotor = '<dyn_robot gravity="0 0 -9.81"><joint name="bc" link="c" rotor_inertia="0.5"/></dyn_robot>'
    np.testing.assert_array_equal(read_urdf(file_of(tmp_path, massless + rotor)).Ia, [0.0, 0.5])


def same_after_export(robot: Robot, folder: Path) -> None:
    file = folder / "exported.urdf"
    file.write_text(robot.urdf())
    again = read(file, floating=robot.mechanism.base is not None)
    assert type(again) is type(robot)
    assert again.joint_names == robot.joint_names
    for limits in ("position_limits", "velocity_limits", "effort_limits"):
        np.testing.assert_array_equal(getattr(again.mechanism, limits), getattr(robot.mechanism, limits))
    q, v, vd = random_state(robot)
    assert relative(again.inverse_dynamics(q, v, vd), robot.inverse_dynamics(q, v, vd)) < 1e-9
    assert relative(again.forward_dynamics(q, v, vd), robot.forward_dynamics(q, v, vd)) < 1e-9
    for frame in robot.mechanism.frames:
        found, expected = (r.forward_kinematics(q, frame.name) for r in (again, robot))
        np.testing.assert_allclose(found, expected, atol=1e-9)


def test_what_urdf_cannot_say_stands_in_a_comment() -> None:
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.fromstring(load_robot("puma560").urdf(), parser)
    assert "rotor inertias, motors" in (root[0].text or "")


# single features

LINK = (
    '<link name="{}"><inertial><origin xyz="0.1 0 0" rpy="0.3 0 0"/><mass value="2"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>\n'
)
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
JOINT = (
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/>'
    '<axis xyz="0 0 2"/>{}</joint>\n'
)
GOOD = LINK.format("a") + LINK.format("b") + LINK.format("c")
GOOD += JOINT.format("ab", "revolute", "a", "b", LIMIT) + JOINT.format("bc", "prismatic", "b", "c", LIMIT)


def file_of(folder: Path, body: str) -> Path:
    path = folder / "robot.urdf"
    path.write_text(f'<?xml version="1.0"?>\n<robot name="made">\n{body}</robot>\n')
    return path


def test_a_link_called_tool_is_the_tool(tmp_path: Path) -> None:
    m = read_urdf(file_of(tmp_path, GOOD))
    assert (m.frames[-1].name, m.frames[-1].body) == ("tool", 1)
    fixed = '<link name="tool"/><joint name="at" type="fixed"><parent link="b"/><child link="tool"/></joint>'
    m = read_urdf(file_of(tmp_path, GOOD + fixed))
    assert [frame.name for frame in m.frames] == ["b", "c", "a", "tool"]
    assert m.frames[-1].body == 0


def test_a_floating_root_joint_is_a_floating_base(tmp_path: Path) -> None:
    world = '<link name="world"/><joint name="free" type="floating"><parent link="world"/><child link="a"/></joint>'
    found = load_robot(file_of(tmp_path, GOOD + world))
    expected = load_robot(file_of(tmp_path, GOOD), floating=True)
    assert isinstance(found, FloatingRobot)
    assert found.mechanism.base is not None
    assert found.mechanism.base.name == "a"
    state = random_state(found)
    np.testing.assert_array_equal(found.inverse_dynamics(*state), expected.inverse_dynamics(*state))


@pytest.mark.parametrize("axis", ["0 0 1", "0 1 0", "1 0 0", "0 0 -1"])
def test_a_planar_joint_is_three_joints(tmp_path: Path, axis: str) -> None:
    """Against Pinocchio's free-flyer that moves in the plane only."""
    body = LINK.format("world") + GOOD
    body += JOINT.format("cart", "planar", "world", "a", "").replace("0 0 2", axis)
    robot = load_robot(file_of(tmp_path, body))
    assert robot.joint_names == ("cart_x", "cart_y", "cart_yaw", "ab", "bc")
    free = load_robot(file_of(tmp_path, GOOD), floating=True)
    q, _, _ = random_state(robot)
    pose = robot.forward_kinematics(q, "a")
    q_free = np.concatenate([pose[:3, 3], pin.Quaternion(pose[:3, :3]).coeffs(), q[3:]])
    J = robot.jacobian(q, "a")
    S = np.vstack([pose[:3, :3].T @ J[:3], pose[:3, :3].T @ J[3:], np.eye(5)[3:]])
    assert relative(robot.mass_matrix(q), S.T @ free.mass_matrix(q_free) @ S) < 1e-9
    assert relative(robot.gravity_forces(q), S.T @ free.gravity_forces(q_free)) < 1e-9
    direction = np.array(axis.split(), float)
    start = robot.forward_kinematics(np.zeros(5), "a")
    normal = start[:3, :3] @ direction
    np.testing.assert_allclose(normal @ (pose[:3, 3] - start[:3, 3]), 0.0, atol=1e-12)
    np.testing.assert_allclose(J[3:, 2], normal, atol=1e-12)
    assert np.linalg.matrix_rank(J[:3, :2]) == 2


def test_what_is_passed_over_is_said(tmp_path: Path) -> None:
    more = '<transmission name="t"/><gazebo/>'
    safe = GOOD.replace("</joint>", '<safety_controller k_velocity="1"/></joint>', 1).replace(
        'name="bc"', 'name="bc" independent="false"'
    )
    sentence = "left out: 1 <transmission>; 1 <safety_controller> of joints; on what bc depend"
    with pytest.warns(DescriptionWarning, match=sentence):
        read_urdf(file_of(tmp_path, safe + more))


def test_a_limit_without_lower_and_upper_is_none(tmp_path: Path) -> None:
    with pytest.warns(DescriptionWarning, match="neither lower nor upper; taken as no limit"):
        m = read_urdf(file_of(tmp_path, GOOD.replace('lower="-1" upper="1" ', "", 1)))
    np.testing.assert_array_equal(m.position_limits[0], [-np.inf, np.inf])
    np.testing.assert_array_equal(m.effort_limits[0], 10.0)


def test_mass_on_the_axis_of_the_last_joint_is_warned_of(tmp_path: Path) -> None:
    point = """<link name="c"><inertial><mass value="2"/>
      <inertia ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"/></inertial></link>"""
    with pytest.warns(DescriptionWarning, match="the mass behind bc lies on the joint's axis"):
        m = read_urdf(file_of(tmp_path, GOOD.replace(LINK.format("c"), point).replace("prismatic", "revolute")))
    assert m.M[1] == 2.0


def test_followers_of_followers_follow_the_first(tmp_path: Path) -> None:
    """q_bc = 2 q_ab + 0.1 and q_cd = -3 q_bc + 0.2 = -6 q_ab - 0.1."""
    body = GOOD.replace(LIMIT + "</joint>\n", LIMIT + "</joint>", 1)
    body = body.replace(LIMIT + "</joint>\n", LIMIT + '<mimic joint="ab" multiplier="2" offset="0.1"/></joint>')
    last = LIMIT + '<mimic joint="bc" multiplier="-3" offset="0.2"/>'
    robot = load_robot(file_of(tmp_path, LINK.format("d") + JOINT.format("cd", "revolute", "c", "d", last) + body))
    assert isinstance(robot, MimicRobot)
    assert robot.joint_names == ("ab",)
    assert robot.mechanism.joint_names == ("ab", "bc", "cd")
    np.testing.assert_allclose(robot.expanded([0.5]), [0.5, 1.1, -3.1])


def test_massless_frames_and_links_between_are_fine(tmp_path: Path) -> None:
    between = JOINT.format("ab", "revolute", "a", "b", LIMIT) + JOINT.format("bc", "revolute", "b", "c", LIMIT)
    path = file_of(
        tmp_path, '<link name="a"/><link name="b"/>' + LINK.format("c") + between.replace("0 0 2", "0 1 1", 1)
    )
    robot = load_robot(path)
    peer = Peer(path, robot, floating=False, mimic=False)
    q, v, vd = random_state(robot)
    assert relative(robot.forward_dynamics(q, v, vd), peer.direct(q, v, vd)) < 1e-9


def test_a_yaml_is_not_made_to_float() -> None:
    with pytest.raises(InputError, match="describes a fixed base"):
        load_robot("planar_2r", floating=True)


# refusals

MIMIC = '<mimic joint="{}"/></joint>'
SHAPE = '<link name="{}"><visual><geometry><sphere radius="1"/></geometry></visual></link>'
FLOATING = '<joint name="f" type="floating"><parent link="{}"/><child link="{}"/>{}</joint>'


@pytest.mark.parametrize(
    ("body", "line", "sentence"),
    [
        (GOOD + LINK.format("d"), 2, "several links have no parent: a, d; a robot has one root"),
        (GOOD + LINK.format("a"), 8, "there is already a link of that name in line 3"),
        (GOOD + JOINT.format("ab", "fixed", "c", "a", ""), 8, "there is already a joint of that name"),
        (GOOD + JOINT.format("x", "fixed", "c", "b", ""), 8, "link 'b' is already the child of joint 'ab' .line 6."),
        (GOOD + JOINT.format("x", "fixed", "c", "a", ""), 6, "goes in a circle"),
        (GOOD.replace('child link="c"', 'child link="cc"'), 7, "no link is called 'cc', did you mean 'c'"),
        (GOOD.replace("revolute", "ball"), 6, "type is 'ball', it must be one of revolute, continuous"),
        (GOOD.replace(LIMIT, "", 1), 6, 'a revolute joint needs a <limit> .*, or type="continuous"'),
        (GOOD.replace('effort="10" ', "", 1), 6, "has no attribute 'effort'"),
        (GOOD.replace('lower="-1"', 'lower="3"', 1), 6, "lower 3 is above upper 1"),
        (GOOD.replace("0 0 2", "0 0 0", 1), 6, "xyz is zero, it must be a direction"),
        (GOOD.replace("0 0 2", "0 0", 1), 6, "xyz is '0 0', it must be 3 finite numbers"),
        (GOOD.replace("0 0 0.5", "0 0 nan", 1), 6, "xyz is '0 0 nan', it must be 3 finite numbers"),
        (GOOD.replace('value="2"', 'value="-2"', 1), 3, "value is -2, a mass is not below zero"),
        (GOOD.replace('iyy="0.1" ', "", 1), 3, "<inertia>: has no attribute 'iyy'"),
        (GOOD.replace(LIMIT, LIMIT + '<dynamics damping="-1"/>', 1), 6, "damping and friction are not below zero"),
        (GOOD.replace(LIMIT, LIMIT + LIMIT, 1), 6, "is the second <limit> of this <joint>"),
        (GOOD.replace(LINK.format("c"), '<link name="c"/>\n'), 7, "<joint name=\"bc\">: has nothing to move: link 'c'"),
        (GOOD.replace(LINK.format("b"), SHAPE.format("b") + "\n"), 4, "moves and has a shape but no <inertial>"),
        (GOOD.replace("</joint>", MIMIC.format("zz"), 1), 6, "joint 'ab' follows 'zz', which does not exist"),
        (GOOD.replace("</joint>", MIMIC.format("ab"), 1), 6, "joint 'ab' follows, in the end, itself"),
        (GOOD.replace("prismatic", "fixed").replace("</joint>", MIMIC.format("bc"), 1), 6, "'bc', which is fixed"),
        (LINK.format("w") + FLOATING.format("c", "w", "") + GOOD, 4, "must be the only one on the root link"),
        (LINK.format("w") + FLOATING.format("w", "a", '<origin xyz="0 0 1"/>') + GOOD, 4, "<origin> must be zero"),
        (GOOD.replace("<joint", "<jiont", 1).replace("</joint", "</jiont", 1), 6, "did you mean <joint>"),
        ("", 2, "has no <link>"),
    ],
)  # fmt: skip
def test_a_refusal_names_file_line_and_reason(tmp_path: Path, body: str, line: int, sentence: str) -> None:
    path = file_of(tmp_path, body)
    with pytest.raises(DescriptionError, match=sentence) as caught:
        read_urdf(path)
    assert str(caught.value).startswith(f"{path}:{line}: <")


def test_a_floating_base_without_mass_is_refused(tmp_path: Path) -> None:
    path = file_of(tmp_path, GOOD.replace(LINK.format("a"), '<link name="a"/>\n'))
    assert read_urdf(path).n == 2
    with pytest.raises(DescriptionError, match="floats but has no mass"):
        read_urdf(path, floating=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '<robot xmlns:xacro="x"><xacro:macro name="m"/></robot>',
            "is a xacro file, not a URDF; .*: xacro robot.urdf >",
        ),
        ('<robot name="r"><link name="${a}"/></robot>', "is a xacro file"),
        ("<model/>", "is not a URDF, whose outermost element is <robot>"),
        ("<robot>", "1: is not valid XML"),
        ("", "is not valid XML: no element found"),
        ('<?xml version="1.0" encoding="none"?><robot/>', "cannot be decoded: unknown encoding"),
        ('<!DOCTYPE r [<!ENTITY a "aaa">]><robot name="&a;"/>', "declares an XML entity, which is not allowed"),
        ("<a>" * 51 + "</a>" * 51, "is nested deeper than 50"),
        ("<r>" + "<a/>" * 200_000 + "</r>", "has more than 200000 elements"),
        (" " * 10_000_001, "is larger than 10000000 bytes"),
    ],
    ids=["xacro", "expression", "other", "open", "empty", "encoding", "entity", "deep", "many", "large"],
)
def test_other_xml_is_refused(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "robot.urdf"
    path.write_text(text)
    with pytest.raises(DescriptionError, match=sentence):
        load_robot(path)
    with pytest.raises(DescriptionError, match="cannot be read"):
        read_urdf(tmp_path)
