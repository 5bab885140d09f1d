"""The robots that are shipped: they load, they are physical, and the Puma's figures are the published ones."""

from __future__ import annotations

import warnings
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest

from dyn_core import Robot, load_robot, robot_names
from dyn_core.description import load_mechanism, robot_files, to_urdf
from dyn_core.errors import SaturationWarning
from dyn_core.mechanism import BASE, REVOLUTE
from dyn_core.robots import TreeRobot
from dyn_core.spatial.poses import inertia_about_origin
from dyn_core.trajectory import cycloidal

ROBOTS = ["cmu_dd_arm", "planar_2r", "puma560"]
PI = np.pi


def test_these_robots_are_shipped() -> None:
    assert robot_names() == [
        "agile_wrist", "cmu_dd_arm", "eel", "elastic_2r", "five_bar_saha", "four_bar_saha", "four_bar_wang",
        "four_bar_wang_flexible", "gough_stewart", "gough_stewart_wang", "mobile_manipulator", "planar_2r", "puma560",
        "spm_coaxial", "spm_unlimited_roll",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_loads_under_its_name_and_says_what_it_is(name: str) -> None:
    m = load_mechanism(robot_files()[name])
    assert m.name == name
    assert m.description
    assert m.motors is not None
    assert m.active.all()
    assert np.isfinite(m.position_limits).all()
    assert np.isfinite(m.velocity_limits).all()
    assert np.isfinite(m.effort_limits).all()
    assert np.isfinite(m.stiffness).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_inertias_are_physical_and_the_mass_matrix_is_positive_definite(name: str) -> None:
    robot = load_robot(name)
    m = robot.mechanism
    for j in range(m.n):
        J = m.J[j] - inertia_about_origin(np.zeros((3, 3)), m.M[j], m.MS[j] / m.M[j])
        small, middle, large = np.linalg.eigvalsh(J)
        assert small > 0
        assert small + middle >= large * (1 - 1e-6)
    rng = np.random.default_rng(0)
    for q in rng.uniform(*m.position_limits.T, (20, m.n)):
        assert np.linalg.eigvalsh(robot.mass_matrix(q))[0] > 0


@pytest.mark.parametrize("name", ROBOTS)
def test_the_motors_can_drive_a_motion_of_five_seconds(name: str) -> None:
    """A cycloidal move of up to 0.8 rad per joint from a bent pose stays within the limits of motors and DAC."""
    robot = load_robot(name)
    m = robot.mechanism
    start = np.clip(np.full(m.n, 0.3), *m.position_limits.T)
    goal = start + 0.8 * np.array([1, -1] * 3)[: m.n]
    q, qd, qdd = cycloidal(start, goal, 5.0).sample(np.linspace(0, 5, 101))
    tau = robot.inverse_dynamics(q, qd, qdd)
    assert (np.abs(tau) < m.effort_limits).all()
    assert (np.abs(qd) < m.velocity_limits).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error", SaturationWarning)
        volts = robot.voltages(tau, qd)
        robot.dac_codes(volts)
    assert m.motors is not None
    assert (np.abs(volts) < 0.9 * m.motors.voltage_limit).all()


@pytest.mark.parametrize("name", ROBOTS)
def test_urdf_has_the_same_kinematics_and_dynamics(name: str) -> None:
    robot = load_robot(name)
    m = robot.mechanism
    text = to_urdf(m)
    assert text == robot.urdf()
    model = pin.buildModelFromXML(text)
    model.gravity.linear[:] = m.gravity
    assert list(model.names)[1:] == list(m.joint_names)
    np.testing.assert_allclose(model.lowerPositionLimit, m.position_limits[:, 0], rtol=1e-12)
    np.testing.assert_allclose(model.upperPositionLimit, m.position_limits[:, 1], rtol=1e-12)
    data = model.createData()
    rng = np.random.default_rng(2)
    for q, qd, qdd in rng.uniform(-2, 2, (10, 3, m.n)):
        rigid = robot.inverse_dynamics(q, qd, qdd) - m.Ia * qdd - m.Fv * qd - m.Fs * np.sign(qd)
        np.testing.assert_allclose(pin.rnea(model, data, q, qd, qdd), rigid, rtol=1e-9, atol=1e-9)
        pin.framesForwardKinematics(model, data, q)
        for frame, pose in zip(m.frames, robot.link_poses(q), strict=True):
            np.testing.assert_allclose(data.oMf[model.getFrameId(frame.name)].homogeneous, pose, atol=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
def test_urdf_can_be_drawn(name: str) -> None:
    m = load_mechanism(robot_files()[name])
    root = ElementTree.fromstring(to_urdf(m))
    links = [link.get("name") for link in root.iter("link")]
    assert len(links) == len(set(links))
    assert {"base", "tool", *m.body_names} <= set(links)
    materials = {material.get("name") for material in root.findall("material")}
    for visual in root.iter("visual"):
        assert visual.find("material").get("name") in materials  # type: ignore[union-attr]
    dynamics = [joint.find("dynamics") for joint in root.iter("joint") if joint.get("type") != "fixed"]
    assert [float(d.get("damping")) for d in dynamics] == pytest.approx(m.Fv.tolist())  # type: ignore[union-attr, arg-type]
    assert [float(d.get("friction")) for d in dynamics] == pytest.approx(m.Fs.tolist())  # type: ignore[union-attr, arg-type]


@pytest.mark.parametrize("name", ROBOTS)
def test_the_drawn_rods_join_the_joints(name: str) -> None:
    """Every rod starts at its link's origin, and one ends at every joint that is farther away than it is thick."""
    root = ElementTree.fromstring(to_urdf(load_mechanism(robot_files()[name])))

    def numbers(element: ElementTree.Element, key: str) -> np.ndarray:
        return np.array(element.find("origin").get(key).split(), float)  # type: ignore[union-attr]

    for link in root.iter("link"):
        ends = []
        for visual in link.iter("visual"):
            rod = visual.find("geometry/cylinder")
            if rod is not None:
                half = pin.rpy.rpyToMatrix(*numbers(visual, "rpy"))[:, 2] * float(rod.get("length", "")) / 2
                np.testing.assert_allclose(numbers(visual, "xyz"), half, atol=1e-12)
                ends.append(2 * half)
        children = [j for j in root.iter("joint") if j.find("parent").get("link") == link.get("name")]  # type: ignore[union-attr]
        for child in children:
            at = numbers(child, "xyz")
            assert np.linalg.norm(at) < 1e-3 or min(np.linalg.norm(at - end) for end in ends) < 1e-12


def test_urdf_of_a_free_joint_is_continuous() -> None:
    m = load_mechanism(robot_files()["planar_2r"])
    free = replace(m, position_limits=np.full((2, 2), [-np.inf, np.inf]), effort_limits=np.full(2, np.inf))
    joints = [j for j in ElementTree.fromstring(to_urdf(free)).iter("joint") if j.get("type") != "fixed"]
    assert [j.get("type") for j in joints] == ["continuous", "continuous"]
    assert {float(j.find("limit").get("effort")) for j in joints} == {1e9}  # type: ignore[union-attr, arg-type]


def test_planar_2r_is_the_textbook_s() -> None:
    """Closed form with uniform rods: H11 = m1 c1^2 + I1 + m2 (l1^2 + c2^2 + 2 l1 c2 cos q2) + I2, and so on."""
    robot = load_robot("planar_2r")
    m = robot.mechanism
    l1, c1, c2, m1, m2 = 0.5, 0.25, 0.2, 4.0, 2.0
    I1, I2 = m1 * 0.5**2 / 12, m2 * 0.4**2 / 12
    q = np.array([0.3, -0.8])
    H22 = m2 * c2**2 + I2
    H12 = H22 + m2 * l1 * c2 * np.cos(q[1])
    H11 = m1 * c1**2 + I1 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * np.cos(q[1])) + I2
    np.testing.assert_allclose(robot.mass_matrix(q) - np.diag(m.Ia), [[H11, H12], [H12, H22]], rtol=1e-12)
    g2 = 9.81 * m2 * c2 * np.cos(q.sum())
    g1 = 9.81 * (m1 * c1 + m2 * l1) * np.cos(q[0]) + g2
    np.testing.assert_allclose(robot.gravity_forces(q), [g1, g2], rtol=1e-12)
    tip = robot.forward_kinematics(q)[:3, 3]
    x, z = np.cos([q[0], q.sum()]) @ [0.5, 0.4], np.sin([q[0], q.sum()]) @ [0.5, 0.4]
    np.testing.assert_allclose(tip, [x, 0, 0.8 + z], atol=1e-12)


def test_cmu_dd_arm_has_swartz_s_arrangement() -> None:
    """Direct drive, no friction, g = 9.80621; odd joints turn about their link's long axis, even ones across it."""
    robot = load_robot("cmu_dd_arm")
    m = robot.mechanism
    assert m.n == 6
    assert (m.joint_type == REVOLUTE).all()
    np.testing.assert_array_equal(m.motors.gear, 1)  # type: ignore[union-attr]
    np.testing.assert_array_equal([m.Fv, m.Fs], 0)
    np.testing.assert_array_equal(m.gravity, [0, 0, -9.80621])
    np.testing.assert_array_equal(m.parent, [BASE, 0, 1, 2, 3, 4])
    J = robot.jacobian(np.zeros(6))
    np.testing.assert_allclose(np.abs(J[5]), [1, 0, 1, 0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(J[3:5], axis=0), [0, 1, 0, 1, 0, 1], atol=1e-12)
    np.testing.assert_allclose(robot.forward_kinematics(np.zeros(6))[:3, 3], [0, 0, 0.7 + 0.5 + 0.4 + 0.15], atol=1e-12)


def published_puma() -> Robot:
    """The Puma with the inertias exactly as published, although links 1 and 3 are not physical."""
    m = load_mechanism(robot_files()["puma560"])
    J = m.J.copy()
    for j, moments in ((0, [0, 0.35, 0]), (1, [0.13, 0.524, 0.539]), (2, [0.066, 0.086, 0.0125])):
        R, com = m.frames[j].R, m.MS[j] / m.M[j]
        J[j] = inertia_about_origin(R @ np.diag(moments) @ R.T, m.M[j], com)
    return TreeRobot(replace(m, J=J))


def test_puma560_has_the_torques_of_the_published_inertias() -> None:
    """What was moved between links 2 and 3 to make them physical changes no torque in any motion."""
    ours, published = load_robot("puma560"), published_puma()
    rng = np.random.default_rng(5)
    q, qd, qdd = rng.uniform(-3, 3, (3, 100, 6))
    np.testing.assert_allclose(
        ours.inverse_dynamics(q, qd, qdd), published.inverse_dynamics(q, qd, qdd), rtol=0, atol=1e-10
    )


def test_puma560_in_the_figures_of_corke_s_toolbox() -> None:
    """inertia([1 2 3 4 5 6]) and gravload([1 2 3 4 5 6]) as the Robotics Toolbox for MATLAB prints them."""
    robot = load_robot("puma560")
    q = np.arange(1.0, 7.0)
    inertia = [
        [2.6152, -0.6550, -0.0363, 0.0001, 0.0010, 0.0000],
        [-0.6550, 4.3038, 0.2953, -0.0008, -0.0017, 0.0000],
        [-0.0363, 0.2953, 0.9366, -0.0009, -0.0006, 0.0000],
        [0.0001, -0.0008, -0.0009, 0.1926, 0.0000, 0.0000],
        [0.0010, -0.0017, -0.0006, 0.0000, 0.1713, 0.0000],
        [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.1941],
    ]
    np.testing.assert_allclose(robot.mass_matrix(q), inertia, atol=5.1e-5)
    gravload = [0.0000, -7.9683, 8.4581, -0.0197, 0.0027, 0.0000]
    np.testing.assert_allclose(robot.gravity_forces(q), gravload, atol=5.1e-5)


def test_puma560_motors_and_limits() -> None:
    m = load_mechanism(robot_files()["puma560"])
    assert m.motors is not None
    gear = np.array([-62.6111, 107.815, -53.7063, 76.0364, 71.923, 76.686])
    np.testing.assert_array_equal(m.motors.gear, gear)
    np.testing.assert_allclose(m.Ia, gear**2 * [200e-6, 200e-6, 200e-6, 33e-6, 33e-6, 33e-6], rtol=1e-12)
    np.testing.assert_allclose(m.Fv[0], 1.48e-3 * 62.6111**2, rtol=1e-12)
    np.testing.assert_allclose(m.Fs[0], (0.395 + 0.435) / 2 * 62.6111, rtol=1e-12)
    np.testing.assert_array_equal(m.effort_limits, [97.6, 186.4, 89.4, 24.2, 20.1, 21.3])


def test_puma560_geometry() -> None:
    """At zero the upper arm points along x and the forearm up; the ready pose points straight up."""
    robot = load_robot("puma560")
    wrist = robot.forward_kinematics(np.zeros(6), "link6")
    np.testing.assert_allclose(wrist[:3, :3], np.eye(3), atol=1e-12)
    np.testing.assert_allclose(wrist[:3, 3], [0.4318 + 0.0203, -0.15005, 0.672 + 0.4318], atol=1e-12)
    ready = robot.forward_kinematics([0, PI / 2, -PI / 2, 0, 0, 0])
    np.testing.assert_allclose(ready[:3, 3], [0.0203, -0.15005, 0.672 + 2 * 0.4318 + 0.05625], atol=1e-12)
