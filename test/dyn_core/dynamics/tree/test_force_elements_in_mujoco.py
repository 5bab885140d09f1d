"""Springs and dampers between links, against MuJoCo's spatial tendons: an arm, a four-bar, a free body on tethers."""

from __future__ import annotations

import mujoco
import numpy as np
from mujoco_peer import MujocoPeer

from dyn_core.mechanism import BASE, WORLD
from dyn_core.robots import load_robot

ARM_BODIES = """
<body name="a" pos="0 0 0.3"><joint name="j1" axis="0 0 1"/>
  <inertial pos="0.2 0.01 0" mass="2" diaginertia="0.01 0.03 0.04"/><site name="sa" pos="0.1 0.05 0.1"/>
  <body name="b" pos="0.4 0 0"><joint name="j2" axis="0 1 0"/>
    <inertial pos="0.15 0 0.02" mass="1" diaginertia="0.005 0.01 0.012"/>
    <body name="c" pos="0.3 0 0"><joint name="j3" type="slide" axis="1 0 0"/>
      <inertial pos="0 0 0.02" mass="0.5" diaginertia="0.005 0.01 0.012"/><site name="sc" pos="0.1 -0.05 0.1"/>
    </body></body></body>"""
TENDONS = """
<tendon>
  <spatial stiffness="150" springlength="0.2" damping="6"><site site="sa"/><site site="sc"/></spatial>
  <spatial stiffness="80" springlength="0.1" damping="3"><site site="sw"/><site site="sc"/></spatial>
</tendon>"""
ARM = f"""<mujoco><option gravity="0 0 -9.81"/><worldbody><site name="sw" pos="0.1 0.2 0.9"/>{ARM_BODIES}</worldbody>
{TENDONS}</mujoco>"""
ARM_YAML = """\
name: arm
joints:
  - {name: j1, type: revolute, origin: {xyz: [0, 0, 0.3]}, axis: [0, 0, 1],
     link: {name: a, mass: 2, com: [0.2, 0.01, 0], inertia: {xx: 0.01, yy: 0.03, zz: 0.04}}}
  - {name: j2, type: revolute, origin: {xyz: [0.4, 0, 0]}, axis: [0, 1, 0],
     link: {name: b, mass: 1, com: [0.15, 0, 0.02], inertia: {xx: 0.005, yy: 0.01, zz: 0.012}}}
  - {name: j3, type: prismatic, origin: {xyz: [0.3, 0, 0]}, axis: [1, 0, 0],
     link: {name: c, mass: 0.5, com: [0, 0, 0.02], inertia: {xx: 0.005, yy: 0.01, zz: 0.012}}}
spring_dampers:
  - {name: inner, first: {link: a, xyz: [0.1, 0.05, 0.1]}, second: {link: c, xyz: [0.1, -0.05, 0.1]}, stiffness: 150,
     rest_length: 0.2, damping: 6}
  - {name: outer, first: {link: base, xyz: [0.1, 0.2, 0.9]}, second: {link: c, xyz: [0.1, -0.05, 0.1]}, stiffness: 80,
     rest_length: 0.1, damping: 3}
"""
FOUR_BAR = """<mujoco><option gravity="0 -9.81 0"/><worldbody><site name="sw" pos="0.4 0.9 0"/>
<body name="crank"><joint name="crank" axis="0 0 1"/>
  <inertial pos="0.15 0 0" mass="1" diaginertia="0.001 0.0075 0.0075"/><site name="sa" pos="0.1 0.05 0"/>
  <body name="rod" pos="0.3 0 0"><joint name="rod" axis="0 0 1"/>
    <inertial pos="0.5 0 0" mass="2" diaginertia="0.001 0.17 0.17"/><site name="tip1" pos="1 0 0"/></body></body>
<body name="rocker" pos="1 0 0"><joint name="rocker" axis="0 0 1"/>
  <inertial pos="0.35 0 0" mass="1.5" diaginertia="0.001 0.06 0.06"/><site name="sc" pos="0.4 0.05 0"/>
  <site name="tip2" pos="0.7 0 0"/></body></worldbody>
<equality><connect site1="tip1" site2="tip2"/></equality>"""
FOUR_BAR_YAML = """\
name: four_bar
gravity: [0, -9.81, 0]
joints:
  - {name: crank, type: revolute, origin: {}, link: {name: crank_link, mass: 1, com: [0.15, 0, 0],
     inertia: {xx: 0.001, yy: 0.0075, zz: 0.0075}}}
  - {name: rod, type: revolute, origin: {xyz: [0.3, 0, 0]}, active: false, link: {name: rod_link, mass: 2,
     com: [0.5, 0, 0], inertia: {xx: 0.001, yy: 0.17, zz: 0.17}}}
  - {name: rocker, type: revolute, parent: base, origin: {xyz: [1, 0, 0]}, active: false, link: {name: rocker_link,
     mass: 1.5, com: [0.35, 0, 0], inertia: {xx: 0.001, yy: 0.06, zz: 0.06}}}
spring_dampers:
  - {name: inner, first: {link: crank_link, xyz: [0.1, 0.05, 0]}, second: {link: rocker_link, xyz: [0.4, 0.05, 0]},
     stiffness: 150, rest_length: 0.2, damping: 6}
  - {name: outer, first: {link: base, xyz: [0.4, 0.9, 0]}, second: {link: rocker_link, xyz: [0.4, 0.05, 0]},
     stiffness: 80, rest_length: 0.1, damping: 3}
loops:
  - {name: pin, kind: planar_revolute, first: {link: rod_link, xyz: [1, 0, 0]},
     second: {link: rocker_link, xyz: [0.7, 0, 0]}}
assembly: {crank: 80 deg, rod: -60 deg, rocker: 70 deg}
"""


def pair(tmp_path, xml: str, yaml: str):
    for name, text in (("robot.xml", xml), ("robot.yaml", yaml)):
        (tmp_path / name).write_text(text)
    robot = load_robot(tmp_path / "robot.yaml")
    return robot, MujocoPeer(tmp_path / "robot.xml", robot.mechanism.joint_names)


def test_an_arm(tmp_path):
    robot, peer = pair(tmp_path, ARM, ARM_YAML)
    rng = np.random.default_rng(0)
    for q, qd, tau in rng.uniform(-0.8, 0.8, (10, 3, 3)):
        np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), peer.direct(q, qd, tau), rtol=1e-9, atol=1e-9)


def test_a_four_bar(tmp_path):
    """MuJoCo ties rod and rocker together where they meet; its tendons see the same points."""
    robot, peer = pair(tmp_path, f"{FOUR_BAR}{TENDONS}</mujoco>", FOUR_BAR_YAML)
    at = robot.closed(robot.neutral(), [1.3])
    tau = np.array([2.5, 0.0, 0.0])
    qdd = peer.direct(at.q, at.qd, tau)
    for formulation in ("projection", "multipliers", "denoc"):
        found = robot.using(formulation).forward_dynamics(robot.neutral(), [1.3], tau[:1])
        np.testing.assert_allclose(at.G @ found + at.g, qdd, rtol=1e-7)


def test_a_free_body_on_tethers(tmp_path):
    """Between floating base, links and the world; MuJoCo's rates of a free body are the world's linear ones."""
    trunk = '<body name="trunk"><freejoint/><inertial pos="0 0 0" mass="3" diaginertia="0.2 0.3 0.4"/>'
    trunk += '<site name="st" pos="0.1 0 0.2"/>'
    tether = (
        '<spatial stiffness="60" springlength="0.3" damping="2"><site site="sw"/><site site="st"/></spatial></tendon>'
    )
    xml = f"""<mujoco><option gravity="0 0 -9.81"/><worldbody><site name="sw" pos="0.1 0.2 0.9"/>
{trunk}{ARM_BODIES}</body></worldbody>{TENDONS.replace("</tendon>", tether)}</mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    base = "base: {type: floating, name: trunk, mass: 3, inertia: {xx: 0.2, yy: 0.3, zz: 0.4}}\n"
    yaml = ARM_YAML.replace("joints:", f"{base}joints:").replace("first: {link: base,", "first: {link: world,")
    yaml += (
        "  - {name: tether, first: {link: world, xyz: [0.1, 0.2, 0.9]}, second: {link: trunk, xyz: [0.1, 0, 0.2]},\n"
    )
    yaml += "     stiffness: 60, rest_length: 0.3, damping: 2}\n"
    (tmp_path / "free.yaml").write_text(yaml)
    robot = load_robot(tmp_path / "free.yaml")
    rng = np.random.default_rng(1)
    q, (qd, tau) = robot.neutral(), rng.normal(size=(2, 9))
    tau[:6] = 0.0
    q[:3], q[3:7], q[7:] = rng.normal(size=3), rng.normal(size=4), 0.3 * rng.normal(size=3)
    q[3:7] /= np.linalg.norm(q[3:7])
    R = robot.forward_kinematics(q, "trunk")[:3, :3]
    data.qpos[:] = np.concatenate([q[:3], q[[6, 3, 4, 5]], q[7:]])
    data.qvel[:] = np.concatenate([R @ qd[:3], qd[3:]])
    data.qfrc_applied[:] = tau
    mujoco.mj_forward(model, data)
    expected = np.concatenate([R.T @ data.qacc[:3], data.qacc[3:]])
    np.testing.assert_allclose(robot.forward_dynamics(q, qd, tau), expected, rtol=1e-8, atol=1e-8)
    ends = {spring.name: (spring.first.body, spring.second.body) for spring in robot.mechanism.spring_dampers}
    assert ends == {"inner": (0, 2), "outer": (WORLD, 2), "tether": (WORLD, BASE)}
