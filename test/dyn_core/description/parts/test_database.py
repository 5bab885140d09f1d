"""The parts database: sections, parts and links against quadrature, holes, measured masses, and every mistake."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from meshes import ascii_stl, binary_stl, cube
from quadrature import SHAPES, Cloud, assert_same, together

from dyn_core import load_robot
from dyn_core.description import Built, build_parts, load_mechanism, robot_files
from dyn_core.description.parts.densities import DENSITIES
from dyn_core.errors import DescriptionError
from dyn_core.robots import TreeRobot

ROOT = Path(__file__).parents[4]
PLACE = {"xyz": [0.3, -0.2, 0.5], "rpy": [0.4, -1.1, 2.0]}
OTHER = {"xyz": [-0.7, 0.1, 0.2], "rpy": [-2.0, 0.3, 0.9]}
WORKING = {"xyz": [0.05, 0.6, -0.4], "rpy": [1.0, 0.7, -0.6]}


def arrange(place: dict[str, list[float]]) -> str:
    return "xyz: {xyz}, rpy: {rpy}".format(**place)


def placed(cloud: Cloud, *places: dict[str, list[float]]) -> Cloud:
    for place in places:
        cloud = cloud.placed(np.array(place["xyz"]), np.array(place["rpy"]))
    return cloud


def build(folder: Path, parts: Sequence[str], top: str = "", link: str = "", joint: str = "") -> Built:
    """A robot of one joint, whose link has these parts, each in YAML's flow style."""
    path = folder / "arm.parts.yaml"
    rows = "".join(f"\n        - {{{part}}}" for part in parts)
    path.write_text(
        f"name: arm\n{top}\njoints:\n  - name: j\n    type: revolute\n    dh: {{a: 0.3, alpha: 90 deg}}\n    {joint}\n"
        f"    link:\n      name: rod\n      {link}\n      parts:{rows}\n"
    )
    return build_parts(path)


def problems(folder: Path, *parts: str, **more: str) -> list[str]:
    """All that is said about a file, without its name."""
    with pytest.raises(DescriptionError) as caught:
        build(folder, parts, **more)
    texts = [str(caught.value), *getattr(caught.value, "__notes__", ())]
    assert all(text.startswith(f"{folder / 'arm.parts.yaml'}:") for text in texts)
    return [text.removeprefix(f"{folder / 'arm.parts.yaml'}:") for text in texts]


@pytest.mark.parametrize("name", SHAPES)
def test_a_section_anywhere_in_a_part_anywhere_in_a_link(name: str, tmp_path: Path) -> None:
    """Section, part and link against quadrature, each in its frame; and the link as the robot has it."""
    text, cloud = SHAPES[name]
    built = build(
        tmp_path,
        [f"number: 7, density: 2500, {arrange(OTHER)}, sections: [{{{text}, {arrange(PLACE)}}}]"],
        link=f"working_frame: {{{arrange(WORKING)}}}",
    )
    (link,) = built.links
    cloud = cloud.times(2500)
    assert_same(link.parts[0].sections[0].body, placed(cloud, PLACE).inertial())
    assert_same(link.parts[0].body, placed(cloud, PLACE, OTHER).inertial())
    wanted = placed(cloud, PLACE, OTHER, WORKING).inertial()
    assert_same(link.body, wanted)
    m = built.mechanism  # about the joint's axis: the frame of its numbers is 0.3 along x and turned
    R, p = m.frames[0].R, m.frames[0].p
    com = R @ wanted.com + p
    np.testing.assert_allclose(m.MS[0], wanted.mass * com, rtol=1e-10)
    J = R @ wanted.inertia @ R.T + wanted.mass * (com @ com * np.eye(3) - np.outer(com, com))
    np.testing.assert_allclose(m.J[0], J, rtol=1e-9, atol=1e-10 * J.max())


def test_parts_and_holes_add_up(tmp_path: Path) -> None:
    """A cylinder with two holes and a cone upon it, a box of another material, and a point mass: all by quadrature."""
    hole, side = {"xyz": [0.02, 0.01, 0.0], "rpy": [0.3, 0.2, 0.0]}, {"xyz": [-0.03, 0.0, 0.1], "rpy": [0.0, 1.2, 0.4]}
    top = {"xyz": [0.0, 0.0, 0.15], "rpy": [0.0, 0.0, 0.0]}
    ball = "shape: sphere, radius: 0.02"
    slab = "shape: box, size: [0.03, 0.02, 0.04]"
    built = build(
        tmp_path,
        [
            f"number: A-1, name: body, material: steel, {arrange(OTHER)}, sections: [{{{SHAPES['cylinder'][0]}}},"
            f"{{{ball}, hole: true, {arrange(hole)}}}, {{{slab}, hole: true, {arrange(side)}}},"
            f"{{shape: cone, radius: 0.07, height: 0.3, {arrange(top)}}}]",
            f"number: 2, {arrange(PLACE)}, sections: [{{{SHAPES['box'][0]}, material: bronze}},"
            "{shape: point, mass: 0.4, xyz: [0.1, 0.2, 0.3]}]",
        ],
        top="materials: [{name: bronze, density: 8800, source: a table}]",
        link=f"working_frame: {{{arrange(WORKING)}}}",
    )
    steel = DENSITIES["steel"].value
    holes = (("sphere", 0.02 / 0.09, hole), ("box", None, side))
    first = [SHAPES["cylinder"][1].times(steel)]
    for name, scale, place in holes:
        cloud = SHAPES[name][1]
        stretch = np.full(3, scale) if scale else np.array([0.03, 0.02, 0.04]) / [0.1, 0.2, 0.35]
        shrunk = Cloud(cloud.points * stretch, cloud.weights * stretch.prod())
        first.append(placed(shrunk, place).times(-steel))
    cone = SHAPES["cone"][1]
    narrow = np.array([0.07 / 0.12, 0.07 / 0.12, 1.0])
    first.append(placed(Cloud(cone.points * narrow, cone.weights * narrow.prod()), top).times(steel))
    second = [SHAPES["box"][1].times(8800), Cloud(np.array([[0.1, 0.2, 0.3]]), np.array([0.4]))]
    (link,) = built.links
    assert_same(link.parts[0].body, placed(together(*first), OTHER).inertial())
    both = together(placed(together(*first), OTHER), placed(together(*second), PLACE))
    assert_same(link.body, placed(both, WORKING).inertial())
    assert [section.body.mass < 0 for section in link.parts[0].sections] == [False, True, True, False]
    assert [(part.number, part.name) for part in link.parts] == [("A-1", "body"), ("2", "")]
    assert built.warnings == ()


def test_a_mesh_is_a_section_like_any_other(tmp_path: Path) -> None:
    """A block from STL in mm with a hole from STL, against the same of boxes."""
    (tmp_path / "block.stl").write_bytes(binary_stl(cube((100, 200, 350))))
    (tmp_path / "hole.stl").write_bytes(ascii_stl(cube((40, 40, 350), at=(30, 60, 0))))
    part = f"number: 1, material: aluminium_6061, {arrange(OTHER)}, sections: "
    mesh = build(
        tmp_path,
        [
            part + f"[{{shape: mesh, file: block.stl, scale: 0.001, {arrange(PLACE)}}},"
            f"{{shape: mesh, file: hole.stl, scale: 0.001, hole: true, {arrange(PLACE)}}}]"
        ],
    )
    corner = np.array([0.05, 0.1, 0.175])
    cloud = together(
        Cloud(SHAPES["box"][1].points + corner, SHAPES["box"][1].weights),
        Cloud(SHAPES["box"][1].points * [0.4, 0.2, 1] + [0.05, 0.08, 0.175], -0.08 * SHAPES["box"][1].weights),
    )
    assert_same(mesh.links[0].body, placed(cloud.times(2700), PLACE, OTHER).inertial(), 1e-7)
    assert mesh.warnings == ()


def test_measured_masses(tmp_path: Path) -> None:
    """A section, a part, and a part with a point mass and materials in it weigh what they are said to."""
    half = "shape: box, size: [0.1, 0.1, 0.1]"
    built = build(
        tmp_path,
        [
            f"number: 1, sections: [{{{half}, mass: 0.8}}, {{shape: sphere, radius: 0.03, hole: true}}]",
            f"number: 2, mass: 3, sections: [{{{half}}}, {{{half}, xyz: [0.1, 0, 0]}}]",
            f"number: 3, mass: 5.5, sections: [{{{half}, density: 1}}, {{{half}, xyz: [0, 0, 0.1], density: 3}},"
            "{shape: point, mass: 1.5}]",
        ],
    )
    first, second, third = built.links[0].parts
    assert first.body.mass == pytest.approx(0.8 - 800 * 4 / 3 * np.pi * 0.03**3)
    assert [second.body.mass, third.body.mass] == pytest.approx([3, 5.5])
    assert [section.body.mass for section in third.sections] == pytest.approx([1, 3, 1.5])
    assert [section.density for section in second.sections] == pytest.approx([1500, 1500])


def test_everything_else_of_a_robot_is_carried_over(tmp_path: Path) -> None:
    """The same robot by parts and by numbers, with all that a file may have, has the same mechanism."""
    common = """
description: "Two links: one of parts"
sources: [a drawing, 'another: one']
gravity: [0.1, 0, -9]
base: {{type: floating, name: bus, {bus}}}
tool: {{link: palm, xyz: [0, 0, 0.1], rpy: [0, 0, 90 deg]}}
joints:
  - &joint
    name: j1
    type: revolute
    mdh: {{alpha: 90 deg, d: 0.4}}
    limits: {{position: [-1, 90 deg], velocity: 2, effort: 1e2}}
    friction: {{viscous: 0.1, coulomb: 0.2}}
    stiffness: 1e5
    link: {{name: arm, {arm}}}
    motor:
      {{gear_ratio: 50, torque_constant: 0.1, resistance: 1, rotor_inertia: 1e-4, dac: {{bits: 12, range: [-10, 10]}}}}
  - name: j2
    type: prismatic
    parent: arm
    origin: {{xyz: [0, 0.3, 0]}}
    axis: [0, 1, 0]
    spring: {{stiffness: 1e4}}
    link: {{name: palm, mass: 1, inertia: {{xx: 0.01, yy: 0.01, zz: 0.01}}, frame: {{xyz: [0, 0, 0.02]}}}}
"""
    box = "parts: [{number: 1, sections: [{shape: box, size: [0.6, 0.6, 0.6], mass: 5, xyz: [0.1, 0, 0]}]}]"
    rod = "working_frame: {xyz: [0.2, 0, 0]}, parts: [{number: 2, mass: 3, sections: [{shape: sphere, radius: 0.5}]}]"
    (tmp_path / "a.parts.yaml").write_text("# by parts\nname: arm" + common.format(bus=box, arm=rod))
    (tmp_path / "b.yaml").write_text(
        "name: arm"
        + common.format(
            bus="mass: 5, com: [0.1, 0, 0], inertia: {xx: 0.3, yy: 0.3, zz: 0.3}",
            arm="mass: 3, com: [0.2, 0, 0], inertia: {xx: 0.3, yy: 0.3, zz: 0.3}",
        )
    )
    built = build_parts(tmp_path / "a.parts.yaml")
    assert [link.name for link in built.links] == ["bus", "arm"]
    assert built.text.splitlines()[:3] == [
        "# Made by `dyn parts build` from a.parts.yaml: change that file and build again.",
        "#",
        "# by parts",
    ]
    (tmp_path / "a.yaml").write_text(built.text)
    ours, theirs = (load_mechanism(tmp_path / name) for name in ("a.yaml", "b.yaml"))
    for mechanism in (built.mechanism, ours):
        for field in ("M", "MS", "J", "R", "p", "Ia", "Fv", "Fs", "stiffness", "position_limits", "gravity"):
            np.testing.assert_allclose(getattr(mechanism, field), getattr(theirs, field), rtol=1e-11, atol=1e-12)
        assert mechanism.description == theirs.description
        assert mechanism.joint_names == theirs.joint_names
        assert mechanism.motors is not None
        np.testing.assert_allclose(mechanism.frames[-1].p, theirs.frames[-1].p)
        np.testing.assert_allclose(mechanism.base.J, theirs.base.J)  # type: ignore[union-attr]
    assert "another: one" in built.text


def test_the_parts_of_a_fixed_base_are_weighed_only(tmp_path: Path) -> None:
    base = "base: {type: fixed, parts: [{number: 0, material: lead, sections: [{shape: box, size: [1, 1, 1]}]}]}"
    built = build(tmp_path, ["number: 1, mass: 2, sections: [{shape: sphere, radius: 0.1}]"], top=base)
    assert [(link.name, link.body.mass) for link in built.links] == [("base", 11340), ("rod", 2)]
    assert built.mechanism.base is None


BODY = "shape: box, size: [0.1, 0.1, 0.1]"


@pytest.mark.parametrize(
    ("part", "where", "found"),
    [
        (f"number: 1, sections: [{{{BODY}}}]", "sections[0].shape", "has no density"),
        (f"number: 1, material: steal, sections: [{{{BODY}}}]", "material", "no material is called 'steal'; .*'steel'"),
        (f"number: 1, density: 0, sections: [{{{BODY}}}]", "density", "found 0; allowed: a finite number > 0"),
        (f"number: 1, density: 1, mass: 2, sections: [{{{BODY}}}]", "mass", "given together with density"),
        ("number: 1, density: 1, sections: []", "sections", "found a list of 0"),
        ("number: 1, density: 1", "sections", "missing"),
        (f"density: 1, sections: [{{{BODY}}}]", "number", "missing"),
        (f"number: [1], density: 1, sections: [{{{BODY}}}]", "number", "found a list of 1"),
        (
            "number: 1, density: 1, sections: [{shape: hemisfere}]",
            "sections[0].shape",
            "found 'hemisfere'; .*'hemisphere'",
        ),
        (
            "number: 1, density: 1, sections: [{shape: cylinder, radius: -1, length: 1}]",
            "sections[0].radius",
            "found -1",
        ),
        (f"number: 1, density: 1, sections: [{{{BODY}, radius: 1}}]", "sections[0].radius", "no meaning for a box"),
        (f"number: 1, density: 1, sections: [{{{BODY}, radios: 1}}]", "sections[0].radios", "unknown key; .*'radius'"),
        ("number: 1, density: 1, sections: [{shape: box, size: [1, 0, 1]}]", "sections[0].size[1]", "found 0"),
        ("number: 1, density: 1, sections: [{shape: sphere, radius: 1, xyz: [1, 2]}]", "sections[0].xyz", "list of 2"),
        (
            "number: 1, density: 1, sections: [{shape: tube, outer_radius: 1, inner_radius: 1, length: 1}]",
            "sections[0].inner_radius",
            "less than outer_radius",
        ),
        (
            "number: 1, density: 1, sections: [{shape: prism, polygon: [[0, 0], [1, 1], [1, 0], [0, 1]], length: 1}]",
            "sections[0].polygon",
            "the edges from corner 1 and from corner 3 meet",
        ),
        (
            "number: 1, density: 1, sections: [{shape: prism, polygon: [[0, 0], [0.1, 0.3], [0.3, 0.9]], length: 1}]",
            "sections[0].polygon",
            "in line|meet",
        ),
        (
            "number: 1, density: 1, sections: [{shape: prism, polygon: [[0, 0], [1, x], [1]], length: 1}]",
            "sections[0].polygon[1][1]",
            "found 'x'",
        ),
        ("number: 1, density: 1, sections: [{shape: mesh}]", "sections[0].file", "missing"),
        ("number: 1, sections: [{shape: point}]", "sections[0].mass", "missing"),
        ("number: 1, sections: [{shape: point, mass: 1, hole: true}]", "sections[0].hole", "given for a point mass"),
        (f"number: 1, sections: [{{{BODY}, mass: 1, hole: true}}]", "sections[0].mass", "given for a hole"),
        (f"number: 1, density: 1, sections: [{{{BODY}, hole: true}}]", "sections[0].hole", "without a solid"),
        (
            f"number: 1, sections: [{{{BODY}, density: 1}}, {{{BODY}, density: 2, xyz: [1, 0, 0]}},"
            "{shape: sphere, radius: 0.01, hole: true}]",
            "sections[2].hole",
            "in a part of several densities",
        ),
        (
            f"number: 1, density: 1, sections: [{{{BODY}}}, {{shape: sphere, radius: 0.1, hole: true}}]",
            "sections",
            "weigh -0.0031.* kg together; allowed: .*holes smaller than the body",
        ),
        (
            f"number: 1, density: 1, sections: [{{{BODY}}}, {{shape: box, size: [0.01, 0.01, 0.2], hole: true}}]",
            "sections[1].hole",
            "about 50 % of the hole are where its part has no material",
        ),
        (
            f"number: 1, mass: 1, sections: [{{{BODY}}}, {{shape: sphere, radius: 0.01, hole: true}},"
            "{shape: sphere, radius: 0.01, hole: true}]",
            "sections[1].hole",
            "about 100 % of the hole",
        ),
        (
            f"number: 1, mass: 1, sections: [{{{BODY}, density: 1}}, {{{BODY}, xyz: [1, 0, 0]}}]",
            "sections[1].shape",
            "has no density",
        ),
        (f"number: 1, mass: 1, sections: [{{{BODY}, mass: 1}}]", "sections[0].mass", "a part whose mass is given"),
        (f"number: 1, mass: 1, sections: [{{{BODY}}}, {{shape: point, mass: 2}}]", "mass", "its point masses 2"),
    ],
)
def test_a_mistake_in_a_part(part: str, where: str, found: str, tmp_path: Path) -> None:
    said = problems(tmp_path, part)
    place = f"12: joints[0].link.parts[0].{where}: "
    assert said[0].startswith(place), said
    assert re.search(found, said[0]), said


@pytest.mark.parametrize(("density", "complaint"), [(2.2, "violates the triangle"), (4, "not positive definite")])
def test_holes_of_another_density_may_leave_no_real_body(density: float, complaint: str, tmp_path: Path) -> None:
    """A cube of density 1, and slabs at its ends that take away more than is there: the mass is still above 0."""
    slabs = [
        f"{{shape: box, size: [1, 1, 0.1], xyz: [0, 0, {z}], hole: true, density: {density}}}" for z in (-0.45, 0.45)
    ]
    said = problems(tmp_path, f"number: 1, sections: [{{shape: box, size: [1, 1, 1], mass: 1}}, {', '.join(slabs)}]")
    assert said[0].startswith(f"12: joints[0].link.parts[0].sections: {complaint}")


def test_all_mistakes_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    """Those in parts beside those in joints, each once, with its line."""
    said = problems(
        tmp_path,
        "number: 1, density: 1, sections: [{shape: sphere}]",
        "number: 2, colour: red, sections: [{shape: sphere, radius: 1, density: x}]",
        top="materials: [{name: bronze}]\ncolour: red",
        link="partz: 3",
        joint="limits: {velocity: -1}",
    )
    assert [text.split("; ")[0].split(" (and")[0] for text in said] == [
        "2: materials[0].density: missing",
        "3: colour: unknown key",
        "8: joints[0].limits.velocity: found -1",
        "11: joints[0].link.partz: unknown key",
        "13: joints[0].link.parts[0].sections[0].radius: missing",
        "14: joints[0].link.parts[1].colour: unknown key",
        "14: joints[0].link.parts[1].sections[0].density: found 'x'",
    ]
    assert "did you mean 'parts'?" in said[3]
    assert "(and 6 more, see lines 3, 8, 11, 13, 14)" in said[0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("3", ":1: found 3; allowed: keys name"),
        ("name: a\njoints: 3", ":2: joints: found 3"),
        ("name: a\njoints: [{name: j, type: revolute, dh: {}, link: {mass: 1}}]", "joints: no link has parts"),
        (
            "name: a\njoints: [{name: j, type: revolute, dh: {}, link: {mass: 1, parts: [{number: 1, mass: 1,"
            " sections: [{shape: sphere, radius: 1}]}]}}]",
            "link.mass: given together with parts",
        ),
        (
            "name: a\njoints: [{name: j, type: revolute, dh: {}, link: {working_frame: {}}}]",
            "working_frame: given without parts",
        ),
        ("name: a\nbase: {type: fixed, mass: 3}\njoints: [4]", "base.mass: has no meaning for a fixed base"),
    ],
)
def test_a_file_that_is_no_parts_database(text: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "a.parts.yaml").write_text(text)
    with pytest.raises(DescriptionError) as caught:
        build_parts(tmp_path / "a.parts.yaml")
    assert any(complaint in said for said in (str(caught.value), *getattr(caught.value, "__notes__", ())))


def test_what_looks_wrong_is_said(tmp_path: Path) -> None:
    """A hole that sticks out a little, and a solid within another; not a bush in the hole that was made for it."""
    bush = "{shape: tube, outer_radius: 0.02, inner_radius: 0.01, length: 0.1, material: steel}"
    hole = "{shape: cylinder, radius: 0.02, length: 0.1, hole: true, material: aluminium_6061}"
    built = build(
        tmp_path,
        [
            f"number: 1, density: 1, sections: [{{{BODY}}},"
            "{shape: cylinder, radius: 0.01, length: 0.1, xyz: [0, 0, 0.005], hole: true}]",
            f"number: 2, density: 1, sections: [{{{BODY}}}, {{{BODY}, xyz: [0.05, 0, 0]}}]",
            f"number: 3, sections: [{{{BODY}, material: aluminium_6061}}, {hole}, {bush}]",
        ],
    )
    assert len(built.warnings) == 2
    assert "parts[0].sections[1]: about 5 % of the hole" in built.warnings[0]
    assert "parts[1].sections[1]: about 50 % of it are in solids before it" in built.warnings[1]


def test_a_parts_database_is_not_a_robot_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build(tmp_path, ["number: 1, mass: 2, sections: [{shape: sphere, radius: 0.1}]"])
    with pytest.raises(DescriptionError, match="is a parts database: make a robot of it with `dyn parts build"):
        load_robot(tmp_path / "arm.parts.yaml")
    monkeypatch.setenv("DYN_ROBOT_PATH", str(tmp_path))
    assert "arm.parts" not in robot_files()


def test_the_cmu_arm_is_built_from_its_parts() -> None:
    built = build_parts(ROOT / "config" / "parts" / "cmu_dd_arm.parts.yaml")
    assert built.warnings == ()
    assert built.text == (ROOT / "config" / "robots" / "cmu_dd_arm.yaml").read_text()
    assert [link.name for link in built.links] == ["base", *(f"link{j}" for j in range(1, 7))]
    ours, shipped = TreeRobot(built.mechanism), load_robot("cmu_dd_arm")
    q = np.linspace(-1, 1, 6)
    np.testing.assert_array_equal(ours.mass_matrix(q), shipped.mass_matrix(q))
    used = {section.shape for link in built.links for part in link.parts for section in part.sections}
    assert used == {*SHAPES, "point"}


def test_materials_have_a_density_and_a_source() -> None:
    for density in DENSITIES.values():
        assert 500 < density.value < 20_000
        assert density.source
