"""`loops` and `assembly` of the robot YAML: what is read, what is refused, and what conversion keeps."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from dyn_core import load_robot
from dyn_core.description import load_mechanism, robot_files, to_yaml
from dyn_core.errors import ClosureError, DescriptionError, InputError
from dyn_core.identification import excite, identify
from dyn_core.mechanism import BASE
from dyn_core.robots import LoopRobot, TreeRobot, customise, require_tree
from dyn_core.robots.conversion import convert, differences
from dyn_core.robots.customised import customised_source

SHIPPED = ("five_bar_saha", "four_bar_saha", "four_bar_wang")
SLIDER_CRANK = """\
name: slider_crank
joints:
  - {name: crank, type: revolute, dh: {a: 0.3}, link: {name: crank_link, mass: 1, inertia: {xx: 0, yy: 1, zz: 1}}}
  - {name: rod, type: revolute, dh: {a: 1}, active: false, link: {name: rod_link, mass: 1, com: [-0.5, 0, 0]}}
  - name: slide
    type: prismatic
    parent: base
    origin: {xyz: [0, 0.1, 0], rpy: [0, 90 deg, 0]}
    active: false
    link: {name: slider, mass: 2}
  - {name: pin, type: fixed, parent: slider, origin: {xyz: [0, 0.05, 0]}, link: {name: pin_link}}
loops:
  - name: piston
    kind: planar_revolute
    first: {link: pin_link, xyz: [0, -0.15, 0], rpy: [0, -90 deg, 0]}
    second: {link: rod_link}
assembly: {crank: 90 deg, rod: -100 deg, slide: 0.9}
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "robot.yaml"
    file.write_text(text)
    return file


def test_a_slider_crank_is_where_geometry_says(tmp_path: Path) -> None:
    """Frames are given in the links' described frames, of fixed links too; the slider is at x(q) of the textbook."""
    robot = load_robot(write(tmp_path, SLIDER_CRANK))
    assert isinstance(robot, LoopRobot)
    assert robot.joint_names == ("crank",)
    loop = robot.mechanism.loops[0]
    assert (loop.name, loop.kind, loop.first.body, loop.second.body) == ("piston", "planar_revolute", 2, 1)
    np.testing.assert_allclose(robot.mechanism.assembly, [np.pi / 2, np.radians(-100), 0.9])
    for q in np.linspace(-3.0, 3.0, 13):
        expected = 0.3 * np.cos(q) + np.sqrt(1.0 - (0.3 * np.sin(q)) ** 2)  # offset: 0.1 + 0.05 - 0.15 = 0
        np.testing.assert_allclose(robot.all_positions([q])[2], expected, atol=1e-12)


def test_the_base_can_be_an_end_of_a_loop() -> None:
    loop = load_mechanism(robot_files()["four_bar_saha"]).loops[0]
    assert (loop.first.body, loop.second.body) == (BASE, 2)
    np.testing.assert_array_equal(loop.first.p, [1.0, 0.0, 0.0])


# (what is replaced in SLIDER_CRANK, by what, the line of the complaint, a pattern of the complaint)
MOTOR = "motor: {gear_ratio: 1, torque_constant: 1, resistance: 1, dac: {bits: 8, range: [-1, 1]}}"
MISTAKES = {
    "unknown kind": ("planar_revolute", "planar_revolut", 14, r"loops\[0\]\.kind: .*did you mean 'planar_revolute'"),
    "unknown link": ("{link: rod_link}\na", "{link: rod}\na", 16, r"second\.link: no link is called 'rod'.*rod_link"),
    "no link": ("{link: rod_link}\na", "{xyz: [0, 0, 0]}\na", 16, r"loops\[0\]\.second\.link: missing"),
    "no second": ("    second: {link: rod_link}\n", "", 13, r"\.second: missing; allowed: keys link, xyz, rpy"),
    "no name": ("  - name: piston\n    kind", "  - kind", 13, r"loops\[0\]\.name: missing"),
    "same link": ("second: {link: rod_link", "second: {link: pin_link", 16, r"second: is on 'pin_link'.*another link"),
    "same body": ("second: {link: rod_link", "second: {link: slider", 16, r"'pin_link' and 'slider' do not move"),
    "bad frame": ("rpy: [0, -90 deg, 0]}", "rpy: [0, -90 deg]}", 15, r"first\.rpy: found a list of 2"),
    "no loops": ("loops:", "loops: []\nloop:", 12, r"loops: found a list of 0; allowed: a list with at least one"),
    "assembly of nothing": ("slide: 0.9", "slid: 0.9", 17, r"assembly\.slid: unknown key; .*did you mean 'slide'"),
    "assembly of a fixed joint": ("slide: 0.9", "pin: 0.9", 17, r"assembly\.pin: unknown key"),
    "assembly angle": ("crank: 90 deg", "crank: up", 17, r"assembly\.crank: found 'up'; allowed: an angle"),
    "assembly in deg of a slide": ("slide: 0.9", "slide: 9 deg", 17, r"assembly\.slide: found '9 deg'.*in m"),
    "motor": ("active: false\n", f"active: false\n    {MOTOR}\n", 10, r"motor: given for a passive joint"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named_with_file_line_and_field(tmp_path: Path, mistake: str) -> None:
    old, new, line, pattern = MISTAKES[mistake]
    assert old in SLIDER_CRANK
    file = write(tmp_path, SLIDER_CRANK.replace(old, new, 1))
    with pytest.raises(DescriptionError) as caught:
        load_robot(file)
    text = str(caught.value)
    assert re.search(rf"{re.escape(str(file))}:{line}: .*{pattern}", text), text


def test_two_loops_of_one_name_and_an_assembly_without_loops(tmp_path: Path) -> None:
    cut, entry = SLIDER_CRANK.split("loops:\n")
    twice = entry.split("assembly")[0]
    with pytest.raises(DescriptionError, match=r"loops\[1\]\.name: 'piston' is already the name of a loop"):
        load_robot(write(tmp_path, f"{cut}loops:\n{twice}{twice}"))
    with pytest.raises(DescriptionError, match="assembly: given for a robot without loops"):
        load_robot(write(tmp_path, f"{cut}assembly: {{crank: 0}}\n"))


def test_what_cannot_close_or_is_driven_wrongly_is_refused(tmp_path: Path) -> None:
    far = SLIDER_CRANK.replace("xyz: [0, 0.1, 0]", "xyz: [0, 2.1, 0]")
    with pytest.raises(ClosureError, match=r"loop 'piston' cannot be closed .* it stays open by 0.7 m"):
        load_robot(write(tmp_path, far))
    over = SLIDER_CRANK.replace("active: false", "active: true", 1)
    with pytest.raises(DescriptionError, match=r"over-actuated: 3 joints less 2 .* mobility of 1, but 2 joints"):
        load_robot(write(tmp_path, over))
    under = SLIDER_CRANK.replace("dh: {a: 0.3}", "dh: {a: 0.3}, active: false")
    with pytest.raises(DescriptionError, match=r"under-actuated: .* mobility of 1, but 0 joints are active"):
        load_robot(write(tmp_path, under))


@pytest.mark.parametrize("notation", ["dh", "mdh", "origin"])
@pytest.mark.parametrize("name", [*SHIPPED, "slider_crank"])
def test_every_notation_keeps_the_loops(tmp_path: Path, name: str, notation: str) -> None:
    file = robot_files()[name] if name in SHIPPED else write(tmp_path, SLIDER_CRANK)
    target = tmp_path / "other.yaml"
    convert(file, target, notation)
    one, other = load_robot(file), load_robot(target)
    assert isinstance(one, LoopRobot)
    assert isinstance(other, LoopRobot)
    q = one.neutral() + 0.2
    qd, qdd = np.full((2, one.n), 1.5)
    np.testing.assert_allclose(
        one.inverse_dynamics(q, qd, qdd), other.inverse_dynamics(q, qd, qdd), rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(one.all_positions(q), other.all_positions(q), atol=1e-9)


def test_a_change_of_a_loop_is_a_difference(tmp_path: Path) -> None:
    m = load_mechanism(write(tmp_path, SLIDER_CRANK))
    for old, new, words in (
        ("-0.15", "-0.16", "a frame of loop piston differs"),
        ("planar_revolute", "spherical", "other chains are closed"),
        ("slide: 0.9", "slide: 0.8", "assembly differs"),
    ):
        other = load_mechanism(write(tmp_path, SLIDER_CRANK.replace(old, new)))
        assert differences(m, other) == words


def test_plain_urdf_has_the_tree_only_and_says_so(tmp_path: Path) -> None:
    robot = load_robot("five_bar_saha")
    assert "URDF has no place for" in robot.urdf()
    assert "closed chains" in robot.urdf()
    assert "<loop" in convert("five_bar_saha", tmp_path / "five_bar.urdf", "urdf").text


def test_a_name_that_yaml_cannot_have_is_changed() -> None:
    m = load_mechanism(robot_files()["four_bar_wang"])
    odd = dataclasses.replace(m, loops=(dataclasses.replace(m.loops[0], name="point B"),))
    assert "  - name: point_B\n" in to_yaml(odd, "origin")


# the papers' figures, by elementary geometry


def meeting(a: np.ndarray, ra: float, b: np.ndarray, rb: float, side: float) -> np.ndarray:
    """Where circles about a and b meet, on the left (1) or right (-1) of the way from a to b."""
    d = np.hypot(*(b - a))
    x = (ra**2 - rb**2 + d**2) / (2.0 * d)
    along = (b - a) / d
    return a + x * along + side * np.sqrt(ra**2 - x**2) * np.array([-along[1], along[0]])


def at(angle: float) -> np.ndarray:
    return np.array([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize("degrees", [30.0, 60.0, 90.0])
def test_four_bar_saha_has_its_joint_below(degrees: float) -> None:
    q = np.radians([degrees])
    below = meeting(0.3 * at(q[0]), 1.0, np.array([1.0, 0.0]), 0.6, -1.0)
    robot = load_robot("four_bar_saha")
    np.testing.assert_allclose(robot.forward_kinematics(q)[:2, 3], below, atol=1e-9)
    theta_4 = np.pi - robot.all_positions(q).sum()
    assert 0.0 < theta_4 < np.pi  # without a multiple of 2 pi


@pytest.mark.parametrize("degrees", [(30.0, 30.0), (80.0, 70.0), (90.0, 70.3)])
def test_five_bar_saha_has_its_end_point_below(degrees: tuple[float, float]) -> None:
    q = np.radians(degrees)
    below = meeting(0.6 * at(q[0]), 1.1, [1.2, 0.0] + 0.7 * at(q[1]), 0.8, -1.0)
    np.testing.assert_allclose(load_robot("five_bar_saha").forward_kinematics(q)[:2, 3], below, atol=1e-9)


def test_four_bar_wang_starts_as_printed() -> None:
    robot = load_robot("four_bar_wang")
    theta, coupler, phi = robot.all_positions([np.pi / 2])
    np.testing.assert_allclose([theta, theta + coupler, phi], [np.pi / 2, 0.353281, 1.26486], atol=5e-6)


@pytest.mark.parametrize("name", SHIPPED)
def test_links_of_the_shipped_mechanisms_are_uniform_rods(name: str) -> None:
    m = load_mechanism(robot_files()[name])
    length = 2.0 * m.MS[:, 0] / m.M
    np.testing.assert_allclose(m.J[:, 2, 2], m.M * length**2 / 3.0, rtol=1e-12)
    assert not TreeRobot(m).mechanism.Ia.any()


def test_what_is_for_trees_only_is_refused() -> None:
    robot = load_robot("five_bar_saha")
    for call in (
        lambda: require_tree(robot, "a regressor"),
        lambda: identify(robot, None),
        lambda: excite(robot),
        lambda: customise(robot),
        lambda: customised_source(robot.mechanism, "inverse"),
    ):
        with pytest.raises(InputError, match=r"five_bar_saha has closed chains: .* trees"):
            call()
    for name in ("regressor", "base_parameters", "mixed_dynamics", "mass_matrix_by_columns"):
        assert not hasattr(robot, name)
