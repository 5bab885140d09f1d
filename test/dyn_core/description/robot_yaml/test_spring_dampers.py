"""`spring_dampers`: read, refused, written in every notation and as URDF."""

from __future__ import annotations

import numpy as np
import pytest

from dyn_core.errors import DescriptionError
from dyn_core.mechanism import BASE, WORLD
from dyn_core.robots import convert, load_robot

LAMP = """\
name: lamp
base: {type: floating, name: foot, mass: 3, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}
joints:
  - {name: hinge, type: revolute, parent: foot, dh: {theta: 20 deg, d: 0.1, a: 0.5, alpha: 90 deg},
     link: {name: arm, mass: 2, com: [-0.2, 0, 0], inertia: {xx: 0.01, yy: 0.03, zz: 0.03}}}
  - {name: mount, type: fixed, origin: {xyz: [0.1, 0, 0], rpy: [0, 30 deg, 0]}, link: {name: shade, mass: 0.2}}
  - {name: knob, type: prismatic, parent: arm, dh: {a: 0.1, alpha: 40 deg}, link: {name: button, mass: 0.1}}
spring_dampers:
  - {name: balance, first: {link: foot, xyz: [0, 0, 0.2]}, second: {link: shade, xyz: [0.3, 0, 0]}, stiffness: 130.8}
  - {name: tether, first: {link: world, xyz: [1, 0, 2]}, second: {link: button}, stiffness: 20,
     rest_length: 0.4, damping: 3}
"""


def write(path, text):
    path.write_text(text)
    return path


def test_ends_are_where_the_file_says(tmp_path):
    m = load_robot(write(tmp_path / "lamp.yaml", LAMP)).mechanism
    balance, tether = m.spring_dampers
    assert (balance.first.body, balance.second.body) == (BASE, 0)
    shade = m.frame("shade")
    np.testing.assert_allclose(balance.second.p, shade.p + shade.R @ [0.3, 0.0, 0.0])
    assert (tether.first.body, tether.second.body) == (WORLD, 1)
    assert (tether.stiffness, tether.rest, tether.damping) == (20.0, 0.4, 3.0)


@pytest.mark.parametrize("notation", ["dh", "mdh", "origin", "urdf"])
def test_every_notation_keeps_them(tmp_path, notation):
    """`convert` reads what it wrote, and compares ends, figures and forces."""
    source, out = write(tmp_path / "lamp.yaml", LAMP), tmp_path / f"out.{'urdf' if notation == 'urdf' else 'yaml'}"
    text = convert(source, out, notation).text
    assert "130.8" in text
    one, other = (load_robot(path) for path in (source, out))
    q = one.neutral()
    q[7:] = 0.3, 0.05
    np.testing.assert_allclose(other.gravity_forces(q), one.gravity_forces(q), atol=1e-9)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("link: world, xyz", "link: moon, xyz", r"spring_dampers\[1\].*first.*link.*moon"),
        ("stiffness: 130.8", "stiffness: -1", "stiffness"),
        (", stiffness: 130.8", "", "neither a stiffness nor a damping"),
        ("second: {link: shade, xyz: [0.3, 0, 0]}", "second: {link: base}", "do not move against each other"),
        ("name: tether", "name: balance", "already the name"),
        ("second: {link: button}, ", "", "second.*missing"),
        ("rest_length: 0.4", "rest: 0.4", "rest"),
    ],
)
def test_mistakes_are_refused(tmp_path, old, new, said):
    with pytest.raises(DescriptionError, match=said):
        load_robot(write(tmp_path / "lamp.yaml", LAMP.replace(old, new)))


def test_a_fixed_base_has_no_world_beside_it(tmp_path):
    text = LAMP.replace("base: {type: floating, name: foot, mass: 3, inertia: {xx: 0.1, yy: 0.1, zz: 0.1}}\n", "")
    text = text.replace("foot", "base")
    with pytest.raises(DescriptionError, match="world"):
        load_robot(write(tmp_path / "lamp.yaml", text))


def test_a_spring_without_rest_length_balances_an_arm(tmp_path):
    """Carwardine's lamp: k a b = m g c, in every position."""
    text = """\
name: balanced
joints:
  - {name: hinge, type: revolute, origin: {}, axis: [0, -1, 0],
     link: {name: arm, mass: 2, com: [0.4, 0, 0], inertia: {xx: 0, yy: 0.03, zz: 0.03}}}
spring_dampers:
  - {name: balance, first: {link: base, xyz: [0, 0, 0.2]}, second: {link: arm, xyz: [0.3, 0, 0]}, stiffness: 130.8}
"""
    robot = load_robot(write(tmp_path / "balanced.yaml", text))
    np.testing.assert_allclose(robot.gravity_forces(np.linspace(-3.0, 3.0, 31)[:, None]), 0.0, atol=1e-12)
