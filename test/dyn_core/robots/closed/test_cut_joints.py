"""Friction and springs of cut joints, and cylindrical ones: against the same mechanism, cut elsewhere."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from random_loops import random_loop

from dyn_core.errors import DescriptionError
from dyn_core.mechanism import BASE, CutForces, Frame, Loop
from dyn_core.robots import LoopRobot, convert, load_robot
from dyn_core.simulation import simulate

FORCES = {
    "turn": "viscous: 0.7, coulomb: 0.4, stiffness: 5, rest: 20 deg",
    "slide": "viscous: 8, coulomb: 3, stiffness: 40, rest: 0.9",
}
LINKS = {
    "crank": "{name: crank_link, mass: 1, com: [0.15, 0, 0], inertia: {xx: 0, yy: 0.0075, zz: 0.0075}}",
    "rod": "{name: rod_link, mass: 2, com: [0.5, 0, 0], inertia: {xx: 0, yy: 0.17, zz: 0.17}}",
    "slide": "{name: slider, mass: 3, inertia: {xx: 0.01, yy: 0.01, zz: 0.01}}",
}
HEAD = "name: slider_crank\ngravity: [0, -9.81, 0]\njoints:\n"
CRANK = f"  - {{name: crank, type: revolute, origin: {{}}, link: {LINKS['crank']}}}\n"
ROD = f"  - {{name: rod, type: revolute, origin: {{xyz: [0.3, 0, 0]}}, active: false, link: {LINKS['rod']}}}\n"


def acts(where: str) -> str:
    """Friction and spring of a joint of the tree."""
    friction = {"turn": "{viscous: 0.7, coulomb: 0.4}", "slide": "{viscous: 8, coulomb: 3}"}[where]
    spring = {"turn": "{stiffness: 5, rest: 20 deg}", "slide": "{stiffness: 40, rest: 0.9}"}[where]
    return f"friction: {friction}, spring: {spring}, active: false"


def cut_at_slide(pin: str) -> str:
    """Crank, rod and slider in a chain; the slide is cut, with its friction and spring."""
    return HEAD + CRANK + ROD + (
        f"  - {{name: pin, type: revolute, origin: {{xyz: [1, 0, 0]}}, {pin}, link: {LINKS['slide']}}}\n"
        "loops:\n  - {name: guide, kind: prismatic, first: {link: base, rpy: [0, 90 deg, 0]},"
        f" second: {{link: slider, rpy: [0, 90 deg, 0]}}, sliding: {{{FORCES['slide']}}}}}\n"
        "assembly: {crank: 90 deg, rod: -107 deg, pin: 17 deg}\n"
    )  # fmt: skip


def cut_at_pin(kind: str, turning: str) -> str:
    """Crank and rod in a chain, the slider on the base with its friction and spring; the pin is cut."""
    return HEAD + CRANK + ROD + (
        "  - {name: slide, type: prismatic, parent: base, origin: {}, axis: [1, 0, 0],"
        f" {acts('slide')}, link: {LINKS['slide']}}}\n"
        f"loops:\n  - {{name: pin, kind: {kind}, first: {{link: rod_link, xyz: [1, 0, 0]}}, second: {{link: slider}},"
        f" {turning}}}\nassembly: {{crank: 90 deg, rod: -107 deg, slide: 0.95}}\n"
    )  # fmt: skip


def robot_of(tmp_path, text: str, name: str = "cut.yaml") -> LoopRobot:
    path = tmp_path / name
    path.write_text(text)
    robot = load_robot(path)
    assert isinstance(robot, LoopRobot)
    return robot


@pytest.mark.parametrize("kind", ["planar_revolute", "revolute"])
def test_wherever_the_loop_is_cut(tmp_path, kind):
    """A pin and a slide with friction and springs, once in the tree and once in the cut joint."""
    one = robot_of(tmp_path, cut_at_slide(acts("turn")), "one.yaml")
    other = robot_of(tmp_path, cut_at_pin(kind, f"turning: {{{FORCES['turn']}}}"), "other.yaml")
    for q in np.linspace(0.4, 2.4, 7):
        for qd in (-0.8, 1.3):
            tau = one.inverse_dynamics([q], [qd], [0.6])
            for formulation in ("projection", "denoc", "multipliers", "virtual_spring"):
                for each in (one, other):
                    again = each.using(formulation)
                    np.testing.assert_allclose(again.inverse_dynamics([q], [qd], [0.6]), tau, rtol=1e-8)
                    np.testing.assert_allclose(again.forward_dynamics([q], [qd], tau), [0.6], atol=1e-6)
    np.testing.assert_allclose(
        other.friction_change(np.array([1.0]), np.array([0.3]), np.array([-0.5])),
        one.friction_change(np.array([1.0]), np.array([0.3]), np.array([-0.5])), rtol=1e-9,
    )  # fmt: skip
    assert one.rubs_elsewhere
    assert other.rubs_elsewhere
    motions = [
        simulate(each, [1.5], [1.0], duration=0.5, torques=[4.0], method="rk4")
        for each in (one, other, other.using("multipliers"))
    ]
    assert np.abs(motions[0].q[-1] - 1.5) > 0.1
    for motion in motions[1:]:
        np.testing.assert_allclose(motion.q, motions[0].q, atol=2e-6)


def test_an_angle_is_counted_from_where_its_spring_rests(tmp_path):
    """A pin that stands at 190 deg, seen from its rest at 170 deg, is turned by 20 deg and not by -340."""
    near = "turning: {stiffness: 5, rest: 170 deg}"
    text = cut_at_pin("revolute", near).replace(
        "second: {link: slider}", "second: {link: slider, rpy: [0, 0, 173 deg]}"
    )
    robot = robot_of(tmp_path, text)
    at = robot.closed(robot.neutral())
    angle = np.radians(173.0) - (at.q[0] + at.q[1])  # of the slider's frame, seen from the rod's
    assert angle > np.pi
    bare = robot_of(tmp_path, cut_at_pin("revolute", "turning: {viscous: 0}"), "bare.yaml")
    rate = -(at.G[0, 0] + at.G[1, 0])
    extra = robot.gravity_forces(robot.neutral()) - bare.gravity_forces(robot.neutral())
    np.testing.assert_allclose(extra, [5.0 * (angle - np.radians(170.0)) * rate], rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_cylindrical_joint_is_a_slide_and_a_turn(seed):
    """Cut in one piece, or as a revolute joint behind a massless slide on the base."""
    rng = np.random.default_rng(seed)
    for _ in range(100):
        m = random_loop(rng, "cylindrical")
        if np.abs(LoopRobot(m).closed(LoopRobot(m).neutral()).G).max() < 4.0:
            break
    (loop,) = m.loops
    turn, slide = CutForces(0.6, 0.2, 4.0, 0.3), CutForces(5.0, 1.5, 60.0, -0.1)
    robot = LoopRobot(dataclasses.replace(m, loops=(dataclasses.replace(loop, turning=turn, sliding=slide),)))
    assert robot.redundant_constraints == 0

    def longer(values, last):
        return np.append(values, [last], axis=0)

    # the slide carries a frame of the base, whose z it slides along
    base = loop.second
    carried = dataclasses.replace(
        m, joint_names=(*m.joint_names, "slide"), body_names=(*m.body_names, "carriage"), parent=longer(m.parent, BASE),
        joint_type=longer(m.joint_type, 1), R=longer(m.R, base.R), p=longer(m.p, base.p), M=longer(m.M, 0.0),
        MS=longer(m.MS, np.zeros(3)), J=longer(m.J, np.zeros((3, 3))), Ia=longer(m.Ia, 0.0), Fv=longer(m.Fv, 5.0),
        Fs=longer(m.Fs, 1.5), stiffness=longer(m.stiffness, np.inf),
        position_limits=longer(m.position_limits, [-np.inf, np.inf]), velocity_limits=longer(m.velocity_limits, np.inf),
        effort_limits=longer(m.effort_limits, np.inf), active=longer(m.active, False),
        frames=(*m.frames[:-1], Frame("carriage", m.n, np.eye(3), np.zeros(3)), m.frames[-1]),
        loops=(Loop("cut", "revolute", loop.first, Frame("cut", m.n, np.eye(3), np.zeros(3)), turning=turn),),
        assembly=longer(m.assembly, 0.0),
    )  # fmt: skip
    other = LoopRobot(carried)
    for step in (0.0, 0.03):
        q, (qd, qdd) = robot.neutral() + step, rng.uniform(-1.0, 1.0, (2, 1))
        at = other.closed(q, qd)
        # the spring of the cut slide: its displacement is that of the base's frame, seen from the body's
        spring = 60.0 * (-at.q[-1] + 0.1) * -at.G[-1]
        tau = other.inverse_dynamics(q, qd, qdd) + spring
        for formulation in ("projection", "denoc", "multipliers"):
            again = robot.using(formulation)
            np.testing.assert_allclose(again.inverse_dynamics(q, qd, qdd), tau, rtol=1e-7, atol=1e-8)
            np.testing.assert_allclose(again.forward_dynamics(q, qd, tau), qdd, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("notation", ["dh", "mdh", "origin"])
def test_every_notation_keeps_them(tmp_path, notation):
    source = tmp_path / "cut.yaml"
    source.write_text(cut_at_pin("cylindrical", f"turning: {{{FORCES['turn']}}}, sliding: {{{FORCES['slide']}}}"))
    text = convert(source, tmp_path / "out.yaml", notation).text
    assert "turning: {viscous: 0.7, coulomb: 0.4, stiffness: 5" in text
    assert "kind: cylindrical" in text


@pytest.mark.parametrize(
    ("kind", "entry", "said"),
    [
        ("spherical", "turning: {viscous: 1}", "turning.*kind spherical"),
        ("revolute", "sliding: {viscous: 1}", "sliding.*kind revolute"),
        ("revolute", "turning: {viscous: -1}", "viscous"),
        ("revolute", "turning: {damping: 1}", "damping"),
    ],
)
def test_mistakes_are_refused(tmp_path, kind, entry, said):
    with pytest.raises(DescriptionError, match=said):
        robot_of(tmp_path, cut_at_pin(kind, entry))
