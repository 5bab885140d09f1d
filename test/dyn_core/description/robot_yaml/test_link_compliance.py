"""`beam` and `compliance` of links in the robot YAML: meaning, conversion, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.beams import Material, circle, curved_beam, rectangle, straight_beam, tip_jacobian
from dyn_core.errors import DescriptionError
from dyn_core.robots import convert
from dyn_core.stiffness import Leg, parallel_stiffness

ARM = """
name: arm
joints:
  - {{name: j1, type: revolute, dh: {{d: 0.3, a: 0.5, alpha: 90 deg}}, stiffness: 1e4,
      link: {{name: first, mass: 1, inertia: {{xx: 0.1, yy: 0.1, zz: 0.1}}, {0}}}}}
  - {{name: j2, type: revolute, dh: {{a: 0.4}},
      link: {{name: second, mass: 1, inertia: {{xx: 0.1, yy: 0.1, zz: 0.1}}}}}}
"""
STEEL = Material.isotropic(210e9, 0.3)


def arm(folder, link: str):
    file = folder / "arm.yaml"
    file.write_text(ARM.format(link))
    return load_robot(file)


def tip_of(robot, q):
    """Axes and place of the first link's tip in the base frame."""
    (link,) = robot.mechanism.compliances
    frame = robot.mechanism.frames[0]
    T = robot.forward_kinematics(q, "first")
    body = T[:3, :3] @ frame.R.T
    return body @ link.R, T[:3, 3] + body @ (link.p - frame.p), link.C


def test_a_straight_beam_lies_between_root_and_tip(tmp_path):
    """With DH the link's frame is at its end, so the beam begins behind it and ends at it."""
    robot = arm(tmp_path, "beam: {root: [-0.5, 0, 0], tip: [0, 0, 0], up: [0, 0, 2], E: 210e9, nu: 0.3,"
                " section: {shape: rectangle, height_y: 0.02, height_z: 0.04}}")  # fmt: skip
    q = np.array([0.4, -0.7])
    axes, place, C = tip_of(robot, q)
    np.testing.assert_allclose(C, straight_beam(0.5, rectangle(0.02, 0.04), STEEL), rtol=1e-12)
    T = robot.forward_kinematics(q, "first")
    np.testing.assert_allclose(place, T[:3, 3], atol=1e-12)
    np.testing.assert_allclose(axes[:, 0], T[:3, 0], atol=1e-12)
    np.testing.assert_allclose(axes[:, 1], T[:3, 2], atol=1e-12)
    X = tip_jacobian(axes, robot.forward_kinematics(q)[:3, 3] - place)
    j1 = robot.jacobian(q)[:, 0]
    np.testing.assert_allclose(robot.stiffness(q).C, X @ C @ X.T + np.outer(j1, j1) / 1e4, atol=1e-15)


def test_a_curved_beam_turns_about_its_centre(tmp_path):
    robot = arm(tmp_path, "beam: {centre: [0, 0.2, 0], axis: [0, 0, 3], arc: 90 deg, E: 210e9, nu: 0.3,"
                " section: {shape: circle, radius: 0.01}}")  # fmt: skip
    q = np.array([0.4, -0.7])
    axes, place, C = tip_of(robot, q)
    T = robot.forward_kinematics(q, "first")
    np.testing.assert_allclose(C, curved_beam(0.2, np.pi / 2, circle(0.01), STEEL), rtol=1e-12)
    np.testing.assert_allclose(T[:3, :3].T @ (place - T[:3, 3]), [0.2, 0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(T[:3, :3].T @ axes, [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], atol=1e-12)  # r, t, n


def test_compliances_survive_conversion(tmp_path):
    rows = straight_beam(0.5, rectangle(0.02, 0.04), STEEL).tolist()
    robot = arm(tmp_path, f"compliance: {{xyz: [0.1, 0, 0.2], rpy: [0.3, 0.2, 0.1], matrix: {rows}}}")
    q = np.array([0.4, -0.7])
    for notation in ("dh", "mdh", "origin"):
        target = tmp_path / f"{notation}.yaml"
        convert(tmp_path / "arm.yaml", target, notation)
        again = load_robot(target).stiffness(q).C
        np.testing.assert_allclose(again, robot.stiffness(q).C, atol=1e-12 * np.abs(again).max())


def test_an_over_constrained_loop_is_what_its_legs_hold(tmp_path):
    """A five-bar whose end point is a real hinge, with flexible links: by loops, and by two legs put together."""
    section = "section: {shape: circle, radius: 0.01}, E: 70e9, nu: 0.33"
    inertia = "mass: 1, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}"
    text = f"""
name: five_bar
joints:
  - {{name: a1, type: revolute, parent: base, origin: {{}}, stiffness: 2e4,
      link: {{name: a_crank, {inertia}, beam: {{tip: [0.6, 0, 0], {section}}}}}}}
  - {{name: a2, type: revolute, origin: {{xyz: [0.6, 0, 0]}}, active: false,
      link: {{name: a_rod, {inertia}, beam: {{tip: [1.1, 0, 0], {section}}}}}}}
  - {{name: b1, type: revolute, parent: base, origin: {{xyz: [1.2, 0, 0]}}, stiffness: 3e4,
      link: {{name: b_crank, {inertia}, beam: {{tip: [0.7, 0, 0], {section}}}}}}}
  - {{name: b2, type: revolute, origin: {{xyz: [0.7, 0, 0]}}, active: false,
      link: {{name: b_rod, {inertia}, beam: {{tip: [0.8, 0, 0], {section}}}}}}}
loops:
  - {{name: end, kind: revolute, first: {{link: a_rod, xyz: [1.1, 0, 0]}}, second: {{link: b_rod, xyz: [0.8, 0, 0]}}}}
assembly: {{a1: 60 deg, a2: -96 deg, b1: 50 deg, b2: -175 deg}}
tool: {{link: a_rod, xyz: [1.1, 0, 0]}}
"""
    file = tmp_path / "five_bar.yaml"
    file.write_text(text)
    robot = load_robot(file)
    q = np.radians([70.0, 60.0])
    full, z = robot.all_positions(q), np.array([0.0, 0.0, 1.0])  # type: ignore[attr-defined]
    end = robot.forward_kinematics(q)[:3, 3]
    legs, aluminium = [], Material.isotropic(70e9, 0.33)
    for x, stiffness, lengths, (first, second), closed in (
        (0.0, 2e4, (0.6, 1.1), full[:2], False),
        (1.2, 3e4, (0.7, 0.8), full[2:], True),
    ):
        foot = np.array([x, 0.0, 0.0])
        along = [np.array([np.cos(a), np.sin(a), 0.0]) for a in (first, first + second)]
        elbow = foot + lengths[0] * along[0]
        leg = Leg(end).turning_spring(z, foot, stiffness).turning_joint(z, elbow)
        for length, x_axis, tip in zip(lengths, along, (elbow, end), strict=True):
            C = straight_beam(length, circle(0.01), aluminium)
            leg.link(C, np.stack([x_axis, np.cross(z, x_axis), z], axis=1), tip)
        legs.append(leg.turning_joint(z, end) if closed else leg)
    expected, found = parallel_stiffness(legs), robot.stiffness(q)
    assert expected.K is not None
    np.testing.assert_allclose(found.K, expected.K, atol=1e-7 * np.abs(expected.K).max())


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("beam: {tip: [0, 0, 0], section: {shape: circle, radius: 0.01}, E: 1e9, nu: 0.3}", "a point off the root"),
        ("beam: {tip: [1, 0, 0], up: [2, 0, 0], section: {shape: circle, radius: 0.01}, E: 1e9, nu: 0.3}", "across it"),
        ("beam: {tip: [1, 0, 0], section: {shape: hexagon}, E: 1e9, nu: 0.3}", "circle, tube, rectangle"),
        ("beam: {tip: [1, 0, 0], section: {shape: circle, radius: 0.01}, E: 1e9, nu: 0.3, G: 1e9}", "one of G, nu"),
        ("beam: {tip: [1, 0, 0], arc: 1, section: {shape: circle, radius: 0.01}, E: 1e9, nu: 0.3}", "straight beam"),
        ("beam: {centre: [1, 0, 0], axis: [1, 0, 0], arc: 1, section: {shape: circle, radius: 0.01}, E: 1e9, nu: 0}",
         "normal of the beam's plane"),
        ("compliance: {matrix: [[1]]}", "6 rows of 6"),
        ("compliance: {matrix: [[1]]}, beam: {tip: [1, 0, 0]}", "one of them"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, link, why):
    with pytest.raises(DescriptionError) as caught:
        arm(tmp_path, link)
    assert why in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


FIXED = """
name: welded
joints:
  - {name: foot, type: fixed, parent: base, origin: {xyz: [0.1, 0, 0]},
     link: {name: column, beam: {tip: [0, 0, 0.8], BAR}}}
  - {name: j1, type: revolute, parent: column, origin: {xyz: [0, 0, 0.8], rpy: [0.3, 0, 0]}, stiffness: 2e4,
     link: {name: first, mass: 1, inertia: {xx: 1, yy: 1, zz: 1}, beam: {tip: [0.4, 0, 0], BAR}}}
  - {name: weld, type: fixed, parent: first, origin: {xyz: [0.4, 0, 0], rpy: [0, 0.5, 0]},
     link: {name: stem, beam: {tip: [0, 0.3, 0], BAR}}}
  - {name: weld2, type: fixed, parent: stem, origin: {xyz: [0, 0.3, 0]}, link: {name: head, mass: 1}}
  - {name: j2, type: revolute, parent: head, origin: {rpy: [0, 1, 0]}, stiffness: 1e4,
     link: {name: second, mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
  - {name: j3, type: revolute, parent: first, origin: {xyz: [0.4, 0, 0]}, stiffness: 1e4,
     link: {name: third, mass: 1, inertia: {xx: 1, yy: 1, zz: 1}}}
  - {name: weld3, type: fixed, parent: second, origin: {},
     link: {name: nose, compliance: {xyz: [0.1, 0, 0], matrix: MATRIX}}}
tool: {link: nose, xyz: [0.1, 0.05, 0.02]}
"""


def test_links_on_fixed_joints_give_way(tmp_path):
    """Each frame by the sum of what yields between it and the base, and nothing else."""
    bar = "section: {shape: rectangle, height_y: 0.01, height_z: 0.02}, E: 70e9, nu: 0.33"
    own = np.diag([1e-6, 2e-6, 3e-6, 1e-4, 2e-4, 3e-4])
    file = tmp_path / "welded.yaml"
    file.write_text(FIXED.replace("BAR", bar).replace("MATRIX", str(own.tolist())))
    robot = load_robot(file)
    q = np.array([0.3, -0.4, 0.7])
    section, aluminium = rectangle(0.01, 0.02), Material.isotropic(70e9, 0.33)

    def part(frame: str, link: str, tip: list[float], x: list[float], C: np.ndarray) -> np.ndarray:
        """What a beam along x of a link, up to its tip, does at a frame."""
        T = robot.forward_kinematics(q, link)
        first = np.array(x, float)
        up = np.eye(3)[int(np.argmin(np.abs(first)))]
        axes = np.stack([first, up, np.cross(first, up)], axis=1)
        place = T[:3, :3] @ tip + T[:3, 3]
        X = tip_jacobian(T[:3, :3] @ axes, robot.forward_kinematics(q, frame)[:3, 3] - place)
        return X @ C @ X.T

    def joints(frame: str) -> np.ndarray:
        J = robot.jacobian(q, frame)
        return J @ np.diag(1.0 / robot.mechanism.stiffness) @ J.T

    beams = {
        "column": ([0, 0, 0.8], [0, 0, 1], straight_beam(0.8, section, aluminium)),
        "first": ([0.4, 0, 0], [1, 0, 0], straight_beam(0.4, section, aluminium)),
        "stem": ([0, 0.3, 0], [0, 1, 0], straight_beam(0.3, section, aluminium)),
    }
    for frame, links in {
        "column": ["column"], "first": ["column", "first"], "third": ["column", "first"],
        "stem": list(beams), "head": list(beams), "second": list(beams), "tool": list(beams),
    }.items():  # fmt: skip
        C = joints(frame) + sum(part(frame, link, *beams[link]) for link in links)
        if frame == "tool":
            C += part(frame, "nose", [0.1, 0, 0], [1, 0, 0], own)
        found = robot.stiffness(q, frame).C
        np.testing.assert_allclose(found, C, atol=1e-12 * np.abs(C).max())
    for notation in ("mdh", "origin"):
        again = tmp_path / f"{notation}.yaml"
        convert(file, again, notation)
        for frame in ("third", "tool"):
            C = load_robot(again).stiffness(q, frame).C
            np.testing.assert_allclose(C, robot.stiffness(q, frame).C, atol=1e-9 * np.abs(C).max())


def test_a_beam_stays_a_beam_in_other_notations(tmp_path):
    """Its stiffness under load too, which a matrix would not have."""
    for link in (
        "beam: {root: [-0.5, 0, 0], tip: [0, 0, 0], up: [0, 0.3, 1], E: 210e9, nu: 0.3,"
        " section: {shape: rectangle, height_y: 0.02, height_z: 0.04}}",
        "beam: {root: [-0.2, -0.2, 0], centre: [-0.2, 0, 0], axis: [0, 0, 1], arc: 90 deg, E: 210e9, nu: 0.3,"
        " section: {shape: circle, radius: 0.01, shear: [0.9, 0.8]}}",
    ):
        robot = arm(tmp_path, link)
        q, w = np.array([0.4, -0.7]), np.array([300.0, -200.0, 400.0, 10.0, 20.0, -30.0])
        expected = robot.stiffness(q, wrench=w).C
        assert np.abs(expected - robot.stiffness(q).C).max() > 1e-5 * np.abs(expected).max()
        for notation in ("dh", "mdh", "origin"):
            target = tmp_path / f"{notation}.yaml"
            convert(tmp_path / "arm.yaml", target, notation, force=True)
            found = load_robot(target)
            assert found.mechanism.compliances[0].bar is not None
            np.testing.assert_allclose(found.stiffness(q, wrench=w).C, expected, atol=1e-9 * np.abs(expected).max())
